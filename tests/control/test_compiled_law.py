"""The compiled law of every controller against its plain formulas, on arms and floating bases."""

import numpy as np
import pytest
from law_support import CompiledLaw

import kinetree as kt
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.control import (
    PD,
    PID,
    ComputedTorque,
    ConstantTorque,
    Feedforward,
    GravityCompensation,
    TorqueTable,
    perturb,
)
from kinetree.trajectories.cycloidal import cycloid
from support import trees
from support.cases import assert_close
from support.each import each

TOLERANCE = 1e-11
FLOATING = ("quadruped", "spatial_biped", "hexapod", "planar_biped")


def motion(n):
    """A smooth motion that polynomials express exactly."""
    k = np.arange(1, n + 1)
    return PiecewisePolynomial([0.0, 1.0], np.stack([0.1 * k, 0.2 + 0 * k, -0.3 * k, 0.05 * k])[None])


def table(n):
    return np.linspace(0.0, 1.0, 5), np.outer([0.5, 1.0, -1.0, 2.0, 0.3], np.arange(1.0, n + 1))


def passive_arm():
    """Revolute and prismatic joints with springs, friction and armature."""
    return trees.random_tree(np.random.default_rng(4), 6, kinds=("revolute", "prismatic"), passive=True)


def on_arms():
    """Controllers that need no other base than a fixed one, by name."""
    return {
        "PD": lambda m: PD(motion(m.n_dof), 40.0, 3.0),
        "PID": lambda m: PID(motion(m.n_dof), np.arange(1.0, m.n_dof + 1), None, 2.0),
        "PID at limits": lambda m: PID(motion(m.n_dof), 40.0, 3.0, 5.0, limits=0.5),
        "computed torque": lambda m: ComputedTorque(motion(m.n_dof), 49.0, ki=10.0),
        "wrong model": lambda m: ComputedTorque(motion(m.n_dof), 49.0, model=perturb(m, 3, tilt=0.1)),
        "ignorant": lambda m: ComputedTorque(motion(m.n_dof), 49.0, knows_ground=False),
        "feedforward": lambda m: Feedforward(motion(m.n_dof), 40.0, 3.0),
        "wrong feedforward": lambda m: Feedforward(motion(m.n_dof), 40.0, 3.0, model=perturb(m, 5)),
        "feedforward table": lambda m: Feedforward(motion(m.n_dof), 40.0, 3.0, torques=table(m.n_dof)),
        "gravity": lambda m: GravityCompensation(),
        "gravity, damped": lambda m: GravityCompensation(kd=2.0, model=perturb(m, 2)),
        "gravity, PD": lambda m: GravityCompensation(np.zeros(m.n_dof), 10.0, None),
        "table": lambda m: TorqueTable(*table(m.n_dof), "cubic"),
        "constant": lambda m: ConstantTorque(1.5, limits=1.0),
    }


ARMS = {"gripper": kt.zoo.gripper, "kuka": kt.zoo.kuka_kr5, "passive": passive_arm}


@each("law", on_arms())
@each("arm", ARMS)
def test_compiled_law_on_a_fixed_base(arm, law, rng):
    mechanism = ARMS[arm]()
    controller = on_arms()[law](mechanism)
    loads = [kt.Wrench(mechanism.body_names[-1], (1.0, 2.0, 3.0), (0.1, 0.2, 0.3), (0.1, 0.0, 0.2))]
    compiled = CompiledLaw(mechanism, controller, loads)
    for t in (0.0, 0.33, 1.0, 1.5):
        q, qd, integral = rng.standard_normal((3, mechanism.n_dof))
        expected = controller.torque(mechanism, t, q, qd, integral, loads)
        has_integral = compiled.law.ki.any()
        value = compiled.torque(t, q, qd, integral if has_integral else None)
        assert_close(value, expected, TOLERANCE)
        assert np.abs(value).max() > 0.0


@each("name", FLOATING)
@each("knows", [True, False])
@each("wrong", [False, True])
def test_compiled_law_on_a_floating_base_that_touches_the_ground(name, knows, wrong, rng):
    robot = getattr(kt.zoo, name)()
    model = perturb(robot, 1) if wrong else None
    controller = ComputedTorque(motion(robot.n_dof), 49.0, model=model, knows_ground=knows)
    compiled = CompiledLaw(robot, controller, height=1.0)
    touched = 0
    for t in (0.0, 0.4, 0.8):
        q, qd = 0.3 * rng.standard_normal((2, robot.n_dof))
        value = compiled.torque(t, q, qd)
        wrenches = compiled.contact_wrenches()
        touched += sum(bool(np.any(w.force)) for w in wrenches)
        assert_close(value, controller.torque(robot, t, q, qd, wrenches=wrenches), TOLERANCE)
        assert not value[:6].any()
    assert touched > 0


