"""Files to begin with: made by options or by answers, clean, and running."""

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli import app
from kinetree.control.walking.law import WalkingLaw
from kinetree.lint.study import check_file
from kinetree.model.named_state import NamedState
from kinetree.study.new_mechanism import TEMPLATES
from kinetree.study.new_study import TASKS


def kinetree(*arguments, **options):
    return CliRunner().invoke(app, [str(x) for x in arguments], **options)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("template", TEMPLATES)
def test_every_mechanism_is_clean_and_commented(template):
    result = kinetree("new", "mechanism", "mine", "--template", template)
    assert (result.exit_code, result.stderr) == (0, "")
    assert check_file("mine.toml") == []
    mechanism = kt.load("mine.toml")
    assert mechanism.name == "mine" and mechanism.n_dof >= 1
    assert Path("mine.toml").read_text().count("#") >= 4


def test_the_answers_are_in_the_mechanism():
    given = ("--template", "arm", "--links", 3, "--length", 0.7, "--mass", 2.5)
    assert kinetree("new", "mechanism", "long", *given, "--quiet").output == ""
    arm = kt.load("long.toml")
    assert arm.n_bodies == 3 and arm.mass == pytest.approx(7.5)
    assert arm.links[2].placement.position.tolist() == [0.7, 0, 0]


def test_the_four_bar_is_closed_at_zero_and_its_crank_turns_fully():
    assert kinetree("new", "mechanism", "four_bar", "--length", 0.5).exit_code == 0  # a template by its name
    linkage = kt.load("four_bar.toml")
    assert kt.loops.structure(linkage).mobility == 1 and linkage.driven.tolist() == [True, False, False]
    crank, coupler, rocker, pivot = 0.15, np.array([0.4, 0.3]), np.hypot(0.05, 0.45), np.array([0.45, 0.0])
    bars = sorted([crank, np.linalg.norm(coupler), rocker, pivot[0]])
    assert bars[0] == crank and bars[0] + bars[3] < bars[1] + bars[2]  # Grashof
    angles = np.linspace(0.0, 2 * np.pi, 73)
    q = kt.loops.dependent_motion(linkage, ["crank_pivot"], angles[:, None], q0=np.zeros(3)).q
    assert np.allclose(q[0], 0.0, atol=1e-12)
    turn = np.exp(-1j * (q[:, 0] + q[:, 1]))  # about y: from z to x, so clockwise in the plane x-z
    pin = crank * 1j * np.exp(-1j * angles) + complex(*coupler) * turn
    assert np.allclose(abs(pin - complex(*pivot)), rocker, atol=1e-9)
    _, tip = kt.forward_kinematics(linkage, q).of("tip")
    assert np.allclose(tip[0], [0.2, 0, 0.3])


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("model", ["cart.toml", "gripper"])
def test_every_study_is_clean_and_runs(task, model):
    kinetree("new", "mechanism", "cart", "--template", "cart")
    assert (
        kinetree("new", "study", "mine", "--template", task, "--model", model, "--duration", 0.5).exit_code
        == 0
    )
    assert check_file("mine.toml") == []
    result = kinetree("run", "mine.toml", "--json")
    assert json.loads(result.stdout.splitlines()[-1])["status"] == "ok", result.output
    assert kt.load_result("mine.nc").task == task


def test_a_prediction_with_closed_loops_is_not_begun():
    result = kinetree("new", "study", "mine", "--template", "predict", "--model", "three_rrr")
    assert result.exit_code == 2
    assert "closed loops" in result.output
    assert not Path("mine.toml").exists()


def test_a_study_of_a_legged_robot_stands_on_the_ground():
    kinetree("new", "mechanism", "robot", "--template", "legged")
    assert kinetree("new", "study", "fall", "--model", "robot.toml", "--duration", 0.05).exit_code == 0
    assert "[ground]" in Path("fall.toml").read_text()
    assert kinetree("run", "fall.toml", "--quiet").exit_code == 0
    refused = kinetree("new", "study", "walk", "--model", "robot.toml", "--template", "predict")
    assert refused.exit_code == 2 and "examples copy" in refused.stderr and not Path("walk.toml").exists()


