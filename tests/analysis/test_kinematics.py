"""Poses, velocities, accelerations and Jacobians against differences of each other."""

import numpy as np
import pytest

import kinetree as kt
from support import trees
from support.cases import assert_close
from support.derivatives import differences


def along(q, qd, qdd):
    """q(t) and its rate for a batch of times, with the given derivatives at t = 0."""
    return (
        lambda t: q + t * qd + 0.5 * t**2 * qdd,
        lambda t: qd + t * qdd,
    )


def angular(rates, rotation):
    """w of R' R^T for a batch of bodies."""
    S = rates @ np.swapaxes(rotation, -1, -2)
    return np.stack([S[..., 2, 1], S[..., 0, 2], S[..., 1, 0]], axis=-1)


def test_velocities_are_rates_of_poses(robot, rng):
    q, qd, qdd = trees.state(robot, rng)
    at, _ = along(q, qd, qdd)
    linear = differences(lambda t: kt.forward_kinematics(robot, at(t)).position, [0.0])[..., 0]
    turning = differences(lambda t: kt.forward_kinematics(robot, at(t)).rotation, [0.0])[..., 0]
    velocities = kt.body_velocities(robot, q, qd)
    assert_close(velocities[:, :3], linear, 1e-10)
    assert_close(velocities[:, 3:], angular(turning, kt.forward_kinematics(robot, q).rotation), 1e-10)


def test_accelerations_are_rates_of_velocities(robot, rng):
    q, qd, qdd = trees.state(robot, rng)
    at, rate = along(q, qd, qdd)
    found = kt.analysis.body_accelerations(robot, q, qd, qdd)
    expected = differences(lambda t: kt.body_velocities(robot, at(t), rate(t)), [0.0])[..., 0]
    assert_close(found, expected, 1e-10)


def test_jacobian_is_the_slope_of_poses_and_velocities(robot, rng):
    q, qd, _ = trees.state(robot, rng)
    poses = kt.forward_kinematics(robot, q)
    velocities = kt.body_velocities(robot, q, qd)
    for k, body in enumerate(robot.body_names):
        point = rng.uniform(-0.5, 0.5, 3)
        J = kt.jacobian(robot, q, body, point)

        def place(x, k=k, point=point):
            moved = kt.forward_kinematics(robot, x)
            return moved.position[..., k, :] + moved.rotation[..., k, :, :] @ point

        arm = poses.rotation[k] @ point
        v, w = np.split(velocities[k], 2)
        assert_close(J[:3], differences(place, q), 1e-10)
        assert_close(J @ qd, np.concatenate([v + np.cross(w, arm), w]))


def test_jacobian_gives_the_mass_matrix(robot, rng):
    """M = sum of m Jv^T Jv + Jw^T I Jw over the bodies, and the armatures."""
    q, _, _ = trees.state(robot, rng)
    poses = kt.forward_kinematics(robot, q)
    armature = np.concatenate([link.joint.armature for link in robot.links])
    G = np.eye(robot.tree.n) if robot.tree.coupling is None else robot.tree.coupling.matrix
    M = G.T @ np.diag(armature) @ G
    for k, link in enumerate(robot.links):
        inertia = link.body.inertia
        J = kt.jacobian(robot, q, link.body.name, inertia.center)
        R = poses.rotation[k]
        M = M + inertia.mass * J[:3].T @ J[:3] + J[3:].T @ R @ inertia.moment @ R.T @ J[3:]
    assert_close(kt.mass_matrix(robot, q), M)


def test_bodies_on_the_world_do_not_move(rng):
    robot = trees.welded_tree(rng)
    q, qd, qdd = trees.state(robot, rng)
    for name in ("post", "cap"):
        k = robot.body_index(name)
        assert not kt.jacobian(robot, q, name).any()
        assert not kt.body_velocities(robot, q, qd)[k].any()
        assert not kt.analysis.body_accelerations(robot, q, qd, qdd)[k].any()
        assert_close(kt.forward_kinematics(robot, q)[name][0], kt.forward_kinematics(robot, 0 * q)[name][0])


def test_poses_by_name(rng):
    robot = trees.random_tree(rng, 5)
    q, _, _ = trees.state(robot, rng, batch=(4,))
    poses = kt.forward_kinematics(robot, q)
    rotation, position = poses["body3"]
    k = robot.body_index("body3")
    assert np.array_equal(rotation, poses.rotation[:, k]) and rotation.shape == (4, 3, 3)
    assert np.array_equal(position, poses.position[:, k]) and position.shape == (4, 3)
    with pytest.raises(kt.errors.InputError, match=r"unknown body 'body33'.*Did you mean 'body3'"):
        poses["body33"]


def test_rotations_stay_orthonormal(robot, rng):
    q, _, _ = trees.state(robot, rng, batch=(3,))
    R = kt.forward_kinematics(robot, q).rotation
    assert_close(R @ np.swapaxes(R, -1, -2), np.broadcast_to(np.eye(3), R.shape), 1e-13)
    assert (np.linalg.det(R) > 0).all()
