"""The benchmarks run, and what they save has the shape that reports are made from. No speed is asserted."""

import csv
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import own, searches
from benchmarks.contact_law import contact_law
from benchmarks.coordinates import peer_states
from benchmarks.findings import BEGIN, END, file_name, measured_table, page, with_measured
from benchmarks.mechanisms import padded
from benchmarks.reach import time_to_reach
from benchmarks.simulation_cases import quadruped
from benchmarks.tables import all_tables

import kinetree as kt

ROOT = Path(__file__).parents[1]
SECTIONS = {
    "timings": {"model", "n_dof", "quantity", "batch", "contestant", "best", "median", "windows"},
    "kernels": {"model", "quantity", "total", "share_of_peak", "workspace"},
    "growth": {"shape", "n", "quantity", "contestant", "best", "median", "windows"},
    "exponents": {"shape", "quantity", "contestant", "exponent", "lengths"},
    "extremes": {"shape", "n", "n_dof", "error", "inverse dynamics", "forward dynamics"},
    "hybrid": {"case", "states", "hybrid", "by hand", "inverse", "forward", "derivatives", "one call"},
    "code": {"model", "question", "states", "general", "made", "seconds to make"},
    "code_in_c": {"model", "question", "kinetree C", "casadi C", "pinocchio"},
    "simulation_curves": {"case", "contestant", "method", "setting", "error", "best", "median", "windows"},
    "simulation_times": {"case", "contestant", "method", "milliseconds", "smallest_error"},
    "predictions": {"case", "total", "solve", "objective", "iterations", "solved", "ipopt"},
    "refined": {"case", "objective", "error", "seconds", "switches"},
    "starts": {"case", "starts", "same"},
    "loop_timings": {"mechanism", "quantity", "batch", "contestant", "best", "error"},
    "loop_growth": {"shape", "size", "operations", "segments", "prepared", "best"},
    "loop_times": {"case", "contestant", "method", "wanted", "milliseconds", "smallest_error"},
    "rollouts": {"contestant", "method", "setting", "count", "median_error", "worst_error", "seconds"},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One tiny run from the command line: what it saved and what it printed."""
    folder = tmp_path_factory.mktemp("benchmarks")
    saved, site = folder / "run.json", folder / "docs"
    command = [sys.executable, "-m", "benchmarks", "--smoke", "--json", str(saved), "--site", str(site)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(saved.read_text(encoding="utf-8")), done.stdout, site


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
    for peer in ("pinocchio", "mujoco", "drake", "opensim", "robotics-toolbox"):
        assert (peer in racing) != (peer in results["left_out"])


GRADIENTS = """
from benchmarks.kinetree_calls import answers
from benchmarks.mechanisms import arm
from benchmarks.peers import relative_error
from benchmarks.states import random_states
from benchmarks.peers.{peer} import {maker} as Peer

name, robot = "inverse dynamics gradients", arm()
states = random_states(robot, 5)
peer = Peer(robot, states)
theirs = peer.answers([name]).get(name)
if theirs is None:
    theirs = peer.answer(name)
pairs = zip(theirs, answers(robot, states, [name])[name], strict=True)
print("WORST", max(relative_error(found, expected) for found, expected in pairs))
"""


@pytest.mark.peers
@pytest.mark.parametrize(
    ("peer", "maker", "module", "most"),
    [("drake", "Drake", "pydrake", 1e-9), ("opensim", "OpenSim", "opensim", 1e-8)],
)
def test_gradients_of_other_libraries_are_those_of_kinetree(peer, maker, module, most):
    """By dual numbers and by central differences, in a process of its own: OpenSim brings another CasADi."""
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    command = [sys.executable, "-c", GRADIENTS.format(peer=peer, maker=maker)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split("WORST")[1]) < most


def test_the_share_of_the_peak_is_a_share(run):
    results = run[0]
    assert results["peak_gflops"] > 0.0
    assert all(0.0 < row["share_of_peak"] < 1.0 for row in results["kernels"])


def test_answers_of_extremes_are_right(run):
    assert all(row["error"] < 1e-10 for row in run[0]["extremes"])


def test_simulations_converge_to_the_same_motion(run):
    """Tighter tolerances and shorter steps come nearer to the reference, whoever takes them.

    At 1e-7, the tightest of this run, Drake and OpenSim err by some 4e-6: they measure errors by other norms.
    """
    lines = {}
    for row in run[0]["simulation_curves"]:
        lines.setdefault((row["contestant"], row["method"]), []).append(row["error"])
    assert {("kinetree", "dop853"), ("kinetree simulate", "dopri5")} <= lines.keys()
    for (contestant, _), errors in lines.items():
        assert errors[-1] < 0.3 * errors[0]
        assert errors[-1] < {"mujoco": 1e-2, "drake": 1e-5, "opensim": 1e-5}.get(contestant, 1e-6)


def test_rollouts_have_their_errors(run):
    kinetree = [row for row in run[0]["rollouts"] if row["contestant"] == "kinetree"]
    assert kinetree
    assert all(0.0 < row["median_error"] <= row["worst_error"] for row in run[0]["rollouts"])
    assert min(row["worst_error"] for row in kinetree) < 1e-4


def test_time_to_reach_an_error():
    curve = [(1e-2, 1.0), (1e-7, 2.0), (1e-4, 3.0), (1e-8, 12.0), (1e-9, 20.0)]
    assert time_to_reach(curve, 1e-6) == pytest.approx(6.0)  # not where errors were small by chance
    assert time_to_reach(curve, 1e-10) is None
    assert time_to_reach(curve, 1.0) == 1.0


def on_the_ground(mechanism):
    """The quadruped pushed into the ground, moving; its accelerations there."""
    rng = np.random.default_rng(0)
    case = quadruped()
    q, qd = case.q0 + rng.uniform(-0.1, 0.1, 18), rng.uniform(-1.0, 1.0, 18)
    q[2] -= 0.11
    run = kt.simulate(mechanism, q, qd, duration=1e-6, ground=case.ground, method="dopri5")
    touching = run.contact_force.values[0, :, 2] > 0.0
    assert touching.any()
    assert not touching.all()
    return case, q, qd, run.qdd.values[0]


@pytest.mark.peers
def test_pinocchio_stands_on_the_same_ground():
    pytest.importorskip("pinocchio")
    from benchmarks.peers.pinocchio_simulation import rates_of

    case, q, qd, qdd = on_the_ground(kt.zoo.quadruped())
    assert np.allclose(rates_of(case)(0.0, np.concatenate([q, qd]))[18:], qdd, rtol=1e-9, atol=1e-7)


@pytest.mark.peers
def test_mujoco_stands_on_the_same_ground():
    mujoco = pytest.importorskip("mujoco")
    from benchmarks.peers.mujoco import model_of
    from benchmarks.peers.mujoco_simulation import ground_force

    robot = padded(kt.zoo.quadruped())
    case, q, qd, qdd = on_the_ground(robot)
    theirs = peer_states(robot, q[None], qd[None], scalar_first=True, linear_in_body=False)
    model = model_of(robot, sites=True)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = theirs.q[0], theirs.rates(qd[None])[0]
    mujoco.set_mjcb_passive(ground_force(model, contact_law(robot, case.ground)))
    try:
        mujoco.mj_forward(model, data)
    finally:
        mujoco.set_mjcb_passive(None)
    found = theirs.accelerations_of(np.array(data.qacc)[None])[0]
    assert np.allclose(found, qdd, rtol=1e-6, atol=1e-6 * np.abs(qdd).max())


def test_every_printed_table_is_a_file_that_the_page_links_to(run):
    results, printed, site = run
    page = (site / "benchmarks.md").read_text(encoding="utf-8")
    assert results["machine"]["processor"] in page
    tables = all_tables(results)
    titles = {
        "Targets",
        "arm, 6 degrees of freedom",
        "Kernels alone",
        "Growth",
        "Simulation",
        "Rollouts",
        "Agreement",
    }
    assert titles <= {table.title for table in tables}
    for table in tables:
        assert table.title in printed
        place = f"assets/benchmarks/{file_name(table)}.csv"
        assert f"[{table.title}]({place})" in page
        with (site / place).open(encoding="utf-8", newline="") as file:
            assert list(csv.reader(file))[1:] == [list(row) for row in (table.head, *table.rows)]
    shown = re.findall(r"!\[[^]]+\]\(([^)]+)\)", page)
    assert len(shown) == 3 and all((site / picture).stat().st_size > 0 for picture in shown)


def test_the_page_and_the_tables_beside_other_libraries_are_those_of_the_saved_run():
    """``python -m benchmarks --from benchmarks/results.json --site docs`` after a run."""
    results = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    assert (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8") == page(results)
    for name in ("README.md", "docs/index.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert measured_table(results) in text and with_measured(text, results) == text


def test_pages_without_marks_stay_as_they_are(run):
    assert with_measured("no marks", run[0]) == "no marks"
    changed = with_measured(f"a {BEGIN} old {END} b", run[0])
    assert changed.startswith(f"a {BEGIN}\n") and changed.endswith(f"{END} b") and "old" not in changed


def test_ones_own_mechanism_is_raced_with_the_peers(capsys):
    assert own.main(["gripper", "--batch", "16", "--seconds", "0.001", "--quantity", "inverse dynamics"]) == 0
    printed = capsys.readouterr().out
    for word in ("one call", "batch of 16", "inverse dynamics", "kinetree"):
        assert word in printed
    for peer in ("pinocchio", "mujoco"):
        assert peer in printed  # in the table, or left out with a reason


@pytest.mark.peers
def test_collections_of_models_are_read_and_compared(tmp_path, capsys):
    """Files of three formats, one that cannot be read, and a copy that counts once."""
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    from benchmarks.models import main

    data = Path(__file__).parent / "data"
    text = (data / "urdf" / "gripper.urdf").read_text()
    (tmp_path / "a.urdf").write_text(text)
    (tmp_path / "b.urdf").write_text(text)
    (tmp_path / "bad.urdf").write_text("<robot name='r'/>")
    (tmp_path / "arm.xml").write_text((data / "mjcf" / "arm.xml").read_text())
    (tmp_path / "box.sdf").write_text('<sdf version="1.9"><model name="m"><link name="a"/></model></sdf>')
    assert main([str(tmp_path), "--json"]) == 0
    urdf, sdf, mjcf = json.loads(capsys.readouterr().out)
    assert (urdf["files"], urdf["read"], urdf["both"]) == (2, 1, 1)
    assert list(urdf["refused"].values()) == [1]
    assert (mjcf["files"], mjcf["both"], mjcf["compared"]) == (1, 1, 1)
    assert (sdf["files"], sdf["read"]) == (1, 1)  # beside Drake only where it is installed
    assert max(urdf["worst"], mjcf["worst"]) < 1e-9 and urdf["different"] == mjcf["different"] == []


def test_both_searches_are_run_alone_and_the_solver_is_as_before():
    solve = searches.InteriorPoint.solve
    found = list(searches.cases(["two_link_minimum_time"]))
    assert searches.InteriorPoint.solve is solve
    assert len(found) >= searches.STARTS and all(x.filter.solved and x.merit.solved for x in found)
    apart = [abs(x.filter.objective - x.merit.objective) for x in found]
    assert max(apart) < 1e-3 and any(x.filter.iterations != x.merit.iterations for x in found)
    (row,) = searches.table(found)[2:]
    assert row.startswith(f"| arms and loops | not considered | {len(found)} | {len(found)} | 0 | 0 | 0 |")
