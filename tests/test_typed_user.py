"""A user's program under a strict type checker: the right one passes and runs, each mistake is found."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "typed_user"
ROOT = HERE.parents[1]


@pytest.fixture(scope="module")
def complaints():
    """{(file, line): kind} of all that mypy finds; its cache is that of the project."""
    pytest.importorskip("mypy")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", HERE / "mypy.ini", "--cache-dir",
         ROOT / ".mypy_cache", "--no-error-summary", HERE / "right.py", HERE / "wrong.py"],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert run.returncode in (0, 1), run.stderr
    found = re.findall(r"(\w+\.py):(\d+): error: .*\[([\w-]+)\]$", run.stdout, re.MULTILINE)
    assert found, run.stdout
    return {(name, int(line)): kind for name, line, kind in found}


def test_a_right_program_is_accepted(complaints):
    assert {place: kind for place, kind in complaints.items() if place[0] == "right.py"} == {}


def test_each_mistake_is_found(complaints):
    expected, missed = {}, []
    for line, text in enumerate((HERE / "wrong.py").read_text(encoding="utf-8").splitlines(), 1):
        if kinds := re.search(r"# \[(.*)\]$", text):
            expected["wrong.py", line] = kinds[1].split(", ")
            if complaints.get(("wrong.py", line)) not in expected["wrong.py", line]:
                missed.append((line, text, complaints.get(("wrong.py", line))))
    assert missed == []
    assert {place for place in complaints if place[0] == "wrong.py"} == set(expected)


def test_the_right_program_runs():
    run = subprocess.run([sys.executable, HERE / "right.py"], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0 and len(run.stdout.split()) == 3, run.stdout + run.stderr
