"""Everything that terms read at the samples of one motion, computed once and only if asked for."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.motion.compiled.assembly import add_outer, compiled
from kinetree.motion.problem.places import Frames
from kinetree.motion.problem.profile import PAIRS, RATES, Grid, Motion
from kinetree.motion.program.mechanics import Mechanics


class Evaluation:
    """One motion x at all samples of a problem, and where terms leave the curvature of what they weigh."""

    def __init__(self, grid: Grid, mechanics: Mechanics, x: Array) -> None:
        self.grid, self.mechanics, self.x = grid, mechanics, x
        self.motion = grid.motion(x)
        self.z = x  # the free unknowns of x, set by who made it
        self.mean: float | None = None  # of the objective's integrands, once it is asked for
        self.mean_slopes: tuple[Array, float] | None = None
        self._frames: dict[tuple[int, int], Frames] = {}

    @cached_property
    def torque(self) -> tuple[Array, Array]:
        """Torques (m, n_dof) and their derivatives (m, 3, n_dof, n)."""
        return self.mechanics.slopes(self.motion)

    @property
    def has_torque_slopes(self) -> bool:
        """Whether they were asked for."""
        return "torque" in self.__dict__

    @cached_property
    def tau(self) -> Array:
        """Torques alone, (m, n_dof)."""
        return self.torque[0] if self.has_torque_slopes else self.mechanics.torques(self.motion)

    def frames(self, part: slice) -> Frames:
        """Frames of all axes at some of the samples."""
        key = (part.start, part.stop)
        if key not in self._frames:
            self._frames[key] = self.mechanics.frames(self.motion.part(part))
        return self._frames[key]

    def clear_weights(self) -> None:
        """Forget all weights: before the curvature for new multipliers is collected."""
        m, n = len(self.grid.s), self.grid.profiles.n
        self.half = np.zeros((m, len(PAIRS), n, n))
        self.gradient = np.zeros((m, RATES, n))
        self.torque_weight: Array | None = None
        self.jerk_weight: Array | None = None

    @cached_property
    def jerk(self) -> Array:
        """Third time derivatives of the moving coordinates, (m, n)."""
        points = self.grid.profiles.control_points(self.x)[self.grid.points]
        return (self.grid.third[:, None] @ points)[:, 0] / self.motion.duration**3

    def curvature(self) -> tuple[Array, Array, Array]:
        """Second derivatives of all that was weighed, carried back to the unknowns: `Grid.pull_twice`."""
        if self.torque_weight is not None:
            self.mechanics.bend(self.motion, self.torque_weight, self.half)
        found = self.grid.pull_twice(self.half, self.gradient, self.motion)
        if self.jerk_weight is not None:
            self._bend_jerk(self.jerk_weight, *found)
        return found

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
        """Normalised times, (m,)."""
        return self.evaluation.grid.s[self.part]

    @property
    def duration(self) -> float:
        """T (s)."""
        return self.evaluation.motion.duration

    @property
    def moving(self) -> Array:
        """q, qd, qdd of the moving coordinates, (m, 3, n)."""
        return self.evaluation.motion.moving[self.part]

    @property
    def motion(self) -> Motion:
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
    def frames(self) -> Frames:
        """Frames of all axes."""
        return self.evaluation.frames(self.part)

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

    def add_block(self, k: int, block: Array) -> None:
        """Add to block PAIRS[k] of the half Hessian, (m, n, n); diagonal blocks are given halved."""
        self.evaluation.half[self.part, k] += block

    def add_outer(self, weight: Array, slopes: Array, others: Array | None = None) -> None:
        """Add sum_k weight_k (a_k b_k^T + b_k a_k^T) / 2 of rows a, b over (q, qd, qdd), (m, 3, k, n)."""
        half = self.evaluation.half[self.part]
        compiled(add_outer)(weight, slopes, slopes if others is None else others, half)
