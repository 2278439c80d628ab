"""Rotation matrices and Euler sequences.

``R_pc`` takes coordinates in the child frame to the parent frame. An Euler sequence such as ``"YXZ"``
is intrinsic: R = Ry(a1) Rx(a2) Rz(a3), each turn about the axis already turned ([Shah2013], section 3.1).
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, ErrorKind, finite, frozen, matrix, numbers, vector
from kinetree.errors import InputError, SingularityError, unknown_name

AXES = {"X": frozen([1, 0, 0]), "Y": frozen([0, 1, 0]), "Z": frozen([0, 0, 1])}
THREE_AXIS_SEQUENCES = tuple(a + b + c for a, b, c in product("XYZ", repeat=3) if a != b and b != c)
TWO_AXIS_SEQUENCES = tuple(a + b for a, b in product("XYZ", repeat=2) if a != b)
GIMBAL_LOCK = 1e-8  # smallest |det| of the rate matrix that is still inverted


def unit_axis(axis: ArrayLike | str, what: str, error: ErrorKind = InputError) -> Array:
    """A unit vector from three numbers of any length, or from 'x', '-y', ..."""
    if isinstance(axis, str):
        sign, letter = (-1.0, axis[1:]) if axis.startswith("-") else (1.0, axis.removeprefix("+"))
        if letter.upper() not in AXES:
            raise error(unknown_name("axis", axis, ["x", "y", "z", "-x", "-y", "-z"]).after(f"{what}: "))
        return frozen(sign * AXES[letter.upper()])
    direction = vector(axis, 3, what, error)
    length = float(np.linalg.norm(direction))
    if length < 1e-12:
        raise error(f"{what} must not be the zero vector, got {direction.tolist()}")
    return direction if abs(length - 1.0) <= 4 * np.finfo(float).eps else frozen(direction / length)


def sequence_axes(sequence: str, choices: tuple[str, ...], what: str, error: ErrorKind = InputError) -> str:
    """The sequence in capitals, checked against the choices."""
    name = str(sequence).upper()
    if name not in choices:
        raise error(unknown_name("axis sequence", sequence, choices).after(f"{what}: "))
    return name


def skew(v: Array) -> Array:
    """The matrix of v x, shape (..., 3, 3)."""
    zero = np.zeros_like(v[..., 0])
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    rows = [zero, -z, y, z, zero, -x, -y, x, zero]
    return np.stack(rows, axis=-1).reshape((*v.shape[:-1], 3, 3))


def cross(a: Array, b: Array) -> Array:
    """a x b of vectors (..., 3), which broadcast; as `numpy.cross`, without its overhead."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    first = y * w - z * v
    product = np.empty((*first.shape, 3), dtype=first.dtype)
    product[..., 0], product[..., 1], product[..., 2] = first, z * u - x * w, x * v - y * u
    return product


def rotation_about(axis: ArrayLike | str, angle: ArrayLike) -> Array:
    """Rotation by an angle (rad) about a unit axis: R = 1 + sin(a) K + (1 - cos(a)) K K (Rodrigues)."""
    K = skew(unit_axis(axis, "rotation axis"))
    a = finite(numbers(angle, "rotation angle"), "rotation angle")[..., None, None]
    rotation: Array = np.eye(3) + np.sin(a) * K + (1.0 - np.cos(a)) * (K @ K)
    return rotation


def rotation_to_axis(axis: Array) -> Array:
    """A rotation whose third column is the unit axis; the identity when the axis is z.

    The coordinate axes give exact zeros and ones.
    """
    z = np.asarray(axis, dtype=np.float64)
    if np.array_equal(z, AXES["Z"]):
        return np.eye(3)
    helper = np.roll(np.eye(3)[int(np.argmax(np.abs(z)))], 1)  # the next coordinate axis
    x = helper - (helper @ z) * z
    x = x / np.linalg.norm(x)
    rotation: Array = np.column_stack([x, np.cross(z, x), z])
    return rotation


def rotation_from_rpy(rpy: ArrayLike) -> Array:
    """Rotation from fixed-axis roll, pitch, yaw (rad), as URDF uses: Rz(yaw) Ry(pitch) Rx(roll)."""
    roll, pitch, yaw = vector(rpy, 3, "roll-pitch-yaw angles")
    return rotation_about("z", yaw) @ rotation_about("y", pitch) @ rotation_about("x", roll)


