"""MJCF models against MuJoCo itself: poses, masses, dynamics, constraints, shapes."""

import sys
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.rotation import euler_rate_matrix, euler_rotation
from kinetree.model.mjcf import load_mjcf, mechanism_from_mjcf

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peers
DATA = Path(__file__).parent.parent / "data" / "mjcf"
FREE, BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
UNCONSTRAINED = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
SAME = 1e-10  # largest difference allowed, relative to the largest entry


def peer(name, flags=0):
    """MuJoCo's model of a fixture and its state."""
    model = mujoco.MjModel.from_xml_path(str(DATA / f"{name}.xml"))
    model.opt.disableflags |= int(flags)
    return model, mujoco.MjData(model)


def quaternion(R):
    q = np.zeros(4)
    mujoco.mju_mat2Quat(q, np.ascontiguousarray(R).ravel())
    return q


def matrix(quat):
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, np.asarray(quat, dtype=float))
    return R.reshape(3, 3)


def positions(model, q):
    """MuJoCo's qpos from Euler angles and displacements q, one entry per degree of freedom."""
    qpos = np.zeros(model.nq)
    for j, v, a in zip(range(model.njnt), model.jnt_dofadr, model.jnt_qposadr, strict=True):
        if model.jnt_type[j] == FREE:
            b = model.jnt_bodyid[j]
            R0 = matrix(model.body_quat[b])
            qpos[a : a + 3] = model.body_pos[b] + R0 @ q[v : v + 3]
            qpos[a + 3 : a + 7] = quaternion(R0 @ euler_rotation("YXZ", q[v + 3 : v + 6]))
        elif model.jnt_type[j] == BALL:
            qpos[a : a + 4] = quaternion(euler_rotation("YXZ", q[v : v + 3]))
        else:
            qpos[a] = q[v]
    return qpos


def rate_map(model, q):
    """B with qvel = B qd: MuJoCo has velocities in world axes and angular velocities in body axes."""
    B = np.eye(model.nv)
    for j, v in zip(range(model.njnt), model.jnt_dofadr, strict=True):
        turn = v + 3 if model.jnt_type[j] == FREE else v
        if model.jnt_type[j] == FREE:
            B[v : v + 3, v : v + 3] = matrix(model.body_quat[model.jnt_bodyid[j]])
        if model.jnt_type[j] in (FREE, BALL):
            angles = q[turn : turn + 3]
            E = euler_rotation("YXZ", angles).T @ euler_rate_matrix("YXZ", angles)
            B[turn : turn + 3, turn : turn + 3] = E
    return B


def rate_map_derivative(model, q, qd, h=1e-3):
    """dB/dt along qd by central differences of order four: the error, about h^4, is far below SAME."""
    B = [rate_map(model, q + k * h * qd) for k in (-2, -1, 1, 2)]
    return (B[0] - 8 * B[1] + 8 * B[2] - B[3]) / (12 * h)


def peer_mass_matrix(model, data, q):
    data.qpos[:] = positions(model, q)
    data.qvel[:] = 0
    mujoco.mj_forward(model, data)
    M, B = np.zeros((model.nv, model.nv)), rate_map(model, q)
    for k, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, M[k], unit)
    return B.T @ M @ B


def peer_inverse_dynamics(model, data, q, qd, qdd):
    B = rate_map(model, q)
    data.qpos[:], data.qvel[:] = positions(model, q), B @ qd
    data.qacc[:] = B @ qdd + rate_map_derivative(model, q, qd) @ qd
    mujoco.mj_inverse(model, data)
    return B.T @ data.qfrc_inverse


