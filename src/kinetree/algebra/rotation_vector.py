"""The rotation vector: axis times angle, the shortest turn that a rotation matrix stands for."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array


def rotation_vector(R: Array) -> Array:
    """Axis times angle (..., 3) in rad of rotation matrices (..., 3, 3); the angle is at most pi.

    By way of the unit quaternion, whose largest component is found first: accurate at every angle.

    >>> from kinetree.algebra.rotation import rotation_about
    >>> rotation_vector(rotation_about("y", 0.5)).round(12).tolist()
    [0.0, 0.5, 0.0]
    """
    unit = quaternion(R)
    w, v = unit[..., 0], unit[..., 1:]
    length = np.linalg.norm(v, axis=-1)
    small = length < 1e-8
    per_length = 2 * np.arctan2(length, w) / np.where(small, 1.0, length)
    vector: Array = np.where(small, 2.0, per_length)[..., None] * v
    return vector


def quaternion(R: Array) -> Array:
    """Unit quaternions (..., 4) as w, x, y, z with w >= 0 of rotation matrices (..., 3, 3).

    >>> import numpy as np
    >>> quaternion(np.diag([1.0, -1.0, -1.0])).tolist()
    [0.0, 1.0, 0.0, 0.0]
    """
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    x, y, z = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    xy, xz, yz = R[..., 0, 1] + R[..., 1, 0], R[..., 0, 2] + R[..., 2, 0], R[..., 1, 2] + R[..., 2, 1]
    rows = np.stack(  # each is 4 times the quaternion times one of its components
        [
            np.stack([1 + xx + yy + zz, x, y, z], axis=-1),
            np.stack([x, 1 + xx - yy - zz, xy, xz], axis=-1),
            np.stack([y, xy, 1 - xx + yy - zz, yz], axis=-1),
            np.stack([z, xz, yz, 1 - xx - yy + zz], axis=-1),
        ],
        axis=-2,
    )
    largest = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    row = np.take_along_axis(rows, largest[..., None, None], axis=-2)[..., 0, :]
    unit = row / np.linalg.norm(row, axis=-1, keepdims=True)
    upper: Array = np.where(unit[..., :1] < 0, -unit, unit)
    return upper
