"""Rotations and Euler sequences against SciPy, tables of [Shah2013] and differences."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kinetree as kt
from kinetree.algebra.rotation import (
    AXES,
    THREE_AXIS_SEQUENCES,
    TWO_AXIS_SEQUENCES,
    euler_angles,
    euler_rate_matrix,
    euler_rates,
    euler_rotation,
    gimbal_distance,
    rotation_about,
    rotation_from_rpy,
    rotation_matrix,
    rotation_to_axis,
    rpy_from_rotation,
    skew,
    unit_axis,
)
from support.cases import assert_close
from support.derivatives import differences
from support.each import each
from support.reference import read
from support.trees import rotation as random_rotation

SYMMETRIC = [name for name in THREE_AXIS_SEQUENCES if name[0] == name[2]]


def lock(sequence):
    """A second angle in gimbal lock."""
    return 0.0 if sequence in SYMMETRIC else np.pi / 2


def test_there_are_twelve_and_six_sequences():
    assert len(set(THREE_AXIS_SEQUENCES)) == 12 and len(SYMMETRIC) == 6
    assert set(TWO_AXIS_SEQUENCES) == {"XY", "XZ", "YX", "YZ", "ZX", "ZY"}


@each("sequence", THREE_AXIS_SEQUENCES)
def test_euler_rotation_is_intrinsic(sequence, rng):
    angles = rng.uniform(-4, 4, (7, 3))
    assert_close(euler_rotation(sequence, angles), Rotation.from_euler(sequence, angles).as_matrix(), 1e-14)
    assert_close(euler_rotation(sequence.lower(), angles[0]), euler_rotation(sequence, angles)[0], 1e-15)


@each("case", read("eaj.json")["cases"], ids=lambda case: case["seq"])
def test_rotations_of_the_tables(case):
    """[Shah2013], Tables 3.1 and 3.8."""
    R = np.eye(3)
    for letter, angle in zip(case["seq"], case["theta"], strict=True):
        R = R @ rotation_about(letter, angle)
    assert_close(R, case["R"], 1e-14)
    if len(case["seq"]) == 3:
        assert_close(euler_rotation(case["seq"], case["theta"]), case["R"], 1e-14)


@each("sequence", THREE_AXIS_SEQUENCES)
def test_euler_angles_give_the_rotation_back(sequence, rng):
    for _ in range(20):
        R = random_rotation(rng)
        assert_close(euler_rotation(sequence, euler_angles(sequence, R)), R, 1e-14)
    middle = rng.uniform(0.2, 1.3)
    angles = np.array([2.0, middle, -2.5])
    assert_close(euler_angles(sequence, euler_rotation(sequence, angles)), angles, 1e-14)


@each("exponent", [-20, -15, -12, -10, -9, -8, -7, -6, -4])
@each("sequence", THREE_AXIS_SEQUENCES)
def test_euler_angles_near_and_in_gimbal_lock(sequence, exponent):
    """The rotation comes back however small the distance; the split of the outer angles may not."""
    for middle in (lock(sequence), lock(sequence) + np.pi):
        for sign in (-1.0, 1.0):
            R = euler_rotation(sequence, [1.0, middle + sign * 10.0**exponent, 0.7])
            assert_close(euler_rotation(sequence, euler_angles(sequence, R)), R, 1e-13)


@each("sequence", THREE_AXIS_SEQUENCES)
def test_the_third_angle_is_zero_in_gimbal_lock(sequence):
    angles = euler_angles(sequence, euler_rotation(sequence, [1.0, lock(sequence), 0.7]))
    assert angles[2] == 0.0
    assert abs(abs(angles[0]) - 1.7) < 1e-14 or abs(abs(angles[0]) - 0.3) < 1e-14


@each("sequence", THREE_AXIS_SEQUENCES)
def test_rate_matrix_gives_the_angular_velocity(sequence, rng):
    angles, rates = rng.uniform(-2, 2, (2, 3))
    slope = differences(lambda x: euler_rotation(sequence, x), angles) @ rates
    omega = slope @ euler_rotation(sequence, angles).T
    assert_close(skew(euler_rate_matrix(sequence, angles) @ rates), omega, 1e-10)


@each("sequence", THREE_AXIS_SEQUENCES)
def test_rates_undo_the_rate_matrix(sequence, rng):
    angles = rng.uniform(-3, 3, (4, 3))
    angles[:, 1] = rng.uniform(0.3, 1.2, 4)
    rates = rng.standard_normal((4, 3))
    omega = (euler_rate_matrix(sequence, angles) @ rates[..., None])[..., 0]
    assert_close(euler_rates(sequence, angles, omega), rates, 1e-13)


@each("sequence", THREE_AXIS_SEQUENCES)
def test_rates_in_gimbal_lock(sequence):
    where = "a multiple of pi" if sequence in SYMMETRIC else "pi/2 plus a multiple of pi"
    angles = np.array([[0.1, 0.7, 0.2], [0.1, lock(sequence), 0.2]])
    with pytest.raises(
        kt.errors.SingularityError, match=f"{sequence} is in gimbal lock: its second angle is.*not {where}"
    ) as e:
        euler_rates(sequence, angles, (1.0, 2.0, 3.0))
    assert f"{angles[1, 1]:.9g} rad" in str(e.value)


@each("sequence", THREE_AXIS_SEQUENCES)
def test_gimbal_distance(sequence, rng):
    middle = rng.uniform(-3, 3, 5)
    angles = np.stack([rng.uniform(-3, 3, 5), middle, rng.uniform(-3, 3, 5)], axis=-1)
    expected = np.abs(np.sin(middle) if sequence in SYMMETRIC else np.cos(middle))
    assert_close(gimbal_distance(sequence, angles), expected, 1e-14)


@pytest.mark.parametrize("pitch", [0.3, -1.2, np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9])
def test_roll_pitch_yaw(pitch):
    """Fixed axes: roll about x first, as URDF has it."""
    rpy = np.array([0.4, pitch, -2.0])
    R = rotation_from_rpy(rpy)
    assert_close(R, Rotation.from_euler("xyz", rpy).as_matrix(), 1e-14)
    assert_close(rotation_from_rpy(rpy_from_rotation(R)), R, 1e-13)


def test_rotation_about_any_axis(rng):
    axis, angles = rng.standard_normal(3), rng.uniform(-4, 4, (2, 5))
    turned = rotation_about(axis, angles)
    unit = axis / np.linalg.norm(axis)
    assert turned.shape == (2, 5, 3, 3)
    assert_close(turned[1, 3], Rotation.from_rotvec(angles[1, 3] * unit).as_matrix(), 1e-14)


def test_skew_is_the_cross_product(rng):
    a, b = rng.standard_normal((2, 6, 3))
    assert_close((skew(a) @ b[..., None])[..., 0], np.cross(a, b), 1e-15)


def test_rotation_to_an_axis(rng):
    for axis in [*rng.standard_normal((20, 3)), *np.eye(3), *-np.eye(3)]:
        unit = axis / np.linalg.norm(axis)
        R = rotation_to_axis(unit)
        assert_close(R[:, 2], unit, 1e-15)
        assert_close(R @ R.T, np.eye(3), 1e-14)
        assert np.linalg.det(R) > 0
    for axis in (*np.eye(3), *-np.eye(3)):
        assert set(np.abs(rotation_to_axis(axis)).ravel()) == {0.0, 1.0}
    assert np.array_equal(rotation_to_axis(AXES["Z"]), np.eye(3))


def test_unit_axis():
    assert np.array_equal(unit_axis("-y", "axis"), [0, -1, 0])
    assert np.array_equal(unit_axis("+Z", "axis"), [0, 0, 1])
    assert_close(unit_axis((0, 3, 4), "axis"), [0, 0.6, 0.8], 1e-15)
    with pytest.raises(ValueError, match="read-only"):
        unit_axis("x", "axis")[0] = 2.0


BAD = {
    "zero axis": (lambda: unit_axis((0, 0, 0), "hinge"), "hinge must not be the zero vector"),
    "axis letter": (lambda: unit_axis("w", "hinge"), "hinge: unknown axis 'w'; allowed: x, y, z"),
    "axis of two": (lambda: unit_axis((1, 0), "hinge"), "hinge must be a vector of 3 numbers"),
    "nan angle": (lambda: rotation_about("x", np.nan), "rotation angle must be finite"),
    "text angle": (lambda: rotation_about("x", "pi"), "rotation angle must be real numbers"),
    "sequence": (lambda: euler_rotation("XXY", (1, 2, 3)), "unknown axis sequence 'XXY'; allowed: XYX, XYZ"),
    "two angles": (lambda: euler_rotation("XYZ", (1, 2)), r"Euler angles must have shape \(\.\.\., 3\)"),
    "one angle": (lambda: euler_rate_matrix("XYZ", 1.0), r"Euler angles must have shape \(\.\.\., 3\)"),
    "velocity of two": (lambda: euler_rates("XYZ", (1, 1, 2), (1, 2)), "angular velocity must have shape"),
    "mirror": (
        lambda: rotation_matrix(np.diag([1, 1, -1]), "frame"),
        "frame must be a right-handed.*det R = -1",
    ),
    "stretched": (lambda: rotation_matrix(1.1 * np.eye(3), "frame"), "frame must be.*differs from 1 by 0.21"),
    "flat": (
        lambda: rotation_matrix(np.eye(2), "frame"),
        r"frame must be a 3 x 3 matrix, got shape \(2, 2\)",
    ),
    "not orthonormal": (lambda: euler_angles("XYZ", np.ones((3, 3))), "rotation must be a right-handed"),
}


@each("bad", BAD)
def test_bad_input(bad):
    call, message = BAD[bad]
    with pytest.raises(kt.errors.InputError, match=message):
        call()
