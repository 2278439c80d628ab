"""Answers do not depend on the frames of cut joints, also where loops are redundant."""

import numpy as np
import pytest
from fuzz.linkages import KINDS, in_other_frames, parallelogram
from scipy.integrate import solve_ivp

import kinetree as kt
from kinetree.dynamics.loops.structure import regular_pose
from support.each import each

ZOO = ["four_bar", "three_rrr", "robotic_leg", "slider_crank", "five_bar", "n_four_bar", "scissor_lift",
       "jansen_leg", "bricard", "stewart", "delta", "andrews_squeezer"]  # fmt: skip


def moving(mechanism, rng):
    """A regular pose, a velocity that the loops allow, and torques."""
    at = regular_pose(mechanism)
    free = np.linalg.svd(at.J)[2][at.rank :]
    return at.q, free.T @ rng.standard_normal(len(free)), rng.standard_normal(mechanism.n_dof)


@each("name", [*ZOO, *KINDS])
def test_dynamics_in_other_frames(name, rng):
    mechanism = KINDS[name](rng) if name in KINDS else getattr(kt.zoo, name)()
    q, qd, tau = moving(mechanism, rng)
    usual, found = kt.loops.structure(mechanism), kt.forward_dynamics(mechanism, q, qd, tau)
    scale = np.abs(found).max()
    for _ in range(2):
        other = in_other_frames(mechanism, rng)
        assert kt.loops.structure(other).rank == usual.rank
        np.testing.assert_allclose(kt.forward_dynamics(other, q, qd, tau), found, atol=1e-8 * scale)
        needed = kt.inverse_dynamics(mechanism, q, qd, found)
        close = 1e-8 * max(1.0, np.abs(needed).max(), np.abs(tau).max())
        np.testing.assert_allclose(kt.inverse_dynamics(other, q, qd, found), needed, atol=close)


class Maximal:
    """A loop of revolute joints by the motion of each body for itself, tied by multipliers of least norm."""

    def __init__(self, mechanism):
        bodies = [link.body.inertia for link in mechanism.links]
        n, self.gravity = len(bodies), np.asarray(mechanism.gravity)
        poses = kt.forward_kinematics(mechanism, np.zeros(mechanism.n_dof))
        self.mass = np.array([x.mass for x in bodies])
        self.inertia = np.array([x.moment for x in bodies])
        self.center = np.array([x.center for x in bodies])
        self.start = np.concatenate(
            [poses.position + self.center, np.tile([0.0, 0, 0, 1], (n, 1)), np.zeros((n, 6))], axis=1
        )
        places = [link.placement.position for link in mechanism.links] + [mechanism.loops[0].placement_a]
        axes = [link.joint.axes[0] for link in mechanism.links] + [mechanism.loops[0].joint.axes[0]]
        points = np.concatenate([poses.position, [places[-1].position]])
        self.joints = []  # bodies a and b, point and axis where all frames are parallel to the world's
        for k in range(n + 1):
            a, b = (k - 1, k) if k < n else (n - 1, -1)
            self.joints.append((a, b, points[k], np.asarray(axes[k])))

    def rates(self, t, y):
        n = len(self.mass)
        y = y.reshape(n, 13)
        R = [rotation(x[3:7]) for x in y]
        J, gamma = np.zeros((5 * len(self.joints), 6 * n)), np.zeros(5 * len(self.joints))
        for row, (a, b, point, axis) in enumerate(self.joints):
            at = slice(5 * row, 5 * row + 3)
            for body, sign in ((a, -1.0), (b, 1.0)):
                if body >= 0:
                    r = R[body] @ (point - self.start[body, :3])
                    w = y[body, 10:]
                    J[at, 6 * body : 6 * body + 3] = sign * np.eye(3)
                    J[at, 6 * body + 3 : 6 * body + 6] = -sign * skew(r)
                    gamma[at] += sign * np.cross(w, np.cross(w, r))
            for k, across in enumerate(np.linalg.svd(axis[None])[2][1:]):
                R_a, w_a = (R[a], y[a, 10:]) if a >= 0 else (np.eye(3), np.zeros(3))
                R_b, w_b = (R[b], y[b, 10:]) if b >= 0 else (np.eye(3), np.zeros(3))
                e, f, at = R_a @ across, R_b @ axis, 5 * row + 3 + k
                for body, sign in ((a, -1.0), (b, 1.0)):
                    if body >= 0:
                        J[at, 6 * body + 3 : 6 * body + 6] = sign * np.cross(f, e)
                gamma[at] = (
                    e @ np.cross(w_b, np.cross(w_b, f))
                    + f @ np.cross(w_a, np.cross(w_a, e))
                    + 2.0 * np.cross(w_a, e) @ np.cross(w_b, f)
                )
        inverse, free = np.zeros((6 * n, 6 * n)), np.zeros(6 * n)
        for k in range(n):
            body, turn = slice(6 * k, 6 * k + 3), slice(6 * k + 3, 6 * k + 6)
            world, w = R[k] @ self.inertia[k] @ R[k].T, y[k, 10:]
            inverse[body, body], inverse[turn, turn] = np.eye(3) / self.mass[k], np.linalg.inv(world)
            free[body], free[turn] = self.gravity, -np.linalg.solve(world, np.cross(w, world @ w))
        force = np.linalg.pinv(J @ inverse @ J.T, rcond=1e-9) @ (-gamma - J @ free)
        found = (free + inverse @ J.T @ force).reshape(n, 6)
        dy = np.zeros_like(y)
        dy[:, :3], dy[:, 7:] = y[:, 7:10], found
        for k in range(n):
            (x, s), w = (y[k, 3:6], y[k, 6]), y[k, 10:]
            dy[k, 3:6], dy[k, 6] = 0.5 * (s * w + np.cross(w, x)), -0.5 * w @ x
        return dy.ravel()

    def poses(self, duration):
        """Rotations of all bodies at the end."""
        end = solve_ivp(
            self.rates, (0.0, duration), self.start.ravel(), method="DOP853", rtol=1e-10, atol=1e-10
        ).y[:, -1]
        return np.array([rotation(x[3:7]) for x in end.reshape(-1, 13)])


