"""Derivatives of dynamics with closed loops by the independent coordinates, their rates and accelerations.

All are total: the dependent joints follow, so that the loops stay closed. With G = dq / dq_i, J G = 0, the
torques x of the drives with E x + J^T lambda = tau_tree and the least sum of w x^2 satisfy w x = E^T y with
J y = 0. Differentiated,

    E dx + J^T dlambda = dtau_tree - dJ^T lambda,   w dx = E^T dy,   J dy = -dJ y

and with y = G mu all follow from one symmetric matrix A W^-1 A^T, where A = G^T E.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.analysis.inverse import mass_matrix
from kinetree.analysis.loops.dynamics import broadcast, drive_weights, loop_forward_dynamics, multipliers
from kinetree.analysis.loops.linear import constrained, swapped
from kinetree.analysis.loops.slopes import Direction, RowSlopes, row_slopes
from kinetree.analysis.loops.system import (
    RANK,
    Constraints,
    constraints,
    loop_rows,
    refuse_open_loops,
    spaces,
)
from kinetree.analysis.sensitivity import InverseDynamicsDerivatives, inverse_dynamics_derivatives
from kinetree.errors import InputError, listed
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Integers
from kinetree.state import Wrench


@dataclass(frozen=True, eq=False)
class Following:
    """How the whole motion changes along k directions of the independent joints, each (..., k, n_dof)."""

    q: Array
    qd: Array
    qdd: Array
    slopes: RowSlopes


@dataclass(frozen=True, eq=False)
class LoopInverseDerivatives:
    """Total derivatives by q, qd and qdd of the independent joints, (..., n_dof, mobility), numerator first.

    ``tau`` are the torques of the drives (zero elsewhere), ``torque`` is J^T lambda of the loops; ``dq_dq``
    tells how all joints follow the independent ones.
    """

    independent: tuple[str, ...]
    tau: Array
    dtau_dq: Array
    dtau_dqd: Array
    dtau_dqdd: Array
    torque: Array
    dtorque_dq: Array
    dtorque_dqd: Array
    dtorque_dqdd: Array
    dq_dq: Array


@dataclass(frozen=True, eq=False)
class LoopForwardDerivatives:
    """Total derivatives of qdd by q and qd of the independent joints, (..., n_dof, mobility), and by tau.

    ``dqdd_dtau`` (..., n_dof, n_dof) is by the torque on every joint.
    """

    independent: tuple[str, ...]
    qdd: Array
    dqdd_dq: Array
    dqdd_dqd: Array
    dqdd_dtau: Array


def loop_inverse_dynamics_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    independent: Sequence[str],
    wrenches: Sequence[Wrench] | None = None,
    weights: ArrayLike | None = None,
) -> LoopInverseDerivatives:
    """Total derivatives of the drives' torques and of the loops' forces J^T lambda."""
    q, qd, qdd = broadcast(mechanism, q, qd, qdd)
    chosen = _chosen(mechanism, independent)
    found = constraints(mechanism, q, qd, qdd)
    refuse_open_loops(mechanism, found, qd, qdd)
    _refuse_other_mobility(mechanism, found, independent)
    change = following(mechanism, found, (q, qd, qdd), chosen, np.eye(3 * len(chosen)))
    tree = inverse_dynamics_derivatives(mechanism.opened(), q, qd, qdd, wrenches=wrenches)
    tau, dtau, dtorque = _drive_slopes(mechanism, found, tree, change, drive_weights(mechanism, weights))
    parts = [part for slopes in (dtau, dtorque) for part in _thirds(slopes)]
    G = _thirds(change.q)[0]
    dtau_dq, dtau_dqd, dtau_dqdd, *rest = parts
    torque = tree.tau - tau
    return LoopInverseDerivatives(
        tuple(independent), tau, dtau_dq, dtau_dqd, dtau_dqdd, torque, rest[0], rest[1], rest[2], G
    )


def loop_forward_dynamics_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    independent: Sequence[str],
    wrenches: Sequence[Wrench] | None = None,
) -> LoopForwardDerivatives:
    """Total derivatives of constrained forward dynamics.

    M dqdd - J^T dlambda = dtau - (dtau_tree - dJ^T lambda) and J dqdd = -d(J qdd + dJ/dt qd) at fixed qdd,
    with the matrix of forward dynamics itself.
    """
    q, qd, tau = broadcast(mechanism, q, qd, tau)
    chosen = _chosen(mechanism, independent)
    qdd, forces = loop_forward_dynamics(mechanism, q, qd, tau, wrenches)
    found = constraints(mechanism, q, qd, qdd)
    _refuse_other_mobility(mechanism, found, independent)
    k = len(chosen)
    change = following(mechanism, found, (q, qd, qdd), chosen, np.eye(3 * k)[: 2 * k])
    tree = inverse_dynamics_derivatives(mechanism.opened(), q, qd, qdd, wrenches=wrenches)
    right = -(_along(tree.dtau_dq, change.q) + _along(tree.dtau_dqd, change.qd))
    right = right + (swapped(change.slopes.J) @ multipliers(found, forces.torque)[..., None, :, :])[..., 0]
    n, batch = mechanism.n_dof, q.shape[:-1]
    unit = np.broadcast_to(np.eye(n), (*batch, n, n))
    right = np.concatenate([right, unit], axis=-2)
    rows = np.concatenate([change.slopes.second_rate, np.zeros((*batch, n, found.gap.shape[-1]))], axis=-2)
    M = mass_matrix(mechanism.opened(), q)
    dqdd = swapped(constrained(M, found.J, swapped(right), swapped(rows))[0])
    parts = [swapped(x) for x in (dqdd[..., :k, :], dqdd[..., k : 2 * k, :], dqdd[..., 2 * k :, :])]
    return LoopForwardDerivatives(tuple(independent), qdd, *parts)


def following(
    mechanism: Mechanism, found: Constraints, state: tuple[Array, Array, Array], chosen: Integers, unit: Array
) -> Following:
    """Slopes of q, qd, qdd along directions of the independent joints, with the loops kept closed.

    ``unit`` (k, 3 mobility) are directions (dq_i, dqd_i, dqdd_i). J dq = 0, J dqd = -dJ qd and
    J dqdd = -d(J qdd + dJ/dt qd) at fixed qdd.
    """
    n, k = mechanism.n_dof, len(chosen)
    free = np.ones(n, dtype=bool)
    free[chosen] = False
    inverse = np.linalg.pinv(found.J[..., free], rcond=RANK)[..., None, :, :]
    J_i = found.J[..., None, :, chosen]

    def completed(part: Array, right: Array) -> Array:
        """The direction with the given part of the independent joints and J d = -right."""
        d = np.zeros((*right.shape[:-1], n))
        d[..., chosen] = part
        total = right[..., None] + J_i @ d[..., chosen][..., None]
        d[..., free] = -(inverse @ total)[..., 0]
        return d

    nothing = np.zeros((*state[0].shape[:-1], len(unit), found.gap.shape[-1]))
    dq = completed(unit[:, :k], nothing)
    still = np.zeros_like(dq)
    first = _slopes(mechanism, state, Direction(dq, still, still))
    dqd = completed(unit[:, k : 2 * k], (first.J @ state[1][..., None, :, None])[..., 0])
    second = _slopes(mechanism, state, Direction(dq, dqd, still))
    return Following(dq, dqd, completed(unit[:, 2 * k :], second.second_rate), second)


def _slopes(mechanism: Mechanism, state: tuple[Array, Array, Array], along: Direction) -> RowSlopes:
    """Slopes of the rows in the coordinates of the mechanism."""
    coupling, rows = mechanism.tree.coupling, loop_rows(mechanism)
    if coupling is None:
        return row_slopes(rows, *state, along)
    A = coupling.matrix
    q, qd, qdd = state[0] @ A.T + coupling.offset, state[1] @ A.T, state[2] @ A.T
    found = row_slopes(rows, q, qd, qdd, Direction(along.q @ A.T, along.qd @ A.T, along.qdd @ A.T))
    return RowSlopes(found.J @ A, found.second_rate)


def _drive_slopes(
    mechanism: Mechanism,
    found: Constraints,
    tree: InverseDynamicsDerivatives,
    change: Following,
    weights: Array,
) -> tuple[Array, Array, Array]:
    """The drives' torques (..., n_dof), their slopes and those of J^T lambda along the directions."""
    dtau_tree = (
        _along(tree.dtau_dq, change.q) + _along(tree.dtau_dqd, change.qd) + _along(tree.dtau_dqdd, change.qdd)
    )
    driven = np.flatnonzero(mechanism.driven)
    w, s, dJ = weights[driven], spaces(found.J), change.slopes.J
    G = s.free
    A = swapped(G)[..., driven]
    S = np.asarray(np.linalg.inv((A / w) @ swapped(A)), dtype=np.float64)
    mu = S @ (swapped(G) @ tree.tau[..., None])
    y, tau = G @ mu, np.zeros_like(tree.tau)
    tau[..., driven] = (swapped(A) @ mu)[..., 0] / w
    right = dtau_tree - (swapped(dJ) @ multipliers(found, tree.tau - tau)[..., None, :, :])[..., 0]
    inverse = s.V / s.s[..., None, :] @ swapped(s.U)
    leaving = -(inverse[..., None, :, :] @ (dJ @ y[..., None, :, :]))[..., 0]  # the part of dy outside G
    r = _along(swapped(G), right) - _along(A / w, leaving[..., driven])
    dtau = np.zeros_like(dtau_tree)
    dtau[..., driven] = (_along(swapped(A), _along(S, r)) + leaving[..., driven]) / w
    return tau, dtau, dtau_tree - dtau


def _chosen(mechanism: Mechanism, independent: Sequence[str]) -> Integers:
    if isinstance(independent, str):
        raise InputError(f"independent must be a list of joints, got {independent!r}")
    return np.array([mechanism.joint_index(name) for name in independent], dtype=np.int64)


def _refuse_other_mobility(mechanism: Mechanism, found: Constraints, independent: Sequence[str]) -> None:
    freedoms = mechanism.n_dof - spaces(found.J).rank
    if freedoms != len(independent):
        raise InputError(
            f"mechanism '{mechanism.name}' has mobility {freedoms} here, but {len(independent)} independent "
            f"joints are named: {listed(list(independent))}"
        )


def _along(matrix: Array, directions: Array) -> Array:
    """matrix d for directions d (..., k, n)."""
    product: Array = (matrix[..., None, :, :] @ directions[..., None])[..., 0]
    return product


def _thirds(slopes: Array) -> list[Array]:
    """Slopes (..., 3 m, n) as three arrays (..., n, m)."""
    return [swapped(part) for part in np.split(slopes, 3, axis=-2)]
