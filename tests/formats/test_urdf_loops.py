"""Loops and couplings beside URDF: URDF+ elements and robot.yaml, against Pinocchio and closed forms."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kinetree as kt
from kinetree.formats.urdf import mechanism_from_urdf
from kinetree.lint.mechanism import check_mechanism_file

ROD = (
    '<inertial><origin xyz="0.2 0 0"/><mass value="{m}"/>'
    '<inertia ixx="0.011" iyy="0.02" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def link(name: str, mass: float = 1.0) -> str:
    return f'<link name="{name}">{ROD.format(m=mass)}</link>'


def joint(
    name: str, parent: str, child: str, at: str = "0 0 0", kind: str = "continuous", axis="0 1 0"
) -> str:
    return (
        f'<joint name="{name}" type="{kind}"><origin xyz="{at}"/><parent link="{parent}"/>'
        f'<child link="{child}"/><axis xyz="0 1 0"/></joint>'
    )


FIVE_BAR = "".join([
    '<link name="base"/>', link("left_arm"), link("right_arm", 1.5), link("left_rod", 0.7), link("right_rod"),
    joint("mot_left", "base", "left_arm"), joint("mot_right", "base", "right_arm", "0.3 0 0"),
    joint("left_elbow", "left_arm", "left_rod", "0.4 0 0"),
    joint("right_elbow", "right_arm", "right_rod", "0.4 0 0"),
    '<link name="tip_a"/>', '<link name="tip_b"/>',
    joint("fix_a", "left_rod", "tip_a", "0.4 0 0", "fixed"),
    joint("fix_b", "right_rod", "tip_b", "0.4 0 0", "fixed"),
])  # fmt: skip
YAML = """closed_loop: [['tip_a', 'tip_b']]
type: ['3D']
name_mot: ['mot_left', 'mot_right']
joint_name: []
joint_type: []
"""
LOOP = (
    '<loop name="tip" type="continuous"><predecessor link="left_rod"><origin xyz="0.4 0 0"/></predecessor>'
    '<successor link="right_rod"><origin xyz="0.4 0 0"/></successor><axis xyz="0 1 0"/></loop>'
)
GUESS = {"mot_left": -2.0, "mot_right": -1.2, "left_elbow": 1.2, "right_elbow": -1.0}


def robot(*parts: str) -> str:
    return f'<robot name="five_bar">{"".join(parts)}</robot>'


def quiet(path) -> kt.Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kt.load(path)


@pytest.fixture
def beside(tmp_path):
    """A URDF file with a robot.yaml beside it."""
    path = tmp_path / "robot.urdf"
    path.write_text(robot(FIVE_BAR))
    (tmp_path / "robot.yaml").write_text(YAML)
    return path


def closed(mechanism: kt.Mechanism) -> np.ndarray:
    guess = [GUESS[name] for name in mechanism.joint_names]
    return kt.loops.assemble(mechanism, guess, hold=["mot_left", "mot_right"])


def test_loops_of_robot_yaml_move_as_pinocchio_says(beside):
    pin = pytest.importorskip("pinocchio")
    ours = quiet(beside)
    assert [(x.body_a, x.body_b, x.joint.kind) for x in ours.loops] == [("tip_a", "tip_b", "spherical")]
    assert ours.driven.tolist() == [name.startswith("mot") for name in ours.joint_names]
    assert kt.loops.structure(ours).mobility == 2
    q = closed(ours)
    model = pin.buildModelFromUrdf(str(beside))
    names = list(model.names)[1:]
    frames = [model.frames[model.getFrameId(x)] for x in ("tip_a", "tip_b")]
    constraint = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, model, frames[0].parentJoint, frames[0].placement,
        frames[1].parentJoint, frames[1].placement, pin.ReferenceFrame.LOCAL,
    )  # fmt: skip
    data = model.createData()
    constraints, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    constraints.append(constraint)
    datas.append(constraint.createData())
    x, _ = kt.coordinates_to(ours, "pinocchio", q, np.zeros(4), joints=names)
    rows = [
        pin.computeFrameJacobian(model, data, x, model.getFrameId(name), pin.LOCAL_WORLD_ALIGNED)[:3]
        for name in ("tip_a", "tip_b")
    ]
    J = rows[0] - rows[1]
    _, _, Vt = np.linalg.svd(J)
    v = Vt[2] + 0.5 * Vt[3]
    assert np.abs(J @ v).max() < 1e-12
    tau = np.random.default_rng(0).uniform(-1, 1, 4)
    pin.initConstraintDynamics(model, data, constraints, datas)
    settings = pin.ProximalSettings(1e-14, 1e-14, 1e-8, 100)
    expected = pin.constraintDynamics(model, data, x, v, tau, constraints, datas, settings)
    order = [names.index(name) for name in ours.joint_names]
    qdd = kt.forward_dynamics(ours, q, v[order], tau[order])
    np.testing.assert_allclose(qdd, expected[order], rtol=0, atol=1e-9 * np.abs(expected).max())


def test_a_loop_element_is_the_same_loop(beside):
    with pytest.warns(kt.KinetreeWarning, match="count as driven"):
        plus = mechanism_from_urdf(robot(FIVE_BAR, LOOP))
    assert (plus.loops[0].name, plus.loops[0].joint.kind) == ("tip", "revolute")
    other = quiet(beside)
    q, still = closed(other), np.zeros(4)
    np.testing.assert_allclose(closed(plus), q, atol=1e-12)
    tau = np.array([0.3, -0.2, 0.0, 0.1])
    np.testing.assert_allclose(
        kt.forward_dynamics(plus, q, still, tau), kt.forward_dynamics(other, q, still, tau), rtol=1e-9
    )


def remarks_on_drives(path) -> list[str]:
    return [x.message for x in check_mechanism_file(path) if x.rule == "all-driven"]


def test_loops_without_named_drives_say_that_all_joints_count_as_driven(beside):
    """How many have a drive cannot be guessed: mobility counts them, but does not say which."""
    path = beside.parent / "alone" / "plus.urdf"
    path.parent.mkdir()
    path.write_text(robot(FIVE_BAR, LOOP))
    with pytest.warns(kt.KinetreeWarning, match=r"all 4 joints of the tree count as driven.*<transmission>"):
        assert kt.load(path).driven.all()
    (remark,) = remarks_on_drives(path)
    assert all(name in remark for name in GUESS)
    (beside.parent / "robot.yaml").write_text(YAML.replace("name_mot: ['mot_left', 'mot_right']\n", ""))
    with pytest.warns(kt.KinetreeWarning, match=r"all 4 joints of the tree count as driven.*name_mot"):
        assert kt.load(beside).driven.all()


def test_motors_of_robot_yaml_and_of_transmissions_count_for_each_other(beside):
    beside.write_text(robot(FIVE_BAR, LOOP))
    assert quiet(beside).driven.sum() == 2
    assert not remarks_on_drives(beside)
    (beside.parent / "robot.yaml").write_text(YAML.replace("name_mot: ['mot_left', 'mot_right']\n", ""))
    assert len(remarks_on_drives(beside)) == 1
    beside.write_text(robot(FIVE_BAR, LOOP, '<transmission name="a"><joint name="mot_left"/></transmission>'))
    assert quiet(beside).driven.sum() == 1
    assert not remarks_on_drives(beside)


def test_a_transmission_names_the_drives_without_a_remark(tmp_path):
    drives = "".join(
        f'<transmission name="{name}_drive"><joint name="{name}"/></transmission>'
        for name in ("mot_left", "mot_right")
    )
    path = tmp_path / "plus.urdf"
    path.write_text(robot(FIVE_BAR, LOOP, drives))
    arm = kt.load(path)
    assert arm.driven.tolist() == [name.startswith("mot") for name in arm.joint_names]
    assert not remarks_on_drives(path)


def test_joints_of_other_kinds(beside):
    text = YAML.replace("joint_name: []", "joint_name: ['left_elbow', 'right_elbow', 'fix_a']")
    text = text.replace("joint_type: []", "joint_type: ['SPHERICAL', 'CARDAN', 'FIXED']").replace("3D", "6d")
    (beside.parent / "robot.yaml").write_text(text)
    found = quiet(beside)
    kinds = {x.joint.name: x.joint.kind for x in found.links}
    assert [kinds[x] for x in ("left_elbow", "right_elbow", "fix_a")] == ["spherical", "universal", "fixed"]
    assert found.loops[0].joint.kind == "fixed"


def test_loops_between_frames_that_are_named_by_their_joints(beside):
    """Frames of Pinocchio, which reads these files, have the names of links and of joints."""
    expected = quiet(beside)
    (beside.parent / "robot.yaml").write_text(YAML.replace("'tip_a', 'tip_b'", "'fix_a', 'tip_b'"))
    found = quiet(beside)
    assert [(x.body_a, x.body_b) for x in found.loops] == [("tip_a", "tip_b")]
    q, tau = closed(expected), [0.3, -0.2, 0.0, 0.1]
    motion = [kt.forward_dynamics(x, q, np.zeros(4), tau) for x in (found, expected)]
    np.testing.assert_allclose(*motion, rtol=1e-12)


@pytest.mark.parametrize("axes", ["XY", "YZ", "ZX"])
def test_universal_joints_rotate_about_the_axes_of_their_name_one_after_the_other(beside, axes):
    text = YAML.replace("joint_name: []", "joint_name: ['left_elbow']")
    text = text.replace("joint_type: []", f"joint_type: ['UJOINT_{axes}']")
    (beside.parent / "robot.yaml").write_text(text)
    found = quiet(beside)
    names = [f"left_elbow.r{x.lower()}" for x in axes]
    angles = np.where([x in names for x in found.joint_names], 0.7, 0.0)
    angles[found.joint_index(names[1])] = -0.4
    rotation, _ = kt.forward_kinematics(found, angles).of("left_rod")
    np.testing.assert_allclose(rotation, Rotation.from_euler(axes, (0.7, -0.4)).as_matrix(), atol=1e-15)


BAD = {
    "unknown link": (YAML.replace("'tip_b'", "'tip_c'"), "closed_loop: unknown link or joint 'tip_c'"),
    "no pair": (YAML.replace("['tip_a', 'tip_b']", "['tip_a']"), "must be pairs of names"),
    "count": (YAML.replace("['3D']", "['3D', '3D']"), "1 pairs and type 2 entries"),
    "kind": (YAML.replace("3D", "4D"), "unknown entry '4d'"),
    "joint": (YAML.replace("name: []", "name: ['x']").replace("type: []", "type: ['FIXED']"), "joint 'x'"),
    "motor as number": (YAML.replace("['mot_left', 'mot_right']", "0.5"), "name_mot must be names"),
    "motors as numbers": (YAML.replace("'mot_right'", "3"), "name_mot must be names"),
    "not yaml": ("closed_loop: [", "is not valid YAML"),
    "aliases": ("a: &a [x]\nb: [*a, *a]\nclosed_loop: []", "aliases"),
}  # fmt: skip


@pytest.mark.parametrize("text, message", BAD.values(), ids=BAD)
def test_bad_companions_are_named(beside, text, message):
    (beside.parent / "robot.yaml").write_text(text)
    with pytest.raises(kt.KinetreeError, match=message) as caught:
        quiet(beside)
    assert "robot.yaml" in str(caught.value)


def test_the_warning_says_that_loops_are_read_and_not_that_they_are_ignored(beside):
    with pytest.warns(kt.KinetreeWarning, match=r"loops read from robot\.yaml$") as caught:
        kt.load(beside)
    assert not [x for x in caught if "ignored" in str(x.message)]


def test_a_yaml_about_something_else_is_not_read(beside):
    (beside.parent / "robot.yaml").write_text("color: [red\n")
    assert not quiet(beside).loops


# ---- couplings ------------------------------------------------------------------------------------------


GEARED = "".join([
    '<link name="base"/>', link("arm", 2.0), link("rotor", 0.3),
    joint("shoulder", "base", "arm"), joint("motor", "base", "rotor"),
])  # fmt: skip


def coupling(predecessor: str, successor: str, ratio: float) -> str:
    return (
        f'<coupling name="gear"><predecessor link="{predecessor}"/><successor link="{successor}"/>'
        f'<ratio value="{ratio}"/></coupling>'
    )


def test_a_coupling_reflects_the_inertia_of_a_rotor():
    free = mechanism_from_urdf(robot(GEARED))
    geared = mechanism_from_urdf(robot(GEARED, coupling("arm", "rotor", 6.0)))
    assert geared.joint_names == ("shoulder",)
    G = np.array([[1.0], [6.0]])
    q, qd, qdd = np.array([0.4]), np.array([0.7]), np.array([-0.3])
    full = [G @ q, G @ qd, G @ qdd]
    np.testing.assert_allclose(
        kt.inverse_dynamics(geared, q, qd, qdd), G.T @ kt.inverse_dynamics(free, *full), rtol=1e-13
    )
    np.testing.assert_allclose(kt.mass_matrix(geared, q), G.T @ kt.mass_matrix(free, G @ q) @ G, rtol=1e-13)


BELT = "".join([
    '<link name="base"/>', link("thigh", 2.0), link("shank", 1.0), link("pulley", 0.3),
    joint("hip", "base", "thigh"), joint("knee", "thigh", "shank", "0.4 0 0"),
    joint("motor", "base", "pulley"),
])  # fmt: skip


def test_a_belt_that_ties_three_joints_is_refused():
    with pytest.raises(
        kt.errors.ModelError, match=r"connects two one-DOF joints .* this one connects hip, knee, motor by 2"
    ):
        mechanism_from_urdf(robot(BELT, coupling("shank", "pulley", 2.0)))


def test_couplings_in_a_row_follow_one_joint():
    """The rotor turns six times as fast as the arm, a second one as fast as the first."""
    more = link("other", 0.2) + joint("second", "base", "other")
    second = coupling("rotor", "other", 1.0).replace("gear", "belt")
    with pytest.raises(kt.errors.ModelError, match="coupled to others already"):
        mechanism_from_urdf(robot(GEARED, more, coupling("arm", "rotor", 6.0), second))
    first = mechanism_from_urdf(
        robot(GEARED, more, coupling("arm", "rotor", 6.0), second.replace("rotor", "arm"))
    )
    assert first.joint_names == ("shoulder",)


def test_bad_loops_and_couplings_are_named():
    with pytest.raises(kt.errors.ModelError, match=r"unknown link 'arn'; .* Did you mean 'arm'"):
        mechanism_from_urdf(robot(GEARED, coupling("arn", "rotor", 6.0)))
    with pytest.raises(kt.errors.ModelError, match=r"unknown type of a loop 'floating'"):
        mechanism_from_urdf(robot(FIVE_BAR, LOOP.replace("continuous", "floating")))
    with pytest.raises(kt.errors.FileError, match="<successor> is missing"):
        mechanism_from_urdf(robot(FIVE_BAR, LOOP.replace("successor", "follower")))
    with pytest.raises(kt.errors.ModelError, match="connects two one-DOF joints"):
        mechanism_from_urdf(robot(GEARED, coupling("arm", "arm", 6.0)))