def test_a_simulation_of_a_urdf_on_a_free_joint_begins_on_the_ground_and_rests_there(tmp_path):
    """A crate whose frame is in its middle; its weight on four corners sinks in by half a millimeter."""
    text = (
        '<robot name="crate"><link name="crate"><inertial><mass value="60"/><inertia ixx="1" iyy="1" izz="1"'
        ' ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><box size="0.4 0.4 0.3"/></geometry>'
        "</collision></link></robot>"
    )
    Path("crate.urdf").write_text(text, encoding="utf-8")
    made = kinetree("new", "study", "drop", "--model", "crate.urdf", "--floating-base", "--duration", 1)
    assert made.exit_code == 0, made.output
    assert check_file("drop.toml") == []
    assert kinetree("run", "drop.toml", "--quiet").exit_code == 0
    height = kt.load_result("drop.nc").q.sel(joint="floating_base.tz").values
    assert height[0] == 0.15 and 0.149 < height[-1] < 0.15


@pytest.mark.parametrize(("place", "first"), [(0.0, 0.1), (0.5, 0.0)])
def test_a_simulation_with_motors_does_not_begin_inside_the_ground(place, first):
    pytest.importorskip("mujoco")
    text = (
        f'<mujoco><worldbody><body name="ball" pos="0 0 {place}"><freejoint name="base"/><geom size="0.1"/>'
        '<body name="arm"><joint name="hinge"/><geom size="0.05" contype="0" conaffinity="0"/></body></body>'
        '</worldbody><actuator><motor joint="hinge"/></actuator></mujoco>'
    )
    Path("ball.xml").write_text(text, encoding="utf-8")
    made = kinetree("new", "study", "roll", "--model", "ball.xml", "--duration", 0.1)
    assert made.exit_code == 0, made.output
    assert f"q = [0, 0, {first:g}, 0, 0, 0, 0]" in Path("roll.toml").read_text()


def test_a_study_in_another_folder_finds_its_mechanism():
    kinetree("new", "mechanism", "arm")
    kinetree("new", "study", "deep/er/mine", "--model", "arm.toml")
    assert 'file = "../../arm.toml"' in Path("deep/er/mine.toml").read_text()
    assert check_file("deep/er/mine.toml") == []


def test_motions_of_new_studies_keep_within_limits():
    from kinetree.study.new_study import start_and_end

    for name in ("kuka_kr5", "biped_fixed"):
        mechanism = kt.zoo.by_name(name)
        for pose in start_and_end(mechanism):
            assert (pose >= mechanism.tree.lower - 1e-12).all() and (
                pose <= mechanism.tree.upper + 1e-12
            ).all()
        start, end = start_and_end(mechanism)
        assert (np.abs(end - start) > 0.01).all()


def test_on_a_terminal_it_asks(monkeypatch):
    monkeypatch.setattr("kinetree.cli.new.sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(
        "kinetree.cli.new.Asking.__init__", lambda self, possible: setattr(self, "possible", True)
    )
    result = kinetree("new", "mechanism", "asked", input="pendulum\n0.5\n\n")
    assert result.exit_code == 0 and "Template (arm, pendulum" in result.output
    bob = kt.load("asked.toml")
    assert bob.body_names == ("bob",) and bob.mass == 1.0
    assert bob.links[0].body.inertia.center[2] == pytest.approx(-0.25)