def skew(v):
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def rotation(quaternion):
    x, s = quaternion[:3], quaternion[3]
    return (s * s - x @ x) * np.eye(3) + 2.0 * np.outer(x, x) + 2.0 * s * skew(x)


@pytest.mark.parametrize("name", ["bennett", "goldberg5", "goldberg6", "sarrus", "spherical", "bricard"])
def test_motions_in_other_frames_are_those_of_free_bodies(name, rng):
    mechanism = KINDS[name](rng)
    expected = Maximal(mechanism).poses(0.3)
    for other in (mechanism, *(in_other_frames(mechanism, rng) for _ in range(2))):
        q = np.zeros(other.n_dof)
        end = kt.simulate(other, q, duration=0.3, rtol=1e-11, atol=1e-11).q.values[-1]
        assert np.abs(end).max() > 1e-3
        found = kt.forward_kinematics(other, end).rotation
        np.testing.assert_allclose(found, expected, atol=2e-7)


@each("name", ["four_bar", "bricard", "slider_crank", "delta", *KINDS])
def test_motions_in_other_frames(name, rng):
    mechanism = KINDS[name](rng) if name in KINDS else getattr(kt.zoo, name)()
    q, qd, _ = moving(mechanism, rng)
    ends = [
        kt.simulate(x, q, 0.3 * qd, duration=0.3, rtol=1e-11, atol=1e-11).q.values[-1]
        for x in (mechanism, in_other_frames(mechanism, rng))
    ]
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-7)


@each("cranks", [3, 4, 8])
@each("angle", [0.0, 0.3, 1.0])
def test_redundant_cranks_leave_one_freedom(cranks, angle, rng):
    """Wherever they are drawn, also flat, where the loops are singular."""
    mechanism = parallelogram(rng, cranks, angle)
    found = kt.loops.structure(mechanism)
    assert (found.mobility, found.rank) == (1, cranks)
    turn = 1.0 - angle
    q = np.array([turn] * cranks + [-turn])
    order = [mechanism.joint_names.index(f"crank{k}_joint") for k in range(cranks)]
    order.append(mechanism.joint_names.index("rod_joint"))
    q = q[np.argsort(order)]
    assert np.abs(kt.loops.gap(mechanism, q)).max() < 1e-12
    qdd = kt.forward_dynamics(mechanism, q, 0 * q, 0 * q)
    M, h = kt.mass_matrix(mechanism.opened(), q), kt.bias_torque(mechanism.opened(), q, 0 * q)
    way = np.where(np.array(mechanism.joint_names) == "rod_joint", -1.0, 1.0)
    np.testing.assert_allclose(qdd, -way * (way @ h) / (way @ M @ way), atol=1e-9)
    assert kt.simulate(mechanism, q, duration=0.1).q.shape[-1] == cranks + 1
