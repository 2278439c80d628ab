"""External loads: points, frames, sums, arrays."""

import numpy as np

import kinetree as kt
from support import oracle, trees
from support.cases import assert_close


def effect(robot, q, wrenches):
    """What loads take off the joint torques."""
    rest = np.zeros_like(q)
    return kt.inverse_dynamics(robot, q, rest, rest) - kt.inverse_dynamics(robot, q, rest, rest, wrenches)


def test_a_wrench_at_a_point_acts_through_the_jacobian(robot, rng):
    q, _, _ = trees.state(robot, rng)
    for body in robot.body_names:
        force, moment, point = rng.uniform(-3, 3, (3, 3))
        J = kt.jacobian(robot, q, body, point)
        w = kt.Wrench(body, force, moment, point)
        assert_close(effect(robot, q, w), J.T @ np.concatenate([force, moment]))


def test_forward_dynamics_feels_wrenches(robot, rng):
    q, qd, tau = trees.state(robot, rng)
    wrenches = trees.loads(rng, robot)
    pushed = kt.forward_dynamics(robot, q, qd, tau, wrenches)
    torque = sum(effect(robot, q, w) for w in wrenches)
    assert_close(pushed, kt.forward_dynamics(robot, q, qd, tau + torque), 1e-10)
    assert_close(kt.bias_torque(robot, q, qd, wrenches), kt.bias_torque(robot, q, qd) - torque)


def test_body_axes_and_world_axes(robot, rng):
    q, qd, qdd = trees.state(robot, rng)
    poses = kt.forward_kinematics(robot, q)
    body = robot.body_names[-1]
    force, moment, point = rng.uniform(-3, 3, (3, 3))
    R = poses[body][0]
    in_body = kt.Wrench(body, force, moment, point, frame="body")
    in_world = kt.Wrench(body, R @ force, R @ moment, point)
    for answer in (kt.inverse_dynamics, kt.forward_dynamics, kt.joint_reactions):
        assert_close(answer(robot, q, qd, qdd, in_body), answer(robot, q, qd, qdd, in_world), 1e-11)


def test_an_array_of_wrenches_equals_a_list(robot, rng):
    q, qd, qdd = trees.state(robot, rng, batch=(3,))
    array = rng.uniform(-3, 3, (3, robot.n_bodies, 6))
    listed = [kt.Wrench(name, array[:, k, :3], array[:, k, 3:]) for k, name in enumerate(robot.body_names)]
    for answer in (kt.inverse_dynamics, kt.forward_dynamics, kt.joint_reactions):
        assert_close(answer(robot, q, qd, qdd, array), answer(robot, q, qd, qdd, listed), 1e-11)


def test_wrenches_add_up(robot, rng):
    q, _, _ = trees.state(robot, rng)
    first, second = trees.loads(rng, robot), trees.loads(rng, robot)
    both = effect(robot, q, [*first, *second])
    assert_close(both, effect(robot, q, first) + effect(robot, q, second))
    for nothing in ([], (), np.zeros((robot.n_bodies, 6))):
        assert_close(effect(robot, q, nothing), np.zeros(robot.n_dof), 1e-13)


def test_one_state_under_many_loads(rng):
    robot = trees.welded_tree(rng)
    q, qd, qdd = trees.state(robot, rng)
    force = rng.uniform(-3, 3, (5, 3))
    many = kt.Wrench("tool", force, point=(0.1, 0.2, 0.3))
    tau = kt.inverse_dynamics(robot, q, qd, qdd, many)
    reactions = kt.joint_reactions(robot, q, qd, qdd, many, frame="world")
    qdds = kt.forward_dynamics(robot, q, qd, qdd, many)
    assert tau.shape == qdds.shape == (5, robot.n_dof) and reactions.shape == (5, robot.n_bodies, 6)
    for k in range(5):
        one = kt.Wrench("tool", force[k], point=(0.1, 0.2, 0.3))
        assert_close(tau[k], kt.inverse_dynamics(robot, q, qd, qdd, one), 1e-14)
        assert_close(reactions[k], kt.joint_reactions(robot, q, qd, qdd, one, frame="world"), 1e-14)
        assert_close(qdds[k], kt.forward_dynamics(robot, q, qd, qdd, one), 1e-11)


def test_a_load_on_a_body_fixed_to_the_world_is_felt_only_by_its_weld(rng):
    robot = trees.welded_tree(rng)
    q, qd, qdd = trees.state(robot, rng)
    load = kt.Wrench("cap", (1, 2, 3), (4, 5, 6), (0.1, 0.2, 0.3), frame="body")
    assert_close(kt.inverse_dynamics(robot, q, qd, qdd, load), kt.inverse_dynamics(robot, q, qd, qdd))
    felt = kt.joint_reactions(robot, q, qd, qdd, load) - kt.joint_reactions(robot, q, qd, qdd)
    k = robot.body_index("cap")
    assert_close(felt[k], -np.r_[1, 2, 3, np.array([4, 5, 6]) + np.cross((0.1, 0.2, 0.3), (1, 2, 3))])
    assert_close(
        felt,
        oracle.free_bodies(robot, q, qd, qdd, [load]).reactions
        - oracle.free_bodies(robot, q, qd, qdd).reactions,
    )


def test_weight_as_a_load(robot, rng):
    """Gravity is a force m g at each center of mass."""
    q, qd, qdd = trees.state(robot, rng)
    weights = [
        kt.Wrench(x.body.name, x.body.inertia.mass * robot.gravity, point=x.body.inertia.center)
        for x in robot.links
    ]
    floating = robot.with_gravity((0, 0, 0))
    assert_close(kt.inverse_dynamics(floating, q, qd, qdd, weights), kt.inverse_dynamics(robot, q, qd, qdd))
    assert_close(kt.joint_reactions(floating, q, qd, qdd, weights), kt.joint_reactions(robot, q, qd, qdd))
