"""A predicted gait put to the test on a ten times finer grid: what nothing drives, feet, friction, limits."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.model.tree import Flags
from kinetree.motion.outcome.prediction import Prediction
from kinetree.result.records import Check
from kinetree.state import Wrench
from kinetree.studies.gaits.problem import Plan
from kinetree.studies.gaits.walker import AXES

FINER = 10
LEFT = 0.01  # of the weight: forces on the trunk that nothing exerts, between knots
SLIPS, SINKS = 1e-3, 1e-3  # of the leg's length: feet that rest, feet that swing
SLACK = 0.01  # relative to the limit: torques and friction between the instants of the rows
CARRIES = 0.05  # of the weight: less has no friction to speak of


class Cycle:
    """A predicted cycle at instants s (m,): motion, torques, the ground's forces on every foot."""

    def __init__(self, plan: Plan, prediction: Prediction, s: Array) -> None:
        problem = prediction.problem
        self.plan, self.s, self.mechanism = plan, s, problem.mechanism
        at, own = problem.evaluation(s, prediction.x), problem.setting.own
        self.q, self.qd, self.qdd = (rate[:, own] for rate in at.motion[:3])
        self.tau = at.tau[:, own]
        self.pushes: list[Wrench] = list(problem.loads_of(s, prediction.x))
        self.poses = forward_kinematics(self.mechanism, self.q)

    def force(self, body: str) -> Array:
        """The ground's force on a foot, (m, 3) in N."""
        total = np.zeros((len(self.s), 3))
        for load in self.pushes:
            if load.body == body:
                total += np.asarray(load.force, dtype=np.float64)
        return total

    def places(self, foot: int) -> Array:
        """Contact points of a foot in the world, (m, k, 3)."""
        own = self.plan.who.feet[foot]
        R, p = self.poses[own.body]
        found: Array = p[:, None] + np.einsum("mij,kj->mki", R, own.points)
        return found


def checked(plan: Plan, prediction: Prediction) -> dict[str, Check]:
    """All checks by name."""
    who, n = plan.who, plan.task.segments
    s = np.linspace(0.0, 1.0, 2 * FINER * n + 1)
    cycle = Cycle(plan, prediction, s)
    found = {
        "trunk": Check.within(
            who.unheld(cycle.tau),
            LEFT,
            "1",
            f"only the ground supports the trunk; residual at {len(s)} instants, relative to the weight",
        ),
        "feet": _feet(cycle),
        "clearance": _clearance(cycle),
        **_forces(cycle),
        "periodic": _periodic(plan, prediction),
    }
    if plan.who.torques:
        most = max(
            float(np.abs(cycle.tau[:, who.mechanism.joint_index(x)]).max()) / y
            for x, y in plan.who.torques.items()
        )
        found["torques"] = Check.within(
            max(most - 1.0, 0.0),
            SLACK,
            "1",
            f"torques stay within their limits at {len(s)} instants; excess relative to the limit",
        )
    return found


def _contact(plan: Plan, foot: int, s: Array) -> Flags:
    """Whether a foot rests at instants s (m,)."""
    found = np.zeros(len(s), dtype=bool)
    for a, b, _ in plan.contacts(foot):
        found |= (s >= a - 1e-9) & (s <= b + 1e-9)
    return found


def _feet(cycle: Cycle) -> Check:
    """How far feet that rest get from their places, beside the leg's length."""
    plan, worst = cycle.plan, 0.0
    for k, foot in enumerate(plan.who.feet):
        places, stand = cycle.places(k), plan.who.places(foot) + plan.footholds[k]
        for a, b, behind in plan.contacts(k):
            some = (cycle.s >= a - 1e-9) & (cycle.s <= b + 1e-9)
            moved = np.zeros(3)
            moved[AXES.index(plan.who.forward)] = -behind * plan.stride
            worst = max(worst, float(np.abs(places[some] - stand - moved).max()))
    return Check.within(
        worst / plan.who.leg,
        SLIPS,
        "1",
        f"feet rest where they touch down: {1e3 * worst:.2g} mm; relative to the leg length",
    )


def _clearance(cycle: Cycle) -> Check:
    """How deep feet that swing get into the ground, beside the leg's length."""
    plan, up, worst = cycle.plan, AXES.index(cycle.plan.who.up), 0.0
    for k, foot in enumerate(plan.who.feet):
        free = ~_contact(plan, k, cycle.s)
        rest = float(plan.who.places(foot)[:, up].min())
        if free.any():
            worst = max(worst, float((rest - cycle.places(k)[free][..., up]).max()))
    return Check.within(
        max(worst, 0.0) / plan.who.leg,
        SINKS,
        "1",
        "swing feet stay above the ground; depth relative to the leg length",
    )


def _forces(cycle: Cycle) -> dict[str, Check]:
    """Whether the ground only pushes, and whether friction holds, foot by foot."""
    who, task = cycle.plan.who, cycle.plan.task
    up = AXES.index(who.up)
    pull, used = 0.0, 0.0
    for body in dict.fromkeys(foot.body for foot in who.feet):
        force = cycle.force(body)
        normal, across = force[:, up], np.delete(force, up, axis=1)
        pull = max(pull, float(-normal.min()) / who.weight)
        carries = normal > CARRIES * who.weight
        used = max(used, float((np.linalg.norm(across, axis=1)[carries] / normal[carries]).max(initial=0.0)))
    return {
        "pushing": Check.within(
            max(pull, 0.0), 1e-6, "1", "the ground only pushes; pull relative to the weight"
        ),
        "friction": Check.within(
            max(used / task.friction - 1.0, 0.0),
            SLACK,
            "1",
            f"friction coefficient {used:.2f} needed, {task.friction:g} is allowed",
        ),
    }


def _periodic(plan: Plan, prediction: Prediction) -> Check:
    """Whether the cycle ends in its initial state, one stride further."""
    q, qd, _ = prediction.at(np.array([0.0, prediction.duration]))
    gap = q[1] - q[0]
    gap[plan.who.mechanism.joint_index(plan.who.slides(plan.who.forward))] -= plan.stride
    apart = max(float(np.abs(gap).max()), plan.period * float(np.abs(qd[1] - qd[0]).max()))
    return Check.within(apart, 1e-8, "rad or m", "the cycle ends in its initial state, one stride further")
