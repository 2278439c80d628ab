"""Recursive Lagrangian inverse dynamics with 4x4 matrices: A, B, C outwards, D to G inwards.

[Xiang2009], section 4.

Letters as in [Xiang2009]. Indices are axes; what [Xiang2009] calls i - 1 is the parent, i + 1 each child:
branched chains need no further equations ([Xiang2009], eq. 37).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinetree.derivations.contract import Loads, step
from kinetree.derivations.homogeneous import (
    Numbers,
    gravity_vector,
    kind_of,
    link_matrices,
    load_columns,
    pseudo_inertias,
    trace_of_product,
    with_joint_parts,
    with_world,
    world_poses,
)
from kinetree.model.tree import WORLD_AXIS, Tree


class Kinematics(NamedTuple):
    """T (4, n, 4, 4) with its derivatives by q_i, and A, B, C (n + 1, 4, 4), the world as row -1.

    A point r of axis i is at A_i r, has the velocity B_i r and the acceleration C_i r ([Xiang2009], eq. 15;
    the dots on r are misprints).
    """

    T: Numbers
    A: Numbers
    B: Numbers
    C: Numbers


class Dynamics(NamedTuple):
    """D (n, 4, 4), E (n, 4), F (n, 4, loads), G (n, 4) before their recursion, and the loads' f (4, loads).

    [Xiang2009] has one load; here column k of F and f belongs to load k.
    """

    D: Numbers
    E: Numbers
    F: Numbers
    G: Numbers
    f: Numbers


def forward_kinematics(tree: Tree, q: Any, qd: Any, qdd: Any) -> Kinematics:
    """A, B = A', C = A'' from the root to the tips ([Xiang2009], eqs. 12-14)."""
    kind = kind_of(tree, q, qd, qdd)
    T = link_matrices(tree, q).astype(kind)
    T0, dT, ddT, _ = T
    A, B, C = world_poses(tree, T0), with_world(tree, kind), with_world(tree, kind)  # (12)
    for i, j in enumerate(tree.parent):
        AdT = A[j] @ dT[i]
        B[i] = B[j] @ T0[i] + AdT * qd[i]  # (13)
        C[i] = (
            C[j] @ T0[i] + B[j] @ dT[i] * (2 * qd[i]) + A[j] @ ddT[i] * (qd[i] * qd[i]) + AdT * qdd[i]
        )  # (14)
    return Kinematics(T, A, B, C)


def own_dynamics(tree: Tree, C: Numbers, loads: Loads) -> Dynamics:
    """What each axis contributes itself to D, E, F and G: the first terms of [Xiang2009], eqs. 17-20."""
    axes, f, r, h = load_columns(loads)
    J, n = pseudo_inertias(tree), tree.n
    kind = np.result_type(C, f)
    D, E = np.zeros((n, 4, 4), kind), np.array(J[:, :, 3], kind)  # (18): m_i r_i is J's last column
    F, G = np.zeros((n, 4, len(axes)), kind), np.zeros((n, 4), kind)
    for i in np.flatnonzero(tree.massive):
        D[i] = J[i] @ C[i].T  # (17)
    for k, loaded in enumerate(axes):
        F[loaded, :, k] = r[:, k]  # (19)
        G[loaded] += h[:, k]  # (20)
    return Dynamics(D, E, F, G, f)


def pass_to_parent(dynamics: Dynamics, T: Numbers, i: int, j: int) -> None:
    """Add what axis i hands to its parent j: the second terms of [Xiang2009], eqs. 17-20.

    Every child's D, E, F is premultiplied by its own T before they are summed; [Xiang2009], eq. 37b lacks it.
    """
    D, E, F, G, f = dynamics
    D[j] += T[i] @ D[i]
    E[j] += T[i] @ E[i]
    if f.size:
        F[j] += T[i] @ F[i]
        G[j] += G[i]


def torque(tree: Tree, i: int, dA: Numbers, A: Numbers, dynamics: Dynamics) -> Any:
    """tau_i = tr(dA_i D_i) - g^T dA_i E_i - sum f^T dA_i F_i - G_i^T A_i z_0 ([Xiang2009], eq. 16).

    With dA_i = dA_i / dq_i; the axis is z of its own frame here, z of frame i - 1 in [Xiang2009].
    """
    D, E, F, G, f = dynamics
    tau = trace_of_product(dA, D[i]) - gravity_vector(tree) @ (dA @ E[i])
    if f.size:
        tau = tau - (dA @ F[i] * f).sum()
        if tree.turns[i]:
            tau = tau - G[i] @ A[i, :, 2]  # A_i z_0; zero for prismatic axes
    return tau


def inverse_dynamics(tree: Tree, q: Any, qd: Any, qdd: Any, loads: Loads = ()) -> Numbers:
    """Torques (n,) of a motion: forward kinematics, backward dynamics ([Xiang2009], section 4.2). O(n)."""
    with step("forward kinematics"):
        T, A, _, C = forward_kinematics(tree, q, qd, qdd)
    with step("backward dynamics"):
        dynamics = own_dynamics(tree, C, loads)
        tau = np.zeros(tree.n, dynamics.D.dtype)
        for i in range(tree.n - 1, -1, -1):
            j = tree.parent[i]
            tau[i] = torque(tree, i, A[j] @ T[1, i], A, dynamics)
            tau[i] = with_joint_parts(tree, i, tau[i], q[i], qd[i], qdd[i])
            if j != WORLD_AXIS:
                pass_to_parent(dynamics, T[0], i, int(j))
    return tau
