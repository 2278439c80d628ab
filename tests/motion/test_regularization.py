"""The price on rough joint profiles: what it decides, what it leaves alone, and its derivatives."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.motion.predict import predict
from kinetree.motion.problem.phases import PhasedProblem
from kinetree.motion.problem.problem import Problem
from kinetree.motion.program.check import checked_derivatives
from kinetree.motion.search.start import random_start
from kinetree.motion.terms import (
    Boundary,
    Jerk,
    Posture,
    SquaredAcceleration,
    SquaredTorque,
    Time,
    TorqueLimits,
    Tracking,
    VelocityLimits,
)

FAR = [1.0, 0.5, -0.5, 0.3, 0.4, 0.2]


def reach(**changes):
    """A six-axis arm in least time: its first joint decides."""
    arm = kt.zoo.kuka_kr5()
    ends = [Boundary("start", np.zeros(6), 0.0), Boundary("end", FAR, 0.0)]
    limits = [TorqueLimits(100.0), VelocityLimits(3.0)]
    return Problem(arm, objective=Time(), constraints=[*ends, *limits], **changes)


def reversals(found):
    """How often each joint turns back."""
    _, qd, _ = found.at(np.linspace(0.01, 0.99, 500) * found.duration)
    return (np.diff(np.sign(qd), axis=0) != 0).sum(axis=0)


def two_link(objective, **changes):
    ends = [Boundary("start", [0.0, -2.0], 0.0), Boundary("end", [1.0, -1.0], 0.0)]
    return Problem(kt.zoo.two_link(), objective=objective, constraints=[*ends, TorqueLimits()], **changes)


def test_wrists_do_not_chatter_in_least_time():
    smooth, free = predict(reach()), predict(reach(regularization=0.0))
    assert smooth.solved
    assert free.solved
    assert reversals(smooth)[3:].sum() <= 4
    assert reversals(free)[3:].sum() > 10
    assert free.duration <= smooth.duration + 1e-9
    assert smooth.duration < 1.001 * free.duration


def test_what_the_objective_determines_is_left_alone():
    smooth, free = predict(two_link(Time())), predict(two_link(Time(), regularization=0.0))
    assert np.array_equal(smooth.x, free.x)


def test_the_stated_objective_has_no_price_in_it():
    found = predict(two_link(SquaredTorque(), duration=0.6))
    t, weights = np.polynomial.legendre.leggauss(400)
    q, qd, qdd = found.at(0.3 * (t + 1.0))
    tau = kt.inverse_dynamics(found.problem.mechanism, q, qd, qdd)
    assert found.objective == pytest.approx(0.3 * weights @ (tau**2).sum(axis=1), rel=1e-3)
    assert found.outcome.smoothing > 0.0


def test_roughness_is_the_squared_second_derivative_of_the_profiles():
    problem = reach(regularization=1e-7)
    x = random_start(problem, np.random.default_rng(4))
    z, size = problem.program.reduced(x), np.maximum(1.0, np.abs(FAR))
    s = (np.arange(200_000) + 0.5) / 200_000
    points = problem.setting.unknowns.control_points(problem.program.unknowns(z))
    positions, h = problem.basis.matrix(s) @ points, s[1] - s[0]
    bend = np.diff(positions, 2, axis=0) / h**2 / size
    assert problem.program.roughness(z) == pytest.approx((bend**2).sum() * h, rel=1e-3)


@pytest.mark.parametrize(
    "term",
    [SquaredAcceleration(), Jerk(), Posture(), Tracking(np.zeros((3, 2)))],
    ids=lambda term: type(term).__name__,
)
def test_joints_that_a_term_determines_have_no_price(term):
    assert two_link([Time(), 1e-3 * term], regularization=1e-7).program.rough == {}
    assert set(two_link([Time(), 0.0 * term], regularization=1e-7).program.rough) == {0, 1}


def test_a_term_on_one_joint_leaves_the_price_of_the_other():
    problem = two_link([Time(), SquaredAcceleration(["joint2"])], duration=0.5)
    assert set(problem.program.rough) == {0}


def chain_of_two():
    first = two_link(SquaredTorque(), duration=(0.3, 2.0), segments=5, regularization=1e-7)
    ends = [Boundary("start", [1.0, -1.0], 0.0), Boundary("end", [0.0, -2.0], 0.0)]
    return PhasedProblem([first, first.changed(constraints=[*ends, TorqueLimits()])])


@pytest.mark.parametrize(
    "problem",
    [
        two_link(Time(), segments=6, regularization=1e-7),
        two_link(SquaredTorque(), duration=0.5, segments=6),  # in blocks
        two_link(SquaredTorque(), duration=0.5, segments=6, clamped=False),
        chain_of_two(),
    ],
    ids=["free duration", "blocks", "open ends", "phases"],
)
@pytest.mark.parametrize("easing", [0.0, 0.3])
def test_derivatives_of_the_price(problem, easing):
    program = problem.program
    program.scale, program.smoothing, program.easing = 0.7, 0.1, easing
    z = np.random.default_rng(5).uniform(0.5, 1.0, program.n)
    assert checked_derivatives(program, z).passed
    y = np.zeros(program.m)
    H = np.zeros((program.n, program.n))
    H[program.hessian_rows, program.hessian_columns] = program.hessian(z, 2.0, y)
    assert np.allclose(np.tril(program.whole_hessian(z, 2.0, y)), H, atol=1e-9 * np.abs(H).max())


def test_a_price_that_would_decide_is_lowered():
    """A motion whose best cost is nearly nothing beside that of the straight one."""
    swing = kt.Builder("pendulum", gravity=(0, -9.81, 0))
    swing.world.revolute("joint").body("rod", kt.Inertia.rod(1.0, end=(1.0, 0, 0)))
    ends = [Boundary("start", [-np.pi / 2], 0.0), Boundary("end", [-np.pi / 2], 0.0)]
    problem = Problem(swing.build(), objective=SquaredTorque(), constraints=ends, duration=2.0)
    found = predict(problem.changed(regularization=1e3), start=(np.linspace(0, 2, 9), np.ones((9, 1))))
    assert found.solved
    assert found.objective < 1e-9


@pytest.mark.parametrize("wrong", [-1e-7, float("nan"), float("inf"), "much"])
def test_bad_prices_are_refused(wrong):
    with pytest.raises(InputError, match="regularization"):
        two_link(Time(), regularization=wrong)


def test_a_large_price_is_named():
    found = predict(two_link(SquaredTorque(), duration=0.6, regularization=1e-3))
    assert any("regularization=1e-04" in line for line in found.explanation.advice)
    assert not any("regularization" in line for line in predict(two_link(Time())).explanation.advice)
