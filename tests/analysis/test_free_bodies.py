"""All answers against free bodies in the world frame, a formulation that shares no code with the library."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.rotation import THREE_AXIS_SEQUENCES, TWO_AXIS_SEQUENCES
from support import oracle, trees
from support.cases import assert_close
from support.each import each


def assert_same_answers(robot, rng):
    q, qd, qdd = trees.state(robot, rng)
    wrenches = trees.loads(rng, robot)
    expected = oracle.free_bodies(robot, q, qd, qdd, wrenches)
    poses = kt.forward_kinematics(robot, q)
    assert_close(poses.rotation, expected.poses[:, :3, :3])
    assert_close(poses.position, expected.poses[:, :3, 3])
    assert_close(kt.body_velocities(robot, q, qd), expected.velocities)
    assert_close(kt.analysis.body_accelerations(robot, q, qd, qdd), expected.accelerations)
    assert_close(kt.inverse_dynamics(robot, q, qd, qdd, wrenches), expected.tau)
    assert_close(kt.joint_reactions(robot, q, qd, qdd, wrenches), expected.reactions)
    assert_close(kt.forward_dynamics(robot, q, qd, expected.tau, wrenches), qdd, 1e-10)
    assert_close(kt.mass_matrix(robot, q), oracle.mass_matrix(robot, q))
    assert_close(kt.kinetic_energy(robot, q, qd), expected.kinetic)
    assert_close(kt.potential_energy(robot, q), expected.potential)
    assert_close(kt.momentum(robot, q, qd), expected.momentum)
    assert_close(kt.center_of_mass(robot, q), expected.center)


def test_random_tree(robot, rng):
    assert_same_answers(robot, rng)


@each("sequence", THREE_AXIS_SEQUENCES)
@each("kind", ["spherical", "free"])
def test_euler_sequence(kind, sequence, rng):
    robot = kt.Builder("two", gravity=rng.uniform(-9, 9, 3))
    first = robot.world.joint(
        "first", kind, at=rng.uniform(-1, 1, 3), rotation=trees.rotation(rng), sequence=sequence
    )
    second = first.body("a", trees.inertia(rng)).joint("second", kind, at=(0.1, 0.2, 0.3), sequence=sequence)
    second.body("b", trees.inertia(rng))
    assert_same_answers(robot.build(), rng)


@pytest.mark.parametrize("sequence", TWO_AXIS_SEQUENCES)
def test_universal_joint(sequence, rng):
    robot = kt.Builder("two", gravity=rng.uniform(-9, 9, 3))
    first = robot.world.universal("first", rotation=trees.rotation(rng), sequence=sequence).body(
        "a", trees.inertia(rng)
    )
    first.universal("second", at=(0.1, 0.2, 0.3), sequence=sequence).body("b", trees.inertia(rng))
    assert_same_answers(robot.build(), rng)


@each("axis", ["x", "y", "z", "-x", "-y", "-z"])
@each("kind", trees.ONE_AXIS)
def test_coordinate_axis(kind, axis, rng):
    robot = kt.Builder("two", gravity=rng.uniform(-9, 9, 3))
    first = robot.world.joint("first", kind, axis=axis).body("a", trees.inertia(rng))
    first.joint("second", kind, at=(0.1, 0.2, 0.3), axis=axis).body("b", trees.inertia(rng))
    assert_same_answers(robot.build(), rng)


def test_long_chain(rng):
    assert_same_answers(trees.random_tree(rng, 40, kinds=("revolute", "prismatic"), branching=0.0), rng)


def test_bushy_tree(rng):
    assert_same_answers(trees.random_tree(rng, 24, branching=1.0), rng)


def test_mechanism_without_degrees_of_freedom(rng):
    robot = kt.Builder("rock", gravity=(1.0, 2.0, -9.0))
    first = robot.world.fixed("weld1", at=(1, 2, 3), rotation=trees.rotation(rng)).body(
        "a", trees.inertia(rng)
    )
    first.fixed("weld2", at=(1, 2, 3)).body("b", trees.inertia(rng))
    rock = robot.build()
    none = np.zeros(0)
    expected = oracle.free_bodies(rock, none, none, none)
    assert_close(kt.joint_reactions(rock, none, none, none), expected.reactions)
    assert_close(kt.potential_energy(rock, none), expected.potential)
    assert_close(kt.center_of_mass(rock, none), expected.center)
    assert_close(kt.forward_kinematics(rock, none).position, expected.poses[:, :3, 3])
    assert kt.inverse_dynamics(rock, none, none, none).shape == (0,)
    assert kt.forward_dynamics(rock, none, none, none).shape == (0,)
    assert kt.mass_matrix(rock, none).shape == (0, 0)
    assert kt.jacobian(rock, none, "b").shape == (6, 0)
    assert kt.kinetic_energy(rock, none, none) == 0.0
    assert not kt.momentum(rock, none, none).any()
