"""Exact derivatives of inverse and forward dynamics."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.analysis.by_formulation import slopes_of
from kinetree.analysis.evaluate import (
    Packed,
    as_matrices,
    axis_state,
    check_finite,
    check_threads,
    checked_out,
    copied,
    coupled,
    evaluate,
    evaluate_full,
    evaluate_packed,
    evaluate_plain_full,
    evaluate_single,
    given,
    independent,
    is_plain,
    same_batch,
)
from kinetree.analysis.forward import check_pivots, forward_dynamics, solved
from kinetree.analysis.inverse import inverse_dynamics
from kinetree.analysis.loads import Wrenches, axis_loads, body_loads, load_moments
from kinetree.errors import InputError
from kinetree.kernels.aba_gradient import ABA_GRADIENT
from kinetree.kernels.load_gradient import LOAD_GRADIENT
from kinetree.kernels.rnea import RNEA
from kinetree.kernels.rnea_gradient import RNEA_GRADIENT
from kinetree.model.mechanism import Mechanism, check_open
from kinetree.model.tree import Tree


class InverseDynamicsDerivatives:
    """Torque and its derivatives, numerator first: ``dtau_dq[..., i, k]`` = d tau_i / d q_k.

    ``tau`` (..., n_dof); ``dtau_dq`` (stiffness, N m/rad), ``dtau_dqd`` (damping, N m s/rad) and
    ``dtau_dqdd`` (the mass matrix, kg m^2), each (..., n_dof, n_dof), are views of ``matrices``
    (3, ..., n_dof, n_dof).
    """

    __slots__ = ("dtau_dq", "dtau_dqd", "dtau_dqdd", "matrices", "tau")

    def __init__(self, tau: Array, matrices: Array) -> None:
        self.tau, self.matrices = tau, matrices
        self.dtau_dq, self.dtau_dqd, self.dtau_dqdd = matrices[0], matrices[1], matrices[2]


class PackedInverseDynamicsDerivatives(InverseDynamicsDerivatives):
    """The same as the kernel leaves it: ``packed`` is tree-sparse, full matrices are made when asked for."""

    def __init__(self, tau: Array, packed: Packed) -> None:
        self.tau, self.packed = tau, packed

    @cached_property
    def matrices(self) -> Array:  # type: ignore[override]
        """All three, (3, ..., n_dof, n_dof)."""
        return coupled(self.packed.tree, self.packed.matrices)

    @property
    def dtau_dq(self) -> Array:
        """Stiffness: N m/rad."""
        return self.matrices[0]  # type: ignore[no-any-return]

    @property
    def dtau_dqd(self) -> Array:
        """Damping: N m s/rad."""
        return self.matrices[1]  # type: ignore[no-any-return]

    @property
    def dtau_dqdd(self) -> Array:
        """Mass matrix: kg m^2."""
        return self.matrices[2]  # type: ignore[no-any-return]


def inverse_dynamics_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrenches: Wrenches = None,
    *,
    threads: int | None = None,
    packed: bool = False,
    formulation: str | None = None,
    out: InverseDynamicsDerivatives | None = None,
) -> InverseDynamicsDerivatives:
    """tau and its exact derivatives with respect to q, qd and qdd, for states (..., n_dof).

    ``wrenches`` stay fixed in the frame they are given in while q varies. Closed form in the world frame,
    O(n depth). At zero velocity Coulomb friction has no derivative and is left out. ``packed`` leaves the
    matrices of a batch tree-sparse until they are asked for. ``formulation`` asks another derivation, without
    wrenches (:func:`derivations`). ``out``, an earlier answer of the same shape, lends its arrays to this
    one.

    >>> import kinetree as kt
    >>> arm = kt.zoo.kuka_kr5()
    >>> d = kt.inverse_dynamics_derivatives(arm, [0.1] * 6, [0.2] * 6, [0.3] * 6)
    >>> d.dtau_dq.shape
    (6, 6)
    """
    tree = mechanism.tree
    check_threads(threads)
    if (
        wrenches is None
        and out is None
        and formulation is None
        and not (packed and getattr(q, "ndim", 2) > 1)
    ):
        try:  # a few plain states, seen before: straight to the compiled code, which checks them
            found = tree.memo[RNEA_GRADIENT](q, qd, qdd)
            if found is not None:
                return InverseDynamicsDerivatives(*found)
        except KeyError:
            pass
    check_open(mechanism, "inverse_dynamics_derivatives")
    if out is not None:
        return _derivatives_into(out, mechanism, (q, qd, qdd), wrenches, threads, formulation)
    if formulation is not None:
        return _by_formulation(formulation, mechanism, (q, qd, qdd), wrenches)
    if wrenches is None and not packed:
        plain = evaluate_plain_full(RNEA_GRADIENT, tree, (q, qd, qdd), threads)
        if plain is not None:
            return InverseDynamicsDerivatives(plain[0][0], plain[1].reshape(3, -1, tree.n, tree.n))
    q, qd, qdd = axis_state(mechanism, tree, q, qd, qdd)
    if wrenches is not None:
        return _loaded_derivatives(mechanism, q, qd, qdd, wrenches, threads)
    single = evaluate_single(RNEA_GRADIENT, tree, q, qd, qdd)
    if single is not None:
        return InverseDynamicsDerivatives(*single)
    if packed:
        (tau,), sparse = evaluate_packed(RNEA_GRADIENT, tree, [q, qd, qdd], [tree.n], threads)
        check_finite([tau])
        return PackedInverseDynamicsDerivatives(independent(tree, tau), sparse)
    (tau,), arrays = evaluate_full(RNEA_GRADIENT, tree, [q, qd, qdd], [tree.n], threads)
    matrices = coupled(tree, as_matrices(arrays, tree.n))
    return InverseDynamicsDerivatives(independent(tree, tau), matrices)


def _derivatives_into(
    out: InverseDynamicsDerivatives,
    mechanism: Mechanism,
    state: tuple[Any, Any, Any],
    wrenches: Wrenches,
    threads: int | None,
    formulation: str | None,
) -> InverseDynamicsDerivatives:
    """The answer in the arrays of an earlier one."""
    if not isinstance(out, InverseDynamicsDerivatives):
        raise InputError(f"out must be an earlier answer of this function, got {type(out).__name__}")
    tree = mechanism.tree
    is_simple = wrenches is None and formulation is None
    if type(out) is InverseDynamicsDerivatives and is_simple and is_plain(tree, state):
        shape = state[0].shape
        tau = checked_out(out.tau, shape, state)
        matrices = checked_out(out.matrices, (3, *shape, tree.n), state)
        axis_state(mechanism, tree, *state)
        evaluate_full(RNEA_GRADIENT, tree, state, [tree.n], threads, matrices, [tau])
        return out
    found = inverse_dynamics_derivatives(
        mechanism, *state, wrenches, threads=threads, formulation=formulation
    )
    if out.tau.shape != found.tau.shape:
        raise InputError(f"out has torques of shape {out.tau.shape}, the answer's {found.tau.shape}")
    copied(out.tau, found.tau, state)
    copied(out.matrices, found.matrices, state)
    return out


def _by_formulation(
    name: str, mechanism: Mechanism, state: tuple[Any, Any, Any], wrenches: Wrenches
) -> InverseDynamicsDerivatives:
    """By another derivation, state by state."""
    tree = mechanism.tree
    tau, slopes = slopes_of(name, "inverse_dynamics_derivatives", mechanism, tree, state, wrenches)
    return InverseDynamicsDerivatives(independent(tree, tau), coupled(tree, slopes))


def _loaded_derivatives(
    mechanism: Mechanism, q: Array, qd: Array, qdd: Array, wrenches: Wrenches, threads: int | None
) -> InverseDynamicsDerivatives:
    """The same with loads on the bodies."""
    tree = mechanism.tree
    load = axis_loads(tree, body_loads(mechanism, q, wrenches))
    moments = load_moments(mechanism, tree, wrenches)
    tau, _ = evaluate(RNEA, tree, [q, qd, qdd, load], [tree.n, 0], threads)  # checks that it is finite
    q, qd, qdd, _ = same_batch(q, qd, qdd, moments)
    _, arrays = evaluate_full(RNEA_GRADIENT, tree, [q, qd, qdd], [tree.n], threads)
    _, (loads,) = evaluate_full(LOAD_GRADIENT, tree, [q, moments], [], threads)
    arrays[0] += loads
    matrices = coupled(tree, as_matrices(arrays, tree.n))
    return InverseDynamicsDerivatives(independent(tree, tau), matrices)


class ForwardDynamicsDerivatives:
    """Acceleration and its derivatives, numerator first: ``dqdd_dq[..., i, k]`` = d qdd_i / d q_k.

    ``qdd`` (..., n_dof); ``dqdd_dq``, ``dqdd_dqd`` and ``dqdd_dtau`` (the inverse mass matrix), each
    (..., n_dof, n_dof), are views of ``matrices`` (3, ..., n_dof, n_dof).
    """

    __slots__ = ("dqdd_dq", "dqdd_dqd", "dqdd_dtau", "matrices", "qdd")

    def __init__(self, qdd: Array, matrices: Array) -> None:
        self.qdd, self.matrices = qdd, matrices
        self.dqdd_dq, self.dqdd_dqd, self.dqdd_dtau = matrices[0], matrices[1], matrices[2]


def forward_dynamics_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    wrenches: Wrenches = None,
    *,
    threads: int | None = None,
    out: ForwardDynamicsDerivatives | None = None,
) -> ForwardDynamicsDerivatives:
    """qdd and its exact derivatives with respect to q, qd and tau, for states (..., n_dof).

    dqdd/dq = -M^-1 dtau/dq at the resulting acceleration, and likewise for qd; dqdd/dtau = M^-1.
    ``wrenches`` stay fixed in the frame they are given in. ``out``, an earlier answer of the same shape,
    lends its arrays to this one.

    >>> import kinetree as kt
    >>> arm = kt.zoo.kuka_kr5()
    >>> kt.forward_dynamics_derivatives(arm, [0.1] * 6, [0.2] * 6, [0.3] * 6).dqdd_dq.shape
    (6, 6)
    """
    tree = mechanism.tree
    check_open(mechanism, "forward_dynamics_derivatives")
    if out is not None:
        return _slopes_into(out, mechanism, (q, qd, tau), wrenches, threads)
    if wrenches is None:
        check_threads(threads)
        try:  # a few plain states, seen before: straight to the compiled code, which checks them
            found = tree.memo[ABA_GRADIENT](q, qd, tau)
            if found is not None:
                return ForwardDynamicsDerivatives(found[0][0], found[1])
        except KeyError:
            pass
        plain = evaluate_plain_full(ABA_GRADIENT, tree, (q, qd, tau), threads)
        if plain is not None:
            return ForwardDynamicsDerivatives(plain[0][0], plain[1].reshape(3, -1, tree.n, tree.n))
    q, qd = given(mechanism, q, "q"), given(mechanism, qd, "qd")
    tau = given(mechanism, tau, "tau")
    if tree.coupling is not None:
        return _coupled_derivatives(mechanism, q, qd, tau, wrenches, threads)
    loads = None
    if wrenches is not None:
        still = np.zeros(tree.n)
        tau = tau - inverse_dynamics(mechanism, q, still, still, wrenches)
        tau = tau + inverse_dynamics(mechanism, q, still, still)
        moments = load_moments(mechanism, tree, wrenches)
        q, qd, tau, _ = same_batch(q, qd, tau, moments)
        _, (loads,) = evaluate_full(LOAD_GRADIENT, tree, [q, moments], [], threads)
    else:
        single = evaluate_single(ABA_GRADIENT, tree, q, qd, tau)
        if single is not None:
            return ForwardDynamicsDerivatives(single[0][0], single[1])
    n = tree.n
    (qdd, pivot, _), arrays = evaluate_full(
        ABA_GRADIENT, tree, [q, qd, tau], [n, n, n], threads, explain=partial(_check_pivots_of, tree)
    )
    check_pivots(tree, pivot)
    check_finite([qdd])
    matrices = as_matrices(arrays, n)
    if loads is not None:
        matrices[0] -= matrices[2] @ loads.reshape(matrices.shape[1:])
    return ForwardDynamicsDerivatives(qdd, matrices)


def _check_pivots_of(tree: Tree, outputs: list[Array]) -> None:
    """Raise where a pivot among the outputs (acceleration, pivots, torque) is rounding error."""
    check_pivots(tree, outputs[1])


def _slopes_into(
    out: ForwardDynamicsDerivatives,
    mechanism: Mechanism,
    state: tuple[Any, Any, Any],
    wrenches: Wrenches,
    threads: int | None,
) -> ForwardDynamicsDerivatives:
    """The answer in the arrays of an earlier one."""
    if not isinstance(out, ForwardDynamicsDerivatives):
        raise InputError(f"out must be an earlier answer of this function, got {type(out).__name__}")
    tree = mechanism.tree
    if wrenches is None and is_plain(tree, state):
        shape, pivot, torque = state[0].shape, np.empty(state[0].shape), np.empty(state[0].shape)
        qdd = checked_out(out.qdd, shape, state)
        matrices = checked_out(out.matrices, (3, *shape, tree.n), state)
        for value, name in zip(state, ("q", "qd", "tau"), strict=True):
            given(mechanism, value, name)
        results, explain = [qdd, pivot, torque], partial(_check_pivots_of, tree)
        evaluate_full(ABA_GRADIENT, tree, state, [tree.n] * 3, threads, matrices, results, explain)
        check_pivots(tree, pivot)
        return out
    found = forward_dynamics_derivatives(mechanism, *state, wrenches, threads=threads)
    if out.qdd.shape != found.qdd.shape:
        raise InputError(f"out has accelerations of shape {out.qdd.shape}, the answer's {found.qdd.shape}")
    copied(out.qdd, found.qdd, state)
    copied(out.matrices, found.matrices, state)
    return out


def _coupled_derivatives(
    mechanism: Mechanism, q: Array, qd: Array, tau: Array, wrenches: Wrenches, threads: int | None
) -> ForwardDynamicsDerivatives:
    """With mimic joints: solve with the mass matrix of the independent coordinates."""
    qdd = forward_dynamics(mechanism, q, qd, tau, wrenches)
    d = inverse_dynamics_derivatives(mechanism, q, qd, qdd, wrenches, threads=threads)
    inverse = solved(d.dtau_dqdd, np.eye(mechanism.n_dof))
    matrices = np.stack([-inverse @ d.dtau_dq, -inverse @ d.dtau_dqd, inverse])
    return ForwardDynamicsDerivatives(qdd, matrices)