BAD = {
    "kind": (["mechansim", "x"], "Did you mean 'mechanism'?"),
    "template": (["mechanism", "x", "--template", "arms"], "Did you mean 'arm'?"),
    "task": (["study", "x", "--template", "inverze"], "Did you mean 'inverse'?"),
    "links": (["mechanism", "x", "--links", 0], "from 1 to 50, got 0"),
    "mass": (["mechanism", "x", "--mass", -1], "mass must be a number > 0, got -1"),
    "model": (["study", "x", "--model", "griper"], "Did you mean 'gripper'?"),
    "duration": (["study", "x", "--duration", 0], "duration must be a number > 0 (s), got 0"),
    "option of the other": (["study", "x", "--mass", 1], "--mass does not apply to a study"),
    "exists": (["mechanism", "here"], "already exists; use --force"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_answers_write_nothing(case):
    Path("here.toml").write_text("precious")
    arguments, reason = BAD[case]
    result = kinetree("new", *arguments)
    assert result.exit_code == 2 and reason in result.stderr and "Traceback" not in result.output
    assert Path("here.toml").read_text() == "precious" and not Path("x.toml").exists()


def test_force_replaces():
    Path("here.toml").write_text("old")
    assert kinetree("new", "mechanism", "here.toml", "--force").exit_code == 0
    assert kt.load("here.toml").name == "here"


WALKERS = ("biped", "planar_biped", "quadruped", "hexapod")


@pytest.mark.parametrize("template", WALKERS)
def test_robots_of_the_templates_walk_out_of_the_box(template):
    assert kinetree("new", "mechanism", "mine", "--template", template).exit_code == 0
    assert kinetree("new", "study", "walk", "--model", "mine.toml", "--duration", 1).exit_code == 0
    assert check_file("walk.toml") == []
    result = kinetree("run", "walk.toml", "--json")
    assert json.loads(result.stdout.splitlines()[-1])["status"] == "ok", result.output
    walk = kt.load_result("walk.nc")
    assert walk.audit["walk"].passed and walk.statistics["walk_steps"] >= 2
    ahead = walk.q.sel(joint="base.tx").values
    assert ahead[-1] > 0.05


URDF = """<robot name="dog">
  <link name="base"><inertial><mass value="8"/>
    <inertia ixx="0.05" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.2"/></inertial></link>
{legs}</robot>
"""
LEG = """  <joint name="{n}_haa" type="revolute"><parent link="base"/><child link="{n}_hip"/>
    <origin xyz="{x} {y} 0"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="40" velocity="20"/></joint>
  <link name="{n}_hip"><inertial><mass value="0.3"/>
    <inertia ixx="3e-4" ixy="0" ixz="0" iyy="3e-4" iyz="0" izz="3e-4"/></inertial></link>
  <joint name="{n}_hfe" type="revolute"><parent link="{n}_hip"/><child link="{n}_thigh"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="40" velocity="20"/></joint>
  <link name="{n}_thigh"><inertial><origin xyz="0 0 -0.1"/><mass value="0.6"/>
    <inertia ixx="2e-3" ixy="0" ixz="0" iyy="2e-3" iyz="0" izz="3e-4"/></inertial></link>
  <joint name="{n}_kfe" type="revolute"><parent link="{n}_thigh"/><child link="{n}_shank"/>
    <origin xyz="0 0 -0.2"/><axis xyz="0 1 0"/>
    <limit lower="-2.6" upper="-0.8" effort="40" velocity="20"/></joint>
  <link name="{n}_shank"><inertial><origin xyz="0 0 -0.1"/><mass value="0.2"/>
    <inertia ixx="7e-4" ixy="0" ixz="0" iyy="7e-4" iyz="0" izz="1e-4"/></inertial></link>
  <joint name="{n}_ankle" type="fixed"><parent link="{n}_shank"/><child link="{n}_foot"/>
    <origin xyz="0 0 -0.2"/></joint>
  <link name="{n}_foot"><visual><geometry><sphere radius="0.02"/></geometry></visual></link>
"""


def test_a_urdf_gets_feet_and_walks(tmp_path):
    """The knees of this dog cannot be stretched, so it stands lower than others and keeps its limits."""
    places = {"lf": (0.2, 0.1), "rf": (0.2, -0.1), "lh": (-0.2, 0.1), "rh": (-0.2, -0.1)}
    legs = "".join(LEG.format(n=n, x=x, y=y) for n, (x, y) in places.items())
    (tmp_path / "dog.urdf").write_text(URDF.format(legs=legs), encoding="utf-8")
    assert kinetree("new", "study", "walk", "--model", "dog.urdf", "--duration", 1).exit_code == 0
    text = Path("walk.toml").read_text()
    assert text.count("[[mechanism.contact]]") == 4 and "radius = 0.02" in text
    assert "floating_base = true" in text and check_file("walk.toml") == []
    result = kinetree("run", "walk.toml", "--json")
    assert json.loads(result.stdout.splitlines()[-1])["status"] == "ok", result.output
    knees = kt.load_result("walk.nc").q.sel(joint=["lf_kfe", "rh_kfe"]).values
    assert knees.max() < -0.8


PUSH = """
[[load]]
body = "base"
times = [0, 0.3, 0.301, 0.4, 0.401, 1]
force = [[0, 0, 0], [0, 0, 0], [0, 150, 0], [0, 150, 0], [0, 0, 0], [0, 0, 0]]
"""


def test_joint_limits_of_the_file_act_when_a_walker_is_pushed(tmp_path):
    """Without stops a knee that is pushed bends through."""
    places = {"lf": (0.2, 0.1), "rf": (0.2, -0.1), "lh": (-0.2, 0.1), "rh": (-0.2, -0.1)}
    legs = "".join(LEG.format(n=n, x=x, y=y) for n, (x, y) in places.items())
    (tmp_path / "dog.urdf").write_text(URDF.format(legs=legs), encoding="utf-8")
    for task in ("stand", "walk"):
        assert kinetree("new", "study", task, "--model", "dog.urdf", "--duration", 1).exit_code == 0
    assert 'contact = "rigid"' in Path("stand.toml").read_text()  # whose limits act by themselves
    assert "[stops]" in Path("walk.toml").read_text()
    text = Path("walk.toml").read_text() + PUSH
    beyond = {}
    for name in ("with", "without"):
        Path(f"{name}.toml").write_text(text if name == "with" else re.sub(r"\[stops\](.+\n)+", "", text))
        assert kinetree("run", f"{name}.toml").exit_code in (0, 3)
        knees = kt.load_result(f"{name}.nc").q.sel(joint=[f"{x}_kfe" for x in places]).values
        beyond[name] = max(knees.max() + 0.8, -2.6 - knees.min())
    assert beyond["with"] < 0.1 < 0.5 < beyond["without"], beyond


@pytest.mark.parametrize("task", ["stand", "simulate"])
def test_a_file_that_is_read_again_for_its_free_joint_warns_once(tmp_path, task):
    places = {"lf": (0.2, 0.1), "rf": (0.2, -0.1), "lh": (-0.2, 0.1), "rh": (-0.2, -0.1)}
    leg = LEG.replace('izz="1e-4"', 'izz="2e-3"')
    legs = "".join(leg.format(n=n, x=x, y=y) for n, (x, y) in places.items())
    (tmp_path / "dog.urdf").write_text(URDF.format(legs=legs), encoding="utf-8")
    made = kinetree("new", "study", task, "--model", "dog.urdf")
    assert made.exit_code == 0 and made.stderr.count("unphysical inertias") == 1, made.output


def test_a_urdf_stands_on_the_collisions_of_its_feet(tmp_path):
    """Of all collisions those of the feet are kept; forces of the ground balance the weight."""
    places = {"lf": (0.2, 0.1), "rf": (0.2, -0.1), "lh": (-0.2, 0.1), "rh": (-0.2, -0.1)}
    leg = LEG.replace(
        "</visual></link>",
        "</visual><collision><geometry><sphere radius='0.03'/></geometry></collision></link>",
    ).replace(
        '<link name="{n}_thigh">',
        '<link name="{n}_thigh"><collision><geometry><box size="0.05 0.05 0.2"/></geometry></collision>',
    )
    legs = "".join(leg.format(n=n, x=x, y=y) for n, (x, y) in places.items())
    (tmp_path / "dog.urdf").write_text(URDF.format(legs=legs), encoding="utf-8")
    made = kinetree("new", "study", "stand", "--model", "dog.urdf", "--duration", 2)
    assert made.exit_code == 0, made.output
    text = Path("stand.toml").read_text()
    assert "floating_base = true" in text and "lf_foot" in text
    assert "thigh" not in text.partition("[trajectory")[0]
    assert check_file("stand.toml") == []
    assert json.loads(kinetree("run", "stand.toml", "--json").stdout.splitlines()[-1])["status"] == "ok"
    stood = kt.load_result("stand.nc")
    assert stood.contact_force.shape[1] == 4
    height = stood.q.sel(joint="floating_base.tz").values
    assert abs(height[-1] - height[0]) < 0.02
    robot, force = stood.mechanism, stood.contact_force.values[-1, :, 2]
    weight, q = robot.mass * 9.81, stood.q.values[-1]
    places = [kt.forward_kinematics(robot, q).of(x.body)[1][0] for x in robot.contact_points]
    arm = places - kt.center_of_mass(robot, q)[0]
    assert force.sum() == pytest.approx(weight, rel=0.01) and min(force) > 0.1 * weight
    assert abs(force @ arm) < 0.01 * weight * 0.2


def test_a_urdf_gets_a_study_of_its_gait(tmp_path):
    """Four legs are found and trot by default; the file passes the check, which plans the gait."""
    places = {"lf": (0.2, 0.1), "rf": (0.2, -0.1), "lh": (-0.2, 0.1), "rh": (-0.2, -0.1)}
    legs = "".join(LEG.format(n=n, x=x, y=y) for n, (x, y) in places.items())
    (tmp_path / "dog.urdf").write_text(URDF.format(legs=legs), encoding="utf-8")
    assert kinetree("new", "study", "gait", "--model", "dog.urdf").exit_code == 0
    text = Path("gait.toml").read_text()
    assert text.count("[[mechanism.contact]]") == 4 and 'schedule = "trot"' in text
    assert check_file("gait.toml") == []
    refused = kinetree("new", "study", "gait", "--model", "dog.urdf", "--duration", 1, "--force")
    assert refused.exit_code == 2 and "--duration does not apply to a study of" in _said(refused)


def test_a_urdf_gets_armatures_where_joints_move_no_inertia(tmp_path):
    """A head without inertia on a neck; the study says so and passes its check."""
    places = {"lf": (0.2, 0.1), "rf": (0.2, -0.1), "lh": (-0.2, 0.1), "rh": (-0.2, -0.1)}
    legs = "".join(LEG.format(n=n, x=x, y=y) for n, (x, y) in places.items())
    neck = """<joint name="neck" type="revolute"><parent link="base"/><child link="head"/>
      <origin xyz="0.3 0 0.1"/><axis xyz="0 0 1"/>
      <limit lower="-1" upper="1" effort="5" velocity="5"/></joint>
      <link name="head"><inertial><mass value="0.5"/>
      <inertia ixx="1e-18" ixy="0" ixz="0" iyy="1e-18" iyz="0" izz="1e-18"/></inertial></link>"""
    text = URDF.format(legs=legs + neck)
    (tmp_path / "dog.urdf").write_text(text, encoding="utf-8")
    made = kinetree("new", "study", "walk", "--model", "dog.urdf", "--duration", 1)
    assert made.exit_code == 0, made.output
    (line,) = [x for x in Path("walk.toml").read_text().splitlines() if x.startswith("parameters")]
    armature = tomllib.loads(line)["parameters"]["armature"]
    assert list(armature) == ["neck"] and 1e-6 < armature["neck"] < 1e-2
    assert check_file("walk.toml") == []


def test_a_study_of_lifting_checks_runs_and_takes_its_settings(tmp_path):
    assert kinetree("new", "study", "lift").exit_code == 0
    assert check_file("lift.toml") == []
    result = kinetree("run", "lift.toml", "--set", "lift.box=12", "--set", "lift.back_force=700", "--json")
    assert json.loads(result.stdout.splitlines()[-1])["status"] == "ok", result.output
    found = kt.load_result("lift.nc")
    assert found.settings["lifting"]["box"] == 12.0
    assert float(found["lifting_force"].sel(lifting_joint="back").max()) < 707.0
    refused = kinetree("new", "study", "other", "--template", "lift", "--model", "gripper")
    assert refused.exit_code == 2 and "'human'" in _said(refused)
    timed = kinetree("new", "study", "timed", "--template", "lift", "--duration", 1.6)
    assert timed.exit_code == 0 and "\nduration = 1.6" in Path("timed.toml").read_text()


def test_a_urdf_of_an_installed_package_gets_a_free_joint(tmp_path, monkeypatch):
    places = {"lf": (0.2, 0.1), "rf": (0.2, -0.1), "lh": (-0.2, 0.1), "rh": (-0.2, -0.1)}
    legs = "".join(LEG.format(n=n, x=x, y=y) for n, (x, y) in places.items())
    info = tmp_path / "site" / "toy_dogs-1.0.dist-info"
    info.mkdir(parents=True)
    (info.parent / "dog.urdf").write_text(URDF.format(legs=legs), encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-dogs\nVersion: 1.0\n")
    (info / "RECORD").write_text("dog.urdf,,\n")
    monkeypatch.syspath_prepend(str(info.parent))
    (tmp_path / "deep").mkdir()
    made = kinetree("new", "study", "deep/walk", "--model", "toy-dogs:dog", "--template", "walk")
    assert made.exit_code == 0, made.output
    text = Path("deep/walk.toml").read_text()
    assert "floating_base = true" in text and text.count("[[mechanism.contact]]") == 4
    assert (info.parent / "dog.urdf").as_posix() in text and check_file("deep/walk.toml") == []


def test_what_cannot_walk_says_why(tmp_path):
    refused = kinetree("new", "study", "walk", "--model", "gripper")
    assert refused.exit_code == 2 and "no limbs that reach below" in _said(refused)
    refused = kinetree("new", "study", "walk", "--model", "kuka_kr5")
    assert refused.exit_code == 2 and "'kuka_kr5' has no feet: only one limb" in _said(refused)
    for key, value, message in (
        ("speed", "99", "must be within"),
        ("heading", '"90 deg"', "moves in a plane"),
        ("height", "2", "height must be between 0.5 and 0.97, got 2"),
        ("noise", "[-1, 0]", "noise must be >= 0"),
        ("kp", "5", "controller of kind 'walking' has no key 'kp'"),
        ("speed", "[[0, 1, 2]]", "must be a number or rows"),
    ):
        kinetree("new", "study", "walk", "--model", "planar_biped", "--force")
        text = Path("walk.toml").read_text().replace("speed = 0.", "# speed = 0.")
        text = text.replace('kind = "walking"', f'kind = "walking"\n{key} = {value}')
        Path("walk.toml").write_text(text)
        result = kinetree("run", "walk.toml")
        assert result.exit_code == 2 and message in _said(result), (key, _said(result))
    text = text.replace(f"{key} = {value}", "").split("[ground]")[0]
    Path("walk.toml").write_text(text)
    assert "needs a [ground]" in _said(kinetree("run", "walk.toml"))


def _said(result):
    """What a command printed, on one line."""
    return " ".join(f"{result.stdout} {result.stderr}".split())


def test_a_biped_with_light_arms_stands(tmp_path):
    """Arms get the gains that their weight needs, a hand without mass an armature; all checks pass."""
    assert kinetree("new", "mechanism", "man", "--template", "biped").exit_code == 0
    assert kinetree("convert", "man.toml", "man.urdf").exit_code == 0
    file = tmp_path / "man.urdf"
    arm = (
        '<link name="arm"><inertial><mass value="0.3"/><origin xyz="0 0 -0.1"/>'
        '<inertia ixx="1e-3" iyy="1e-3" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="arm" type="revolute"><parent link="trunk"/><child link="arm"/><axis xyz="0 1 0"/>'
        '<origin xyz="0 0.2 0.4"/><limit lower="0.1" upper="2" effort="9" velocity="9"/></joint>'
        '<link name="hand"/><joint name="hand" type="continuous"><parent link="arm"/><child link="hand"/>'
        '<axis xyz="0 0 1"/><origin xyz="0 0 -0.2"/></joint></robot>'
    )
    head, _, rest = file.read_text().partition('<link name="world"')
    text = head + '<link name="trunk"' + rest.partition('<link name="trunk"')[2]
    file.write_text(text.replace("</robot>", arm))
    made = kinetree("new", "study", "stand", "--model", "man.urdf", "--duration", 1)
    assert made.exit_code == 0, made.output
    study = tomllib.loads((tmp_path / "stand.toml").read_text())
    assert study["mechanism"]["parameters"]["armature"].keys() == {"hand"}
    kp, start = study["controller"]["kp"], study["trajectory"]["start"]
    assert kp["arm"] == pytest.approx(20 * 9.81 * 0.3 * 0.1, rel=0.05)
    assert kp["left_knee"] > 10 * kp["arm"]
    assert start["arm"] == pytest.approx(0.2)
    ran = kinetree("run", "stand.toml")
    assert ran.exit_code == 0, ran.output


@pytest.mark.parametrize("task", ["simulate", "inverse", "control"])
def test_studies_of_an_arm_with_slow_and_weak_drives_pass(tmp_path, task):
    link = (
        '<link name="{0}"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>'
        '<inertia ixx="0.01" iyy="0.06" izz="0.06" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )
    joint = (
        '<joint name="{0}" type="revolute"><origin xyz="{1} 0 0"/><parent link="{2}"/><child link="{3}"/>'
        '<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="{4}" velocity="0.5"/></joint>'
    )
    parts = [
        '<link name="world"/>', link.format("a"), link.format("b"), joint.format("j", 0, "world", "a", 30),
        joint.format("k", 0.6, "a", "b", 8),
    ]  # fmt: skip
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm">{"".join(parts)}</robot>')
    assert kinetree("new", "study", "mine", "--template", task, "--model", "arm.urdf").exit_code == 0
    result = kinetree("run", "mine.toml")
    assert result.exit_code == 0, result.output
    moved = kt.load_result("mine.nc")
    assert float(np.abs(moved.qd).max()) <= 0.5


def test_a_robot_with_torque_motors_and_a_state_stands():
    dog = kt.zoo.quadruped()
    motors = [n for n, driven in zip(dog.joint_names, dog.actuated, strict=True) if driven]
    actuators = tuple(kt.model.Actuator.motor(f"motor of {name}", name) for name in motors)
    home = NamedState("home", WalkingLaw(height=0.9).start(dog))
    kt.save(replace(dog, actuators=actuators, states=(home,)), "dog.toml")
    assert kinetree("new", "study", "stand", "--model", "dog.toml").exit_code == 0
    result = kinetree("run", "stand.toml")
    assert result.exit_code == 0, result.output
    stood = kt.load_result("stand.nc")
    z = dog.joint_index("base.tz")
    assert abs(stood.q[-1, z] - stood.q[0, z]) < 0.1  # m: it would fall by its legs' length


MJCF_LEG = """
<body name="{n}_hip" pos="{x} {y} 0"><joint name="{n}_roll" axis="1 0 0" range="-1 1"/>
  <geom type="sphere" size="0.04" mass="0.5" contype="0" conaffinity="0"/>
  <body name="{n}_thigh" pos="0 {y} 0"><joint name="{n}_pitch" axis="0 1 0" range="-1.5 3"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02" mass="1" contype="0" conaffinity="0"/>
    <body name="{n}_calf" pos="0 0 -0.2"><joint name="{n}_knee" axis="0 1 0" range="-2.7 -0.8"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.01" mass="0.2" contype="0" conaffinity="0"/>
      <geom name="{n}" type="sphere" size="0.02" pos="0 0 -0.2" mass="0.05"/></body></body></body>"""


@pytest.mark.parametrize("height", [0.24, 0.29])
def test_an_mjcf_robot_with_torque_motors_and_a_keyframe_stands(folder, height):
    """The posture of the keyframe counts, at whatever height its feet are; its controls hold nothing."""
    ends = {"fl": (0.2, 0.08), "fr": (0.2, -0.08), "rl": (-0.2, 0.08), "rr": (-0.2, -0.08)}
    legs = "".join(MJCF_LEG.format(n=n, x=x, y=y) for n, (x, y) in ends.items())
    motors = "".join(f'<motor joint="{n}_{part}"/>' for n in ends for part in ("roll", "pitch", "knee"))
    text = (
        '<mujoco model="dog"><compiler angle="radian"/>'
        '<default><motor ctrlrange="-40 40"/><joint armature="0.01"/></default>'
        '<worldbody><geom type="plane" size="5 5 0.1"/><body name="trunk" pos="0 0 0.4"><freejoint/>'
        f'<geom type="box" size="0.2 0.1 0.05" mass="8"/>{legs}</body></worldbody>'
        f'<actuator>{motors}</actuator><keyframe><key name="home" ctrl="{"0 " * 12}"'
        f' qpos="0 0 {height} 1 0 0 0 {"0 0.9 -1.8 " * 4}"/></keyframe></mujoco>'
    )
    (folder / "dog.xml").write_text(text)
    assert kinetree("new", "study", "stand", "--model", "dog.xml", "--duration", 2).exit_code == 0
    result = kinetree("run", "stand.toml")
    assert result.exit_code == 0, result.output
    z = kt.load_result("stand.nc")["q"].sel(joint="trunk_free.tz").values
    assert abs(z[-1] - z[0]) < 0.03  # m


def test_a_state_that_leaves_loops_open_by_a_little_is_assembled():
    linkage = kt.zoo.four_bar()
    closed = kt.loops.assemble(linkage, np.full(3, 0.5))
    q = getattr(closed, "q", closed)
    kt.save(replace(linkage, states=(NamedState("home", q + 1e-3),)), "linkage.toml")
    assert kinetree("new", "study", "mine", "--model", "linkage.toml", "--duration", 0.1).exit_code == 0
    result = kinetree("run", "mine.toml")
    assert result.exit_code == 0, result.output


def test_a_study_of_an_arm_too_weak_for_its_weight_passes(folder):
    """Torques within the effort limits do not hold it, and what falls is not judged by its speed."""
    build = kt.Builder("weak")
    arm = kt.Inertia.rod(5.0, (1.0, 0, 0))
    build.world.revolute("lift", axis="y", velocity_limit=1.0, effort_limit=10.0).body("arm", arm)
    kt.save(build.build(), "weak.toml")
    assert kinetree("new", "study", "hold", "--model", "weak.toml", "--yes").exit_code == 0
    assert "do not hold lift" in Path("hold.toml").read_text()
    assert kinetree("run", "hold.toml", "--quiet").exit_code == 0


def test_help_names_every_template():
    listed = re.sub(r"[│\s]+", " ", kinetree("new", "--help").output)
    assert [name for name in TEMPLATES if f"{name}," not in listed and f"{name}." not in listed] == []
