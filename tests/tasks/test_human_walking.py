"""A human step, predicted once from q = 0: solved, verified, and what cannot be walked is refused."""

from time import perf_counter
from types import SimpleNamespace

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.options import Search
from kinetree.motion.search.start import given_motion
from kinetree.motion.seek import TimeBudget
from kinetree.motion.solvers.interface import SolverSettings, Watch, infeasibility
from kinetree.motion.solvers.soft import Soft
from kinetree.study.tasks.walk import WalkTable
from kinetree.tasks.conflict import _is_way
from kinetree.tasks.person import ROOT
from kinetree.tasks.sampled import SampledMotion
from kinetree.tasks.walking.checks import checked, exceeded
from kinetree.tasks.walking.problem import LEAN, StepSchedule
from kinetree.tasks.walking.search import StepSearch
from kinetree.walking import Walking, walk, walker, walking_problem


@pytest.fixture(scope="module")
def step():
    return walk(progress=False)


def test_a_step_from_standing_is_solved_and_passes_every_check(step):
    assert step.passed, str(step)
    assert 0.0 <= step.checks["clearance"].value <= step.checks["clearance"].tolerance == 1e-9
    assert step.prediction.iterations < 80
    problem = step.prediction.problem
    assert step.walker.mechanism.n_dof == 38
    assert 590 < problem.n_variables < 620 and 2400 < problem.n_constraints < 2600
    assert set(step.checks) >= {
        "torques",
        "contact",
        "clearance",
        "support",
        "momentum",
        "work_of_the_ground",
    }


def test_it_walks_like_a_person(step):
    q, names = np.degrees(step.prediction.q), list(step.walker.mechanism.joint_names)
    knee = np.concatenate([q[:, names.index("right_knee")], q[:, names.index("left_knee")]])
    hip = np.concatenate([q[:, names.index("right_hip.flexion")], q[:, names.index("left_hip.flexion")]])
    assert 60.0 < np.ptp(knee) < 76.0 and 35.0 < np.ptp(hip) < 55.0
    push = step.ground.force[:, :, 2] / step.walker.weight
    assert push.min() > -1e-6 and 1.0 < push[:, 0].max() < 1.4
    arm = q[:, names.index("left_shoulder.flexion")]
    assert np.corrcoef(arm, q[:, names.index("right_hip.flexion")])[0, 1] > 0.8  # unasked


def test_the_result_has_what_gait_needs(step):
    result = step.to_result()
    assert result.passed, result.audit
    assert result["ground_reaction"].dims == ("time", "foot", "axis")
    assert result["foot"].values.tolist() == ["right", "left"] and result.settings["steps"] == 1
    carried = np.asarray(result["ground_reaction"].values).sum(axis=1)
    mean = np.trapezoid(carried, result["time"].values, axis=0) / 0.5
    assert mean[[0, 2]] == pytest.approx([0.0, step.walker.weight], abs=0.02 * step.walker.weight)
    push = np.asarray(result["ground_reaction"].values)[:, 0, 2] > 0.1 * step.walker.weight
    point = np.asarray(result["ground_reaction_point"].values)[push, 0]
    assert (np.diff(point[:, 0]) > -0.03).all() and -0.02 < point[:, 0].min() and point[:, 0].max() < 0.25
    every = np.asarray(result["ground_reaction_point"].values)[:, 0, 0]
    assert np.isnan(every[0]) and np.nanmax(np.abs(every)) < 0.25  # touch-down pushes too little for a center


