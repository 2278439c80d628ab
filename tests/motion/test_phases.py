"""Motions in phases: closed forms, continuity and jumps, exact derivatives, explanations, files."""

import signal

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.phased import predict_phases
from kinetree.motion.predict import predict
from kinetree.motion.problem.problem import Problem
from kinetree.motion.solvers.interface import Status
from kinetree.motion.terms import Boundary, SquaredTorque, Time, TorqueLimits, time_and_torque
from motion.problems import minimum_time


def disc():
    """One body with inertia 2 kg m^2 that turns, without gravity."""
    build = kt.Builder("disc", gravity=(0, 0, 0))
    build.world.revolute("turn").body("wheel", kt.Inertia(0.0, (0, 0, 0), np.diag([2.0] * 3)))
    return build.build()


def disc_phases(first, second, **common):
    arguments = {"objective": Time(), "segments": 3, **common}
    limits = [TorqueLimits(4.0)]
    away = Problem(disc(), constraints=[*first, *limits], **arguments)
    there = Problem(disc(), constraints=[*second, *limits], **arguments)
    return [away, there]


def lift_and_carry(**changes):
    """Lift 10 N until the first joint is at 2.1 rad, then carry 2 N on, with less torque."""
    arm, tip = kt.zoo.two_link(gravity=(0, -9.8062, 0)), (0.4, 0.0, 0.0)
    start, end = Boundary("start", [1.32, -2.37], 0.0), Boundary("end", [2.80, -2.37], 0.0)
    half = Boundary("end", {"joint1": 2.1})

    def phase(boundaries, limit, load):
        return Problem(
            arm,
            objective=time_and_torque(0.01),
            constraints=[*boundaries, TorqueLimits(limit)],
            loads=kt.Wrench("link2", force=(0, -load, 0), point=tip),
            **{"segments": 6, **changes},
        )

    return [phase([start, half], 10.0, 10.0), phase([end], 8.0, 2.0)]


def test_the_switch_of_a_disc_falls_on_the_junction():
    """T = 2 sqrt(I dq / tau), exactly: each phase needs one torque only, and the accelerations may jump."""
    problems = disc_phases([Boundary("start", [0.0], 0.0)], [Boundary("end", [1.5], 0.0)])
    found = predict_phases(problems, tolerance=1e-8)
    best = 2 * np.sqrt(2.0 * 1.5 / 4.0)
    assert found.solved
    assert found.duration == pytest.approx(best, rel=1e-6)
    assert found.durations == pytest.approx([best / 2] * 2, rel=1e-4)
    assert found.boundaries == pytest.approx([0.0, best / 2, best], rel=1e-4)
    smooth = predict_phases(kt.motion.PhasedProblem(problems, kt.motion.Junction("acceleration")))
    assert smooth.duration > 1.01 * best
    assert smooth.parts[0].qdd[-1] == pytest.approx(smooth.parts[1].qdd[0], abs=1e-4)


def test_velocities_jump_by_what_is_given():
    """A blow of 1 rad/s on a disc at rest, then to 1.5 rad in 0.5 s with the least effort: a cubic.

    min integral tau^2 = I^2 (12 d^2 / T^3 - 12 d v / T^2 + 4 v^2 / T) from velocity v to rest over d.
    """
    common = {"objective": SquaredTorque(), "segments": 3}
    still = [Boundary("start", [0.0], 0.0), Boundary("end", [0.0], 0.0)]
    first = Problem(disc(), constraints=still, duration=0.2, **common)
    second = Problem(disc(), constraints=Boundary("end", [1.5], 0.0), duration=0.5, **common)
    found = predict_phases(
        kt.motion.PhasedProblem([first, second], kt.motion.Junction(jumps={"velocity": {"turn": 1.0}}))
    )
    assert found.solved
    assert found.parts[1].qd[0, 0] == pytest.approx(1.0, abs=1e-6)
    d, v, T = 1.5, 1.0, 0.5
    best = 4.0 * (12 * d**2 / T**3 - 12 * d * v / T**2 + 4 * v**2 / T)
    assert found.objective == pytest.approx(best, rel=1e-6)


def test_open_velocities_begin_as_they_like():
    """Nothing of the velocity goes on: the second phase starts as fast as helps, T is at its lower end."""
    still = [Boundary("start", [0.0], 0.0), Boundary("end", [0.0], 0.0)]
    problems = disc_phases(still, [Boundary("end", [1.5])], duration=(0.1, 5.0))
    loose = predict_phases(kt.motion.PhasedProblem(problems, kt.motion.Junction("position")))
    named = predict_phases(
        kt.motion.PhasedProblem(problems, kt.motion.Junction(jumps={"velocity": {"turn": None}}))
    )
    assert loose.solved and loose.durations == pytest.approx([0.1, 0.1], abs=1e-5)
    assert named.durations == pytest.approx(loose.durations, abs=1e-6)
    assert abs(loose.parts[1].qd[0, 0]) > 10.0


