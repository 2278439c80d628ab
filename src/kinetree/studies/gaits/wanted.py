"""A predicted cycle as a table over time: motion, feet, the ground's forces, read tick by tick by a law."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.energy import center_of_mass, momentum
from kinetree.analysis.kinematics import body_accelerations, body_velocities, forward_kinematics
from kinetree.analysis.legs import Foot
from kinetree.model.mechanism import Mechanism
from kinetree.state import Wrench
from kinetree.studies.gaits.problem import GaitPlan
from kinetree.studies.gaits.stance import AXES, LeggedStance
from kinetree.studies.sampled import SampledMotion


class PointMotion(NamedTuple):
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
    points: PointMotion
    force: Array  # (..., points, 3): the ground's force on each contact point


def points_of(who: LeggedStance) -> list[tuple[Foot, Array]]:
    """All contact points: the foot and the place (3,) in its frame, foot by foot."""
    return [(foot, point) for foot in who.feet for point in foot.points]


def point_motion(who: LeggedStance, q: Array, qd: Array, qdd: Array) -> PointMotion:
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
    return PointMotion(*(np.stack(x, axis=-2) for x in zip(*found, strict=True)))


class WantedCycle:
    """The table of a predicted cycle, continued for ever, each cycle a stride further."""

    def __init__(self, plan: GaitPlan, cycle: SampledMotion) -> None:
        """``cycle`` has instants over all of it, in equal steps."""
        who = plan.who
        self.period, self._last = plan.period, len(cycle.s) - 1
        self._stride = plan.stride * np.eye(3)[AXES.index(who.forward)]
        self._slide = who.mechanism.joint_index(who.slides(who.forward))
        self.rows = wanted_rows(who, cycle)

    def at(self, t: float) -> Wanted:
        """What is asked for at t (s)."""
        cycles, s = divmod(t / self.period, 1.0)
        place = s * self._last
        i = min(int(place), self._last - 1)
        return between_rows(self.rows, i, place - i, self._slide, float(cycles) * self._stride)


def between_rows(rows: Wanted, i: int, share: float, slide: int, on: Array) -> Wanted:
    """The row that is a ``share`` of the way from row i to the next, ``on`` (3,) further along ``slide``."""

    def between(x: Array) -> Array:
        row: Array = (1.0 - share) * x[i] + share * x[i + 1]
        return row

    q = between(rows.q)
    q[slide] += float(on.sum())
    points = PointMotion(between(rows.points.p) + on, between(rows.points.v), between(rows.points.a))
    return Wanted(
        q, between(rows.qd), between(rows.qdd), between(rows.com) + on, between(rows.com_rate), points,
        between(rows.force),
    )  # fmt: skip


def wanted_rows(who: LeggedStance, motion: SampledMotion) -> Wanted:
    """What a motion with the ground's loads on its feet asks for at its instants."""
    q, qd, qdd = motion.q, motion.qd, motion.qdd
    rate = momentum(who.mechanism, q, qd)[:, :3] / who.mechanism.mass
    com, points = center_of_mass(who.mechanism, q), point_motion(who, q, qd, qdd)
    return Wanted(q, qd, qdd, com, rate, points, _forces(who, motion.loads, len(q)))


def _forces(who: LeggedStance, pushes: list[Wrench], m: int) -> Array:
    """Forces on all contact points (m, points, 3); those in the middle of a foot are shared by its points."""
    up = AXES.index(who.up)
    found = []
    for foot, point in points_of(who):
        total = np.zeros((m, 3))
        for load in pushes:
            if load.body != foot.body:
                continue
            force = np.asarray(load.force, dtype=np.float64)
            if np.abs(force[..., up]).max(initial=0.0) == 0.0:
                total = total + force / len(foot.points)
            elif np.allclose(load.point, point):
                total = total + force
        found.append(total)
    return np.stack(found, axis=1)
