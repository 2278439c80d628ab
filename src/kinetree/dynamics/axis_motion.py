"""Where the axes of a tree are, how they move, and the derivatives of both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.evaluate import evaluate
from kinetree.kernels.kinematics import KINEMATICS
from kinetree.model.tree import Tree

STEP = 1e-30  # imaginary: far below rounding, so that its square is zero


@dataclass(frozen=True, eq=False)
class Direction:
    """Rates of change of q, qd and qdd, each (..., k, axes), along k directions."""

    q: Array
    qd: Array
    qdd: Array


def moved(tree: Tree, motion: AxisMotion, qd: Array, qdd: Array, along: Direction) -> AxisMotion:
    """The motion with its slopes along k directions as imaginary parts; axes (..., k, n + 1, ...)."""
    R, p, v, w, a, wd = (x[..., None, :, :] for x in _parts(motion))
    S = screws(tree, motion)[..., None, :, :]
    V = np.concatenate([w, v - np.cross(w, p)], axis=-1)
    dX, dV, dA = (np.zeros((*along.q.shape[:-1], tree.n + 1, 6)) for _ in range(3))
    for j in range(tree.n):
        up, s = int(tree.parent[j]), S[..., j, :]
        ds, rate = crossed(dX[..., up, :], s), crossed(V[..., up, :], s)
        drate = crossed(dV[..., up, :], s) + crossed(V[..., up, :], ds)
        speed, acceleration = qd[..., None, j, None], qdd[..., None, j, None]
        dq, dqd, dqdd = (x[..., j, None] for x in (along.q, along.qd, along.qdd))
        dX[..., j, :] = dX[..., up, :] + s * dq
        dV[..., j, :] = dV[..., up, :] + ds * speed + s * dqd
        dA[..., j, :] = dA[..., up, :] + ds * acceleration + s * dqdd + drate * speed + rate * dqd
    dw, dwd = dV[..., :3], dA[..., :3]
    dR = np.cross(dX[..., None, :3], np.swapaxes(R.reshape(*R.shape[:-1], 3, 3), -1, -2))
    dp = dX[..., 3:] + np.cross(dX[..., :3], p)
    dv = dV[..., 3:] + np.cross(dw, p) + np.cross(w, dp)
    # a = (linear part of A) + wd x p + w x v
    da = dA[..., 3:] + np.cross(dwd, p) + np.cross(wd, dp) + np.cross(dw, v) + np.cross(w, dv)
    i = 1j * STEP
    return AxisMotion(
        motion.rotation[..., None, :, :, :] + i * np.swapaxes(dR, -1, -2),  # type: ignore[arg-type]
        p + i * dp,
        np.concatenate([v + i * dv, w + i * dw], axis=-1),
        np.concatenate([a + i * da, wd + i * dwd], axis=-1),
    )


def _parts(motion: AxisMotion) -> tuple[Array, ...]:
    R = motion.rotation.reshape(*motion.rotation.shape[:-2], 9)
    v, a = motion.velocity, motion.acceleration
    return R, motion.position, v[..., :3], v[..., 3:], a[..., :3], a[..., 3:]


def screws(tree: Tree, motion: AxisMotion) -> Array:
    """S_j of every axis at the world's origin, (..., n, 6): angular, linear."""
    z, p, turns = motion.rotation[..., :-1, :, 2], motion.position[..., :-1, :], tree.turns[:, None]
    return np.concatenate([np.where(turns, z, 0.0), np.where(turns, np.cross(p, z), z)], axis=-1)


def at_origin(motion: AxisMotion) -> tuple[Array, Array]:
    """Velocity and acceleration of every axis at the world's origin, (..., n + 1, 6): angular, linear."""
    _, p, v, w, a, wd = _parts(motion)
    return (
        np.concatenate([w, v - np.cross(w, p)], axis=-1),
        np.concatenate([wd, a - np.cross(wd, p) - np.cross(w, v)], axis=-1),
    )


def crossed(V: Array, S: Array) -> Array:
    """The motion cross product V x S of (angular, linear) pairs."""
    w, v, z, s = V[..., :3], V[..., 3:], S[..., :3], S[..., 3:]
    return np.concatenate([np.cross(w, z), np.cross(v, z) + np.cross(w, s)], axis=-1)


@dataclass(frozen=True, eq=False)
class AxisMotion:
    """Motion of the axis frames with the world as the last entry, so that index -1 is the world."""

    rotation: Array  # (..., n + 1, 3, 3)
    position: Array  # (..., n + 1, 3)
    velocity: Array  # (..., n + 1, 6) linear, angular
    acceleration: Array  # (..., n + 1, 6)


def axis_motion(tree: Tree, q: Array, qd: Array, qdd: Array) -> AxisMotion:
    """Forward kinematics of all axes; arguments (..., n_axes)."""
    n = tree.n
    pose, velocity, acceleration = evaluate(KINEMATICS, tree, [q, qd, qdd], [12 * n, 6 * n, 6 * n])
    batch = pose.shape[:-1]
    pose = pose.reshape((*batch, n, 12))
    world = np.broadcast_to(np.eye(3), (*batch, 1, 3, 3))
    return AxisMotion(
        np.concatenate([pose[..., :9].reshape((*batch, n, 3, 3)), world], axis=-3),
        np.concatenate([pose[..., 9:], np.zeros((*batch, 1, 3))], axis=-2),
        np.concatenate([velocity.reshape((*batch, n, 6)), np.zeros((*batch, 1, 6))], axis=-2),
        np.concatenate([acceleration.reshape((*batch, n, 6)), np.zeros((*batch, 1, 6))], axis=-2),
    )


def axis_poses(tree: Tree, q: Array) -> tuple[Array, Array]:
    """The poses alone, of all axes with the world as the last: (m, n + 1, 3, 3) and (m, n + 1, 3)."""
    n, rest = tree.n, np.zeros(tree.n)
    pose = evaluate(KINEMATICS, tree, [q, rest, rest], [12 * n, 6 * n, 6 * n])[0].reshape(len(q), n, 12)
    rotation, position = np.empty((len(q), n + 1, 3, 3)), np.empty((len(q), n + 1, 3))
    rotation[:, :n], rotation[:, n] = pose[..., :9].reshape(len(q), n, 3, 3), np.eye(3)
    position[:, :n], position[:, n] = pose[..., 9:], 0.0
    return rotation, position


def body_poses(tree: Tree, motion: AxisMotion) -> tuple[Array, Array]:
    """Rotation and position of every body in the world."""
    R = motion.rotation[..., tree.body_axis, :, :]
    p = motion.position[..., tree.body_axis, :]
    return R @ tree.body_rotation, p + (R @ tree.body_position[:, :, None])[..., 0]
