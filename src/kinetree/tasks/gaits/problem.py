"""A periodic gait as a motion problem: joints, trunk and the ground's forces on all feet are sought.

Nothing drives the trunk: its generalized forces vanish at the knots, where accelerations and contact forces
have their corners. Feet rest where they touch down, and swing above the ground in between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.legged_stance import AXES, LeggedStance
from kinetree.analysis.legs import Foot
from kinetree.motion.problem.problem import Problem
from kinetree.motion.terms import (
    Effort,
    Friction,
    GroundClearance,
    JointLimits,
    Periodic,
    PointPosition,
    PointVelocity,
    Posture,
    SquaredAcceleration,
    TorqueLimits,
    UnknownMoment,
)
from kinetree.motion.terms.contract import Constraint, Objective
from kinetree.tasks.gaits.push import Unheld, tangents, unknown_push
from kinetree.tasks.gaits.schedule import Schedule, check_support, chosen_schedule
from kinetree.tasks.gaits.task import MOST_SEGMENTS, Gait, period_of

LARGEST = 3.0  # weights: of one contact point's push
DEGREE = 3
TWIST = 0.05  # weights times m: of a flat foot about the vertical
CLEAR = 0.05  # of the leg's length: default clearance


@dataclass(frozen=True, eq=False)
class GaitPlan:
    """A gait of a robot: who, what is asked, when feet touch, for how long."""

    who: LeggedStance
    task: Gait
    schedule: Schedule
    period: float

    @property
    def stride(self) -> float:
        """Way in a cycle (m)."""
        return self.task.speed * self.period

    @property
    def clearance(self) -> float:
        """Of swinging feet at mid-swing (m)."""
        return CLEAR * self.who.leg if self.task.clearance is None else self.task.clearance

    def contacts(self, leg: int) -> list[tuple[float, float, float]]:
        """Times of the leg's contact within [0, 1] and by how many cycles the foothold is behind, each."""
        a = self.schedule.touchdown[leg]
        b = a + self.schedule.duty
        if b <= 1.0 + 1e-12:
            return [(a, min(b, 1.0), 0.0)]
        return [(a, 1.0, 0.0), (0.0, b - 1.0, 1.0)]

    @cached_property
    def footholds(self) -> list[Array]:
        """How far each foot's points are moved from where they are while standing, (3,) each (m)."""
        found = []
        for a in self.schedule.touchdown:
            shift = np.zeros(3)
            shift[AXES.index(self.who.forward)] = self.stride * (a + 0.5 * self.schedule.duty - 0.5)
            found.append(shift)
        return found


def planned(who: LeggedStance, task: Gait) -> GaitPlan:
    """The plan of a gait, checked: schedule with support, speed within reach."""
    schedule = chosen_schedule(task.schedule, [foot.body for foot in who.feet])
    check_support(schedule)
    schedule = schedule.rounded(task.segments)
    check_support(schedule)
    gravity = float(np.linalg.norm(who.mechanism.gravity))
    return GaitPlan(
        who.limited(task.limits), task, schedule, period_of(task, who.leg, schedule.duty, gravity)
    )


def finer_plan(plan: GaitPlan) -> GaitPlan | None:
    """The same gait with 1.5 or 2 times as many segments, so that contacts still begin and end at knots."""
    for factor in (1.5, 2.0):
        n = round(factor * plan.task.segments)
        if n <= MOST_SEGMENTS and plan.schedule.rounded(n) == plan.schedule:
            return replace(plan, task=plan.task.changed(segments=n))
    return None


def gait_problem(plan: GaitPlan) -> Problem:
    """The problem of one cycle."""
    who, task = plan.who, plan.task
    return Problem(
        who.mechanism,
        objective=_objective(plan),
        constraints=[*_motion(plan), *(x for k in range(len(who.feet)) for x in _leg(plan, k))],
        duration=plan.period,
        segments=task.segments,
        clamped=False,
        degree=DEGREE,
        samples=2,
        frozen={name: 0.0 for name in who.held},
        limits="model" if task.limits == "model" else None,
        regularization=0.0,
    )


def start_of(plan: GaitPlan) -> tuple[Array, Array]:
    """Times and positions of the neutral start: standing, moved along at the speed."""
    who = plan.who
    q = np.tile(who.stance, (2, 1))
    k = who.mechanism.joint_index(who.slides(who.forward))
    q[:, k] = who.stance[k] + np.array([-0.5, 0.5]) * plan.stride
    return np.array([0.0, plan.period]), q


