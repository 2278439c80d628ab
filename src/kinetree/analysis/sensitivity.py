"""Exact derivatives of inverse and forward dynamics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.analysis.evaluate import (
    Packed,
    axis_state,
    check_finite,
    coupled,
    evaluate,
    evaluate_packed,
    evaluate_plain,
    evaluate_single,
    independent,
    is_finite,
    same_batch,
)
from kinetree.analysis.forward import check_pivots, forward_dynamics
from kinetree.analysis.inverse import inverse_dynamics
from kinetree.analysis.loads import Wrenches, axis_loads, body_loads, load_moments
from kinetree.kernels.aba_gradient import ABA_GRADIENT
from kinetree.kernels.load_gradient import LOAD_GRADIENT
from kinetree.kernels.rnea import RNEA
from kinetree.kernels.rnea_gradient import RNEA_GRADIENT
from kinetree.model.mechanism import Mechanism
from kinetree.state import coordinates


class InverseDynamicsDerivatives:
    """Torque and its derivatives, numerator first: ``dtau_dq[..., i, k]`` = d tau_i / d q_k.

    ``tau`` (..., n_dof); ``dtau_dq``, ``dtau_dqd`` and ``dtau_dqdd`` (the mass matrix), each
    (..., n_dof, n_dof). Views of one flat array for a single state; for a batch see
    :class:`InverseDynamicsDerivativesOfBatch`.
    """

    __slots__ = ("_flat", "_n")

    def __init__(self, flat: Array, n: int) -> None:
        self._flat, self._n = flat, n

    @property
    def tau(self) -> Array:
        """Torques and forces."""
        return self._flat[: self._n]

    @property
    def dtau_dq(self) -> Array:
        """Stiffness: N m/rad."""
        return self._matrix(0)

    @property
    def dtau_dqd(self) -> Array:
        """Damping: N m s/rad."""
        return self._matrix(1)

    @property
    def dtau_dqdd(self) -> Array:
        """Mass matrix: kg m^2."""
        return self._matrix(2)

    def _matrix(self, k: int) -> Array:
        n = self._n
        start = n + k * n * n
        return self._flat[start : start + n * n].reshape(n, n)


class InverseDynamicsDerivativesOfBatch(InverseDynamicsDerivatives):
    """The same for a batch: ``packed`` is tree-sparse, full matrices are made when first asked for."""

    def __init__(self, tau: Array, packed: Packed, loads: Packed | None = None) -> None:
        super().__init__(tau, tau.shape[-1])
        self.packed, self.loads = packed, loads

    @property
    def tau(self) -> Array:
        """Torques and forces."""
        return self._flat

    def _matrix(self, k: int) -> Array:
        return self._full[k]

    @cached_property
    def _full(self) -> list[Array]:
        dq, dqd, dqdd = self.packed.matrices
        dq = dq if self.loads is None else dq + self.loads.matrices[0]
        return [coupled(self.packed.tree, matrix) for matrix in (dq, dqd, dqdd)]


def inverse_dynamics_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrenches: Wrenches = None,
    *,
    threads: int | None = None,
) -> InverseDynamicsDerivatives:
    """tau and its exact derivatives with respect to q, qd and qdd, for states (..., n_dof).

    ``wrenches`` stay fixed in the frame they are given in while q varies. Closed form in the world frame,
    O(n depth). At zero velocity Coulomb friction has no derivative and is left out.

    >>> import kinetree as kt
    >>> arm = kt.zoo.kuka_kr5()
    >>> d = kt.inverse_dynamics_derivatives(arm, [0.1] * 6, [0.2] * 6, [0.3] * 6)
    >>> d.dtau_dq.shape
    (6, 6)
    """
    tree = mechanism.tree
    if wrenches is None and type(q) is np.ndarray and q.ndim == 1:
        try:  # one plain state, seen before: straight to the compiled code, which checks it
            single = tree.memo[RNEA_GRADIENT](q, qd, qdd)
            if single is not None:
                return InverseDynamicsDerivatives(single, tree.n)
        except (KeyError, TypeError):
            pass
    if wrenches is None:
        batch = evaluate_plain(RNEA_GRADIENT, tree, (q, qd, qdd), threads)
        if batch is not None and is_finite(batch[0][0]):
            return InverseDynamicsDerivativesOfBatch(batch[0][0], batch[1])
    q, qd, qdd = axis_state(mechanism, tree, q, qd, qdd)
    if wrenches is None:
        single = evaluate_single(RNEA_GRADIENT, tree, q, qd, qdd)
        if single is not None:
            return InverseDynamicsDerivatives(single, tree.n)
        (tau,), packed = evaluate_packed(RNEA_GRADIENT, tree, [q, qd, qdd], [tree.n], threads)
        check_finite([tau])
        return InverseDynamicsDerivativesOfBatch(independent(tree, tau), packed)
    load, moments = (
        axis_loads(tree, body_loads(mechanism, q, wrenches)),
        load_moments(mechanism, tree, wrenches),
    )
    tau, _ = evaluate(RNEA, tree, [q, qd, qdd, load], [tree.n, 0], threads)  # checks that it is finite
    q, qd, qdd, _ = same_batch(q, qd, qdd, moments)
    _, packed = evaluate_packed(RNEA_GRADIENT, tree, [q, qd, qdd], [tree.n], threads)
    _, loads = evaluate_packed(LOAD_GRADIENT, tree, [q, moments], [], threads)
    return InverseDynamicsDerivativesOfBatch(independent(tree, tau), packed, loads)


@dataclass(frozen=True, eq=False)
class ForwardDynamicsDerivatives:
    """Acceleration and its derivatives, numerator first: ``dqdd_dq[..., i, k]`` = d qdd_i / d q_k.

    ``qdd`` (..., n_dof); ``dqdd_dq``, ``dqdd_dqd`` and ``dqdd_dtau`` (the inverse mass matrix), each
    (..., n_dof, n_dof).
    """

    qdd: Array
    dqdd_dq: Array
    dqdd_dqd: Array
    dqdd_dtau: Array


def forward_dynamics_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    wrenches: Wrenches = None,
    *,
    threads: int | None = None,
) -> ForwardDynamicsDerivatives:
    """qdd and its exact derivatives with respect to q, qd and tau, for states (..., n_dof).

    dqdd/dq = -M^-1 dtau/dq at the resulting acceleration, and likewise for qd; dqdd/dtau = M^-1.
    ``wrenches`` stay fixed in the frame they are given in.

    >>> import kinetree as kt
    >>> arm = kt.zoo.kuka_kr5()
    >>> kt.forward_dynamics_derivatives(arm, [0.1] * 6, [0.2] * 6, [0.3] * 6).dqdd_dq.shape
    (6, 6)
    """
    tree = mechanism.tree
    q, qd = coordinates(mechanism, q, "q"), coordinates(mechanism, qd, "qd")
    tau = coordinates(mechanism, tau, "tau")
    if tree.coupling is not None:
        return _coupled_derivatives(mechanism, q, qd, tau, wrenches, threads)
    loads = None
    if wrenches is not None:
        still = np.zeros(tree.n)
        tau = tau - inverse_dynamics(mechanism, q, still, still, wrenches)
        tau = tau + inverse_dynamics(mechanism, q, still, still)
        moments = load_moments(mechanism, tree, wrenches)
        q, qd, tau, _ = same_batch(q, qd, tau, moments)
        _, loads = evaluate_packed(LOAD_GRADIENT, tree, [q, moments], [], threads)
    n = tree.n
    (qdd, pivot, _), packed = evaluate_packed(ABA_GRADIENT, tree, [q, qd, tau], [n, n, n], threads)
    check_pivots(tree, pivot)
    check_finite([qdd])
    dq, dqd, inverse = packed.matrices
    if loads is not None:
        dq = dq - inverse @ loads.matrices[0]
    return ForwardDynamicsDerivatives(qdd, dq, dqd, inverse)


def _coupled_derivatives(
    mechanism: Mechanism, q: Array, qd: Array, tau: Array, wrenches: Wrenches, threads: int | None
) -> ForwardDynamicsDerivatives:
    """With mimic joints: solve with the mass matrix of the independent coordinates."""
    qdd = forward_dynamics(mechanism, q, qd, tau, wrenches)
    d = inverse_dynamics_derivatives(mechanism, q, qd, qdd, wrenches, threads=threads)
    inverse = np.asarray(np.linalg.inv(d.dtau_dqdd), dtype=np.float64)
    return ForwardDynamicsDerivatives(qdd, -inverse @ d.dtau_dq, -inverse @ d.dtau_dqd, inverse)
