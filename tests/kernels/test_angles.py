"""Sine and cosine of the machine code: as exact as NumPy's for any angle."""

import numpy as np
import pytest

import kinetree as kt
from support.kernels import KERNELS, interpreted, on_batch, random_inputs, zoo


@pytest.fixture(scope="module")
def hinge():
    robot = kt.Builder("hinge")
    robot.world.revolute("joint", axis="z").body("body", kt.Inertia.point(1.0, (1, 0, 0)))
    return robot.build()


def compiled_sincos(hinge, angles):
    """Sine and cosine as entries of a rotation about z."""
    rotation = kt.forward_kinematics(hinge, np.reshape(angles, (-1, 1))).rotation[:, 0]
    return rotation[:, 1, 0], rotation[:, 0, 0]


def ulps(found, expected):
    return float(np.max(np.abs(found - expected) / np.spacing(np.abs(expected))))


@pytest.mark.parametrize("exponent", [-300, -20, -9, -5, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 15, 100, 300])
def test_all_magnitudes(hinge, exponent, rng):
    """The ways part at 1e6: both are used within one batch there."""
    angles = rng.uniform(-2.0, 2.0, 4001) * 10.0**exponent
    sine, cosine = compiled_sincos(hinge, angles)
    assert ulps(sine, np.sin(angles)) <= 2
    assert ulps(cosine, np.cos(angles)) <= 2
    assert np.abs(sine**2 + cosine**2 - 1).max() < 1e-15


def test_near_multiples_of_a_quarter_turn(hinge, rng):
    """The small result keeps its digits where the reduction cancels."""
    k = rng.integers(-600_000, 600_000, 4001)
    for angles in (k * (np.pi / 2), np.nextafter(k * (np.pi / 2), np.inf), k * (np.pi / 4)):
        sine, cosine = compiled_sincos(hinge, angles)
        assert ulps(sine, np.sin(angles)) <= 2
        assert ulps(cosine, np.cos(angles)) <= 2


def test_special_angles(hinge):
    sine, cosine = compiled_sincos(hinge, [0.0, np.pi, -np.pi / 2, 5e-324, 1e-320, 1e6, -1e6, 1e308])
    assert (sine[0], cosine[0]) == (0.0, 1.0)
    assert (sine[1], cosine[1]) == (np.sin(np.pi), -1.0)
    assert (sine[2], cosine[2]) == (-1.0, np.cos(np.pi / 2))
    assert (sine[3], sine[4]) == (5e-324, 1e-320)
    assert np.array_equal(cosine[3:5], [1.0, 1.0])
    assert ulps(sine[5:], np.sin([1e6, -1e6, 1e308])) <= 2


def test_odd_and_even(hinge, rng):
    angles = rng.uniform(-1, 1, 1001) * 10.0 ** rng.uniform(-3, 9, 1001)
    sine, cosine = compiled_sincos(hinge, angles)
    mirrored = compiled_sincos(hinge, -angles)
    assert np.array_equal(mirrored[0], -sine)
    assert np.array_equal(mirrored[1], cosine)


@pytest.mark.parametrize("size", [1e3, 1e7, 1e15])
def test_dynamics_at_large_angles(size, rng, monkeypatch):
    for robot in zoo().values():
        tree = robot.tree
        kernel = KERNELS["rnea_unloaded"]
        inputs = random_inputs(kernel, tree, rng, 5)
        inputs[0][:, tree.turns] *= size
        found, expected = on_batch(kernel, tree, inputs), interpreted(kernel, tree, inputs, monkeypatch)
        assert np.abs(found["tau"] - expected["tau"]).max() < 1e-14 * np.abs(expected["tau"]).max()


@pytest.mark.parametrize("size", [1e3, 1e7, 1e15])
def test_one_state_at_large_angles(size, rng):
    robot = kt.zoo.kuka_kr5()
    s = kt.random_state(robot, rng, (5,))
    q = s.q * size
    batch = kt.inverse_dynamics(robot, q, s.qd, s.qdd)
    single = [kt.inverse_dynamics(robot, q[k], s.qd[k], s.qdd[k]) for k in range(5)]
    assert np.abs(batch - single).max() < 1e-14 * np.abs(batch).max()
    near = np.arctan2(np.sin(q), np.cos(q))  # the same pose
    assert np.abs(batch - kt.inverse_dynamics(robot, near, s.qd, s.qdd)).max() < 1e-13 * np.abs(batch).max()
