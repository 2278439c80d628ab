"""What ``kinetree info`` tells about results and about huge mechanisms."""

import json
from time import perf_counter

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli import app
from kinetree.report.terminal import DEEPEST, MOST


def kinetree(*arguments):
    return CliRunner().invoke(app, [str(x) for x in arguments], env={"COLUMNS": "120"})


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """A short fall, and its file."""
    fall = kt.simulate(kt.zoo.gripper(), [-1.0, 0.0, 0.0, 0.0], duration=0.05, times=7)
    path = tmp_path_factory.mktemp("info") / "fall.nc"
    fall.save(path)
    return fall, path


def test_a_result_tells_task_model_variables_audit_and_versions(result):
    fall, path = result
    told = kinetree("info", path)
    assert told.exit_code == 0
    lines = told.stdout.splitlines()
    assert lines[0] == "Result: simulate 'gripper', 4 degrees of freedom, 7 samples, 0 to 0.05 s"
    for name in fall.variables:
        assert any(line.split()[:1] == [name] for line in lines), name
    assert "energy_balance  passed" in told.stdout
    assert f"kinetree {kt.__version__}" in told.stdout


def test_a_result_as_json(result):
    fall, path = result
    told = json.loads(kinetree("info", path, "--json").stdout)
    assert (told["task"], told["model"], told["n_dof"], told["samples"]) == ("simulate", "gripper", 4, 7)
    assert (told["start"], told["end"], told["complete"], told["passed"]) == (0.0, 0.05, True, True)
    assert {*told["variables"]} == {*fall.variables}
    assert told["variables"]["q"] == {
        "dimensions": ["time", "joint"],
        "shape": [7, 4],
        "unit": "rad",
        "meaning": "position",
    }
    assert told["audit"]["energy_balance"]["value"] == fall.audit["energy_balance"].value
    assert told["settings"]["rtol"] == fall.settings["rtol"]
    assert told["provenance"]["numpy"] == np.__version__


def test_units_of_a_result_that_differ_are_listed(tmp_path):
    slide = kt.simulate(kt.zoo.two_link_prismatic(), [0.1, 0.2], duration=0.01, times=3)
    slide.save(tmp_path / "slide.nc")
    told = json.loads(kinetree("info", tmp_path / "slide.nc", "--json").stdout)
    assert told["variables"]["q"]["unit"] == list(slide.units("q"))
    assert {*told["variables"]["q"]["unit"]} == {"rad", "m"}


def test_a_file_that_is_no_result_is_refused(tmp_path):
    (tmp_path / "x.nc").write_bytes(b"no result")
    for name, said in (("x.nc", "x.nc"), ("none.nc", "no such file")):
        told = kinetree("info", tmp_path / name)
        assert told.exit_code == 2 and said in told.stderr


def test_a_long_chain_is_shortened_with_counts(tmp_path):
    kt.save(kt.zoo.chain(1500), tmp_path / "chain.toml")
    began = perf_counter()
    told = kinetree("info", tmp_path / "chain.toml")
    assert perf_counter() - began < 20  # drawn in full it takes quadratic time
    assert told.exit_code == 0
    assert "chain: 1500 bodies, 1500 degrees of freedom" in told.stdout
    assert f"... {1500 - DEEPEST} more bodies" in told.stdout
    assert f"... {1500 - MOST} more rows" in told.stdout
    assert f"joint{MOST} " in told.stdout and f"joint{MOST + 1} " not in told.stdout
    assert len(told.stdout.splitlines()) < 200
    assert len(json.loads(kinetree("info", tmp_path / "chain.toml", "--json").stdout)["joints"]) == 1500


def test_a_broad_mechanism_is_shortened_with_counts(tmp_path):
    many = kt.Builder("comb")
    for k in range(MOST + 1):
        many.world.fixed(f"weld{k}").body(f"tooth{k}")
    kt.save(many.build(), tmp_path / "comb.toml")
    told = kinetree("info", tmp_path / "comb.toml").stdout
    assert f"tooth{MOST - 1} " in told and "... 1 more body " in told and "... 1 more row " in told


@pytest.mark.parametrize("text", ["[study]\ntask='simulate'\n", "study.task = 'simulate'\n", '[ "study" ]\n'])
def test_a_study_is_known_by_its_tables(tmp_path, text):
    from kinetree.study.file import is_study

    (tmp_path / "x.toml").write_text(text)
    assert is_study(tmp_path / "x.toml")
    (tmp_path / "x.toml").write_text("# [study] of a mechanism\nname = 'study'\n[[body]]\nname = 'initial'\n")
    assert not is_study(tmp_path / "x.toml")


def test_loops_with_what_they_leave_and_their_subsystems():
    told = kinetree("info", "robotic_leg").stdout
    assert "mobility 1 with closed loops (9 of 15 constraints redundant)" in " ".join(told.split())
    assert told.split("Independent joints")[1].split()[0] == "crank_pivot"
    assert told.split("Driven joints")[1].split()[0] == "crank_pivot"
    assert "1. force of pantograph_pin from knee, long_bar_pin (determinate)" in told
    assert "4. torque of crank_pivot from crank_pivot (after 3)" in told
    facts = json.loads(kinetree("info", "robotic_leg", "--json").stdout)["closed"]
    assert (facts["mobility"], facts["rows"], facts["redundant"]) == (1, 15, 9)
    assert [part["unknowns"] for part in facts["subsystems"]] == [2, 2, 2, 1]
    assert facts["subsystems"][0]["after"] == []
