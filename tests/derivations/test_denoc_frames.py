"""Modules and DH frames of the DeNOC recursions: partitions of a tree, and frames on its axes."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.derivations import denoc
from kinetree.derivations.denoc.entries import variables
from kinetree.derivations.denoc.frames import dh_tree, placed
from kinetree.derivations.denoc.screws import vector_to_parent
from kinetree.dynamics.coupling import all_axes
from kinetree.model.tree import WORLD_AXIS
from support import trees
from support.cases import assert_close


@pytest.mark.parametrize("name", ["gripper", "biped_fixed", "quadruped", "humanoid", "three_rrr"])
def test_answers_do_not_depend_on_the_partition(name, rng):
    robot = kt.zoo.by_name(name)
    tree, (q, qd, qdd) = robot.tree, trees.state(robot, rng)
    base = set(robot.modules[0].bodies)
    links = robot.partition([[body] for body in robot.body_names if body not in base])
    assert len(links) > len(robot.modules)
    for function, arguments in (
        (denoc.inverse_dynamics, (q, qd, qdd)),
        (denoc.forward_dynamics, (q, qd, qdd)),
        (denoc.mass_matrix, (q,)),
    ):
        alone = function(tree, *arguments)
        for modules in (robot.modules, links):
            assert_close(function(tree, *arguments, modules=modules), alone, 1e-14)


@pytest.mark.parametrize("name", ["gripper", "quadruped", "biped_fixed", "humanoid", "robotic_leg"])
def test_the_tree_finds_the_modules_of_the_mechanism(name):
    robot = kt.zoo.by_name(name)
    dh = dh_tree(robot.tree)
    assert dh.modules == dh.order(robot.modules)
    assert sorted(j for module in dh.modules for joint in module for j in joint) == list(range(robot.tree.n))


def test_modules_of_another_mechanism_are_refused():
    robot, zeros = kt.zoo.gripper(), np.zeros(4)
    for modules in (robot.modules[:2], kt.zoo.kuka_kr5().modules, robot.modules[::-1]):
        with pytest.raises(
            kt.errors.InputError, match=r"modules \[.*'link1'.*\] are not a partition of the bodies"
        ):
            denoc.inverse_dynamics(robot.tree, zeros, zeros, zeros, modules=modules)


def world_poses(tree, q):
    """Rotation and origin of every DH frame in the world, from its screws."""
    dh = dh_tree(tree)
    at, poses = placed(dh, q), {WORLD_AXIS: (np.eye(3), np.zeros(3))}
    for j, axis in enumerate(dh.axes):
        R, o = poses[axis.parent]
        columns = [vector_to_parent(at.screws[j], tuple(variables(e, 3))) for e in np.eye(3)]
        turn = np.array([[entry.value for entry in column] for column in columns]).T
        arm = np.array([entry.value for entry in at.arms[j]])
        poses[j] = R @ turn, o + R @ arm
    return dh, poses


def test_dh_frames_move_with_the_axes_of_the_tree(robot, rng):
    """Same axes, origins on them, and x on the common normal to the first axis that follows."""
    tree = robot.tree
    q = all_axes(tree, trees.state(robot, rng)[0])
    dh, poses = world_poses(tree, q)
    R, o = np.zeros((tree.n, 3, 3)), np.zeros((tree.n, 3))
    for i, j in enumerate(tree.parent):
        Rj, oj = (np.eye(3), np.zeros(3)) if j < 0 else (R[j], o[j])
        R[i], o[i] = Rj @ tree.rotation[i], oj + Rj @ tree.position[i]
        if tree.turns[i]:
            R[i] = R[i] @ kt.Placement.at((0, 0, 0), rotation_z(q[i])).rotation
        else:
            o[i] += R[i][:, 2] * q[i]
    for i, axis in enumerate(dh.axes):
        c, s = axis.phi
        assert_close(poses[i][0], R[i] @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]), 1e-12)
        assert_close(poses[i][1], o[i] + axis.d * R[i][:, 2], 1e-12)
    for i, axis in enumerate(dh.axes):
        if axis.parent != WORLD_AXIS and i == np.flatnonzero(tree.parent == axis.parent)[0]:
            x = poses[axis.parent][0][:, 0]
            normal = np.cross(R[axis.parent][:, 2], R[i][:, 2])
            assert np.linalg.norm(np.cross(x, normal)) < 1e-9
            assert len(axis.fixed) <= 2


def rotation_z(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
