"""Reading URDF: what each element means, against numbers worked out independently."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kinetree as kt
from kinetree.formats.urdf import load_urdf, mechanism_from_urdf

DATA = Path(__file__).parent.parent / "data" / "urdf"
BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def robot(content, name="r"):
    return f'<robot name="{name}">{content}</robot>'


def one_joint(kind="revolute", extra="", body=BODY):
    """A robot of two links and one joint 'j' between them."""
    return robot(
        f'<link name="a"/><link name="b">{body}</link>'
        f'<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>{extra}</joint>'
    )


def joint_of(text):
    return mechanism_from_urdf(text).link("b").joint


# ---- whole files ------------------------------------------------------------------------------


def test_arm_has_its_joints_in_file_order_and_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arm = load_urdf(DATA / "arm7.urdf")
    assert arm.name == "arm7"
    assert arm.joint_names == tuple(f"axis_{k}" for k in range(1, 8))
    assert arm.body_names == ("base", *(f"link_{k}" for k in range(1, 8)), "flange", "tool")
    assert arm.mass == pytest.approx(5.3 + 4.1 + 3.7 + 3.2 + 2.75 + 1.9 + 1.45 + 0.52 + 0.8, rel=1e-15)
    assert arm.link("flange").body.inertia.is_zero
    np.testing.assert_array_equal(arm.gravity, [0, 0, -9.81])


def test_inertial_rpy_turns_the_tensor_and_leaves_the_centre():
    inertia = load_urdf(DATA / "arm7.urdf").link("link_5").body.inertia
    R = Rotation.from_euler("xyz", [0.3, 0.1, -0.2]).as_matrix()  # lower case: about fixed axes
    tensor = [[0.0104, -0.0001, 0.0002], [-0.0001, 0.0052, -0.0027], [0.0002, -0.0027, 0.0091]]
    np.testing.assert_allclose(inertia.moment, R @ tensor @ R.T, atol=1e-17)
    np.testing.assert_array_equal(inertia.center, [0.002, 0.015, 0.09])


def test_joint_origin_is_fixed_axis_roll_pitch_yaw():
    place = load_urdf(DATA / "arm7.urdf").link("link_2").placement
    expected = Rotation.from_euler("xyz", [np.pi / 2, 0, np.pi]).as_matrix()
    np.testing.assert_allclose(place.rotation, expected, atol=1e-15)
    np.testing.assert_array_equal(place.position, [0, 0, 0.21])


def test_limits_and_friction():
    arm = load_urdf(DATA / "arm7.urdf")
    first, fifth = arm.link("link_1").joint, arm.link("link_5").joint
    assert (first.lower[0], first.upper[0]) == (-2.8, 2.8)
    assert (first.velocity_limit[0], first.effort_limit[0]) == (1.5, 250)
    assert (first.viscous[0], first.coulomb[0]) == (0.5, 0.3)
    assert (fifth.lower[0], fifth.upper[0], fifth.effort_limit[0]) == (-np.inf, np.inf, 90)


def test_visual_shapes_are_preferred_to_collision_shapes():
    arm = load_urdf(DATA / "arm7.urdf")
    (mesh,) = arm.link("link_1").body.shapes
    assert (mesh.kind, mesh.file) == ("mesh", "arm7_description/meshes/visual/link_1.dae")
    np.testing.assert_array_equal(mesh.size, [0.001] * 3)
    sphere, strut = arm.link("link_3").body.shapes
    assert (sphere.kind, strut.kind) == ("sphere", "box")
    np.testing.assert_array_equal(strut.placement.position, [0, 0, 0.12])
    (collision,) = arm.link("link_4").body.shapes
    assert collision.kind == "cylinder"
    np.testing.assert_array_equal(collision.size, [0.07, 0.21])


def test_chain_of_mimics_ends_at_the_joint_that_moves():
    gripper = load_urdf(DATA / "gripper.urdf")
    assert gripper.joint_names == ("lift", "wrist", "left_finger")
    assert gripper.link("right_pad").joint.mimic == kt.model.Mimic("left_finger", 1.0, 0.0)
    assert gripper.link("right_nail").joint.mimic == kt.model.Mimic("left_finger", -12.5, 0.2)
    coupling = gripper.tree.coupling
    q = coupling.matrix @ [0.3, -0.4, 0.02] + coupling.offset
    expected = {"lift": 0.3, "wrist": -0.4, "left_finger": 0.02, "right_finger": 0.02, "right_tip": -0.05}
    assert dict(zip(gripper.tree.axis_names, q, strict=True)) == pytest.approx(expected, abs=1e-15)


def test_mimic_composes_multipliers_and_offsets():
    joints = "".join(
        f'<link name="l{k}">{BODY}</link><joint name="j{k}" type="revolute"><parent link="l{k - 1}"/>'
        f'<child link="l{k}"/>{mimic}</joint>'
        for k, mimic in ((1, '<mimic joint="j2" multiplier="2" offset="0.5"/>'), (2, ""), (3, ""))
    ).replace('<child link="l2"/>', '<child link="l2"/><mimic joint="j3" multiplier="-3" offset="0.25"/>')
    links = mechanism_from_urdf(robot(f'<link name="l0"/>{joints}')).links
    mimics = {link.joint.name: link.joint.mimic for link in links}
    assert mimics["j1"] == kt.model.Mimic("j3", -6.0, 1.0)
    assert mimics["j2"] == kt.model.Mimic("j3", -3.0, 0.25)


# ---- joints -----------------------------------------------------------------------------------


def test_axis_is_x_unless_given_and_is_normalised():
    np.testing.assert_array_equal(joint_of(one_joint()).axes, [[1, 0, 0]])
    axis = joint_of(one_joint(extra='<axis xyz="1 -2 2"/>')).axes
    np.testing.assert_allclose(axis, [[1 / 3, -2 / 3, 2 / 3]], atol=1e-16)


def test_missing_limits_mean_no_limit_but_one_of_two_means_zero():
    free = joint_of(one_joint())
    assert (free.lower[0], free.upper[0], free.effort_limit[0]) == (-np.inf, np.inf, np.inf)
    effort_only = joint_of(one_joint(extra='<limit effort="3" velocity="4"/>'))
    assert (effort_only.lower[0], effort_only.upper[0]) == (-np.inf, np.inf)
    assert (effort_only.effort_limit[0], effort_only.velocity_limit[0]) == (3, 4)
    half = joint_of(one_joint("prismatic", '<limit upper="0.3"/>'))
    assert (half.lower[0], half.upper[0]) == (0.0, 0.3)


def test_infinite_and_huge_limits_are_no_limits():
    joint = joint_of(one_joint(extra='<limit lower="-1e30" upper="inf" effort="1e31" velocity="2"/>'))
    assert (joint.lower[0], joint.upper[0]) == (-np.inf, np.inf)
    assert (joint.effort_limit[0], joint.velocity_limit[0]) == (np.inf, 2)


def test_continuous_joint_ignores_position_limits():
    joint = joint_of(one_joint("continuous", '<limit lower="-1" upper="1" effort="5"/>'))
    assert (joint.kind, joint.lower[0], joint.effort_limit[0]) == ("revolute", -np.inf, 5)


def test_fixed_joint_ignores_a_zero_axis():
    assert joint_of(one_joint("fixed", '<axis xyz="0 0 0"/>')).n_dof == 0


@pytest.mark.parametrize("axis", [(0, 0, 1), (1, 2, 2), (1, 0, 0), (0, -1, 0)])
def test_planar_joint_moves_in_the_plane_normal_to_its_axis(axis):
    origin = '<origin xyz="1 2 3" rpy="0.4 -0.2 0.9"/>'
    text = one_joint("planar", f'{origin}<axis xyz="{axis[0]} {axis[1]} {axis[2]}"/>')
    mechanism = mechanism_from_urdf(text)
    R = Rotation.from_euler("xyz", [0.4, -0.2, 0.9]).as_matrix()
    normal = np.array(axis) / np.linalg.norm(axis)

    def pose(q):
        poses = kt.forward_kinematics(mechanism, q)
        b = mechanism.body_index("b")
        return poses.rotation[..., b, :, :], poses.position[..., b, :]

    still, at = pose([0.0, 0.0, 0.0])
    np.testing.assert_allclose(still, R, atol=1e-15)  # the child frame keeps its URDF meaning
    np.testing.assert_allclose(at, [1, 2, 3], atol=1e-15)
    turned, moved = pose([0.3, -0.7, 0.5])
    step = R.T @ (moved - [1, 2, 3])
    assert step @ normal == pytest.approx(0.0, abs=1e-15)
    assert np.linalg.norm(step) == pytest.approx(np.hypot(0.3, 0.7), rel=1e-14)
    turn = Rotation.from_rotvec(0.5 * normal).as_matrix()
    np.testing.assert_allclose(turned, R @ turn, atol=1e-15)


def test_floating_joint_is_free():
    torso = load_urdf(DATA / "torso.urdf")
    drone = torso.link("drone").joint
    assert (drone.kind, drone.n_dof) == ("free", 6)
    assert torso.n_dof == 3 + 1 + 1 + 1 + 1 + 6 + 3


def test_numbers_that_have_no_meaning_for_several_axes_are_reported():
    text = one_joint("planar", '<limit lower="0" upper="1"/><dynamics damping="1"/>')
    with pytest.warns(UserWarning, match="<limit> of a planar joint, <dynamics> of a planar"):
        read = mechanism_from_urdf(text)
    assert read.n_dof == 3 and np.isinf(read.tree.upper).all() and not read.tree.viscous.any()


def test_q_follows_the_joints_not_the_links():
    torso = load_urdf(DATA / "torso.urdf")
    assert [n for n in torso.joint_names if "." not in n] == [
        "waist",
        "neck",
        "left_shoulder",
        "right_forearm_slide",
    ]
    text = robot(
        f'<link name="a"/><link name="b">{BODY}</link><link name="c">{BODY}</link>'
        '<joint name="jc" type="revolute"><parent link="b"/><child link="c"/></joint>'
        '<joint name="jb" type="revolute"><parent link="a"/><child link="b"/></joint>'
    )
    assert mechanism_from_urdf(text).joint_names == ("jb", "jc")  # parents first


# ---- the root ---------------------------------------------------------------------------------


def test_root_link_becomes_a_body_fixed_to_the_world():
    gripper = load_urdf(DATA / "gripper.urdf")
    root = gripper.links[0]
    assert (root.body.name, root.parent, root.joint.kind) == ("stand", "world", "fixed")
    assert (root.body.inertia.mass, root.body.shapes[0].kind) == (12, "box")


def test_root_called_world_without_inertia_is_the_world():
    arm = load_urdf(DATA / "arm7.urdf")
    assert arm.links[0].body.name == "base"
    assert (arm.links[0].parent, arm.links[0].joint.name) == ("world", "mount")


def test_root_without_inertia_keeps_its_name():
    assert load_urdf(DATA / "torso.urdf").body_names[0] == "floor"


def test_shapes_of_the_world_are_reported():
    text = one_joint().replace('<link name="a"/>', '<link name="world"><visual><geometry><box size="1 1 1"/>')
    text = text.replace('size="1 1 1"/>', 'size="1 1 1"/></geometry></visual></link>').replace(
        '"a"', '"world"'
    )
    with pytest.warns(UserWarning, match="shapes of the world"):
        assert mechanism_from_urdf(text).body_names == ("b",)


def test_floating_base():
    gripper = load_urdf(DATA / "gripper.urdf", floating_base=True)
    assert gripper.links[0].joint.kind == "free"
    assert gripper.joint_names[:3] == ("floating_base.tx", "floating_base.ty", "floating_base.tz")
    assert gripper.n_dof == 9
    with pytest.raises(kt.errors.ModelError, match="cannot be a floating base"):
        load_urdf(DATA / "arm7.urdf", floating_base=True)


def test_base_joint_gets_a_name_of_its_own():
    text = one_joint().replace('name="j"', 'name="fixed_base"')
    assert [link.joint.name for link in mechanism_from_urdf(text).links] == ["fixed_base_", "fixed_base"]


def test_single_link():
    single = mechanism_from_urdf(robot(f'<link name="a">{BODY}</link>'))
    assert (single.n_dof, single.mass) == (0, 1)


# ---- large and strange files ------------------------------------------------------------------


def test_chain_of_5000_links():
    n = 5000
    links = "".join(f'<link name="l{k}">{BODY}</link>' for k in range(n))
    joints = [
        f'<joint name="j{k}" type="revolute"><parent link="l{k - 1}"/><child link="l{k}"/>'
        '<origin xyz="0 0 0.1" rpy="0.1 0 0"/><axis xyz="0 0 1"/></joint>'
        for k in range(1, n)
    ]
    chain = mechanism_from_urdf(robot(links + "".join(reversed(joints))))
    assert (chain.n_dof, chain.n_bodies) == (n - 1, n)
    assert chain.joint_names[0] == "j1"
    np.testing.assert_array_equal(chain.tree.parent, np.arange(-1, n - 2))


def test_byte_order_mark_utf16_and_non_ascii_names(tmp_path):
    text = one_joint().replace('name="r"', 'name="Ärmchen"')
    for encoding in ("utf-8-sig", "utf-16"):
        (tmp_path / "r.urdf").write_bytes(text.encode(encoding))
        assert load_urdf(tmp_path / "r.urdf").name == "Ärmchen"
    latin = '<?xml version="1.0" encoding="iso-8859-1"?>' + text
    (tmp_path / "r.urdf").write_bytes(latin.encode("latin-1"))
    assert load_urdf(str(tmp_path / "r.urdf")).name == "Ärmchen"


def test_namespaced_extensions_are_passed_over():
    text = one_joint(extra='<x:gear ratio="3"/>', body=BODY + '<x:skin x:color="red"/>')
    text = text.replace("<robot ", '<robot xmlns:x="http://example.org/extension" ')
    assert mechanism_from_urdf(text).n_dof == 1


def test_unphysical_inertia_on_request():
    body = BODY.replace('izz="1"', 'izz="3"')
    assert mechanism_from_urdf(one_joint(body=body), allow_unphysical=True).mass == 1
