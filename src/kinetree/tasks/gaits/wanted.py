"""A predicted cycle as a table over time: motion, feet, the ground's forces, read tick by tick by a law."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.energy import center_of_mass, momentum
from kinetree.analysis.legged_stance import AXES, LeggedStance
from kinetree.control.whole_body.reference import Wanted, between_rows, point_motion, points_of
from kinetree.state import Wrench
from kinetree.tasks.gaits.problem import GaitPlan
from kinetree.tasks.sampled import SampledMotion


class Stepping:
    """When feet of a periodic gait swing."""

    def __init__(self, plan: GaitPlan) -> None:
        self.plan, schedule = plan, plan.schedule
        self.swing = (1.0 - schedule.duty) * plan.period
        down = np.array(schedule.touchdown)
        up = (down + schedule.duty) % 1.0
        apart = (up[None, :] - down[:, None]) % 1.0
        self.overlap = float(apart.min()) * plan.period

    def phase(self, t: float) -> tuple[Array, Array]:
        """How much of its swing every foot has done, and the time left (s), below zero on the ground."""
        s, schedule = t / self.plan.period, self.plan.schedule
        since = (s - np.array(schedule.touchdown)) % 1.0
        done = (since - schedule.duty) / (1.0 - schedule.duty)
        left = np.where(since < schedule.duty, -since, 1.0 - since) * self.plan.period
        return done, np.where(since < schedule.duty, np.minimum(left, -1e-12), left)

    def settings(self) -> dict[str, Any]:
        """What results keep of it."""
        return {"law": "Following", "schedule": self.plan.schedule.name, "speed": self.plan.task.speed}


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