def test_torques_are_those_of_inverse_dynamics_and_what_is_active_keeps_within_strength(step):
    """Relaxed joints give a part; without passive moments all of it is active."""
    result = step.to_result()
    q, qd, qdd, tau, active, passive = (
        np.asarray(result[name].values) for name in ("q", "qd", "qdd", "tau", "tau_active", "tau_passive")
    )
    mechanism, who = step.walker.mechanism, step.walker
    loads = step.prediction.problem.loads_of(step.prediction.s, step.prediction.x)
    assert np.allclose(tau, kt.inverse_dynamics(mechanism, q, qd, qdd, loads), atol=1e-9)
    assert np.allclose(tau, active + passive, atol=1e-12)
    legs = kt.human.passive_moments()
    columns = [mechanism.joint_index(name) for name in legs.names]
    assert np.allclose(passive[:, columns], legs.moments(q[:, columns]), atol=1e-12)
    others = np.setdiff1d(np.arange(38), columns)
    assert not passive[:, others].any() and 15.0 < np.abs(passive).max() < 40.0
    for name, k in zip(legs.names, columns, strict=True):
        low, high = who.torques[name]
        assert active[:, k].min() >= 1.001 * low and active[:, k].max() <= 1.001 * high
    plain = walk(passive=0.0, points=10, nodes=(6, 2, 6, 6), progress=False, max_iterations=2)
    assert "tau_active" not in plain.to_result().dataset and not plain.step.passive.any()


def test_lean_is_the_pitch_of_the_chest():
    who = walker(Walking())
    q = np.zeros(who.mechanism.n_dof)
    for name in LEAN:
        q[who.mechanism.joint_index(name)] = 0.01 * (1.0 + len(name))
    R = kt.forward_kinematics(who.mechanism, q)["chest"][0]
    lean = sum(factor * q[who.mechanism.joint_index(name)] for name, factor in LEAN.items())
    assert np.arctan2(R[0, 2], R[2, 2]) == pytest.approx(lean, abs=1e-12)


def test_derivatives_are_exact_for_another_size_slope_and_load():
    task = Walking(
        speed=0.9, step=0.5, sex="female", height=1.6, mass=55.0, slope=4.0, backpack=10.0, hand=3.0,
        points=8, nodes=(2, 2, 4, 4), arms=True, wrist=0.15, strength={"knee": 0.8},
    )  # fmt: skip
    check = walking_problem(task).check_derivatives()
    assert check.passed, str(check)


def test_who_carries_more_weighs_more_and_slopes_incline_gravity():
    plain, loaded = walker(Walking()), walker(Walking(backpack=20.0, hand=5.0, slope=5.0))
    assert loaded.mechanism.mass - plain.mechanism.mass == pytest.approx(30.0)
    g = loaded.mechanism.gravity
    assert np.linalg.norm(g) == pytest.approx(9.81) and np.degrees(np.arctan2(-g[0], -g[2])) == pytest.approx(
        5.0
    )
    weak = walker(Walking(strength={"knee": 0.5}))
    assert weak.torques["left_knee"][0] == pytest.approx(0.5 * plain.torques["left_knee"][0])


def test_the_root_stands_on_the_heel():
    who = walker(Walking())
    poses = kt.forward_kinematics(who.mechanism, np.zeros(who.mechanism.n_dof))
    body, heel = who.points["right_heel"]
    assert np.allclose(poses[body][1] + poses[body][0] @ heel, 0.0, atol=1e-12)
    assert who.mechanism.joint_names[:6] == ROOT


def test_the_ground_carries_the_hind_foot_while_the_sole_rests(step):
    """Pressure goes from heel to ball; torque of the toes is effort and limited from heel off on."""
    s, toe = step.step.s, step.step.torque("right_toe")
    flat = (s > StepSchedule(step.task).flat) & (s < 0.5)
    assert (
        toe[flat].max() > 1.5 * step.walker.torques["right_toe"][1]
    )  # what no muscle of the toes could hold
    late = s >= step.task.heel_off
    assert np.abs(toe[late]).max() <= step.walker.torques["right_toe"][1] * 1.001
    point = step.ground.point[:, 0, 0]
    ball = step.walker.sole["ball"]
    assert (point[flat] > 0.45 * ball).all() and point[flat][0] < 0.8 * ball < point[s >= 0.69][0]


def test_double_support_shortens_with_speed_beside_the_legs():
    assert Walking().double_support == pytest.approx(0.26, abs=1e-3)
    assert Walking(speed=1.6, step=0.8).double_support < 0.23 and Walking(double=0.3).double_support == 0.3
    tall, short = Walking(height=1.95), Walking(height=1.55)
    alike = 1.2 * np.sqrt(short.leg / tall.leg)
    assert Walking(height=1.55, speed=alike).double_support == pytest.approx(tall.double_support)


