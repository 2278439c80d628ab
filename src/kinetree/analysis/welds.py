"""Reactions in fixed joints, which the kernels do not see because welded bodies are lumped."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.rotation import skew
from kinetree.analysis.kinematics import AxisMotion, body_poses
from kinetree.model.tree import WORLD_AXIS, Tree


def weld_reactions(tree: Tree, motion: AxisMotion, loads: Array | None, reactions: Array) -> None:
    """Fill in the rows of welded bodies; the rows of jointed bodies must be there already.

    A weld carries the inertial wrench of its body less the loads on it, and what the body's children ask
    for: n = n_own + sum (n_child + r x f_child), all in body axes at the body's origin.
    """
    rotation, position = body_poses(tree, motion)
    demand = np.zeros_like(reactions)  # of the bodies welded so far, by body
    for k in range(tree.n_bodies - 1, -1, -1):
        if tree.body_welded[k]:
            own = demand[..., k, :] + _inertial_wrench(tree, motion, rotation, k)
            reactions[..., k, :] = own if loads is None else own - loads[..., k, :]
        j = int(tree.body_parent[k])
        if j != WORLD_AXIS and tree.body_welded[j]:
            R_jk = np.swapaxes(rotation[..., j, :, :], -1, -2) @ rotation[..., k, :, :]
            r = position[..., k, :] - position[..., j, :]
            r_j = np.swapaxes(rotation[..., j, :, :], -1, -2) @ r[..., None]
            force = (R_jk @ reactions[..., k, :3, None])[..., 0]
            moment = (R_jk @ reactions[..., k, 3:, None])[..., 0]
            demand[..., j, :3] += force
            demand[..., j, 3:] += moment + np.cross(r_j[..., 0], force)


def _inertial_wrench(tree: Tree, motion: AxisMotion, rotation: Array, k: int) -> Array:
    """Rate of momentum of one body with gravity taken off: force and moment at its origin, body axes."""
    axis = int(tree.body_axis[k])
    R = np.swapaxes(rotation[..., k, :, :], -1, -2)
    w, wd = motion.velocity[..., axis, 3:], motion.acceleration[..., axis, 3:]
    r = (motion.rotation[..., axis, :, :] @ tree.body_position[k][:, None])[..., 0]
    a = motion.acceleration[..., axis, :3] + np.cross(wd, r) + np.cross(w, np.cross(w, r)) - tree.gravity
    w, wd, a = ((R @ x[..., None])[..., 0] for x in (w, wd, a))
    U = skew(w) @ skew(w) + skew(wd)
    m, h, S = tree.body_mass[k], tree.body_first_moment[k], tree.body_second_moment[k]
    force = m * a + (U @ h[:, None])[..., 0]
    G = U @ S  # integral of (U r) r^T dm: its skew part is the moment of the inertial forces
    moment = np.stack(
        [G[..., 2, 1] - G[..., 1, 2], G[..., 0, 2] - G[..., 2, 0], G[..., 1, 0] - G[..., 0, 1]], axis=-1
    )
    return np.concatenate([force, moment + np.cross(h, a)], axis=-1)
