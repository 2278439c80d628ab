"""Hybrid dynamics: accelerations of some joints and torques of the others give the rest."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.analysis.hybrid import prescribed_joints
from kinetree.dynamics.loops.structure import assembled_poses
from kinetree.dynamics.loops.system import constraints


def mimic_hand() -> kt.Mechanism:
    hand = kt.Builder("hand")
    rod = kt.Inertia.rod(0.3, end=(0.2, 0, 0))
    palm = hand.world.revolute("wrist", axis="z", armature=0.01).body("palm", rod)
    first = palm.revolute("knuckle", axis="z", at=(0.2, 0, 0), stiffness=0.5).body("first", rod)
    first.revolute("tip", axis="z", at=(0.2, 0, 0), mimic=kt.model.Mimic("knuckle", 0.7, 0.1)).body(
        "second", rod
    )
    palm.revolute("thumb", axis="y", at=(0.1, 0, 0), viscous=0.02).body("thumb", rod)
    return hand.build()


def cart_with_a_pole() -> kt.Mechanism:
    rail = kt.Builder("cart_pole")
    cart = rail.world.prismatic("slide", axis="x").body("cart", kt.Inertia.box(1.0, (0.2, 0.1, 0.1)))
    cart.revolute("pivot", axis="y", driven=False).body("pole", kt.Inertia.rod(0.3, end=(0, 0, -0.5)))
    return rail.build()


MECHANISMS = {
    "gripper": (kt.zoo.gripper(), ["joint2", "joint4"]),
    "quadruped": (kt.zoo.quadruped(), None),
    "quadruped_driven_body": (kt.zoo.quadruped(), ["base", "hip1"]),
    "kuka": (kt.zoo.kuka_kr5(), ["joint1", "joint5", "joint6"]),
    "mimic": (mimic_hand(), ["knuckle"]),
    "cart_pole": (cart_with_a_pole(), None),
}


def some_names(mechanism, names):
    return names if names != ["base", "hip1"] else [mechanism.links[0].joint.name, mechanism.joint_names[6]]


@pytest.fixture(params=MECHANISMS)
def case(request):
    mechanism, names = MECHANISMS[request.param]
    rng = np.random.default_rng(3)
    state = kt.random_state(mechanism, rng, batch=(2, 3), scale=0.5)
    body = mechanism.body_names[-1]
    push = kt.Wrench(body, force=rng.standard_normal((2, 3, 3)), moment=(0.1, 0, 0.2), point=(0.1, 0, 0))
    tau = rng.standard_normal(state.q.shape)
    return mechanism, some_names(mechanism, names), state, tau, push


def test_torques_found_cause_the_motion_by_articulated_bodies(case):
    mechanism, names, state, tau, push = case
    known = prescribed_joints(mechanism, names)
    free = np.setdiff1d(np.arange(mechanism.n_dof), known)
    both = kt.analysis.hybrid_dynamics(
        mechanism, state.q, state.qd, state.qdd, tau, prescribed=names, wrenches=push
    )
    assert np.array_equal(both.qdd[..., known], state.qdd[..., known])
    assert np.array_equal(both.tau[..., free], tau[..., free])
    moved = kt.forward_dynamics(mechanism, state.q, state.qd, both.tau, push)
    assert np.allclose(moved, both.qdd, rtol=1e-8, atol=1e-8 * (1 + np.abs(both.qdd).max()))


def test_batches_are_their_states_one_by_one(case):
    mechanism, names, state, tau, _ = case
    many = kt.analysis.hybrid_dynamics(
        mechanism, state.q, state.qd[0, 0], state.qdd, tau[:, :1], prescribed=names
    )
    one = kt.analysis.hybrid_dynamics(
        mechanism, state.q[1, 2], state.qd[0, 0], state.qdd[1, 2], tau[1, 0], prescribed=names
    )
    assert np.allclose(many.qdd[1, 2], one.qdd, rtol=1e-9, atol=1e-9)
    assert np.allclose(many.tau[1, 2], one.tau, rtol=1e-9, atol=1e-9)


def test_all_or_none_prescribed_is_inverse_or_forward_dynamics(case):
    mechanism, _, state, tau, push = case
    unknown = np.full(mechanism.n_dof, np.nan)
    every = kt.analysis.hybrid_dynamics(
        mechanism, state.q, state.qd, state.qdd, unknown, prescribed=mechanism.joint_names, wrenches=push
    )
    assert np.array_equal(every.tau, kt.inverse_dynamics(mechanism, state.q, state.qd, state.qdd, push))
    none = kt.analysis.hybrid_dynamics(
        mechanism, state.q, state.qd, unknown, tau, prescribed=[], wrenches=push
    )
    assert np.array_equal(none.qdd, kt.forward_dynamics(mechanism, state.q, state.qd, tau, push))


def test_derivatives_against_differences(case):
    mechanism, names, state, tau, push = case
    push = kt.Wrench(push.body, force=push.force[0, 0], moment=push.moment, point=push.point)
    given = [x[0, 0] for x in (state.q, state.qd, state.qdd, tau)]
    d = kt.analysis.hybrid_dynamics_derivatives(mechanism, *given, prescribed=names, wrenches=push)

    def ask(which, step):
        at = [x + step * (k == which) for k, x in enumerate(given)]
        return kt.analysis.hybrid_dynamics(mechanism, *at, prescribed=names, wrenches=push)

    known = prescribed_joints(mechanism, names)
    for which, name in enumerate(("q", "qd", "qdd", "tau")):
        for k in range(mechanism.n_dof):
            h = 1e-5 * np.eye(mechanism.n_dof)[k]
            above, below = ask(which, h), ask(which, -h)
            for found, x in (
                ("dqdd", (above.qdd - below.qdd) / 2e-5),
                ("dtau", (above.tau - below.tau) / 2e-5),
            ):
                exact = getattr(d, f"{found}_d{name}")[:, k]
                assert np.allclose(exact, x, rtol=1e-5, atol=1e-5 * (1.0 + np.abs(x).max())), (found, name, k)
    assert not d.dqdd_dq[known].any()


def test_limits_of_derivatives():
    arm, rng = kt.zoo.kuka_kr5(), np.random.default_rng(0)
    q, qd, qdd = kt.random_state(arm, rng).q, *rng.standard_normal((2, 6))
    tau = kt.inverse_dynamics(arm, q, qd, qdd)
    inverse = kt.inverse_dynamics_derivatives(arm, q, qd, qdd)
    forward = kt.forward_dynamics_derivatives(arm, q, qd, tau)
    every = kt.analysis.hybrid_dynamics_derivatives(arm, q, qd, qdd, prescribed=arm.joint_names)
    none = kt.analysis.hybrid_dynamics_derivatives(arm, q, qd, tau=tau, prescribed=[])
    assert np.allclose(every.dtau_dq, inverse.dtau_dq, rtol=1e-12, atol=1e-12)
    assert np.allclose(every.dtau_dqdd, inverse.dtau_dqdd, rtol=1e-12, atol=1e-12)
    assert np.allclose(every.dqdd_dqdd, np.eye(6), atol=1e-12) and not every.dtau_dtau.any()
    assert np.allclose(none.dqdd_dq, forward.dqdd_dq, rtol=1e-8, atol=1e-8 * np.abs(forward.dqdd_dq).max())
    assert np.allclose(none.dqdd_dtau, forward.dqdd_dtau, rtol=1e-8, atol=1e-6)
    assert np.allclose(none.dtau_dtau, np.eye(6)) and not none.dtau_dq.any()


def test_floating_base_is_one_case_in_two_ways():
    robot, rng = kt.zoo.quadruped(), np.random.default_rng(5)
    s = kt.random_state(robot, rng, batch=4, scale=0.3)
    quick = kt.analysis.hybrid_dynamics(robot, s.q, s.qd, s.qdd)
    weak = np.zeros(18)
    weak[0] = 1e-300  # not zero, so that the mass matrix is partitioned
    dense = kt.analysis.hybrid_dynamics(robot, s.q, s.qd, s.qdd, weak)
    base, tau = kt.analysis.floating_base_inverse_dynamics(robot, s.q, s.qd, s.qdd[:, 6:])
    assert np.array_equal(quick.qdd[:, :6], base) and np.array_equal(quick.tau[:, 6:], tau)
    assert np.allclose(dense.qdd, quick.qdd, rtol=1e-9, atol=1e-9)
    assert np.allclose(dense.tau, quick.tau, rtol=1e-9, atol=1e-9)


def test_cart_and_pole_in_closed_form():
    """A cart that accelerates by a carries a pole, a rod of length l: l thetadd / 1.5 = a cos - g sin."""
    rail, theta, rate, a = cart_with_a_pole(), 0.4, 1.3, 2.0
    both = kt.analysis.hybrid_dynamics(rail, [0.1, theta], [0.0, rate], [a, np.nan], [np.nan, 0.0])
    m, length, g = 0.3, 0.5, 9.81
    # the pole hangs along -z, rotates about y: its center is at x - l/2 sin theta
    turning = 1.5 / length * (a * np.cos(theta) - g * np.sin(theta))
    force = (1.0 + m) * a - m * length / 2 * (turning * np.cos(theta) - rate**2 * np.sin(theta))
    assert np.allclose(both.qdd, [a, turning], rtol=1e-12)
    assert np.allclose(both.tau, [force, 0.0], rtol=1e-12)


@pytest.mark.parametrize("name", ["four_bar", "five_bar", "stewart"])
def test_closed_loops(name):
    mechanism = getattr(kt.zoo, name)()
    rng = np.random.default_rng(1)
    q = assembled_poses(mechanism, 1)[0]
    free = constraints(mechanism, q).spaces.free
    qd = free @ (0.3 * rng.standard_normal(free.shape[-1]))
    chosen = list(kt.loops.structure(mechanism).independent)[:1]
    qdd, tau = np.full(mechanism.n_dof, 0.7), 0.2 * rng.standard_normal(mechanism.n_dof)
    both = kt.analysis.hybrid_dynamics(mechanism, q, qd, qdd, tau, prescribed=chosen)
    place = mechanism.joint_index(chosen[0])
    assert abs(both.qdd[place] - 0.7) < 1e-9
    others = np.arange(mechanism.n_dof) != place
    assert np.array_equal(both.tau[others], tau[others])
    d = kt.analysis.hybrid_dynamics_derivatives(mechanism, q, qd, qdd, tau, prescribed=chosen)
    step = 1e-5 * np.eye(mechanism.n_dof)
    for k in range(mechanism.n_dof):
        above, below = (
            kt.analysis.hybrid_dynamics(mechanism, q, qd, qdd, tau + s * step[k], prescribed=chosen)
            for s in (1, -1)
        )
        assert np.allclose((above.qdd - below.qdd) / 2e-5, d.dqdd_dtau[:, k], rtol=1e-5, atol=1e-4)
        assert np.allclose((above.tau - below.tau) / 2e-5, d.dtau_dtau[:, k], rtol=1e-5, atol=1e-5)


def test_too_many_prescribed_joints_of_a_loop():
    linkage = kt.zoo.four_bar()
    q = assembled_poses(linkage, 1)[0]
    still = np.zeros(3)
    with pytest.raises(kt.errors.InputError, match=r"cannot accelerate by .* its loops allow"):
        kt.analysis.hybrid_dynamics(linkage, q, still, [1.0, 1.0, 1.0], prescribed=linkage.joint_names)
    with pytest.raises(kt.errors.SingularityError, match="prescribe fewer"):
        kt.analysis.hybrid_dynamics_derivatives(linkage, q, still, still, prescribed=linkage.joint_names)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"prescribed": "joint1"}, "prescribed must be a list of names"),
        ({"prescribed": ["joint9"]}, "'joint9'.*Did you mean"),
        ({"prescribed": [1]}, "unknown joint '1'"),
        (
            {"prescribed": ["joint1"], "qdd": [np.nan, 0, 0, 0]},
            "qdd must be finite, got nan for joint 'joint1'",
        ),
        (
            {"prescribed": ["joint1"], "tau": [0, np.inf, 0, 0]},
            "tau must be finite, got inf for joint 'joint2'",
        ),
        ({"prescribed": ["joint1"], "tau": [0, 0]}, "tau must have shape"),
        ({"prescribed": 3}, "prescribed must be a list"),
    ],
)
def test_bad_input(given, message):
    arm, still = kt.zoo.gripper(), np.zeros(4)
    with pytest.raises(kt.errors.InputError, match=message):
        kt.analysis.hybrid_dynamics(arm, still, still, **given)


def test_massless_joints_may_be_prescribed_only():
    robot = kt.Builder("wand")
    arm = robot.world.revolute("elbow").body("arm", kt.Inertia.rod(1.0, end=(1, 0, 0)))
    arm.revolute("marker", at=(1, 0, 0)).body("tip")
    wand, still = robot.build(), np.zeros(2)
    with pytest.raises(
        kt.errors.SingularityError, match="'marker' moves no inertia in this state; prescribe it"
    ):
        kt.analysis.hybrid_dynamics(wand, still, still, prescribed=["elbow"])
    found = kt.analysis.hybrid_dynamics(wand, still, still, prescribed=["marker"], tau=[1.0, 0.0])
    assert np.allclose(found.qdd[0], 3.0) and np.allclose(found.tau, [1.0, 0.0])
