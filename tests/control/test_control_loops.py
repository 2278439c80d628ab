"""Controllers of mechanisms with closed loops, and of joints without drives."""

import numpy as np
import pytest

import kinetree as kt

BAR = kt.zoo.four_bar()
BEGIN = kt.loops.assemble(BAR, [0.2, 1.0, 4.3], hold=["crank_pivot"])
PATH = kt.trajectories.cycloid([0.2], [0.9], duration=0.4)


def pendulum_on_a_cart():
    """A driven cart with a pole whose hinge has no drive."""
    build = kt.Builder("cart", gravity=(0, -9.81, 0))
    cart = build.world.prismatic("rail", axis="x").body("cart", kt.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    cart.revolute("hinge", driven=False).body("pole", kt.Inertia.rod(0.3, end=(0, -0.5, 0)))
    return build.build()


def test_computed_torque_leaves_the_error_of_its_formula():
    """e'' + kd e' + kp e = 0 with critical damping: e = e0 (1 + w t) exp(-w t), whatever the linkage does."""
    w, e0 = 12.0, 0.15
    law = kt.control.ComputedTorque(PATH, kp=w**2)
    start = kt.loops.assemble(BAR, BEGIN - np.array([e0, 0.0, 0.0]), hold=["crank_pivot"])
    run = kt.simulate(BAR, start, duration=0.4, controller=law, times=9, rtol=1e-9)
    t = run.time.values
    error = PATH.at(t).q[:, 0] - run.q.values[:, 0]
    assert np.abs(error - e0 * (1.0 + w * t) * np.exp(-w * t)).max() < 1e-8
    assert not run.tau.values[:, 1:].any()
    assert np.abs(kt.loops.gap(BAR, run.q.values)).max() < 1e-12


def test_feedforward_of_the_crank_alone_moves_the_linkage():
    law = kt.control.Feedforward(PATH, kp=1.0, kd=0.1)
    run = kt.simulate(BAR, BEGIN, duration=0.4, controller=law, times=9, rtol=1e-9)
    assert np.abs(PATH.at(run.time.values).q[:, 0] - run.q.values[:, 0]).max() < 1e-8
    whole = kt.loops.dependent_motion(
        BAR,
        ["crank_pivot"],
        *(getattr(PATH.at(run.time.values), x) for x in ("q", "qd", "qdd")),
        q0=BEGIN,
    )
    tau = kt.inverse_dynamics(BAR, whole.q, whole.qd, whole.qdd)
    assert np.abs(run.tau.values - tau).max() < 1e-6


def test_gravity_is_compensated_by_the_drives():
    law = kt.control.GravityCompensation()
    assert np.abs(law.torque(BAR, 0.0, BEGIN, np.zeros(3)) - kt.gravity_torque(BAR, BEGIN)).max() < 1e-12
    run = kt.simulate(BAR, BEGIN, duration=0.2, controller=law, times=3)
    assert np.abs(run.q.values - BEGIN).max() < 1e-9


def test_feedback_runs_compiled_and_drives_driven_joints_only():
    law = kt.control.PD([0.9], kp=20.0, kd=1.0)
    assert law.runs_compiled(BAR)
    tau = law.torque(BAR, 0.0, BEGIN, np.zeros(3))
    assert tau.tolist() == [20.0 * (0.9 - 0.2), 0.0, 0.0]
    run = kt.simulate(BAR, BEGIN, duration=0.1, controller=law, times=3)
    assert not run.tau.values[:, 1:].any()
    assert np.abs(run.tau.values - law.torque(BAR, 0.0, run.q.values, run.qd.values)).max() < 1e-9


def test_a_platform_follows_its_legs():
    """Six legs of a Stewart platform, whose free plate is tied by the loops, accelerate as asked."""
    robot = kt.zoo.stewart()
    q, qd = np.zeros(robot.n_dof), np.zeros(robot.n_dof)
    want = np.linspace(-0.02, 0.02, 6)
    law = kt.control.ComputedTorque(want, kp=25.0)
    tau = law.torque(robot, 0.0, q, qd)
    assert not law.runs_compiled(robot)
    qdd = kt.forward_dynamics(robot, q, qd, tau)
    assert np.abs(qdd[robot.driven] - 25.0 * want).max() < 1e-10
    assert not tau[~robot.driven].any()


def test_redundant_drives_share_the_work():
    build = kt.Builder("twice", gravity=(0, -9.81, 0))
    rod = kt.Inertia.rod(1.0, end=(0.5, 0, 0))
    left = build.world.revolute("left", axis="z").body("left_bar", rod)
    right = build.world.revolute("right", at=(1.0, 0, 0)).body("right_bar", rod)
    top = left.revolute("pin", at=(0.5, 0, 0), driven=False).body("top", kt.Inertia.rod(1.0, end=(1.0, 0, 0)))
    build.loop("cut", top, right, at_a=(1.0, 0, 0), at_b=(0.5, 0, 0))
    mechanism = build.build()
    q, still = np.array([1.0, 1.0, -1.0]), np.zeros(3)
    law = kt.control.ComputedTorque([0.1, 0.1], kp=10.0)
    tau = law.torque(mechanism, 0.0, q, still)
    assert abs(tau[0] - tau[1]) < 1e-12 and tau[2] == 0.0  # by symmetry of a parallelogram
    assert np.abs(kt.forward_dynamics(mechanism, q, still, tau)[:2] + 9.0).max() < 1e-10


def test_joints_without_drives_move_as_they_must():
    """Collocated linearization: the cart accelerates as asked, the pole by its own equation."""
    mechanism = pendulum_on_a_cart()
    q, qd = np.array([0.1, 0.4]), np.array([0.3, -0.8])
    law = kt.control.ComputedTorque([0.5], kp=30.0, kd=4.0)
    assert not law.runs_compiled(mechanism)
    tau = law.torque(mechanism, 0.0, q, qd)
    qdd = kt.forward_dynamics(mechanism, q, qd, tau)
    a = 30.0 * 0.4 - 4.0 * 0.3
    assert abs(qdd[0] - a) < 1e-12 and tau[1] == 0.0
    m, half = 0.3, 0.25
    pole = -(m * 9.81 * half * np.sin(0.4) + m * half * np.cos(0.4) * a) / (m * (2 * half) ** 2 / 3)
    assert abs(qdd[1] - pole) < 1e-12
    many = law.torque(mechanism, np.zeros(3), np.tile(q, (3, 1)), np.tile(qd, (3, 1)))
    assert np.abs(many - tau).max() < 1e-12


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: kt.control.PD([0.1, 0.2], kp=1.0), r"3, or 1 for those with a drive, values"),
        (lambda: kt.control.PD([0.1], kp={"rocker_pivot": 1.0}), "'rocker_pivot' has no drive"),
        (lambda: kt.control.ConstantTorque([0.0, 1.0, 0.0]), "'rocker_pivot'"),
        (
            lambda: kt.control.ComputedTorque([0.1], kp=1.0, model=BAR.opened()),
            "has the loops none, 'four_bar' has crank_pin",
        ),
    ],
)
def test_what_does_not_fit_is_named(make, words):
    with pytest.raises(kt.errors.InputError, match=words):
        make().torque(BAR, 0.0, BEGIN, np.zeros(3))
