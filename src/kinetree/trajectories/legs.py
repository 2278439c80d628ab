"""Legs of a mechanism as the closed form sees them: lengths, signs and offsets, read from the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.rotation import euler_angles, rotation_about
from kinetree.analysis.leg_chains import Leg
from kinetree.dynamics.axis_motion import AxisMotion, axis_motion, body_poses
from kinetree.dynamics.coupling import all_axes
from kinetree.errors import InputError, ModelError, unknown_name
from kinetree.model.mechanism import Mechanism
from kinetree.state import State
from kinetree.trajectories.leg_kinematics import leg_motion

ALIGNED = 1e-9  # how far an axis may be from the direction it should have
BASE = 6  # degrees of freedom of the free joint of the trunk


@dataclass(frozen=True, eq=False)
class LegGeometry:
    """A leg as the closed form needs it: q[joints] = offsets + slopes @ (theta2, theta3, theta4, theta6)."""

    joints: Array  # (m,) positions in q
    slopes: Array  # (m, 4)
    offsets: Array  # (m,)
    thigh: float
    shank: float
    hip: Array  # (3,) forward, left, up from the trunk's origin (m)
    clearance: float  # height of the ankle above the lowest contact point of a level foot (m)
    foot_body: str
    foot_point: Array  # (3,) the ankle, or the foot itself, in the frame of its body
    knee: float  # 1 if the knee points to the front, -1 if to the rear

    def motion(self, hip_from_ankle: State) -> State:
        """Coordinates of the leg's joints (..., m) from the hip seen from the ankle (..., 3)."""
        mirror = np.array([self.knee, 1.0, 1.0])
        seen = State(hip_from_ankle.q * mirror, hip_from_ankle.qd * mirror, hip_from_ankle.qdd * mirror)
        theta = leg_motion(seen, self.thigh, self.shank)
        return State(
            self.offsets + theta.q @ self.slopes.T, theta.qd @ self.slopes.T, theta.qdd @ self.slopes.T
        )


@dataclass(frozen=True, eq=False)
class Stance:
    """A mechanism in a posture, with the axes of the walk: columns forward, left, up of ``axes`` (3, 3)."""

    mechanism: Mechanism
    q: Array
    axes: Array
    motion: AxisMotion

    @classmethod
    def of(cls, mechanism: Mechanism, q: Array, axes: Array) -> Stance:
        """The mechanism at q."""
        tree = mechanism.tree
        rest = np.zeros(tree.n)
        return cls(mechanism, q, axes, axis_motion(tree, all_axes(tree, q), rest, rest))

    @property
    def n_slides(self) -> int:
        """How many coordinates of the base are slid along; they come first."""
        return sum(not x for x in self.mechanism.links[0].joint.turns)

    @property
    def slides(self) -> Array:
        """Their directions in columns (3, n_slides)."""
        directions: Array = self.motion.rotation[: self.n_slides, :, 2].T
        return directions

    def axis(self, leg: str, dof: str) -> tuple[Array, Array]:
        """Direction and a point of an axis, in the axes of the walk."""
        self.mechanism.joint_index(dof)
        i = self.mechanism.tree.axis_names.index(dof)
        if not self.mechanism.tree.turns[i]:
            raise ModelError(f"leg '{leg}': joint '{dof}' is prismatic; a leg's joints must be revolute")
        return self.axes.T @ self.motion.rotation[i, :, 2], self.axes.T @ self.motion.position[i]

    def sign(self, leg: str, dof: str, direction: int, turned: Array | None = None) -> float:
        """1 or -1 as the axis points along the walk's axis (0: forward, 1: left) or against it."""
        d = self.axis(leg, dof)[0] if turned is None else turned @ self.axis(leg, dof)[0]
        if abs(abs(d[direction]) - 1.0) > ALIGNED:
            raise ModelError(
                f"leg '{leg}': joint '{dof}' must rotate about the {('forward', 'lateral')[direction]} axis "
                f"in "
                f"the standing posture, but its axis is {d.round(6).tolist()} (forward, left, up)"
            )
        return float(np.sign(d[direction]))

    def contact(self, name: str) -> tuple[str, Array, Array]:
        """Body of a contact point, its place in the body and in the axes of the walk."""
        points = {point.name: point for point in self.mechanism.contact_points}
        if name not in points:
            raise InputError(unknown_name("contact point", name, points))
        point = points[name]
        R, p = body_poses(self.mechanism.tree, self.motion)
        k = self.mechanism.body_index(point.body)
        return point.body, point.position, self.axes.T @ (p[k] + R[k] @ point.position)


