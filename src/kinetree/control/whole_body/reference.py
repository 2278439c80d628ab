"""A reference motion of a robot on feet, as a table over time that a law reads tick by tick."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.kinematics import body_accelerations, body_velocities, forward_kinematics
from kinetree.analysis.legged_stance import LeggedStance
from kinetree.analysis.legs import Foot
from kinetree.model.mechanism import Mechanism


class PointReference(NamedTuple):
    """Contact points of all feet: place, velocity, acceleration, (..., points, 3) each."""

    p: Array
    v: Array
    a: Array


class Wanted(NamedTuple):
    """What a predicted gait asks for at one instant, or at all of its instants (m,)."""

    q: Array  # (..., n_dof)
    qd: Array
    qdd: Array
    com: Array  # (..., 3)
    com_rate: Array
    points: PointReference
    force: Array  # (..., points, 3): the ground's force on each contact point


class Motion(Protocol):
    """What a law follows: rows of a table, read at any time."""

    rows: Wanted

    def at(self, t: float) -> Wanted:
        """The reference at t (s)."""


class Timing(Protocol):
    """When feet swing."""

    swing: float  # how long (s)
    overlap: float  # how long feet go on standing after others have touched down (s): the least

    def phase(self, t: float) -> tuple[Array, Array]:
        """How much of its swing every foot has done, and the time left (s), below zero on the ground."""

    def settings(self) -> dict[str, Any]:
        """What results keep of it."""


def points_of(who: LeggedStance) -> list[tuple[Foot, Array]]:
    """All contact points: the foot and the place (3,) in its frame, foot by foot."""
    return [(foot, point) for foot in who.feet for point in foot.points]


def point_motion(who: LeggedStance, q: Array, qd: Array, qdd: Array) -> PointReference:
    """How the contact points of all feet move."""
    mechanism: Mechanism = who.mechanism
    poses = forward_kinematics(mechanism, q)
    velocities, accelerations = body_velocities(mechanism, q, qd), body_accelerations(mechanism, q, qd, qdd)
    found: list[tuple[Array, Array, Array]] = []
    for foot, point in points_of(who):
        k = mechanism.body_index(foot.body)
        R, p = poses[foot.body]
        arm = R @ point
        v, w = velocities[..., k, :3], velocities[..., k, 3:]
        a, wd = accelerations[..., k, :3], accelerations[..., k, 3:]
        spun = np.cross(w, arm)
        found.append((p + arm, v + spun, a + np.cross(wd, arm) + np.cross(w, spun)))
    return PointReference(*(np.stack(x, axis=-2) for x in zip(*found, strict=True)))


def between_rows(rows: Wanted, i: int, share: float, slide: int, on: Array) -> Wanted:
    """The row that is a ``share`` of the way from row i to the next, ``on`` (3,) further along ``slide``."""

    def between(x: Array) -> Array:
        row: Array = (1.0 - share) * x[i] + share * x[i + 1]
        return row

    q = between(rows.q)
    q[slide] += float(on.sum())
    points = PointReference(between(rows.points.p) + on, between(rows.points.v), between(rows.points.a))
    return Wanted(
        q, between(rows.qd), between(rows.qdd), between(rows.com) + on, between(rows.com_rate), points,
        between(rows.force),
    )  # fmt: skip