def body_poses(mechanism, q):
    """Rotation and position of every body by name: a plain recursion over the axes of the compiled tree."""
    tree = mechanism.tree
    if tree.coupling is not None:
        q = tree.coupling.matrix @ q + tree.coupling.offset
    poses = {-1: (np.eye(3), np.zeros(3))}
    for i in range(tree.n):
        R, p = poses[tree.parent[i]]
        p, R = p + R @ tree.position[i], R @ tree.rotation[i]
        c, s = np.cos(q[i]), np.sin(q[i])
        turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        poses[i] = (R @ turn, p) if tree.turns[i] else (R, p + q[i] * R[:, 2])
    found = {}
    for k, name in enumerate(tree.body_names):
        R, p = poses[tree.body_axis[k]]
        found[name] = R @ tree.body_rotation[k], p + R @ tree.body_position[k]
    return found


def random_q(model, rng):
    """Random coordinates, the middle Euler angles away from gimbal lock."""
    return rng.uniform(-1.2, 1.2, model.nv)


def assert_same(value, expected):
    error = np.abs(np.asarray(value) - expected).max() / max(1.0, np.abs(expected).max())
    assert error < SAME, f"relative difference {error:.2g}"


def assert_same_dynamics(mechanism, model, rng, states=4):
    """Poses of all MuJoCo bodies, mass matrix and inverse dynamics agree at random states."""
    data = mujoco.MjData(model)
    assert mechanism.n_dof == model.nv
    assert mechanism.mass == pytest.approx(model.body_mass[1:].sum(), rel=1e-13)
    named = [b for b in range(1, model.nbody) if model.body(b).name]
    coulomb = np.array(mechanism.tree.coulomb)
    for _ in range(states):
        q, (qd, qdd) = random_q(model, rng), rng.normal(size=(2, model.nv))
        assert_same(kt.mass_matrix(mechanism, q), peer_mass_matrix(model, data, q))
        poses = body_poses(mechanism, q)
        for b in named:
            R, p = poses[model.body(b).name]
            assert_same(R, data.xmat[b].reshape(3, 3))
            assert_same(p, data.xpos[b])
        tau = kt.inverse_dynamics(mechanism, q, qd, qdd) - coulomb * np.sign(qd)
        assert_same(tau, peer_inverse_dynamics(model, data, q, qd, qdd))
        bias = kt.bias_torque(mechanism, q, 0 * qd)
        assert_same(bias, peer_inverse_dynamics(model, data, q, 0 * qd, 0 * qd))


# ---- whole models -------------------------------------------------------------------------------------


def test_arm_has_the_dynamics_of_mujoco(rng):
    model, _ = peer("arm", UNCONSTRAINED)
    assert_same_dynamics(load_mjcf(DATA / "arm.xml"), model, rng)


def test_quadruped_has_the_dynamics_of_mujoco(rng):
    model, _ = peer("quadruped", UNCONSTRAINED)
    with pytest.warns(UserWarning, match="contacts"):
        robot = load_mjcf(DATA / "quadruped.xml")
    assert_same_dynamics(robot, model, rng)


@pytest.mark.parametrize("seed", range(8))
def test_random_models_have_the_dynamics_of_mujoco(rng, seed):
    text = random_mjcf(np.random.default_rng(seed))
    model = mujoco.MjModel.from_xml_string(text)
    assert_same_dynamics(mechanism_from_mjcf(text), model, rng, states=2)