@pytest.mark.parametrize("name", FLOATING)
def test_motion_of_the_joints_alone_is_enough_for_a_floating_base(name, rng):
    robot = getattr(kt.zoo, name)()
    q, qd = 0.3 * rng.standard_normal((2, robot.n_dof))
    joints = motion(robot.n_dof).coefficients[:, :, 6:]
    alone = PiecewisePolynomial([0.0, 1.0], joints)
    for make in (
        lambda desired: PD(desired, 20.0),
        lambda desired: ComputedTorque(desired, 20.0),
        lambda desired: Feedforward(desired, 20.0, torques=table(robot.n_dof - 6)),
    ):
        of_all, of_joints = make(motion(robot.n_dof)), make(alone)
        expected = of_all.torque(robot, 0.3, q, qd)
        assert_close(of_joints.torque(robot, 0.3, q, qd), expected)
        assert_close(CompiledLaw(robot, of_joints).torque(0.3, q, qd), expected, TOLERANCE)
        assert not expected[:6].any() and expected[6:].all()


def test_any_trajectory_becomes_a_table(rng):
    """The table meets positions to 1e-12, and so accelerations to fewer digits."""
    arm = kt.zoo.kuka_kr5()
    controller = ComputedTorque(cycloid(np.zeros(6), np.full(6, 1.0), 1.0), 49.0)
    compiled = CompiledLaw(arm, controller)
    assert compiled.law.breaks == (1.0,)
    for t in rng.uniform(0.0, 1.2, 20):
        q, qd = rng.standard_normal((2, 6))
        assert_close(compiled.torque(t, q, qd), controller.torque(arm, t, q, qd), 1e-8)


@pytest.mark.parametrize("limit", [0.7, np.inf])
def test_integrals_do_not_wind_up(limit, rng):
    arm = kt.zoo.gripper()
    controller = PID(motion(4), 40.0, 3.0, 5.0, limits=limit)
    compiled = CompiledLaw(arm, controller)
    still = 0
    for t in rng.uniform(0.0, 1.0, 20):
        q, qd, integral = rng.standard_normal((3, 4))
        rate = compiled.rates(t, q, qd, integral)[8:12]
        tau = controller.torque(arm, t, q, qd, integral)
        assert_close(rate, controller.integral_rate(arm, t, q, tau))
        e = motion(4).at(t) - q
        at_limit = np.abs(tau) >= limit
        assert_close(rate[~at_limit], e[~at_limit])
        assert (rate[at_limit] * tau[at_limit] <= 0.0).all()
        still += int((rate == 0.0).sum())
    assert (still > 10) == np.isfinite(limit)


def test_torques_are_held_between_sampling_instants(rng):
    arm = kt.zoo.gripper()
    controller = PD(motion(4), 40.0, 3.0, period=0.1)
    compiled = CompiledLaw(arm, controller)
    assert compiled.law.period == 0.1
    q, qd = rng.standard_normal((2, 4))
    compiled.sample(0.2, q, qd)
    held = compiled.torque(0.27, q + 1.0, qd + 1.0)
    assert_close(held, controller.torque(arm, 0.2, q, qd))
    compiled.sample(0.3, q + 1.0, qd + 1.0)
    assert_close(compiled.torque(0.3, q, qd), controller.torque(arm, 0.3, q + 1.0, qd + 1.0))


def test_a_batch_is_its_states_one_by_one(rng):
    robot = kt.zoo.quadruped()
    q, qd, integral = rng.standard_normal((3, 5, 18))
    t = rng.uniform(0.0, 1.0, 5)
    for controller in (ComputedTorque(motion(18), 9.0, ki=1.0), PD(motion(18), 9.0), GravityCompensation()):
        batch = controller.torque(robot, t, q, qd, integral)
        single = [controller.torque(robot, t[k], q[k], qd[k], integral[k]) for k in range(5)]
        assert_close(batch, np.stack(single))
        assert controller.torque(robot, 0.5, q[:, None], qd).shape == (5, 5, 18)
