"""URDF as the world writes it: what changes no dynamics stops no question, and is said."""

import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.formats.urdf import load_urdf, mechanism_from_urdf
from support.each import each

INERTIAL = (
    '<inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def joint(name, parent, child, inside="", kind="revolute"):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0.3 0 0"/>{inside}</joint>'
    )


def link(name, inside=INERTIAL):
    return f'<link name="{name}">{inside}</link>'


def robot(*parts, head='<robot name="r">'):
    return head + "".join(parts) + "</robot>"


MESH = '<visual><geometry><mesh filename="/x/y.stl"/></geometry></visual>'
PLAIN = robot(link("base", ""), link("a"), link("b"), joint("j", "base", "a"), joint("k", "a", "b"))


def torques(mechanism):
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, mechanism.n_dof))
    return kt.inverse_dynamics(mechanism, q, qd, qdd)


@each(
    ("text", "said"),
    [
        (
            PLAIN.replace("<origin", '<joint_properties damping="3"/><dynamics D="3"/><origin'),
            "joint_properties",
        ),
        (PLAIN.replace(' name="r"', ""), "<robot> without a name"),
        (PLAIN.replace('<link name="base"></link>', "").replace('"base"', '"world"'), "'world' used and not"),
        (
            PLAIN.replace(
                "</link>", '<visual><geometry><mesh filename="/x/y.stl"/></geometry></visual></link>'
            ),
            "meshes outside the folder",
        ),
        (PLAIN.replace("</link>", "<visual/></link>", 1), "<visual> that cannot be drawn"),
        (PLAIN.replace('ixy="0"', 'iyx="0"'), "attribute 'iyx' of <inertia>"),
        (PLAIN.replace('iyz="0"', ""), "<inertia> without 'iyz'"),
        (PLAIN.replace("<origin", '<mimic joint="nobody"/><origin'), "<mimic> that cannot be one"),
    ],
)
def test_what_changes_no_dynamics_is_said_and_passed_over(text, said):
    with pytest.warns(kt.KinetreeWarning, match="ignored") as heard:
        found = mechanism_from_urdf(text)
    assert len(heard) == 1 and said in str(heard[0].message)
    assert np.array_equal(torques(found), torques(mechanism_from_urdf(PLAIN)))
    with pytest.raises(kt.KinetreeError):
        mechanism_from_urdf(text, strict=True)


def test_a_link_without_mass_or_inertia():
    with pytest.warns(kt.KinetreeWarning, match="<inertial> without <mass>"):
        bare = mechanism_from_urdf(PLAIN.replace('<mass value="2"/>', "", 1))
    assert bare.link("a").body.inertia == kt.Inertia()
    text = PLAIN.replace(INERTIAL, '<inertial><mass value="2"/></inertial>', 1)
    with pytest.warns(kt.KinetreeWarning, match="<inertial> without <inertia>"):
        point = mechanism_from_urdf(text)
    assert point.link("a").body.inertia == kt.Inertia.point(2.0)


@pytest.mark.parametrize(
    ("kind", "mimic"), [("fixed", '<mimic joint="j"/>'), ("revolute", '<mimic joint="f"/>')]
)
def test_mimics_by_and_of_fixed_joints_are_dropped(kind, mimic):
    text = robot(
        link("base"), link("a"), link("b"), link("c"), joint("j", "base", "a"),
        joint("f", "base", "b", kind="fixed"), joint("k", "a", "c", mimic, kind=kind),
    )  # fmt: skip
    with pytest.warns(kt.KinetreeWarning, match="<mimic> that cannot be one"):
        found = mechanism_from_urdf(text)
    assert found.joint_names == (("j",) if kind == "fixed" else ("j", "k"))


def test_rounding_below_any_body_is_no_fault():
    text = PLAIN.replace('ixx="0.1" iyy="0.1" izz="0.1"', 'ixx="-2.4e-35" iyy="0" izz="0"', 1)
    assert mechanism_from_urdf(text, strict=True).link("a").body.inertia.mass == 2.0


def test_an_inertia_that_is_not_positive_semidefinite_gives_the_answer_of_the_file():
    text = PLAIN.replace('ixx="0.1"', 'ixx="-0.01"', 1)
    with pytest.warns(kt.KinetreeWarning, match=r"'a' must be positive semidefinite; .* -0\.01, 0\.1, 0\.1"):
        found = mechanism_from_urdf(text)
    assert found == mechanism_from_urdf(text, allow_unphysical=True)
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, 2))
    plain = kt.inverse_dynamics(found, q, qd, qdd, formulation="newton_euler")
    assert np.allclose(kt.inverse_dynamics(found, q, qd, qdd), plain, rtol=1e-12)


def test_several_roots_ask_which(tmp_path):
    file = tmp_path / "two.urdf"
    file.write_text(
        robot(link("a"), link("b"), link("c"), link("d"), joint("j", "a", "b"), joint("k", "c", "d"))
    )
    with pytest.raises(kt.errors.ModelError, match=r"2 links have no parent: a, c; .* use root='a'"):
        kt.load(file)
    assert kt.load(file, root="c").joint_names == ("k",)
    assert kt.load(file, root="b").body_names == ("b",)
    assert kt.load(file, root="c", floating_base=True).n_dof == 7
    with pytest.raises(kt.errors.InputError, match="root: unknown link 'x'"):
        kt.load(file, root="x")