def _objective(plan: GaitPlan) -> list[Objective]:
    who, task = plan.who, plan.task
    share = 1.0 / plan.period
    size = who.weight * who.leg
    position = {
        name: float(who.stance[who.mechanism.joint_index(name)]) for name in who.mechanism.joint_names
    }
    joints = who.joints
    forward = who.slides(who.forward)
    trunk = [x for x in who.root if x not in (*who.held, forward)]
    terms: list[tuple[float, Objective]] = [
        (task.effort, Effort(2.0, joints, limits={x: size for x in joints})),
        (task.acceleration, SquaredAcceleration([*joints, *trunk])),
        (task.posture, Posture(joints, {x: position[x] for x in joints})),
        (task.trunk, Posture(trunk, {x: position[x] for x in trunk})),
    ]
    return [share * weight * term for weight, term in terms if weight]


def _motion(plan: GaitPlan) -> list[Constraint]:
    """Periodic splines, a trunk that nothing drives, ranges and torques."""
    who, task = plan.who, plan.task
    forward = who.slides(who.forward)
    low, high = who.ranges(task.range)
    found: list[Constraint] = [
        Periodic(offset={forward: plan.stride}, spline=True),
        *(Unheld(name, who.weight) for name in who.unheld_rows),
        JointLimits(low, high, who.joints, at="points"),
    ]
    if plan.who.torques:
        found.append(TorqueLimits(plan.who.torques, joints=list(plan.who.torques)))
    return found


def _leg(plan: GaitPlan, k: int) -> list[Constraint]:
    """A foot that rests where it touches down, the ground's push on it, and its swing."""
    who, task = plan.who, plan.task
    leg, n = who.feet[k], task.segments
    found: list[Constraint] = []
    rows = who.held_rows(leg)
    places = who.places(leg) + plan.footholds[k]
    along = np.eye(3)[AXES.index(who.forward)]
    for part, (a, b, behind) in enumerate(plan.contacts(k)):
        knots = np.arange(round(a * n), round(b * n) + 1) / n
        if b == 1.0 and len(plan.contacts(k)) == 2:
            knots = knots[:-1]  # it goes on as it is at the start
        moved = -behind * plan.stride * along
        for j, axis in rows:
            found.append(PointPosition(leg.body, places[j] + moved, point=leg.points[j], axes=axis, at=knots))
        begins, ends = part == 0, part == len(plan.contacts(k)) - 1
        for at in [x for x, wanted in ((a, begins), (b, ends)) if wanted]:
            for j, axis in rows:
                found.append(PointVelocity(leg.body, np.zeros(3), point=leg.points[j], axes=axis, at=at))
        found += _push(plan, leg, (a, b), part)
    return [*found, *_swing(plan, k)]


def _push(plan: GaitPlan, leg: Foot, during: tuple[float, float], part: int) -> list[Constraint]:
    """The ground's force on a foot: along the normal at each contact point, across it in their middle."""
    who, task = plan.who, plan.task
    normal = np.eye(3)[AXES.index(who.up)]
    weight, n = who.weight, task.segments
    knots = np.arange(round(during[0] * n), round(during[1] * n) + 1) / n
    inner = knots[(knots > during[0] + 1e-9) & (knots < during[1] - 1e-9)]
    every = np.unique(np.concatenate([inner, 0.5 * (knots[1:] + knots[:-1])]))
    if during[0] == 0.0:
        every = np.append(0.0, every)
    if during[1] == 1.0:
        every = np.append(every, 1.0)
    each = weight / max(len(who.feet) / 2, 1) / len(leg.points)
    names, middle = [f"{name} {part}" for name in leg.names], f"{leg.body} across {part}"
    largest = LARGEST * weight
    found = unknown_push(who, leg, names, middle, largest=largest, start=each, during=during)
    found.append(
        Friction(
            [*names, middle],
            task.friction,
            normal=normal,
            at=every,
            shape="octagon" if len(tangents(who)) > 1 else "box",
        )
    )
    if len(leg.points) > 2 and not who.sagittal:
        size = TWIST * weight
        twist: dict[str, Any] = {
            "name": f"{leg.body} twist {part}",
            "axes": who.up,
            "lower": -size,
            "upper": size,
        }
        found.append(UnknownMoment(leg.body, **twist, during=during, size=weight, at="points"))
    return found


def _swing(plan: GaitPlan, k: int) -> list[Constraint]:
    """Clearance of all contact points while the foot swings: a bell over the swing."""
    who, leg = plan.who, plan.who.feet[k]
    normal = np.eye(3)[AXES.index(who.up)]
    off = plan.schedule.touchdown[k] + plan.schedule.duty
    share = np.array([0.2, 0.35, 0.5, 0.65, 0.8])
    s = (off + share * (1.0 - plan.schedule.duty)) % 1.0
    height = plan.clearance * (4.0 * share * (1.0 - share)) ** 2
    order = np.argsort(s)
    rest = float(who.places(leg)[:, AXES.index(who.up)].min())
    return [GroundClearance(leg.body, leg.points, rest + height[order], normal, at=s[order])]
