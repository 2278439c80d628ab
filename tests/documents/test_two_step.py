"""The two-step algorithm on a free tree: against the tree rooted at its foot, and differences."""

import numpy as np
import pytest

import kinetree as kt
from support.two_step import torque_gradient, two_step, virtual_motion

ROBOT = kt.zoo.spatial_biped()
FOOT = "foot1"


@pytest.fixture
def states(rng):
    """Motions near standing, whose ground pushes."""
    n = ROBOT.n_dof
    return tuple(scale * rng.standard_normal((5, n)) for scale in (0.2, 0.3, 0.3))


def test_the_root_is_free_of_forces_and_torques_are_those_of_the_tree_on_its_foot(states):
    found = two_step(ROBOT, *states, [FOOT])
    size = np.abs(found.tau).max()
    assert np.abs(found.tau[:, :6]).max() < 1e-9 * size
    standing = ROBOT.rooted_at(FOOT, sequence="ZXY")
    seen = kt.analysis.change_root(ROBOT, standing, *states)
    tau = kt.inverse_dynamics(standing, seen.q, seen.qd, seen.qdd)
    for j, name in enumerate(ROBOT.joint_names[6:], 6):
        assert np.allclose(found.tau[:, j], tau[:, standing.joint_index(name)], atol=1e-9 * size)


def test_the_resultant_is_weight_and_rate_of_momentum_at_the_zero_moment_point(states):
    found = two_step(ROBOT, *states, [FOOT])
    h = 1e-6
    q, qd, qdd = states
    momentum = [kt.momentum(ROBOT, q + s * h * qd, qd + s * h * qdd)[..., :3] for s in (1.0, -1.0)]
    rate = (momentum[0] - momentum[1]) / (2.0 * h)
    assert np.allclose(found.force, rate - ROBOT.mass * ROBOT.gravity, atol=1e-4)
    assert np.allclose(found.moment[:, :2], 0.0, atol=1e-9 * ROBOT.mass * 9.81)
    point = kt.analysis.zero_moment_point(ROBOT, *states)
    assert np.allclose(found.point[:, :2], np.asarray(point)[..., :2], atol=1e-9)


def test_any_share_of_both_feet_leaves_the_root_free(states, rng):
    part = rng.uniform(0.0, 1.0, 5)
    found = two_step(ROBOT, *states, [FOOT, "foot2"], np.stack([part, 1.0 - part], axis=1))
    assert np.abs(found.tau[:, :6]).max() < 1e-9 * np.abs(found.tau).max()


def test_weights_with_the_foot_at_rest_see_torques_without_ground(states, rng):
    y = rng.standard_normal((5, ROBOT.n_dof))
    y[:, :6] = 0.0
    full = virtual_motion(ROBOT, states[0], FOOT, y)
    tau = two_step(ROBOT, *states, [FOOT]).tau
    bare = kt.inverse_dynamics(ROBOT, *states)
    assert np.allclose((y * tau).sum(axis=1), (full * bare).sum(axis=1), rtol=1e-9)


def test_sensitivities_are_exact(states, rng):
    y = rng.standard_normal((5, ROBOT.n_dof))
    y[:, :6] = 0.0
    slopes, h = torque_gradient(ROBOT, *states, FOOT, y), 1e-6
    for rate in range(3):
        d = rng.standard_normal(states[0].shape)
        ends = []
        for sign in (1.0, -1.0):
            moved = list(states)
            moved[rate] = moved[rate] + sign * h * d
            ends.append((y * two_step(ROBOT, *moved, [FOOT]).tau).sum(axis=1))
        wanted = (ends[0] - ends[1]) / (2.0 * h)
        size = np.abs(wanted).max()
        assert np.allclose((slopes[rate] * d).sum(axis=1), wanted, rtol=1e-6, atol=1e-6 * size)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda q: two_step(kt.zoo.kuka_kr5(), *(np.zeros((1, 6)),) * 3, ["link6"]), "one free root"),
        (lambda q: two_step(ROBOT, q, q, q, ["hoof"]), "hoof"),
        (lambda q: two_step(ROBOT, q, q, q, [FOOT, "foot2"], np.ones((1, 2))), "add up to 1"),
        (lambda q: two_step(ROBOT, q, q, q - 1e3, [FOOT]), "needs the ground to pull"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(kt.KinetreeError, match=message):
        call(np.zeros((1, ROBOT.n_dof)))
