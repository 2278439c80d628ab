"""Writing URDF: what is read back has the same dynamics, and nothing is lost without a word."""

import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.rotation import THREE_AXIS_SEQUENCES, euler_rotation
from kinetree.formats.urdf import load_urdf, mechanism_from_urdf
from kinetree.formats.urdf_writer import urdf_text
from kinetree.formats.xml_file import parse_xml

DATA = Path(__file__).parent.parent / "data" / "urdf"
ROUNDING = 2e-15  # of rotation matrices through roll-pitch-yaw
PER_AXIS = ("parent", "turns", "rotation", "position", "mass", "first_moment", "second_moment", "massive")
LIMITS = ("lower", "upper", "velocity_limit", "effort_limit", "viscous", "coulomb")
KINDS = ("fixed", "revolute", "prismatic", "cylindrical", "universal", "spherical", "planar", "free")


def random_inertia(rng):
    points = rng.normal(size=(5, 3)) * 0.2
    return sum(
        (kt.Inertia.point(m, p) for m, p in zip(rng.uniform(0.1, 1, 5), points, strict=True)), kt.Inertia()
    )


def random_mechanism(seed, kinds, n=12):
    """A tree with joints of the given kinds in random places, with limits and friction."""
    rng = np.random.default_rng(seed)
    builder = kt.Builder(f"random {seed}")
    bodies = [builder.world]
    for k in range(n):
        kind = kinds[k % len(kinds)]
        options = {}
        if kind in ("revolute", "prismatic", "cylindrical"):
            options["axis"] = rng.normal(size=3)
        if kind in ("spherical", "free"):
            options["sequence"] = THREE_AXIS_SEQUENCES[rng.integers(12)]
        if kind != "fixed" and k % 3:
            options |= {"lower": -rng.uniform(0.1, 1), "upper": rng.uniform(0.1, 1), "effort_limit": 5.0}
            options |= {"velocity_limit": 3.0, "viscous": rng.uniform(0, 1), "coulomb": rng.uniform(0, 1)}
        rotation = euler_rotation("XYZ", rng.uniform(-3, 3, size=3))
        parent = bodies[rng.integers(len(bodies))]
        joint = parent.joint(f"j{k}", kind, at=rng.normal(size=3), rotation=rotation, **options)
        bodies.append(joint.body(f"b{k}", random_inertia(rng) if k % 4 else None))
    return builder.build()


def again(mechanism):
    return mechanism_from_urdf(urdf_text(mechanism))


def assert_same_tree(tree, other, atol=ROUNDING):
    assert tree.axis_names == other.axis_names
    for key in (*PER_AXIS, *LIMITS):
        value, expected = getattr(other, key), getattr(tree, key)
        np.testing.assert_allclose(value, expected, rtol=atol, atol=atol, err_msg=key)
    assert (tree.coupling is None) == (other.coupling is None)
    if tree.coupling is not None:
        np.testing.assert_array_equal(other.coupling.matrix, tree.coupling.matrix)
        np.testing.assert_array_equal(other.coupling.offset, tree.coupling.offset)


@pytest.mark.parametrize("seed", range(5))
def test_one_axis_joints_come_back(seed):
    mechanism = random_mechanism(seed, ("revolute", "prismatic", "fixed", "revolute"))
    back = again(mechanism)
    assert_same_tree(mechanism.tree, back.tree)
    assert (back.name, back.body_names, back.joint_names) == (
        mechanism.name,
        mechanism.body_names,
        mechanism.joint_names,
    )
    assert [link.joint.kind for link in back.links] == [link.joint.kind for link in mechanism.links]


@pytest.mark.parametrize("seed", range(5))
def test_joints_with_several_axes_come_back_as_the_same_axes(seed):
    mechanism = random_mechanism(100 + seed, KINDS, n=16)
    back = again(mechanism)
    assert_same_tree(mechanism.tree, back.tree)
    added = [name for name in back.body_names if name not in mechanism.body_names]
    assert len(added) == sum(max(link.joint.n_dof - 1, 0) for link in mechanism.links)
    assert all(back.link(name).body.inertia.is_zero for name in added)
    assert back.joint_names == mechanism.joint_names


def test_dynamics_are_the_same():
    mechanism = random_mechanism(7, KINDS, n=16)
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.normal(size=(3, 4, mechanism.n_dof))
    expected = kt.inverse_dynamics(mechanism, q, qd, qdd)
    np.testing.assert_allclose(
        kt.inverse_dynamics(again(mechanism), q, qd, qdd), expected, atol=1e-12 * np.abs(expected).max()
    )


@pytest.mark.parametrize("name", ["arm7", "gripper", "torso"])
def test_files_come_back(name):
    mechanism = load_urdf(DATA / f"{name}.urdf")
    back = again(mechanism)
    assert_same_tree(mechanism.tree, back.tree)
    assert back.mass == mechanism.mass
    for link in mechanism.links:
        np.testing.assert_allclose(
            back.link(link.body.name).body.inertia.moment, link.body.inertia.moment, rtol=0
        )


