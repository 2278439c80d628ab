"""Torques of drives, reactions and forces of cut joints in mechanisms with closed loops, with derivatives.

The tree needs tau_tree(q, qd, qdd); its loops push with J^T lambda, and what is left is the work of drives:
T = tau_tree - J^T lambda over all axes, locked ones included, whose torques are reactions. With the least sum
of w T^2 over the drives, lambda comes from

    P y + J^T lambda = tau_tree     J y = 0     P = 1 / w at drives, 0 elsewhere

over the mechanism's own coordinates; with as many drives as freedoms it does not depend on w. For weights t
of T the same matrix gives (e, k) with P e + J^T k = 0, J e = -J t, and with t' = t + e

    t . T = t' . tau_tree - lambda . J t' - k . J y

is stationary in lambda and y: its second derivatives need no second derivatives of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.errors import SingularityError
from kinetree.model.tree import Flags
from kinetree.motion.problem.profile import ProfileMotion
from kinetree.motion.program.mechanics import Mechanics, Pushes
from kinetree.state import Wrench

if TYPE_CHECKING:
    from kinetree.dynamics.loops.closure import Closure
    from kinetree.motion.problem.setting import Setting
    from kinetree.motion.terms.contract import Acting

SINGULAR = 1e12  # condition of the matrix, in its largest and smallest entries of the inverse


def mechanics_of(setting: Setting, loads: Sequence[Wrench] = (), acting: Sequence[Acting] = ()) -> Mechanics:
    """The mechanics of a setting, with closed loops or without."""
    if setting.closure is None:
        return Mechanics(setting.extended, setting.profiles.varying, loads, acting)
    return LoopMechanics(setting.closure, setting.efforts, loads)


class _Solved(NamedTuple):
    """What is known at the samples of a motion."""

    q: Array
    J: Array  # (m, rows, n_dof): independent rows over all coordinates
    inverse: Array  # of the matrix, (m, own + rows, own + rows)
    tau_tree: Array
    y: Array  # (m, n_dof), zero at locked axes
    multipliers: Array  # (m, rows)


class LoopMechanics(Mechanics):
    """Inverse dynamics of a mechanism with closed loops; ``driven`` (own,) has a flag for each coordinate."""

    def __init__(self, closure: Closure, driven: Flags, loads: Sequence[Wrench] = ()) -> None:
        super().__init__(closure.mechanism.opened(), closure.varying, loads)
        self.closure, self.driven = closure, driven
        self.square = int(driven.sum()) == closure.n_independent
        self._last: _Solved | None = None

    @override
    def torques(self, motion: ProfileMotion, pushes: Pushes = ()) -> Array:
        """Torques of all coordinates, (m, n_dof)."""
        return self._left(self._solved(motion, super().torques(motion, pushes)))

    @override
    def all_slopes(self, motion: ProfileMotion, pushes: Pushes = ()) -> tuple[Array, Array]:
        """Torques (m, n_dof) and their derivatives by (q, qd, qdd) of what moves, (3, m, n_dof, n)."""
        tau_tree, slopes = super().all_slopes(motion, pushes)
        known = self._solved(motion, tau_tree)
        right, _, by_multipliers = self._solution_slopes(known, super().of_moving(slopes))
        found = right - np.swapaxes(known.J, 1, 2)[:, None] @ by_multipliers
        return self._left(known), found.swapaxes(0, 1)

    @override
    def of_moving(self, slopes: Array) -> Array:
        """The same with samples first: they are by what moves already."""
        return slopes.swapaxes(0, 1)

    @override
    def bend(self, motion: ProfileMotion, weight: Array, half: Array, pushes: Pushes = ()) -> None:
        """Add the half Hessian of weight . torques by (q, qd, qdd) to ``half``; weight (m, n_dof)."""
        tau_tree, slopes = super().all_slopes(motion, pushes)
        known, closure = self._solved(motion, tau_tree), self.closure
        _, by_y, by_multipliers = self._solution_slopes(known, super().of_moving(slopes))
        right = np.zeros((len(weight), known.inverse.shape[1]))
        right[:, len(closure.own) :] = -(known.J @ weight[..., None])[..., 0]
        adjoint = (known.inverse @ right[..., None])[..., 0]
        whole = np.array(weight)
        whole[:, closure.own] += adjoint[:, : len(closure.own)]
        super().bend(motion, whole, half, pushes)
        along = closure.jets(known.q, whole)
        half[:, 0] -= 0.5 * closure.both(along.bend(known.multipliers))[1]
        turned = np.swapaxes(closure.columns(along.J[1])[..., closure.varying], 1, 2)
        self._add_cross(half, turned[:, None] @ by_multipliers)
        if not self.square:
            k = adjoint[:, len(closure.own) :]
            push = closure.jets(known.q, known.y).bend(k)
            half[:, 0] -= 0.5 * closure.both(push)[1]
            self._add_cross(half, closure.both(push)[0][:, None] @ by_y)

    def _add_cross(self, half: Array, products: Array) -> None:
        """Subtract products (m, 3, n, n) of a slope by q with one by (q, qd, qdd)."""
        half[:, 0] -= 0.5 * (products[:, 0] + np.swapaxes(products[:, 0], 1, 2))
        half[:, 1] -= products[:, 1]
        half[:, 2] -= products[:, 2]

    def _left(self, known: _Solved) -> Array:
        """T = tau_tree - J^T lambda; exactly zero where there is no drive."""
        tau = known.tau_tree - (np.swapaxes(known.J, 1, 2) @ known.multipliers[..., None])[..., 0]
        tau[:, self.closure.own[~self.driven]] = 0.0
        return tau

    def _solved(self, motion: ProfileMotion, tau_tree: Array) -> _Solved:
        last, own = self._last, self.closure.own
        if last is not None and np.array_equal(last.q, motion.q) and np.array_equal(last.tau_tree, tau_tree):
            return last
        J = self.closure.columns(self.closure.jets(motion.q).J[0])
        m, rows, n = len(J), J.shape[1], len(own)
        matrix = np.zeros((m, n + rows, n + rows))
        matrix[:, np.flatnonzero(self.driven), np.flatnonzero(self.driven)] = 1.0
        matrix[:, n:, :n] = J[..., own]
        matrix[:, :n, n:] = np.swapaxes(J[..., own], 1, 2)
        try:
            inverse = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            inverse = np.full_like(matrix, np.inf)
        if not (np.abs(inverse).max(axis=(1, 2)) * np.abs(matrix).max(axis=(1, 2)) < SINGULAR).all():
            raise SingularityError(
                f"mechanism '{self.mechanism.name}': its drives cannot hold it in a position of this motion, "
                f"where forces in the loops are unbounded: a singular position"
            )
        right = np.zeros((m, n + rows, 1))
        right[:, :n, 0] = tau_tree[:, own]
        found = (inverse @ right)[..., 0]
        y = np.zeros_like(tau_tree)
        y[:, own] = found[:, :n]
        self._last = _Solved(motion.q, J, inverse, tau_tree, y, found[:, n:])
        return self._last

    def _solution_slopes(self, known: _Solved, slopes: Array) -> tuple[Array, Array, Array]:
        """d(tau_tree - J^T lambda) at fixed lambda, (m, 3, n_dof, n), slopes of y (varying) and lambda."""
        closure, n = self.closure, len(self.closure.own)
        right = np.array(slopes)
        bent = closure.jets(known.q).bend(known.multipliers)[0]
        coupling = closure.mechanism.tree.coupling
        full = bent if coupling is None else coupling.matrix.T @ bent @ coupling.matrix
        right[:, 0] -= full[..., closure.varying]
        rows = np.zeros((len(right), 3, known.J.shape[1], right.shape[3]))
        if not self.square:
            along = closure.jets(known.q, known.y).J[1]
            rows[:, 0] = -closure.columns(along)[..., closure.varying]
        found = known.inverse[:, None] @ np.concatenate([right[:, :, closure.own], rows], axis=2)
        places = {int(k): place for place, k in enumerate(closure.own)}
        order = [places[int(k)] for k in closure.varying]
        return right, found[:, :, order], found[:, :, n:]
