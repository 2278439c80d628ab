"""Moments in joints that depend on the motion: derivatives, what is left for drives, simulation, results."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.terms import (
    Boundary,
    HumanPassive,
    JointMoments,
    JointSprings,
    SquaredTorque,
    TorqueLimits,
    TorqueRate,
)

ARM = kt.zoo.kuka_kr5()


class Law:
    """Moments of two joints by both positions and velocities, with all derivatives."""

    names = ("joint2", "joint3")

    def moments(self, q, qd):
        (a, b), (v, w) = q.T, qd.T
        return np.stack([30 * np.sin(a + 2 * b) - 4 * v * w, -5 * w**2 * np.cos(a) + 2 * v], axis=1)

    def slopes(self, q, qd):
        (a, b), (v, w) = q.T, qd.T
        c = 30 * np.cos(a + 2 * b)
        by_q = [[c, 2 * c], [5 * w**2 * np.sin(a), 0 * a]]
        by_qd = [[-4 * w, -4 * v], [2 + 0 * v, -10 * w * np.cos(a)]]
        return np.array([by_q, by_qd]).transpose(3, 0, 1, 2)

    def bends(self, q, qd, weight):
        (a, b), (_, w), (x, y) = q.T, qd.T, weight.T
        s, zero = -30 * x * np.sin(a + 2 * b), 0 * a
        twice = [[s + 5 * y * w**2 * np.cos(a), 2 * s], [2 * s, 4 * s]]
        both = [[zero, 10 * y * w * np.sin(a)], [zero, zero]]
        rates = [[zero, -4 * x], [-4 * x, -10 * y * np.cos(a)]]
        return np.array([twice, both, rates]).transpose(3, 0, 1, 2)


class Own(JointMoments):
    def law(self, setting):
        return Law()


def arm(*terms, **changes):
    given = {"segments": 3, "duration": (0.1, 5.0), "objective": SquaredTorque(), **changes}
    return kt.Problem(ARM, constraints=[TorqueLimits(100.0), *terms], **given)


@pytest.mark.parametrize("frozen", [None, {"joint3": 0.4}], ids=["all", "one frozen"])
@pytest.mark.parametrize("duration", [(0.1, 5.0), 0.8], ids=["free", "fixed"])
def test_derivatives_of_a_law_of_positions_and_velocities(duration, frozen):
    check = arm(Own(), duration=duration, frozen=frozen).check_derivatives()
    assert check.passed, str(check)
    assert max(check.gradient, check.hessian, *check.jacobian.values()) < 1e-6, str(check)


def test_derivatives_of_passive_moments():
    person = kt.zoo.human().frozen(kt.human.FROZEN_WHILE_WALKING).fused()
    legs = list(kt.human.passive_moments().names)
    still = {name: 0.0 for name in person.joint_names if name not in legs}
    problem = kt.Problem(
        person,
        objective=TorqueRate(legs, limits=50.0),
        constraints=[HumanPassive(), TorqueLimits(100.0, joints=legs)],
        segments=3,
        duration=0.8,
        frozen=still,
        limits="none",
    )
    check = problem.check_derivatives()
    assert check.passed, str(check)
    assert max(check.gradient, check.hessian, *check.jacobian.values()) < 1e-6, str(check)


def test_torques_are_what_is_left_for_drives(rng):
    problem = arm(Own(), JointSprings(30.0, {"joint2": 0.3}, ["joint2", "joint4"]), duration=0.8)
    x = problem.program.unknowns(rng.standard_normal(problem.program.n))
    at = problem.evaluation(np.linspace(0, 1, 9), x)
    q, qd, qdd = at.motion[:3]
    moments = np.zeros_like(q)
    moments[:, 1:3] = Law().moments(q[:, 1:3], qd[:, 1:3])
    moments[:, [1, 3]] -= 30.0 * (q[:, [1, 3]] - [0.3, 0.0])
    assert np.allclose(at.in_joints, moments)
    assert np.allclose(at.tau, kt.inverse_dynamics(ARM, q, qd, qdd) - moments)


@pytest.mark.parametrize("term", [JointSprings(8.0, 0.5), None], ids=["springs", "own law"])
def test_a_simulation_follows_and_results_show_both_parts(term):
    arm2 = kt.zoo.two_link()
    if term is None:

        class Damped(JointMoments):
            def law(self, setting):
                found = Law()
                found.names = arm2.joint_names
                return found

        term = Damped()
    ends = [Boundary("start", [0, 0], 0.0), Boundary("end", [1, 1], 0.0)]
    given = {"objective": SquaredTorque(), "duration": 1.0}
    problem = kt.Problem(arm2, constraints=[*ends, term], **given)
    found = kt.predict(problem)
    assert found.check_by_simulation().largest < 1e-6
    result = found.to_result()
    total = kt.inverse_dynamics(arm2, found.q, found.qd, found.qdd)
    assert np.abs(result.tau_passive.values).max() > 1.0
    assert np.allclose(result.tau.values + result.tau_passive.values, total)
    without = kt.predict(kt.Problem(arm2, constraints=ends, **given))
    assert not without.tau_passive.any() and "tau_passive" not in without.to_result().dataset


def test_phases_show_moments_in_joints():
    arm2 = kt.zoo.two_link()
    ends = [[Boundary("start", [0, 0], 0.0)], [Boundary("end", [1, 1], 0.0)]]
    parts = [
        kt.Problem(arm2, objective=SquaredTorque(), constraints=x, duration=0.5, segments=4) for x in ends
    ]
    parts[1] = parts[1].changed(constraints=[*ends[1], JointSprings(8.0)])
    found = kt.motion.predict_phases(kt.motion.PhasedProblem(parts)).to_result()
    first = found.phase.values == 1
    assert not found.tau_passive.values[first].any() and found.tau_passive.values[~first].any()


def test_unknown_joints_are_named():
    with pytest.raises(kt.errors.InputError, match=r"passive moments: unknown joint 'left_hip\.flexion'"):
        arm(HumanPassive())
    with pytest.raises(kt.errors.InputError, match="unknown side"):
        HumanPassive(sides="up")
