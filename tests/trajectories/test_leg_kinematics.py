"""The closed-form leg: back to where it came from, its rates, and where it ends."""

import numpy as np
import pytest

from kinetree.errors import InputError, SingularityError
from kinetree.state import State
from kinetree.trajectories import leg_angles, leg_motion


def hip(a, a2, a3):
    """Forward kinematics as the docstring of LegAngles has it."""
    Z = a3 * np.cos(a.theta6) + a2 * np.cos(a.theta3)
    x = a3 * np.sin(a.theta6) - a2 * np.sin(a.theta3)
    return np.stack([x, Z * np.sin(a.theta2), Z * np.cos(a.theta2)], axis=-1)


@pytest.mark.parametrize(("a2", "a3"), [(0.5, 0.5), (0.3, 0.45), (0.6, 0.2)])
def test_forward_kinematics_gives_the_hip_back(rng, a2, a3):
    direction = rng.standard_normal((200, 3)) * [1.0, 0.5, 0.0] + [0.0, 0.0, 2.0]
    reach = rng.uniform(abs(a2 - a3) + 1e-3, a2 + a3, 200)
    r = direction * (reach / np.linalg.norm(direction, axis=1))[:, None]
    angles = leg_angles(r, a2, a3)
    assert np.abs(hip(angles, a2, a3) - r).max() < 1e-14
    assert np.abs(angles.theta3 - angles.theta4 + angles.theta6).max() < 1e-15
    assert (angles.theta4 >= 0).all() and np.array_equal(angles.theta5, -angles.theta2)


def test_almost_straight_legs_lose_no_accuracy():
    """Where the arccosine of the printed formula would lose half the digits."""
    flexion = 1e-5
    distance = np.cos(flexion / 2)
    assert leg_angles([0.0, 0.0, distance], 0.5, 0.5).theta4 == pytest.approx(flexion, rel=1e-6)
    assert leg_angles([0.0, 0.0, 1.0], 0.5, 0.5).theta4 == 0.0


def test_rates_are_derivatives(rng):
    """Along a curve in space, by central differences of the fourth order."""
    c = 0.03 * rng.standard_normal((4, 3))

    def curve(t):
        powers = t[:, None] ** np.arange(4)
        return powers @ c + [0.05, 0.02, 0.7]

    t, h = np.linspace(0.0, 1.0, 11), 1e-3
    x, v, a = curve(t), np.zeros((11, 3)), np.zeros((11, 3))
    for k in range(1, 4):
        v += k * t[:, None] ** (k - 1) * c[k]
        a += k * (k - 1) * t[:, None] ** max(k - 2, 0) * c[k]
    motion = leg_motion(State(x, v, a), 0.45, 0.5)

    def theta(t):
        angles = leg_angles(curve(t), 0.45, 0.5)
        return np.stack([angles.theta2, angles.theta3, angles.theta4, angles.theta6], axis=1)

    near = {k: theta(t + k * h) for k in (-2, -1, 0, 1, 2)}
    first = (8 * (near[1] - near[-1]) - (near[2] - near[-2])) / (12 * h)
    second = (16 * (near[1] + near[-1]) - (near[2] + near[-2]) - 30 * near[0]) / (12 * h * h)
    assert np.abs(motion.qd - first).max() < 1e-10
    assert np.abs(motion.qdd - second).max() < 1e-7


@pytest.mark.parametrize(
    ("call", "error", "reason"),
    [
        (
            lambda: leg_angles([0, 0, 1.1], 0.5, 0.5),
            InputError,
            "1.1 m apart, but a thigh of 0.5 m and a shank",
        ),
        (lambda: leg_angles([[0, 0, 0.5], [0, 0, 0.1]], 0.5, 0.3), InputError, "0.1 m apart"),
        (lambda: leg_angles([0, 1], 0.5, 0.5), InputError, "shape (..., 3)"),
        (lambda: leg_angles([0, 0, np.nan], 0.5, 0.5), InputError, "hip_from_ankle must be finite"),
        (lambda: leg_angles([0, 0, 0.5], 0.0, 0.5), InputError, "thigh must be > 0 m, got 0"),
        (
            lambda: leg_motion(State(np.array([0, 0, 1.0]), np.zeros(3), np.zeros(3)), 0.5, 0.5),
            SingularityError,
            "straight",
        ),
    ],
)
def test_refuses(call, error, reason):
    with pytest.raises(error) as refused:
        call()
    assert reason in str(refused.value)
