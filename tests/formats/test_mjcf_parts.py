"""Parts of MJCF models: joints, frames, names, shapes, actuators, flags; and what a mechanism cannot hold."""

import sys

import numpy as np
import pytest

import kinetree as kt
from kinetree.formats.mjcf import load_mjcf, mechanism_from_mjcf
from support.each import each
from support.mujoco_peer import (
    DATA,
    assert_same_dynamics,
    mujoco,
    peer,
)

pytestmark = pytest.mark.peers


def test_joint_parameters_are_kept_in_si_units():
    arm = load_mjcf(DATA / "arm.xml")
    tree = arm.tree
    assert arm.name == "tilted arm"
    assert arm.gravity.tolist() == [0.3, -0.4, -9.7]
    assert arm.joint_names == ("yaw", "shoulder", "extend", "elbow", "roll", "pitch", "bend")
    assert tree.lower[:4] == pytest.approx([-np.radians(170), -np.pi / 2, -0.1, -np.inf])
    assert tree.upper[:4] == pytest.approx([np.radians(170), np.radians(120), 0.6, np.inf])
    assert tree.effort_limit[:4].tolist() == [100.0, 90.0, np.inf, np.inf]
    assert tree.armature.tolist() == [0.02, 0.02, 1.5, 0.02, 0.02, 0.02, 0.02]
    assert tree.viscous.tolist() == [0.3, 0.3, 0.3, 0.3, 0.1, 0.3, 0.3]
    assert tree.coulomb.tolist() == [0.4, 0, 0, 0, 0, 0, 0]
    assert tree.stiffness[:3].tolist() == [0, 12, 40]
    assert tree.rest[1:3] == pytest.approx([np.radians(10), 0.2])


def test_frames_between_joints_are_empty_and_only_where_needed():
    arm = load_mjcf(DATA / "arm.xml")
    frames = [name for name in arm.body_names if name.endswith("_frame")]
    assert frames == ["shoulder_frame", "roll_frame", "pitch_frame", "bend_frame"]
    assert all(arm.link(name).body.inertia.is_zero for name in frames)
    assert arm.link("turret").joint.name == "yaw"  # its anchor lies on the axis through the origin
    assert arm.link("wrist").joint.kind == "fixed"
    assert arm.link("tool").joint.kind == "fixed"


def test_missing_names_are_made_up_and_differ():
    text = """<mujoco><option><flag contact="disable"/></option><worldbody>
      <body><joint/><geom size="1"/><body name="body1"><joint name="body3_hinge"/><geom size="1"/>
      <body><joint/><joint axis="1 0 0"/><geom size="1"/></body></body></body></worldbody></mujoco>"""
    robot = mechanism_from_mjcf(text)
    assert robot.body_names == ("body1_2", "body1", "body3_hinge_2_frame", "body3")
    assert robot.joint_names == ("body1_2_hinge", "body3_hinge", "body3_hinge_2", "body3_hinge_3")
    assert robot.name == "text"


def test_shapes_are_those_mujoco_draws():
    arm = load_mjcf(DATA / "arm.xml")
    shapes = {link.body.name: link.body.shapes for link in arm.links}
    assert [(s.kind, s.size.tolist()) for s in shapes["pedestal"]] == [("cylinder", [0.1, 0.5])]
    assert [(s.kind, s.size.tolist()) for s in shapes["turret"]] == [("box", [0.16, 0.12, 0.2])]
    assert shapes["turret"][0].placement.position.tolist() == [0, 0, 0.1]
    length = np.linalg.norm([0.1, 0.05, 0.4])
    (capsule,) = shapes["upper"]
    assert capsule.size == pytest.approx([0.04, length])
    assert abs(capsule.placement.rotation[:, 2] @ [0.1, 0.05, 0.4]) == pytest.approx(length)
    assert [s.kind for s in shapes["fore"]] == ["sphere", "ellipsoid"]
    assert len(shapes["tool"]) == 1  # geoms of group 3 are not drawn


def test_a_mesh_is_placed_where_mujoco_has_its_vertices(monkeypatch):
    model, data = peer("scene")
    monkeypatch.chdir(DATA)
    (shape,) = load_mjcf("scene.xml").links[0].body.shapes  # the mesh with a reference pose is passed over
    assert shape.file == "parts/wedge.obj"
    lines = [line.split() for line in (DATA / shape.file).read_text().splitlines() if line.startswith("v ")]
    vertices = np.array(lines)[:, 1:].astype(float) * shape.size
    mine = vertices @ shape.placement.rotation.T + shape.placement.position
    mujoco.mj_forward(model, data)
    first, count = model.mesh_vertadr[0], model.mesh_vertnum[0]
    theirs = model.mesh_vert[first : first + count] @ data.geom_xmat[0].reshape(3, 3).T + data.geom_xpos[0]
    nearest = np.abs(mine[:, None] - theirs).max(axis=-1).min(axis=1)
    assert len(theirs) == len(mine) and nearest.max() < 1e-6  # MuJoCo stores vertices in single precision


def one_hinge(joint="", body="", more=""):
    """A text with one body on a hinge."""
    return (
        f'<mujoco>{more}<worldbody><body name="bob" {body}><joint {joint}/>'
        '<geom type="box" size="0.1 0.2 0.3" pos="0.4 0 0"/></body></worldbody></mujoco>'
    )


