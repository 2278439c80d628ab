"""Sensitivities of the recursive Lagrangian equations.

[Xiang2009], section 4.3, eqs. 21-35, misprints corrected. A derivative by q_k is zero unless k lies on the
path from the root to axis i, or beyond i. Forward quantities therefore hold one matrix per axis on the path
(dA[i][a] belongs to k = path[i][a]); backward ones have all k. [Xiang2009] states that this costs O(n); a
full n x n sensitivity cannot, it is O(n depth).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinetree.derivations.contract import Loads, step
from kinetree.derivations.homogeneous import (
    Numbers,
    gravity_vector,
    link_matrices,
    paths,
    pseudo_inertias,
    subtrees,
    trace_of_product,
    with_joint_parts,
    world_poses,
)
from kinetree.derivations.lagrangian_recursion import (
    Dynamics,
    Kinematics,
    forward_kinematics,
    own_dynamics,
    pass_to_parent,
    torque,
)
from kinetree.model.tree import WORLD_AXIS, Tree


class KinematicSensitivities(NamedTuple):
    """By axis, matrices (depth, 4, 4) for the k on its path; the entry after the last is the world's."""

    dA_dq: list[Numbers]
    dB_dq: list[Numbers]
    dC_dq: list[Numbers]
    dC_dqd: list[Numbers]


def pose_sensitivities(tree: Tree, T: Numbers, A: Numbers) -> list[Numbers]:
    """dA_i / dq_k ([Xiang2009], eq. 21); also dB_i / dqd_k and dC_i / dqdd_k.

    [Xiang2009], eqs. 23 and 26 print dT_i / dqd_k and dT_i / dqdd_k for k = i, which are zero; both must be
    dT_i / dq_i, and then all three recursions are the same.
    """
    T0, dT = T[0], T[1]
    dA: list[Numbers] = []
    for i, j in enumerate(tree.parent):
        dA.append(_extended(dA[j] @ T0[i] if j != WORLD_AXIS else None, A[j] @ dT[i]))
    return dA


def forward_sensitivities(tree: Tree, motion: Kinematics, qd: Any, qdd: Any) -> KinematicSensitivities:
    """dA, dB, dC by q, qd and qdd, from the root to the tips ([Xiang2009], eqs. 21-26)."""
    T, A, B, C = motion
    T0, dT, ddT, dddT = T
    dA = pose_sensitivities(tree, T, A)  # (21), (23), (26)
    dB: list[Numbers] = []
    dC: list[Numbers] = []
    dC_dqd: list[Numbers] = []
    for i, j in enumerate(tree.parent):
        v, vv, a = qd[i], qd[i] * qd[i], qdd[i]
        own_B = B[j] @ dT[i] + A[j] @ ddT[i] * v  # (22), k = i
        own_C = C[j] @ dT[i] + B[j] @ ddT[i] * (2 * v) + A[j] @ dddT[i] * vv + A[j] @ ddT[i] * a  # (24)
        if j == WORLD_AXIS:
            dB.append(_extended(None, own_B))
            dC.append(_extended(None, own_C))
            dC_dqd.append(_extended(None, 2 * own_B))  # (25)
            continue
        AdT = dA[j] @ dT[i]
        dB.append(_extended(dB[j] @ T0[i] + AdT * v, own_B))  # (22)
        above = dC[j] @ T0[i] + dB[j] @ dT[i] * (2 * v) + dA[j] @ ddT[i] * vv + AdT * a
        dC.append(_extended(above, own_C))  # (24)
        dC_dqd.append(_extended(dC_dqd[j] @ T0[i] + AdT * (2 * v), 2 * own_B))  # (25): dB/dqd is dA/dq
    return KinematicSensitivities(dA, dB, dC, dC_dqd)


class DynamicSensitivities(NamedTuple):
    """dD by q, qd, qdd, each (n, n, 4, 4), dE/dq (n, n, 4), dF/dq (n, n, 4, loads): axis i first, then k."""

    dD: tuple[Numbers, Numbers, Numbers]
    dE: Numbers
    dF: Numbers


def own_sensitivities(tree: Tree, moves: KinematicSensitivities, dynamics: Dynamics) -> DynamicSensitivities:
    """What each axis contributes itself: J_i dC_i^T for k on its path; E and F are zero.

    [Xiang2009], eqs. 27-29.
    """
    n, J, path = tree.n, pseudo_inertias(tree), paths(tree)
    kind, loads = dynamics.D.dtype, dynamics.f.shape[1]
    dD = tuple(np.zeros((n, n, 4, 4), kind) for _ in range(3))
    for i in np.flatnonzero(tree.massive):
        for target, dC in zip(dD, (moves.dC_dq, moves.dC_dqd, moves.dA_dq), strict=True):
            target[i, path[i]] = J[i] @ np.swapaxes(dC[i], -1, -2)
    return DynamicSensitivities(
        (dD[0], dD[1], dD[2]), np.zeros((n, n, 4), kind), np.zeros((n, n, 4, loads), kind)
    )


def pass_sensitivities_to_parent(
    tree: Tree,
    i: int,
    T: Numbers,
    dynamics: Dynamics,
    slopes: DynamicSensitivities,
    path: list[int],
    beyond: list[int],
) -> None:
    """Add what axis i hands to its parent; T_i itself depends on q_i.

    [Xiang2009], eqs. 27-31; dG = 0 (eq. 32).
    """
    j = int(tree.parent[i])
    T0, dT = T[0, i], T[1, i]
    for dD in slopes.dD:
        dD[j, path] += T0 @ dD[i, path]
        dD[j, beyond] = T0 @ dD[i, beyond]
        dD[j, i] = T0 @ dD[i, i]
    slopes.dD[0][j, i] += dT @ dynamics.D[i]
    slopes.dE[j, beyond] = slopes.dE[i, beyond] @ T0.T
    slopes.dE[j, i] = dT @ dynamics.E[i]
    if dynamics.f.size:
        slopes.dF[j, beyond] = T0 @ slopes.dF[i, beyond]
        slopes.dF[j, i] = dT @ dynamics.F[i]


