"""A quadruped as collections of robots describe them: read with all that it stands by, written again."""

import copy
import dataclasses
import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.formats.contact_shapes import few_corners
from kinetree.formats.mjcf import load_mjcf, mechanism_from_mjcf
from kinetree.formats.mjcf_writer import mjcf_text
from kinetree.simulation.standing import standing

QUADRUPED = Path(__file__).parents[1] / "data" / "mjcf" / "quadruped.xml"
CONSTRAINTS = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT


@pytest.fixture(scope="module")
def robot():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load_mjcf(QUADRUPED)


@pytest.fixture(scope="module")
def model():
    return mujoco.MjModel.from_xml_path(str(QUADRUPED))


@pytest.fixture(scope="module")
def stood(robot):
    home = robot.states["home"]
    law = kt.control.ModelActuators("home")
    ground = kt.Ground.of(robot)
    return kt.simulate(
        robot, home.q, duration=5.0, controller=law, ground=ground, rtol=1e-5, times=11, progress=False
    )


def in_mujoco(robot, model, q, qd):
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = kt.coordinates_to(robot, "mujoco", q, qd)
    return data


def test_sites_are_frames(robot, model, rng):
    state = kt.random_state(robot, rng)
    data = in_mujoco(robot, model, state.q, state.qd)
    mujoco.mj_forward(model, data)
    poses = kt.forward_kinematics(robot, state.q)
    for k in range(model.nsite):
        name = model.site(k).name
        R, p = poses.of(name)
        assert np.abs(p - data.site_xpos[k]).max() < 1e-14
        assert np.abs(R.ravel() - data.site_xmat[k]).max() < 1e-14
        twist = np.zeros(6)
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_SITE, k, twist, 0)
        found = kt.body_velocities(robot, state.q, state.qd, of=name)
        assert np.abs(np.roll(twist, 3) - found).max() < 1e-12


def test_keyframes_are_states(robot, model):
    for k, name in enumerate(("home", "hop")):
        state = robot.states[name]
        qpos, qvel = kt.coordinates_to(robot, "mujoco", state.q, state.qd)
        assert np.abs(qpos - model.key_qpos[k]).max() < 1e-15
        assert np.abs(qvel - model.key_qvel[k]).max() < 1e-15
    assert np.array_equal(robot.states["home"].control, model.key_ctrl[0])
    assert robot.states["hop"].control is None
    with pytest.raises(kt.errors.InputError, match=r"unknown state 'hom'.*home"):
        robot.states["hom"]


def test_actuators_give_the_torques_of_mujoco(robot, model, rng):
    """Servos beyond their ranges, a velocity servo, a motor on a fixed tendon: all at random states."""
    u = rng.uniform(-2.0, 2.0, len(robot.actuators))
    for _ in range(5):
        state = kt.random_state(robot, rng)
        data = in_mujoco(robot, model, state.q, state.qd)
        data.ctrl[:] = u
        mujoco.mj_forward(model, data)
        found = kt.control.ModelActuators(u).torque(robot, 0.0, state.q, state.qd)
        names = [model.joint(k).name for k in range(1, model.njnt)]
        tau = dict(zip(names, data.qfrc_actuator[6:], strict=True))
        tau["tail1"] += 0.5 * tau.pop("tail2")  # which follows
        expected = [tau[name] for name in robot.joint_names[6:]]
        assert np.abs(found[6:] - expected).max() < 1e-12


def test_dynamics_with_carried_weight_armature_and_coupling(robot, model, rng):
    """Accelerations without torque, from MuJoCo's mass matrix and forces with the tail's tie eliminated."""
    model = copy.deepcopy(model)
    model.opt.disableflags |= CONSTRAINTS
    G = np.delete(np.eye(model.nv), 8, axis=1)
    G[8, 7] = 0.5  # the second joint of the tail follows the first
    for _ in range(3):
        state = kt.random_state(robot, rng)
        data = in_mujoco(robot, model, state.q, state.qd)
        mujoco.mj_forward(model, data)
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        Q = G.T @ (data.qfrc_passive - data.qfrc_bias)
        friction = np.array([0.0] * 6 + [0.2] * 14)
        friction[7] += 0.5 * 0.2  # that of the joint that follows
        expected = np.linalg.solve(G.T @ M @ G, Q - friction * np.sign(G.T @ G @ np.delete(data.qvel, 8)))
        found = kt.forward_dynamics(robot, state.q, state.qd, np.zeros(robot.n_dof))
        assert np.abs(found[6:] - expected[6:]).max() < 1e-9 * np.abs(expected).max()
        assert np.abs(found[:3] - expected[:3]).max() < 1e-9 * np.abs(expected).max()


