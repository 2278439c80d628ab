"""Predicted gaits and leaps verified on finer grids: what nothing drives, feet, friction, limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.energy import center_of_mass
from kinetree.analysis.legged_stance import AXES, LeggedStance
from kinetree.model.tree import Flags
from kinetree.motion.outcome.phased_prediction import PhasedPrediction
from kinetree.motion.outcome.prediction import Prediction
from kinetree.result.records import Check
from kinetree.tasks.checks import (
    friction_check,
    friction_used,
    pushing_check,
    torque_check,
    torque_excess,
    unsupported_check,
)
from kinetree.tasks.gaits.leap_problem import FLIGHT, LANDING, LeapPlan, floor_of, further_points
from kinetree.tasks.gaits.problem import GaitPlan
from kinetree.tasks.sampled import SampledMotion, sampled

FINER = 10
LEFT = 0.01  # of the weight: forces on the trunk that nothing exerts, between knots
SLIPS, SINKS = 1e-3, 1e-3  # of the leg's length: feet that rest, feet that swing
SLACK = 0.01  # relative to the limit: torques and friction between the instants of the rows
PULLS = 1e-6  # of the weight
RISES = 0.02  # of the height of a leap: by how much the center of mass may miss it
MEETS = 1e-5  # rad or m, by which phases of a leap may be apart where they meet


def checked(plan: GaitPlan, prediction: Prediction) -> dict[str, Check]:
    """All checks by name."""
    who, n = plan.who, plan.task.segments
    s = np.linspace(0.0, 1.0, 2 * FINER * n + 1)
    cycle = SampledMotion(prediction, s)
    found = {
        "trunk": unsupported_check(who.unheld(cycle.tau), LEFT),
        "feet": _feet(plan, cycle),
        "clearance": _clearance(plan, cycle),
        **force_checks(who, [cycle], plan.task.friction),
        "periodic": _periodic(plan, prediction),
    }
    if who.torques:
        most = np.array(list(who.torques.values()))
        tau = cycle.tau[:, [cycle.column(x) for x in who.torques]]
        found["torques"] = torque_check(torque_excess(tau, -most, most, most), SLACK)
    return found


def _contact(plan: GaitPlan, foot: int, s: Array) -> Flags:
    """Whether a foot rests at instants s (m,)."""
    found = np.zeros(len(s), dtype=bool)
    for a, b, _ in plan.contacts(foot):
        found |= (s >= a - 1e-9) & (s <= b + 1e-9)
    return found


def _feet(plan: GaitPlan, cycle: SampledMotion) -> Check:
    """How far feet that rest get from their places, beside the leg's length."""
    worst = 0.0
    for k, foot in enumerate(plan.who.feet):
        places, stand = cycle.place(foot.body, foot.points), plan.who.places(foot) + plan.footholds[k]
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


def _clearance(plan: GaitPlan, cycle: SampledMotion) -> Check:
    """How deep feet that swing get into the ground, beside the leg's length."""
    up, worst = AXES.index(plan.who.up), 0.0
    for k, foot in enumerate(plan.who.feet):
        free = ~_contact(plan, k, cycle.s)
        rest = float(plan.who.places(foot)[:, up].min())
        if free.any():
            places = cycle.place(foot.body, foot.points)
            worst = max(worst, float((rest - places[free][..., up]).max()))
    return Check.within(
        max(worst, 0.0) / plan.who.leg,
        SINKS,
        "1",
        "swing feet stay above the ground; depth relative to the leg length",
    )


def force_checks(who: LeggedStance, motions: Sequence[SampledMotion], friction: float) -> dict[str, Check]:
    """Whether the ground only pushes, and whether friction holds, foot by foot in all phases of a motion."""
    up = AXES.index(who.up)
    bodies = list(dict.fromkeys(foot.body for foot in who.feet))
    force = np.concatenate([np.stack([motion.force(body) for body in bodies], axis=1) for motion in motions])
    normal, across = force[..., up], np.linalg.norm(np.delete(force, up, axis=-1), axis=-1)
    return {
        "pushing": pushing_check(normal, who.weight, PULLS),
        "friction": friction_check(friction_used(normal, across, who.weight), friction, SLACK),
    }


def _periodic(plan: GaitPlan, prediction: Prediction) -> Check:
    """Whether the cycle ends in its initial state, one stride further."""
    q, qd, _ = prediction.at(np.array([0.0, prediction.duration]))
    gap = q[1] - q[0]
    gap[plan.who.mechanism.joint_index(plan.who.slides(plan.who.forward))] -= plan.stride
    apart = max(float(np.abs(gap).max()), plan.period * float(np.abs(qd[1] - qd[0]).max()))
    return Check.within(apart, 1e-8, "rad or m", "the cycle ends in its initial state, one stride further")


# ---- leaps ---------------------------------------------------------------------------------------------
def unexerted_forces(who: LeggedStance, prediction: PhasedPrediction) -> list[float]:
    """The largest force on the trunk that nothing exerts, phase by phase, relative to the weight."""
    return [who.unheld(sampled(part, _fine(part)).tau) for part in prediction.parts]


def _fine(part: Prediction) -> Array:
    """Instants (m,) of a phase at which it is checked: twenty between two knots."""
    return np.linspace(0.0, 1.0, 20 * part.problem.basis.segments + 1)


def leap_checks(plan: LeapPlan, prediction: PhasedPrediction) -> dict[str, Check]:
    """All checks of a leap by name."""
    who, height = plan.who, plan.task.height
    up = AXES.index(who.up)
    motions = [sampled(part, _fine(part)) for part in prediction.parts]
    left = max(who.unheld(motion.tau) for motion in motions)
    slips = sinks = rise = 0.0
    for motion, name in zip(motions, plan.phases, strict=True):
        moved = plan.moved if name == LANDING else np.zeros(3)
        for foot in who.feet:
            places, stand = motion.place(foot.body, foot.points), who.places(foot)
            if name == FLIGHT:
                sinks = max(sinks, float((stand[:, up].min() - places[..., up]).max()))
            else:
                slips = max(slips, float(np.abs(places - stand - moved).max()))
        for body, points in further_points(who).items():
            sinks = max(sinks, float((floor_of(who) - motion.place(body, points)[..., up]).max()))
        if name == FLIGHT:
            height_of = center_of_mass(who.mechanism, motion.q)[:, up]
            rise = float(height_of[len(motion.s) // 2] - 0.5 * (height_of[0] + height_of[-1]))
    gaps = max((abs(x) for x in prediction.gaps.values()), default=0.0)
    return {
        "trunk": unsupported_check(left, LEFT),
        "feet": Check.within(
            slips / who.leg, SLIPS, "1", "stance feet rest; motion relative to the leg length"
        ),
        "clearance": Check.within(
            max(sinks, 0.0) / who.leg,
            SINKS,
            "1",
            "feet in flight and all other points stay above the ground; depth relative to the leg length",
        ),
        **force_checks(who, motions, plan.task.friction),
        "rise": Check.within(
            abs(rise / height - 1.0),
            RISES,
            "1",
            f"the center of mass rises by {rise:.4f} m above takeoff and landing",
        ),
        "junctions": Check.within(
            gaps, MEETS, "rad or m", "each phase continues from the end of the previous one"
        ),
    }
