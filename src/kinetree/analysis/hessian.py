"""Exact first and second derivatives of a weighted sum of torques."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.algebra.shown import Shown
from kinetree.analysis.batches import same_batch
from kinetree.analysis.coupling import coupled, independent
from kinetree.analysis.evaluate import as_matrices, evaluate, evaluate_full
from kinetree.analysis.loads import Wrenches, axis_loads, body_loads, load_moments
from kinetree.analysis.question import Question
from kinetree.analysis.springs import spring_bends, spring_slopes
from kinetree.kernels.load_gradient import LOAD_GRADIENT, LOAD_HESSIAN
from kinetree.kernels.rnea import RNEA
from kinetree.kernels.rnea_hessian import RNEA_HESSIAN
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree


class TorqueHessian(Shown):
    """Derivatives of weight . tau, first and second.

    ``tau``, ``dq``, ``dqd``, ``dqdd`` (..., n_dof): torque and gradient, side by side in ``first``. Second
    derivatives, each (..., n_dof, n_dof), side by side in ``second``: ``q_q``, ``q_qd`` (row q, column qd),
    ``qd_qd``, ``q_qdd``. All others are zero.
    """

    __slots__ = ("first", "second")
    _matrices = ("q_q", "q_qd", "qd_qd", "q_qdd")

    def __init__(self, first: Array, second: Array) -> None:
        self.first, self.second = first, second

    @property
    def tau(self) -> Array:
        """Torques and forces."""
        return self.first[0]  # type: ignore[no-any-return]

    @property
    def dq(self) -> Array:
        """Gradient with respect to positions."""
        return self.first[1]  # type: ignore[no-any-return]

    @property
    def dqd(self) -> Array:
        """Gradient with respect to velocities."""
        return self.first[2]  # type: ignore[no-any-return]

    @property
    def dqdd(self) -> Array:
        """Gradient with respect to accelerations."""
        return self.first[3]  # type: ignore[no-any-return]

    @property
    def q_q(self) -> Array:
        """d2/dq dq, symmetric."""
        return self.second[0]  # type: ignore[no-any-return]

    @property
    def q_qd(self) -> Array:
        """d2/dq dqd."""
        return self.second[1]  # type: ignore[no-any-return]

    @property
    def qd_qd(self) -> Array:
        """d2/dqd dqd, symmetric."""
        return self.second[2]  # type: ignore[no-any-return]

    @property
    def q_qdd(self) -> Array:
        """d2/dq dqdd."""
        return self.second[3]  # type: ignore[no-any-return]

    @property
    def full(self) -> Array:
        """The whole symmetric Hessian with respect to (q, qd, qdd), (..., 3 n_dof, 3 n_dof)."""
        n = self.tau.shape[-1]
        H = np.zeros((*self.tau.shape[:-1], 3 * n, 3 * n))
        q, qd, qdd = slice(0, n), slice(n, 2 * n), slice(2 * n, 3 * n)
        H[..., q, q], H[..., q, qd], H[..., qd, qd], H[..., q, qdd] = self.second
        H[..., qd, q] = np.swapaxes(self.q_qd, -1, -2)
        H[..., qdd, q] = np.swapaxes(self.q_qdd, -1, -2)
        return H


def torque_hessian(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    weight: ArrayLike,
    wrenches: Wrenches = None,
    *,
    threads: int | None = None,
) -> TorqueHessian:
    """Exact gradient and Hessian of sum_i weight_i tau_i with respect to (q, qd, qdd).

    What an optimizer with exact second derivatives needs: ``weight`` (..., n_dof) are its multipliers.
    ``wrenches`` stay fixed in the frame they are given in. Closed form, O(n depth). With closed loops
    derivatives are total and by the independent joints, which the answer names
    (:class:`kinetree.loops.LoopTorqueHessian`).

    >>> import kinetree as kt
    >>> arm = kt.zoo.kuka_kr5()
    >>> kt.analysis.torque_hessian(arm, [0.1] * 6, [0.2] * 6, [0.3] * 6, weight=[1.0] * 6).full.shape
    (18, 18)
    """
    state = q, qd, qdd, weight
    try:
        return _HESSIAN.ask(mechanism, mechanism.tree, state, wrenches, threads)
    except AttributeError:
        expect_mechanism(mechanism)
        raise


def _hessians(
    mechanism: Mechanism, tree: Tree, state: tuple[Array, ...], wrenches: Wrenches, threads: int | None
) -> TorqueHessian:
    q, qd, qdd, y = state
    if wrenches is not None:
        moments = load_moments(mechanism, tree, wrenches)
        q, qd, qdd, y, moments = same_batch(q, qd, qdd, y, moments)
    results, arrays = evaluate_full(RNEA_HESSIAN, tree, [q, qd, qdd, y], [tree.n] * 4, threads)
    second = as_matrices(arrays, tree.n)
    if wrenches is not None:
        _, (slopes,) = evaluate_full(LOAD_GRADIENT, tree, [q, moments], [], threads)
        results[1] = results[1] + np.einsum("...i,...ik->...k", y, slopes.reshape(second.shape[1:]))
        load = axis_loads(tree, body_loads(mechanism, q, wrenches))
        results[0], _ = evaluate(RNEA, tree, [q, qd, qdd, load], [tree.n, 0], threads)
        _, (bends,) = evaluate_full(LOAD_HESSIAN, tree, [q, y, moments], [], threads)
        second[0] += bends.reshape(second.shape[1:])
    if tree.springs is not None:
        torque, by_state = spring_slopes(tree, q, qd)
        results[0] = results[0] - torque
        for k, part in enumerate(by_state, start=1):
            results[k] = results[k] - np.einsum("...i,...ik->...k", y, part)
        for k, part in enumerate(spring_bends(tree, q, qd, y)):
            second[k] -= part
    return TorqueHessian(independent(tree, np.stack(results)), coupled(tree, second))


_HESSIAN = Question(
    "torque_hessian",
    RNEA_HESSIAN,
    ("q", "qd", "qdd", "weight"),
    general=_hessians,
    answer=lambda tree, found: TorqueHessian(*found),
)
