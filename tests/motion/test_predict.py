"""Predicted motions: closed forms, the documents' problems, reference data, and what happens on the way."""

import json
import signal
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.predict import predict
from kinetree.motion.problem.problem import Problem
from kinetree.motion.refinement import events, refine, tighten
from kinetree.motion.terms import (
    Boundary,
    CustomConstraint,
    CustomObjective,
    JointLimits,
    KeepOut,
    PointPosition,
    ReactionLimit,
    SquaredTorque,
    Time,
    TorqueLimits,
    TorqueRateLimits,
    VelocityLimits,
)
from motion.problems import from_rest_to_rest, frozen_elbow, kuka, lifting, minimum_time, prismatic

SOLVERS = ("interior", "ipopt", "slsqp")
REFERENCE = Path(__file__).parents[1] / "data" / "reference"
TRUE_TIME = 0.391854540  # of the minimum-time problem, by shooting


def disc(inertia=2.0):
    """One body that turns, without gravity."""
    build = kt.Builder("disc", gravity=(0, 0, 0))
    build.world.revolute("turn").body("wheel", kt.Inertia(0.0, (0, 0, 0), np.diag([inertia] * 3)))
    return build.build()


def test_least_effort_of_a_disc_is_the_cubic():
    """min integral tau^2, rest to rest in T: tau = 6 I dq (1 - 2 s) / T^2, integral 12 I^2 dq^2 / T^3."""
    ends = from_rest_to_rest([0.0], [1.5])
    found = predict(Problem(disc(), objective=SquaredTorque(), constraints=ends, duration=0.8, segments=4))
    assert found.solved
    assert found.objective == pytest.approx(12 * 2.0**2 * 1.5**2 / 0.8**3, rel=1e-9)
    assert np.allclose(found.tau[:, 0], 6 * 2.0 * 1.5 * (1 - 2 * found.s) / 0.8**2, atol=1e-7)


def test_least_time_of_a_disc_is_bang_bang():
    """T = 2 sqrt(I dq / tau)."""
    problem = Problem(
        disc(), objective=Time(), constraints=[*from_rest_to_rest([0.0], [1.5]), TorqueLimits(4.0)]
    )
    best = 2 * np.sqrt(2.0 * 1.5 / 4.0)
    coarse = predict(problem)
    fine = refine(coarse)
    assert best < coarse.duration < 1.003 * best
    assert fine.duration == pytest.approx(best, rel=1e-7)
    assert [event.s for event in events(fine)] == pytest.approx([0.5], abs=1e-5)


def test_the_documents_problems_with_twenty_segments():
    """T = 0.3931 and 0.5192 ([Xiang2009]: 0.3934 and 0.520); the arm that slides has J = 0.853063."""
    time, load, slide = predict(minimum_time()), predict(lifting()), predict(prismatic(np.pi / 2))
    assert time.duration == pytest.approx(0.3931, abs=6e-4)
    assert load.duration == pytest.approx(0.5192, abs=1e-3)
    assert load.objective == pytest.approx(0.844951, abs=1e-5)
    assert slide.duration == pytest.approx(0.64626, abs=1e-4)
    assert slide.objective == pytest.approx(0.853063, abs=1e-5)
    assert all(x.solved and x.violation_at_samples < 1e-5 for x in (time, load, slide))


def test_other_readings_of_the_sliding_arm():
    """[Barman2020], section 4.2: none of them gives the document's 0.5585 s."""
    for theta2, duration in ((0.0, 0.585784), (np.pi, 0.712695), (-np.pi / 2, 0.658001)):
        assert predict(prismatic(theta2)).duration == pytest.approx(duration, abs=1e-5)


def test_transcriptions_of_the_reference_agree():
    cases = json.loads((REFERENCE / "optimal_control.json").read_text(encoding="utf-8"))["cases"]
    by_name = {case["name"]: case for case in cases}
    time, load = refine(predict(minimum_time())), refine(predict(lifting()))
    assert time.duration == pytest.approx(by_name["rr_time_optimal"]["T_transcription"], abs=1e-4)
    assert load.objective == pytest.approx(by_name["rr_mixed_load"]["J_transcription"], abs=1e-5)


