"""What users are told: short, with a hint, and never the contents of files that are none of a study's."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli.app import app
from kinetree.errors import LONGEST, install_command, shown

ARM = kt.zoo.kuka_kr5()


def kinetree(*arguments):
    return CliRunner().invoke(app, [str(x) for x in arguments], env={"COLUMNS": "200"})


def limited(**more):
    made = kt.Builder("wrist", gravity=(0, 0, 0))
    body = made.world.revolute("turn", axis="z", **more).body("tool", kt.Inertia(1.0, moment=(1, 1, 1e-5)))
    assert body is not None
    return made.build()


# ---- values ----------------------------------------------------------------------------------------------
def test_values_are_shown_in_few_letters():
    for value in (
        "x" * 10**5,
        list(range(10**5)),
        np.zeros((300, 300)),
        {k: "y" * 99 for k in range(999)},
        10**500,
    ):
        assert len(shown(value)) <= LONGEST
    with pytest.raises(kt.errors.InputError) as error:
        kt.inverse_dynamics(ARM, "x" * 10**5, np.zeros(6), np.zeros(6))
    assert len(str(error.value)) < 600
    with pytest.raises(kt.KinetreeError) as error:
        kt.from_dh([{"b": 0, "theta": 0, "a": 0, "alpha": 0, "mass": 1, "inertia": "z" * 10**5}])
    assert len(str(error.value)) < 1000


def test_names_that_are_nearly_right_lead_on():
    with pytest.raises(AttributeError, match="Did you mean 'inverse_dynamics'"):
        kt.inverse_dynamic  # noqa: B018
    with pytest.raises(AttributeError, match="Did you mean 'joint_names'"):
        ARM.joint_name  # noqa: B018
    with pytest.raises(AttributeError, match=r"kinetree.inverse_dynamics\(mechanism"):
        ARM.torques  # noqa: B018
    assert not hasattr(ARM, "_hidden") and not hasattr(kt, "__path_of_nothing__")
    with pytest.raises(kt.errors.FileError, match=r"kinetree.zoo.kuka_kr5\(\) comes with the package"):
        kt.load("kuka_kr5")


def test_the_command_for_an_extra_fits_the_way_the_package_was_installed():
    command = install_command("movie")
    root = Path(kt.__file__).parents[2]
    assert command == (f"pip install -e '{root}[movie]'" if (root / "pyproject.toml").exists() else
                       "pip install 'kinetree[movie]'")  # fmt: skip


def test_the_command_for_an_extra_names_the_folder_that_pip_has_noted(tmp_path, monkeypatch):
    """An installation from a clone: the package of an index would be another one, or none."""
    noted = json.dumps({"url": (tmp_path / "a clone").as_uri(), "dir_info": {}})
    note = type("Note", (), {"read_text": lambda self, name: noted if name == "direct_url.json" else None})
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: note())
    monkeypatch.setattr("kinetree.errors.__file__", str(tmp_path / "lib" / "site" / "kinetree" / "errors.py"))
    assert install_command("view") == "pip install 'kinetree[view]'"  # the clone is gone
    (tmp_path / "a clone").mkdir()
    (tmp_path / "a clone" / "pyproject.toml").write_text("")
    assert install_command("view") == f"pip install '{tmp_path / 'a clone'}[view]'"


def test_unhashable_conventions_are_refused():
    for wrong in (["modified"], {}, 3):
        with pytest.raises(kt.errors.InputError, match="unknown DH convention"):
            kt.from_dh([{"b": 0, "theta": 0, "a": 0, "alpha": 0}], convention=wrong)


# ---- numbers ---------------------------------------------------------------------------------------------
def test_zero_moment_points_that_overflow_are_no_answer():
    hand, still = kt.zoo.gripper(), np.zeros(4)
    with pytest.raises(kt.KinetreeError, match="overflows"):
        kt.analysis.zero_moment_point(hand, [2, -0.7, 1.4, 1.5], [0, 0, 1e200, 0], still)


@pytest.mark.parametrize("far", [2e6, 1e9, 1e59])
def test_lengths_that_eat_all_digits_are_refused(far):
    made = kt.Builder("far")
    made.world.revolute("hinge", axis="y").body("rod", kt.Inertia(1.0, center=(0, 0, far), moment=(1, 1, 1)))
    with pytest.raises(kt.errors.ModelError, match="body 'rod': center of mass must be at most"):
        made.build()
    made = kt.Builder("far")
    made.world.revolute("hinge", axis="y", at=(far, 0, 0)).body("rod", kt.Inertia(1.0, moment=(1, 1, 1)))
    with pytest.raises(kt.errors.ModelError, match="joint 'hinge': position must be at most"):
        made.build()


def test_angles_that_look_like_degrees_get_a_hint():
    robot = limited(lower=-3.0, upper=3.0)
    with pytest.warns(kt.KinetreeWarning, match=r"90 rad, far beyond .* 90 degrees are 1.571 rad"):
        kt.simulate(robot, [90.0], duration=0.01, verdicts=False)
    kt.simulate(robot, [3.2], duration=0.01, verdicts=False)  # a little beyond: no degrees
    kt.simulate(limited(), [90.0], duration=0.01)  # nothing tells what is usual


def test_other_ways_into_a_motion_hint_at_degrees_too():
    robot, words = limited(lower=-3.0, upper=3.0), r"90 degrees are 1.571 rad"
    with pytest.warns(kt.KinetreeWarning, match=words):
        kt.simulation.simulate_batch(robot, [[0.0], [90.0]], duration=0.01, times=2, verdicts=False)
    with pytest.warns(kt.KinetreeWarning, match=words):
        kt.simulation.Simulator(robot, duration=0.01, times=2).run([90.0])
    ends = [kt.terms.Boundary("start", [0.0], 0.0), kt.terms.Boundary("end", [90.0], 0.0)]
    problem = kt.Problem(robot, objective=kt.terms.SquaredTorque(), constraints=ends, duration=1.0)
    with pytest.warns(kt.KinetreeWarning, match="boundary position of joint 'turn' is 90 rad"):
        kt.predict(problem)


def test_motions_of_studies_and_pictures_hint_at_degrees_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    robot, words = limited(lower=-3.0, upper=3.0), "90 degrees are 1.571 rad"
    kt.save(robot, "wrist.toml")
    study = (
        '[study]\ntask = "inverse"\n[mechanism]\nfile = "wrist.toml"\n'
        '[trajectory]\nkind = "cubic"\nstart = [0.0]\nend = [{}]\nduration = 1.0\n'
    )
    Path("far.toml").write_text(study.format(90.0))
    found = kinetree("run", "far.toml")
    assert found.exit_code == 3 and words in " ".join(found.stderr.split()), found.stderr
    Path("near.toml").write_text(study.format(1.0))
    assert "degrees" not in kinetree("run", "near.toml").stderr
    with pytest.warns(kt.KinetreeWarning, match=words):
        kt.draw(robot, [90.0])


def test_a_motion_that_runs_away_ends_with_joint_speed_and_steps():
    """A light wrist under a constant torque: every step is shorter than the one before, for ever."""
    words = r"joint 'joint6' moves at .* per second at t = .* after \d+ steps"
    with pytest.raises(kt.errors.SimulationError, match=words) as stop:
        kt.simulate(ARM, np.zeros(6), duration=10.0, torque=[0, 0, 0, 0, 50, 50], times=11)
    assert stop.value.result is not None


# ---- files -----------------------------------------------------------------------------------------------
LONG = "a" * 300


def test_names_that_are_too_long_are_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments in (
        ("run", "gripper_free_fall", "-o", f"{LONG}.nc"),
        ("run", "gripper_free_fall", "--plot", f"{LONG}.png"),
        ("draw", "gripper", "-o", f"{LONG}.png"),
        ("run", f"{LONG}.toml"),
        ("info", f"{LONG}.nc"),
    ):
        found = kinetree(*arguments)
        assert found.exit_code == 2 and "too long" in found.stderr, (arguments, found.stderr, found.exception)
    Path("long.xml").write_text(f'<mujoco><include file="{LONG}"/></mujoco>')
    with pytest.raises(kt.KinetreeError) as stop:
        kt.load("long.xml")
    assert len(str(stop.value)) < 300 and LONG[:201] not in str(stop.value)


@pytest.mark.parametrize("duration", ["1e20", "1e11"])
def test_gaits_without_end_are_refused(duration, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = kinetree("run", "quadruped_trot", "--set", f"study.duration={duration}")
    assert found.exit_code == 2 and "steps must be an integer from 1 to" in found.stderr, found.exception


def test_random_states_need_a_generator():
    with pytest.raises(kt.errors.InputError, match=r"rng must be a generator .* got 0"):
        kt.random_state(ARM, 0)


def test_models_of_the_zoo_are_suggested():
    with pytest.raises(AttributeError, match="Did you mean 'gripper'"):
        kt.zoo.griper  # noqa: B018 - asking is what is tested
    assert not hasattr(kt.zoo, "__wrapped__")


SECRET = "root:x:0:0:hidden things"


def test_files_of_another_format_are_not_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("secret").write_text(f"{SECRET}\n{SECRET}\n")
    Path("study.toml").write_text(
        '[study]\ntask = "inverse"\n[mechanism]\nzoo = "gripper"\n'
        '[trajectory]\nkind = "file"\nfile = "secret"\n'
    )
    for arguments in ((), ("--json",)):
        found = kinetree("run", "study.toml", *arguments)
        assert found.exit_code == 2 and "is not a header" in found.stderr
        assert "root" not in found.output + found.stderr


def test_studies_can_be_held_to_their_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inner = tmp_path / "inner"
    inner.mkdir()
    kt.save(kt.zoo.gripper(), "outside.toml")
    kt.save(kt.zoo.gripper(), inner / "inside.toml")
    (inner / "link.toml").symlink_to(tmp_path / "outside.toml")
    study = inner / "study.toml"
    for file, fits in (
        ("../outside.toml", False),
        (f"{tmp_path}/outside.toml", False),
        ("link.toml", False),
        ("inside.toml", True),
    ):
        study.write_text(f'[study]\ntask = "simulate"\nduration = 0.01\n[mechanism]\nfile = "{file}"\n')
        assert kinetree("run", study, "--force", "--quiet").exit_code == 0
        found = kinetree("run", study, "--force", "--quiet", "--only-inside")
        assert (found.exit_code == 0) == fits, (file, found.stderr)
        assert fits or "outside the folder of the study" in found.stderr
    with pytest.raises(kt.KinetreeError, match="outside the folder"):
        study.write_text(
            '[study]\ntask = "simulate"\nduration = 0.01\n[mechanism]\nfile = "../outside.toml"\n'
        )
        kt.run(study, only_inside=True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_and_devices_are_refused(tmp_path):
    for suffix in (".toml", ".urdf", ".xml", ".nc", ".csv"):
        pipe = tmp_path / f"pipe{suffix}"
        os.mkfifo(pipe)
        with pytest.raises(kt.KinetreeError, match="is not a regular file"):
            if suffix == ".nc":
                kt.load_result(pipe)
            elif suffix == ".csv":
                kt.trajectories.read_csv(pipe)
            else:
                kt.load(pipe)
    with pytest.raises(kt.KinetreeError, match="is not a regular file"):
        kt.trajectories.read_csv("/dev/null")
    for replaced in ("pipe.toml", "pipe.nc"):  # nor are they replaced by what is written
        with pytest.raises(kt.KinetreeError, match="is no regular file and cannot be replaced"):
            kt.save(ARM, tmp_path / replaced.replace(".nc", ".urdf"), force=True)
    found = kinetree("run", "gripper_free_fall", "-o", tmp_path / "pipe.nc", "--force")
    assert found.exit_code == 2 and "cannot be replaced" in found.stderr
    assert (tmp_path / "pipe.nc").is_fifo()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_are_heard_while_c_code_reads(number):
    program = """
import sys, time, ctypes
from kinetree.cli.app import reading, terminable
with terminable(), reading():
    print("ready", flush=True)
    ctypes.PyDLL(None).sleep(60)  # holds the interpreter, as HDF5 does
"""
    run = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert run.stdout.readline() == b"ready\n"
    run.send_signal(number)
    assert run.wait(timeout=20) == -number
    run.stdout.close()
