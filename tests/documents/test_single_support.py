"""The step of the biped on one foot: it is planned for the mechanism that takes it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import kinetree as kt
from kinetree.documents.single_support import STEP, single_support
from kinetree.trajectories.gait_parameters import GaitParameters
from kinetree.trajectories.inverted_pendulum import InvertedPendulum
from kinetree.trajectories.swing_foot import SwingFoot

FEATURES = {"shank": 0.42, "thigh": 0.55, "swing_thigh": 0.5, "swing_shank": 0.46, "width": 0.18}


def biped(shank, thigh, swing_thigh, swing_shank, width, gravity=9.81, knee_x=0.0):
    """A robot with the joints of ``biped_fixed`` and these lengths (m)."""
    robot = kt.Builder("other", gravity=(0.0, 0.0, -gravity))
    rod = kt.Inertia.rod(1.0, end=(0.0, 0.0, 0.3))
    support = robot.world.universal("ankle_support", sequence="XY").body("shank_support", rod)
    upper = support.revolute("knee_support", axis="y", at=(knee_x, 0, shank)).body("thigh_support", rod)
    trunk = upper.spherical("hip_support", sequence="YXZ", at=(0, 0, thigh)).body("trunk", rod)
    limb = trunk.spherical("hip_swing", sequence="ZXY", at=(0, width, 0)).body("thigh_swing", rod)
    calf = limb.revolute("knee_swing", axis="y", at=(0, 0, -swing_thigh)).body("shank_swing", rod)
    calf.universal("ankle_swing", sequence="YX", at=(0, 0, -swing_shank)).body("foot_swing", rod)
    return robot.build()


@pytest.mark.parametrize("gravity", [9.81, 1.62])
def test_hips_and_foot_follow_the_plan_whatever_the_lengths(gravity):
    """Forward kinematics, which knows nothing of the closed form, finds hips and foot as planned."""
    robot = biped(**FEATURES, gravity=gravity)
    plan = GaitParameters(0.5, -0.12, 0.08, 0.88, 0.24, 0.07)
    step = single_support(robot, plan)
    times = np.linspace(0.0, step.duration, 23)
    poses = kt.forward_kinematics(robot, step.at(times).q)
    place = {name: poses.position[:, k] for k, name in enumerate(poses.body_names)}
    turned = {name: poses.rotation[:, k] for k, name in enumerate(poses.body_names)}
    hips, foot = InvertedPendulum(plan, gravity).at(times).q, SwingFoot(plan).at(times).q
    across = np.array([0.0, FEATURES["width"], 0.0])
    assert_allclose(place["trunk"] + 0.5 * across, hips, rtol=0, atol=1e-12)
    assert_allclose(place["foot_swing"], foot + across, rtol=0, atol=1e-12)
    for body in ("trunk", "foot_swing"):
        assert_allclose(turned[body], np.broadcast_to(np.eye(3), (len(times), 3, 3)), rtol=0, atol=1e-12)


def test_rates_are_the_derivatives_of_the_motion():
    step = single_support(biped(**FEATURES), GaitParameters(0.5, -0.12, 0.08, 0.88, 0.24, 0.07))
    times, h = np.linspace(0.05, 0.45, 9), 1e-5
    before, now, after = (step.at(times + shift) for shift in (-h, 0.0, h))
    assert_allclose((after.q - before.q) / (2 * h), now.qd, rtol=0, atol=1e-7)
    assert_allclose((after.qd - before.qd) / (2 * h), now.qdd, rtol=0, atol=1e-6)


def test_the_zoo_s_biped_has_the_lengths_of_the_book():
    step = single_support(kt.zoo.biped_fixed())
    assert step.parameters is STEP
    assert (step.lengths.support, step.lengths.swing, step.lengths.width) == ((0.5, 0.5), (0.5, 0.5), 0.1)


@pytest.mark.parametrize(
    ("robot", "complaint"),
    [
        (lambda: kt.zoo.spatial_biped(), "needs the joints of 'biped_fixed', ankle_support"),
        (lambda: biped(**FEATURES, knee_x=0.02), "joint 'knee_support' is at .0.02, 0.0, 0.42. m"),
        (lambda: biped(**{**FEATURES, "width": -0.1}), "joint 'hip_swing' is at"),
        (lambda: biped(**FEATURES, gravity=-9.81), "needs gravity along -z, got .*9.81"),
        (lambda: biped(**{**FEATURES, "thigh": 0.3}), "the leg cannot reach: hip and ankle are"),
    ],
)
def test_what_does_not_fit_is_named(robot, complaint):
    with pytest.raises(kt.errors.InputError, match=complaint):
        single_support(robot()).at(0.0)
