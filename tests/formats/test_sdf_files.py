"""SDF files on disk: includes, folders, worlds, bad input, size; and the commands that read them."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli.app import app
from kinetree.formats.sdf import mechanism_from_sdf
from support.each import each

BODY = "<inertial><mass>2</mass><inertia><ixx>0.02</ixx><iyy>0.03</iyy><izz>0.04</izz></inertia></inertial>"
LINK = f'<link name="a">{BODY}</link>'


def written(folder, name: str, text: str, version: str = "1.9"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'<sdf version="{version}">{text}</sdf>')
    return path


def quiet(path, **options) -> kt.Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kt.load(path, **options)


def model(name: str, inside: str = LINK) -> str:
    return f'<model name="{name}">{inside}</model>'


def include(uri: str, more: str = "", attributes: str = "") -> str:
    return f"<include{attributes}><uri>{uri}</uri>{more}</include>"


JOINT = (
    '<joint name="j" type="revolute"><parent>a</parent><child>{child}</child>'
    "<axis><xyz>0 0 1</xyz></axis></joint>"
)
TWO = LINK + '<link name="b"/>' + JOINT.format(child="b")


# ---- includes -----------------------------------------------------------------------------------------


def test_included_models_are_nested_and_placed(tmp_path):
    written(tmp_path / "models" / "hand", "model.sdf", model("hand", '<link name="palm">' + BODY + "</link>"))
    more = "<name>left</name><pose>0 0 2 0 0 0</pose>"
    text = model("m", LINK + include("models/hand", more) + JOINT.format(child="left::palm"))
    found = kt.load(written(tmp_path, "robot.sdf", text))
    assert found.body_names == ("a", "left::palm")
    np.testing.assert_allclose(kt.forward_kinematics(found, np.zeros(7)).of("left::palm")[1], [0, 0, 2])


def test_model_scheme_is_found_beside_by_packages_and_by_the_environment(tmp_path, monkeypatch):
    shelf = tmp_path / "shelf"
    written(shelf / "hand", "hand.sdf", model("hand", '<link name="palm">' + BODY + "</link>"))
    config = (
        '<model><name>hand</name><sdf version="1.5">old.sdf</sdf><sdf version="1.9">hand.sdf</sdf></model>'
    )
    (shelf / "hand" / "model.config").write_text(config)
    text = model("m", LINK + include("model://hand") + JOINT.format(child="hand::palm"))
    beside = written(shelf / "robot", "robot.sdf", text)
    elsewhere = written(tmp_path / "other", "robot.sdf", text)
    assert kt.load(beside).n_bodies == 2
    with pytest.raises(kt.errors.FileError, match="hand"):
        kt.load(elsewhere)
    assert kt.load(elsewhere, packages={"hand": shelf / "hand"}).n_bodies == 2
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(shelf))
    assert kt.load(elsewhere).n_bodies == 2


def test_merged_models_share_the_names_of_their_owner(tmp_path):
    written(tmp_path, "hand.sdf", model("hand", '<link name="palm">' + BODY + "</link>"))
    merged = include("hand.sdf", "<pose>0 0 2 0 0 0</pose>", ' merge="true"')
    found = kt.load(written(tmp_path, "robot.sdf", model("m", LINK + merged + JOINT.format(child="palm"))))
    assert found.body_names == ("a", "palm")
    np.testing.assert_allclose(kt.forward_kinematics(found, np.zeros(7)).of("palm")[1], [0, 0, 2])


def test_includes_cannot_leave_the_folder_nor_include_themselves(tmp_path):
    written(tmp_path, "secret.sdf", model("s"))
    inside = tmp_path / "inside"
    for uri in ("../secret.sdf", "file:///etc/passwd", "model://../secret.sdf"):
        with pytest.raises(kt.errors.FileError, match=r"outside the folder|is not an SDF|no file"):
            kt.load(written(inside, "robot.sdf", model("m", LINK + include(uri))))
    with pytest.raises(kt.errors.FileError, match="includes itself"):
        kt.load(written(inside, "robot.sdf", model("m", LINK + include("robot.sdf"))))
    assert (
        quiet(
            written(inside, "up.sdf", model("m", LINK + include("../secret.sdf"))), folder=tmp_path
        ).n_bodies
        == 2
    )
    with pytest.raises(kt.errors.FileError, match="model://nowhere"):
        kt.load(written(inside, "robot.sdf", model("m", LINK + include("model://nowhere"))))


ROBOT = """<robot name="arm">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base">
    <inertial><origin xyz="0.1 0 0.2" rpy="0.3 0 0.1"/><mass value="3"/>
      <inertia ixx="0.3" iyy="0.4" izz="0.5" ixy="0.01" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>
  </link>
  <link name="elbow">
    <inertial><mass value="2"/><inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><sphere radius="0.1"/></geometry><material name="red"/></visual>
  </link>
  <link name="tool"/>
  <link name="hand">
    <inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="elbow" type="revolute">
    <origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><parent link="base"/><child link="elbow"/><axis xyz="0 1 1"/>
    <limit lower="-1" upper="2" effort="0" velocity="3"/><dynamics damping="0.4"/>
  </joint>
  <joint name="slide" type="prismatic">
    <origin xyz="0 0.5 0"/><parent link="elbow"/><child link="hand"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="3"/><mimic joint="elbow" multiplier="0.5" offset="0.1"/>
  </joint>
  <joint name="end" type="fixed"><origin xyz="0 0 0.3"/><parent link="hand"/><child link="tool"/></joint>
  <transmission name="t"><type>x</type><joint name="elbow"/>
    <actuator name="motor"><drake:rotor_inertia value="0.01"/><drake:gear_ratio value="3"/></actuator>
  </transmission>