def test_least_effort_in_two_phases_is_the_cubic():
    """min integral tau^2 with the junction free: the same as in one phase, 12 I^2 dq^2 / T^3."""
    common = {"objective": SquaredTorque(), "segments": 3}
    away = Problem(disc(), constraints=Boundary("start", [0.0], 0.0), duration=0.3, **common)
    there = Problem(disc(), constraints=Boundary("end", [1.5], 0.0), duration=0.5, **common)
    found = predict_phases([away, there])
    assert found.objective == pytest.approx(12 * 2.0**2 * 1.5**2 / 0.8**3, rel=1e-6)
    s = found.t / 0.8
    assert np.allclose(found.q[:, 0], 1.5 * s**2 * (3 - 2 * s), atol=1e-4)


@pytest.mark.parametrize("solver", ["interior", "ipopt"])
def test_lifting_and_carrying(solver):
    found = predict_phases(lift_and_carry(), solver=solver)
    first, second = found.parts
    assert found.solved, found
    assert first.q[-1] == pytest.approx(second.q[0], abs=1e-5)
    assert first.qd[-1] == pytest.approx(second.qd[0], abs=1e-4)
    assert np.abs(second.tau[np.isin(second.s, second.problem.setting.samples)]).max() < 8.0 + 1e-3
    assert max(map(abs, found.gaps.values())) < 1e-5
    assert all(part.check_by_simulation().largest < 1e-5 for part in found.parts)
    assert found.objective == pytest.approx(
        predict_phases(lift_and_carry(), tolerance=1e-8).objective, rel=1e-5
    )


def test_two_phases_are_one_motion():
    """A junction that nothing asks for makes the fastest motion no slower, but gives it two splines."""
    start = Boundary("start", [0.0, -2.0], 0.0)
    end = Boundary("end", [1.0, -1.0], 0.0)
    phases = [minimum_time(constraints=[x, TorqueLimits()], segments=10) for x in (start, end)]
    found = predict_phases(phases, starts=2)
    assert 0.391854 < found.duration < predict(minimum_time()).duration


@pytest.mark.parametrize("upto", ["position", "velocity", "acceleration"])
@pytest.mark.parametrize("duration", [None, 0.4], ids=["free", "fixed"])
def test_derivatives_are_exact(upto, duration):
    jumps = {"position": {"joint1": 0.1, "joint2": None}}
    phases = kt.motion.PhasedProblem(lift_and_carry(duration=duration), kt.motion.Junction(upto, jumps))
    check = phases.check_derivatives()
    assert check.passed, check
    assert "junction of phases" in check.jacobian


def test_the_scale_of_a_phase_solved_alone_changes_nothing():
    problems = disc_phases(
        [Boundary("start", [0.0], 0.0), Boundary("end", [0.7], 0.0)], [Boundary("end", [1.5], 0.0)]
    )
    phases = kt.motion.PhasedProblem(problems)
    z = phases.straight_start()
    before = phases.program.objective(z), phases.program.gradient(z)
    predict(problems[0])
    assert problems[0].program.scale != 1.0
    assert phases.program.objective(z) == pytest.approx(before[0], rel=1e-12)
    assert phases.program.gradient(z) == pytest.approx(before[1], rel=1e-12)


def test_a_joint_that_is_frozen_in_one_phase():
    arm = kt.zoo.two_link()
    first = Problem(
        arm,
        objective=Time(),
        constraints=[Boundary("start", {"joint1": 0.0}, {"joint1": 0.0}), TorqueLimits()],
        frozen={"joint2": -2.0},
        segments=6,
    )
    second = minimum_time(constraints=[Boundary("end", [1.0, -1.0], 0.0), TorqueLimits()], segments=8)
    found = predict_phases([first, second])
    assert found.solved
    assert (found.parts[0].q[:, 1] == -2.0).all()
    assert found.parts[1].q[0, 1] == pytest.approx(-2.0, abs=1e-6)
    assert found.parts[1].qd[0, 1] == pytest.approx(0.0, abs=1e-5)
    assert found.duration > predict(minimum_time()).duration


def test_stops_at_a_junction_are_redundant_but_harmless():
    via = [0.5, -1.5]
    ends = [Boundary("start", [0.0, -2.0], 0.0), Boundary("end", via, 0.0), TorqueLimits()]
    first = minimum_time(constraints=ends)
    ends = [Boundary("start", via, 0.0), Boundary("end", [1.0, -1.0], 0.0), TorqueLimits()]
    second = minimum_time(constraints=ends)
    found = predict_phases([first, second])
    assert found.duration == pytest.approx(predict(first).duration + predict(second).duration, rel=1e-5)


