"""What every trajectory has: its state at any time, and a table of polynomials that replaces it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers, positive
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.errors import InputError
from kinetree.state import State
from kinetree.trajectories.hermite_table import hermite_table

ROUNDING = 1e-12  # of the duration: a time so little outside counts as the end itself


class Trajectory(ABC):
    """A motion of n_dof coordinates from time 0 to its duration, smooth between its breaks.

    Before 0 and after the duration it stands still at its ends. At a break the state is that from the right.
    A kind of trajectory says what its ``breaks`` are and gives the state on each piece between them.

    >>> import kinetree.trajectories as trajectories
    >>> motion = trajectories.cycloid([0.0, 0.0], [1.0, -1.0], duration=2.0)
    >>> motion.at(1.0).q.tolist(), motion.at([0.0, 1.0, 2.0]).qd.shape
    ([0.5, -0.5], (3, 2))
    """

    @property
    @abstractmethod
    def breaks(self) -> Array:
        """Times (k + 1,) in s from 0 to the duration where a derivative may jump."""

    @property
    @abstractmethod
    def n_dof(self) -> int:
        """Number of coordinates."""

    @abstractmethod
    def piece(self, i: int, t: Array) -> State:
        """State (m, n_dof) at times (m,) by the formula of piece i, its ends included; unchecked."""

    @property
    def duration(self) -> float:
        """How long the motion takes (s)."""
        return float(self.breaks[-1])

    def at(self, time: ArrayLike) -> State:
        """Positions, velocities and accelerations (..., n_dof) at times (...) in s."""
        t = finite(numbers(time, "time"), "time")
        slack = ROUNDING * self.duration
        inside = np.clip(t.reshape(-1), 0.0, self.duration)
        pieces = np.clip(np.searchsorted(self.breaks, inside, side="right") - 1, 0, len(self.breaks) - 2)
        motion = np.empty((3, t.size, self.n_dof))
        for i in np.unique(pieces):
            chosen = pieces == i
            state = self.piece(int(i), inside[chosen])
            motion[:, chosen] = state.q, state.qd, state.qdd
        motion[1:, np.abs(t.reshape(-1) - inside) > slack] = 0.0
        return State(*motion.reshape((3, *t.shape, self.n_dof)))

    def table(self, tolerance: float = 1e-12) -> PiecewisePolynomial:
        """Polynomials whose positions differ from the trajectory's by no more than the tolerance (rad or m).

        Accelerations are as close, by the share of their largest value, where the motion is smooth.
        """
        return hermite_table(self.piece, self.breaks, checked_tolerance(tolerance))


def checked_tolerance(tolerance: float) -> float:
    """A tolerance that a table can reach."""
    return positive(tolerance, "tolerance", "rad or m")


def point(values: ArrayLike, what: str, like: Array | None = None) -> Array:
    """Coordinates (n,), as many as those they go with."""
    x = finite(numbers(values, what), what)
    if x.ndim != 1:
        raise InputError(f"{what} must be a vector, one value for each coordinate, got shape {x.shape}")
    if like is not None and x.shape != like.shape:
        raise InputError(f"{what} must have {len(like)} values as the start has, got shape {x.shape}")
    return x


def ends(start: ArrayLike, end: ArrayLike) -> tuple[Array, Array]:
    """Start and end (n,) of a motion."""
    a, b = (finite(numbers(x, what), what) for x, what in ((start, "start"), (end, "end")))
    if a.shape != b.shape or a.ndim != 1:
        raise InputError(f"start and end must be vectors of one length, got shapes {a.shape} and {b.shape}")
    return a, b