def test_it_stands_from_its_home_pose(robot, stood):
    """5 s within 1 cm; the ground carries the weight but for the head's, which is carried from outside."""
    q = stood.q.values
    assert np.abs(q[:, :3] - q[0, :3]).max() < 0.01
    assert np.abs(stood.qd.values[-1]).max() < 1e-3
    weight = 9.81 * (robot.mass - 0.4)
    force = stood.contact_force.values[-1].sum(axis=0)
    assert force[2] == pytest.approx(weight, rel=1e-3) and np.abs(force[:2]).max() < 1e-2
    assert stood.audit["energy_balance"].passed


def test_its_feet_carry_what_they_carry_in_mujoco(robot, model, stood):
    """Total wrench of the ground and the force of each foot at rest, to 1 %."""
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    for _ in range(3000):
        mujoco.mj_step(model, data)
    feet = {}
    for k in range(data.ncon):
        wrench = np.zeros(6)
        mujoco.mj_contactForce(model, data, k, wrench)
        feet[model.geom(data.contact[k].geom2).name] = wrench[0], data.contact[k].pos.copy()
    names = [point.name for point in robot.contact_points]
    last = stood.contact_force.values[-1]
    assert {names[k] for k in np.flatnonzero(last.any(axis=1))} == set(feet)
    found = {name: last[names.index(name), 2] for name in feet}
    for name, (force, _) in feet.items():
        assert found[name] == pytest.approx(force, rel=0.01)
    here = kt.simulation.contact_forces(robot, kt.Ground.of(robot), stood.q.values[-1], stood.qd.values[-1])
    about_y = -(here.position[:, 0] * here.force[:, 2]).sum()
    expected = -sum(force * place[0] for force, place in feet.values())
    assert about_y == pytest.approx(expected, abs=0.01 * 9.81 * robot.mass * 0.19)


def test_shapes_touch_a_plane_where_mujoco_has_them(rng):
    """Depth of the deepest place below a plane, of every shape in random poses."""
    shapes = {
        'type="sphere" size="0.1"': 0.0,
        'type="capsule" size="0.05 0.2"': 0.0,
        'type="ellipsoid" size="0.1 0.2 0.05"': 0.0,
        'type="box" size="0.1 0.2 0.05"': 0.0,
        'type="cylinder" size="0.1 0.2"': 0.02 * 0.1,
        'type="mesh" mesh="m"': 1e-6,
    }
    corners = " ".join(f"{x:.4f}" for x in rng.uniform(-0.2, 0.2, 3 * 12))
    for shape, slack in shapes.items():
        text = f"""<mujoco><asset><mesh name="m" vertex="{corners}"/></asset><worldbody>
          <geom type="plane" size="0 0 1"/><body name="b" pos="0 0 0.05"><freejoint name="f"/>
          <geom {shape} pos="0.02 0.01 0.03" euler="20 30 40"/></body></worldbody></mujoco>"""
        robot, model = mechanism_from_mjcf(text), mujoco.MjModel.from_xml_string(text)
        assert robot.floor is not None
        for _ in range(10):
            q = np.concatenate([[0, 0, 0], rng.uniform(-1.4, 1.4, 3)])
            data = in_mujoco(robot, model, q, np.zeros(6))
            mujoco.mj_forward(model, data)
            found = kt.simulation.contact_forces(robot, kt.Ground.of(robot), q, np.zeros(6))
            if data.ncon:
                assert found.height.min() == pytest.approx(data.contact.dist.min(), abs=slack + 1e-6)


