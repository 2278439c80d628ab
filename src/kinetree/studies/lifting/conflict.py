"""What stands in the way of a lift: which limits, given up one at a time, leave a way."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.errors import listed
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.predict import predict
from kinetree.motion.problem.problem import Problem
from kinetree.motion.terms import JointCombination, ReactionLimit, TorqueLimits, ZeroMomentPoint
from kinetree.studies.lifting.checks import Course
from kinetree.studies.lifting.problem import TRUNK, Lifter

ROUGH, LONGEST = 1e-2, 80  # tolerance and iterations of a search that only asks whether there is a way
PLAIN = (TorqueLimits, ZeroMomentPoint, ReactionLimit)  # limits that may be given up as they are


def conflicts(who: Lifter, problem: Problem, start: Any = None) -> list[str]:
    """One sentence for each kind of limit without which there is such a lift, or one that there is none."""
    kinds: dict[str, list[Any]] = {}
    for term in problem.constraints:
        if isinstance(term, PLAIN) or (isinstance(term, JointCombination) and term.coefficients == TRUNK):
            name = "lean" if isinstance(term, JointCombination) else term.family
            kinds.setdefault(name, []).append(term)
    found = []
    for name, terms in kinds.items():
        tried = _without(problem, terms, start)
        if tried.solved_at_samples:
            found.append(f"a lift is possible without the {name}{_how(name, Course(who, tried, tried.s))}")
    if found:
        return found
    free = _without(problem, [term for terms in kinds.values() for term in terms], start)
    if not free.solved_at_samples or len(kinds) < 2:
        return [f"no lift was found without {listed(kinds)} either: these positions are out of reach"]
    course = Course(who, free, free.s)
    ways = "".join(_how(name, course) for name in kinds)
    return [f"a lift is possible only without all of {listed(kinds)}{ways}"]


def _without(problem: Problem, terms: list[Any], start: Any) -> Prediction:
    others = [x for x in problem.constraints if x not in terms]
    return predict(
        problem.changed(constraints=others), start=start, tolerance=ROUGH, max_iterations=LONGEST,
        solver="interior", progress=False,
    )  # fmt: skip


def _how(name: str, course: Course) -> str:
    """What a lift without some limit takes of it."""
    who = course.who
    if name == TorqueLimits.family:
        most = {
            x: float(np.maximum(course.column(x) / high, course.column(x) / low).max())
            for x, (low, high) in who.torques.items()
        }
        worst = sorted((x for x in most if most[x] > 1.0), key=lambda x: -most[x])[:3]
        shares = ", ".join(f"{most[x]:.1f} times the limit of {x}" for x in worst)
        return f", with {shares}" if shares else ""
    if name == ZeroMomentPoint.family:
        low, high = who.support.min(axis=0), who.support.max(axis=0)
        off = np.maximum(low - course.zero_moment_point, course.zero_moment_point - high).max()
        return f", with the zero-moment point {1e3 * off:.0f} mm outside the feet: the person falls over"
    if name == ReactionLimit.family:
        back = course.joint_force("lumbar").max()
        knee = max(course.joint_force(body).max() for body in ("right_thigh", "left_shank"))
        return f", with {back:.0f} N in the back and {knee:.0f} N in a knee"
    lean = sum(factor * course.q[:, course.mechanism.joint_index(x)] for x, factor in TRUNK.items())
    return f", with a lean of {np.degrees(np.max(lean)):.0f} degrees"
