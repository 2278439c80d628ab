"""Completion as shells call it, and in a bash that runs."""

import os
import shutil
import subprocess
import sys

import pytest

import kinetree as kt
from kinetree.cli.completion import BASH

CODE = "import sys; sys.argv = ['kinetree']\nfrom kinetree.cli import main; main()"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("completion")
    kt.simulate(kt.zoo.gripper(), [-1.0, 0, 0, 0], duration=0.02, times=3).save(place / "fall.nc")
    return place


def asked(folder, shell, line):
    """What the program answers to a shell."""
    words = line.split(" ")
    variables = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell] | {"_KINETREE_COMPLETE": f"complete_{shell}"}
    run = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, cwd=folder, env=os.environ | variables
    )
    assert run.stderr == ""
    return run.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_variables_of_the_result_in_the_command(folder, shell):
    """An option that still lacks its value makes all arguments unknown to the parser."""
    text = asked(folder, shell, "kinetree plot fall.nc --variable kin")
    assert "kinetic_energy" in text and "potential_energy" not in text
    assert "joint3" in asked(folder, shell, "kinetree compare fall.nc fall.nc --joint j")


def test_templates_are_those_of_the_kind_of_file(folder):
    assert asked(folder, "bash", "kinetree new study x --template ").split() == [
        "simulate", "inverse", "control", "predict", "stand", "walk", "gait", "lift",
    ]  # fmt: skip
    assert "predict" not in asked(folder, "bash", "kinetree new mechanism x --template ").split()


def completed(folder, line):
    """What bash offers for a line, by the script that is installed; a star where no space follows."""
    script = BASH % {
        "complete_func": "_complete",
        "autocomplete_var": "_KINETREE_COMPLETE",
        "prog_name": "kinetree",
    }
    program = folder / "kinetree"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{CODE}"\n')
    program.chmod(0o755)
    words = line.replace(":", " : ").replace("=", " = ").split(" ")  # bash ends words there
    call = (
        f"{script}\ncompopt() {{ echo '*'; }}\nCOMP_LINE='{line}'; COMP_POINT={len(line)}\n"
        f"COMP_WORDS=({' '.join(repr(x) for x in words)}); COMP_CWORD={len(words) - 1}\n"
        '_complete kinetree; echo "${COMPREPLY[@]}"\n'
    )
    run = subprocess.run(
        ["bash", "--norc", "-c", call], capture_output=True, text=True, cwd=folder,
        env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert run.stderr == ""
    return run.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("kinetree plot fall.nc --variable kin", ["kinetic_energy"]),
        ("kinetree run x --set integ", ["*", "integrator."]),
        ("kinetree run x --set integrator.rt", ["*", "integrator.rtol="]),
        ("kinetree show ./f", ["./fall.nc"]),
        ("kinetree run x --set=integrator.rt", ["*", "integrator.rtol="]),
    ],
)
def test_bash_completes_what_follows_a_colon_or_an_equals_sign(folder, line, offered):
    assert completed(folder, line) == offered
