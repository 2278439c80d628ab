"""Placements as homogeneous transforms."""

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kinetree as kt
from support.cases import assert_close
from support.trees import placement


def matrix(p):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = p.rotation, p.position
    return T


def test_product_and_inverse_are_those_of_matrices(rng):
    a, b, c = placement(rng), placement(rng), placement(rng)
    assert_close(matrix(a @ b), matrix(a) @ matrix(b), 1e-15)
    assert_close(matrix((a @ b) @ c), matrix(a @ (b @ c)), 1e-15)
    assert_close(matrix(a @ a.inverse), np.eye(4), 1e-15)
    assert_close(matrix(a.inverse @ a), np.eye(4), 1e-15)
    assert_close(matrix((a @ b).inverse), matrix(b.inverse @ a.inverse), 1e-15)


def test_identity():
    assert kt.Placement().is_identity and kt.Placement.at().is_identity
    assert not kt.Placement.at((0, 0, 1e-300)).is_identity
    assert not kt.Placement.at(rpy=(0, 0, 1e-10)).is_identity
    assert kt.Placement() @ kt.Placement.at((1, 2, 3)) == kt.Placement.at((1, 2, 3))


def test_roll_pitch_yaw():
    R = Rotation.from_euler("xyz", (0.1, 0.2, 0.3)).as_matrix()
    assert_close(kt.Placement.at(rpy=(0.1, 0.2, 0.3)).rotation, R, 1e-15)


def test_equal_placements_have_equal_hashes():
    a, b = kt.Placement.at((0.0, 1, 2)), kt.Placement.at((-0.0, 1, 2))
    assert a == b and hash(a) == hash(b)
    assert a != kt.Placement.at((1, 1, 2)) and a != "placement"
    assert len({a, b}) == 1


def test_placements_are_immutable():
    p = kt.Placement.at((1, 2, 3))
    with pytest.raises(ValueError, match="read-only"):
        p.position[0] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        (p @ p).rotation[0, 0] = 5.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        p.position = np.zeros(3)
    given = np.array([1.0, 2.0, 3.0])
    kept = kt.Placement.at(given)
    given[0] = 9.0
    assert kept.position[0] == 1.0


def test_text():
    assert repr(kt.Placement.at((1, 2, 3))) == "Placement(position=[1.0, 2.0, 3.0])"
    assert "rotation=[[0.0, -1.0" in repr(kt.Placement.at(rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"position": (1, 2)}, "door: position must be a vector of 3 numbers, got shape"),
        ({"position": (1, 2, np.nan)}, "door: position must be finite, got nan at index 2"),
        ({"position": "abc"}, "door: position must be real numbers, got 'abc'"),
        ({"rotation": 2 * np.eye(3)}, "door: rotation must be a right-handed orthonormal"),
        ({"rotation": np.zeros(3)}, "door: rotation must be a 3 x 3 matrix"),
        ({"rpy": (0, 0)}, "door: rpy must be a vector of 3 numbers"),
        ({"rotation": np.eye(3), "rpy": (0, 0, 0)}, "door: give either a rotation matrix or roll-pitch-yaw"),
    ],
    ids=["two", "nan", "text", "stretched", "vector", "two angles", "both"],
)
def test_bad_placements(arguments, message):
    with pytest.raises(kt.errors.ModelError, match=message):
        kt.Placement.at(**arguments, what="door", error=kt.errors.ModelError)
    with pytest.raises(kt.errors.InputError):
        kt.Placement.at(**arguments)
