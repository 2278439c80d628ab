"""Mimic joints: the same as the full tree seen through q_all = G q + offset."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from support import trees
from support.cases import assert_close
from support.oracle import coupling


@pytest.fixture
def pair(rng):
    """A mechanism with mimic joints, the same with all joints free, and G, offset."""
    robot = trees.mimic_tree(rng, 9)
    free = replace(robot, links=tuple(replace(x, joint=replace(x.joint, mimic=None)) for x in robot.links))
    assert free.n_dof == robot.n_dof + 3
    return robot, free, *coupling(robot)


def test_all_answers_follow_from_the_full_tree(pair, rng):
    robot, free, G, offset = pair
    q, qd, qdd = trees.state(robot, rng, batch=(3,))
    q_all, qd_all, qdd_all = q @ G.T + offset, qd @ G.T, qdd @ G.T
    wrenches = trees.loads(rng, robot)
    tau = kt.inverse_dynamics(free, q_all, qd_all, qdd_all, wrenches) @ G
    assert_close(kt.inverse_dynamics(robot, q, qd, qdd, wrenches), tau)
    assert_close(kt.mass_matrix(robot, q), G.T @ kt.mass_matrix(free, q_all) @ G)
    assert_close(kt.bias_torque(robot, q, qd), kt.bias_torque(free, q_all, qd_all) @ G)
    assert_close(kt.gravity_torque(robot, q), kt.gravity_torque(free, q_all) @ G)
    assert_close(kt.kinetic_energy(robot, q, qd), kt.kinetic_energy(free, q_all, qd_all))
    assert_close(kt.potential_energy(robot, q), kt.potential_energy(free, q_all))
    assert_close(kt.jacobian(robot, q, "body8"), kt.jacobian(free, q_all, "body8") @ G)
    assert_close(
        kt.joint_reactions(robot, q, qd, qdd, wrenches),
        kt.joint_reactions(free, q_all, qd_all, qdd_all, wrenches),
    )


def test_forward_dynamics_solves_the_coupled_equations(pair, rng):
    robot, free, G, offset = pair
    q, qd, tau = trees.state(robot, rng)
    M = G.T @ kt.mass_matrix(free, G @ q + offset) @ G
    h = G.T @ kt.bias_torque(free, G @ q + offset, G @ qd)
    assert_close(kt.forward_dynamics(robot, q, qd, tau), np.linalg.solve(M, tau - h), 1e-11)


def test_a_joint_may_follow_one_that_comes_later():
    robot = kt.Builder("scissors")
    rod = kt.Inertia.rod(1.0, (0.5, 0, 0))
    robot.world.revolute("a", mimic=kt.model.Mimic("b", -2.0, 0.1)).body("a", rod)
    robot.world.revolute("b").body("b", rod)
    scissors = robot.build()
    assert scissors.joint_names == ("b",) and scissors.n_dof == 1
    M = kt.mass_matrix(scissors, [0.3])
    assert_close(M, [[(1 + 4) * 1.0 * 0.25 / 3]])
    position = kt.forward_kinematics(scissors, [0.3]).rotation[0]
    assert_close(position[:2, 0], [np.cos(-0.5), np.sin(-0.5)])


def test_massless_coupled_joint_is_singular():
    robot = kt.Builder("broken")
    rod = kt.Inertia.rod(1.0, (0.5, 0, 0))
    arm = robot.world.revolute("a").body("a", rod)
    arm.revolute("b", mimic=kt.model.Mimic("a")).body("b", rod).revolute("loose").body("c")
    with pytest.raises(kt.errors.SingularityError, match=r"singular.*'loose'"):
        kt.forward_dynamics(robot.build(), [0.1, 0.2], [0, 0], [0, 0])


@pytest.mark.parametrize("distance", [0.0, 1e-12, 1e-9, 1e-8])
def test_gimbal_lock_of_a_coupled_mechanism_is_singular(distance):
    robot = kt.Builder("locked")
    rod = kt.Inertia.box(1.0, (0.1, 0.2, 0.3))
    arm = robot.world.revolute("a").body("a", rod)
    arm.revolute("b", mimic=kt.model.Mimic("a")).body("b", rod).spherical("ball", at=(0, 0, 1)).body("c", rod)
    q = [0.4, 0.3, np.pi / 2 + distance, 0.1]
    with pytest.raises(kt.errors.SingularityError, match="singular"):
        kt.forward_dynamics(robot.build(), q, [0.1] * 4, [1.0] * 4)
