"""Predictions as results: saved, loaded, gone on from; saved while they run; what is told meanwhile."""

import signal

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.outcome.optimality import optimality
from kinetree.motion.outcome.prediction_result import all_control_points
from kinetree.motion.predict import predict
from kinetree.motion.problem.problem import Problem
from kinetree.motion.refinement import tighten
from kinetree.motion.search import progress, saving
from kinetree.motion.solvers.interface import Progress, SolverSettings
from kinetree.motion.terms import CustomObjective, ReactionLimit, SquaredTorque
from motion.problems import from_rest_to_rest, frozen_elbow, kuka, lifting, minimum_time, prismatic


def test_a_result_has_all_that_was_found_and_asked():
    found = predict(lifting(segments=8), tolerance=1e-7)
    result = found.result
    assert result.task == "predict"
    assert result.passed, result.audit
    for name in ("q", "qd", "qdd", "tau"):
        assert np.array_equal(result[name].values, getattr(found, name))
    load = kt.Wrench("link2", force=(0, -10, 0), point=(0.4, 0, 0))
    expected = kt.joint_reactions(result.mechanism, found.q, found.qd, found.qdd, load)
    assert np.allclose(result.reaction.values, expected, atol=1e-12)
    assert result.statistics["objective"] == found.objective
    assert [x["price"] for x in result.statistics["reached"]] == [x.price for x in found.active]
    asked = result.settings
    assert [(x["term"], x["weight"]) for x in asked["objective"]] == [("Time", 0.99), ("SquaredTorque", 0.01)]
    assert asked["constraints"][0] == {
        "term": "Boundary", "at": "start", "position": [1.32, -2.37], "velocity": 0.0,
    }  # fmt: skip
    assert asked["loads"]["force"] == [0.0, -10.0, 0.0]
    assert asked["search"]["tolerance"] == 1e-7
    assert "passed" in repr(result) or result.mechanism.name in repr(result)


def test_units_follow_the_joints():
    result = predict(prismatic(np.pi / 2, segments=5)).result
    assert result.units("control_points") == ("m", "rad")
    assert result.units("tau") == ("N", "N m")


def test_reactions_are_those_that_are_limited():
    """The extended mechanism with reaction axes and the recursion of the analysis give the same force."""
    found = predict(lifting(segments=10, constraints=[*lifting().constraints, ReactionLimit("link1", 25.0)]))
    size = np.linalg.norm(found.reaction[:, 0, :3], axis=1)
    at_samples = np.isin(found.s, found.problem.setting.samples)
    assert found.solved
    assert size[at_samples].max() == pytest.approx(25.0, rel=1e-4)
    assert any(bound.family == "joint reaction limit" for bound in found.active)


def test_functions_and_moving_loads_are_named_in_the_settings():
    def effort(s, q, qd, qdd, tau):
        return (tau**2).sum(axis=1)

    def pushed(s):
        return [kt.Wrench("link2", np.stack([0 * s, -5 * s, 0 * s], axis=1))]

    problem = Problem(
        kt.zoo.two_link(),
        objective=CustomObjective(effort),
        constraints=from_rest_to_rest([0, 0], [1, 1]),
        duration=1.0,
        segments=4,
        loads=pushed,
    )
    result = predict(problem).result
    assert "effort" in result.settings["objective"][0]["function"]
    assert "pushed" in result.settings["loads"]
    assert np.isfinite(result.reaction.values).all()


def test_a_saved_motion_is_the_same_and_can_be_gone_on_from(tmp_path):
    found = predict(minimum_time())
    found.save(tmp_path / "best.nc")
    loaded = kt.load_result(tmp_path / "best.nc")
    assert loaded.equals(found.result)
    again = predict(minimum_time(), start=loaded)
    assert again.duration == pytest.approx(found.duration, rel=1e-6)
    finer = predict(minimum_time(segments=40), start=loaded)
    assert finer.solved
    assert finer.duration < found.duration


def test_a_result_is_regridded_without_loss():
    from kinetree.motion.search.start import result_motion

    problem = minimum_time(segments=8)
    found = predict(problem)
    assert np.allclose(result_motion(problem, found.result), found.x, atol=1e-9)
    twice = minimum_time(segments=16)  # has all knots of the other
    x = result_motion(twice, found.result)
    q = twice.setting.unknowns.at(found.s).motion(x).q
    assert np.allclose(q, found.q, atol=1e-9)


def test_frozen_joints_have_control_points_too():
    problem = frozen_elbow(segments=6)
    found = predict(problem)
    points = all_control_points(found)
    assert (points[:, 1] == -1.0).all()
    assert np.allclose(problem.basis.matrix(found.s) @ points, found.q)
    assert predict(problem, start=found.result).duration == pytest.approx(found.duration, rel=1e-6)


def test_a_simulated_motion_is_a_start_but_another_mechanism_is_none():
    fall = kt.simulate(kt.zoo.two_link(), [0.0, -2.0], [1.0, 1.0], duration=1.0)
    assert predict(minimum_time(segments=6), start=fall).solved
    with pytest.raises(kt.errors.InputError, match="joints joint1, joint2"):
        predict(minimum_time(segments=6), start=kt.simulate(kt.zoo.gripper(), [0, 0, 0, 0], duration=0.01))


@pytest.mark.parametrize("solver", ["interior", "ipopt"])
def test_conditions_of_optimality_hold_and_fail_elsewhere(solver):
    found = predict(minimum_time(segments=8), solver=solver)
    good = optimality(found.problem.program, found.outcome)
    assert good.stationarity < 1e-5
    assert good.gap < 1e-4
    found.outcome.z = found.outcome.z + 1e-2
    assert optimality(found.problem.program, found.outcome).stationarity > 1e-4