def test_armature_for_joints_that_move_no_inertia(tmp_path):
    file = tmp_path / "finger.urdf"
    file.write_text(
        robot(link("base", ""), link("a"), link("b", ""), joint("j", "base", "a"), joint("k", "a", "b"))
    )
    still = [0.0, 0.0]
    with pytest.raises(kt.errors.SingularityError, match=r"joint 'k' .*armature= of kinetree\.load"):
        kt.forward_dynamics(kt.load(file), still, still, still)
    arm = kt.load(file, armature=1e-3)
    assert arm.tree.armature.tolist() == [1e-3, 1e-3]
    assert np.isfinite(kt.forward_dynamics(arm, still, still, still)).all()
    assert kt.load(file, armature={"k": 2e-3}).tree.armature.tolist() == [0.0, 2e-3]
    for wrong, said in (
        ({"x": 1.0}, "unknown joint 'x'"),
        (-1.0, ">= 0"),
        (float("nan"), "finite"),
        ("a", "number"),
    ):
        with pytest.raises(kt.errors.InputError, match=said):
            kt.load(file, armature=wrong)


MACRO = (
    '<robot name="m" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    '<xacro:property name="mass" value="${1 + 1}"/>'
    '<xacro:macro name="part" params="name"><link name="${name}"><inertial><mass value="${mass}"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></xacro:macro>'
    '<link name="base"/><xacro:part name="arm"/><joint name="j" type="continuous"><parent link="base"/>'
    '<child link="arm"/></joint></robot>'
)


@pytest.mark.parametrize("name", ["m.xacro", "m.urdf.xacro", "m.urdf"])
def test_macros_are_expanded(tmp_path, name):
    (tmp_path / name).write_text(MACRO)
    assert kt.load(tmp_path / name).mass == 2.0


def test_macros_find_packages_as_meshes_do(tmp_path, monkeypatch):
    namespace = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
    parts = tmp_path / "elsewhere" / "robot_parts"
    parts.mkdir(parents=True)
    (parts / "arm.xacro").write_text(MACRO.replace('name="m" ', "", 1))
    (parts / "mass.yaml").write_text("mass: 3.5")
    file = tmp_path / "top.urdf.xacro"
    include = '<xacro:include filename="$(find robot_parts)/arm.xacro"/>'
    load = "${xacro.load_yaml('$(find robot_parts)/mass.yaml')['mass']}"
    extra = f'<link name="tip"><inertial><mass value="{load}"/></inertial></link>'
    carried = '<joint name="k" type="fixed"><parent link="arm"/><child link="tip"/></joint>'
    file.write_text(f'<robot name="top" {namespace}>{include}{extra}{carried}</robot>')
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    with pytest.raises(kt.errors.FileError, match=r"package 'robot_parts' is neither .*packages="):
        kt.load(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert kt.load(file, packages={"robot_parts": parts}).mass == 5.5
        monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "elsewhere"))
        assert kt.load(file).mass == 5.5


def test_many_remarks_are_one_short_sentence(tmp_path):
    bodies = [link(f"l{k}", f'<traits{k}/><inertial color="red"/>') for k in range(200)]
    joints = [joint(f"j{k}", f"l{k - 1}", f"l{k}", "<gains/>") for k in range(1, 200)]
    file = tmp_path / "long.urdf"
    file.write_text(robot(*bodies, *joints))
    with pytest.warns(kt.KinetreeWarning) as heard:
        load_urdf(file)
    assert len(heard) == 1 and len(str(heard[0].message)) < 1000 + len(str(file))
    assert "attribute 'color' of <inertial> (200 times)" in str(heard[0].message)


def test_a_world_with_inertia_a_second_axis_and_a_late_declaration_are_read(tmp_path):
    text = """
<?xml version="1.0" encoding="UTF-8"?>
<robot name="pendulum">
  <link name="world"><inertial><mass value="0.01"/>
    <inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
    <inertia ixx="0.2" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="pivot" type="continuous"><parent link="world"/><child link="rod"/>
    <axis xyz="0 1 0"/>
    <axis xyz="1 0 0"/></joint>
</robot>"""
    path = tmp_path / "pendulum.urdf"
    path.write_text(text)
    with pytest.warns(
        kt.KinetreeWarning, match=r"<axis> after the first of a <joint>, inertia of the world"
    ) as heard:
        found = kt.load(path)
    assert len(heard) == 1
    assert found.body_names == ("rod",)
    assert kt.gravity_torque(found, [np.pi / 2]) == pytest.approx([2 * 9.81 * 0.5])  # about the first axis
    with pytest.raises(kt.errors.FileError, match=r"line 10, .*only one <axis>"):
        kt.load(path, strict=True)
    path.write_text(text.replace('<axis xyz="1 0 0"/>', ""))
    with pytest.raises(kt.errors.ModelError, match=r"line 4, .*inertia of the world"):
        kt.load(path, strict=True)