def test_refined_motions_reach_the_true_optimum_and_switch_in_time():
    found = refine(predict(minimum_time()))
    assert TRUE_TIME - 1e-7 < found.duration < 0.39190
    switches = [(event.label, event.s * found.duration) for event in events(found) if event.switch]
    assert [label for label, _ in switches] == ["joint2", "joint1", "joint2"]
    assert [t for _, t in switches] == pytest.approx([0.0457093, 0.1959273, 0.2353004], abs=1e-4)
    assert found.max_violation < 1e-4
    assert refine(predict(lifting())).objective == pytest.approx(0.844878, abs=1e-5)
    assert refine(predict(prismatic(np.pi / 2))).objective == pytest.approx(0.853063, abs=1e-5)


def test_six_axis_arm_of_the_reference():
    case = json.loads((REFERENCE / "kuka_mintime.json").read_text(encoding="utf-8"))
    found = predict(kuka())
    assert found.duration == pytest.approx(case["solution"]["T"], abs=5e-4)
    assert found.violation_at_samples < 1e-5
    tight = tighten(found)
    assert tight.max_violation < 1e-4 < found.max_violation
    assert found.duration < tight.duration < 1.01 * found.duration


@pytest.mark.parametrize("make", [minimum_time, lifting, lambda: prismatic(np.pi / 2)], ids=["1", "2", "3"])
def test_all_random_starts_find_the_same_motion(make):
    found = predict(make(), starts=21, seed=7)
    values = np.array([trial.objective for trial in found.trials])
    assert len(values) == 21
    assert np.ptp(values) < 1e-6 * values.min()


@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_agree(solver):
    found = predict(lifting(segments=8), solver=solver)
    assert found.solved, found
    assert found.objective == pytest.approx(predict(lifting(segments=8), tolerance=1e-8).objective, rel=1e-5)
    assert found.outcome.solver == solver


@pytest.mark.parametrize("solver", SOLVERS)
def test_shadow_prices_add_up(solver):
    """Without gravity time goes with torque^-1/2, so all prices of torque together are -T / (2 tau)."""
    found = predict(minimum_time(segments=8), solver=solver)
    assert sum(bound.price for bound in found.active) == pytest.approx(-found.duration / 20, rel=1e-3)


def test_a_shadow_price_is_the_change_that_a_looser_bound_brings():
    limits = {"joint1": 10.0, "joint2": 10.0}

    def solved(upper):
        ends = from_rest_to_rest([0.0, -2.0], [1.0, -1.0])
        constraints = [*ends, TorqueLimits(upper=upper, lower={"joint1": -10.0, "joint2": -10.0})]
        return predict(Problem(kt.zoo.two_link(), objective=Time(), constraints=constraints), tolerance=1e-8)

    found = solved(limits)
    (price,) = (b.price for b in found.active if b.label == "joint1" and b.side == "upper")
    changed = solved({**limits, "joint1": 10.1})
    assert (changed.duration - found.duration) / 0.1 == pytest.approx(price, rel=0.05)


def test_clamped_or_not_is_the_same_motion():
    a, b = predict(minimum_time()), predict(minimum_time(clamped=False))
    assert a.duration == pytest.approx(b.duration, rel=1e-5)


def test_a_limited_joint_reaction_costs_time():
    free = predict(minimum_time())

    def largest(motion):
        reaction = kt.joint_reactions(motion.problem.mechanism, motion.q, motion.qd, motion.qdd)
        return np.linalg.norm(reaction[:, 0, :3], axis=1).max()

    limit = 0.5 * largest(free)
    held = predict(minimum_time(also=[ReactionLimit("link1", limit)]))
    assert held.solved
    assert largest(held) == pytest.approx(limit, rel=0.02)
    assert held.duration > 1.005 * free.duration
    assert any(b.family == "joint reaction limit" and b.price < 0 for b in held.active)


def test_a_load_that_moves_with_time_is_felt():
    def pushed(s):
        return [kt.Wrench("link2", np.stack([0 * s, -20 * s, 0 * s], axis=1), point=(0.4, 0, 0))]

    found = predict(minimum_time(loads=pushed))
    load = kt.Wrench("link2", np.stack([0 * found.s, -20 * found.s, 0 * found.s], axis=1), point=(0.4, 0, 0))
    expected = kt.inverse_dynamics(found.problem.mechanism, found.q, found.qd, found.qdd, load)
    assert np.allclose(found.tau, expected, atol=1e-9)
    assert np.abs(found.tau).max() < 10.1


