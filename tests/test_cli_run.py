"""The command that runs studies, and those around it: what they print, write, refuse and return."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli import app
from kinetree.cli.examples import complete_example
from kinetree.study.examples import example_names
from support.stand_ins import disk_full, interrupted, memory_full

FALL = """
[study]
task = "simulate"
duration = 0.1
[mechanism]
zoo = "gripper"
[initial]
q_degrees = [-60, 0, 0, 0]
[output]
samples = 5
"""
LAWS = """
import os, pathlib, signal, time

def stops(t, q, qd):
    if t > 0.05:
        os.kill(os.getpid(), {signal})
    return 0 * q

def slow(t, q, qd):
    if t > 0:
        pathlib.Path("started").touch()
    time.sleep(1e-3)
    return 0 * q

def explodes(t, q, qd):
    return [1e3 * max(min(x, 1e60), -1e60) ** 3 for x in qd]
"""
CONTRACT = {"status", "task", "model", "seconds", "result", "audit", "not_judged"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, with a study and its laws."""
    monkeypatch.chdir(tmp_path)
    Path("fall.toml").write_text(FALL)
    Path("laws.py").write_text(LAWS.replace("{signal}", "signal.SIGTERM"))
    return tmp_path


def kinetree(*arguments):
    return CliRunner().invoke(app, [str(x) for x in arguments], env={"COLUMNS": "200"})


def last_line(result):
    return json.loads(result.stdout.splitlines()[-1])


def with_law(name, duration=0.1):
    text = f'torque = "laws.py:{name}"\n' + FALL.replace("0.1", str(duration), 1)
    Path("forced.toml").write_text(text + "[integrator]\nmax_step = 1e-3\n")


