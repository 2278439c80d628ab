"""Impossible steps: when a search is over, and which limits stand in the way."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, TypeVar

from kinetree.errors import listed
from kinetree.motion.outcome.phased_prediction import PhasedPrediction
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.predict import predict
from kinetree.motion.problem.problem import Problem
from kinetree.motion.solvers.choice import chosen_solvers
from kinetree.motion.solvers.interface import Status
from kinetree.motion.terms import Friction, GroundClearance, JointLimits, Support, TorqueLimits
from kinetree.motion.terms.contract import Constraint
from kinetree.motion.terms.strength import StrengthLimits
from kinetree.tasks.conflict import BETWEEN, conflicting, excess_of_torques
from kinetree.tasks.sampled import SampledMotion
from kinetree.tasks.walking.checks import friction_needed, outside_support, strength_needed
from kinetree.tasks.walking.problem import Walker, walker, walking_problem

QUICK = "interior"  # what "auto" tries first, also with many points: IPOPT takes minutes for these
GENTLE = {"equation_price": 7.0}  # feet that are tied down later leave a way to straighter knees
AS_WALK: dict[str, Any] = {"solver": QUICK, "options": GENTLE}
PATIENT = 200  # iterations after which a step that breaks limits by far is given up; others take 30 to 160
FAILS = 0.05  # of a bound, by which a limit is broken by far
STOPPED = (Status.TIME, Status.INTERRUPTED)
STICKY = 2.0  # coefficient of friction where no foot slips, the largest that is allowed
STRENGTH, FRICTION, SUPPORT, CLEARANCE, LANDMARKS = (
    "torque limit", "friction", "support", "ground clearance", "joint limit at landmarks",
)  # fmt: skip
Found = TypeVar("Found", Prediction, PhasedPrediction)
KINDS = (STRENGTH, FRICTION, SUPPORT, CLEARANCE, LANDMARKS)


def first_step(problem: Problem, start: Any, search: dict[str, Any]) -> Prediction:
    """The step as "auto" finds it, but no other solver is tried where the first one is far from any way."""
    return first_found(predict, problem, start, search)


def first_found(seek: Callable[..., Found], problem: Any, start: Any, search: dict[str, Any]) -> Found:
    """The same for steps that ``seek(problem, start=, **search)`` finds."""
    if search["solver"] == QUICK:
        return seek(problem, start=start, **{**search, **AS_WALK})
    if search["solver"] != "auto":
        return seek(problem, start=start, **search)
    others = [x.name for x in chosen_solvers("auto", problem.program) if x.name != QUICK]
    most, limit = search["max_iterations"], search["time_limit"]
    patience = min(most, PATIENT) if type(most) is int else most  # what is not a number is refused there
    quick = {**search, **AS_WALK, "max_iterations": patience}
    found = seek(problem, start=start, **quick)
    found.asked = {**found.asked, "solver": search["solver"], "options": {}, "max_iterations": most}
    if found.solved_at_samples or found.outcome.status in STOPPED or is_hopeless(found):
        return found
    left = None if limit is None else max(limit - found.seconds, 1e-9)
    then = {"solver": others[0]} if others else AS_WALK  # the only one gets all iterations
    other = seek(problem, start=start, **{**search, **then, "time_limit": left})
    other.asked = {**other.asked, "solver": search["solver"], "options": {}}
    return min(found, other, key=lambda x: (not x.solved_at_samples, x.max_violation))


def is_hopeless(found: Prediction | PhasedPrediction) -> bool:
    """Whether a search ended far from any step that keeps all limits, and not for lack of iterations."""
    outcome = found.outcome
    if outcome.status is Status.INFEASIBLE:
        return True
    if found.solved_at_samples or outcome.status in STOPPED or found.max_violation <= FAILS:
        return False
    return outcome.status is not Status.ITERATIONS or (
        outcome.solver == QUICK and outcome.iterations >= PATIENT
    )


def breaks_between(found: Prediction, search: dict[str, Any], seconds: float) -> bool:
    """Whether a step keeps limits at instants only, although further ones were tried with all patience.

    One that exceeds them less is near a step: it is not solved, and its messages say by how much.
    """
    limit = search["time_limit"]
    tried = search["max_iterations"] >= PATIENT and (limit is None or seconds < limit)
    return tried and found.solved_at_samples and found.max_violation > BETWEEN


def infeasible(found: Prediction) -> Prediction:
    """The same, said to be no step."""
    return replace(found, outcome=replace(found.outcome, status=Status.INFEASIBLE))


def conflicts(who: Walker, start: Any) -> list[str]:
    """One sentence for each kind of limit without which there is such a step, or one that there is none."""
    task = who.task
    neither = (
        f"no step was found without {listed(KINDS)} either: "
        f"a step of {task.step:g} m in {task.duration:.3g} s is out of reach"
    )

    def without(kinds: Collection[str]) -> Problem:
        return _without(who, kinds)

    def how(kind: str, found: Prediction) -> str:
        return _how(who, kind, SampledMotion(found, found.s))

    return conflicting("a step", KINDS, without, how, neither, start)


def _without(who: Walker, kinds: Collection[str]) -> Problem:
    """The problem without some kinds of limits; without those of torques effort is that of full strength."""
    task = who.task
    if STRENGTH in kinds and task.strength:
        task = task.changed(strength={})
    if FRICTION in kinds:
        task = task.changed(friction=STICKY)
    problem = walking_problem(task, who if task is who.task else walker(task))
    return problem.changed(constraints=[x for x in problem.constraints if _kind(x) not in kinds])


def _kind(term: Constraint) -> str:
    """Of limits that may be given up; the others have none."""
    if isinstance(term, TorqueLimits | StrengthLimits):
        return STRENGTH
    if isinstance(term, JointLimits):
        return LANDMARKS if term.at != "points" else ""
    plain = {Friction: FRICTION, Support: SUPPORT, GroundClearance: CLEARANCE}
    return next((kind for known, kind in plain.items() if isinstance(term, known)), "")


def _how(who: Walker, kind: str, step: SampledMotion) -> str:
    """What a step without some limit takes of it."""
    if kind == STRENGTH:
        return excess_of_torques(strength_needed(who, step).items())
    if kind == FRICTION:
        return f", with a coefficient of friction of {friction_needed(who, step):.2g}"
    if kind == SUPPORT:
        off = outside_support(who, step)
        return f", with the center of pressure {1e3 * off:.0f} mm outside the sole: the person falls over"
    return ""