def test_women_and_men_of_a_size_measure_effort_alike_and_are_limited_by_their_own_strength():
    woman, man = (walker(Walking(sex=sex, height=1.65, mass=62.0)) for sex in ("female", "male"))
    assert woman.effort == pytest.approx(man.effort)
    assert woman.torques["right_toe"][1] == pytest.approx(0.8 * man.torques["right_toe"][1])


def test_phases_follow_each_other():
    plan = StepSchedule(Walking())
    assert plan.flat == 0.2 and plan.flat < plan.double < 0.7
    assert {plan.flat, plan.double, 0.7} <= set(plan.breaks.tolist()) and len(plan.breaks) == 19
    lower, upper = plan.support(walker(Walking()), np.array([0.01, 0.3, 0.9]))
    assert (lower < upper).all() and lower[2, 0] > lower[1, 0] and upper[0, 0] < upper[1, 0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"speed": 3.0}, "speed must be from 0.3 to 2.2"),
        ({"step": 1.3}, "a step must be from .* for legs of 0.9"),
        ({"speed": 0.4, "step": 0.9}, "takes 2.25 s"),
        ({"mass": 500.0}, "mass"),
        ({"height": 3.0}, "height"),
        ({"sex": "robot"}, "sex"),
        ({"slope": 40.0}, "slope must be within 15"),
        ({"backpack": 90.0}, "backpack must be from 0 to 60%"),
        ({"double": 0.0}, "no foot would carry"),
        ({"double": 0.8}, "double support must end before heel off"),
        ({"points": 3}, "points must be an integer"),
        ({"strength": {"tail": 0.5}}, "unknown joint 'tail'"),
        ({"exponent": 1.0}, "exponent of effort must be 2 or more"),
        ({"pace": 1.0}, "unknown setting 'pace'"),
        ({"nodes": (0, 1, 1, 1)}, "nodes must be from 1 to 200"),
        ({"landing": -1.0}, "landing must be from 0 to 0.5"),
        ({"clearance": 5.0}, "clearance must be from 0 to 0.2"),
        ({"wrist": 3.0}, "wrist must be from 0 to 0.6"),
        ({"toe_out": 3.0}, "toe_out must be from -0.8 to 0.8"),
        ({"seed": "x"}, "seed must be an integer of 0 or more, got 'x'"),
        ({"seed": -1}, "seed must be an integer of 0 or more"),
        ({"mass": None}, "mass"),
        ({"start": 3}, "start|guess"),
    ],
)
def test_what_cannot_be_walked_is_refused_before_any_search(changes, message):
    with pytest.raises(kt.KinetreeError, match=message):
        walk(max_iterations=1, **changes)


def test_rows_and_integrals_share_their_instants(step):
    """Torques are computed once at each instant: instants without weight are no grid of their own."""
    program, knots = step.prediction.problem.program, StepSchedule(step.task).knots
    assert program.dynamic == len(step.prediction.problem.setting.samples) + len(knots)
    assert program.quadrature.sum() == pytest.approx(1.0, abs=1e-12) and (program.quadrature == 0.0).any()


def test_limits_exceeded_between_instants_are_kept_after_a_search_with_instants_there():
    """Weak ankles use all their strength: between the usual instants they would exceed it."""
    coarse = {"points": 12, "nodes": (10, 4, 12, 12)}
    task = Walking(strength={"ankle": 0.6}, passive=0.0, **coarse)
    who = walker(task)
    still = np.array([0.0, task.duration]), np.zeros((2, who.mechanism.n_dof))
    first = kt.predict(walking_problem(task, who), start=still, tolerance=1e-3, progress=False)
    before, peaks = checked(who, first)["torques"], exceeded(who, first)
    assert first.solved_at_samples and not before.passed and len(peaks)
    tau = SampledMotion(first, peaks).torque("right_ankle.flexion")
    assert np.abs(tau).max() > 1.001 * -who.torques["right_ankle.flexion"][0]
    found = walk(task, progress=False)
    assert found.solved and all(check.passed for check in found.checks.values()), str(found)
    assert set(peaks) <= set(found.prediction.problem.setting.samples)
    assert found.prediction.iterations > first.iterations
    assert found.prediction.objective == pytest.approx(first.objective, rel=0.01)