def test_random_starts_and_warm_starts_agree():
    phases = kt.motion.PhasedProblem(lift_and_carry())
    found = predict_phases(phases, starts=4, seed=3)
    assert len(found.trials) == 4
    assert {round(trial.objective, 4) for trial in found.trials} == {round(found.objective, 4)}
    warm = predict_phases(phases, start=found)
    assert warm.solved and warm.iterations < found.trials[0].iterations
    finer = predict_phases(lift_and_carry(segments=8), start=found)
    assert finer.solved and finer.objective == pytest.approx(found.objective, rel=1e-2)


def test_the_whole_motion_as_a_result(tmp_path):
    found = predict_phases(lift_and_carry(), save=tmp_path / "phases.nc")
    result = found.to_result()
    assert result.passed, result.audit
    loaded = kt.load_result(tmp_path / "phases.nc")
    assert loaded.passed and np.array_equal(loaded.q.values, result.q.values)
    assert result.time.values[-1] == pytest.approx(found.duration)
    assert result.statistics["durations"] == pytest.approx(found.durations)
    assert np.unique(result["phase"].values).tolist() == [1, 2]
    assert len(result.settings["phases"]) == 2
    again = predict_phases(lift_and_carry(), start=loaded)
    assert again.solved and again.objective == pytest.approx(found.objective, rel=1e-5)
    found.plot("q", "tau").savefig(tmp_path / "phases.png")


def test_ctrl_c_keeps_the_best_iterate_and_its_file(tmp_path):
    seen = []

    def impatient(step):
        seen.append(step)
        if len(seen) == 4:
            signal.raise_signal(signal.SIGINT)

    found = predict_phases(lift_and_carry(), progress=impatient, save=tmp_path / "best.nc")
    assert found.outcome.status is Status.INTERRUPTED and len(seen) < 8
    assert "Continue from here: predict_phases(phases, start=prediction)" in str(found)
    saved = kt.load_result(tmp_path / "best.nc")
    assert saved.stop_reason == "interrupted" and not saved.passed
    assert predict_phases(lift_and_carry(), start=saved).solved


def test_outcomes_are_explained_with_their_phase():
    told = str(predict_phases(lift_and_carry()))
    assert "phase 1, torque limit, joint" in told and "phase 2, torque limit" in told
    hurried = lift_and_carry(duration=0.1)
    lost = predict_phases(hurried)
    assert lost.exit_code == 3
    text = str(lost)
    assert "phase 1, torque limit" in text or "phase 2, torque limit" in text
    assert "too short for the torque limit" in text
    assert not lost.to_result().passed


def test_a_junction_that_cannot_be_met_is_named():
    """Both phases stand still elsewhere, within limits that leave no room in the time."""
    first = [Boundary("start", [0.0], 0.0)]
    lost = predict_phases(disc_phases(first, [Boundary("start", [5.0], 0.0)], duration=0.1))
    assert lost.exit_code == 3
    assert "torque limit" in str(lost) or "junction of phases" in str(lost)


def test_bad_phases_are_named():
    one = minimum_time()
    with pytest.raises(kt.errors.InputError, match="at least two consecutive problems"):
        predict_phases([one])
    with pytest.raises(kt.errors.InputError, match="its own problem"):
        predict_phases([one, one])
    other = Problem(kt.zoo.gripper(), objective=Time(), constraints=Boundary("end", [0, 0, 0, 0], 0.0))
    with pytest.raises(kt.errors.InputError, match="phase 2 has joint1, joint2, joint3, joint4"):
        predict_phases([one, other])
    with pytest.raises(
        kt.errors.InputError, match="position of joint 'joint1' is fixed to 1 at the end and to 0"
    ):
        predict_phases([one, minimum_time()])


def jumping(position):
    return kt.motion.PhasedProblem(lift_and_carry(), kt.motion.Junction(jumps={"position": position}))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kt.motion.Junction("jerk"), "quantity 'jerk'"),
        (lambda: kt.motion.Junction("position", {"velocity": {"joint1": 1.0}}), "up to the position"),
        (lambda: jumping({"knee": 1.0}), "joint 'knee'"),
        (lambda: jumping({"joint1": np.nan}), "joint1"),
        (lambda: kt.motion.PhasedProblem(lift_and_carry(), [kt.motion.Junction()] * 2), "1 in a list"),
        (lambda: predict_phases(lift_and_carry(), start="here"), "earlier prediction in phases"),
        (lambda: predict_phases(lift_and_carry(), starts=0), "starts must be"),
        (lambda: predict_phases(lift_and_carry(), solver="magic"), "solver 'magic'"),
        (lambda: predict_phases(lift_and_carry(), start=predict(minimum_time()).result), "in 2 phases"),
    ],
)  # fmt: skip
def test_bad_junctions_and_arguments_are_named(make, message):
    with pytest.raises(kt.errors.InputError, match=message):
        make()