def test_second_writing_changes_nothing_without_rotations():
    builder = kt.Builder("plain")
    arm = builder.world.revolute("a", at=(0.1, 0.2, 1 / 3), axis="y", lower=-1, upper=0.7)
    arm = arm.body("upper", kt.Inertia.rod(2.0, (0.4, 0, 0)))
    arm.prismatic("b", axis=(0, 1, 0)).body("fore", kt.Inertia.sphere(1.0, 0.1))
    mechanism = builder.build()
    assert again(mechanism) == mechanism
    assert urdf_text(again(mechanism)) == urdf_text(mechanism)


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2, 1.5708, -1.5708, 1.570796])
def test_rotations_in_and_near_gimbal_lock(pitch):
    builder = kt.Builder("lock")
    builder.world.fixed("j", rpy=(0.3, pitch, -0.8)).body("b", kt.Inertia.point(1.0))
    mechanism = builder.build()
    rotation = again(mechanism).link("b").placement.rotation
    np.testing.assert_allclose(rotation, mechanism.link("b").placement.rotation, rtol=0, atol=ROUNDING)


# ---- the text itself --------------------------------------------------------------------------


def joints_of(mechanism):
    return {joint.text("name"): joint for joint in parse_xml(urdf_text(mechanism), "text").all("joint")}


def test_root_link_is_the_world():
    robot = parse_xml(urdf_text(load_urdf(DATA / "gripper.urdf")), "text")
    children = {joint.needed("child").text("link") for joint in robot.all("joint")}
    assert [x.text("name") for x in robot.all("link") if x.text("name") not in children] == ["world"]


def test_types_and_limits():
    builder = kt.Builder("types")
    builder.world.revolute("endless").body("b1", kt.Inertia.point(1.0))
    builder.world.revolute("stopped", lower=-1, upper=2).body("b2", kt.Inertia.point(1.0))
    builder.world.revolute("half", upper=2, effort_limit=7).body("b3", kt.Inertia.point(1.0))
    builder.world.prismatic("slide").body("b4", kt.Inertia.point(1.0))
    builder.world.revolute("weak", effort_limit=3, viscous=0.5).body("b5", kt.Inertia.point(1.0))
    mechanism = builder.build()
    joints = joints_of(mechanism)
    types = {name: joint.text("type") for name, joint in joints.items()}
    assert types == {
        "endless": "continuous",
        "stopped": "revolute",
        "half": "revolute",
        "slide": "prismatic",
        "weak": "continuous",
    }
    assert joints["endless"].one("limit") is None
    assert joints["stopped"].needed("limit").number("upper") == 2
    for name in ("half", "slide", "stopped"):  # other parsers want four finite numbers here
        assert set(joints[name].needed("limit").attributes) == {"lower", "upper", "effort", "velocity"}
    assert "inf" not in urdf_text(mechanism)
    assert joints["weak"].needed("dynamics").number("damping") == 0.5
    assert_same_tree(mechanism.tree, again(mechanism).tree, atol=0)


def test_spherical_joint_is_a_chain_named_by_its_degrees_of_freedom():
    builder = kt.Builder("ball")
    builder.world.spherical("hip", at=(0, 0, 1), sequence="ZXY").body(
        "thigh", kt.Inertia.point(1.0, (0, 0, -0.3))
    )
    joints = joints_of(builder.build())
    assert list(joints) == ["hip.rz", "hip.rx", "hip.ry"]
    axes = [joint.needed("axis").text("xyz") for joint in joints.values()]
    assert axes == ["0 0 1", "1 0 0", "0 1 0"]
    ends = [(x.needed("parent").text("link"), x.needed("child").text("link")) for x in joints.values()]
    assert ends == [("world", "hip.rz_link"), ("hip.rz_link", "hip.rx_link"), ("hip.rx_link", "thigh")]
    assert [joint.one("origin") is None for joint in joints.values()] == [False, True, True]


def test_names_of_empty_links_do_not_collide():
    builder = kt.Builder("names")
    ball = builder.world.universal("hip").body("hip.rx_link", kt.Inertia.point(1.0, (0, 0, 1)))
    ball.revolute("knee").body("shin", kt.Inertia.point(1.0))
    mechanism = builder.build()
    assert again(mechanism).body_names == ("hip.rx_link_", "hip.rx_link", "shin")


def test_mimic_is_written():
    gripper = load_urdf(DATA / "gripper.urdf")
    mimic = joints_of(gripper)["right_tip"].needed("mimic")
    assert mimic.attributes == {"joint": "left_finger", "multiplier": "-12.5", "offset": "0.2"}