def test_steps_long_for_the_legs_converge_as_well():
    """A woman of 1.50 m with steps of 0.6 m: slacks that do not settle take hundreds of iterations here."""
    found = walk(sex="female", height=1.50, mass=48.0, solver="interior", max_iterations=80, progress=False)
    assert found.passed, str(found)


@pytest.mark.parametrize(
    "person",
    [
        {"sex": "female", "height": 1.645, "mass": 59.1, "speed": 1.255, "step": 0.682, "slope": 4.6},
        {"sex": "female", "height": 1.621, "mass": 54.7, "speed": 1.407, "step": 0.711},
        {"height": 1.621, "mass": 51.9, "speed": 1.469, "step": 0.727, "backpack": 7.7},
    ],
)
def test_the_soft_stage_ends_near_a_step_also_with_toes_held_in_a_narrow_band(person):
    """Toes were far off where only equations counted; torques went to 160 times their limits."""
    problem = walking_problem(Walking(**person))
    program = problem.program
    still = np.array([0.0, problem.setting.duration[0]]), np.zeros((2, 38))
    z = program.reduced(given_motion(problem, *still))
    program.scale = 1.0 / program.objective(z)
    soft = Soft(program, z, Watch(program, SolverSettings()))
    assert soft.run() and soft.iteration < 30
    assert (program.x_lower <= soft.z).all() and (soft.z <= program.x_upper).all()
    assert infeasibility(program, soft.z) < 5.0
    narrow = program.upper - program.lower < 0.01
    rows = program.constraints(soft.z)
    off = np.maximum(program.lower - rows, rows - program.upper)[narrow]
    assert off.max() < 0.1
    found = walk(**person, progress=False)
    assert found.passed and found.prediction.iterations < 70, str(found)


def test_what_nobody_can_walk_names_what_stands_in_the_way():
    """A twentieth of the ankles' strength: a plain step needs some fifteen times as much of it."""
    found = walk(strength={"ankle": 0.05}, points=10, nodes=(8, 4, 8, 8), progress=False)
    assert not found.solved and found.prediction.word == "infeasible"
    (line,) = found.conflicts
    assert (
        line.startswith("a step is possible without the torque limit, with ")
        and "right_ankle.flexion" in line
    )
    assert line in str(found) and found.to_result().messages[0] == line
    assert found.prediction.asked["solver"] == "auto" and found.prediction.outcome.solver == "interior"
    few = walk(max_iterations=3, solver="interior", progress=False)  # stopped early is not infeasible
    assert few.prediction.word == "iterations" and not few.conflicts


@pytest.mark.parametrize("violation", [0.06, 4.0])
def test_a_step_that_nearly_keeps_limits_is_not_called_infeasible(violation):
    """What counts as a way where limits are given up is none here either, and the other way round."""
    found = SimpleNamespace(solved_at_samples=True, max_violation=violation)
    step, budget = StepSearch(Walking()), TimeBudget(Search(max_iterations=400))
    assert step.breaks_between(found, budget) != _is_way(found)
    assert step.breaks_between(found, budget) == (violation > 1.0)
    over = TimeBudget(Search(max_iterations=400, time_limit=0.5), begun=perf_counter() - 1.0)
    assert not step.breaks_between(found, over)


def test_numbers_of_arrays_are_numbers_and_steps_of_a_person_share_its_bodies():
    plain, taken = (
        walker(Walking(height=1.8, hand=2.0)),
        walker(Walking(height=np.array(1.8), right_hand=2.0)),
    )
    assert taken.mechanism.mass == pytest.approx(plain.mechanism.mass - 2.0)
    assert walker(Walking(height=np.array(1.8), hand=2.0, speed=1.0)).mechanism is plain.mechanism