def random_mjcf(rng):
    """Two random trees: up to three joints in sequence on a body, random anchors, axes, references."""

    def numbers(*shape, scale=1.0):
        return " ".join(f"{x:.17g}" for x in scale * rng.normal(size=shape))

    def joint(kind):
        if kind == "ball":
            return f'<joint type="ball" pos="{numbers(3, scale=0.2)}"/>'
        return (
            f'<joint type="{kind}" axis="{numbers(3)}" pos="{numbers(3, scale=0.2)}" ref="{numbers(1)}" '
            f'armature="{rng.uniform(0, 0.1)}" damping="{rng.uniform()}" stiffness="{rng.uniform()}" '
            f'springref="{numbers(1)}"/>'
        )

    def body(depth, floating):
        choices = [[], ["hinge"], ["slide"], ["ball"], ["hinge", "hinge", "hinge"], ["slide", "ball"]]
        choices += [["ball", "slide"], ["slide", "hinge", "slide"]]
        kinds = choices[rng.integers(len(choices))] if depth else ["hinge", "slide"]
        joints = "<freejoint/>" if floating else "".join(joint(kind) for kind in kinds)
        geoms = f'<geom type="box" size="0.1 0.2 0.05" pos="{numbers(3, scale=0.1)}" quat="{numbers(4)}"/>'
        inside = "".join(body(depth + 1, False) for _ in range(rng.integers(3 if depth < 4 else 1)))
        place = f'pos="{numbers(3, scale=0.3)}" quat="{numbers(4)}"'
        return f'<body name="b{rng.integers(2**62)}" {place}>{joints}{geoms}{inside}</body>'

    trees = body(0, True) + body(0, False)
    option = f'<option gravity="{numbers(3, scale=9)}"><flag contact="disable"/></option>'
    return f"<mujoco><compiler angle='radian'/>{option}<worldbody>{trees}</worldbody></mujoco>"


def test_a_mimic_joint_moves_as_the_equality_of_mujoco_asks(rng):
    model, data = peer("loops")
    with pytest.warns(UserWarning, match="not linear"):
        loops = load_mjcf(DATA / "loops.xml")
    assert "curl_a" not in loops.joint_names and "curl_tip" not in loops.joint_names
    q = rng.uniform(-1, 1, loops.n_dof)
    tree = loops.tree
    qpos = positions(model, tree.coupling.matrix @ q + tree.coupling.offset)
    data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    rows = {model.equality(e).name: k for k, e in zip(*efc_rows(model, data), strict=True)}
    assert abs(data.efc_pos[rows["curling"]]) < 1e-14
    assert abs(data.efc_pos[rows["tipping"]]) < 1e-14
    assert abs(data.efc_pos[rows["circling"]]) > 1e-3
    M = peer_mass_matrix(model, data, tree.coupling.matrix @ q + tree.coupling.offset)
    assert_same(kt.mass_matrix(loops, q), tree.coupling.matrix.T @ M @ tree.coupling.matrix)


def efc_rows(model, data):
    """First row of each equality in MuJoCo's constraint arrays, and the equality's number."""
    is_equality = data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
    ids, rows = np.unique(data.efc_id[is_equality], return_index=True)
    return rows, ids


def test_loops_are_open_by_what_mujoco_measures(rng):
    model, data = peer("loops")
    with pytest.warns(UserWarning):
        mechanism = load_mjcf(DATA / "loops.xml")
    assert [loop.name for loop in mechanism.loops] == ["pin", "glue", "connect2", "weld3", "bond"]
    assert [loop.n_constraints for loop in mechanism.loops] == [3, 6, 3, 6, 6]
    q = rng.uniform(-1, 1, mechanism.n_dof)
    data.qpos[:] = positions(model, mechanism.tree.coupling.matrix @ q + mechanism.tree.coupling.offset)
    mujoco.mj_forward(model, data)
    poses = body_poses(mechanism, q) | {"world": (np.eye(3), np.zeros(3))}
    rows = {int(e): int(k) for k, e in zip(*efc_rows(model, data), strict=True)}
    for e, loop in enumerate(mechanism.loops):
        (R_a, p_a), (R_b, p_b) = poses[loop.body_a], poses[loop.body_b]
        gap = p_a + R_a @ loop.placement_a.position - p_b - R_b @ loop.placement_b.position
        assert np.abs(gap).max() > 1e-3
        assert_same(gap, data.efc_pos[rows[e] : rows[e] + 3])
        if loop.joint.kind == "fixed":  # MuJoCo's measure of the turn: the vector part of its quaternion
            turn = (R_b @ loop.placement_b.rotation).T @ R_a @ loop.placement_a.rotation
            vector = quaternion(turn)[1:]
            measured = data.efc_pos[rows[e] + 3 : rows[e] + 6]
            assert_same(np.abs(vector), np.abs(measured))
            assert_same(vector * np.sign(vector[0] * measured[0]), measured)