def test_what_is_infeasible_fails_its_audit():
    found = predict(minimum_time(duration=0.3))
    assert not found.result.audit["solved"].passed
    assert not found.result.passed
    assert any("too short for the torque limit" in message for message in found.result.messages)


# ---- while it runs -----------------------------------------------------------------------------------
def test_the_best_motion_is_saved_on_the_way(tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "EVERY", 0.0)
    path = tmp_path / "run.nc"
    seen = []

    def look(step):
        if path.exists():
            seen.append(kt.load_result(path))

    found = predict(minimum_time(segments=4), solver="ipopt", save=path, progress=look)
    assert len(seen) > 3
    assert all(not x.complete and x.stop_reason == "still searching" for x in seen[:-1])
    assert kt.load_result(path).equals(found.result)
    assert [x.name for x in tmp_path.iterdir()] == ["run.nc"]


def test_what_is_saved_never_gets_worse(tmp_path, monkeypatch):
    """With several starts, an iterate of a later one does not replace what is solved."""
    monkeypatch.setattr(saving, "EVERY", 0.0)
    path, statuses = tmp_path / "run.nc", []

    def look(step):
        if path.exists():
            statuses.append(kt.load_result(path).statistics["status"].split()[0])

    predict(minimum_time(segments=4), solver="ipopt", save=path, progress=look, starts=2)
    first = statuses.index("solved")
    assert set(statuses[:first]) == {"searching"}
    assert set(statuses[first:]) == {"solved"}


def test_interrupted_searches_are_saved(tmp_path):
    path = tmp_path / "run.nc"

    def once(step):
        if step.iteration == 3:
            signal.raise_signal(signal.SIGINT)

    found = predict(minimum_time(), save=path, progress=once)
    loaded = kt.load_result(path)
    assert loaded.stop_reason == "interrupted"
    assert loaded.statistics["duration"] == found.duration
    assert predict(minimum_time(), start=loaded).solved

    def at_once(step):
        if step.iteration == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict(minimum_time(), solver="interior", save=path, force=True, progress=at_once)
    assert kt.load_result(path).stop_reason == "still searching"


def test_files_are_checked_before_anything_is_solved(tmp_path):
    taken = tmp_path / "taken.nc"
    taken.write_bytes(b"precious")
    told = []
    for path, message in (
        (taken, "already exists; pass force=True"),
        (tmp_path / "run.txt", "suffix"),
        (tmp_path / "nowhere" / "run.nc", "the folder .* does not exist"),
    ):
        with pytest.raises(kt.errors.FileError, match=message):
            predict(minimum_time(segments=4), save=path, progress=told.append)
    assert told == []
    assert taken.read_bytes() == b"precious"
    predict(minimum_time(segments=4), save=taken, force=True)
    assert kt.load_result(taken).task == "predict"


def test_a_full_disk_does_not_lose_the_motion(tmp_path, monkeypatch):
    def full(result, path, force):
        raise kt.errors.FileError("no space left")

    monkeypatch.setattr(saving, "save_result", full)
    with pytest.warns(saving.SaveWarning, match="no space left"):
        found = predict(minimum_time(segments=4), save=tmp_path / "run.nc")
    assert found.solved


def test_time_left_is_what_a_steady_fall_promises():
    trend = progress.Trend(SolverSettings(tolerance=1e-6))
    for k in range(9):
        left = trend.left(Progress(k, 1.0 + 0.5**k, 1e-8, 3.0 * k))
    needed = np.log(1e-6 / 0.5**8) / np.log(0.5)  # iterations until the change is below the tolerance
    assert left == pytest.approx(3.0 * needed, rel=0.1)


def test_time_left_is_unknown_without_a_trend_and_never_beyond_the_limits():
    rng = np.random.default_rng(1)
    trend = progress.Trend(SolverSettings())
    told = [trend.left(Progress(k, rng.uniform(), 1.0, float(k))) for k in range(20)]
    assert told == [None] * 20
    capped = progress.Trend(SolverSettings(tolerance=1e-9, time_limit=10.0))
    for k in range(9):
        left = capped.left(Progress(k, 1.0 + 0.9**k, 0.9**k, float(k)))
    assert left == pytest.approx(2.0)


def test_progress_tells_the_time_left():
    seen = []
    predict(minimum_time(), progress=seen.append)
    known = [step.left for step in seen if step.left is not None]
    assert known and known[-1] == 0.0
    assert "time left unknown" in str(seen[0])
    assert "about 0 s left" in str(seen[-1])
    several = []
    predict(minimum_time(segments=6), starts=3, progress=several.append)
    assert several[0].left is None
    assert several[-1].left is not None


def test_a_line_is_shown_on_a_terminal_only(monkeypatch, capsys):
    monkeypatch.setattr("kinetree.progress.PATIENCE", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if it were a terminal
    predict(minimum_time(segments=4))
    predict(minimum_time(segments=4), progress=False)
    assert capsys.readouterr().err == ""
    predict(minimum_time(segments=4), progress=True)
    assert "objective" in capsys.readouterr().err
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    predict(minimum_time(segments=4))
    assert "infeasibility" in capsys.readouterr().err


def test_six_axes_with_their_audit():
    found = predict(kuka(), between=None)
    failed = [name for name, check in found.result.audit.items() if not check.passed]
    assert failed == ["between_samples"]
    result = tighten(found).result
    assert result.passed, result.audit
    assert result.reaction.shape[1:] == (6, 6)


def test_least_effort_needs_no_limits_for_a_result():
    ends = from_rest_to_rest([0, 0], [1, 1])
    problem = Problem(kt.zoo.two_link(), objective=SquaredTorque(), constraints=ends, duration=1.0)
    result = predict(problem).result
    assert result.passed, result.audit
    assert result.statistics["reached"] == []
    assert result.messages == ()
