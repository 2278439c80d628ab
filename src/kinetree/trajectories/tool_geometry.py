"""Where a tool goes in space: lines, arcs and splines with orientation, over a parameter s from 0 to 1."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array, frozen
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.algebra.rotation import rotation_about
from kinetree.algebra.rotation_vector import angular_motion, rotation_by, rotation_vector
from kinetree.state import State
from kinetree.trajectories.base import Trajectory
from kinetree.trajectories.polynomials import PolynomialTrajectory

ARM = 0.2  # m: a rotation by 1 rad counts as a way of so much where a path has both
FINE = 401  # places at which the length of a path is measured


class Pose(NamedTuple):
    """A tool at m places of its path with first and second derivatives by s, in world axes.

    ``position``, ``velocity``, ``acceleration`` (m, 3); ``rotation`` (m, 3, 3), ``spin`` (m, 3) and
    ``spin_rate`` (m, 3): angular velocity and acceleration by s.
    """

    position: Array
    velocity: Array
    acceleration: Array
    rotation: Array
    spin: Array
    spin_rate: Array


@dataclass(frozen=True, eq=False)
class ToolGeometry:
    """A path of positions (3 coordinates) and of rotation vectors from ``rotation`` (3, 3), both over s.

    The orientation is exp(turn(s)) rotation, in world axes: for one axis of rotation that is the slerp of
    quaternions.
    """

    place: Trajectory
    turn: Trajectory
    rotation: Array

    @cached_property
    def breaks(self) -> Array:
        """Values of s where a derivative may jump."""
        return frozen(np.union1d(self.place.breaks, self.turn.breaks))

    def at(self, s: Array, piece: int) -> Pose:
        """The tool at s (m,), all on one piece between the breaks."""
        middle = 0.5 * (self.breaks[piece] + self.breaks[piece + 1])
        there, turned = (
            part.piece(int(np.searchsorted(part.breaks, middle)) - 1, s) for part in (self.place, self.turn)
        )
        spin, spin_rate = angular_motion(turned.q, turned.qd, turned.qdd)
        return Pose(there.q, there.qd, there.qdd, rotation_by(turned.q) @ self.rotation, spin, spin_rate)

    @cached_property
    def length(self) -> float:
        """Length of the way of the tool's point (m)."""
        return float(
            np.linalg.norm(np.diff(self.place.at(np.linspace(0.0, 1.0, FINE)).q, axis=0), axis=1).sum()
        )

    @cached_property
    def fastest(self) -> float:
        """The largest rate of the tool's point by s (m); the length where the rate is constant."""
        return float(np.linalg.norm(self.place.at(np.linspace(0.0, 1.0, FINE)).qd, axis=1).max())

    @cached_property
    def angle(self) -> float:
        """How far it rotates in all (rad)."""
        s = np.linspace(0.0, 1.0, FINE)
        turned = self.turn.at(s)
        spin, _ = angular_motion(turned.q, turned.qd, turned.qdd)
        speed = np.linalg.norm(spin, axis=1)
        return float(0.5 * ((speed[1:] + speed[:-1]) * np.diff(s)).sum())


@dataclass(frozen=True, eq=False)
class Arc(Trajectory):
    """Round a center at a constant rate: center + exp(angle s normal) arm, over s from 0 to 1."""

    center: Array
    normal: Array
    arm: Array
    angle: float

    @cached_property
    def breaks(self) -> Array:
        """Both ends."""
        return frozen([0.0, 1.0])

    @property
    def n_dof(self) -> int:
        """Three coordinates."""
        return 3

    def piece(self, i: int, t: Array) -> State:
        """The formula and its derivatives."""
        out = rotation_about(self.normal, self.angle * t) @ self.arm
        along = self.angle * np.cross(self.normal, out)
        return State(self.center + out, along, self.angle * np.cross(self.normal, along))


def straight(start: Array, end: Array) -> PolynomialTrajectory:
    """From one place to another at a constant rate."""
    return PolynomialTrajectory(PiecewisePolynomial.linear([0.0, 1.0], np.stack([start, end])))


def turns_between(rotations: Array, first: Array) -> Array:
    """Rotation vectors (m, 3) from the first orientation to others (m, 3, 3), without jumps of 2 pi."""
    vectors = rotation_vector(rotations @ first.T)
    for k in range(1, len(vectors)):
        angle = float(np.linalg.norm(vectors[k]))
        if angle > 0.0:
            axis = vectors[k] / angle
            around = np.round((vectors[k - 1] @ axis - angle) / (2.0 * np.pi))
            vectors[k] = (angle + 2.0 * np.pi * around) * axis
    return vectors


def arc_through(first: Array, via: Array, last: Array) -> Arc | None:
    """The arc from the first place through the second to the last; None if they are on one line."""
    a, b = via - first, last - first
    normal = np.cross(a, b)
    square = float(normal @ normal)
    if square <= 1e-16 * float(a @ a) * float(b @ b) or square == 0.0:
        return None
    offset = (np.cross(normal, a) * (b @ b) + np.cross(b, normal) * (a @ a)) / (2.0 * square)
    center, arm, axis = first + offset, -offset, normal / np.sqrt(square)
    far = last - center
    angle = float(np.arctan2(axis @ np.cross(arm, far), arm @ far)) % (2.0 * np.pi)
    return Arc(frozen(center), frozen(axis), frozen(arm), angle)