def test_many_corners_of_a_mesh_are_thinned_out(rng):
    ball = rng.standard_normal((2000, 3))
    ball /= np.linalg.norm(ball, axis=1)[:, None]
    few = few_corners(ball, most=200, tolerance=0.02)
    assert len(few) < 200
    directions = rng.standard_normal((500, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    assert ((ball @ directions.T).max(axis=0) - (few @ directions.T).max(axis=0)).max() < 0.06


def test_friction_is_that_of_mujoco(robot):
    """The foot has priority over the floor; elsewhere the larger of both counts."""
    by_name = {point.name: point.friction for point in robot.contact_points}
    assert by_name["FL_foot"] == 0.8 and by_name["trunk_1"] == 1.0
    assert robot.floor.friction == 0.6


@pytest.mark.parametrize(
    "name", ["gripper", "quadruped", "planar_biped", "stewart", "flyball_governor", "scene"]
)
def test_written_mechanisms_have_the_same_dynamics_in_mujoco(name, robot, rng):
    mechanism = robot if name == "scene" else getattr(kt.zoo, name)()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = mjcf_text(mechanism)
        again = mechanism_from_mjcf(text).opened()
    assert again.joint_names == mechanism.joint_names
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= CONSTRAINTS
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    energies = []
    for _ in range(2):
        state = kt.random_state(mechanism, rng)
        data = in_mujoco(again, model, state.q, state.qd)
        mujoco.mj_forward(model, data)
        mujoco.mj_energyVel(model, data)
        expected = kt.kinetic_energy(mechanism, state.q, state.qd)
        assert data.energy[1] == pytest.approx(expected, rel=1e-9)
        torque = kt.inverse_dynamics(mechanism.opened(), state.q, state.qd, state.qdd)
        found = kt.inverse_dynamics(again, state.q, state.qd, state.qdd)
        assert np.abs(found - torque).max() < 1e-9 * np.abs(torque).max()
        energies.append((data.energy[0], kt.potential_energy(mechanism, state.q)))
    if name not in ("scene", "flyball_governor"):
        differences = np.diff(energies, axis=0)[0]
        assert differences[0] == pytest.approx(differences[1], rel=1e-9, abs=1e-12)


def test_a_written_scene_reads_back(robot):
    again = mechanism_from_mjcf(mjcf_text(robot))
    assert again.actuators == robot.actuators and again.floor == robot.floor
    assert [x.name for x in again.contact_points] == [x.name for x in robot.contact_points]
    for a, b in zip(again.contact_points, robot.contact_points, strict=True):
        assert np.abs(a.position - b.position).max() < 1e-12 and a.friction == b.friction
    for name, state in robot.states.items():
        assert np.abs(again.states[name].q - state.q).max() < 1e-12
        assert np.abs(again.states[name].qd - state.qd).max() < 1e-12


def test_loops_are_written_as_points_held_together():
    linkage = kt.zoo.four_bar()
    again = mechanism_from_mjcf(mjcf_text(linkage))
    assert len(again.loops) == 2  # a hinge is two points of its axis
    model = mujoco.MjModel.from_xml_string(mjcf_text(linkage))
    data = mujoco.MjData(model)
    q = kt.loops.assemble(linkage, [0.5, 0.0, 0.0], hold=linkage.joint_names[:1])
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    assert np.abs(data.efc_pos).max() < 1e-9
    data.qpos[:] = np.add(q, [0.0, 0.1, 0.0])
    mujoco.mj_forward(model, data)
    assert np.abs(data.efc_pos).max() > 1e-3


def test_what_mjcf_cannot_hold_is_named():
    with pytest.warns(
        kt.KinetreeWarning, match=r"(?s)MJCF cannot represent all of.*ground_slot, platform_slot"
    ):
        mjcf_text(kt.zoo.scissor_lift())


def test_controls_that_do_not_fit(robot):
    at = 0.0, np.zeros(robot.n_dof), np.zeros(robot.n_dof)
    for control, message in (
        ([1.0, 2.0], "control must be 14 numbers"),
        ({"FL_kne": 1.0}, "unknown actuator 'FL_kne'"),
        ("away", "unknown state 'away'"),
    ):
        with pytest.raises(kt.errors.InputError, match=message):
            kt.control.ModelActuators(control).torque(robot, *at)
    with pytest.raises(kt.errors.InputError, match="has no actuators"):
        kt.control.ModelActuators().torque(kt.zoo.gripper(), 0.0, np.zeros(4), np.zeros(4))


@pytest.mark.parametrize(
    "geom", ['size="0.1"', 'type="box" size="0.1 0.1 0.1"', 'type="capsule" size="0.05 0.1"']
)
def test_contact_begins_at_the_margin_of_both_geoms(geom):
    """Bodies rest on the floor as high as in MuJoCo, whose contact pushes apart as far as the margin."""
    text = f"""
    <mujoco><worldbody><geom type="plane" size="1 1 1" margin="0.01"/>
    <body name="ball" pos="0 0 0.2"><freejoint/><geom {geom} margin="0.02"/></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    for _ in range(3000):
        mujoco.mj_step(model, data)
    found = mechanism_from_mjcf(text)
    lowest = min(float(point.position[2]) - point.radius for point in found.contact_points)
    assert -lowest == pytest.approx(
        data.body("ball").xpos[2], abs=1e-3
    )  # MuJoCo's contact gives way a little


def test_a_robot_without_a_floor_does_not_fall_through_in_mujoco(tmp_path):
    """It is written with level ground, as Ground.of takes it, and carried there by its own weight."""
    mujoco = pytest.importorskip("mujoco")
    robot = kt.zoo.quadruped()
    assert robot.floor is None
    kt.save(robot, tmp_path / "dog.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "dog.xml"))
    data = mujoco.MjData(model)
    data.qpos[2] = 0.7  # a little above standing
    feet = [model.geom(point.name).id for point in robot.contact_points]
    for _ in range(round(3.0 / model.opt.timestep)):
        mujoco.mj_step(model, data)
    assert data.geom_xpos[feet, 2].min() > -0.02
    pushed = 0.0
    for k in range(data.ncon):
        force = np.zeros(6)
        mujoco.mj_contactForce(model, data, k, force)
        pushed += force[0]
    assert pushed == pytest.approx(9.81 * robot.mass, rel=0.2)
    assert kt.load(tmp_path / "dog.xml").floor.friction == pytest.approx(0.7)
    arm = kt.zoo.gripper()
    kt.save(arm, tmp_path / "arm.xml")
    assert kt.load(tmp_path / "arm.xml").floor is None


TABLE = """
<mujoco>
  <worldbody>
    <geom type="plane" size="2 2 .1"/>
    <geom type="box" size=".4 .3 .02" pos=".5 0 .3" rgba=".6 .4 .2 1"/>
    <geom type="cylinder" size=".03 .15" pos=".5 0 .15" group="4"/>
    <body name="scene" pos=".3 0 .32">
      <joint name="turn" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 .4" size=".03" mass="1" contype="0" conaffinity="0"/>
    </body>
  </worldbody>
</mujoco>
"""


def test_what_the_world_looks_like_is_drawn():
    """Geoms of the world that MuJoCo shows are shapes of a body that is fixed there and adds no mass."""
    read = mechanism_from_mjcf(TABLE)
    table = read.links[-1]  # the root of a robot stays the first body
    assert (table.body.name, table.parent, table.joint.n_dof) == ("scene_2", "world", 0)
    assert [shape.kind for shape in table.body.shapes] == ["box"]  # viewers hide group 4
    assert table.body.shapes[0].placement.position.tolist() == [0.5, 0.0, 0.3]
    assert read.n_dof == 1 and read.mass == 1.0
    again = mechanism_from_mjcf(mjcf_text(read), "again")
    assert [link.body.shapes for link in again.links if link.body.name == "scene_2"] == [table.body.shapes]


def test_a_world_with_nothing_but_a_floor_adds_no_body():
    read = mechanism_from_mjcf(TABLE.replace('type="box"', 'group="3" type="box"'))
    assert read.body_names == ("scene",)


BLOCK = """
<mujoco>
  <worldbody>
    <geom type="plane" size="2 2 .1"/>
    <body name="block" pos="0 0 1"><freejoint/>
      <geom name="sole" type="box" size=".1 .05 .02" pos=".01 .02 .03" euler="10 20 30" mass="1"/>
      <geom name="toe" type="capsule" fromto=".1 0 0 .1 .05 .02" size=".01" mass=".1"/>
      <geom name="heel" type="sphere" size=".02" pos="-.1 0 0" mass=".1"/>
    </body>
  </worldbody>
</mujoco>
"""


def test_corners_of_a_box_and_ends_of_a_capsule_are_written_as_one_geom():
    read = mechanism_from_mjcf(BLOCK)
    text = mjcf_text(read)
    model = mujoco.MjModel.from_xml_string(text)
    touching = [g for g in range(model.ngeom) if model.geom_contype[g] and model.geom_bodyid[g]]
    assert {model.geom(g).name for g in touching} == {"sole", "toe", "heel"}
    again = mechanism_from_mjcf(text)
    assert [x.name for x in again.contact_points] == [x.name for x in read.contact_points]
    for one, other in zip(again.contact_points, read.contact_points, strict=True):
        np.testing.assert_allclose(one.position, other.position, rtol=0, atol=1e-12)
        assert one.friction == other.friction and one.radius == pytest.approx(other.radius, abs=1e-15)


def test_eight_points_that_are_no_box_stay_points():
    read = mechanism_from_mjcf(BLOCK)
    moved = tuple(
        dataclasses.replace(x, position=x.position + (x.name == "sole_3") * 1e-6) for x in read.contact_points
    )
    model = mujoco.MjModel.from_xml_string(mjcf_text(dataclasses.replace(read, contact_points=moved)))
    names = {model.geom(g).name for g in range(model.ngeom)}
    assert {f"sole_{k}" for k in range(1, 9)} <= names and "sole" not in names


def test_a_robot_walks_beside_a_table_of_its_scene(tmp_path):
    """Its root is still its first body, and it is placed on the ground and starts as without the table."""
    robot = kt.zoo.quadruped()
    text = mjcf_text(robot).replace(
        "<worldbody>",
        '<worldbody><geom type="box" size=".3 .3 .2" pos="3 0 .2" contype="0" conaffinity="0"/>',
        1,
    )
    alone, beside = mechanism_from_mjcf(mjcf_text(robot)), mechanism_from_mjcf(text)
    assert beside.n_bodies == alone.n_bodies + 1 and beside.links[0].body.name == "trunk"
    law = kt.control.WalkingLaw(speed=0.2)
    np.testing.assert_allclose(law.start(beside), law.start(alone), atol=1e-12)
    raised = [standing(x, np.zeros(18)) for x in (alone, beside)]
    np.testing.assert_allclose(raised[1], raised[0], atol=1e-12)
    assert raised[1][2] > 0.5


def test_names_of_contact_points_stay_apart_in_mjcf():
    """Two points foot_1, foot_2 beside one called foot, and two called floor_1, floor_2 on level ground."""
    build = kt.Builder("body")
    ball = build.world.free("base").body("body", kt.Inertia.sphere(1.0, 0.1))
    for name, x in (("foot_1", -0.1), ("foot_2", 0.1), ("foot", 0.2), ("floor_1", 0.3), ("floor_2", 0.4)):
        ball.contact(name, (x, 0, 0), radius=0.02)
    model = mujoco.MjModel.from_xml_string(mjcf_text(build.build()))
    assert {"foot", "foot_1", "foot_2", "floor", "floor_1"} <= {
        model.geom(k).name for k in range(model.ngeom)
    }


def test_a_person_beside_a_table_has_ground_reactions():
    text = """<mujoco><worldbody><geom type="box" size=".4 .3 .02" pos=".5 0 .3" contype="0" conaffinity="0"/>
    <body name="trunk"><freejoint/><geom type="sphere" size=".1" contype="0" conaffinity="0"/></body>
    </worldbody></mujoco>"""
    robot = mechanism_from_mjcf(text)
    assert [link.joint.is_free for link in robot.links] == [True, False]
    assert kt.terms.GroundReaction(["trunk"]).carried(robot) == robot.joint_names