def test_shapes_come_back():
    place = kt.Placement.at((0.1, 0.2, 0.3))
    shapes = (
        kt.model.Shape("box", [1, 2, 3], place),
        kt.model.Shape("cylinder", [0.1, 0.5], place),
        kt.model.Shape("sphere", [0.25]),
        kt.model.Shape("mesh", [0.001, 0.001, -0.001], place, "meshes/a & b.stl"),
    )
    builder = kt.Builder("drawn")
    builder.world.fixed("j").body("b", kt.Inertia.point(1.0), shapes)
    assert again(builder.build()).link("b").body.shapes == shapes


def test_capsule_is_written_as_cylinder_and_spheres():
    capsule = kt.model.Shape("capsule", [0.1, 0.6], kt.Placement.at((0, 0, 1), rpy=(np.pi / 2, 0, 0)))
    builder = kt.Builder("drawn")
    builder.world.fixed("j").body("b", kt.Inertia.point(1.0), [capsule])
    cylinder, *ends = again(builder.build()).link("b").body.shapes
    assert (cylinder.kind, [end.kind for end in ends]) == ("cylinder", ["sphere", "sphere"])
    np.testing.assert_array_equal(cylinder.size, [0.1, 0.6])
    positions = sorted(end.placement.position.tolist() for end in ends)
    np.testing.assert_allclose(positions, [[0, -0.3, 1], [0, 0.3, 1]], atol=1e-15)


def test_names_are_escaped():
    builder = kt.Builder('a "quoted" <robot> & co')
    builder.world.revolute("j'1").body("<b>", kt.Inertia.point(1.0))
    mechanism = builder.build()
    assert again(mechanism) == mechanism


def test_character_that_xml_cannot_hold():
    builder = kt.Builder("odd")
    builder.world.revolute("j").body("b\ufffe", kt.Inertia.point(1.0))
    with pytest.raises(kt.errors.FileError, match="which XML cannot hold"):
        urdf_text(builder.build())


# ---- losses -----------------------------------------------------------------------------------


def lossy():
    builder = kt.Builder("lossy", gravity=(0, -1.62, 0))
    a = builder.world.revolute("ja", armature=0.1).body("a", kt.Inertia.point(1.0, (1, 0, 0)))
    b = builder.world.revolute("jb", stiffness=3.0, rest=0.1).body("b", kt.Inertia.point(1.0, (1, 0, 0)))
    builder.loop("cut", a, b)
    a.contact("heel", (0, 0, 1))
    return builder.build()


def test_what_urdf_cannot_hold_is_named():
    with pytest.warns(UserWarning) as caught:
        urdf_text(lossy())
    (message,) = (str(warning.message) for warning in caught)
    lost = "contact points (heel); armature of joints (ja); springs of joints (jb); gravity (0 -1.62 0)"
    assert message == f"URDF cannot represent all of mechanism 'lossy'; left out: {lost}"
    assert Path(caught[0].filename).name == Path(__file__).name


@pytest.mark.parametrize(
    "name", ["four_bar", "five_bar", "three_rrr", "delta", "robotic_leg", "andrews_squeezer"]
)
def test_loops_and_drives_return(name, tmp_path):
    """Torques of the drives and the freedom are those of the mechanism that was written."""
    robot = replace(getattr(kt.zoo, name)(), gravity=np.array([0, 0, -9.81]), springs=(), contact_points=())
    kt.save(robot, tmp_path / "robot.urdf")
    again = kt.load(tmp_path / "robot.urdf")
    assert again.joint_names == robot.joint_names and again.driven.tolist() == robot.driven.tolist()
    assert kt.loops.mobility(again) == kt.loops.mobility(robot)
    q = kt.loops.assemble(robot, [0.2, 1.0, 4.3] if name == "four_bar" else np.zeros(robot.n_dof))
    assert np.abs(kt.loops.gap(again, q)).max() < 1e-9
    still = np.zeros_like(q)
    tau, expected = (kt.inverse_dynamics(x, q, still, still) for x in (again, robot))
    np.testing.assert_allclose(tau, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_loops_without_a_type_in_urdf_are_named():
    builder = kt.Builder("crossed")
    a, b = (builder.world.free(f"j{x}", driven=False).body(x, kt.Inertia.sphere(1.0, 0.1)) for x in "ab")
    builder.loop("cross", a, b, kind="universal")
    builder.loop("pin", a, b, kind="revolute", viscous=1.0, axis="z")
    with pytest.warns(
        UserWarning, match=r"URDF\+ has \(cross\); .* friction and limits of cut joints \(pin\)"
    ):
        assert urdf_text(builder.build()).count("<loop") == 1


def test_no_warning_without_a_loss():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = urdf_text(random_mechanism(3, KINDS))
    assert text.count("<robot") == 1


def test_large_mechanism_is_written_and_read():
    builder = kt.Builder("long")
    body = builder.world
    for k in range(1500):
        body = body.revolute(f"j{k}", at=(0, 0, 0.1)).body(f"b{k}", kt.Inertia.point(1.0, (0.1, 0, 0)))
    text = urdf_text(builder.build())
    assert len(re.findall("<joint ", text)) == 1500
    assert mechanism_from_urdf(text).n_dof == 1500
