"""Constraints in motions: paths, poses, velocities, equations, where they are enforced and checked."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.predict import predict
from kinetree.motion.terms import (
    Boundary,
    CustomConstraint,
    GroundClearance,
    Orientation,
    Periodic,
    PointPosition,
    PointVelocity,
    SquaredTorque,
    TorqueLimits,
    ZeroMomentPoint,
)
from motion.problems import TIP, from_rest_to_rest, kuka, minimum_time


def tip_of(found):
    """Where the end of the second link is."""
    pose = kt.forward_kinematics(found.problem.mechanism, found.q)
    return pose.position[:, 1] + pose.rotation[:, 1] @ np.array([0.4, 0.0, 0.0])


def test_the_hand_follows_a_path():
    """Equations at all knots, from a pose that is found first; the default solver does it alone."""
    level = PointPosition("link2", lower=[-1, 0.3, -1], upper=[1, 0.3, 1], point=TIP, axes="y", at="knots")
    ends = [
        PointPosition("link2", [x, 0.3, 0], point=TIP, axes="x", at=at)
        for x, at in ((0.3, "start"), (0.5, "end"))
    ]
    rest = [Boundary("start", None, 0.0), Boundary("end", None, 0.0)]
    problem = minimum_time(constraints=[level, *ends, *rest, TorqueLimits()])
    found = predict(problem, solver="interior")
    assert found.solved and found.iterations < 60
    tip = tip_of(found)
    assert np.abs(tip[:, 1] - 0.3).max() < 2e-3 and tip[[0, -1], 0] == pytest.approx([0.3, 0.5], abs=1e-6)
    assert found.objective == pytest.approx(predict(problem, solver="ipopt").objective, rel=1e-4)


def test_an_orientation_is_reached_and_not_its_opposite():
    """A half turn off, the small-angle error vanishes too."""
    pose = kt.forward_kinematics(kt.zoo.two_link(), [0.4, 0.6])
    there = [Orientation("link2", pose.rotation[1]), PointPosition("link2", pose.position[1], axes="xy")]
    start, end = Boundary("start", [0.0, -2.0], 0.0), Boundary("end", None, 0.0)
    found = predict(minimum_time(constraints=[start, end, *there, TorqueLimits()]))
    assert found.solved
    assert found.q[-1] == pytest.approx([0.4, 0.6], abs=1e-5)


def test_a_ball_is_thrown():
    """The hand moves with a given velocity when it lets go."""
    throw = PointVelocity("link2", [1.5, 2.0, 0.0], point=TIP, axes="xy")
    start, end = Boundary("start", [0.0, -2.0], 0.0), Boundary("end", [1.0, -1.0])
    found = predict(minimum_time(constraints=[start, end, throw, TorqueLimits()]))
    assert found.solved
    v = kt.jacobian(found.problem.mechanism, found.q[-1], "link2", TIP) @ found.qd[-1]
    assert v[:3] == pytest.approx([1.5, 2.0, 0.0], abs=1e-5)


def test_a_point_may_be_asked_to_move_at_least_so_fast():
    """The cheapest hand that leaves upwards with 2 m/s or more has just these 2 m/s."""
    start, end = Boundary("start", [0.0, -2.0], 0.0), Boundary("end", [1.0, -1.0])
    leaves = PointVelocity("link2", lower=(0.0, 2.0, 0.0), point=TIP, axes="y")
    found = predict(
        minimum_time(objective=SquaredTorque(), constraints=[start, end, leaves], duration=1.0),
        solver="interior",
    )
    assert found.solved
    v = kt.jacobian(found.problem.mechanism, found.q[-1], "link2", TIP) @ found.qd[-1]
    assert v[1] == pytest.approx(2.0, abs=1e-3)
    for given in ({}, {"velocity": [0, 0, 0], "lower": 0.0}, {"lower": 1.0, "upper": 0.0}, {"lower": [1, 2]}):
        with pytest.raises(kt.errors.InputError, match="link2"):
            PointVelocity("link2", **given)


def test_periodic_motions_take_few_iterations():
    """Equations of large and small slopes side by side."""
    constraints = [Periodic(rates=3), Boundary(0.0, [0.0, -1.0]), Boundary(0.5, [1.0, -1.5])]
    problem = minimum_time(objective=SquaredTorque(), constraints=constraints, duration=1.0)
    found = predict(problem, solver="interior")
    assert found.solved and found.iterations < 20
    for values in (found.q, found.qd, found.qdd):
        assert values[0] == pytest.approx(values[-1], abs=1e-8)


def test_limits_at_knots_are_checked_between_them():
    found = predict(
        minimum_time(constraints=[*from_rest_to_rest([0.0, -2.0], [1.0, -1.0]), TorqueLimits(at="knots")])
    )
    worst = np.abs(found.tau).max() / 10.0 - 1.0
    assert worst > 1e-3
    assert found.max_violation == pytest.approx(worst, rel=1e-6)


def test_too_many_equations_are_named():
    equal = CustomConstraint(
        lambda s, q, qd, qdd, tau: tau[:, 0] - 2.0 * tau[:, 1], 0.0, 0.0, name="coupling"
    )
    lost = predict(minimum_time(also=[equal], segments=8), max_iterations=50, solver="interior")
    assert not lost.solved
    assert "17 equations for 15 unknowns" in str(lost)


def test_equality_of_anything_with_anything():
    equal = CustomConstraint(
        lambda s, q, qd, qdd, tau: tau[:, 0] - 2.0 * tau[:, 1],
        0.0,
        0.0,
        name="coupling",
        at=[0.25, 0.5, 0.75],
    )
    found = predict(minimum_time(also=[equal]))
    assert found.solved
    q, qd, qdd = found.at(np.array([0.25, 0.5, 0.75]) * found.duration)
    tau = kt.inverse_dynamics(found.problem.mechanism, q, qd, qdd)
    assert tau[:, 0] == pytest.approx(2.0 * tau[:, 1], abs=1e-4)


def zero_moment_points(found, share):
    """(-My, Mx) / fz of the change of momentum, which the ground and gravity cause, by differences."""
    arm, t, h = found.problem.mechanism, share * found.duration, 1e-5
    up, down = (kt.momentum(arm, *found.at(t + step)[:2]) for step in (h, -h))
    rate, weight = (up - down) / (2 * h), arm.mass * arm.gravity
    force = rate[:, :3] - weight
    moment = rate[:, 3:] - np.cross(kt.center_of_mass(arm, found.at(t)[0]), weight)
    return np.stack([-moment[:, 1], moment[:, 0]], axis=1) / force[:, 2:]


def test_an_arm_on_a_small_foot_moves_slowly_enough():
    """The zero-moment point by momentum: outside the foot if nothing forbids it, at its edge otherwise."""
    start, end = [0.0, 1.2, -0.5, 0.0, 0.5, 0.0], [1.5, 1.2, -0.5, 0.0, 0.5, 0.0]
    constraints = [*from_rest_to_rest(start, end), TorqueLimits([200, 300, 150, 20, 10, 5])]
    free = kuka(constraints=constraints, duration=(0.05, 5.0), segments=10)
    size = 0.9
    foot = [(-size, -size), (size, -size), (size, size), (-size, size)]
    share = np.linspace(0.01, 0.99, 99)
    fast = predict(free)
    assert np.abs(zero_moment_points(fast, share)).max() > 1.3 * size
    slow = predict(free.changed(constraints=[*constraints, ZeroMomentPoint(foot)]))
    assert slow.solved and slow.duration > 1.05 * fast.duration
    assert 0.97 * size < np.abs(zero_moment_points(slow, share)).max() < 1.03 * size
    assert any(bound.family == "zero-moment point" for bound in slow.active)


@pytest.mark.parametrize("solver", ["interior", "ipopt", "slsqp"])
def test_a_hand_that_begins_and_ends_on_the_ground_may_not_go_below(solver):
    """Where it stands on the ground the bound says nothing new; its multiplier must not grow endlessly."""
    arm, height = kt.zoo.two_link(gravity=(0, -9.81, 0)), float(-0.4 * np.sin(0.5))
    constraints = [
        Boundary("start", [0.0, -0.5], 0.0),
        PointPosition("link2", [0.6, height, 0], point=TIP, axes="xy"),
        Boundary("end", velocity=0.0),
        GroundClearance("link2", [TIP], height=height, normal=(0, 1, 0)),
    ]
    problem = kt.Problem(arm, objective=SquaredTorque(), constraints=constraints, duration=0.7, segments=8)
    found = predict(problem, solver=solver)
    assert found.solved and found.result.passed
    assert found.objective == pytest.approx(8.981946, rel=1e-6)
    assert np.abs(found.outcome.multipliers).max() < 10.0
    assert tip_of(found)[:, 1].min() > height - 1e-4
    assert found.iterations < (40 if solver == "slsqp" else 20)


def test_a_bound_that_equations_leave_free_is_kept():
    arm = kt.zoo.two_link(gravity=(0, -9.81, 0))
    above = GroundClearance("link2", [TIP], height=0.1, normal=(0, 1, 0))
    ends = [PointPosition("link2", [x, y, 0], point=TIP, axes="xy", at=at) for x, y, at in
            ((0.5, 0.1, "start"), (0.3, 0.25, "end"))]  # fmt: skip
    problem = kt.Problem(arm, objective=SquaredTorque(), constraints=[*ends, above], duration=0.7, segments=4)
    block = next(x for x in problem.program.blocks if x.source.family == "ground clearance")
    assert block.lower == pytest.approx([-0.9, *[0.1] * 8])