def inverse_dynamics_derivatives(
    tree: Tree, q: Any, qd: Any, qdd: Any, loads: Loads = ()
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """tau (n,), dtau/dq, dtau/dqd, dtau/dqdd, each (n, n) ([Xiang2009], eqs. 21-35)."""
    n, path, beyond = tree.n, paths(tree), subtrees(tree)
    with step("forward kinematics"):
        motion = forward_kinematics(tree, q, qd, qdd)
    with step("forward sensitivities"):
        moves = forward_sensitivities(tree, motion, qd, qdd)
    with step("backward sensitivities"):
        dynamics = own_dynamics(tree, motion.C, loads)
        slopes = own_sensitivities(tree, moves, dynamics)
        tau = np.zeros(n, dynamics.D.dtype)
        by_q, by_qd, by_qdd = (np.zeros((n, n), tau.dtype) for _ in range(3))
        for i in range(n - 1, -1, -1):
            j = int(tree.parent[i])
            dA = moves.dA_dq[i][-1]
            relatives = path[i] + beyond[i]
            tau[i] = torque(tree, i, dA, motion.A, dynamics)
            tau[i] = with_joint_parts(tree, i, tau[i], q[i], qd[i], qdd[i])
            by_q[i, path[i]] = _slope_on_path(tree, i, path[i], motion, moves, dynamics, slopes)
            by_q[i, beyond[i]] = _slope_beyond(tree, i, beyond[i], dA, dynamics, slopes)
            by_qd[i, relatives] = trace_of_product(dA, slopes.dD[1][i, relatives])  # (34)
            by_qdd[i, relatives] = trace_of_product(dA, slopes.dD[2][i, relatives])  # (35)
            if j != WORLD_AXIS:
                pass_sensitivities_to_parent(tree, i, motion.T, dynamics, slopes, path[j], beyond[i])
                pass_to_parent(dynamics, motion.T[0], i, j)
    for matrix, values in ((by_q, tree.stiffness), (by_qd, tree.viscous), (by_qdd, tree.armature)):
        _add_to_diagonal(matrix, values)
    return tau, by_q, by_qd, by_qdd


def _slope_on_path(
    tree: Tree,
    i: int,
    path: list[int],
    motion: Kinematics,
    moves: KinematicSensitivities,
    dynamics: Dynamics,
    slopes: DynamicSensitivities,
) -> Numbers:
    """dtau_i / dq_k for k on the path of i ([Xiang2009], eq. 33, upper line)."""
    T, A, _, _ = motion
    D, E, F, G, f = dynamics
    j, dA = tree.parent[i], moves.dA_dq[i]
    above = moves.dA_dq[j] @ T[1, i] if j != WORLD_AXIS else None
    ddA = _extended(above, A[j] @ T[2, i])  # d2A_i / dq_i dq_k
    slope: Numbers = trace_of_product(ddA, D[i]) + trace_of_product(dA[-1], slopes.dD[0][i, path])
    slope = slope - (ddA @ E[i]) @ gravity_vector(tree)
    if f.size:
        slope = slope - (ddA @ F[i] * f).sum(axis=(-2, -1))
        if tree.turns[i]:
            slope = slope - dA[:, :, 2] @ G[i]
    return slope


def _slope_beyond(
    tree: Tree, i: int, beyond: list[int], dA: Numbers, dynamics: Dynamics, slopes: DynamicSensitivities
) -> Numbers:
    """dtau_i / dq_k for k beyond i ([Xiang2009], eq. 33, lower line)."""
    slope: Numbers = trace_of_product(dA, slopes.dD[0][i, beyond])
    slope = slope - slopes.dE[i, beyond] @ (gravity_vector(tree) @ dA)
    if dynamics.f.size:
        slope = slope - (dA @ slopes.dF[i, beyond] * dynamics.f).sum(axis=(-2, -1))
    return slope


def mass_matrix(tree: Tree, q: Any) -> Numbers:
    """M_ik = dtau_i / dqdd_k (n, n), from [Xiang2009], eqs. 21, 29 and 35 alone. O(n depth)."""
    with step("forward sensitivities"):
        T = link_matrices(tree, q)
        dA = pose_sensitivities(tree, T, world_poses(tree, T[0]))
    with step("backward sensitivities"):
        J, path = pseudo_inertias(tree), paths(tree)
        M = np.zeros((tree.n, tree.n), T.dtype)
        dD = [J[i] @ np.swapaxes(dA[i], -1, -2) for i in range(tree.n)]  # (29), first term
        for i in range(tree.n - 1, -1, -1):
            M[i, path[i]] = trace_of_product(dA[i][-1], dD[i])  # (35)
            M[path[i], i] = M[i, path[i]]
            j = tree.parent[i]
            if j != WORLD_AXIS:
                dD[j] = dD[j] + T[0, i] @ dD[i][:-1]  # (29)
    _add_to_diagonal(M, tree.armature)
    return M


def _extended(above: Numbers | None, own: Numbers) -> Numbers:
    """Matrices for k on the parent's path, and that for k = i behind them."""
    return own[None] if above is None else np.concatenate([above, own[None]])


def _add_to_diagonal(matrix: Numbers, values: Numbers) -> None:
    for i in np.flatnonzero(values):
        matrix[i, i] = matrix[i, i] + values[i]