def test_a_run_prints_a_table_and_saves_the_result(folder):
    result = kinetree("run", "fall.toml", "--plot", "fall.png")
    assert (result.exit_code, result.stderr) == (0, "")
    for words in ("simulate", "gripper", "ok", "fall.nc", "✓ energy_balance passed"):
        assert words in result.stdout
    assert kt.load_result("fall.nc").time.shape == (5,)
    assert Path("fall.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in folder.iterdir()) == ["fall.nc", "fall.png", "fall.toml", "laws.py"]


def test_quiet_prints_nothing(folder):
    result = kinetree("run", "fall.toml", "--quiet", "--output", "deep/er/x.nc")
    assert (result.exit_code, result.output) == (0, "")
    assert kt.load_result("deep/er/x.nc").passed


def test_json_is_one_object_on_the_last_line(folder):
    result = kinetree(
        "run", "gripper_free_fall", "--json", "--set", "study.duration=0.2", "--set", "output.samples=3"
    )
    told = last_line(result)
    assert result.exit_code == 0 and result.stdout.count("\n") == 1
    assert told.keys() == CONTRACT
    assert (told["status"], told["task"], told["model"]) == ("ok", "simulate", "gripper")
    assert told["audit"]["energy_balance"]["passed"] is True
    saved = kt.load_result(told["result"])
    assert told["result"] == "gripper_free_fall.nc" and saved.time.values.tolist() == [0.0, 0.1, 0.2]


def test_json_of_a_prediction_has_its_figures(folder):
    told = last_line(kinetree("run", "two_link_minimum_time", "--json"))
    assert told.keys() == CONTRACT | {"duration", "objective", "iterations", "max_violation"}
    assert told["duration"] == told["objective"] == pytest.approx(0.3931, abs=1e-4)
    assert told["iterations"] > 0 and told["max_violation"] < 0.01


def test_a_result_is_not_replaced_unasked_and_nothing_is_run_before(folder, monkeypatch):
    Path("fall.nc").write_text("precious")
    monkeypatch.setattr("kinetree.study.run.prepared", lambda *x: pytest.fail("ran"))
    result = kinetree("run", "fall.toml")
    assert result.exit_code == 2 and "fall.nc: already exists; use --force" in result.stderr
    assert Path("fall.nc").read_text() == "precious"
    monkeypatch.undo()
    os.chdir(folder)
    assert kinetree("run", "fall.toml", "--force").exit_code == 0
    assert kt.load_result("fall.nc").passed


def test_a_picture_is_not_replaced_unasked(folder):
    Path("p.png").write_text("precious")
    assert kinetree("run", "fall.toml", "--plot", "p.png").exit_code == 2
    assert Path("p.png").read_text() == "precious" and not Path("fall.nc").exists()


BAD = {
    "unknown name": (["gripper_fre_fall"], "Did you mean 'gripper_free_fall'?"),
    "no file": (["none.toml"], "no such file"),
    "typo": (["fall.toml", "--set", "study.durtion=1"], "Did you mean 'duration'?"),
    "no setting": (["fall.toml", "--set", "duration"], "--set takes key=value"),
    "suffix": (["fall.toml", "--output", "x.csv"], "suffix .nc"),
    "picture": (["fall.toml", "--plot", "x.gif"], ".gif"),
    "code": (["forced.toml"], "--allow-code laws.py"),
    "wrong code": (["fall.toml", "--allow-code", "laws.py"], "names no such file"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_exit_code_2_in_words_and_in_json(case, folder):
    with_law("explodes")
    arguments, reason = BAD[case]
    plain, told = kinetree("run", *arguments), kinetree("run", *arguments, "--json")
    for result in (plain, told):
        assert result.exit_code == 2 and "Traceback" not in result.output
        assert result.stderr.startswith("error: ") and reason in result.stderr
    assert plain.stdout == ""
    said = last_line(told)
    assert said["status"] == "bad_input" and reason in said["message"] and said.keys() >= CONTRACT
    assert not list(folder.glob("*.nc"))


def test_complaints_have_a_line_each(folder):
    Path("bad.toml").write_text(FALL.replace("0.1", "-1").replace("gripper", "griper"))
    lines = kinetree("run", "bad.toml").stderr.splitlines()
    assert len(lines) == 2 and "line 4" in lines[0] and "line 6" in lines[1]


def test_a_run_that_diverges_is_exit_code_3_and_kept(folder):
    with_law("explodes")
    result = kinetree("run", "forced.toml", "--allow-code", "laws.py", "--set", "initial.qd=1", "--json")
    assert result.exit_code == 3
    assert (
        last_line(result)["status"] == "diverged"
        and "the fastest joint is 'joint" in last_line(result)["message"]
    )
    assert not kt.load_result("forced.nc").complete


def test_a_failed_audit_is_exit_code_3(folder):
    result = kinetree("run", "fall.toml", "--set", "integrator.energy_tolerance=1e-30")
    assert result.exit_code == 3
    assert "✗ energy_balance FAILED" in result.stdout and "audit_failed" in result.stderr
    assert kt.load_result("fall.nc").complete


def test_an_event_that_was_asked_for_ends_a_run_well(folder):
    text = FALL.split("[mechanism]")[0].replace("0.1", "1.0") + (
        '[mechanism]\nname = "stone"\n[[mechanism.body]]\nname = "stone"\npoint = { mass = 1 }\n'
        'joint = { kind = "prismatic", axis = "-z" }\n[[mechanism.contact]]\nname = "foot"\nbody = "stone"\n'
        '[ground]\norigin = [0, 0, -1]\n[integrator]\nstop_at = "touch_down"\n'
    )
    Path("stone.toml").write_text(text)
    result = kinetree("run", "stone.toml", "--json")
    assert result.exit_code == 0 and last_line(result)["status"] == "stopped"
    assert kt.load_result("stone.nc").stopped_at == pytest.approx(np.sqrt(2 / 9.81), rel=1e-6)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_an_interruption_keeps_what_was_computed(folder, name):
    Path("laws.py").write_text(LAWS.replace("{signal}", f"signal.{name}"))
    with_law("stops")
    before = signal.getsignal(signal.SIGTERM)
    result = kinetree("run", "forced.toml", "--allow-code", "laws.py", "--json")
    assert result.exit_code == 130 and last_line(result)["status"] == "interrupted"
    saved = kt.load_result("forced.nc")
    assert saved.stop_reason == "interrupted" and 0.04 < saved.time.values[-1] <= 0.06
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_terminated_process_leaves_a_result(folder):
    with_law("slow", duration=1000)
    process = subprocess.Popen(
        [sys.executable, "-m", "kinetree", "run", "forced.toml", "--allow-code", "laws.py"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not Path("started").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    assert "interrupted" in err and "the result until t = " in err and "Traceback" not in err
    assert kt.load_result("forced.nc").stop_reason == "interrupted"


def test_an_interruption_before_the_work_leaves_nothing(folder, monkeypatch):
    monkeypatch.setattr("kinetree.simulation.simulate.simulate", interrupted)
    result = kinetree("run", "fall.toml")
    assert result.exit_code == 130 and "before there was anything to save" in result.stderr
    assert not Path("fall.nc").exists()


def test_a_folder_without_permission_is_found_before_the_work(folder, monkeypatch):
    Path("locked").mkdir()
    monkeypatch.setattr("kinetree.report.output.os.access", lambda path, mode: path.name != "locked")
    monkeypatch.setattr("kinetree.study.run.prepared", lambda *x: pytest.fail("ran"))
    result = kinetree("run", "fall.toml", "--output", "locked/new/x.nc")
    assert result.exit_code == 2 and f"no permission to write in {folder}/locked" in result.stderr


def test_a_full_disk_leaves_no_half_file(folder, monkeypatch):
    monkeypatch.setattr("kinetree.formats.regular_file.os.replace", disk_full)
    result = kinetree("run", "fall.toml")
    assert result.exit_code == 2 and "fall.nc: cannot be written: No space left on device" in result.stderr
    assert "it could not be saved in" in result.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["fall.toml", "laws.py"]


def test_a_disk_that_fills_up_during_the_work_costs_no_result(folder, monkeypatch):
    refuge, real = folder / "refuge", os.replace
    refuge.mkdir()

    def full(source, target):
        if not Path(target).is_relative_to(refuge):
            disk_full()
        real(source, target)

    monkeypatch.setattr("kinetree.formats.regular_file.os.replace", full)
    monkeypatch.setattr("tempfile.tempdir", str(refuge))
    result = kinetree("run", "fall.toml", "--output", "new/inner/fall.nc")
    (kept,) = refuge.rglob("*.nc")
    assert result.exit_code == 2 and f"No space left on device; it is saved as {kept}" in result.stderr
    assert kt.load_result(kept).complete
    assert not Path("new").exists()


def test_a_full_disk_is_found_before_the_work(folder, monkeypatch):
    monkeypatch.setattr("kinetree.study.run.prepared", lambda *x: pytest.fail("ran"))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limits[1]))
    try:
        result = kinetree("run", "fall.toml", "--output", "new/fall.nc")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert result.exit_code == 2 and "new/fall.nc: cannot be written: " in result.stderr
    assert not Path("new").exists()


# ---- examples -------------------------------------------------------------------------------------------


def test_examples_are_listed_and_copied(folder):
    listed = kinetree("examples")
    assert listed.exit_code == 0 and all(name in listed.stdout for name in example_names())
    assert kinetree("examples", "copy", "kuka_free_fall", "mine").stdout == "Wrote mine/kuka_free_fall.toml\n"
    again = kinetree("examples", "copy", "kuka_free_fall", "mine")
    assert again.exit_code == 2 and "already exists" in again.stderr
    assert kinetree("examples", "copy", "kuka_free_fall", "mine", "--force").exit_code == 0
    unknown = kinetree("examples", "copy", "kuka_fre_fall", "mine")
    assert unknown.exit_code == 2 and "Did you mean 'kuka_free_fall'?" in unknown.stderr
    assert kinetree("run", "mine/kuka_free_fall.toml", "--quiet").exit_code == 0


def test_the_shell_completes_names_of_examples():
    assert complete_example("gripper_") == [x for x in example_names() if x.startswith("gripper_")]
    code = "import sys; sys.argv = ['kinetree']; from kinetree.cli import main; main()"
    asked = {
        "_KINETREE_COMPLETE": "complete_bash",
        "COMP_WORDS": "kinetree run two_link_l",
        "COMP_CWORD": "2",
    }
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | asked)
    assert run.stdout.split() == ["two_link_lift_and_return", "two_link_lifting"]


# ---- results --------------------------------------------------------------------------------------------


def test_results_are_drawn_compared_and_exported(folder):
    kinetree("run", "fall.toml", "--quiet")
    kinetree("run", "fall.toml", "--quiet", "--output", "other.nc", "--set", "initial.qd=0.1")
    assert kinetree("plot", "fall.nc", "--variable", "q", "--joint", "joint1").stdout == "Wrote fall.png\n"
    assert kinetree("plot", "fall.nc").exit_code == 2
    compared = kinetree("compare", "fall.nc", "other.nc", "--output", "both.png")
    assert compared.exit_code == 0 and Path("both.png").exists()
    (row,) = [line.split() for line in compared.stdout.splitlines() if line.startswith("qd ")]
    a, b = kt.load_result("fall.nc").qd.values, kt.load_result("other.nc").qd.values
    assert float(row[1]) == pytest.approx(np.abs(a - b).max(), rel=1e-2)
    assert kinetree("export", "fall.nc", "fall.csv").exit_code == 0
    table = np.genfromtxt("fall.csv", delimiter=",", names=True)
    assert np.array_equal(table["time_s"], kt.load_result("fall.nc").time.values)
    for wrong in (["plot", "none.nc"], ["export", "fall.nc", "x.xls"], ["compare", "fall.nc", "fall.toml"]):
        assert kinetree(*wrong).exit_code == 2


def test_the_schema_of_studies_is_printed():
    schema = json.loads(kinetree("schema", "--study").output)
    assert {"study", "mechanism", "trajectory", "predict"} <= schema["properties"].keys()


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom kinetree.cli import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "print([x for x in ('numba', 'scipy', 'matplotlib', 'pydantic', 'xarray') if x in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_more_samples_than_can_be_kept_are_refused(folder):
    result = kinetree("run", "fall.toml", "--set", "output.samples=1000000000000")
    assert result.exit_code == 2 and "at most 10000000, got 1000000000000" in result.stderr
    assert not list(folder.glob("*.nc"))


def test_too_little_memory_is_told(folder, monkeypatch):
    monkeypatch.setattr("kinetree.study.run.prepared", memory_full)
    result = kinetree("run", "fall.toml")
    assert result.exit_code == 2 and "use fewer samples" in result.stderr


def test_a_plot_of_what_there_is_not_is_doubted(folder):
    Path("odd.toml").write_text(FALL + '[plot]\nvariables = ["q", "tauu"]\n')
    result = kinetree("run", "odd.toml", "--plot", "odd.png")
    assert result.exit_code == 0 and Path("odd.png").exists()
    assert "warning: [plot] unknown variable 'tauu'" in result.stderr and "'tau'?" in result.stderr


def test_a_comparison_of_unlike_results_says_so(folder):
    assert kinetree("run", "fall.toml", "-o", "long.nc").exit_code == 0
    assert kinetree("run", "fall.toml", "-o", "short.nc", "--set", "study.duration=0.05").exit_code == 0
    text = FALL.replace("gripper", "two_link").split("[initial]")[0]
    Path("other.toml").write_text(text)
    assert kinetree("run", "other.toml").exit_code == 0
    said = kinetree("compare", "long.nc", "short.nc").stdout
    assert "note: compared until 0.05 s, where 'short' ends" in said and "mechanisms" not in said
    assert (
        "note: the mechanisms differ: gripper and two_link"
        in kinetree("compare", "long.nc", "other.nc").stdout
    )
    assert "note" not in kinetree("compare", "long.nc", "long.nc").stdout


def test_a_motion_beyond_limits_has_a_status_of_its_own(folder):
    Path("lift.toml").write_text(
        '[study]\ntask = "simulate"\nduration = 0.4\n[initial]\nq = [1.0]\n[mechanism]\nname = "lift"\n'
        '[[mechanism.body]]\nname = "load"\nmass = 2.0\ninertia = [1, 1, 1]\n'
        'joint = { name = "guide", kind = "prismatic", axis = "z", lower = 0.5 }\n'
    )
    result = kinetree("run", "lift.toml", "--report", "lift.html")
    assert result.exit_code == 3
    assert "✗ position_limits FAILED" in result.stdout
    assert "limits_exceeded: " in result.stderr and "joint 'guide' is at 0.2152 m" in result.stderr
    page = Path("lift.html").read_text(encoding="utf-8")
    assert 'id="verdicts"' in page and "1 of 2 checks failed" in page
    told = last_line(kinetree("run", "lift.toml", "--force", "--json"))
    assert told["status"] == "limits_exceeded" and not told["audit"]["position_limits"]["passed"]
    allowed = kinetree("run", "lift.toml", "--force", "--quiet", "--set", "verdicts.position=false")
    assert (allowed.exit_code, allowed.stderr) == (0, "")


GAIT = """[study]
task = "gait"
[mechanism]
zoo = "quadruped"
[gait]
speed = 0.4
schedule = "trot"
tracked = 1
"""


def test_the_simulation_of_a_gait_is_saved_beside_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("trot.toml").write_text(GAIT)
    ran = kinetree("run", "trot.toml")
    assert ran.exit_code == 0 and "trot_tracked.nc" in ran.stdout, ran.output
    assert "steps missing" not in ran.stdout
    run = kt.load_result("trot_tracked.nc")
    found = kt.load_result("trot.nc")
    assert run.task == "simulate" and run.time.values[-1] == pytest.approx(found.time.values[-1])
    weight = run.mechanism.mass * 9.81
    carried = np.trapezoid(run["ground_force"].values[..., 2].sum(axis=1), run.time.values)
    assert carried / run.time.values[-1] == pytest.approx(weight, rel=0.1)
    Path("trot.nc").unlink()
    again = kinetree("run", "trot.toml")
    assert again.exit_code == 2 and "trot_tracked.nc: already exists" in again.stderr
    assert not Path("trot.nc").exists()
