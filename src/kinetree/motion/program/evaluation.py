"""Everything that terms read at the samples of one motion, computed once and only if asked for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import Integers
from kinetree.motion.compiled.assembly import add_outer, compiled
from kinetree.motion.problem.places import AxisFrames
from kinetree.motion.problem.profile import PAIRS, RATES, Grid, ProfileMotion
from kinetree.motion.problem.unknowns import MOTION, Instants
from kinetree.motion.program.mechanics import Mechanics
from kinetree.state import Wrench

if TYPE_CHECKING:
    from kinetree.dynamics.loops.closure import ClosureDerivatives
    from kinetree.motion.program.linearized import Linearized
    from kinetree.motion.program.torque_map import TorqueMap

K = TypeVar("K", bound=Hashable)
Curves = Mapping[str, Array]  # by the name of a further block


class Evaluation:
    """One motion x at all samples of a problem, and where terms leave the curvature of what they weigh.

    Torques are known at the first ``dynamic`` samples, by default at all.
    """

    def __init__(
        self, instants: Instants, mechanics: Mechanics, x: Array, dynamic: int | None = None
    ) -> None:
        self.instants, self.mechanics, self.x = instants, mechanics, x
        self.dynamic = slice(0, len(instants.s) if dynamic is None else dynamic)
        self.grid: Grid = instants.grid
        self.motion = instants.motion(x)
        self.z = x  # the free unknowns of x, set by who made it
        self.mean: tuple[float, float] | None = None  # of the objective's integrands, once it is asked for
        self.mean_slopes: tuple[Array, Array] | None = None
        self._frames: dict[tuple[int, int], AxisFrames] = {}
        self._shifted: dict[float, AxisFrames] = {}
        self._rows: Array | None = None
        self.linearized: Linearized | None = None  # the rows, once they are asked for
        self._curves: dict[str, Array] = {}

    def curve(self, name: str) -> Array:
        """Samples of a further block, (m, k)."""
        if name not in self._curves:
            self._curves[name] = self.instants.curves[name].values(self.x)
        return self._curves[name]

    @cached_property
    def varying(self) -> Array:
        """q, qd, qdd of all coordinates that move, (m, 3, n): by splines first, then those that follow."""
        profiles = self.grid.profiles
        if profiles.closure is None:
            return self.motion.moving
        q, qd, qdd = self.motion.q, self.motion.qd, self.motion.qdd
        return np.stack([x[:, profiles.varying] for x in (q, qd, qdd)], axis=1)

    @cached_property
    def following(self) -> ClosureDerivatives | None:
        """How coordinates follow those of splines where loops are closed; None where all have splines."""
        closure = self.grid.profiles.closure
        motion = self.motion
        return None if closure is None else closure.following(motion.q, motion.qd, motion.qdd)

    def reduced(self, slopes: Array, part: slice) -> Array:
        """Slopes by (q, qd, qdd) of all that moves, (m, 3, k, n), as slopes by those of splines."""
        return slopes if self.following is None else self.following.reduced(slopes, part)

    @property
    def everywhere(self) -> At:
        """All samples at which torques are known."""
        return At(self, self.dynamic)

    @cached_property
    def pushes(self) -> list[Wrench]:
        """Loads that depend on what is sought, with their present forces (m, 3)."""
        at = self.everywhere
        return [wrench for load in self.mechanics.acting for wrench in load.wrenches(at)]

    @cached_property
    def all_frames(self) -> AxisFrames:
        """Frames of all axes where torques are known, with derivatives by all coordinates."""
        return self._every_frame.part(self.dynamic, self.mechanics.every)

    @cached_property
    def derived_torques(self) -> tuple[Array, Array]:
        """Torques (m, n_dof) and their derivatives by all coordinates, (3, m, n_dof, n_dof).

        The second without what loads on bodies add that change with the motion by themselves.
        """
        tau, slopes = self.mechanics.all_slopes(self.motion.part(self.dynamic), self.pushes)
        for load in self.mechanics.acting:
            load.add_torques(self.everywhere, tau)
            load.add_slopes(self.everywhere, slopes)
        return tau, slopes

    @cached_property
    def torque(self) -> tuple[Array, Array]:
        """Torques (m, n_dof) and their derivatives by what moves, (m, 3, n_dof, n)."""
        tau, slopes = self.derived_torques
        found = self.mechanics.of_moving(slopes)
        if self._loads_move:
            found = np.array(found)
            for load in self.mechanics.acting:
                load.add_motion_slopes(self.everywhere, found)
        return tau, found

    @property
    def _loads_move(self) -> bool:
        """Whether loads on bodies change with the motion by themselves."""
        return any(MOTION in load.reads and not load.in_joints for load in self.mechanics.acting)

    @property
    def torque_slopes(self) -> tuple[Array, bool]:
        """All derivatives of torques (3, m, n_dof, N), and whether N are all coordinates or what moves."""
        if self._loads_move:
            return np.ascontiguousarray(self.torque[1].swapaxes(0, 1)), False
        return self.derived_torques[1], True

    @cached_property
    def torque_curves(self) -> dict[str, Array]:
        """Derivatives of the torques by samples of the further blocks that loads read, (m, n_dof, k) each."""
        found: dict[str, Array] = {}
        for load in self.mechanics.acting:
            for name, slopes in load.curve_slopes(self.everywhere).items():
                found[name] = found[name] + slopes if name in found else slopes
        return found

    def torque_rows(self, map: TorqueMap) -> Array:
        """Derivatives of torques by the free unknowns as a map lays them out, computed once."""
        if self._rows is None:
            self._rows = map.rows(self)
        return self._rows

    @property
    def has_torque_slopes(self) -> bool:
        """Whether they were asked for."""
        return "derived_torques" in self.__dict__

    @cached_property
    def tau(self) -> Array:
        """Torques alone, (m, n_dof)."""
        if self.has_torque_slopes:
            return self.derived_torques[0]
        tau = self.mechanics.torques(self.motion.part(self.dynamic), self.pushes)
        for load in self.mechanics.acting:
            load.add_torques(self.everywhere, tau)
        return tau

    @cached_property
    def in_joints(self) -> Array:
        """What acts in joints beside their drives, (m, n_dof): springs and the like, as moments on them."""
        found = np.zeros((len(self.grid.s[self.dynamic]), self.mechanics.mechanism.n_dof))
        for load in self.mechanics.acting:
            if load.in_joints:
                load.add_torques(self.everywhere, found)
        return -found

    def frames(self, part: slice) -> AxisFrames:
        """Frames of all axes at some of the samples."""
        key = (part.start, part.stop)
        if key not in self._frames:
            self._frames[key] = self._every_frame.part(part)
        return self._frames[key]

    @cached_property
    def _every_frame(self) -> AxisFrames:
        """Frames of all axes at all samples, computed once."""
        return self.mechanics.frames(self.motion)

    def shifted(self, time: float) -> AxisFrames:
        """Frames of all axes at all samples, as if all went on at their velocities for so long (s)."""
        if time not in self._shifted:
            motion, mechanics = self.motion, self.mechanics
            self._shifted[time] = AxisFrames(
                mechanics.mechanism, mechanics.moving, motion.q + time * motion.qd, motion.qd
            )
        return self._shifted[time]

    def clear_weights(self) -> None:
        """Forget all weights: before the curvature for new multipliers is collected."""
        m, n = len(self.grid.s), len(self.grid.profiles.varying)
        self.half = np.zeros((m, len(PAIRS), n, n))
        self.gradient = np.zeros((m, RATES, n))
        self.mixed: dict[str, Array] = {}  # second derivatives by (q, qd, qdd) and a curve, (m, 3, n, k)
        self.curved: dict[tuple[str, str], Array] = {}  # by two curves, (m, k, k')
        self.torque_weight: Array | None = None
        self.jerk_weight: Array | None = None

    @cached_property
    def jerk(self) -> Array:
        """Third time derivatives of the coordinates that splines move, (m, n)."""
        points = self.instants.unknowns.control_points(self.x)[self.grid.points]
        return (self.grid.third[:, None] @ points)[:, 0] / self.motion.duration**3

    def curvature(self) -> tuple[Array, Array, Array]:
        """Second derivatives of all that was weighed, carried back to the unknowns: `Grid.pull_twice`."""
        self.bend_torques()
        half, gradient = self.half, self.gradient
        if self.following is not None:
            half, gradient = self.following.reduced_twice(half, gradient)
        found = self.grid.pull_twice(half, gradient, self.motion)
        if self.jerk_weight is not None:
            self._bend_jerk(self.jerk_weight, *found)
        return found

    def bend_torques(self) -> None:
        """Add the second derivatives of torques with their weights to those of all else."""
        if self.torque_weight is not None:
            some = self.dynamic
            self.mechanics.bend(self.motion.part(some), self.torque_weight, self.half[some], self.pushes)
            for load in self.mechanics.acting:
                load.bend_torques(self.everywhere, self.torque_weight)

    def _bend_jerk(self, weight: Array, points: Array, mixed: Array, twice: Array) -> None:
        """Add the second derivatives of sum_j weight_j jerk_j^2, of which T^-6 is a factor."""
        T, b = self.motion.duration, self.grid.third
        square = b[:, :, None] * b[:, None, :] / T**6
        diagonal = np.arange(weight.shape[1])
        points[:, :, :, diagonal, diagonal] += square[..., None] * weight[:, None, None]
        mixed += (-12.0 / T**4) * b[:, :, None] * (weight * self.jerk)[:, None]
        twice += (42.0 / T**2) * (weight * self.jerk**2).sum(axis=1)


class At:
    """What a term sees: the samples it asked for, in an evaluation."""

    __slots__ = ("evaluation", "part")

    def __init__(self, evaluation: Evaluation, part: slice) -> None:
        self.evaluation, self.part = evaluation, part

    @property
    def s(self) -> Array:
        """Normalized times, (m,)."""
        return self.evaluation.grid.s[self.part]

    @property
    def duration(self) -> float:
        """T (s)."""
        return self.evaluation.motion.duration

    @property
    def moving(self) -> Array:
        """q, qd, qdd of the moving coordinates, (m, 3, n)."""
        return self.evaluation.varying[self.part]

    @property
    def motion(self) -> ProfileMotion:
        """q, qd, qdd of all coordinates, (m, n_dof) each."""
        return self.evaluation.motion.part(self.part)

    @property
    def tau(self) -> Array:
        """Torques of all coordinates, (m, n_dof)."""
        return self.evaluation.tau[self.part]

    @property
    def torque_slopes(self) -> Array:
        """Derivatives of the torques by (q, qd, qdd) of what moves, (m, 3, n_dof, n)."""
        return self.evaluation.torque[1][self.part]

    @property
    def torque_curves(self) -> dict[str, Array]:
        """Derivatives of the torques by samples of the further blocks, (m, n_dof, k) each."""
        return {name: slopes[self.part] for name, slopes in self.evaluation.torque_curves.items()}

    def curve(self, name: str) -> Array:
        """Samples of a further block, (m, k)."""
        return self.evaluation.curve(name)[self.part]

    @property
    def frames(self) -> AxisFrames:
        """Frames of all axes."""
        return self.evaluation.frames(self.part)

    @property
    def all_frames(self) -> AxisFrames:
        """Frames of all axes, with derivatives by all coordinates; only for all samples."""
        return self.evaluation.all_frames

    def weigh_torques(self, rows: object, weight: Array) -> None:
        """Add the second derivatives of weight . tau[rows]; weight (m, k)."""
        evaluation = self.evaluation
        if evaluation.torque_weight is None:
            evaluation.torque_weight = np.zeros_like(evaluation.tau)
        evaluation.torque_weight[self.part][:, rows] += weight  # type: ignore[index]

    def weigh_jerk(self, weight: Array) -> None:
        """Add the second derivatives of sum_j weight_j jerk_j^2; weight (m, n)."""
        evaluation = self.evaluation
        if evaluation.jerk_weight is None:
            evaluation.jerk_weight = np.zeros_like(evaluation.jerk)
        evaluation.jerk_weight[self.part] += weight

    @property
    def half(self) -> Array:
        """The half Hessian of its samples, (m, pairs, n, n), to add to."""
        return self.evaluation.half[self.part]

    def add_block(self, k: int, block: Array) -> None:
        """Add to block PAIRS[k] of the half Hessian, (m, n, n); diagonal blocks are given halved."""
        self.evaluation.half[self.part, k] += block

    def add_entries(self, k: int, columns: Integers, block: Array) -> None:
        """The same of some of the moving coordinates: block (m, c, c) of ``columns`` (c,)."""
        half = self.evaluation.half[self.part]
        half[:, k, columns[:, None], columns] += block

    def add_outer(
        self,
        weight: Array,
        slopes: Array,
        others: Array | None = None,
        *,
        curves: Curves | None = None,
        other_curves: Curves | None = None,
    ) -> None:
        """Add sum_k weight_k (a_k b_k^T + b_k a_k^T) / 2 of rows a, b over all blocks; b is a if not given.

        ``slopes`` (of a) and ``others`` (of b) are the rows over (q, qd, qdd), (m, 3, k, n); ``curves`` and
        ``other_curves`` those over samples of further blocks, (m, k, k') each.
        """
        half = self.evaluation.half[self.part]
        compiled(add_outer)(weight, slopes, slopes if others is None else others, half)
        a = curves or {}
        b = a if others is None else other_curves or {}
        for name in {**a, **b}:
            if name in b:
                self.add_mixed(name, _outer(0.5 * weight, slopes, b[name]))
            if name in a:
                self.add_mixed(name, _outer(0.5 * weight, slopes if others is None else others, a[name]))
        self.add_curved_outer(weight, a, b)

    def add_curved_outer(self, weight: Array, a: Curves, b: Curves | None = None) -> None:
        """The part of `add_outer` that is about further blocks alone."""
        b = a if b is None else b
        for first, rows in a.items():
            for second, columns in b.items():
                product = np.einsum("mk,mki,mkj->mij", 0.5 * weight, rows, columns)
                self.add_curved(first, second, product)
                self.add_curved(second, first, np.swapaxes(product, 1, 2))

    def add_mixed(self, name: str, block: Array) -> None:
        """Add second derivatives by (q, qd, qdd) of what moves and samples of a curve, (m, 3, n, k)."""
        self._add(self.evaluation.mixed, name, block)

    def add_curved(self, first: str, second: str, block: Array) -> None:
        """Add to the second derivatives by samples of two curves, (m, k, k'); both orders are kept."""
        self._add(self.evaluation.curved, (first, second), block)

    def _add(self, store: dict[K, Array], key: K, block: Array) -> None:
        if key not in store:
            store[key] = np.zeros((len(self.evaluation.grid.s), *block.shape[1:]))
        store[key][self.part] += block


def _outer(weight: Array, slopes: Array, curve: Array) -> Array:
    """sum_k weight_k a_k b_k^T of rows over (q, qd, qdd) and over a curve, (m, 3, n, k')."""
    product: Array = np.einsum("mk,mrkn,mkc->mrnc", weight, slopes, curve)
    return product
