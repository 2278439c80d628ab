"""Old names work for one version, with a warning that says the new one, and nothing of our own uses them."""

import importlib
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import kinetree
from kinetree.renamed import OF_OTHERS, REMOVED_IN, RENAMED, main, with_new_names


def place(dotted):
    """(module, name) of a name below the package."""
    room, _, name = f"kinetree.{dotted}".rpartition(".")
    return importlib.import_module(room), name


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_name_warns_and_is_the_same_object(old):
    before, name = place(old)
    after, new = place(RENAMED[old])
    with pytest.warns(DeprecationWarning, match=re.escape(f"is now kinetree.{RENAMED[old]};")) as seen:
        found = getattr(before, name)
    assert found is getattr(after, new)
    assert {Path(warning.filename) for warning in seen} == {Path(__file__)}
    assert f"will be removed in version {REMOVED_IN}" in str(seen[0].message)


def test_an_old_name_can_be_imported():
    with pytest.warns(DeprecationWarning, match="kinetree.Poses is now"):
        from kinetree import Poses
    assert Poses is kinetree.analysis.Poses


@pytest.mark.parametrize("name", OF_OTHERS)
def test_names_of_other_libraries_lead_to_ours(name):
    assert OF_OTHERS[name] in kinetree.__all__ and name not in kinetree.__all__
    with pytest.raises(AttributeError, match=f"has no name '{name}'; use kinetree.{OF_OTHERS[name]}$"):
        getattr(kinetree, name)


def test_names_of_rooms_are_found_from_the_package():
    with pytest.raises(AttributeError, match=r"use kinetree\.control\.PD$"):
        getattr(kinetree, "PD")  # noqa: B009  (a type checker would know better)
    with pytest.raises(AttributeError, match="Did you mean 'simulate'"):
        getattr(kinetree, "simulat")  # noqa: B009


def test_old_names_are_not_shown():
    for old in RENAMED:
        room, name = place(old)
        assert name not in dir(room) and name not in room.__all__


def test_an_unknown_name_of_a_room_is_no_old_one():
    for room in ("simulation", "motion", "trajectories", "control", "human"):
        with pytest.raises(AttributeError, match=r"no attribute|No kinetree"), warnings.catch_warnings():
            warnings.simplefilter("error")
            getattr(getattr(kinetree, room), "Nothing")  # noqa: B009


def test_no_new_name_is_old_as_well():
    assert set(RENAMED.values()) & set(RENAMED) == set()


def test_a_program_gets_the_new_names(tmp_path, capsys):
    program = tmp_path / "mine.py"
    program.write_text(
        "import kinetree as kt\nfrom kinetree import Target\nx: kt.Poses\n"
        "kt.Poses_of, my.kt.Poses, kt.analysis.Poses\n"
        "raise kt.InputError(kinetree.simulation.Motion)\n",
        encoding="utf-8",
    )
    before = program.read_text()
    assert main([str(program)]) == 1 and program.read_text() == before
    assert "mine.py:3: kt.Poses is now kt.analysis.Poses" in capsys.readouterr().out
    assert main([str(program), "--write"]) == 1
    assert program.read_text().splitlines()[2:] == [
        "x: kt.analysis.Poses",
        "kt.Poses_of, my.kt.Poses, kt.analysis.Poses",
        "raise kt.errors.InputError(kinetree.simulation.Rollout)",
    ]
    left = capsys.readouterr().out
    assert left.count("\n") == 1 and "from kinetree.analysis import Target" in left


def test_names_are_found_in_imports_of_several_lines(tmp_path, capsys):
    program = tmp_path / "mine.py"
    program.write_text(
        "from kinetree import (  # Target\n    Poses,\n    simulate,\n    Simulator as S,\n)\n",
        encoding="utf-8",
    )
    assert main([str(program)]) == 1
    assert [line.partition("mine.py:")[2] for line in capsys.readouterr().out.splitlines()] == [
        "2: from kinetree import Poses is now from kinetree.analysis import Poses",
        "4: from kinetree import Simulator is now from kinetree.simulation import Simulator",
    ]


def test_a_notebook_stays_one(tmp_path):
    cell = {"cell_type": "code", "source": ['kt.Simulator(arm, times="x")\n']}
    assert json.loads(with_new_names(json.dumps({"cells": [cell]})))["cells"][0]["source"] == [
        'kt.simulation.Simulator(arm, times="x")\n'
    ]


def test_the_command_refuses_what_is_no_text(tmp_path):
    (tmp_path / "x.bin").write_bytes(b"\xff\xfe\x00")
    run = subprocess.run(
        [sys.executable, "-m", "kinetree.renamed", str(tmp_path / "x.bin")], capture_output=True, text=True
    )
    assert run.returncode == 2 and "cannot read" in run.stderr and "Traceback" not in run.stderr


def test_old_spellings_warn_and_mean_the_same():
    with pytest.warns(DeprecationWarning, match=r"normalised=\.\.\.\) is now normalized=\.\.\."):
        assert kinetree.terms.SquaredTorque(normalised=True).normalized is True
    robot = kinetree.zoo.quadruped()
    still = [0.0] * robot.n_dof
    touch = kinetree.simulation.contact_forces(robot, kinetree.Ground(), still, still)
    with pytest.warns(DeprecationWarning, match=r"ContactForces\.centre is now center"):
        assert touch.centre is touch.center
