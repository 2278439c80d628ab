"""What stands in the way of a lift: which limits, given up one at a time, leave a way."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from kinetree.errors import listed
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.problem.problem import Problem
from kinetree.motion.terms import JointCombination, ReactionLimit, TorqueLimits, ZeroMomentPoint
from kinetree.tasks.checks import outside
from kinetree.tasks.conflict import conflicting, excess_of_torques
from kinetree.tasks.lifting.checks import joint_force, zero_moment_point
from kinetree.tasks.lifting.problem import TRUNK, Lifter
from kinetree.tasks.sampled import SampledMotion

PLAIN = (TorqueLimits, ZeroMomentPoint, ReactionLimit)  # limits that may be given up as they are


def conflicts(who: Lifter, problem: Problem, start: Any = None) -> list[str]:
    """One sentence for each kind of limit without which there is such a lift, or one that there is none."""
    kinds: dict[str, list[Any]] = {}
    for term in problem.constraints:
        if isinstance(term, PLAIN) or (isinstance(term, JointCombination) and term.coefficients == TRUNK):
            name = "lean" if isinstance(term, JointCombination) else term.family
            kinds.setdefault(name, []).append(term)

    def without(names: Collection[str]) -> Problem:
        given_up = [term for name in names for term in kinds[name]]
        return problem.changed(constraints=[x for x in problem.constraints if x not in given_up])

    def how(name: str, found: Prediction) -> str:
        return _how(who, name, SampledMotion(found, found.s))

    neither = f"no lift was found without {listed(kinds)} either: these positions are out of reach"
    return conflicting("a lift", kinds, without, how, neither, start)


def _how(who: Lifter, name: str, course: SampledMotion) -> str:
    """What a lift without some limit takes of it."""
    if name == TorqueLimits.family:
        return excess_of_torques(
            (x, float(np.maximum(course.torque(x) / high, course.torque(x) / low).max()))
            for x, (low, high) in who.torques.items()
        )
    if name == ZeroMomentPoint.family:
        low, high = who.support.min(axis=0), who.support.max(axis=0)
        off = outside(zero_moment_point(course), low, high).max()
        return f", with the zero-moment point {1e3 * off:.0f} mm outside the feet: the person falls over"
    if name == ReactionLimit.family:
        back = joint_force(course, "lumbar").max()
        knee = max(joint_force(course, joint).max() for joint in ("right_knee", "left_knee"))
        return f", with {back:.0f} N in the back and {knee:.0f} N in a knee"
    lean = sum(factor * course.q[:, course.column(x)] for x, factor in TRUNK.items())
    return f", with a lean of {np.degrees(np.max(lean)):.0f} degrees"
