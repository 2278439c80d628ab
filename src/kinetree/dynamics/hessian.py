"""Exact first and second derivatives of a weighted sum of torques of open trees."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.shown import Shown
from kinetree.dynamics.coupling import Bends, axis_slopes, coupled, further_terms, independent, on_axes
from kinetree.dynamics.evaluate import as_matrices, evaluate, evaluate_full, same_batch
from kinetree.dynamics.loads import Wrenches, axis_loads, body_loads, load_moments
from kinetree.dynamics.question import Question
from kinetree.dynamics.sensitivity import slopes_of_axes
from kinetree.dynamics.springs import spring_bends, spring_slopes
from kinetree.kernels.load_gradient import LOAD_GRADIENT, LOAD_HESSIAN
from kinetree.kernels.rnea import RNEA
from kinetree.kernels.rnea_hessian import RNEA_HESSIAN
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


def _hessians(
    mechanism: Mechanism, tree: Tree, state: tuple[Array, ...], wrenches: Wrenches, threads: int | None
) -> TorqueHessian:
    further = further_terms(tree, *state[:3])
    q, qd, qdd = on_axes(tree, *state[:3])
    y = np.asarray(state[3])
    if tree.coupling is not None:
        y = (axis_slopes(tree, q) @ y[..., None])[..., 0]
        q, qd, qdd, y = same_batch(q, qd, qdd, y)
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
    if further is None:
        return TorqueHessian(independent(tree, np.stack(results)), coupled(tree, second))
    _, of_axes = slopes_of_axes(mechanism, tree, (q, qd, qdd), wrenches, threads)
    return _felt(further, state[3], np.stack(results), second, of_axes)


def _felt(further: Bends, weight: Array, first: Array, second: Array, torque_slopes: Array) -> TorqueHessian:
    """Derivatives of y . tau by motions of all axes as those by the coordinates, with y = G weight.

    By q: a, ad, add and y change by G, B = ``rate``, C = ``acceleration`` and Y; ``torque_slopes`` (3, ...)
    are those of tau, which y multiplies.
    """
    tau, g_a, g_v, g_A = first
    H_aa, H_av, H_vv, H_aA = second
    T_a, T_v, T_A = torque_slopes
    G, B, C, w = further.G, further.rate, further.acceleration, weight[..., further.leaders]
    Y = further.columns(further.second * w)
    u, s, f2, f3, f4 = further.qd, further.qdd, further.second, further.third, further.fourth
    Gt, Yt = np.swapaxes(G, -1, -2), np.swapaxes(Y, -1, -2)
    gradient = np.stack([tau, g_a, g_v, g_A])[..., None, :] @ np.stack([G, G, G, G])
    gradient[1] += g_v[..., None, :] @ B + g_A[..., None, :] @ C + tau[..., None, :] @ Y
    gradient[2] += 2.0 * (g_A[..., None, :] @ B)
    half = Gt @ (0.5 * (H_aa @ G) + H_av @ B + H_aA @ C) + 0.5 * (np.swapaxes(B, -1, -2) @ H_vv @ B)
    half = half + Yt @ (T_a @ G + T_v @ B + T_A @ C)
    q_q = half + np.swapaxes(half, -1, -2)
    q_q = q_q + further.diagonal(g_a * f2 + g_v * f3 * u + g_A * (f3 * s + f4 * u**2) + tau * f3 * w)
    q_qd = Gt @ (H_av @ G + 2.0 * (H_aA @ B)) + np.swapaxes(B, -1, -2) @ H_vv @ G
    q_qd = q_qd + Yt @ (T_v @ G + 2.0 * (T_A @ B)) + further.diagonal(g_v * f2 + 2.0 * g_A * f3 * u)
    qd_qd = Gt @ H_vv @ G + further.diagonal(2.0 * g_A * f2)
    q_qdd = Gt @ H_aA @ G + Yt @ T_A @ G + further.diagonal(g_A * f2)
    return TorqueHessian(gradient[..., 0, :], np.stack([q_q, q_qd, qd_qd, q_qdd]))


HESSIAN = Question(
    "torque_hessian",
    RNEA_HESSIAN,
    ("q", "qd", "qdd", "weight"),
    general=_hessians,
    answer=lambda tree, found: TorqueHessian(*found),
    of_axes=False,
)
