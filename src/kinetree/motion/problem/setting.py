"""What terms are bound to: the mechanism, its profiles, where it is sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers
from kinetree.algebra.bspline import BSplineBasis, Integers
from kinetree.errors import InputError, unknown_name
from kinetree.model.mechanism import Mechanism
from kinetree.motion.problem.profile import RATES, Profiles
from kinetree.motion.problem.reaction_axes import own_rows, reaction_rows
from kinetree.motion.problem.unknowns import Unknowns

Where = str | ArrayLike
PLACES = ("samples", "knots", "start", "end")


@dataclass(frozen=True, eq=False)
class Setting:
    """The mechanism as the user knows it and with reaction axes, the unknowns, and samples.

    ``quadrature``: points and weights on [0, 1].
    """

    mechanism: Mechanism
    extended: Mechanism
    unknowns: Unknowns
    samples: Array
    quadrature: tuple[Array, Array]

    @cached_property
    def bases(self) -> tuple[BSplineBasis, ...]:
        """Splines of the motion and of all curves."""
        return self.profiles.basis, *(curve.basis for curve in self.unknowns.curves)

    @property
    def profiles(self) -> Profiles:
        """The joint profiles: the block ``q`` of the unknowns."""
        return self.unknowns.profiles

    @property
    def duration(self) -> tuple[float, float]:
        """Lowest and highest duration (s)."""
        return self.unknowns.duration.bounds

    @cached_property
    def own(self) -> Integers:
        """Where the user's coordinates stand among all."""
        return own_rows(self.extended, self.mechanism.joint_names)

    @cached_property
    def column(self) -> dict[int, int]:
        """From a joint's position in the user's q to its place among the moving coordinates."""
        moving = {int(k): place for place, k in enumerate(self.profiles.moving)}
        return {j: moving[int(k)] for j, k in enumerate(self.own) if int(k) in moving}

    def joints(self, names: str | Sequence[str] | None, what: str) -> list[int]:
        """Positions in q of the named joints; None stands for all."""
        if names is None:
            return list(range(self.mechanism.n_dof))
        listed = [names] if isinstance(names, str) else list(names)
        for name in listed:
            if name not in self.mechanism.joint_names:
                raise InputError(f"{what}: {unknown_name('joint', name, self.mechanism.joint_names)}")
        return [self.mechanism.joint_index(name) for name in listed]

    def moving_joints(self, names: str | Sequence[str] | None, what: str) -> list[int]:
        """The same without frozen joints; naming a frozen one is an error."""
        found = self.joints(names, what)
        if names is None:
            return [j for j in found if j in self.column]
        for j in found:
            if j not in self.column:
                raise InputError(f"{what}: joint '{self.mechanism.joint_names[j]}' is frozen")
        return found

    def model_limits(self, key: str) -> Array:
        """A limit of the mechanism for each of the user's coordinates: lower, upper, velocity_limit, ..."""
        tree = self.mechanism.tree
        limits: Array = getattr(tree, key)
        places = [tree.axis_names.index(name) for name in self.mechanism.joint_names]
        return limits[places]

    def units(self, joints: Sequence[int], turning: str, sliding: str) -> list[str]:
        """A unit for each joint, depending on whether it turns or slides."""
        return [turning if self._turns[j] else sliding for j in joints]

    @cached_property
    def _turns(self) -> list[bool]:
        tree = self.mechanism.tree
        return [bool(tree.turns[tree.axis_names.index(name)]) for name in self.mechanism.joint_names]

    def frozen_at(self, joint: int) -> float:
        """Where a frozen joint stays."""
        return float(self.profiles.rest[self.own[joint]])

    def body(self, name: str, what: str) -> str:
        """The name of a body, or "world"."""
        if name != "world" and name not in self.mechanism.body_names:
            raise InputError(f"{what}: {unknown_name('body', name, ('world', *self.mechanism.body_names))}")
        return name

    def reaction(self, body: str) -> Integers:
        """Where force and moment in a body's joint stand among the torques."""
        return reaction_rows(self.extended, body)

    def where(self, place: Where, what: str) -> Array:
        """Normalised times that a term is enforced at."""
        if isinstance(place, str):
            if place not in PLACES:
                raise InputError(f"{what}: {unknown_name('place', place, PLACES)}")
            named = {
                "samples": self.samples,
                "knots": self.profiles.basis.breaks,
                "start": np.zeros(1),
                "end": np.ones(1),
            }
            return named[place]
        s = np.atleast_1d(finite(numbers(place, f"{what}: s"), f"{what}: s"))
        if s.ndim != 1 or not len(s) or ((s < 0.0) | (s > 1.0)).any():
            raise InputError(f"{what}: s must be numbers from 0 to 1 (the end), got {place!r}")
        return s

    def _local_at(self, s: Array) -> tuple[Integers, Array]:
        """Basis functions with their first two derivatives, computed once for each set of instants."""
        key = s.tobytes()
        if key not in self._known:
            self._known[key] = self.profiles.basis.local(s, RATES - 1)
        return self._known[key]

    @cached_property
    def _known(self) -> dict[bytes, tuple[Integers, Array]]:
        return {}

    def curve_rows(self, s: Array, columns: Sequence[int], derivative: int = 0) -> tuple[Integers, Array]:
        """Rows over x that give a derivative (by s) of moving coordinates, sample by sample.

        Which unknowns, (rows, p + 1), and their coefficients.
        """
        first, values = self._local_at(s)
        k, width = len(columns), values.shape[2]
        around = first[:, None, None] + np.arange(width)
        points = self.unknowns.points(around, np.asarray(columns).reshape(1, k, 1))
        weights = np.broadcast_to(values[:, None, derivative], points.shape)
        return points.reshape(-1, width), weights.reshape(-1, width)
