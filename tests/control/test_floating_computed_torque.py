"""Computed torque of floating bases in single states: eqs. 9.7 to 9.11 of [Shah2013]."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.control import PD, ComputedTorque, Feedforward, GravityCompensation, perturb
from kinetree.errors import InputError
from support import trees
from support.cases import assert_close

ROBOTS = ("quadruped", "spatial_biped")
KP, KD = 49.0, 14.0


def state(robot, rng, batch=()):
    q, qd = 0.4 * rng.standard_normal((2, *batch, robot.n_dof))
    return q, qd


def foot_forces(robot, rng, batch=()):
    return [
        kt.Wrench(point.body, rng.uniform(-50, 50, (*batch, 3)), point=point.position)
        for point in robot.contact_points
    ]


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("contact", [False, True])
def test_joints_accelerate_as_asked(name, contact, rng):
    """Forward dynamics under the law gives alpha (9.11) in the joints, whatever the base does."""
    robot = getattr(kt.zoo, name)()
    q, qd = state(robot, rng, (7,))
    goal = rng.standard_normal(robot.n_dof)
    forces = foot_forces(robot, rng, (7,)) if contact else None
    tau = ComputedTorque(goal, KP, KD).torque(robot, 0.0, q, qd, wrenches=forces)
    qdd = kt.forward_dynamics(robot, q, qd, tau, forces)
    assert_close(qdd[..., 6:], (KP * (goal - q) - KD * qd)[..., 6:], 1e-8)
    assert not tau[..., :6].any()


@pytest.mark.parametrize("name", ROBOTS)
def test_torques_are_those_of_the_reduced_equations(name, rng):
    """Eq. 9.10: (I_t - I_t0 I_0^-1 I_t0^T) alpha + h_t - I_t0 I_0^-1 h_0."""
    robot = getattr(kt.zoo, name)()
    q, qd = state(robot, rng)
    forces = foot_forces(robot, rng)
    goal = rng.standard_normal(robot.n_dof)
    alpha = (KP * (goal - q) - KD * qd)[6:]
    M, h = kt.mass_matrix(robot, q), kt.bias_torque(robot, q, qd, forces)
    X = np.linalg.solve(M[:6, :6], M[:6, 6:]).T
    expected = (M[6:, 6:] - X @ M[:6, 6:]) @ alpha + h[6:] - X @ h[:6]
    tau = ComputedTorque(goal, KP, KD).torque(robot, 0.0, q, qd, wrenches=forces)
    assert_close(tau[6:], expected, 1e-10)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_law_that_does_not_know_the_ground_or_the_masses_misses(name, rng):
    robot = getattr(kt.zoo, name)()
    q, qd = state(robot, rng)
    forces, goal = foot_forces(robot, rng), np.zeros(robot.n_dof)
    alpha = (-KP * q - KD * qd)[6:]
    for law in (
        ComputedTorque(goal, KP, KD, knows_ground=False),
        ComputedTorque(goal, KP, KD, model=perturb(robot, 1)),
    ):
        tau = law.torque(robot, 0.0, q, qd, wrenches=forces)
        missed = kt.forward_dynamics(robot, q, qd, tau, forces)[6:] - alpha
        assert np.abs(missed).max() > 0.1


def test_a_base_with_springs_and_a_second_tree_is_not_compiled_but_right(rng):
    """A model for which the recursion of free bases does not hold goes through the mass matrix."""
    robot = kt.Builder("tethered")
    trunk = robot.world.free("base", stiffness=3.0).body("trunk", kt.Inertia.box(5.0, (0.3, 0.2, 0.1)))
    trunk.revolute("hip", axis="y", at=(0.1, 0, 0)).body("leg", kt.Inertia.rod(1.0, (0, 0, -0.4)))
    robot.world.revolute("door", axis="z").body("panel", kt.Inertia.rod(2.0, (0.5, 0, 0)))
    tethered = robot.build()
    law = ComputedTorque([0.3, -0.2], KP, KD)
    q, qd = state(tethered, rng)
    tau = law.torque(tethered, 0.0, q, qd)
    qdd = kt.forward_dynamics(tethered, q, qd, tau)
    assert_close(qdd[6:], KP * (np.array([0.3, -0.2]) - q[6:]) - KD * qd[6:], 1e-9)
    assert not law.runs_compiled(tethered)
    with pytest.raises(InputError, match=r"tethered.*springs, friction or armature, or it has other trees"):
        law.law_parts(tethered)
    assert PD([0.3, -0.2], KP).runs_compiled(tethered)


def test_mimic_joints_are_controlled_by_the_plain_law(rng):
    robot = trees.mimic_tree(rng)
    n = robot.n_dof
    q, qd, goal = rng.standard_normal((3, n))
    law = ComputedTorque(goal, KP, KD)
    qdd = kt.forward_dynamics(robot, q, qd, law.torque(robot, 0.0, q, qd))
    assert_close(qdd, KP * (goal - q) - KD * qd, 1e-8)
    for controller in (law, PD(goal, KP), Feedforward(goal, KP), GravityCompensation()):
        assert controller.torque(robot, 0.0, q, qd).shape == (n,)
        assert not controller.runs_compiled(robot)
        with pytest.raises(InputError, match=r"mimic joints.*function of \(t, q, qd\)"):
            controller.law_parts(robot)


def test_gravity_compensation_leaves_springs_alone(rng):
    robot = trees.random_tree(rng, 5, kinds=("revolute",), passive=True)
    q = rng.standard_normal(robot.n_dof)
    law = GravityCompensation()
    tau = law.torque(robot, 0.0, q, np.zeros(robot.n_dof))
    assert_close(tau, kt.gravity_torque(robot, q))
    model = law.law_parts(robot).model
    assert model is not None and not model.passive.any()


def test_gravity_compensation_of_a_wrong_model(rng):
    arm = kt.zoo.kuka_kr5()
    wrong = perturb(arm, 4)
    q = rng.standard_normal(6)
    tau = GravityCompensation(model=wrong).torque(arm, 0.0, q, np.zeros(6))
    assert_close(tau, kt.gravity_torque(wrong, q))
    assert np.abs(tau - kt.gravity_torque(arm, q)).max() > 0.1


def test_loads_are_felt_in_the_frames_of_the_bodies(rng):
    """A model that errs about where bodies are still reads each force in the body's own frame."""
    arm = kt.zoo.gripper()
    bent = kt.Mechanism(
        "bent",
        tuple(
            kt.model.Link(x.body, x.joint, x.parent, x.placement @ kt.Placement.at((0, 0, 0), turned(0.1)))
            for x in arm.links
        ),
        arm.gravity,
    )
    q, qd = rng.standard_normal((2, 4))
    body = arm.body_names[-1]
    in_world = kt.Wrench(body, (1.0, 2.0, 0.0))
    R = kt.forward_kinematics(arm, q).rotation[arm.body_index(body)]
    in_body = kt.Wrench(body, R.T @ np.array([1.0, 2.0, 0.0]), frame="body")
    law = ComputedTorque(np.zeros(4), KP, model=bent)
    expected = kt.inverse_dynamics(bent, q, qd, -KP * q - 14.0 * qd, in_body)
    assert_close(law.torque(arm, 0.0, q, qd, wrenches=in_world), expected)


def turned(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