def rpy_from_rotation(R: Array) -> Array:
    """Fixed-axis roll, pitch, yaw (rad) of a rotation matrix; accurate also where the pitch is near pi/2."""
    yaw = np.arctan2(R[1, 0], R[0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    pitch = np.arctan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return np.array([roll, pitch, yaw])


def rotation_matrix(values: ArrayLike, what: str, error: ErrorKind = InputError) -> Array:
    """A checked rotation matrix: orthonormal to 1e-9 and right-handed."""
    R = matrix(values, (3, 3), what, error)
    worst = float(np.abs(R @ R.T - np.eye(3)).max())
    if worst > 1e-9 or np.linalg.det(R) < 0:
        raise error(
            f"{what} must be a right-handed orthonormal matrix; R R^T differs from 1 by {worst:.2g} "
            f"and det R = {np.linalg.det(R):.6g}"
        )
    return R


def _euler(sequence: str, angles: ArrayLike) -> tuple[str, Array]:
    """The sequence in capitals and its checked angles (..., 3)."""
    name = sequence_axes(sequence, THREE_AXIS_SEQUENCES, "Euler angles")
    return name, _triples(angles, "Euler angles")


def _triples(values: ArrayLike, what: str) -> Array:
    array = finite(numbers(values, what), what)
    if array.ndim == 0 or array.shape[-1] != 3:
        raise InputError(f"{what} must have shape (..., 3), got shape {array.shape}")
    return array


def euler_rotation(sequence: str, angles: ArrayLike) -> Array:
    """R = R_first(a1) R_second(a2) R_third(a3), angles (..., 3) in rad ([Shah2013], Table 3.1)."""
    name, a = _euler(sequence, angles)
    R = rotation_about(name[0], a[..., 0]) @ rotation_about(name[1], a[..., 1])
    return R @ rotation_about(name[2], a[..., 2])


def euler_rate_matrix(sequence: str, angles: ArrayLike) -> Array:
    """E with w = E ad: angular velocity in the fixed frame from Euler-angle rates, (..., 3, 3)."""
    name, a = _euler(sequence, angles)
    first = np.broadcast_to(AXES[name[0]], a.shape)
    R1 = rotation_about(name[0], a[..., 0])
    second = R1 @ AXES[name[1]]
    third = R1 @ rotation_about(name[1], a[..., 1]) @ AXES[name[2]]
    return np.stack([first, second, third], axis=-1)


def euler_rates(sequence: str, angles: ArrayLike, angular_velocity: ArrayLike) -> Array:
    """Euler-angle rates (rad/s) from the angular velocity in the fixed frame: ad = E^-1 w.

    Raises :class:`SingularityError` in gimbal lock, where no finite rates exist.
    """
    E = euler_rate_matrix(sequence, angles)
    w = _triples(angular_velocity, "angular velocity")
    volume = np.abs(np.linalg.det(E))
    if np.any(volume < GIMBAL_LOCK):
        middle = np.asarray(angles, dtype=np.float64)[..., 1].ravel()[int(np.argmin(volume))]
        symmetric = sequence[0].upper() == sequence[2].upper()
        allowed = "a multiple of pi" if symmetric else "pi/2 plus a multiple of pi"
        raise SingularityError(
            f"Euler sequence {sequence.upper()} is in gimbal lock: its second angle is {middle:.9g} rad, and "
            f"angular velocity gives rates only where that angle is not {allowed}; use another sequence here"
        )
    return np.asarray(np.linalg.solve(E, w[..., None])[..., 0], dtype=np.float64)


def euler_angles(sequence: str, R: ArrayLike) -> Array:
    """The Euler angles (rad) of one rotation matrix; in gimbal lock the third angle is set to zero.

    The first angle comes from the matrix, the others from what remains when that turn is taken off, so the
    rotation is reproduced to rounding however near gimbal lock is.
    """
    name = sequence_axes(sequence, THREE_AXIS_SEQUENCES, "Euler angles")
    R = rotation_matrix(R, "rotation")
    i, j = "XYZ".index(name[0]), "XYZ".index(name[1])
    k = 3 - i - j
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    symmetric = name[0] == name[2]
    y, x = (R[j, i], -sign * R[k, i]) if symmetric else (-sign * R[j, k], R[k, k])
    locked = np.hypot(x, y) < 1e-14
    a1 = np.arctan2(sign * R[k, j], R[j, j]) if locked else np.arctan2(y, x)
    T = rotation_about(name[0], -a1) @ R  # the second and third turn
    if symmetric:
        a2, a3 = np.arctan2(-sign * T[k, i], T[i, i]), np.arctan2(-sign * T[j, k], T[j, j])
    else:
        a2, a3 = np.arctan2(sign * T[i, k], T[k, k]), np.arctan2(sign * T[j, i], T[j, j])
    return np.array([a1, a2, 0.0 if locked else a3])


def gimbal_distance(sequence: str, angles: ArrayLike) -> Array:
    """|det E|: 1 far from gimbal lock, 0 in it; shape (...)."""
    distance: Array = np.abs(np.linalg.det(euler_rate_matrix(sequence, angles)))
    return distance
