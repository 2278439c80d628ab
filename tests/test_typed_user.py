"""A user's program under a strict type checker: the right one passes and runs, each mistake is found."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "typed_user"
ROOT = HERE.parents[1]


def complaints(cache):
    """{(file, line): kind} of what mypy finds, with a cache of its own: the project's has other options."""
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", HERE / "mypy.ini", "--cache-dir", cache,
         "--no-error-summary", HERE / "right.py", HERE / "wrong.py"],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert run.returncode in (0, 1), run.stderr
    found = re.findall(r"(\w+\.py):(\d+): error: .*\[([\w-]+)\]$", run.stdout, re.MULTILINE)
    return {(name, int(line)): kind for name, line, kind in found}


def test_a_type_checker_finds_each_mistake_and_nothing_else(tmp_path):
    pytest.importorskip("mypy")
    found = complaints(tmp_path)
    assert {place: kind for place, kind in found.items() if place[0] == "right.py"} == {}
    expected = {}
    for line, text in enumerate((HERE / "wrong.py").read_text(encoding="utf-8").splitlines(), 1):
        if kinds := re.search(r"# \[(.*)\]$", text):
            expected["wrong.py", line] = kinds[1].split(", ")
    assert len(expected) > 20
    assert [place for place, kinds in expected.items() if found.get(place) not in kinds] == []
    assert set(found) == set(expected)


def test_the_right_program_runs():
    run = subprocess.run([sys.executable, HERE / "right.py"], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0 and len(run.stdout.split()) == 3, run.stdout + run.stderr
