"""Dynamics by free bodies in the world frame, from nothing but the mechanism's links: slow and independent.

Poses are 4 x 4 matrices with their first and second time derivatives, and a body is its 4 x 4 matrix
J = integral of (r, 1) (r, 1)^T dm, as in [Xiang2009]; nothing of the compiled tree or of the kernels is used.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

WORLD = "world"


@dataclass
class FreeBodies:
    """Everything the oracle knows about one state."""

    tau: np.ndarray  # (n_dof,)
    reactions: np.ndarray  # (n_bodies, 6) in body axes at the body origin
    poses: np.ndarray  # (n_bodies, 4, 4)
    velocities: np.ndarray  # (n_bodies, 6) in world axes
    accelerations: np.ndarray
    kinetic: float
    potential: float
    momentum: np.ndarray  # (6,) about the world's origin
    center: np.ndarray  # (3,) center of mass


def free_bodies(mechanism, q, qd, qdd, wrenches=()):
    """Torques, reactions, motions, energies and momentum of one state."""
    q, qd, qdd = all_coordinates(mechanism, q, qd, qdd)
    motion, axes = _motions(mechanism, q, qd, qdd)
    needed = {name: _needed_wrench(mechanism, name, motion[name]) for name in motion if name != WORLD}
    for w in wrenches:
        needed[w.body] = needed[w.body] - _applied_wrench(w, motion[w.body][0])
    for link in reversed(mechanism.links):  # a joint carries its body and all beyond it
        if link.parent != WORLD:
            needed[link.parent] = needed[link.parent] + needed[link.body.name]
    tau, k = [], 0
    for link in mechanism.links:
        force, moment = np.split(needed[link.body.name], 2)
        for a in range(link.joint.n_dof):
            axis, point = axes[k]
            active = axis @ (moment - np.cross(point, force)) if link.joint.turns[a] else axis @ force
            tau.append(active + _passive(link.joint, a, q[k], qd[k], qdd[k]))
            k += 1
    moving = [motion[name] for name in mechanism.body_names]
    return FreeBodies(
        tau=coupling(mechanism)[0].T @ np.array(tau),
        reactions=np.array([_in_body(needed[n], motion[n][0]) for n in mechanism.body_names]),
        poses=np.array([T for T, _, _ in moving]),
        velocities=np.array([_linear_angular(Td, T) for T, Td, _ in moving]),
        accelerations=np.array([_linear_angular(Tdd, T) for T, _, Tdd in moving]),
        **_totals(mechanism, motion, q, qd),
    )


def mass_matrix(mechanism, q):
    """M column by column: torques of unit accelerations without gravity and without velocity."""
    weightless, n = mechanism.with_gravity((0, 0, 0)), mechanism.n_dof
    rest, still = np.zeros(n), free_bodies(weightless, q, np.zeros(n), np.zeros(n)).tau
    return np.column_stack([free_bodies(weightless, q, rest, e).tau - still for e in np.eye(n)])


def coupling(mechanism):
    """G and offset of q_all = G q + offset, for mimic joints."""
    names = list(mechanism.joint_names)
    rows, offsets = [], []
    for link in mechanism.links:
        for name in link.joint.dof_names:
            mimic = link.joint.mimic
            row = np.zeros(len(names))
            row[names.index(mimic.joint if mimic else name)] = mimic.multiplier if mimic else 1.0
            rows.append(row)
            offsets.append(mimic.offset if mimic else 0.0)
    return np.reshape(rows, (len(rows), len(names))), np.array(offsets)


def all_coordinates(mechanism, q, qd, qdd):
    """Coordinates of every axis, mimic joints included."""
    G, offset = coupling(mechanism)
    return G @ q + offset, G @ qd, G @ qdd


def _motions(mechanism, q, qd, qdd):
    """(T, T', T'') of every body by name, and direction and point of every axis in the world."""
    zero = np.zeros((4, 4))
    motion, axes, k = {WORLD: (np.eye(4), zero, zero)}, [], 0
    for link in mechanism.links:
        place = np.eye(4)
        place[:3, :3], place[:3, 3] = link.placement.rotation, link.placement.position
        T = _product(motion[link.parent], (place, zero, zero))
        for a in range(link.joint.n_dof):
            axis = link.joint.axes[a]
            axes.append((T[0][:3, :3] @ axis, T[0][:3, 3]))
            T = _product(T, _one_axis(axis, link.joint.turns[a], q[k], qd[k], qdd[k]))
            k += 1
        motion[link.body.name] = T
    return motion, axes


def _one_axis(axis, turns, q, qd, qdd):
    T, K = np.eye(4), np.zeros((4, 4))
    if turns:
        T[:3, :3] = Rotation.from_rotvec(q * axis).as_matrix()
        K[:3, :3] = np.cross(np.eye(3), axis)
        return T, qd * K @ T, (qdd * K + qd**2 * K @ K) @ T
    T[:3, 3], K[:3, 3] = q * axis, axis
    return T, qd * K, qdd * K


def _product(A, B):
    return A[0] @ B[0], A[1] @ B[0] + A[0] @ B[1], A[2] @ B[0] + 2 * A[1] @ B[1] + A[0] @ B[2]


def _pseudo_inertia(inertia):
    J = np.zeros((4, 4))
    c, moment = inertia.center, inertia.moment
    J[:3, :3] = 0.5 * np.trace(moment) * np.eye(3) - moment + inertia.mass * np.outer(c, c)
    J[:3, 3] = J[3, :3] = inertia.mass * c
    J[3, 3] = inertia.mass
    return J


def _needed_wrench(mechanism, name, motion):
    """Rate of momentum less weight, about the world's origin: from integral of a x^T dm = T'' J T^T."""
    T, _, Tdd = motion
    J = _pseudo_inertia(mechanism.link(name).body.inertia)
    gravity = np.zeros((4, 4))
    gravity[:3, 3] = mechanism.gravity
    F = (Tdd - gravity) @ J @ T.T
    return np.concatenate([F[:3, 3], 2 * _skew_part(F)])


def _applied_wrench(w, T):
    R = T[:3, :3] if w.frame == "body" else np.eye(3)
    force, point = R @ w.force, T[:3, :3] @ w.point + T[:3, 3]
    return np.concatenate([force, R @ w.moment + np.cross(point, force)])


def _passive(joint, a, q, qd, qdd):
    spring = joint.stiffness[a] * (q - joint.rest[a])
    dry = joint.coulomb[a] if qd > 0 else joint.coulomb_reverse[a]
    friction = joint.viscous[a] * qd + dry * np.sign(qd)
    return spring + friction + joint.armature[a] * qdd


def _totals(mechanism, motion, q, qd):
    kinetic = potential = 0.0
    momentum, first = np.zeros(6), np.zeros(3)
    for link in mechanism.links:
        T, Td, _ = motion[link.body.name]
        J = _pseudo_inertia(link.body.inertia)
        P = Td @ J @ T.T
        kinetic += 0.5 * np.trace(Td @ J @ Td.T)
        momentum += np.concatenate([P[:3, 3], 2 * _skew_part(P)])
        first += (T @ J)[:3, 3]
    potential = -mechanism.gravity @ first
    joints = [(link.joint, a) for link in mechanism.links for a in range(link.joint.n_dof)]
    for k, (joint, a) in enumerate(joints):
        kinetic += 0.5 * joint.armature[a] * qd[k] ** 2
        potential += 0.5 * joint.stiffness[a] * (q[k] - joint.rest[a]) ** 2
    return {
        "kinetic": kinetic,
        "potential": potential,
        "momentum": momentum,
        "center": first / mechanism.mass,
    }


def _in_body(wrench, T):
    force, moment = np.split(wrench, 2)
    moment = moment - np.cross(T[:3, 3], force)
    return np.concatenate([T[:3, :3].T @ force, T[:3, :3].T @ moment])


def _linear_angular(derivative, T):
    """Of T' the velocities, of T'' the accelerations: R'' R^T = wd~ + w~ w~ has wd as its skew part."""
    return np.concatenate([derivative[:3, 3], _skew_part(derivative[:3, :3] @ T[:3, :3].T)])


def _skew_part(A):
    """v of the skew part v~ of A."""
    return 0.5 * np.array([A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]])
