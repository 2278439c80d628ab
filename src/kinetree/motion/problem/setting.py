"""What terms are bound to: the mechanism, its profiles, where it is sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from kinetree.algebra.arrays import Array, finite, numbers
from kinetree.algebra.bspline import BSplineBasis, Integers
from kinetree.errors import InputError, listed, must_be, unknown_name
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags
from kinetree.motion.problem.profile import RATES, Profiles
from kinetree.motion.problem.reaction_axes import own_rows, reaction_body, reaction_rows
from kinetree.motion.problem.unknowns import Unknowns
from kinetree.state import COMPONENTS

if TYPE_CHECKING:
    from kinetree.dynamics.loops.closure import Closure

Where = Literal["samples", "knots", "points", "start", "end"] | float | Sequence[float] | Array
End = Literal["start", "end"]
ENDS: tuple[End, ...] = ("start", "end")
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
        """From a joint's position in the user's q to its place among the moving coordinates.

        Those that follow others, so that loops stay closed, come after those with splines.
        """
        moving = {int(k): place for place, k in enumerate(self.profiles.varying)}
        return {j: moving[int(k)] for j, k in enumerate(self.own) if int(k) in moving}

    @cached_property
    def splines(self) -> dict[int, int]:
        """The same for joints that splines move."""
        return {j: place for j, place in self.column.items() if place < self.profiles.n}

    def with_splines(self, joints: Sequence[int]) -> tuple[list[int], list[int]]:
        """Positions in the given list of joints that splines move, and of those that follow them."""
        moved = [k for k, j in enumerate(joints) if j in self.splines]
        return moved, [k for k, j in enumerate(joints) if j not in self.splines]

    def spline_joints(self, names: str | Sequence[str] | None, what: str) -> list[int]:
        """Like `moving_joints`, but only those that splines move; naming another one is an error."""
        found = self.moving_joints(names, what)
        if names is None:
            return [j for j in found if j in self.splines]
        for j in found:
            if j not in self.splines:
                choices = listed(self.mechanism.joint_names[k] for k in self.splines)
                raise InputError(
                    f"{what}: joint '{self.mechanism.joint_names[j]}' follows others in a closed loop; "
                    f"joints with splines are {choices}"
                )
        return found

    @property
    def closure(self) -> Closure | None:
        """How coordinates follow others in closed loops, None if there are none."""
        return self.profiles.closure

    @cached_property
    def efforts(self) -> Flags:
        """Which of the user's coordinates may have a torque: driven ones and those in ``passive``.

        In closed loops, as many coordinates without drives are added as the motion needs to be balanced.
        """
        driven = np.array(self.mechanism.driven)
        if self.closure is None:
            return np.ones_like(driven)
        place = {int(k): row for row, k in enumerate(self.closure.varying)}
        pose = self.closure.guess[None]
        G = self.closure.following(pose, 0.0 * pose, 0.0 * pose).G[0][[place[int(k)] for k in self.own]]
        candidates = sorted(np.flatnonzero(~driven).tolist(), key=lambda j: j not in self.splines)
        for j in candidates:
            rank = np.linalg.matrix_rank(G[driven]) if driven.any() else 0
            if rank == G.shape[1]:
                break
            more = driven.copy()
            more[j] = True
            if np.linalg.matrix_rank(G[more]) > rank:
                driven = more
        return driven

    @cached_property
    def passive(self) -> list[int]:
        """Joints without a drive whose torque must be made zero by the motion."""
        return [j for j in self.column if self.efforts[j] and not self.mechanism.driven[j]]

    def driven_joints(self, names: str | Sequence[str] | None, what: str) -> list[int]:
        """Positions in q of the named joints; None stands for all with drives, and others are refused."""
        found = self.joints(names, what)
        driven = self.mechanism.driven
        if names is None:
            return [j for j in found if driven[j]]
        for j in found:
            if not driven[j]:
                raise InputError(
                    f"{what}: joint '{self.mechanism.joint_names[j]}' is not driven, so it has no torque"
                )
        return found

    def joints(self, names: str | Sequence[str] | None, what: str) -> list[int]:
        """Positions in q of the named joints; None stands for all."""
        if names is None:
            return list(range(self.mechanism.n_dof))
        listed = [names] if isinstance(names, str) else list(names)
        for name in listed:
            if name not in self.mechanism.joint_names:
                raise InputError(unknown_name("joint", name, self.mechanism.joint_names).after(f"{what}: "))
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
            raise InputError(
                unknown_name("body", name, ("world", *self.mechanism.body_names)).after(f"{what}: ")
            )
        return name

    def reaction(self, body: str, components: slice | Sequence[int] = slice(0, 6)) -> Integers:
        """Where components of force and moment in a body's joint, or a cut joint, stand among the torques.

        Those that redundant constraints of closed loops leave undetermined are refused.
        """
        found = reaction_rows(self.extended, reaction_body(self.mechanism, body))
        if self.closure is not None:
            loose = [COMPONENTS[k] for k in np.flatnonzero(self.closure.undetermined(found))]
            wanted = [COMPONENTS[k] for k in np.arange(6)[components]]
            if set(loose) & set(wanted):
                known = [x for x in COMPONENTS if x not in loose]
                raise InputError(
                    f"joint reaction of '{body}': {listed(x for x in wanted if x in loose)} is not "
                    f"available: redundant constraints of the loops leave it undetermined; known components "
                    f"are "
                    f"{listed(known) if known else 'none'}"
                )
        return found[components]

    def where(self, place: Where, what: str) -> Array:
        """Normalized times that a term is enforced at."""
        if isinstance(place, str):
            if place not in PLACES:
                raise InputError(unknown_name("place", place, PLACES).after(f"{what}: "))
            named = {
                "samples": self.samples,
                "knots": self.profiles.basis.breaks,
                "start": np.zeros(1),
                "end": np.ones(1),
            }
            return named[place]
        s = np.atleast_1d(finite(numbers(place, f"{what}: s"), f"{what}: s"))
        if s.ndim != 1 or not len(s) or ((s < 0.0) | (s > 1.0)).any():
            raise InputError(must_be(f"{what}: s", "numbers from 0 to 1 (the end)", place))
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
