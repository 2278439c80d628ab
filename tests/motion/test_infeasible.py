"""Motions that do not exist: what is nearest, and the joint, limit or target that is in the way."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.predict import predict
from kinetree.motion.problem.problem import Problem
from kinetree.motion.terms import Boundary, JointLimits, PointPosition, SquaredTorque, Time, TorqueLimits
from motion.problems import from_rest_to_rest, minimum_time


def test_a_target_out_of_reach_is_named():
    far = PointPosition("link2", [2.0, 0.0, 0.0], point=(0.4, 0, 0), axes="xy")
    constraints = [Boundary("start", [0.0, 0.5], 0.0), far]
    found = predict(
        Problem(kt.zoo.two_link(), objective=Time(), constraints=constraints, duration=(0.1, 5.0))
    )
    assert not found.solved
    assert found.exit_code == 3
    assert found.violations[0].family == "end-effector position"
    assert found.violations[0].amount == pytest.approx(1.2, abs=0.05)
    assert "out of reach" in str(found)


def test_too_short_a_duration_is_named():
    found = predict(minimum_time(duration=0.3))
    assert found.exit_code == 3
    assert found.violations[0].family == "torque limit"
    assert "duration" in str(found.explanation)
    assert "joint" in found.violations[0].label


def test_a_torque_limit_below_gravity_is_named():
    arm = kt.zoo.two_link(gravity=(0, -9.81, 0))
    ends = [Boundary(at, [q, 0.0], 0.0, 0.0) for at, q in (("start", 0.0), ("end", 0.5))]
    found = predict(Problem(arm, objective=Time(), constraints=[*ends, TorqueLimits({"joint1": 1.0})]))
    assert found.exit_code == 3
    assert found.violations[0].label == "joint1"
    assert "holding still at the start against gravity and loads takes 3.924" in str(found)


def test_joints_that_are_not_driven_are_named():
    ends = from_rest_to_rest([0.0, -2.0], [1.0, -1.0])
    found = predict(minimum_time(constraints=[*ends, TorqueLimits(0.0)]))
    assert found.exit_code == 3
    said = str(found.explanation)
    assert "not driven: joint1 (0 N m), joint2 (0 N m)" in said
    assert "equations" not in said and "too short" not in said and "-0 " not in said
    one = predict(minimum_time(constraints=[*ends, TorqueLimits({"joint2": 0.0})], duration=0.1))
    assert "not driven: joint2 (0 N m);" in str(one.explanation)
    assert "41 equations" in str(one.explanation)  # with fewer the other joint could swing it


def test_poses_on_the_way_that_are_too_heavy_are_named():
    """Between these joint limits each pose takes some 3.9 N m at the shoulder and 1 N m at the elbow."""
    arm = kt.zoo.two_link(gravity=(0, -9.81, 0))
    constraints = [JointLimits(lower=-0.1, upper=0.1), TorqueLimits({"joint1": 2.0, "joint2": 5.0})]
    found = predict(Problem(arm, objective=SquaredTorque(), constraints=constraints, duration=2.0))
    assert found.exit_code == 3
    (sentence,) = [x for x in found.explanation.advice if "holding the pose" in x]
    assert sentence.startswith("torque limit, joint1: ") and "but -2 to 2 N m are allowed" in sentence
    t, needed = (float(sentence.split(word)[1].split()[0]) for word in (" t = ", " takes "))
    k = int(np.abs(found.check.s * 2.0 - t).argmin())
    assert needed == pytest.approx(kt.gravity_torque(arm, found.check.q[k])[0], rel=1e-3)


def test_an_infeasible_motion_is_the_nearest_that_was_seen():
    """The tip of the arm, which reaches 0.8 m, comes near a target at 2 m and not to the far side."""
    constraints = [
        Boundary("start", [0.0, -2.0], velocity=0.0),
        PointPosition("link2", [2.0, 0.0, 0.0], point=(0.4, 0, 0), axes="xy"),
    ]
    lost = predict(Problem(kt.zoo.two_link(), objective=Time(), constraints=constraints, duration=(0.1, 5)))
    assert not lost.solved and lost.exit_code == 3
    assert lost.max_violation < 1.3
