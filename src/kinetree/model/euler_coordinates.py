"""Euler angles and their rates from a rotation and an angular velocity, for joints with three turns."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.rotation import rotation_about
from kinetree.algebra.three_turns import ThreeTurns
from kinetree.errors import SingularityError
from kinetree.model.joint import Joint

LOCKED = 1e-8  # size of a determinant below which rates of angles are not known


def euler_coordinates(joint: Joint, R: Array, w: Array) -> tuple[Array, Array]:
    """Angles (..., 3) of a joint's last three axes and their rates, from R (..., 3, 3) in the joint's frame.

    The angular velocity w (..., 3) is in the frame that R turns to. In gimbal lock rates are known only at
    rest.
    """
    axes = joint.axes[-3:]
    turns = ThreeTurns(axes)
    angles = np.array([turns.angles(x, np.zeros(3)) for x in R.reshape(-1, 3, 3)]).reshape((*R.shape[:-2], 3))
    E = body_rates(axes, angles)
    locked = (np.abs(np.linalg.det(E)) < LOCKED)[..., None] & np.ones(3, dtype=bool)
    if (locked & (w != 0.0)).any():
        raise SingularityError(
            f"joint '{joint.name}' is in gimbal lock there; rates of its angles are not known"
        )
    E = np.where(locked[..., None], np.eye(3), E)
    rates = np.asarray(np.linalg.solve(E, w[..., None])[..., 0], dtype=np.float64)
    return angles, rates


def body_rates(axes: Array, angles: Array) -> Array:
    """E (..., 3, 3) with w = E rates in body axes, for successive rotations about the axes."""
    R = np.broadcast_to(np.eye(3), (*angles.shape[:-1], 3, 3))
    columns: list[Array] = []
    for k in (2, 1, 0):
        columns.insert(0, np.swapaxes(R, -1, -2) @ axes[k])
        R = rotation_about(axes[k], angles[..., k]) @ R
    return np.stack(columns, axis=-1)