def test_loops_are_closed_at_the_reference_pose_of_mujoco():
    model, _ = peer("loops")
    with pytest.warns(UserWarning):
        mechanism = load_mjcf(DATA / "loops.xml")
    q = np.zeros(mechanism.n_dof)
    q[mechanism.joint_index("spread")] = 0.2
    poses = body_poses(mechanism, q)
    pin, glue = mechanism.loops[:2]
    for loop in (pin, glue):
        (R_a, p_a), (R_b, p_b) = poses[loop.body_a], poses[loop.body_b]
        assert_same(p_a + R_a @ loop.placement_a.position, p_b + R_b @ loop.placement_b.position)
    assert_same(poses["rocker"][0] @ glue.placement_a.rotation, poses["rod"][0] @ glue.placement_b.rotation)
    assert_same(poses["crank"][1], model.body("crank").pos)


# ---- parts --------------------------------------------------------------------------------------------


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
    text = """<mujoco><worldbody>
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
    assert [s.kind for s in shapes["fore"]] == ["sphere"]  # the ellipsoid has no counterpart
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


def one_hinge(joint="", body="", more=""):
    """A text with one body on a hinge."""
    return (
        f'<mujoco>{more}<worldbody><body name="bob" {body}><joint {joint}/>'
        '<geom type="box" size="0.1 0.2 0.3" pos="0.4 0 0"/></body></worldbody></mujoco>'
    )


LEFT_OUT = {
    "contacts": ("<geom size='1'/>", "", ""),
    "tendons": ("", "", "<tendon><fixed><joint joint='h' coef='1'/></fixed></tendon>"),
    "fluid forces": ("", "", "<option density='1.2'/>"),
    r"actuators other than motors on hinges and slides \(servo, actuator 1\)": (
        "",
        "",
        "<actuator><position name='servo' joint='h'/><motor joint='b'/></actuator>",
    ),
    "gravity compensation of bob": ("", "gravcomp='1'", ""),
    "mocap motion of ghost": ("<body name='ghost' mocap='true'/>", "", ""),
    "armature, damping, friction, spring, limit of ball joint 'b'": (
        "",
        "",
        "<default><joint armature='1' damping='1' frictionloss='1' stiffness='1' range='0 1'/></default>",
    ),
    "nonlinear spring, nonlinear damping of hinge joint 'h'": (
        "",
        "",
        "<default><joint stiffness='1 1' damping='0 1'/></default>",
    ),
    r"joint equality '0' \(it holds one joint in place\)": (
        "",
        "",
        "<equality><joint joint1='h'/></equality>",
    ),
}


@pytest.mark.parametrize("part", LEFT_OUT)
def test_what_a_mechanism_cannot_hold_is_named_in_one_warning(part):
    world, body, more = LEFT_OUT[part]
    text = f"""<mujoco><worldbody>{world}<body name="bob" {body}><joint name="h"/><geom size="0.1"/>
      <body><joint name="b" type="ball"/><geom size="0.1"/></body></body></worldbody>{more}</mujoco>"""
    with pytest.warns(
        UserWarning, match=f"^text: left out because a mechanism cannot hold it: .*{part}"
    ) as caught:
        mechanism_from_mjcf(text)
    assert len(caught) == 1 and caught[0].filename == __file__


def test_what_mujoco_warns_of_is_passed_on():
    text = one_hinge(joint="name='a'/><joint name='b' axis='0 0 1'")  # both about z: a singular mass matrix
    with pytest.warns(UserWarning, match="^text: MuJoCo warns: Inertia matrix is too close to singular"):
        assert mechanism_from_mjcf(text).n_dof == 2


def test_without_mujoco_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(kt.MissingExtraError, match=r"reading MJCF files needs .*kinetree\[mjcf\]"):
        load_mjcf(DATA / "arm.xml")
