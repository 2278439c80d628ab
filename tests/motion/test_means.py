"""Means over a motion of free duration, rates of torques among them, and places that travel with it."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.terms import (
    Boundary,
    Effort,
    PointPosition,
    SquaredAcceleration,
    SquaredTorque,
    Time,
    TorqueRate,
)

ARM = kt.zoo.two_link()
ENDS = [Boundary("start", [0.3, -1.2], 0.0), Boundary("end", [0.9, -0.4], 0.0)]
RATES = TorqueRate(limits=10.0)


def problem(objective, **others):
    return kt.Problem(
        ARM, objective=objective, constraints=others.pop("constraints", ENDS), segments=6,
        duration=others.pop("duration", (0.4, 2.0)),
    )  # fmt: skip


@pytest.mark.parametrize(
    "objective",
    [
        [RATES],
        [RATES.mean()],
        [TorqueRate(limits=10.0, periodic=True).mean(), Effort(2.5, limits=10.0)],
        [0.3 * Effort(2.5, limits=10.0).mean(), 0.1 * Time(), SquaredTorque(), SquaredAcceleration().mean()],
    ],
)
def test_derivatives_by_the_duration_are_exact(objective):
    check = problem(objective).check_derivatives()
    assert check.passed, str(check)


def test_a_mean_is_the_integral_over_the_duration():
    """For a given duration both have the same motion, and values differ by that factor."""
    integral, mean = (
        kt.predict(problem([x, y], duration=0.8), progress=False)
        for x, y in ((SquaredTorque(), 0.1 * RATES), (SquaredTorque().mean(), 0.1 * RATES.mean()))
    )
    assert integral.solved and mean.solved
    assert mean.objective == pytest.approx(integral.objective / 0.8, rel=1e-6)
    assert np.abs(mean.q - integral.q).max() < 1e-4


def test_a_free_duration_is_where_given_durations_cost_least():
    cost = [0.05 * Time(), RATES.mean(), 1e-4 * SquaredTorque().mean()]
    free = kt.predict(problem(cost), progress=False)
    assert free.solved and 0.41 < free.duration < 1.99
    costs = {}
    for T in (free.duration - 0.02, free.duration, free.duration + 0.02):
        costs[T] = kt.predict(problem(cost, duration=T), progress=False).objective
    assert min(costs, key=costs.get) == free.duration
    assert costs[free.duration] == pytest.approx(free.objective, rel=1e-6)


def test_a_place_travels_with_the_duration():
    body, tip = ARM.body_names[-1], (0.2, 0.0, 0.0)
    reach = kt.forward_kinematics(ARM, [0.9, -0.4])[body]
    there = reach[1] + reach[0] @ tip
    speed = np.array([0.1, 0.0, 0.0])
    ends = [
        ENDS[0],
        PointPosition(body, there - 0.9 * speed, point=tip, axes="x", travel=speed, at="end"),
        Boundary("end", velocity=0.0),
    ]
    asked = problem([0.2 * Time(), SquaredTorque()], constraints=ends)
    check = asked.check_derivatives()
    assert check.passed, str(check)
    found = kt.predict(asked, progress=False)
    R, p = kt.forward_kinematics(ARM, found.q[-1])[body]
    assert found.solved and (p + R @ tip)[0] == pytest.approx(
        there[0] + (found.duration - 0.9) * 0.1, abs=1e-6
    )


def test_the_mean_of_time_is_refused():
    with pytest.raises(kt.KinetreeError, match="the mean of time over a motion is 1"):
        Time().mean()
