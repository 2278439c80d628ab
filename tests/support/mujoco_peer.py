"""MuJoCo's answers in the coordinates of Kinetree: Euler angles for its quaternions, and their rates."""

from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.rotation import euler_rate_matrix, euler_rotation

mujoco = pytest.importorskip("mujoco")
DATA = Path(__file__).parent.parent / "data" / "mjcf"
FREE, BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
UNCONSTRAINED = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
SAME = 1e-10  # largest difference allowed, relative to the largest entry


def peer(name, flags=0):
    """MuJoCo's model of a fixture and its state."""
    model = mujoco.MjModel.from_xml_path(str(DATA / f"{name}.xml"))
    model.opt.disableflags |= int(flags)
    return model, mujoco.MjData(model)


def quaternion(R):
    q = np.zeros(4)
    mujoco.mju_mat2Quat(q, np.ascontiguousarray(R).ravel())
    return q


def matrix(quat):
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, np.asarray(quat, dtype=float))
    return R.reshape(3, 3)


def positions(model, q):
    """MuJoCo's qpos from Euler angles and displacements q, one entry per degree of freedom."""
    qpos = np.zeros(model.nq)
    for j, v, a in zip(range(model.njnt), model.jnt_dofadr, model.jnt_qposadr, strict=True):
        if model.jnt_type[j] == FREE:
            b = model.jnt_bodyid[j]
            R0 = matrix(model.body_quat[b])
            qpos[a : a + 3] = model.body_pos[b] + R0 @ q[v : v + 3]
            qpos[a + 3 : a + 7] = quaternion(R0 @ euler_rotation("YXZ", q[v + 3 : v + 6]))
        elif model.jnt_type[j] == BALL:
            qpos[a : a + 4] = quaternion(euler_rotation("YXZ", q[v : v + 3]))
        else:
            qpos[a] = q[v]
    return qpos


def rate_map(model, q):
    """B with qvel = B qd: MuJoCo has velocities in world axes and angular velocities in body axes."""
    B = np.eye(model.nv)
    for j, v in zip(range(model.njnt), model.jnt_dofadr, strict=True):
        turn = v + 3 if model.jnt_type[j] == FREE else v
        if model.jnt_type[j] == FREE:
            B[v : v + 3, v : v + 3] = matrix(model.body_quat[model.jnt_bodyid[j]])
        if model.jnt_type[j] in (FREE, BALL):
            angles = q[turn : turn + 3]
            E = euler_rotation("YXZ", angles).T @ euler_rate_matrix("YXZ", angles)
            B[turn : turn + 3, turn : turn + 3] = E
    return B


def rate_map_derivative(model, q, qd, h=1e-3):
    """dB/dt along qd by central differences of order four: the error, about h^4, is far below SAME."""
    B = [rate_map(model, q + k * h * qd) for k in (-2, -1, 1, 2)]
    return (B[0] - 8 * B[1] + 8 * B[2] - B[3]) / (12 * h)


def peer_mass_matrix(model, data, q):
    data.qpos[:] = positions(model, q)
    data.qvel[:] = 0
    mujoco.mj_forward(model, data)
    M, B = np.zeros((model.nv, model.nv)), rate_map(model, q)
    for k, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, M[k], unit)
    return B.T @ M @ B


def peer_inverse_dynamics(model, data, q, qd, qdd):
    B = rate_map(model, q)
    data.qpos[:], data.qvel[:] = positions(model, q), B @ qd
    data.qacc[:] = B @ qdd + rate_map_derivative(model, q, qd) @ qd
    mujoco.mj_inverse(model, data)
    return B.T @ data.qfrc_inverse


def body_poses(mechanism, q):
    """Rotation and position of every body by name: a plain recursion over the axes of the compiled tree."""
    tree = mechanism.tree
    if tree.coupling is not None:
        q = tree.coupling.matrix @ q + tree.coupling.offset
    poses = {-1: (np.eye(3), np.zeros(3))}
    for i in range(tree.n):
        R, p = poses[tree.parent[i]]
        p, R = p + R @ tree.position[i], R @ tree.rotation[i]
        c, s = np.cos(q[i]), np.sin(q[i])
        turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        poses[i] = (R @ turn, p) if tree.turns[i] else (R, p + q[i] * R[:, 2])
    found = {}
    for k, name in enumerate(tree.body_names):
        R, p = poses[tree.body_axis[k]]
        found[name] = R @ tree.body_rotation[k], p + R @ tree.body_position[k]
    return found


def random_q(model, rng):
    """Random coordinates, the middle Euler angles away from gimbal lock."""
    return rng.uniform(-1.2, 1.2, model.nv)


def assert_same(value, expected):
    error = np.abs(np.asarray(value) - expected).max() / max(1.0, np.abs(expected).max())
    assert error < SAME, f"relative difference {error:.2g}"


def assert_same_dynamics(mechanism, model, rng, states=4):
    """Poses of all MuJoCo bodies, mass matrix and inverse dynamics agree at random states."""
    data = mujoco.MjData(model)
    assert mechanism.n_dof == model.nv
    assert mechanism.mass == pytest.approx(model.body_mass[1:].sum(), rel=1e-13)
    named = [b for b in range(1, model.nbody) if model.body(b).name]
    coulomb = np.array(mechanism.tree.coulomb)
    for _ in range(states):
        q, (qd, qdd) = random_q(model, rng), rng.normal(size=(2, model.nv))
        assert_same(kt.mass_matrix(mechanism, q), peer_mass_matrix(model, data, q))
        poses = body_poses(mechanism, q)
        for b in named:
            R, p = poses[model.body(b).name]
            assert_same(R, data.xmat[b].reshape(3, 3))
            assert_same(p, data.xpos[b])
        tau = kt.inverse_dynamics(mechanism, q, qd, qdd) - coulomb * np.sign(qd)
        assert_same(tau, peer_inverse_dynamics(model, data, q, qd, qdd))
        bias = kt.bias_torque(mechanism, q, 0 * qd)
        assert_same(bias, peer_inverse_dynamics(model, data, q, 0 * qd, 0 * qd))
