"""Sensitivities of the recursion of [Barman2020], chapter III: every quantity by q, qd and qdd.

[Barman2020] writes (.),i for the derivative by q_i, (.),i' by qd_i and (.),i'' by qdd_i; here they are the
rows of one array d[kind, i, component] with kinds Q, QD and QDD. The motion of link j depends only on the
axes between the base and j, so its rows run along that path: first those of its parent (i < j in
[Barman2020]), last its own (i = j). Rows times R_j are the products R_j^T (.) of [Barman2020]. All
derivatives are of components in moving axes. Where an equation is called corrected, the printed one is wrong;
docs/formulations/newton_euler.md shows how.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.derivations.contract import Loads, step
from kinetree.derivations.newton_euler_recursion import (
    InternalForces,
    LinkFrames,
    LinkMotions,
    Numbers,
    Z,
    cross,
    cross_z,
    kind_of,
    links,
)
from kinetree.model.tree import WORLD_AXIS, Tree

Q, QD, QDD = 0, 1, 2
OWN = -1  # the last row on the path to j
Q_QD = slice(0, 2)  # velocities do not depend on qdd
ZERO = np.zeros(3)


class MotionSensitivity(NamedTuple):
    """Derivatives along the path to each link, and last those of the world, which does not move."""

    R_0: list[Numbers]  # (path, 3, 3), by q
    omega: list[Numbers]  # (2, path, 3), by q and qd
    omegad: list[Numbers]  # (3, path, 3)
    xdd: list[Numbers]  # (3, path, 3)
    xdd_G: list[Numbers]  # (3, path, 3)


def paths(tree: Tree) -> list[list[int]]:
    """The axes from the base to each axis, itself included."""
    result: list[list[int]] = []
    for j, p in enumerate(tree.parent):
        result.append([*(result[p] if p != WORLD_AXIS else ()), j])
    return result


def motion_sensitivity(tree: Tree, at: LinkFrames, motion: LinkMotions, qd: Any) -> MotionSensitivity:
    """Steps 2 to 8a: sensitivities of rotations, angular motion, accelerations of origins and centers."""
    n, kind = tree.n, motion.xdd.dtype
    d = MotionSensitivity(
        [np.zeros((0, 3, 3), kind)] * (n + 1),
        [np.zeros((2, 0, 3), kind)] * (n + 1),
        *([np.zeros((3, 0, 3), kind)] * (n + 1) for _ in range(3)),
    )
    with step("sensitivities of the kinematics"):
        for j in range(n):
            own = at.R_0[tree.parent[j]] @ at.R_q[j]
            d.R_0[j] = np.concatenate([d.R_0[tree.parent[j]] @ at.R[j], own[None]])  # 3.63
            d.omega[j], d.omegad[j] = _angular(tree, at, motion, d, j, qd[j])
            d.xdd[j] = _origin(tree, at, motion, d, j, qd[j])
            if tree.massive[j]:
                d.xdd_G[j] = _centre(motion, d, j, links(tree).dx_G[j])
    return d


def _angular(
    tree: Tree, at: LinkFrames, motion: LinkMotions, d: MotionSensitivity, j: int, qd: Any
) -> tuple[Numbers, Numbers]:
    """Rows of omega_j and omegad_j."""
    p, R, R_q = tree.parent[j], at.R[j], at.R_q[j]
    omega_p = _joined(d.omega[p] @ R, motion.omega[p] @ R_q, ZERO)  # 3.9, 3.10
    omegad = _joined(d.omegad[p] @ R, motion.omegad[p] @ R_q, ZERO, ZERO)  # 3.15, 3.16
    omega = omega_p.copy()  # 3.12, and 3.13 corrected: what the parent has stays for prismatic axes
    if tree.turns[j]:
        omega[QD, OWN, Z] += 1.0  # 3.6
        omegad[Q_QD] += cross_z(omega_p, qd)  # 3.18
        omegad[QD, OWN] += cross_z(motion.omega_p[j], 1.0)  # 3.18 corrected: the axis itself
        omegad[QDD, OWN, Z] += 1.0
    return omega, omegad


def _origin(
    tree: Tree, at: LinkFrames, motion: LinkMotions, d: MotionSensitivity, j: int, qd: Any
) -> Numbers:
    """Rows of xdd_j = R_j^T (xdd_p + dxdd_j)."""
    p, e, dx, dxd = tree.parent[j], at.e[j], at.dx[j], motion.dxd[j]
    omega, omegad = motion.omega[p], motion.omegad[p]
    dxdd = cross(d.omegad[p], dx)  # 3.51 and 3.52 for i < j; i'' of 3.51 corrected: omegad, not omega
    dxd_i = cross(d.omega[p], dx)  # 3.36, 3.37
    drift = dxd if tree.turns[j] else dxd + e * qd
    dxdd[Q_QD] += cross(d.omega[p], drift) + cross(omega, dxd_i)
    own = [ZERO, ZERO, ZERO]
    if not tree.turns[j]:
        dxd_q = cross(omega, e)  # 3.37
        own = [cross(omegad, e) + cross(omega, dxd_q), 2.0 * dxd_q, e]  # 3.52, i corrected: omegad
    xdd: Numbers = _joined(d.xdd[p] + dxdd, *own) @ at.R[j]
    xdd[Q, OWN] += (motion.xdd[p] + motion.dxdd[j]) @ at.R_q[j]  # 3.48, 3.54
    return xdd


def _centre(motion: LinkMotions, d: MotionSensitivity, j: int, dx_G: Array) -> Numbers:
    """Rows of xdd_Gj; in its frame the center rests, whatever the joint."""
    dxd_G = cross(motion.omega[j], dx_G)
    xdd_G: Numbers = d.xdd[j] + cross(d.omegad[j], dx_G)  # 3.57, 3.58, 3.60, 3.61
    xdd_G[Q_QD] += cross(d.omega[j], dxd_G) + cross(motion.omega[j], cross(d.omega[j], dx_G))
    return xdd_G


def _joined(rows: Numbers, *own: Numbers) -> Numbers:
    """The rows that come from the parent, followed by the own one of each kind."""
    return np.concatenate([rows, np.stack(own)[:, None]], axis=1)


def own_sensitivity(
    tree: Tree, motion: LinkMotions, d: MotionSensitivity, gravity: Array, loads: Loads = ()
) -> tuple[Numbers, Numbers]:
    """Steps 8 and 9: what link j itself adds to F_jp and tau_jp, its inertia less its loads.

    Each (n, 3, n, 3): [j, kind, i, component].
    """
    n, dx_G, path = tree.n, links(tree).dx_G, paths(tree)
    F, tau = (np.zeros((n, 3, n, 3), kind_of(motion.xdd, loads)) for _ in range(2))
    with step("sensitivities of the external loads"):
        for load in loads:  # 3.79, 3.87 and 3.91 corrected: the kinds QD and QDD stay as they are
            k, R_0 = load.axis, d.R_0[load.axis]
            F_e, r = np.asarray(load.force) @ R_0, np.asarray(load.point)  # 3.77
            F[k, Q, path[k]] -= F_e  # 3.79
            tau[k, Q, path[k]] -= np.asarray(load.moment) @ R_0 + cross(r, F_e)  # 3.85, 3.89
    with step("sensitivities of the inertial forces"):
        for j in np.flatnonzero(tree.massive):
            F_G, tau_G = _inertial(tree, motion, d, int(j), gravity)
            F[j][:, path[j]] += F_G  # 3.75 for i <= j
            tau[j][:, path[j]] += tau_G + cross(dx_G[j], F_G)  # 3.83 for i <= j
    return F, tau


def _inertial(
    tree: Tree, motion: LinkMotions, d: MotionSensitivity, j: int, gravity: Array
) -> tuple[Numbers, Numbers]:
    """Rows of F_Gj and tau_Gj."""
    m, omega, inertia = tree.mass[j], motion.omega[j], links(tree).inertia[j]
    F_G = m * d.xdd_G[j]  # 3.68
    F_G[Q] -= m * (gravity @ d.R_0[j])
    H, H_i = inertia @ omega, d.omega[j] @ inertia  # 3.65, 3.66
    tau_G = d.omegad[j] @ inertia  # 3.70, 3.71
    tau_G[Q_QD] += cross(d.omega[j], H) + cross(omega, H_i)
    return F_G, tau_G


def internal_sensitivity(
    tree: Tree, at: LinkFrames, internal: InternalForces, F_own: Numbers, tau_own: Numbers
) -> InternalForces:
    """Step 9: sensitivities of all internal forces and moments, each (n, 3, n, 3): [j, kind, i, component].

    Beyond the axes on its path, link j feels those of the links that it carries (i > j in [Barman2020]).
    """
    F_p, tau_p, F_d, tau_d = F_own.copy(), tau_own.copy(), np.zeros_like(F_own), np.zeros_like(F_own)
    with step("sensitivities of the backward dynamics"):
        for j, who in reversed(list(enumerate(felt(tree)))):
            p, R, R_q = tree.parent[j], at.R[j], at.R_q[j]
            F, tau = F_p[j][:, who] @ R.T, tau_p[j][:, who] @ R.T  # 3.73, 3.81
            F[Q, 0] += R_q @ internal.F_p[j]
            tau[Q, 0] += R_q @ internal.tau_p[j]
            F_d[j][:, who], tau_d[j][:, who] = F, tau
            if p == WORLD_AXIS:
                continue
            tau = tau + cross(at.dx[j], F)  # 3.83
            if not tree.turns[j]:
                tau[Q, 0] += cross(at.e[j], internal.F_d[j])  # 3.83 corrected: dx_j depends on q_j
            F_p[p][:, who] += F
            tau_p[p][:, who] += tau
    return InternalForces(F_p, tau_p, F_d, tau_d)


def actuation_sensitivity(tree: Tree, d: InternalForces) -> Numbers:
    """Step 10: sensitivities of the torques, springs and friction included, (n, 3, n): [j, kind, i]."""
    slopes = np.where(tree.turns[:, None, None], d.tau_p[..., Z], d.F_p[..., Z])  # 3.93, 3.95
    with step("sensitivities of the actuation"):
        for kind, own in ((Q, tree.stiffness), (QD, tree.viscous), (QDD, tree.armature)):
            for j in np.flatnonzero(own):
                slopes[j, kind, j] += own[j]
    return slopes


def felt(tree: Tree) -> list[list[int]]:
    """The axes whose coordinates change what goes through axis j: j itself, those before, those beyond."""
    path = paths(tree)
    beyond: list[list[int]] = [[] for _ in path]
    for i, before in enumerate(path):
        for j in before[:OWN]:
            beyond[j].append(i)
    return [[j, *path[j][:OWN], *beyond[j]] for j in range(tree.n)]
