"""Coordinates of a mechanism and those inside steps: quaternions and body rates for free and ball joints."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.three_turns import ThreeTurns
from kinetree.model.euler_coordinates import body_rates
from kinetree.simulation.step_tables import Ball, StepTables


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

    def targets(self, q: Array) -> Array:
        """Targets of servos (k, n) from coordinates: of balls the vector parts of quaternions."""
        found = np.array(q)
        for ball in self.balls:
            u = quaternion_of_turns(ball.axes, q[:, _axes(ball)])
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

    def torques(self, x: Array, tau: Array) -> Array:
        """Moments in body axes in place of torques about the three angles of ball joints, (k, n)."""
        given = [ball for ball in self.balls if tau[:, _axes(ball)].any()]
        if not given:
            return tau
        found = np.array(tau)
        for ball, turns in zip(self.balls, self._turns, strict=True):
            if ball in given:
                R = rotations(x[:, _quaternion(ball)])
                angles = turns.all_angles(R, np.zeros((len(R), 3)))
                moment, _ = turns.moment(angles, tau[:, _axes(ball)])
                found[:, _axes(ball)] = np.einsum("kji,kj->ki", R, moment)
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


def _axes(ball: Ball) -> slice:
    return slice(ball.axis, ball.axis + 3)


def _quaternion(ball: Ball) -> slice:
    return slice(ball.at, ball.at + 4)