</robot>"""


def test_included_urdf_robots_move_as_they_do_alone(tmp_path):
    (tmp_path / "arm.urdf").write_text(ROBOT)
    alone = quiet(tmp_path / "arm.urdf", floating_base=True)
    both = model("m", LINK + include("arm.urdf", "<name>own</name><pose>0 0 2 0 0 1</pose>"))
    for text in (both, model("m", include("arm.urdf", attributes=' merge="true"'))):
        found = quiet(written(tmp_path, "robot.sdf", text), floating_base=True)
        body = {
            name: next(x for x in found.body_names if x.endswith(name)) for name in ("hand", "tool", "elbow")
        }
        own = [k for k, name in enumerate(found.joint_names) if body["elbow"] in name or "base" in name]
        own = own[-7:]  # after the free joint of the other body, if there is one
        q, qd, qdd = np.random.default_rng(1).uniform(-0.5, 0.5, (3, 7))
        more = np.zeros((3, found.n_dof))
        more[:, own] = q, qd, qdd
        place = found.links[found.body_names.index(body["elbow"].replace("elbow", "base"))].placement
        tilted = kt.forward_kinematics(found, more[0])
        flat = kt.forward_kinematics(alone, q)
        for short, name in body.items():
            expected = place.position + place.rotation @ flat.of(short)[1]
            np.testing.assert_allclose(tilted.of(name)[1], expected, atol=1e-12)
        tau = kt.inverse_dynamics(found, *more)[own]
        alone_tau = kt.inverse_dynamics(alone, q, qd, qdd)
        np.testing.assert_allclose(tau[3:], alone_tau[3:], atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(tau[:3]), np.linalg.norm(alone_tau[:3]), rtol=1e-12)
        joint = found.links[found.body_names.index(body["elbow"])].joint
        assert joint.armature[0] == pytest.approx(0.09)
        assert joint.effort_limit[0] == np.inf
        assert (joint.lower[0], joint.upper[0], joint.viscous[0]) == (-1.0, 2.0, 0.4)
        assert found.links[found.body_names.index(body["elbow"])].body.shapes[0].color == (1.0, 0.0, 0.0, 1.0)
        assert found.links[found.body_names.index(body["tool"])].body.inertia.mass == 0.0
        assert len(found.contact_points) == len(alone.contact_points)


def test_included_urdf_robots_name_what_sdf_cannot_say(tmp_path):
    (tmp_path / "arm.urdf").write_text(ROBOT.replace("</robot>", "<springs/></robot>"))
    path = written(tmp_path, "robot.sdf", model("m", LINK + include("arm.urdf")))
    with pytest.warns(kt.KinetreeWarning, match="names of joints that links have, too") as heard:
        found = kt.load(path)
    assert "element <springs>" in str(heard[0].message)
    assert "arm::elbow_joint" in found.joint_names
    (tmp_path / "arm.urdf").write_text("<sdf/>")
    with pytest.raises(kt.errors.FileError, match=r"arm.urdf, line 1, <sdf>: the root element of a URDF"):
        kt.load(path)


def test_includes_that_double_are_stopped(tmp_path):
    written(tmp_path, "f0.sdf", model("f0", "".join(f'<link name="l{k}"/>' for k in range(50))))
    for k in range(1, 14):
        twice = "".join(include(f"f{k - 1}.sdf", f"<name>{x}</name>") for x in "ab")
        written(tmp_path, f"f{k}.sdf", model(f"f{k}", twice))
    with pytest.raises(kt.errors.FileError, match="more than 100000 parts"):
        kt.load(tmp_path / "f13.sdf")


def test_entities_are_refused():
    with pytest.raises(kt.errors.FileError, match="entities"):
        mechanism_from_sdf('<!DOCTYPE x [<!ENTITY a "aaa">]><sdf version="1.9">&a;</sdf>')


# ---- worlds -------------------------------------------------------------------------------------------


def test_a_world_with_several_models_asks_which(tmp_path):
    ground = '<model name="ground"><static>true</static><link name="plane"/></model>'
    one = written(tmp_path, "one.sdf", f'<world name="w">{ground}{model("robot")}</world>')
    with pytest.warns(kt.KinetreeWarning, match="models that do not move"):
        assert kt.load(one).body_names == ("a",)
    two = written(tmp_path, "two.world", f'<world name="w">{model("left")}{model("right")}</world>')
    with pytest.raises(
        kt.errors.ModelError, match=r"2 models: left, right; .* root='left', or root='w' for all"
    ):
        kt.load(two)
    assert kt.load(two, root="right").body_names == ("a",)
    assert kt.load(two, root="w").body_names == ("left::a", "right::a")
    with pytest.raises(kt.errors.InputError, match=r"unknown model 'rigth'.*right"):
        kt.load(two, root="rigth")


# ---- bad input ----------------------------------------------------------------------------------------

CIRCLE = ("fg", "gf")
BAD = {
    "no model": ("", "there is no <model>"),
    "no link": ('<model name="m"/>', "there is no <link>"),
    "unknown link": (model("m", LINK + JOINT.format(child="b")), "unknown frame 'b'"),
    "itself": (model("m", LINK + JOINT.format(child="a")), "connects link 'a' to itself"),
    "twice": (model("m", LINK + LINK), "two elements are called 'a'"),
    "type": (model("m", TWO.replace("revolute", "revolut")), "Did you mean 'revolute'"),
    "numbers": (model("m", f'<link name="a"><pose>0 0 0</pose>{BODY}</link>'), "<pose> must be 6 numbers"),
    "comma": (model("m", LINK.replace("0.02", "0,02")), "decimal point"),
    "NaN": (model("m", LINK.replace("<mass>2", "<mass>nan")), "mass"),
    "mass": (model("m", LINK.replace("<mass>2", "<mass>-2")), "mass must be >= 0"),
    "flag": (model("m", "<static>maybe</static>" + LINK), "must be true or false, got 'maybe'"),
    "circle": (
        model("m", LINK + "".join(f'<frame name="{x}"><pose relative_to="{y}"/></frame>' for x, y in CIRCLE)),
        "given by each other: f, g, f",
    ),
    "axis": (model("m", TWO.replace("0 0 1", "0 0 0")), "axis|xyz"),
    "quaternion": (
        model("m", f'<link name="a"><pose rotation_format="quat_xyzw">0 0 0 0 0 0 0</pose>{BODY}</link>'),
        "must not be zero",
    ),
    "mimic": (
        model("m", TWO.replace("</axis>", '<mimic joint="x"/></axis>')),
        "unknown joint 'x'",
    ),
}  # fmt: skip


@each("text, message", BAD.values(), ids=BAD)
def test_bad_input_is_named(text, message):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(kt.KinetreeError, match=message) as caught:
            mechanism_from_sdf(f'<sdf version="1.9">{text}</sdf>', source="robot.sdf")
    assert str(caught.value).startswith("robot.sdf")


def test_the_version_must_be_given():
    with pytest.raises(kt.errors.FileError, match="version must be given"):
        mechanism_from_sdf("<sdf/>")
    with pytest.raises(kt.errors.FileError, match="root element of an SDF file is <sdf>"):
        mechanism_from_sdf("<robot/>")


def test_what_is_passed_over_is_one_warning_and_strict_refuses_it(tmp_path):
    mesh = '<visual name="v"><geometry><mesh><uri>model://gone/x.dae</uri></mesh></geometry></visual>'
    path = written(tmp_path, "m.sdf", model("m", f'<link name="a">{BODY}{mesh}</link><link name="b"/>'))
    with pytest.warns(kt.KinetreeWarning) as heard:
        kt.load(path)
    assert len(heard) == 1
    assert "meshes" not in str(heard[0].message)  # a mesh that is missing is reported where it is drawn
    assert "links without <inertial>" in str(heard[0].message)
    away = path.read_text().replace("model://gone/x.dae", "/nowhere/x.dae")
    path.write_text(away)
    with pytest.raises(kt.errors.FileError, match="outside the folder"):
        kt.load(path, strict=True)


# ---- size ---------------------------------------------------------------------------------------------


def chain(n: int) -> str:
    parts = []
    for k in range(n):
        frame = f' relative_to="l{k - 1}"' if k else ""
        parts.append(f'<link name="l{k}"><pose{frame}>0.1 0 0 0 0 0</pose>{BODY}</link>')
        parent = f"l{k - 1}" if k else "world"
        parts.append(
            f'<joint name="j{k}" type="revolute"><parent>{parent}</parent><child>l{k}</child>'
            "<axis><xyz>0 0 1</xyz></axis></joint>"
        )
    return f'<sdf version="1.9">{model("chain", "".join(reversed(parts)))}</sdf>'


def test_large_files_take_linear_time():
    mechanism_from_sdf(chain(100))
    spent = []
    for n in (1000, 5000):
        text = chain(n)
        start = time.process_time()
        found = mechanism_from_sdf(text)
        spent.append(time.process_time() - start)
        assert found.n_dof == n
    assert spent[1] < 15 * spent[0] + 0.5  # five times as many links; quadratic would be 25 times


# ---- commands -----------------------------------------------------------------------------------------


def test_commands_read_sdf(tmp_path):
    ground = '<model name="ground"><static>true</static><link name="plane"/></model>'
    arm = model("arm", LINK + JOINT.format(child="b") + f'<link name="b">{BODY}</link>')
    path = written(tmp_path, "arm.sdf", f'<world name="w">{ground}{arm}{model("other")}</world>')
    run = CliRunner().invoke
    asked = run(app, ["info", str(path)])
    assert asked.exit_code == 2
    assert "root='arm'" in asked.output.replace("\n", " ")
    told = run(app, ["info", str(path), "--root", "arm", "--fixed-base"])
    assert told.exit_code == 0, told.output
    assert "arm" in told.output
    target = tmp_path / "arm.toml"
    done = run(app, ["convert", str(path), str(target), "--root", "arm"])
    assert done.exit_code == 0, done.output
    assert kt.load(target).n_dof == 7
    checked = run(app, ["check", str(path), "--root", "arm"])
    assert checked.exit_code == 0, checked.output
    drawn = run(app, ["draw", str(path), "--root", "arm", "-o", str(tmp_path / "arm.png")])
    assert drawn.exit_code == 0, drawn.output
    broken = written(tmp_path, "broken.sdf", model("m", LINK + JOINT.format(child="b")))
    wrong = run(app, ["check", str(broken)])
    assert wrong.exit_code == 2
    assert "broken.sdf:1" in wrong.output.replace("\n", "")