def standing_posture(mechanism: Mechanism, leg: Leg, axes: Array) -> Array:
    """Coordinates (n_dof,) with the trunk turned such that legs with all joints at zero hang down.

    The turn is about the lateral axis.
    """
    q = np.zeros(mechanism.n_dof)
    stance = Stance.of(mechanism, q, axes)
    lean = _lean(stance.axis(leg.name, leg.knee)[1] - stance.axis(leg.name, leg.hip_pitch)[1])
    if abs(lean) < ALIGNED:
        return q
    base = mechanism.links[0]
    if base.joint.sequence is None:
        raise InputError(f"'{mechanism.name}' does not stand at q = 0; give the posture in which it does")
    R = rotation_about(axes[:, 1], -lean) @ base.placement.rotation
    q[3:BASE] = euler_angles(base.joint.sequence, base.placement.rotation.T @ R)
    return q


def leg_geometry(stance: Stance, leg: Leg, trunk: Array) -> LegGeometry:
    """Lengths, signs and offsets of a leg; ``trunk`` (3,) is the trunk's origin in the axes of the walk."""
    q, index = stance.q, stance.mechanism.joint_index
    H, K = stance.axis(leg.name, leg.hip_pitch)[1], stance.axis(leg.name, leg.knee)[1]
    A, body, place = _foot(stance, leg)
    thigh_lean, shank_lean = _lean(K - H), _lean(A - K)
    front = 1.0 if leg.knee_to == "front" else -1.0
    rows: list[
        tuple[str, float, float, tuple[float, ...]]
    ] = [  # degree of freedom, sign of its axis, offset, then what theta2, 3, 4, 6 do
        (leg.hip_pitch, stance.sign(leg.name, leg.hip_pitch, 1), -thigh_lean, (0, -front, 0, 0)),
        (leg.knee, stance.sign(leg.name, leg.knee, 1), thigh_lean - shank_lean, (0, 0, front, 0)),
    ]
    if leg.hip_roll is not None:
        rows.append((leg.hip_roll, stance.sign(leg.name, leg.hip_roll, 0), 0.0, (-1, 0, 0, 0)))
    clearance = 0.0
    if leg.ankle_pitch is not None:
        foot_lean = _foot_lean(stance, leg, body)
        level = rotation_about("y", -foot_lean)
        pitch = stance.sign(leg.name, leg.ankle_pitch, 1)
        rows.append((leg.ankle_pitch, pitch, shank_lean - foot_lean, (0, 0, 0, -front)))
        if leg.ankle_roll is not None:
            rows.append((leg.ankle_roll, stance.sign(leg.name, leg.ankle_roll, 0, level), 0.0, (1, 0, 0, 0)))
        below = [(level @ (stance.contact(name)[2] - A))[2] for name in leg.contact_points]
        clearance = -float(min(below, default=0.0))
    joints = np.array([index(row[0]) for row in rows])
    signs = np.array([row[1] for row in rows])
    lateral = stance.axis(leg.name, leg.hip_roll)[1][1] if leg.hip_roll is not None else A[1]
    return LegGeometry(
        joints=joints,
        slopes=signs[:, None] * np.array([row[3] for row in rows]),
        offsets=q[joints] + signs * np.array([row[2] for row in rows]),
        thigh=float(np.hypot(*(K - H)[[0, 2]])),
        shank=float(np.hypot(*(A - K)[[0, 2]])),
        hip=np.array([H[0], lateral, H[2]]) - trunk,
        clearance=clearance,
        foot_body=body,
        foot_point=place,
        knee=front,
    )


def _foot(stance: Stance, leg: Leg) -> tuple[Array, str, Array]:
    """The ankle or the foot's only point: in the axes of the walk, its body, its place in the body."""
    if leg.ankle_pitch is None:
        body, place, A = stance.contact(leg.contact_points[0])
        return A, body, place
    A = stance.axis(leg.name, leg.ankle_pitch)[1]
    tree = stance.mechanism.tree
    return A, tree.body_names[tree.axis_body[tree.axis_names.index(leg.ankle_pitch)]], np.zeros(3)


def _foot_lean(stance: Stance, leg: Leg, body: str) -> float:
    """Turn about the lateral axis from level, with axes as the world's, to the foot in the posture."""
    R, _ = body_poses(stance.mechanism.tree, stance.motion)
    turn = stance.axes.T @ R[stance.mechanism.body_index(body)] @ stance.axes
    lean = float(np.arctan2(turn[0, 2], turn[2, 2]))
    if np.abs(turn - rotation_about("y", lean)).max() > ALIGNED:
        raise ModelError(
            f"leg '{leg.name}': the foot '{body}' cannot be brought level by '{leg.ankle_pitch}': no "
            f"rotation about the lateral axis aligns it with the world axes in the standing posture"
        )
    return lean


def _lean(down: Array) -> float:
    """Turn about the left axis that takes straight down into the direction given in (forward, left, up)."""
    return float(np.arctan2(-down[0], -down[2]))
