"""Joints that move as prescribed in simulations, beside others that torques drive."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.control import Prescribed
from kinetree.trajectories import cycloid
from support.each import each

ARM = kt.zoo.gripper()
LIFT = cycloid([0.1], [1.0], 0.4)
START = [0.1, 0.0, 0.2, 0.0]


def hand() -> kt.Mechanism:
    build = kt.Builder("hand")
    rod = kt.Inertia.rod(0.3, end=(0.2, 0, 0))
    palm = build.world.revolute("wrist", axis="z", armature=0.01).body("palm", rod)
    first = palm.revolute("knuckle", axis="z", at=(0.2, 0, 0), stiffness=0.5, viscous=0.01).body("first", rod)
    first.revolute("tip", axis="z", at=(0.2, 0, 0), mimic=kt.model.Mimic("knuckle", 0.7, 0.1)).body(
        "end", rod
    )
    palm.revolute("thumb", axis="y", at=(0.1, 0, 0), viscous=0.02).body("thumb", rod)
    return build.build()


def simulated(mechanism, law, q0, qd0=None, **options):
    given = {"duration": 0.4, "times": 9, "progress": False} | options
    return kt.simulate(mechanism, q0, qd0, controller=law, **given)


def test_torques_are_those_of_hybrid_dynamics():
    law = Prescribed(LIFT, ["joint1"], law=[0.0, 0.05, 0.0, -0.02])
    push = kt.Wrench(ARM.body_names[-1], force=(0.1, 0.2, 0.0))
    run = simulated(ARM, law, START, loads=push)
    assert run.passed and set(run.audit) == {"energy_balance", "prescribed"}
    wanted = LIFT.at(run.time.values)
    assert np.abs(run.q.values[:, 0] - wanted.q[:, 0]).max() < 1e-9
    qdd = np.concatenate([wanted.qdd, np.full((9, 3), np.nan)], axis=1)
    both = kt.analysis.hybrid_dynamics(
        ARM, run.q.values, run.qd.values, qdd, [0.0, 0.05, 0.0, -0.02], prescribed=["joint1"], wrenches=push
    )
    assert np.allclose(run.tau.values, both.tau, rtol=1e-7, atol=1e-8)
    assert np.allclose(run.qdd.values, both.qdd, rtol=1e-7, atol=1e-6)


def test_the_torques_found_cause_the_same_motion_without_prescription():
    law = Prescribed(LIFT, ["joint1"], law=[0.0, 0.05, 0.0, -0.02])
    run = simulated(ARM, law, START, times=401)
    table = kt.trajectories.PiecewisePolynomial.linear(run.time.values, run.tau.values)
    again = simulated(ARM, None, START, torque=table, times=401, rtol=1e-9)
    assert np.abs(again.q.values[-1] - run.q.values[-1]).max() < 1e-4  # rows every millisecond


def test_mimic_joints_springs_and_friction():
    mechanism = hand()
    law = Prescribed(cycloid([0.2], [0.6], 0.4), ["knuckle"])
    run = simulated(mechanism, law, [0.0, 0.2, 0.1])
    assert run.passed
    moved = kt.forward_dynamics(mechanism, run.q.values, run.qd.values, run.tau.values)
    assert np.allclose(moved, run.qdd.values, atol=1e-7 * np.abs(run.qdd.values).max())
    assert not run.tau.sel(joint=["wrist", "thumb"]).values.any()


def test_momentum_of_a_floating_robot_is_kept():
    """Without gravity and ground, joints that move as prescribed cannot change the momentum."""
    robot = kt.zoo.planar_biped().with_gravity([0, 0, 0])
    n = robot.n_dof
    start = np.zeros(n)
    end = start + np.where(robot.actuated, 0.3, 0.0)
    run = simulated(robot, Prescribed(cycloid(start, end, 0.4)), start)
    momentum = kt.momentum(robot, run.q.values, run.qd.values)
    assert run.passed and np.abs(momentum).max() < 1e-8
    assert np.abs(run.q.values[-1][~robot.actuated]).max() > 1e-3


def test_batches_and_simulators_run_the_same():
    law = Prescribed(LIFT, ["joint1"])
    alone = simulated(ARM, law, START)
    many = kt.simulation.simulate_batch(ARM, np.array([START] * 5), duration=0.4, controller=law, times=9)
    again = kt.simulation.Simulator(ARM, duration=0.4, controller=law, times=9).run(START)
    for k in range(5):
        assert np.allclose(many.q.values[k], alone.q.values, atol=1e-6)
    assert np.allclose(again.q, alone.q.values, atol=1e-8)


@each(
    ("law", "start", "message"),
    [
        (lambda: Prescribed(LIFT, ["joint9"]), START, "prescribed: unknown joint 'joint9'"),
        (lambda: Prescribed(LIFT, "joint1"), START, "joints must be a list"),
        (lambda: Prescribed(LIFT, ["joint1", "joint2"]), START, "must have 4 coordinates, or 2 for joint1"),
        (lambda: Prescribed(LIFT, []), START, "no joint is prescribed"),
        (lambda: Prescribed("up", ["joint1"]), START, "a controller follows a Trajectory"),
        (
            lambda: Prescribed(LIFT, ["joint1"]),
            [0.3, 0, 0, 0],
            "q0 of joint 'joint1' is 0.3, but its prescribed",
        ),
        (lambda: Prescribed(LIFT, ["joint1"], Prescribed(LIFT)), START, "follow a controller or a torque"),
        (
            lambda: Prescribed(
                kt.trajectories.PiecewisePolynomial.linear([0, 1, 2], [[0.1], [0.1], [1.0]]), ["joint1"]
            ),
            START,
            r"velocity of joint 'joint1' jumps by 0.9 rad/s or m/s at t = 1 s",
        ),
        (
            lambda: Prescribed(
                kt.trajectories.PiecewisePolynomial.linear([0, 0.1], [[0.1], [0.2]]), ["joint1"]
            ),
            START,
            "qd0 of joint 'joint1' is 0, but its prescribed motion begins with 1",
        ),
    ],
)
def test_bad_input(law, start, message):
    with pytest.raises(kt.errors.InputError, match=message):
        simulated(ARM, law(), start)


def test_a_motion_must_not_end_on_the_move():
    ramp = kt.trajectories.PiecewisePolynomial.linear([0, 0.1], [[0.0], [0.2]])
    with pytest.raises(kt.errors.InputError, match=r"ends at 0\.1 s while joint 'joint1' still moves"):
        simulated(ARM, Prescribed(ramp, ["joint1"]), np.zeros(4), [2.0, 0, 0, 0])


LOOPS = {"four_bar": [0.0, 1.0, 4.3], "three_rrr": None, "stewart": None}


def assembled(name):
    mechanism, draw = getattr(kt.zoo, name)(), np.random.default_rng(3)
    guess = LOOPS[name] if LOOPS[name] is not None else draw.normal(0.0, 0.3, mechanism.n_dof)
    return mechanism, np.asarray(kt.loops.assemble(mechanism, guess))


@pytest.mark.parametrize("name", LOOPS)
def test_closed_loops_follow_as_hybrid_dynamics_says(name):
    mechanism, q0 = assembled(name)
    driven = np.flatnonzero(mechanism.actuated)
    motion = cycloid(q0[driven], q0[driven] + 0.05, 0.2)
    load = ([0.0, 0.2], kt.Wrench(mechanism.body_names[-1], force=[[0, 0, 0], [2.0, 1.0, 0.5]]))
    run = simulated(mechanism, Prescribed(motion), q0, duration=0.2, times=5, loads=load)
    wanted = motion.at(run.time.values)
    assert run.passed and np.abs(run.q.values[:, driven] - wanted.q).max() < 1e-8
    qdd = np.zeros_like(run.q.values)
    qdd[:, driven] = wanted.qdd
    push = kt.Wrench(mechanism.body_names[-1], force=run.time.values[:, None] / 0.2 * [2.0, 1.0, 0.5])
    both = kt.analysis.hybrid_dynamics(mechanism, run.q.values, run.qd.values, qdd, wrenches=push)
    assert np.allclose(run.tau.values, both.tau, rtol=1e-7, atol=1e-8 * np.abs(both.tau).max())
    assert np.allclose(run.qdd.values, both.qdd, atol=1e-6 * np.abs(both.qdd).max())


def test_a_free_base_with_loops_keeps_its_momentum():
    """Without gravity and ground, a shaft that rotates as prescribed cannot change the momentum."""
    walker = kt.zoo.jansen_walker(pairs=1).with_gravity([0, 0, 0])
    motion = cycloid([0.0], [2.0], 0.4)
    run = simulated(walker, Prescribed(motion), np.zeros(walker.n_dof), duration=0.4, times=5)
    momentum = kt.momentum(walker, run.q.values, run.qd.values)
    assert run.passed and np.abs(momentum).max() < 1e-8
    assert np.abs(run.q.values[-1, :3]).max() > 1e-3
    assert not run.tau.values[:, ~walker.actuated].any()


def test_loops_that_tie_prescribed_joints_are_refused():
    mechanism, q0 = assembled("four_bar")
    with pytest.raises(
        kt.errors.SingularityError, match=r"'four_bar': its loops couple the prescribed joints \(crank"
    ):
        simulated(mechanism, Prescribed(q0, ["crank_pivot", "rocker_pivot"]), q0)
