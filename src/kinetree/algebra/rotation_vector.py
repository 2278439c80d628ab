"""The rotation vector: axis times angle, the shortest turn that a rotation matrix stands for."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.rotation import skew

SMALL_ANGLE = 1e-2  # rad: below, series are closer than quotients that cancel


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


def rotation_by(vector: Array) -> Array:
    """Rotation matrices (..., 3, 3) of rotation vectors (..., 3) in rad: exp of their skew matrices.

    Rodrigues: R = 1 + (sin a / a) S + ((1 - cos a) / a^2) S^2 with the angle a, the length of the vector.

    >>> import numpy as np
    >>> rotation_by(np.array([0.0, 0.0, np.pi / 2])).round(12).tolist()
    [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    S = skew(vector)
    first, second, _ = _shares(np.linalg.norm(vector, axis=-1))
    R: Array = np.eye(3) + first[..., None, None] * S + second[..., None, None] * (S @ S)
    return R


def angular_motion(vector: Array, rate: Array, bend: Array) -> tuple[Array, Array]:
    """Angular velocity and acceleration (..., 3) of R(s) = exp(x(s)), from x and its two derivatives by s.

    w = J(x) x' with J = 1 + b S + c S^2, b = (1 - cos a) / a^2, c = (a - sin a) / a^3, in the axes that R
    maps to; the acceleration is its derivative by s. For x' along x, as in a rotation about one axis, w = x'.

    >>> import numpy as np
    >>> x = np.array([0.0, 0.3, 0.0])
    >>> angular_motion(x, 2.0 * x, 0.0 * x)[0].tolist()
    [0.0, 0.6, 0.0]
    """
    a = np.linalg.norm(vector, axis=-1)
    first, b, c = (x[..., None] for x in _shares(a))
    along = (vector * rate).sum(axis=-1)[..., None]
    b_rate, c_rate = (x * along for x in _share_slopes(a[..., None], first, b, c))
    turned, bent = np.cross(vector, rate), np.cross(vector, bend)
    twice = np.cross(vector, turned)
    velocity = rate + b * turned + c * twice
    acceleration = (
        bend + b_rate * turned + b * bent
        + c_rate * twice + c * (np.cross(rate, turned) + np.cross(vector, bent))
    )  # fmt: skip
    return velocity, acceleration


def _shares(a: Array) -> tuple[Array, Array, Array]:
    """sin a / a, (1 - cos a) / a^2 and (a - sin a) / a^3, by their series where a is small."""
    small = a < SMALL_ANGLE
    x, square = np.where(small, 1.0, a), a * a
    first = np.where(small, 1.0 - square / 6.0 * (1.0 - square / 20.0), np.sin(x) / x)
    second = np.where(small, 0.5 - square / 24.0 * (1.0 - square / 30.0), 2.0 * (np.sin(x / 2.0) / x) ** 2)
    third = np.where(small, (1.0 - square / 20.0 * (1.0 - square / 42.0)) / 6.0, (x - np.sin(x)) / x**3)
    return first, second, third


def _share_slopes(a: Array, first: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """Derivatives of b and c by a, divided by a."""
    small = a < SMALL_ANGLE
    square = np.where(small, 1.0, a * a)
    near = a * a
    b_slope = np.where(small, -1.0 / 12.0 + near / 180.0, (first - 2.0 * b) / square)
    c_slope = np.where(small, -1.0 / 60.0 + near / 1260.0, (b - 3.0 * c) / square)
    return b_slope, c_slope
