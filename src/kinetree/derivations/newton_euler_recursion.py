"""The recursion of [Barman2020], chapter III, step by step: rotations, forward kinematics, backward dynamics.

Letters are those of [Barman2020]: R_j, omega_j, dx_j, F_jp, tau_jp, ... Link j is what axis j carries; its
frame sits at its proximal end with the joint axis on z, and p is its parent. The step dx_j leads from the
origin of p to that of j, in the axes of p: it is the way to the distal end of link p on the branch of j.
Arrays of n + 1 rows have the world last, where index -1 finds it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinetree.algebra.arrays import Array
from kinetree.derivations.contract import Loads, step
from kinetree.kernels.number import sign, sincos
from kinetree.model.kept import once_per_tree
from kinetree.model.tree import WORLD_AXIS, Tree

Numbers = NDArray[Any]
Z = 2  # the component along the joint axis
YZX, ZXY = [1, 2, 0], [2, 0, 1]


class Links(NamedTuple):
    """Mass (n,), center of mass (n, 3) and inertia about it (n, 3, 3), in the links' frames."""

    m: Array
    dx_G: Array
    inertia: Array


class LinkFrames(NamedTuple):
    """Where the links are: local rotations and steps, and rotations to the world."""

    R: Numbers  # (n, 3, 3) R_j: from the axes of j to those of its parent
    R_q: Any  # R_j,j: derivative by q_j, zero for prismatic axes
    e: Numbers  # (n, 3) R_j e_z: the joint axis in the axes of the parent
    dx: Numbers  # (n, 3) dx_j, in the axes of the parent
    R_0: Numbers  # (n + 1, 3, 3) 0R_j: from the axes of j to the world


class LinkMotions(NamedTuple):
    """How the links move, each in its own axes; without gravity."""

    omega_p: Numbers  # (n, 3) j_omega_p: angular velocity of the parent, in the axes of j
    omega: Numbers  # (n + 1, 3)
    omegad: Numbers  # (n + 1, 3)
    dxd: Numbers  # (n, 3) rate of dx_j, in the axes of the parent
    dxdd: Numbers  # (n, 3) its second rate
    xdd: Numbers  # (n + 1, 3) acceleration of the origin
    xdd_G: Numbers  # (n, 3) acceleration of the center of mass


class InternalForces(NamedTuple):
    """What goes through each axis: what its parent exerts on what it carries; all (n, 3).

    F_p, tau_p: seen from link j, in its axes about its origin: the proximal force and moment of link j.
    F_d, tau_d: the same force and moment in the axes of the parent: its distal ones on the branch of j.
    """

    F_p: Numbers
    tau_p: Numbers
    F_d: Numbers
    tau_d: Numbers


@once_per_tree
def links(tree: Tree) -> Links:
    """Masses, centers and inertias about the centers: I_G = tr(S) 1 - S with S about the center."""
    m = tree.mass
    dx_G = tree.first_moment / np.where(m == 0, 1.0, m)[:, None]
    S = tree.second_moment - m[:, None, None] * dx_G[:, :, None] * dx_G[:, None, :]
    return Links(m, dx_G, np.trace(S, axis1=1, axis2=2)[:, None, None] * np.eye(3) - S)


def kind_of(numbers: Numbers, loads: Loads) -> np.dtype[Any]:
    """The kind of number that holds both the given ones and those of the loads."""
    return np.result_type(numbers, *(np.asarray(x) for load in loads for x in load[1:]))


def cross(a: Numbers, b: Numbers) -> Numbers:
    """a x b, of vectors along the last axis; numbers of any kind."""
    product: Numbers = a[..., YZX] * b[..., ZXY] - a[..., ZXY] * b[..., YZX]
    return product


def cross_z(v: Numbers, k: Any) -> Numbers:
    """v x (k e_z), of vectors along the last axis."""
    return np.stack([v[..., 1] * k, -(v[..., 0] * k), np.zeros_like(v[..., 2])], axis=-1)


def frames(tree: Tree, q: Any) -> LinkFrames:
    """Steps 2a, 2b and 8a: rotations, joint axes, steps between origins.

    [Barman2020], eqs. 2.10, 2.11, 3.62.
    """
    q = np.asarray(q)
    n, kind = tree.n, np.result_type(q, float)
    R, R_q, R_0 = np.zeros((n, 3, 3), kind), np.zeros((n, 3, 3), kind), np.zeros((n + 1, 3, 3), kind)
    e, dx = np.zeros((n, 3), kind), np.zeros((n, 3), kind)
    R_0[WORLD_AXIS] = np.eye(3)
    with step("rotations"):
        for j in range(n):
            x, y, e[j] = tree.rotation[j].T
            dx[j] = tree.position[j]
            if tree.turns[j]:
                s, c = sincos(q[j])
                x, y = x * c + y * s, y * c - x * s
                R_q[j] = np.column_stack([y, -x, np.zeros(3)])
            else:
                dx[j] += e[j] * q[j]
            R[j] = np.column_stack([x, y, e[j]])
            R_0[j] = R_0[tree.parent[j]] @ R[j]  # 3.62
    return LinkFrames(R, R_q, e, dx, R_0)


