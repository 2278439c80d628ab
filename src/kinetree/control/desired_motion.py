"""What a controller is to follow: a trajectory, a table of polynomials, or a pose to keep."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, frozen, numbers
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.errors import InputError, counted
from kinetree.state import State
from kinetree.trajectories.base import Trajectory

Desired = Trajectory | PiecewisePolynomial | ArrayLike


@dataclass(frozen=True, eq=False)
class DesiredMotion:
    """One interface to all that may be followed; ``source`` is what the user gave."""

    source: Trajectory | PiecewisePolynomial | Array

    @property
    def n(self) -> int:
        """Number of coordinates."""
        if isinstance(self.source, Trajectory):
            return self.source.n_dof
        return self.source.n if isinstance(self.source, PiecewisePolynomial) else len(self.source)

    def at(self, t: ArrayLike) -> State:
        """Desired positions, velocities and accelerations (..., n) at times (...)."""
        if isinstance(self.source, Trajectory):
            return self.source.at(t)
        table = self.table
        return State(table.at(t), table.at(t, derivative=1), table.at(t, derivative=2))

    @cached_property
    def table(self) -> PiecewisePolynomial:
        """Polynomials for compiled code."""
        if isinstance(self.source, Trajectory):
            return self.source.table()
        return self.source if isinstance(self.source, PiecewisePolynomial) else constant(self.source)

    @property
    def breaks(self) -> Array:
        """Times where the motion is not smooth."""
        return self.source.breaks if isinstance(self.source, Trajectory) else self.table.kinks

    def settings(self) -> dict[str, Any]:
        """In plain numbers and texts."""
        if isinstance(self.source, np.ndarray):
            return {"kind": "pose", "q": self.source.tolist()}
        first, last = float(self.source.breaks[0]), float(self.source.breaks[-1])
        kind = type(self.source).__name__
        return {"kind": kind, "coordinates": self.n, "begin": first, "end": last}

    def in_words(self) -> str:
        """For a line of text."""
        if isinstance(self.source, np.ndarray):
            return f"pose of {counted(self.n, 'coordinate', 'coordinates')}"
        stated = self.settings()
        return f"{stated['kind']} of {self.n} coordinates from {stated['begin']:g} to {stated['end']:g} s"


def desired_motion(source: Desired) -> DesiredMotion:
    """The checked motion of the argument ``trajectory`` of a controller.

    >>> desired_motion([0.1, 0.2]).at([0.0, 5.0]).q.tolist()
    [[0.1, 0.2], [0.1, 0.2]]
    """
    if isinstance(source, Trajectory | PiecewisePolynomial):
        return DesiredMotion(source)
    try:
        pose = finite(numbers(source, "trajectory"), "trajectory")
    except InputError as reason:
        raise InputError(
            "a controller follows a Trajectory, a PiecewisePolynomial or a vector, the pose to hold; got "
            f"{type(source).__name__}: {reason}"
        ) from None
    if pose.ndim != 1:
        raise InputError(f"a pose to hold must be a vector, got shape {pose.shape}")
    return DesiredMotion(frozen(pose))


def constant(values: ArrayLike) -> PiecewisePolynomial:
    """Values (n,) that never change."""
    return PiecewisePolynomial.hold([0.0], np.asarray(values)[None, :])