def test_frozen_joints_and_torque_rates():
    problem = frozen_elbow(also=[TorqueRateLimits(200.0)])
    found = predict(problem)
    assert found.solved
    assert (found.q[:, 1] == -1.0).all()
    grid = problem.setting.samples
    _, _, qdd = found.at(grid * found.duration)
    q, qd, _ = found.at(grid * found.duration)
    tau = kt.inverse_dynamics(problem.mechanism, q, qd, qdd)
    rate = np.diff(tau, axis=0) / np.diff(grid * found.duration)[:, None]
    assert np.abs(rate).max() == pytest.approx(200.0, rel=1e-3)


def test_the_hand_goes_around_a_sphere():
    arm, tip = kt.zoo.two_link(), (0.4, 0.0, 0.0)
    ends = from_rest_to_rest([0.0, 0.5], [1.5, 0.5])
    free = predict(Problem(arm, objective=SquaredTorque(), constraints=ends, duration=1.0))
    R, p = kt.forward_kinematics(arm, free.q[len(free.q) // 2])["link2"]
    center = 0.95 * (p + R @ tip)  # a little inside the way
    around = KeepOut("link2", center, 0.12, points=[tip])
    held = predict(
        Problem(arm, objective=SquaredTorque(), constraints=[*ends, around], duration=1.0, samples=4)
    )
    R, p = kt.forward_kinematics(arm, held.q)["link2"]
    distance = np.linalg.norm(p + R @ tip - center, axis=1)
    assert held.solved
    assert distance.min() == pytest.approx(0.12, abs=2e-3)
    assert held.objective > free.objective


def test_the_hand_reaches_a_point():
    arm = kt.zoo.two_link()
    constraints = [
        Boundary("start", [0.2, 0.8], 0.0),
        Boundary("end", velocity=0.0),
        PointPosition("link2", [0.1, 0.6, 0.0], point=(0.4, 0, 0), axes="xy"),
    ]
    found = predict(Problem(arm, objective=SquaredTorque(), constraints=constraints, duration=1.0))
    R, p = kt.forward_kinematics(arm, found.q[-1])["link2"]
    assert found.solved
    assert (p + R @ [0.4, 0, 0])[:2] == pytest.approx([0.1, 0.6], abs=1e-6)


# ---- when it does not work out -----------------------------------------------------------------------
def test_ctrl_c_keeps_the_best_iterate():
    before = signal.getsignal(signal.SIGINT)  # a shell may have it ignored where it starts work behind it
    for solver in SOLVERS:
        sent = []

        def interrupt(step, sent=sent):
            if step.iteration == 3 and not sent:
                sent.append(step)
                signal.raise_signal(signal.SIGINT)

        found = predict(minimum_time(), solver=solver, progress=interrupt)
        assert "Interrupted" in found.status
        assert found.iterations <= 6
        assert np.isfinite(found.objective)
        assert found.exit_code == 4
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("solver", SOLVERS)
def test_progress_counts_up(solver):
    seen = []
    predict(minimum_time(segments=6), solver=solver, progress=seen.append)
    steps = [step.iteration for step in seen]
    assert len(steps) > 2
    assert steps == sorted(steps)
    assert seen[-1].infeasibility < 1e-4


def test_limits_of_time_and_iterations():
    assert "iteration limit" in predict(minimum_time(), solver="ipopt", max_iterations=3).status
    assert "time limit" in predict(kuka(), solver="ipopt", time_limit=1e-4).status


@pytest.mark.parametrize("solver", ["interior", "ipopt"])
def test_a_warm_start_is_short(solver):
    problem = kuka()
    first = predict(problem, solver=solver)
    prices = [bound.price for bound in first.active]
    again = predict(problem, solver=solver, start=first)
    assert again.duration == pytest.approx(first.duration, rel=1e-4)
    assert again.iterations < first.iterations
    assert [bound.price for bound in again.active][:3] == pytest.approx(prices[:3], rel=0.02)


def test_starts_from_a_motion_and_from_another_mesh():
    coarse = predict(minimum_time(segments=10))
    fine = predict(minimum_time(), start=coarse)
    given = predict(minimum_time(), start=(coarse.t, coarse.q))
    assert fine.duration == pytest.approx(given.duration, rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"solver": "knitro"}, kt.errors.InputError, "unknown solver 'knitro'"),
        ({"solver": "ipopt", "options": {"tol": 1.0}}, kt.errors.InputError, "unknown option 'tol'"),
        (
            {"solver": "ipopt", "options": {"mu_strategy": "bold"}},
            kt.errors.InputError,
            "one of monotone, adaptive",
        ),
        ({"solver": "ipopt", "options": {"max_soc": 1.5}}, kt.errors.InputError, "of kind int"),
        ({"solver": "ipopt", "options": {"max_soc": True}}, kt.errors.InputError, "of kind int"),
        ({"solver": "ipopt", "options": {"mu_init": np.nan}}, kt.errors.InputError, "at least 0, got nan"),
        ({"solver": "interior", "options": {"corrections": -3}}, kt.errors.InputError, "at least 0, got -3"),
        ({"solver": "interior", "options": {"first_barrier": 1.0}}, kt.errors.InputError, "unknown option"),
        ({"solver": "interior", "options": 3}, kt.errors.InputError, "options map names to values, got 3"),
        (
            {"options": {"corrections": 2}},
            kt.errors.InputError,
            "need a named solver: solver='interior' takes 'corrections'",
        ),
        ({"options": {"tol": 2}}, kt.errors.InputError, "need a named solver: none takes 'tol'"),
        (
            {"solver": "uno"},
            kt.errors.InputError,
            "unknown solver 'uno'; allowed: auto, interior, ipopt, slsqp",
        ),
        ({"starts": 0}, kt.errors.InputError, "at least 1, got 0"),
        ({"tolerance": -1.0}, kt.errors.InputError, "between 0 and 0.1"),
        ({"tolerance": np.nan}, kt.errors.InputError, "finite"),
        ({"max_iterations": 0}, kt.errors.InputError, "at least 1"),
        ({"time_limit": 0.0}, kt.errors.InputError, "positive"),
        ({"start": 3.0}, kt.errors.InputError, "earlier prediction"),
        ({"start": ([0.0, 1.0], [[0.0, 0.0]])}, kt.errors.InputError, "ascending times"),
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        predict(minimum_time(segments=4), **arguments)


def test_functions_that_give_no_numbers_are_named():
    def nothing(s, q, qd, qdd, tau):
        return np.full(len(s), np.nan)

    with pytest.raises(kt.errors.InputError, match="objective is not a number"):
        predict(minimum_time(objective=CustomObjective(nothing)))
    with pytest.raises(kt.errors.InputError, match="own constraint: not a number"):
        predict(minimum_time(also=[CustomConstraint(nothing, 0.0, 1.0)]))


def test_what_is_no_problem_or_no_start_is_named():
    with pytest.raises(kt.errors.InputError, match="needs a Problem, got None"):
        predict(None)
    with pytest.raises(kt.errors.InputError, match="must move the joints joint1, joint2, not joint1"):
        predict(minimum_time(), start=predict(kuka(segments=8)))


def test_a_solver_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr("kinetree.motion.solvers.ipopt.library_path", lambda: None)
    with pytest.raises(kt.errors.MissingExtraError, match=r"casadi.*\[predict\]"):
        predict(minimum_time(segments=4), solver="ipopt")
    assert predict(minimum_time(segments=4)).outcome.solver == "interior"


def test_options_reach_the_solver():
    found = predict(minimum_time(), solver="ipopt", options={"mu_strategy": "adaptive", "max_soc": 2})
    assert found.solved


def test_torques_and_objective_are_recomputed():
    found = predict(lifting())
    load = kt.Wrench("link2", force=(0, -10, 0), point=(0.4, 0, 0))
    tau = kt.inverse_dynamics(found.problem.mechanism, found.q, found.qd, found.qdd, load)
    assert np.allclose(found.tau, tau, atol=1e-9)
    t, power = found.t, 0.99 + 0.01 * (tau**2).sum(axis=1)
    area = (np.diff(t) * (power[1:] + power[:-1])).sum() / 2
    assert found.objective == pytest.approx(area, rel=1e-4)


def test_forces_have_their_own_unit():
    ends = from_rest_to_rest([0.1, 0.6], [0.8, -0.8])
    found = predict(prismatic(np.pi / 2, constraints=[*ends, TorqueLimits({"joint1": 4.0, "joint2": 1.5})]))
    assert {(bound.label, bound.unit) for bound in found.active} == {("joint1", "N"), ("joint2", "N m")}


def test_joint_and_velocity_limits_hold():
    limits = [JointLimits(lower={"joint2": -2.2}), VelocityLimits(6.0)]
    found = predict(minimum_time(also=limits))
    assert {"joint limit", "torque limit"} <= {bound.family for bound in found.active}
    assert found.solved
    assert found.q[:, 1].min() > -2.2 - 1e-3
    assert np.abs(found.qd).max() < 6.0 * 1.01
    assert found.duration > predict(minimum_time()).duration
