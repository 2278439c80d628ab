"""The command line: what it prints and writes, and how it refuses."""

import csv
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from kinetree import __version__
from kinetree.cli import app
from kinetree.model import zoo
from kinetree.study.models import shipped
from support import reference
from support.stand_ins import interrupted

COMMANDS = ("demo", "info", "draw", "zoo", "schema")
PENDULUM = """
name = "pendulum"
[[body]]
name = "bob"
joint = { name = "pivot", kind = "revolute", axis = "y", lower = -1, upper = "90 deg", effort_limit = 5 }
point = { mass = 1, at = [0, 0, -0.5] }
"""


def kinetree(*arguments):
    return CliRunner().invoke(app, [str(x) for x in arguments])


def in_process(*arguments, cwd, **environment):
    """The real command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "kinetree", *arguments],
        cwd=cwd, env=os.environ | environment, capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.fixture
def pendulum(tmp_path):
    path = tmp_path / "pendulum.toml"
    path.write_text(PENDULUM)
    return path


def test_help_names_every_command():
    result = kinetree("--help")
    assert result.exit_code == 0
    assert all(command in result.output for command in COMMANDS)


def test_version():
    result = kinetree("--version")
    assert (result.exit_code, result.output) == (0, f"kinetree {__version__}\n")


@pytest.mark.parametrize("name", zoo.ZOO)
def test_info_names_every_body_and_joint(name):
    result = CliRunner().invoke(app, ["info", name], env={"COLUMNS": "200"})
    mechanism = zoo.by_name(name)
    assert result.exit_code == 0
    assert all(word in result.output for word in (*mechanism.body_names, *mechanism.joint_names))
    bodies = "1 body" if mechanism.n_bodies == 1 else f"{mechanism.n_bodies} bodies"
    noun = "coordinate" if mechanism.loops else "degree"
    assert f": {bodies}, {mechanism.n_dof} {noun}" in result.output


def test_info_shows_tree_joints_limits_and_modules(pendulum):
    lines = kinetree("info", pendulum).output.splitlines()
    assert lines[0] == "pendulum: 1 body, 1 degree of freedom, 1 kg, gravity (0, 0, -9.81) m/s^2"
    assert "└── bob  pivot: revolute, 1 kg" in lines
    (row,) = [line.split() for line in lines if line.startswith("pivot")]
    assert row == ["pivot", "revolute", "about", "y", "-1", "rad", "1.571", "rad", "none", "5", "N", "m"]
    assert "  M1: bob  (on M0)" in lines


def test_info_prints_names_that_look_like_markup_as_they_are(tmp_path):
    path = tmp_path / "odd.toml"
    path.write_text(PENDULUM.replace('"bob"', '"[red]bob[/red] :smile:"'))
    assert "[red]bob[/red] :smile:" in kinetree("info", path).output


def test_zoo_lists_every_mechanism():
    result = kinetree("zoo")
    assert result.exit_code == 0
    assert all(name in result.output for name in zoo.ZOO)


def test_schema_is_json_that_knows_the_keys_of_a_file():
    schema = json.loads(kinetree("schema").output)
    tree, graph = (schema["$defs"][schema[way]["$ref"].split("/")[-1]] for way in ("else", "then"))
    assert {"name", "gravity", "body", "loop", "contact"} <= tree["properties"].keys()
    assert {"name", "gravity", "body", "joint", "contact"} <= graph["properties"].keys()


def test_draw_writes_a_picture(tmp_path, pendulum):
    path = tmp_path / "new" / "pendulum.png"
    result = kinetree("draw", pendulum, "--q=-0.5", "--output", path, "--labels")
    assert result.exit_code == 0
    assert path.read_bytes().startswith(b"\x89PNG")


def test_draw_names_the_picture_after_the_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert kinetree("draw", "gripper").exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["gripper.png"]


def test_draw_replaces_a_picture_only_when_asked(tmp_path, pendulum):
    path = tmp_path / "p.svg"
    path.write_text("precious")
    assert kinetree("draw", pendulum, "--output", path).exit_code == 2
    assert path.read_text() == "precious"
    assert kinetree("draw", pendulum, "--output", path, "--force").exit_code == 0
    assert "<svg" in path.read_text()


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clean")
    run = in_process("demo", cwd=folder)
    assert (run.returncode, run.stderr) == (0, "")
    assert all(joint in run.stdout for joint in ("joint1", "joint4"))
    return folder / "demo"


def test_demo_leaves_picture_and_table(demo_folder):
    assert sorted(path.name for path in demo_folder.iterdir()) == ["demo.csv", "demo.png"]
    assert (demo_folder / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_a_second_demo_has_its_own_folder(demo_folder):
    before = (demo_folder / "demo.png").stat().st_mtime_ns
    again = in_process("demo", cwd=demo_folder.parent)
    assert again.returncode == 0 and "demo2" in again.stdout
    assert (demo_folder.parent / "demo2" / "demo.csv").is_file()
    assert (demo_folder / "demo.png").stat().st_mtime_ns == before


def test_demo_agrees_with_the_reference(demo_folder):
    """Torques and falling angles in the table against Pinocchio's and DOP853's at 1e-13."""
    with open(demo_folder / "demo.csv", newline="") as file:
        head, *rows = csv.reader(file)
    values = np.array(rows, dtype=float)
    expected = reference.read("gripper.json")
    driven, fall = expected["inverse_dynamics"], expected["free_fall"][0]
    times = np.searchsorted(values[:, 0], np.array(driven["t"]) - 1e-6)
    for quantity, wanted, worst in (
        ("driven angle", driven["q"], 1e-11),
        ("driven torque", driven["tau"], 1e-11),
        ("falling angle", fall["q"][: len(times)], 1e-7),
    ):
        columns = [k for k, name in enumerate(head) if name.startswith(quantity)]
        assert np.abs(values[times][:, columns] - wanted).max() < worst


def test_demo_does_not_overwrite(demo_folder):
    before = (demo_folder / "demo.csv").read_bytes()
    result = kinetree("demo", "--output", demo_folder)
    assert result.exit_code == 2
    assert "already exists; use --force" in result.output
    assert (demo_folder / "demo.csv").read_bytes() == before


def test_demo_overwrites_when_forced(tmp_path, demo_folder):
    for name in ("demo.png", "demo.csv"):
        (tmp_path / name).write_text("old")
    assert kinetree("demo", "--output", tmp_path, "--force").exit_code == 0
    assert (tmp_path / "demo.csv").read_bytes() == (demo_folder / "demo.csv").read_bytes()


BAD = {
    "unknown model": (["info", "griper"], "Did you mean 'gripper'?"),
    "no such file": (["info", "none.toml"], "no such file"),
    "folder for a model": (["info", "folder.png"], "folder.png"),
    "suffix": (["info", "arm.docx"], ".docx"),
    "no TOML": (["info", "broken.toml"], "broken.toml"),
    "negative mass": (["info", "wrong.toml"], "-1"),
    "q is no number": (["draw", "gripper", "--q", "0,x,0,0"], "0,x,0,0"),
    "q too short": (["draw", "gripper", "--q", "1,2"], "shape (2,)"),
    "q infinite": (["draw", "gripper", "--q", "inf,0,0,0"], "joint1"),
    "no picture": (["draw", "gripper", "--output", "x.gif"], ".gif"),
    "picture is a folder": (["draw", "gripper", "--output", "folder.png"], "is a folder"),
    "picture exists": (["draw", "gripper", "--output", "here.png"], "--force"),
    "picture in a file": (["draw", "gripper", "--output", "here.png/x.png"], "not a folder"),
    "demo in a file": (["demo", "--output", "here.png"], "not a folder"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_exit_code_2(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("broken.toml").write_text("name = ")
    Path("wrong.toml").write_text(PENDULUM.replace("mass = 1", "mass = -1"))
    Path("arm.docx").touch()
    Path("here.png").touch()
    Path("folder.png").mkdir()
    arguments, reason = BAD[case]
    result = kinetree(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert reason in result.stderr


@pytest.mark.parametrize("arguments", [["nonsense"], ["info"], ["draw", "gripper", "--size", "3"]])
def test_bad_usage_is_exit_code_2(arguments):
    result = kinetree(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_an_interruption_is_exit_code_130(tmp_path, monkeypatch):
    monkeypatch.setattr("kinetree.study.demo.run_demo", interrupted)
    result = kinetree("demo", "--output", tmp_path / "demo")
    assert result.exit_code == 130
    assert not (tmp_path / "demo").exists()


def test_an_unwritable_folder_is_reported(tmp_path, monkeypatch):
    def refuse(*paths):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("kinetree.formats.regular_file.os.replace", refuse)
    result = kinetree("draw", "gripper", "--output", tmp_path / "g.png")
    assert result.exit_code == 2
    assert "cannot be written: Permission denied" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_without_unicode_is_served(tmp_path):
    path = tmp_path / "odd.toml"
    path.write_text(PENDULUM.replace('"bob"', '"Kügelchen"'), encoding="utf-8")
    run = in_process("info", str(path), cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert (run.returncode, run.stderr) == (0, "")
    assert "K?gelchen" in run.stdout


def test_bad_input_has_no_traceback_in_a_real_process(tmp_path):
    run = in_process("info", "nothing.urdf", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("error: nothing.urdf") and "Traceback" not in run.stderr


def test_shipped_files_can_be_shown():
    """A file of the package is read like any other."""
    from importlib import resources

    with resources.as_file(resources.files("kinetree") / "data" / "quadruped.toml") as path:
        result = kinetree("info", path)
    assert result.exit_code == 0
    assert shipped("quadruped").name in result.output


def test_equal_warnings_of_a_command_are_printed_once(monkeypatch):
    """Python shows a warning once per line of code; here two lines of code give the same one."""

    def load_twice(*_, **__):
        warnings.warn("arm.urdf: one thing is ignored", UserWarning, stacklevel=1)
        warnings.warn("arm.urdf: one thing is ignored", UserWarning, stacklevel=1)
        warnings.warn("arm.urdf: another thing is ignored", UserWarning, stacklevel=1)
        return zoo.two_link()

    monkeypatch.setattr("kinetree.study.models.mechanism_of", load_twice)
    result = CliRunner().invoke(app, ["info", "two_link"])
    assert result.stderr.splitlines() == [
        "warning: arm.urdf: one thing is ignored",
        "warning: arm.urdf: another thing is ignored",
    ]
