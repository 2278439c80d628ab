"""Coordinates of a mechanism and those inside steps: quaternions and body rates for free and ball joints."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.three_turns import ThreeTurns
from kinetree.model.euler_coordinates import body_rates
from kinetree.simulation.step_tables import BallJoint, StepTables

FAR = float(np.cos(0.25))  # cosine of half the angle of a turn that is far


class Doors:
    """Conversion of states (k, ...) between a mechanism's coordinates and those inside.

    Inside, an axis has its coordinate, a ball joint a unit quaternion (w, x, y, z) of its body in the joint's
    frame and the angular velocity in body axes in place of three angles and their rates.
    """

    def __init__(self, tables: StepTables) -> None:
        self.tables, self.balls = tables, tables.balls
        inner = [ball.axis + k for ball in self.balls for k in range(3)]
        self.alone = np.setdiff1d(np.arange(tables.tree.n), inner)
        self.at = tables.places[self.alone]
        self._places = np.array([[ball.at + k for k in range(4)] for ball in self.balls], dtype=np.int64)
        self._turns = [ThreeTurns(ball.axes) for ball in self.balls]

    def inside(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """(k, nq) and (k, n) from coordinates of all axes and their rates (k, n)."""
        x, v = np.zeros((len(q), self.tables.nq)), np.array(qd)
        x[:, self.at] = q[:, self.alone]
        for ball in self.balls:
            angles = q[:, _axes(ball)]
            x[:, _quaternion(ball)] = quaternion_of_turns(ball.axes, angles)
            E = body_rates(ball.axes, angles)
            v[:, _axes(ball)] = np.einsum("kij,kj->ki", E, qd[:, _axes(ball)])
        return x, v

    def outside(self, x: Array, v: Array, near: Array) -> tuple[Array, Array]:
        """Coordinates of all axes near others (k, n), and their rates; the smallest rates in gimbal lock."""
        q, qd = np.empty_like(v), np.array(v)
        q[:, self.alone] = x[:, self.at]
        for ball, turns in zip(self.balls, self._turns, strict=True):
            R = rotations(x[:, _quaternion(ball)])
            angles = turns.all_angles(R, near[:, _axes(ball)])
            q[:, _axes(ball)] = angles
            w = np.einsum("kij,kj->ki", R, v[:, _axes(ball)])
            qd[:, _axes(ball)] = turns.rates(angles, w)
        return q, qd

    def quaternions(self, q: Array) -> Array:
        """Those of all balls (k, balls, 4) from coordinates of all axes (k, n)."""
        return np.stack([quaternion_of_turns(b.axes, q[:, _axes(b)]) for b in self.balls], axis=1)

    def far(self, x: Array, marks: Array) -> Array:
        """Where (k,) a ball has turned by more than half a radian from quaternions (k, balls, 4)."""
        cosine = np.einsum("kbi,kbi->kb", x[:, self._places], marks)
        far: Array = (np.abs(cosine) < FAR).any(axis=1)
        return far

    def targets(self, q: Array) -> Array:
        """Targets of servos (k, n) from coordinates: of balls the vector parts of quaternions."""
        return self.targets_of(self.inside(q, np.zeros_like(q))[0])

    def targets_of(self, x: Array) -> Array:
        """Targets of servos (k, n) where states (k, nq) are."""
        found = np.zeros((len(x), self.tables.tree.n))
        found[:, self.alone] = x[:, self.at]
        for ball in self.balls:
            u = x[:, _quaternion(ball)]
            found[:, _axes(ball)] = np.where(u[:, :1] < 0.0, -u[:, 1:], u[:, 1:])
        return found

    def gains(self, gains: Array) -> Array:
        """Gains (k, n) about the axes of the body of balls, from those about the axes of its angles."""
        found = np.array(gains)
        for ball in self.balls:
            share = ball.axes**2
            share = share / np.maximum(share.sum(axis=0), 1e-9)
            found[:, _axes(ball)] = gains[:, _axes(ball)] @ share
        return found

    def any_on_balls(self, tau: Array) -> bool:
        """Whether torques (k, n) act about angles of ball joints."""
        return any(bool(tau[:, _axes(ball)].any()) for ball in self.balls)

    def torques(self, x: Array, tau: Array, angles: Array) -> Array:
        """Moments in body axes in place of torques about the three angles of ball joints, (k, n)."""
        if not self.any_on_balls(tau):
            return tau
        found = np.array(tau)
        for ball, turns in zip(self.balls, self._turns, strict=True):
            if tau[:, _axes(ball)].any():
                R = rotations(x[:, _quaternion(ball)])
                moment, _ = turns.moment(angles[:, _axes(ball)], tau[:, _axes(ball)])
                found[:, _axes(ball)] = np.einsum("kji,kj->ki", R, moment)
        return found

    def about_angles(self, moments: Array, angles: Array) -> Array:
        """Torques (k, n) about the angles (k, n) of ball joints that do the work of moments in body axes."""
        found = np.array(moments)
        for ball in self.balls:
            E = body_rates(ball.axes, angles[:, _axes(ball)])
            found[:, _axes(ball)] = np.einsum("kji,kj->ki", E, moments[:, _axes(ball)])
        return found

    def by_target(self, by_torque: Array, servos: tuple[Array, Array, Array]) -> Array:
        """Derivatives (k, ..., n) by targets of servos from those by their torques.

        servos: coordinates (k, nq), targets and gains of position (k, n). Targets of balls turn about the
        axes of the body that they ask for.
        """
        x, target, gains = servos
        between = (slice(None), *[None] * (by_torque.ndim - 2))
        found: Array = by_torque * gains[between]
        for ball in self.balls:
            if gains[:, _axes(ball)].any():
                half = 0.5 * turn_to(x[:, _quaternion(ball)], target[:, _axes(ball)])
                w = np.sqrt(np.maximum(1.0 - (half**2).sum(axis=1), 0.0))
                turn = w[:, None, None] * np.eye(3) + np.cross(half[:, None, :], np.eye(3)).transpose(0, 2, 1)
                part = found[..., _axes(ball)]
                found[..., _axes(ball)] = np.einsum("k...i,kij->k...j", part, turn)
        return found

    def pull(self, x: Array, v: Array, target: Array, gains: Array) -> Array:
        """Torques of servos (k, n) with gains (k, 2 n) towards targets; of balls moments in body axes."""
        n = self.tables.tree.n
        error = np.zeros_like(target)
        error[:, self.alone] = target[:, self.alone] - x[:, self.at]
        for ball in self.balls:
            error[:, _axes(ball)] = turn_to(x[:, _quaternion(ball)], target[:, _axes(ball)])
        found: Array = gains[:, :n] * error - gains[:, n:] * v
        return found


def turned(quaternions: Array, turn: Array) -> Array:
    """Unit quaternions (k, 4) turned on by rotation vectors (k, 3) about the axes of the body."""
    w, u = quaternions[:, :1], quaternions[:, 1:]
    angle = 0.5 * np.linalg.norm(turn, axis=1, keepdims=True)
    c, s = np.cos(angle), 0.5 * np.sinc(angle / np.pi) * turn
    found: Array = np.concatenate(
        [w * c - (u * s).sum(axis=1, keepdims=True), u * c + w * s + np.cross(u, s)], axis=1
    )
    return found


def turn_to(quaternions: Array, target: Array) -> Array:
    """Twice the vector part (k, 3), in body axes, of the turn to a target as `Doors.targets` gives it."""
    w, u = quaternions[:, :1], quaternions[:, 1:]
    d = np.sqrt(np.maximum(1.0 - (target**2).sum(axis=-1, keepdims=True), 0.0))
    near = np.where(w * d + (u * target).sum(axis=-1, keepdims=True) < 0.0, -2.0, 2.0)
    found: Array = near * (w * target - d * u - np.cross(u, target))
    return found


def quaternion_of_turns(axes: Array, angles: Array) -> Array:
    """Unit quaternions (k, 4) of successive turns about three axes."""
    found = np.zeros((len(angles), 4))
    found[:, 0] = 1.0
    for axis, angle in zip(axes, angles.T, strict=True):
        w, x = np.cos(0.5 * angle), np.sin(0.5 * angle)[:, None] * axis
        u, y = found[:, :1].copy(), found[:, 1:].copy()
        found[:, 0] = u[:, 0] * w - (y * x).sum(axis=-1)
        found[:, 1:] = u * x + w[:, None] * y + np.cross(y, x)
    return found


def rotations(quaternions: Array) -> Array:
    """Rotation matrices (k, 3, 3) of unit quaternions (k, 4)."""
    w, x, y, z = quaternions.T
    R = np.empty((len(quaternions), 3, 3))
    R[:, 0] = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=-1)
    R[:, 1] = np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], axis=-1)
    R[:, 2] = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=-1)
    return R


def _axes(ball: BallJoint) -> slice:
    return slice(ball.axis, ball.axis + 3)


def _quaternion(ball: BallJoint) -> slice:
    return slice(ball.at, ball.at + 4)