def test_actuator_inertia_and_damping_are_felt_through_the_gear(rng):
    text = one_hinge(
        joint='name="h" armature="0.1" damping="0.2"',
        more='<actuator><motor joint="h" gear="3" armature="0.05" damping="0.07"/></actuator>',
    )
    model = mujoco.MjModel.from_xml_string(text)
    assert_same_dynamics(mechanism_from_mjcf(text), model, rng)


def test_a_limit_of_the_joint_on_actuator_forces_counts():
    motor = '<actuator><motor joint="h" gear="3" forcerange="-5 5"/></actuator>'
    limited = mechanism_from_mjcf(one_hinge(joint='name="h" actuatorfrcrange="-7 9"', more=motor))
    assert limited.tree.effort_limit.tolist() == [9.0]
    alone = mechanism_from_mjcf(one_hinge(joint='name="h"', more=motor))
    assert alone.tree.effort_limit.tolist() == [15.0]


def test_flags_switch_parts_of_the_physics_off(rng):
    joint = 'range="-1 1" stiffness="2" damping="3" frictionloss="4" limited="true"'
    flags = 'gravity="disable" spring="disable" damper="disable" frictionloss="disable" limit="disable"'
    text = one_hinge(joint=joint, more=f"<option><flag {flags}/></option>")
    robot = mechanism_from_mjcf(text)
    assert not robot.gravity.any() and not robot.tree.passive.any()
    assert np.isinf([robot.tree.lower[0], robot.tree.upper[0]]).all()
    assert_same_dynamics(robot, mujoco.MjModel.from_xml_string(text), rng)
    assert mechanism_from_mjcf(one_hinge(joint=joint)).tree.coulomb.tolist() == [4.0]


LEFT_OUT = {
    r"contacts with objects other than a floor \(sphere 0\)": ("<geom size='1'/>", "", ""),
    "contacts between bodies": ("<body><joint/><geom size='1'/></body>", "", ""),
    r"dead band of the spring of fixed tendons \(tendon 0\)": (
        "",
        "",
        "<tendon><fixed stiffness='1' springlength='0 1'><joint joint='h' coef='1'/></fixed></tendon>",
    ),
    r"softness of limits of fixed tendons \(tendon 0\)": (
        "",
        "",
        "<tendon><fixed range='-1 1' solreflimit='0.3 1'><joint joint='h' coef='1'/></fixed></tendon>",
    ),
    r"limits of spatial tendons \(rope\)": (
        "<site name='s'/>",
        "",
        "<tendon><spatial name='rope' range='0 1'><site site='s'/><site site='e'/></spatial></tendon>",
    ),
    "fluid forces": ("", "", "<option density='1.2'/>"),
    r"actuators other than motors and servos on hinges and slides \(actuator1\)": (
        "",
        "",
        "<actuator><position name='servo' joint='h'/><motor joint='b'/></actuator>",
    ),
    r"actuator dynamics \(servo\)": (
        "",
        "",
        "<actuator><position name='servo' joint='h' timeconst='0.1'/></actuator>",
    ),
    "mocap motion of ghost": ("<body name='ghost' mocap='true'/>", "", ""),
    "friction, spring, limit of ball joint 'b'": (
        "",
        "",
        "<default><joint armature='1' damping='1' frictionloss='1' stiffness='1' range='0 1'/></default>",
    ),
    "nonlinear spring, nonlinear damping of hinge joint 'h'": (
        "",
        "",
        "<default><joint stiffness='1 1' damping='0 1'/></default>",
    ),
    r"joint equality '0' \(it holds the only joint in place\)": (
        "",
        "",
        "<equality><joint joint1='h'/></equality>",
    ),
    r"joint equality '1' \(joints would follow others by a polynomial of a degree above 4\)": (
        "<body><joint name='k'/><geom size='0.1' contype='0' conaffinity='0'/></body>"
        "<body><joint name='m'/><geom size='0.1' contype='0' conaffinity='0'/></body>",
        "",
        "<equality><joint joint1='h' joint2='k' polycoef='0 1 1 1 0'/>"
        "<joint joint1='k' joint2='m' polycoef='0 1 1 0 0'/></equality>",
    ),
}


@each("part", LEFT_OUT)
def test_what_a_mechanism_cannot_hold_is_named_in_one_warning(part):
    world, body, more = LEFT_OUT[part]
    text = f"""<mujoco><worldbody>{world}<body name="bob" {body}><joint name="h"/><geom size="0.1"/>
      <body><joint name="b" type="ball"/><geom size="0.1"/><site name="e"/></body></body></worldbody>
      {more}</mujoco>"""
    with pytest.warns(
        UserWarning, match=f"(?s)^text: ignored because a mechanism cannot represent it:\n.*  - {part}(\n|$)"
    ) as caught:
        mechanism_from_mjcf(text)
    assert len(caught) == 1 and caught[0].filename == __file__


def test_what_mujoco_warns_of_is_passed_on():
    text = one_hinge(joint="name='a'/><joint name='b' axis='0 0 1'")  # both about z: a singular mass matrix
    with pytest.warns(UserWarning, match="^text: MuJoCo warns: Inertia matrix is too close to singular"):
        assert mechanism_from_mjcf(text).n_dof == 2


def test_without_mujoco_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(kt.errors.MissingExtraError, match=r"reading MJCF files needs .*\[mjcf\]"):
        load_mjcf(DATA / "arm.xml")
