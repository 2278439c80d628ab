"""Interrupting, full disks, read-only folders: what was computed is kept, and there are no half files."""

import json
import signal
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli import app
from support.stand_ins import disk_full, interrupted

LAWS = """
import os, signal
calls = [0]

def stops(t, q, qd):
    if t > 0.05:
        os.kill(os.getpid(), signal.SIGNAL)
    return 0 * q

def once(t, q, qd):
    calls[0] += 1
    if calls[0] > 200:
        os.kill(os.getpid(), signal.SIGNAL)
    return 0 * q
"""
HEAD = '[mechanism]\nzoo = "gripper"\n[output]\nsamples = 11\n'
MOTION = '[trajectory]\nkind = "cycloid"\nstart = 0\nend = 0.5\nduration = 0.2\n'
STUDIES = {
    "simulate": 'torque = "laws.py:stops"\n[study]\ntask = "simulate"\nduration = 0.2\n'
    + HEAD
    + "[integrator]\nmax_step = 1e-3\n",
    "control": '[study]\ntask = "control"\nduration = 0.2\n'
    + HEAD
    + MOTION
    + '[controller]\nkind = "function"\nfunction = "laws.py:stops"\n[integrator]\nmax_step = 1e-3\n',
}


@pytest.fixture(params=["SIGINT", "SIGTERM"])
def folder(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("laws.py").write_text(LAWS.replace("SIGNAL", request.param))
    return tmp_path


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def kinetree(*arguments):
    return CliRunner().invoke(app, [str(x) for x in arguments])


def only_once(function):
    """A function whose second call is interrupted."""
    calls = []

    def called(*arguments, **options):
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return function(*arguments, **options)

    return called


def interrupted_at(call, function):
    """The function, with a real Ctrl-C in one of its calls."""
    calls = []

    def called(*arguments, **options):
        calls.append(1)
        if len(calls) == call:
            signal.raise_signal(signal.SIGINT)
        return function(*arguments, **options)

    return called


def status(result):
    return json.loads(result.stdout.splitlines()[-1])["status"]


@pytest.mark.parametrize("task", STUDIES)
def test_a_motion_is_kept_as_far_as_it_came(task, folder):
    Path("s.toml").write_text(STUDIES[task])
    result = kinetree("run", "s.toml", "--allow-code", "laws.py", "--json")
    assert result.exit_code == 130 and status(result) == "interrupted"
    saved = kt.load_result("s.nc")
    assert saved.task == task and saved.stop_reason == "interrupted"
    assert 0.04 < saved.time.values[-1] < 0.07


def test_a_comparison_keeps_the_cases_that_are_done(folder):
    text = STUDIES["simulate"].replace('torque = "laws.py:stops"\n', "").replace('"simulate"', '"compare"', 1)
    text += '[compare]\ntask = "simulate"\n[[compare.case]]\nname = "free"\n'
    text += '[[compare.case]]\nname = "stopped"\ntorque.function = "laws.py:stops"\n'
    text += '[[compare.case]]\nname = "never"\n'
    Path("s.toml").write_text(text)
    result = kinetree("run", "s.toml", "--allow-code", "laws.py", "--json")
    assert result.exit_code == 130, result.output
    saved = kt.load_result("s.nc")
    assert saved["case"].values.tolist() == ["free", "stopped"] and saved.stop_reason == "interrupted"
    q = saved.q.sel(case="stopped").values
    assert np.isfinite(q[0]).all() and np.isnan(q[-1]).all()


def test_a_comparison_of_tasks_without_parts_keeps_whole_cases(place, monkeypatch):
    import kinetree.analysis.inverse as inverse

    text = '[study]\ntask = "compare"\n' + HEAD + MOTION + '[compare]\ntask = "inverse"\n'
    text += '[[compare.case]]\nname = "one"\n[[compare.case]]\nname = "two"\ntrajectory.end = 0.6\n'
    Path("s.toml").write_text(text)
    monkeypatch.setattr(inverse, "inverse_dynamics", only_once(inverse.inverse_dynamics))
    result = kinetree("run", "s.toml")
    assert result.exit_code == 130 and "interrupted" in result.stderr
    saved = kt.load_result("s.nc")
    assert saved["case"].values.tolist() == ["one"] and saved.stop_reason == "interrupted"


def test_torques_of_a_motion_are_kept_as_far_as_they_came(place, monkeypatch):
    import kinetree.analysis.inverse as inverse

    Path("s.toml").write_text('[study]\ntask = "inverse"\n' + HEAD + MOTION)
    whole = kt.run("s.toml")
    monkeypatch.setattr("kinetree.study.tasks.inverse.BLOCK", 4)
    monkeypatch.setattr(inverse, "inverse_dynamics", interrupted_at(3, inverse.inverse_dynamics))
    result = kinetree("run", "s.toml", "--json")
    assert result.exit_code == 130 and status(result) == "interrupted"
    saved = kt.load_result("s.nc")
    assert not saved.complete and saved.stop_reason == "interrupted"
    assert saved.audit["round_trip"].passed and len(saved.time) == 8
    assert saved.stopped_at == whole.time.values[7]
    for name in whole.variables:
        assert np.array_equal(saved[name].values, whole[name].values[:8])


def test_torques_in_blocks_are_those_of_the_whole(place, monkeypatch):
    Path("s.toml").write_text(
        '[study]\ntask = "inverse"\n' + HEAD.replace("[output]", "[output]\nreactions = true") + MOTION
    )
    whole = kt.run("s.toml")
    monkeypatch.setattr("kinetree.study.tasks.inverse.BLOCK", 3)
    parts, told = kt.run("s.toml"), []
    assert parts.complete and np.allclose(parts.reaction, whole.reaction, rtol=1e-13)
    assert parts.audit["round_trip"].value == pytest.approx(whole.audit["round_trip"].value, abs=1e-13)
    kt.run("s.toml", progress=told.append)
    assert told == pytest.approx([3 / 11, 6 / 11, 9 / 11, 1.0])


def test_a_comparison_keeps_the_part_of_its_first_case(place, monkeypatch):
    import kinetree.analysis.inverse as inverse

    text = '[study]\ntask = "compare"\n' + HEAD + MOTION + '[compare]\ntask = "inverse"\n'
    text += '[[compare.case]]\nname = "one"\n[[compare.case]]\nname = "two"\ntrajectory.end = 0.6\n'
    Path("s.toml").write_text(text)
    monkeypatch.setattr("kinetree.study.tasks.inverse.BLOCK", 4)
    monkeypatch.setattr(inverse, "inverse_dynamics", interrupted_at(2, inverse.inverse_dynamics))
    assert kinetree("run", "s.toml").exit_code == 130
    saved = kt.load_result("s.nc")
    assert saved["case"].values.tolist() == ["one"] and saved.stop_reason == "interrupted"
    assert len(saved.time) == 4 and np.isfinite(saved.tau.values).all()


def test_torques_to_be_fed_forward_are_kept_as_far_as_they_came(place, monkeypatch):
    import kinetree.simulation.run as run

    text = (
        '[study]\ntask = "control"\nduration = 0.2\n[mechanism]\nzoo = "planar_biped"\n[initial]\n'
        'q = { "base.ty" = 2 }\n[trajectory]\nkind = "hold"\nstart = { "base.ty" = 2 }\n'
        '[controller]\nkind = "feedforward"\nkp = 1\nkd = 1\n[integrator]\nmax_step = 1e-3\n'
    )
    Path("s.toml").write_text(text)
    monkeypatch.setattr(run, "LOOK", 20)  # steps between two judgements
    monkeypatch.setattr(run, "moved_on", interrupted_at(2, run.moved_on))
    result = kinetree("run", "s.toml")
    assert result.exit_code == 130, result.output
    saved = kt.load_result("s.nc")
    assert saved.task == "control" and 0.0 < saved.stopped_at < 0.2
    assert "under the exact law" in saved.messages[-1]


def test_a_stability_study_keeps_the_algorithms_that_are_done(place, monkeypatch):
    import kinetree.documents.stability as stability

    monkeypatch.setattr(stability, "forced_run", only_once(stability.forced_run))
    result = kinetree("run", "puma_stability", "--json", "--set", "study.duration=2")
    assert result.exit_code == 130 and status(result) == "interrupted"
    saved = kt.load_result("puma_stability.nc")
    assert saved["algorithm"].values.tolist() == ["articulated"] and saved.stop_reason == "interrupted"
    assert np.isfinite(saved.q_error.values[0, 0]).all()


def test_a_stability_study_keeps_the_algorithm_that_is_under_way(place, monkeypatch):
    import kinetree.documents.forced_simulation as forced

    monkeypatch.setattr(forced, "forward_dynamics", interrupted_at(300, forced.forward_dynamics))
    assert kinetree("run", "puma_stability", "--set", "study.duration=2").exit_code == 130
    saved = kt.load_result("puma_stability.nc")
    assert saved["algorithm"].values.tolist() == ["articulated"] and 0.0 < saved.stopped_at < 2.0
    known = saved.time.values <= saved.stopped_at
    assert (
        np.isfinite(saved.q_error.values[0, known]).all() and np.isnan(saved.q_error.values[0, ~known]).all()
    )


def test_a_study_that_has_nothing_yet_leaves_nothing(place, monkeypatch):
    monkeypatch.setattr("kinetree.analysis.inverse.inverse_dynamics", interrupted)
    result = kinetree("run", "gripper_inverse_dynamics")
    assert result.exit_code == 130 and "before there was anything to save" in result.stderr
    monkeypatch.setattr("kinetree.documents.stability.forced_run", interrupted)
    assert kinetree("run", "puma_stability", "--set", "study.duration=2").exit_code == 130
    assert list(place.iterdir()) == []


def test_a_prediction_keeps_its_last_iterate(place):
    Path("goal.py").write_text(
        "import os, signal\ncalls = [0]\n\ndef effort(s, q, qd, qdd, tau):\n    calls[0] += 1\n"
        "    if calls[0] == 12:\n        os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return (tau ** 2).sum(-1)\n"
    )
    Path("s.toml").write_text(
        '[study]\ntask = "predict"\nduration = 1\n[mechanism]\nzoo = "two_link"\n'
        '[predict]\nobjective = "function"\n'
        'function = "goal.py:effort"\nstart = { q = [0, 0] }\nend = { q = [1, 1] }\nsegments = 6\n'
    )
    result = kinetree("run", "s.toml", "--allow-code", "goal.py", "--json")
    assert result.exit_code == 130 and status(result) == "interrupted", result.output
    saved = kt.load_result("s.nc")
    assert saved.stop_reason == "interrupted" and np.allclose(saved.q.values[-1], 1.0)


@pytest.mark.parametrize("command", [["verify", "puma"], ["derivatives", "puma"], ["bench", "puma"]])
def test_other_commands_say_that_they_were_interrupted(command, monkeypatch):
    monkeypatch.setattr("kinetree.study.models.mechanism_of", interrupted)
    result = kinetree(*command)
    assert (result.exit_code, result.stderr) == (130, "interrupted\n")


def test_the_handler_of_signals_is_put_back():
    before = signal.getsignal(signal.SIGTERM)
    assert kinetree("zoo", "--json").exit_code == 0
    assert signal.getsignal(signal.SIGTERM) is before


# ---- disks ----------------------------------------------------------------------------------------------

WRITERS = {
    "run": ["run", "gripper_inverse_dynamics", "--set", "output.samples=5"],
    "new": ["new", "mechanism", "arm"],
    "convert": ["convert", "gripper", "gripper.toml"],
    "copy": ["examples", "copy", "gripper_free_fall"],
    "draw": ["draw", "gripper"],
}


@pytest.mark.parametrize("case", WRITERS)
def test_a_full_disk_is_told_and_leaves_no_half_file(case, place, monkeypatch):
    monkeypatch.setattr("kinetree.formats.regular_file.os.fsync", disk_full)
    result = kinetree(*WRITERS[case])
    assert result.exit_code == 2 and "cannot be written: No space left on device" in result.stderr
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("case", WRITERS)
def test_a_read_only_folder_is_told(case, place, monkeypatch):
    real = open

    def locked(file, mode="r", *arguments, **options):
        if "x" in mode:
            raise PermissionError(13, "Permission denied")
        return real(file, mode, *arguments, **options)

    monkeypatch.setattr("builtins.open", locked)
    result = kinetree(*WRITERS[case])
    assert result.exit_code == 2 and "cannot be written: Permission denied" in result.stderr
    assert list(place.iterdir()) == []
