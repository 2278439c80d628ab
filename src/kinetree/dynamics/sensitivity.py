"""Exact derivatives of inverse and forward dynamics of open trees."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.shown import Shown
from kinetree.dynamics.batches import same_batch
from kinetree.dynamics.by_formulation import slopes_of
from kinetree.dynamics.coupling import axis_state, coupled, independent
from kinetree.dynamics.evaluate import as_matrices, evaluate, evaluate_full
from kinetree.dynamics.forward import FORWARD, check_pivots, check_pivots_of, solved
from kinetree.dynamics.given_memory import DerivativesMemory
from kinetree.dynamics.inverse import INVERSE
from kinetree.dynamics.loads import Wrenches, axis_loads, body_loads, load_moments
from kinetree.dynamics.question import Question
from kinetree.dynamics.springs import spring_slopes
from kinetree.kernels.aba_gradient import ABA_GRADIENT
from kinetree.kernels.load_gradient import LOAD_GRADIENT
from kinetree.kernels.rnea import RNEA
from kinetree.kernels.rnea_gradient import RNEA_GRADIENT
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree


class InverseDynamicsDerivatives(Shown):
    """Torque and its derivatives, numerator first: ``dtau_dq[..., i, k]`` = d tau_i / d q_k.

    ``tau`` (..., n_dof); ``dtau_dq`` (stiffness, N m/rad), ``dtau_dqd`` (damping, N m s/rad) and
    ``dtau_dqdd`` (the mass matrix, kg m^2), each (..., n_dof, n_dof), are views of ``matrices``
    (3, ..., n_dof, n_dof).
    """

    __slots__ = ("dtau_dq", "dtau_dqd", "dtau_dqdd", "matrices", "tau")
    _matrices = ("dtau_dq", "dtau_dqd", "dtau_dqdd")

    def __init__(self, tau: Array, matrices: Array) -> None:
        self.tau, self.matrices = tau, matrices
        self.dtau_dq, self.dtau_dqd, self.dtau_dqdd = matrices[0], matrices[1], matrices[2]


def _torque_slopes(
    mechanism: Mechanism, tree: Tree, state: tuple[Array, ...], wrenches: Wrenches, threads: int | None
) -> InverseDynamicsDerivatives:
    q, qd, qdd = state
    if wrenches is None:
        (tau,), arrays = evaluate_full(RNEA_GRADIENT, tree, [q, qd, qdd], [tree.n], threads)
    else:
        load = axis_loads(tree, body_loads(mechanism, q, wrenches))
        moments = load_moments(mechanism, tree, wrenches)
        tau, _ = evaluate(RNEA, tree, [q, qd, qdd, load], [tree.n, 0], threads)  # checks that it is finite
        q, qd, qdd, _ = same_batch(q, qd, qdd, moments)
        _, arrays = evaluate_full(RNEA_GRADIENT, tree, [q, qd, qdd], [tree.n], threads)
        _, (loads,) = evaluate_full(LOAD_GRADIENT, tree, [q, moments], [], threads)
        arrays[0] += loads
    if tree.springs is not None:
        torque, slopes = spring_slopes(tree, q, qd)
        tau = tau - torque
        for k, part in enumerate(slopes):
            arrays[k] -= part.reshape((*part.shape[:-2], -1))
    matrices = coupled(tree, as_matrices(arrays, tree.n))
    return InverseDynamicsDerivatives(independent(tree, tau), matrices)


def _torque_slopes_by_formulation(
    name: str, mechanism: Mechanism, tree: Tree, state: tuple[Any, ...], wrenches: Wrenches
) -> InverseDynamicsDerivatives:
    """State by state."""
    tau, slopes = slopes_of(name, "inverse_dynamics_derivatives", mechanism, tree, state, wrenches)
    if tree.springs is not None:
        q, qd, _ = axis_state(mechanism, tree, *state)
        torque, further = spring_slopes(tree, q, qd)
        tau = tau - torque
        for k, part in enumerate(further):
            slopes[k] -= part
    return InverseDynamicsDerivatives(independent(tree, tau), coupled(tree, slopes))


INVERSE_SLOPES = Question(
    "inverse_dynamics_derivatives",
    RNEA_GRADIENT,
    ("q", "qd", "qdd"),
    general=_torque_slopes,
    answer=lambda tree, found: InverseDynamicsDerivatives(*found),
    formulated=_torque_slopes_by_formulation,
    memory=DerivativesMemory(InverseDynamicsDerivatives, "tau", "torques"),
)


class ForwardDynamicsDerivatives(Shown):
    """Acceleration and its derivatives, numerator first: ``dqdd_dq[..., i, k]`` = d qdd_i / d q_k.

    ``qdd`` (..., n_dof); ``dqdd_dq``, ``dqdd_dqd`` and ``dqdd_dtau`` (the inverse mass matrix), each
    (..., n_dof, n_dof), are views of ``matrices`` (3, ..., n_dof, n_dof).
    """

    __slots__ = ("dqdd_dq", "dqdd_dqd", "dqdd_dtau", "matrices", "qdd")
    _matrices = ("dqdd_dq", "dqdd_dqd", "dqdd_dtau")

    def __init__(self, qdd: Array, matrices: Array) -> None:
        self.qdd, self.matrices = qdd, matrices
        self.dqdd_dq, self.dqdd_dqd, self.dqdd_dtau = matrices[0], matrices[1], matrices[2]


def _acceleration_slopes(
    mechanism: Mechanism, tree: Tree, state: tuple[Array, ...], wrenches: Wrenches, threads: int | None
) -> ForwardDynamicsDerivatives:
    q, qd, tau = state
    if tree.coupling is not None:
        return _coupled_derivatives(mechanism, q, qd, tau, wrenches, threads)
    loads = None
    if tree.springs is not None:
        torque, springs = spring_slopes(tree, q, qd)
        tau = tau + torque
    if wrenches is not None:
        still = np.zeros(tree.n)
        tau = tau - INVERSE.of(mechanism, q, still, still, wrenches=wrenches)
        tau = tau + INVERSE.of(mechanism, q, still, still)
        moments = load_moments(mechanism, tree, wrenches)
        q, qd, tau, _ = same_batch(q, qd, tau, moments)
        _, (loads,) = evaluate_full(LOAD_GRADIENT, tree, [q, moments], [], threads)
    explain = partial(check_pivots_of, tree)
    (qdd, pivot, _), arrays = evaluate_full(ABA_GRADIENT, tree, [q, qd, tau], [tree.n] * 3, threads, explain)
    check_pivots(tree, pivot)
    matrices = as_matrices(arrays, tree.n)
    if loads is not None:
        matrices[0] -= matrices[2] @ loads.reshape(matrices.shape[1:])
    if tree.springs is not None:
        for k, part in enumerate(springs):
            matrices[k] += matrices[2] @ part
    return ForwardDynamicsDerivatives(qdd, matrices)


def _coupled_derivatives(
    mechanism: Mechanism, q: Array, qd: Array, tau: Array, wrenches: Wrenches, threads: int | None
) -> ForwardDynamicsDerivatives:
    """With mimic joints: solve with the mass matrix of the independent coordinates."""
    qdd = FORWARD.of(mechanism, q, qd, tau, wrenches=wrenches)
    d = INVERSE_SLOPES.of(mechanism, q, qd, qdd, wrenches=wrenches, threads=threads)
    inverse = solved(d.dtau_dqdd, np.eye(mechanism.n_dof))
    matrices = np.stack([-inverse @ d.dtau_dq, -inverse @ d.dtau_dqd, inverse])
    return ForwardDynamicsDerivatives(qdd, matrices)


FORWARD_SLOPES = Question(
    "forward_dynamics_derivatives",
    ABA_GRADIENT,
    ("q", "qd", "tau"),
    general=_acceleration_slopes,
    answer=lambda tree, found: ForwardDynamicsDerivatives(found[0][0], found[1]),
    memory=DerivativesMemory(ForwardDynamicsDerivatives, "qdd", "accelerations"),
    of_axes=False,
)
