"""Where the axes of a tree are and how they move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.evaluate import evaluate
from kinetree.kernels.kinematics import KINEMATICS
from kinetree.model.tree import Tree


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
