"""The benchmarks run, and what they save has the shape that reports are made from. No speed is asserted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECTIONS = {
    "timings": {"model", "n_dof", "quantity", "batch", "contestant", "best", "median", "windows"},
    "kernels": {"model", "quantity", "total", "share_of_peak", "workspace"},
    "growth": {"shape", "n", "quantity", "contestant", "best", "median", "windows"},
    "exponents": {"shape", "quantity", "contestant", "exponent", "lengths"},
    "extremes": {"shape", "n", "n_dof", "error", "inverse dynamics", "forward dynamics"},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One tiny run from the command line: what it saved and what it printed."""
    folder = tmp_path_factory.mktemp("benchmarks")
    saved, page = folder / "run.json", folder / "run.md"
    command = [sys.executable, "-m", "benchmarks", "--smoke", "--json", str(saved), "--page", str(page)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(saved.read_text(encoding="utf-8")), done.stdout, page.read_text(encoding="utf-8")


@pytest.mark.parametrize("section", SECTIONS)
def test_sections_have_their_columns(run, section):
    rows = run[0][section]
    assert rows
    assert all(SECTIONS[section] <= row.keys() for row in rows)


def test_times_are_positive_and_ordered(run):
    for row in run[0]["timings"] + run[0]["growth"]:
        assert 0.0 < row["best"] <= row["median"]
        assert row["windows"] >= 3


def test_every_call_of_kinetree_is_there(run):
    timed = {(row["batch"], row["contestant"]) for row in run[0]["timings"]}
    assert {(None, "kinetree"), (16, "kinetree"), (16, "kinetree kernel")} <= timed


def test_peers_agree_or_are_left_out_with_a_reason(run):
    results = run[0]
    assert all(row["error"] < 1e-9 for row in results["agreement"])
    racing = {row["contestant"].split()[0] for row in results["timings"]}
    for peer in ("pinocchio", "mujoco", "drake", "robotics-toolbox"):
        assert (peer in racing) != (peer in results["left_out"])


def test_the_share_of_the_peak_is_a_share(run):
    results = run[0]
    assert results["peak_gflops"] > 0.0
    assert all(0.0 < row["share_of_peak"] < 1.0 for row in results["kernels"])


def test_answers_of_extremes_are_right(run):
    assert all(row["error"] < 1e-10 for row in run[0]["extremes"])


def test_report_and_page_have_the_same_tables(run):
    results, printed, page = run
    assert results["machine"]["processor"] in page
    for title in ("Targets", "arm, 6 degrees of freedom", "Kernels alone", "Growth", "Agreement"):
        assert title in printed
        assert f"## {title}\n" in page
    heads = [line for line in page.splitlines() if line.startswith("|--")]
    assert len(heads) == page.count("\n## ")
