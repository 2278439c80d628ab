"""The same optimum whatever units, weights, durations and starts are; what is called solved is solved."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.outcome.optimality import optimality
from kinetree.motion.predict import predict
from kinetree.motion.problem.problem import Problem
from kinetree.motion.search.start import slowed, straight_line
from kinetree.motion.solvers import choice
from kinetree.motion.solvers.interface import Outcome, Status
from kinetree.motion.solvers.interior import InteriorPoint
from kinetree.motion.solvers.threads import libraries, one_thread, set_threads
from kinetree.motion.terms import (
    Boundary,
    CustomConstraint,
    Jerk,
    SquaredTorque,
    Time,
    TorqueLimits,
    TorqueRateLimits,
)
from motion.problems import from_rest_to_rest, minimum_time

QUICK = ("interior", "ipopt")
HEAVY = kt.zoo.two_link(gravity=(0, -9.81, 0))
ENDS = from_rest_to_rest([0.0, -2.0], [1.0, -1.0])


def unlimited(weight=1.0, **changes):
    """Nothing but the objective says how long the motion takes."""
    arguments = {"objective": [weight * Time(), 0.01 * weight * SquaredTorque()], "constraints": ENDS}
    return Problem(HEAVY, **{**arguments, **changes})


def rods(length):
    """Two equal rods of 1 kg, under gravity."""
    build = kt.Builder("rods", gravity=(0, -9.81, 0))
    rod = kt.Inertia.rod(1.0, end=(0.4 * length, 0, 0))
    upper = build.world.revolute("joint1").body("link1", rod)
    upper.revolute("joint2", at=(0.4 * length, 0, 0)).body("link2", rod)
    return build.build()


def slider():
    """A mass on a frictionless rail, without gravity."""
    build = kt.Builder("slider", gravity=(0, 0, 0))
    build.world.prismatic("x", axis="x").body("mass", kt.Inertia(2.0, (0, 0, 0), np.eye(3)))
    return build.build()


@pytest.fixture(scope="module")
def truth():
    return predict(unlimited(), tolerance=1e-9)


@pytest.mark.parametrize("unit", [1e-6, 1e3, 1e9])
def test_the_unit_of_a_function_of_ones_own_does_not_matter(unit):
    """Torque limits in micro, kilo and giga: the same motion, the same limits reached, the same price."""
    own = CustomConstraint(lambda s, q, qd, qdd, tau: unit * tau, [-10 * unit] * 2, [10 * unit] * 2)
    found, expected = predict(minimum_time(constraints=[*ENDS, own])), predict(minimum_time())
    assert found.solved
    assert found.duration == pytest.approx(expected.duration, rel=1e-9)
    assert [a.share for a in found.active] == [a.share for a in expected.active]
    prices = [a.price * unit for a in found.active]
    assert prices == pytest.approx([a.price for a in expected.active], rel=1e-5)
    assert "10 N m" in str(expected.active[0]) and "  " not in str(found.active[0])


@pytest.mark.parametrize("solver", [*QUICK, "slsqp"])
def test_free_duration_without_limits(solver, truth):
    problem = unlimited(segments=20 if solver != "slsqp" else 6).changed(limits="none")
    found = predict(problem, solver=solver)
    assert found.solved and found.result.passed, found
    if solver != "slsqp":
        assert found.objective == pytest.approx(truth.objective, rel=1e-6)
        assert found.duration == pytest.approx(truth.duration, rel=1e-3)
    else:
        assert found.objective == pytest.approx(predict(unlimited(segments=6)).objective, rel=1e-6)


@pytest.mark.parametrize("solver", QUICK)
@pytest.mark.parametrize("duration", [0.004, 0.03, 20.0, 300.0])
def test_a_start_that_is_far_too_fast_or_slow(solver, duration, truth):
    """The objective at the start is up to 1e7 times that of the best motion, which is another scale."""
    t = np.linspace(0.0, duration, 50)
    start = t, np.outer(1.0 - t / duration, [0.0, -2.0]) + np.outer(t / duration, [1.0, -1.0])
    found = predict(unlimited(), solver=solver, start=start)
    assert found.solved, found
    gap = optimality(found.problem.program, found.outcome)
    assert gap.holds(1e-6)
    if duration < 100.0:  # slower ones may end in another valley, where the arm hangs down in between
        assert found.objective == pytest.approx(truth.objective, rel=1e-5)


def test_the_first_duration_suits_the_objective():
    problem = unlimited()
    unknowns, line = problem.setting.unknowns, straight_line(problem)
    assert 0.25 <= unknowns.duration_of(line) <= 1.0
    points = unknowns.control_points(line)
    slow = problem.changed(objective=[Time(), 1e4 * SquaredTorque()])
    assert unknowns.duration_of(slowed(slow, points)) > 1.0
    assert unknowns.duration_of(straight_line(minimum_time())) == 2.0  # the shortest that keeps the limits


@pytest.mark.parametrize("solver", QUICK)
@pytest.mark.parametrize("weight", [1e-6, 1e-3, 1e3, 1e6])
def test_a_factor_of_the_objective_changes_nothing_else(solver, weight, truth):
    for limits in ([], [TorqueLimits(20.0)]):
        found = predict(unlimited(weight, constraints=[*ENDS, *limits]), solver=solver)
        assert found.solved
        assert found.objective == pytest.approx(weight * truth.objective, rel=1e-5)


@pytest.mark.parametrize("share", [1e-6, 1e-3, 1.0, 1e3])
def test_solvers_agree_about_any_mixture(share):
    problem = unlimited(objective=[Time(), share * SquaredTorque()])
    values = [predict(problem, solver=solver).objective for solver in QUICK]
    assert np.ptp(values) < 1e-6 * min(values)


@pytest.mark.parametrize("solver", QUICK)
@pytest.mark.parametrize("length", [1e-3, 1.0, 1e3])
def test_the_size_of_a_mechanism_is_the_square_of_its_time(solver, length):
    """Under the same gravity, with torques in proportion to length, T goes with length^1/2."""
    problem = Problem(
        rods(length),
        objective=[Time(), 0.01 * length**-2 * SquaredTorque()],
        constraints=[*ENDS, TorqueLimits(20.0 * length)],
    )
    found = predict(problem, solver=solver)
    assert found.solved and found.result.passed
    assert found.objective == pytest.approx(0.59968107 * np.sqrt(length), rel=1e-5)


@pytest.mark.parametrize("solver", QUICK)
@pytest.mark.parametrize("length", [1e-3, 1.0, 1e3])
def test_a_slider_over_any_distance(solver, length):
    """Bang-bang: T = 2 (m d / F)^1/2."""
    problem = Problem(
        slider(),
        objective=Time(),
        constraints=[*from_rest_to_rest([0.0], [length]), TorqueLimits(8.0)],
        duration=(1e-4, 1e4),
    )
    found = predict(problem, solver=solver)
    best = 2.0 * np.sqrt(2.0 * length / 8.0)
    assert found.solved and best < found.duration < 1.003 * best
    assert found.iterations < 60


@pytest.mark.parametrize("duration", [0.01, 0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("solver", [*QUICK, "slsqp"])
def test_least_effort_and_jerk_in_any_duration(solver, duration):
    """12 m^2 d^2 / T^3, and 720 d^2 / T^5 if it begins and ends without acceleration."""
    ends = from_rest_to_rest([0.0], [1.5])
    common = {"constraints": ends, "duration": duration, "segments": 4}
    effort = predict(Problem(slider(), objective=SquaredTorque(), **common), solver=solver)
    assert effort.solved and effort.objective == pytest.approx(12 * 4.0 * 2.25 / duration**3, rel=1e-6)
    still = [Boundary(at, acceleration=0.0) for at in ("start", "end")]
    smooth = Problem(slider(), objective=Jerk(), **{**common, "constraints": [*ends, *still], "degree": 5})
    found = predict(smooth, solver=solver)
    assert found.solved and found.objective == pytest.approx(720 * 2.25 / duration**5, rel=1e-6)


class Boaster(InteriorPoint):
    """Says that it is done where it begins, for the first ``lies`` times."""

    def __init__(self, lies):
        self.lies = lies

    def solve(self, program, start, settings, watch):
        if not self.lies:
            return super().solve(program, start, settings, watch)
        self.lies -= 1
        none = np.zeros(program.n)
        return Outcome(start.z, np.zeros(program.m), (none, none), Status.SOLVED, 0, "done", self.name)


def test_what_only_the_solver_believes_is_not_solved(monkeypatch):
    monkeypatch.setitem(choice.SOLVERS, "interior", Boaster(100))
    found = predict(unlimited(), solver="interior")
    assert not found.solved and found.exit_code == 3
    assert found.status.startswith("Not solved: ") and str(found).startswith(found.status)
    assert "start=prediction" in found.explanation.advice[-1]
    assert not found.result.audit["solved"].passed and not found.result.passed


@pytest.mark.parametrize("lies", [1, 2])
def test_it_goes_on_from_where_a_solver_stopped_too_early(monkeypatch, lies, truth):
    monkeypatch.setitem(choice.SOLVERS, "interior", Boaster(lies))
    found = predict(unlimited(), solver="interior")
    assert found.solved and found.objective == pytest.approx(truth.objective, rel=1e-6)


def test_another_solver_goes_on_if_one_only_believes(monkeypatch, truth):
    monkeypatch.setitem(choice.SOLVERS, "interior", Boaster(100))
    found = predict(unlimited())
    assert found.solved and found.outcome.solver == "ipopt"
    assert found.objective == pytest.approx(truth.objective, rel=1e-6)


def test_wrong_multipliers_and_other_motions_are_not_optimal():
    found = predict(minimum_time(segments=8))
    program, outcome = found.problem.program, found.outcome
    assert optimality(program, outcome).holds(1e-6)
    assert not optimality(program, replace(outcome, multipliers=0.9 * outcome.multipliers)).holds(1e-6)
    assert not optimality(program, replace(outcome, z=1.001 * outcome.z)).holds(1e-6)


@pytest.mark.parametrize("solver", [*QUICK, "slsqp"])
def test_a_duration_at_its_bound_is_told_and_proven(solver):
    problem = Problem(kt.zoo.two_link(), objective=Time(), constraints=ENDS, duration=(0.7, 3.0), segments=6)
    problem = problem.changed(limits="none")
    found = predict(problem, solver=solver)
    assert found.solved and found.result.passed
    assert found.outcome.bound_multipliers[0][-1] > 0.0
    assert found.explanation.active[0] == "duration: lower bound 0.7 s reached"
    endless = predict(Problem(HEAVY, objective=Jerk(), constraints=ENDS))
    assert "no duration was given, and no term asks for a shorter one" in endless.explanation.active[0]


def test_what_a_torque_rate_costs():
    """The price is the change that looser limits bring."""

    def fastest(limit):
        limits = TorqueRateLimits({"joint1": limit, "joint2": 50.0})
        return predict(Problem(HEAVY, objective=Time(), constraints=[*ENDS, limits]), tolerance=1e-8)

    found = fastest(100.0)
    own = [bound for bound in found.active if bound.family == "torque rate limit" and bound.label == "joint1"]
    change = (fastest(101.0).duration - fastest(99.0).duration) / 2.0
    assert sum(bound.price for bound in own) == pytest.approx(change, rel=2e-2)
    assert "N m/s" in found.explanation.active[0]


def test_what_is_exceeded_between_samples_is_in_the_first_sentence():
    problem = minimum_time(segments=4, samples=1)
    found = predict(problem, between=None)
    assert found.solved_at_samples and found.max_violation > 0.05
    assert not found.solved and found.exit_code == 3 and "solved at samples only" in repr(found)
    assert str(found).startswith("Solved at the samples only: ") and not found.result.passed
    assert found.status == found.explanation.status == found.result.audit["solved"].sentence


def counts():
    """Threads of every library of linear algebra."""
    return [library.num_threads for library in libraries()]


@pytest.fixture
def three_threads():
    """More than one, so that something is lowered; what was before comes back."""
    before = counts()
    for library in libraries():
        set_threads(library, 3)
    yield counts()
    for library, count in zip(libraries(), before, strict=True):
        set_threads(library, count)


def test_linear_algebra_has_its_threads_back(three_threads):
    assert libraries() and set(three_threads) == {3}
    with pytest.raises(ZeroDivisionError), one_thread():
        assert set(counts()) == {1}
        raise ZeroDivisionError
    assert counts() == three_threads


def test_overlapping_solves_restore_the_threads_when_the_last_ends(three_threads):
    first_is_in, second_is_in, first_is_out = (threading.Event() for _ in range(3))
    seen = {}

    def first():
        with one_thread():
            first_is_in.set()
            second_is_in.wait(10.0)
        seen["after the first"] = counts()
        first_is_out.set()

    def second():
        first_is_in.wait(10.0)
        with one_thread():
            second_is_in.set()
            first_is_out.wait(10.0)
            seen["in the second"] = counts()

    threads = [threading.Thread(target=function) for function in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(seen["after the first"]) == set(seen["in the second"]) == {1}
    assert counts() == three_threads


def test_predictions_in_threads_leave_the_threads_of_linear_algebra(three_threads):
    problems = [minimum_time(segments=k) for k in (6, 10, 14, 18)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(predict, problems))
    assert all(x.solved for x in found)
    assert counts() == three_threads