def test_a_search_goes_on_where_no_other_solver_is_installed(monkeypatch):
    """As after `pip install kinetree` without extras: patience ends, then all iterations are used."""
    from kinetree.motion.solvers.choice import SOLVERS

    monkeypatch.setattr(SOLVERS["ipopt"], "is_installed", lambda: False)
    monkeypatch.setattr(StepSearch, "patience", 30)
    found = kt.walking.walk(progress=False)
    assert found.passed and found.prediction.iterations > 30, str(found)
    assert found.prediction.asked["solver"] == "auto" and found.prediction.asked["options"] == {}


def test_too_few_nodes_are_named_as_the_remedy_of_the_quadrature():
    """The message names settings with which the two quadratures agree better: nodes, not segments."""
    few = walk(points=6, nodes=(2, 1, 2, 2), progress=False, max_iterations=10)
    result = few.to_result()
    assert not result.audit["objective"].passed
    said = " ".join((*result.messages, *few.prediction.explanation.advice))
    counts = StepSchedule(few.task).counts  # two in each segment at least, more than were asked for
    assert f"walk.nodes = {[2 * x for x in counts]}" in said and "segments" not in said
    again = walk(points=6, nodes=tuple(2 * x for x in counts), progress=False, max_iterations=10).to_result()
    assert again.audit["objective"].value < 0.5 * result.audit["objective"].value


@pytest.mark.parametrize("double", [None, 0.19, 0.218, 0.3, 0.35])
@pytest.mark.parametrize("points", [6, 18, 36, 60])
def test_segments_end_where_phases_do_and_have_two_nodes_each(points, double):
    """With fewer nodes than that, finer splines bend between them at no cost, and no search ends."""
    plan = StepSchedule(Walking(points=points, double=double))
    assert len(plan.breaks) == points + 1 and (np.diff(plan.breaks) > 1e-3).all()
    assert {plan.flat, plan.task.heel_off, 1.0} <= set(plan.breaks)
    phases = np.array([0.0, plan.flat, plan.double, plan.task.heel_off, 1.0]) + 1e-12
    segments, nodes = (np.histogram(s, phases)[0] for s in (plan.breaks[1:], plan.nodes.s))
    assert (nodes >= 2 * segments).all(), (segments, nodes)
    assert (np.histogram(plan.nodes.s, plan.breaks[plan.breaks <= plan.flat])[0] >= 2).all()


def test_twice_as_many_points_gain_little(step):
    """Errors grow with the square of the points: following them, a barrier never falls."""
    finer = walk(points=36, nodes=(32, 8, 24, 24), start=step.prediction, max_iterations=100, progress=False)
    assert finer.passed and set(StepSchedule(step.task).breaks) <= set(StepSchedule(finer.task).breaks), str(
        finer
    )
    assert 1.0 < step.prediction.objective / finer.prediction.objective < 1.02
    times = np.linspace(0.0, step.prediction.duration, 41)
    knees = [x.prediction.at(times)[0][:, step.step.column("right_knee")] for x in (step, finer)]
    assert np.degrees(np.abs(knees[0] - knees[1]).max()) < 2.0


def test_study_files_have_the_defaults_of_the_task():
    table, task = WalkTable.model_validate({}), Walking()
    shared = {name for name in WalkTable.model_fields if hasattr(task, name)} - {"strength"}
    assert {"points", "nodes", "band"} <= shared
    for name in shared:
        assert np.array_equal(getattr(table, name), getattr(task, name)), name


def test_mirrored_splines_continue_over_unequal_segments():
    """Shorter segments in double support: the end of a step and its mirrored start agree in all rates."""
    problem = walking_problem(Walking(points=10, nodes=(2, 2, 2, 2)))
    breaks = problem.basis.breaks
    assert np.ptp(np.diff(breaks)) > 0.02
    start = walk(points=10, nodes=(2, 2, 2, 2), progress=False, max_iterations=1).prediction
    q, qd, qdd = (np.asarray(rate) for rate in start.at(np.array([0.0, start.duration])))
    names = list(problem.mechanism.joint_names)
    for name in ("right_knee", "right_hip.flexion", "left_ankle.flexion"):
        partner, sign = kt.human.mirror_image(name)
        j, k = names.index(name), names.index(partner)
        for rate in (q, qd, qdd):
            assert rate[1, j] == pytest.approx(sign * rate[0, k], rel=1e-9, abs=1e-9)
