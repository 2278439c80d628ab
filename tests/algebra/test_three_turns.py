"""Three turns about given axes: the twelve Euler sequences by another way, branches, gimbal lock."""

import numpy as np
import pytest

from kinetree.algebra.rotation import (
    THREE_AXIS_SEQUENCES,
    euler_rate_matrix,
    euler_rotation,
    gimbal_distance,
    rotation_about,
)
from kinetree.algebra.three_turns import ThreeTurns
from support.each import each


@pytest.fixture(params=[*THREE_AXIS_SEQUENCES, "own axes"])
def turns(request, rng):
    if request.param != "own axes":
        return ThreeTurns.of_sequence(request.param)
    frame = euler_rotation("XYZ", rng.uniform(-1, 1, 3))
    tilted = np.array([np.cos(0.6), 0.0, -np.sin(0.6)])  # neither parallel nor at right angles to the first
    return ThreeTurns(np.array([frame[:, 0], frame[:, 1], frame @ tilted]))


def lock(turns, rng):
    """Angles in gimbal lock."""
    angles = rng.uniform(-3, 3, 3)
    angles[1] = np.pi * rng.integers(-1, 2) - turns._frames[2]
    return angles


@each("sequence", THREE_AXIS_SEQUENCES)
def test_sequences_are_those_of_the_rotations(sequence, rng):
    turns, angles = ThreeTurns.of_sequence(sequence), rng.uniform(-3, 3, (5, 3))
    assert turns.is_proper
    np.testing.assert_allclose(turns.rotation(angles), euler_rotation(sequence, angles), atol=1e-14)
    np.testing.assert_allclose(turns.rate_matrix(angles), euler_rate_matrix(sequence, angles), atol=1e-14)
    np.testing.assert_allclose(turns.distance(angles), gimbal_distance(sequence, angles), atol=1e-14)


def test_angles_are_the_nearest_of_all_that_give_the_rotation(turns, rng):
    for _ in range(10):
        angles, far = rng.uniform(-3, 3, 3), rng.uniform(-20, 20, 3)
        R = turns.rotation(angles)
        np.testing.assert_allclose(turns.angles(R, angles + rng.uniform(-0.1, 0.1, 3)), angles, atol=1e-9)
        found = turns.angles(R, far)
        np.testing.assert_allclose(turns.rotation(found), R, atol=1e-13)
        offset = turns._frames[2]
        other = np.array([angles[0] + np.pi, -angles[1] - 2.0 * offset, angles[2] + np.pi])
        np.testing.assert_allclose(turns.rotation(other), R, atol=1e-13)
        distances = []
        for branch in (angles, other):
            change = (branch - far + np.pi) % (2.0 * np.pi) - np.pi
            distances.append(np.linalg.norm(change))
        assert np.linalg.norm(found - far) == pytest.approx(min(distances), abs=1e-9)


def test_rates_accelerations_and_torques_go_both_ways(turns, rng):
    angles, rates, accelerations, torques = rng.uniform(-1, 1, (4, 6, 3))
    w = turns.angular_velocity(angles, rates)
    wd = turns.angular_acceleration(angles, rates, accelerations)
    h = 1e-5
    ahead, behind = (
        turns.angular_velocity(angles + s * rates + 0.5 * s * s * accelerations, rates + s * accelerations)
        for s in (h, -h)
    )
    np.testing.assert_allclose((ahead - behind) / (2.0 * h), wd, atol=1e-8)
    R_h, R_b = (turns.rotation(angles + s * rates) for s in (h, -h))
    spin = (R_h - R_b) / (2.0 * h) @ np.swapaxes(turns.rotation(angles), -1, -2)
    np.testing.assert_allclose(np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], -1), w, atol=1e-8)
    scale = turns.distance(angles)[:, None]
    np.testing.assert_allclose(scale * turns.rates(angles, w), scale * rates, atol=1e-13)
    found = turns.accelerations(angles, rates, wd)
    np.testing.assert_allclose(scale * found, scale * accelerations, atol=1e-13)
    moment, rest = turns.moment(angles, torques)
    np.testing.assert_allclose(turns.torques(angles, moment), torques, atol=1e-12)
    assert not rest.any()
    power = np.sum(torques * rates, axis=-1)
    np.testing.assert_allclose(np.sum(moment * w, axis=-1), power, atol=1e-12)


def test_in_gimbal_lock_the_smallest_rates_and_the_nearest_angles(turns, rng):
    angles, rates = lock(turns, rng), rng.uniform(-1, 1, 3)
    R, E = turns.rotation(angles), turns.rate_matrix(angles)
    assert turns.distance(angles) < 1e-15
    np.testing.assert_allclose(turns.angles(R, angles), angles, atol=1e-12)
    beside = angles + np.array([0.3, 0.0, 0.1])
    near = turns.angles(R, beside)
    np.testing.assert_allclose(turns.rotation(near), R, atol=1e-12)
    assert np.linalg.norm(near - beside) <= np.hypot(0.3, 0.1)
    anything = rng.uniform(-1, 1, 3)
    for w in (E @ rates, anything):
        np.testing.assert_allclose(turns.rates(angles, w), np.linalg.pinv(E, rcond=1e-9) @ w, atol=1e-12)
    moment, rest = turns.moment(angles, E.T @ anything)
    np.testing.assert_allclose(turns.torques(angles, moment), E.T @ anything, atol=1e-12)
    assert abs(rest) < 1e-12
    assert abs(turns.moment(angles, np.array([1.0, 0.0, 0.0]))[1]) == pytest.approx(1.0)


def test_beside_gimbal_lock_the_rotation_is_exact(turns, rng):
    for distance in (1e-12, 1e-9, 1e-6, 1e-3):
        angles = lock(turns, rng) + np.array([0.0, distance, 0.0])
        R = turns.rotation(angles)
        found = turns.angles(R, angles + rng.uniform(-1, 1, 3))
        np.testing.assert_allclose(turns.rotation(found), R, atol=2e-12)


def test_axes_askew_are_not_proper():
    assert not ThreeTurns(np.array([[1.0, 0, 0], rotation_about("z", 0.5)[:, 0], [0, 0, 1.0]])).is_proper
