"""Files to begin with: made by options or by answers, clean, and running."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli import app
from kinetree.lint.study import check_file
from kinetree.study.new_mechanism import TEMPLATES
from kinetree.study.new_study import TASKS


def kinetree(*arguments, **options):
    return CliRunner().invoke(app, [str(x) for x in arguments], **options)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("template", TEMPLATES)
def test_every_mechanism_is_clean_and_commented(template):
    result = kinetree("new", "mechanism", "mine", "--template", template)
    assert (result.exit_code, result.stderr) == (0, "")
    assert check_file("mine.toml") == []
    mechanism = kt.load("mine.toml")
    assert mechanism.name == "mine" and mechanism.n_dof >= 1
    assert Path("mine.toml").read_text().count("#") >= 4


def test_the_answers_are_in_the_mechanism():
    given = ("--template", "arm", "--links", 3, "--length", 0.7, "--mass", 2.5)
    assert kinetree("new", "mechanism", "long", *given, "--quiet").output == ""
    arm = kt.load("long.toml")
    assert arm.n_bodies == 3 and arm.mass == pytest.approx(7.5)
    assert arm.links[2].placement.position.tolist() == [0.7, 0, 0]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("model", ["cart.toml", "gripper"])
def test_every_study_is_clean_and_runs(task, model):
    kinetree("new", "mechanism", "cart", "--template", "cart")
    assert (
        kinetree("new", "study", "mine", "--template", task, "--model", model, "--duration", 0.5).exit_code
        == 0
    )
    assert check_file("mine.toml") == []
    result = kinetree("run", "mine.toml", "--json")
    assert json.loads(result.stdout.splitlines()[-1])["status"] == "ok", result.output
    assert kt.load_result("mine.nc").task == task


def test_a_prediction_with_closed_loops_is_not_begun():
    result = kinetree("new", "study", "mine", "--template", "predict", "--model", "three_rrr")
    assert result.exit_code == 2
    assert "closed loops" in result.output
    assert not Path("mine.toml").exists()


def test_a_study_of_a_legged_robot_stands_on_the_ground():
    kinetree("new", "mechanism", "robot", "--template", "legged")
    assert kinetree("new", "study", "fall", "--model", "robot.toml", "--duration", 0.05).exit_code == 0
    assert "[ground]" in Path("fall.toml").read_text()
    assert kinetree("run", "fall.toml", "--quiet").exit_code == 0
    refused = kinetree("new", "study", "walk", "--model", "robot.toml", "--template", "predict")
    assert refused.exit_code == 2 and "examples copy" in refused.stderr and not Path("walk.toml").exists()


def test_a_study_in_another_folder_finds_its_mechanism():
    kinetree("new", "mechanism", "arm")
    kinetree("new", "study", "deep/er/mine", "--model", "arm.toml")
    assert 'file = "../../arm.toml"' in Path("deep/er/mine.toml").read_text()
    assert check_file("deep/er/mine.toml") == []


def test_motions_of_new_studies_keep_within_limits():
    from kinetree.study.new_study import start_and_end

    for name in ("kuka_kr5", "biped_fixed"):
        mechanism = kt.zoo.by_name(name)
        for pose in start_and_end(mechanism):
            assert (pose >= mechanism.tree.lower - 1e-12).all() and (
                pose <= mechanism.tree.upper + 1e-12
            ).all()
        start, end = start_and_end(mechanism)
        assert (np.abs(end - start) > 0.01).all()


def test_on_a_terminal_it_asks(monkeypatch):
    monkeypatch.setattr("kinetree.cli.new.sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(
        "kinetree.cli.new.Asking.__init__", lambda self, possible: setattr(self, "possible", True)
    )
    result = kinetree("new", "mechanism", "asked", input="pendulum\n0.5\n\n")
    assert result.exit_code == 0 and "Template (arm, pendulum" in result.output
    bob = kt.load("asked.toml")
    assert bob.body_names == ("bob",) and bob.mass == 1.0
    assert bob.links[0].body.inertia.center[2] == pytest.approx(-0.25)


BAD = {
    "kind": (["mechansim", "x"], "Did you mean 'mechanism'?"),
    "template": (["mechanism", "x", "--template", "arms"], "Did you mean 'arm'?"),
    "task": (["study", "x", "--template", "inverze"], "Did you mean 'inverse'?"),
    "links": (["mechanism", "x", "--links", 0], "from 1 to 50, got 0"),
    "mass": (["mechanism", "x", "--mass", -1], "mass must be a number > 0, got -1"),
    "model": (["study", "x", "--model", "griper"], "Did you mean 'gripper'?"),
    "duration": (["study", "x", "--duration", 0], "duration must be a number > 0 (s), got 0"),
    "option of the other": (["study", "x", "--mass", 1], "a study has no --mass"),
    "exists": (["mechanism", "here"], "exists already; use --force"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_answers_write_nothing(case):
    Path("here.toml").write_text("precious")
    arguments, reason = BAD[case]
    result = kinetree("new", *arguments)
    assert result.exit_code == 2 and reason in result.stderr and "Traceback" not in result.output
    assert Path("here.toml").read_text() == "precious" and not Path("x.toml").exists()


def test_force_replaces():
    Path("here.toml").write_text("old")
    assert kinetree("new", "mechanism", "here.toml", "--force").exit_code == 0
    assert kt.load("here.toml").name == "here"