def forward_kinematics(tree: Tree, at: LinkFrames, qd: Any, qdd: Any) -> LinkMotions:
    """Steps 2c to 7: angular velocities and accelerations, accelerations of origins and centers."""
    qd, qdd = np.asarray(qd), np.asarray(qdd)
    n, kind, dx_G = tree.n, np.result_type(at.R, qd, qdd), links(tree).dx_G
    omega_p, dxd, dxdd, xdd_G = (np.zeros((n, 3), kind) for _ in range(4))
    omega, omegad, xdd = (np.zeros((n + 1, 3), kind) for _ in range(3))
    with step("forward kinematics"):
        for j in range(n):
            p, R, e, dx = tree.parent[j], at.R[j], at.e[j], at.dx[j]
            omega_p[j] = omega[j] = R.T @ omega[p]  # 3.8
            omegad[j] = R.T @ omegad[p]  # 3.14
            dxd[j] = cross(omega[p], dx)  # 3.35
            if tree.turns[j]:
                omega[j, Z] += qd[j]  # 3.5, 3.11
                omegad[j] += cross_z(omega_p[j], qd[j])  # 3.17, 3.20
                omegad[j, Z] += qdd[j]
                dxdd[j] = cross(omegad[p], dx) + cross(omega[p], dxd[j])  # 3.50
            else:
                slide = e * qd[j]
                dxd[j] += slide
                dxdd[j] = cross(omegad[p], dx) + cross(omega[p], dxd[j] + slide) + e * qdd[j]
            xdd[j] = R.T @ (xdd[p] + dxdd[j])  # 3.47, 3.53
            if tree.massive[j]:
                dxd_G = cross(omega[j], dx_G[j])  # 3.41
                xdd_G[j] = xdd[j] + cross(omegad[j], dx_G[j]) + cross(omega[j], dxd_G)  # 3.56, 3.59
    return LinkMotions(omega_p, omega, omegad, dxd, dxdd, xdd, xdd_G)


def inertial_forces(
    tree: Tree, at: LinkFrames, motion: LinkMotions, gravity: Array
) -> tuple[Numbers, Numbers]:
    """Step 8: F_G and tau_G (n, 3), force and moment about the center that move each link and hold it up.

    In eq. 3.67 g points up (errata): it is minus the gravitational acceleration.
    """
    m, _, inertia = links(tree)
    F_G, tau_G = np.zeros_like(motion.xdd_G), np.zeros_like(motion.xdd_G)
    with step("inertial forces"):
        for j in np.flatnonzero(tree.massive):
            H = inertia[j] @ motion.omega[j]  # 3.64
            F_G[j] = m[j] * (motion.xdd_G[j] - at.R_0[j].T @ gravity)  # 3.67
            tau_G[j] = inertia[j] @ motion.omegad[j] + cross(motion.omega[j], H)  # 3.69
    return F_G, tau_G


def internal_forces(
    tree: Tree, at: LinkFrames, F_G: Numbers, tau_G: Numbers, loads: Loads = ()
) -> InternalForces:
    """Step 9: forces and moments in the joints, from the tips to the base; a link sums over its children.

    Loads are applied to the link, so they are subtracted; the signs of [Barman2020] are of what the link
    exerts (errata). [Barman2020] carries them to the base in loops of their own; here they join the balance
    of their link.
    """
    dx_G = links(tree).dx_G
    F_p, tau_p, F_d, tau_d = (np.zeros((tree.n, 3), kind_of(F_G, loads)) for _ in range(4))
    with step("external loads"):
        for load in loads:
            k, R_0 = load.axis, at.R_0[load.axis]
            F_e = R_0.T @ np.asarray(load.force)  # 3.76
            F_p[k] -= F_e  # 3.78
            tau_p[k] -= R_0.T @ np.asarray(load.moment) + cross(np.asarray(load.point), F_e)  # 3.84 to 3.90
    with step("backward dynamics"):
        for j in range(tree.n - 1, -1, -1):  # the children of j have already added what they carry
            p, R = tree.parent[j], at.R[j]
            if tree.massive[j]:
                F_p[j] += F_G[j]  # 3.74
                tau_p[j] += tau_G[j] + cross(dx_G[j], F_G[j])  # 3.82
            F_d[j], tau_d[j] = R @ F_p[j], R @ tau_p[j]  # 3.72, 3.80
            if p != WORLD_AXIS:
                F_p[p] += F_d[j]
                tau_p[p] += tau_d[j] + cross(at.dx[j], F_d[j])
    return InternalForces(F_p, tau_p, F_d, tau_d)


def actuation(tree: Tree, internal: InternalForces, qdd: Any) -> Numbers:
    """Step 10: torque about, or force along, each joint axis (n,), with what turns the drive itself."""
    tau = np.where(tree.turns, internal.tau_p[:, Z], internal.F_p[:, Z])  # 3.92, 3.94
    with step("actuation"):
        for j in np.flatnonzero(tree.armature):
            tau[j] += tree.armature[j] * qdd[j]
    return tau


def with_passive(tree: Tree, tau: Numbers, q: Any, qd: Any) -> Numbers:
    """The torques with what springs and friction ask: k (q - rest) + viscous qd + dry friction."""
    total = tau.copy()
    with step("actuation"):
        for j in np.flatnonzero(tree.passive):
            total[j] += tree.stiffness[j] * (q[j] - tree.rest[j]) + tree.viscous[j] * qd[j]
            total[j] += tree.coulomb[j] * sign(qd[j])
            if tree.coulomb_bias[j]:
                total[j] += tree.coulomb_bias[j] * (sign(qd[j]) * sign(qd[j]))
    return total
