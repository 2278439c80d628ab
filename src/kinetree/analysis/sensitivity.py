"""Exact derivatives of inverse and forward dynamics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.analysis.evaluate import (
    Packed,
    all_rates,
    axis_state,
    check_finite,
    coupled,
    evaluate,
    evaluate_packed,
    evaluate_single,
    independent,
    same_batch,
)
from kinetree.analysis.forward import check_pivots, forward_dynamics
from kinetree.analysis.inverse import inverse_dynamics, joint_reactions
from kinetree.analysis.loads import Wrenches, axis_loads, body_loads, load_moments
from kinetree.kernels.aba_gradient import ABA_GRADIENT
from kinetree.kernels.load_gradient import LOAD_GRADIENT, LOAD_HESSIAN
from kinetree.kernels.load_reaction import LOAD_REACTION
from kinetree.kernels.reaction_gradient import REACTION_GRADIENT, reaction_places
from kinetree.kernels.rnea import RNEA
from kinetree.kernels.rnea_gradient import RNEA_GRADIENT
from kinetree.kernels.rnea_hessian import RNEA_HESSIAN
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
    if wrenches is None and type(q) is np.ndarray:
        try:  # one plain state, seen before: straight to the compiled code, which checks it
            single = tree.memo[RNEA_GRADIENT](q, qd, qdd)
            if single is not None:
                return InverseDynamicsDerivatives(single, tree.n)
        except (KeyError, TypeError):
            pass
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
    tau, _ = evaluate(RNEA, tree, [q, qd, qdd, load], [tree.n, 0], threads)
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


@dataclass(frozen=True, eq=False)
class JointReactionDerivatives:
    """Joint reactions and their derivatives, numerator first.

    ``reaction`` (..., n_bodies, 6): force and moment that the parent exerts on each body, about its origin
    in body axes. ``dreaction_dq``, ``dreaction_dqd``, ``dreaction_dqdd``, each (..., n_bodies, 6, n_dof): of
    these components. ``packed`` holds them tree-sparse; the full arrays are made when first asked for.
    """

    reaction: Array
    packed: Packed
    loads: Packed | None = None

    @property
    def dreaction_dq(self) -> Array:
        """Derivatives with respect to positions."""
        return self._full[0]

    @property
    def dreaction_dqd(self) -> Array:
        """Derivatives with respect to velocities."""
        return self._full[1]

    @property
    def dreaction_dqdd(self) -> Array:
        """Derivatives with respect to accelerations."""
        return self._full[2]

    @cached_property
    def _full(self) -> tuple[Array, ...]:
        tree = self.packed.tree
        reaction_axis, coordinate = np.array(reaction_places(tree)).T
        body = np.full(tree.n, -1)
        body[tree.body_axis] = np.arange(tree.n_bodies)
        values = self.packed.by_state
        if self.loads is not None:
            values = values.copy()
            values[..., :6] += self.loads.by_state
        full = np.zeros((len(values), tree.n_bodies, tree.n, 18))
        full[:, body[reaction_axis], coordinate] = values
        full = full.reshape((*self.packed.batch, tree.n_bodies, tree.n, 3, 6))
        parts = (np.swapaxes(full[..., k, :], -1, -2) for k in range(3))
        return tuple(x if tree.coupling is None else x @ tree.coupling.matrix for x in parts)


def joint_reaction_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrenches: Wrenches = None,
    *,
    threads: int | None = None,
) -> JointReactionDerivatives:
    """Joint reactions and their exact derivatives with respect to q, qd and qdd, for states (..., n_dof).

    Bodies on fixed joints are included. ``wrenches`` stay fixed in the frame they are given in. Closed form,
    O(n depth).

    >>> import kinetree as kt
    >>> arm = kt.zoo.kuka_kr5()
    >>> d = kt.joint_reaction_derivatives(arm, [0.1] * 6, [0.2] * 6, [0.3] * 6)
    >>> d.dreaction_dq.shape
    (6, 6, 6)
    """
    tree, given = mechanism.jointed_tree, (q, qd, qdd)
    q, qd, qdd = axis_state(mechanism, tree, q, qd, qdd)
    loads = None
    if wrenches is not None:
        moments = load_moments(mechanism, tree, wrenches)
        q, qd, qdd, moments = same_batch(q, qd, qdd, moments)
        _, loads = evaluate_packed(LOAD_REACTION, tree, [q, moments], [], threads)
    (reaction,), packed = evaluate_packed(REACTION_GRADIENT, tree, [q, qd, qdd], [6 * tree.n], threads)
    check_finite([reaction])
    if wrenches is None:
        on_axes = reaction.reshape((*reaction.shape[:-1], tree.n, 6))
        return JointReactionDerivatives(on_axes[..., tree.body_axis, :], packed)
    return JointReactionDerivatives(joint_reactions(mechanism, *given, wrenches), packed, loads)


@dataclass(frozen=True, eq=False)
class TorqueHessian:
    """Derivatives of weight . tau, first and second.

    ``tau``, ``dq``, ``dqd``, ``dqdd`` (..., n_dof): torque and gradient. Second derivatives, each
    (..., n_dof, n_dof): ``q_q``, ``q_qd`` (row q, column qd), ``qd_qd``, ``q_qdd``. All others are zero.
    """

    tau: Array
    dq: Array
    dqd: Array
    dqdd: Array
    packed: Packed
    loads: Packed | None = None

    @property
    def q_q(self) -> Array:
        """d2/dq dq, symmetric."""
        return self._full[0]

    @property
    def q_qd(self) -> Array:
        """d2/dq dqd."""
        return self._full[1]

    @property
    def qd_qd(self) -> Array:
        """d2/dqd dqd, symmetric."""
        return self._full[2]

    @property
    def q_qdd(self) -> Array:
        """d2/dq dqdd."""
        return self._full[3]

    @property
    def full(self) -> Array:
        """The whole symmetric Hessian with respect to (q, qd, qdd), (..., 3 n_dof, 3 n_dof)."""
        n = self.tau.shape[-1]
        H = np.zeros((*self.tau.shape[:-1], 3 * n, 3 * n))
        q, qd, qdd = slice(0, n), slice(n, 2 * n), slice(2 * n, 3 * n)
        H[..., q, q], H[..., q, qd], H[..., qd, qd], H[..., q, qdd] = self._full
        H[..., qd, q] = np.swapaxes(self.q_qd, -1, -2)
        H[..., qdd, q] = np.swapaxes(self.q_qdd, -1, -2)
        return H

    @cached_property
    def _full(self) -> list[Array]:
        q_q, *others = self.packed.matrices
        q_q = q_q if self.loads is None else q_q + self.loads.matrices[0]
        return [coupled(self.packed.tree, matrix) for matrix in (q_q, *others)]


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

    What an optimiser with exact second derivatives needs: ``weight`` (..., n_dof) are its multipliers.
    ``wrenches`` stay fixed in the frame they are given in. Closed form, O(n depth).

    >>> import kinetree as kt
    >>> arm = kt.zoo.kuka_kr5()
    >>> kt.torque_hessian(arm, [0.1] * 6, [0.2] * 6, [0.3] * 6, weight=[1.0] * 6).full.shape
    (18, 18)
    """
    tree = mechanism.tree
    q, qd, qdd = axis_state(mechanism, tree, q, qd, qdd)
    y = all_rates(tree, coordinates(mechanism, weight, "weight"))
    if wrenches is not None:
        moments = load_moments(mechanism, tree, wrenches)
        q, qd, qdd, y, moments = same_batch(q, qd, qdd, y, moments)
    results, packed = evaluate_packed(RNEA_HESSIAN, tree, [q, qd, qdd, y], [tree.n] * 4, threads)
    check_finite(results)
    if wrenches is None:
        tau, dq, dqd, dqdd = (independent(tree, x) for x in results)
        return TorqueHessian(tau, dq, dqd, dqdd, packed)
    _, slopes = evaluate_packed(LOAD_GRADIENT, tree, [q, moments], [], threads)
    results[1] = results[1] + np.einsum("...i,...ik->...k", y, slopes.matrices[0])
    load = axis_loads(tree, body_loads(mechanism, q, wrenches))
    results[0], _ = evaluate(RNEA, tree, [q, qd, qdd, load], [tree.n, 0], threads)
    _, bends = evaluate_packed(LOAD_HESSIAN, tree, [q, y, moments], [], threads)
    tau, dq, dqd, dqdd = (independent(tree, x) for x in results)
    return TorqueHessian(tau, dq, dqd, dqdd, packed, bends)
