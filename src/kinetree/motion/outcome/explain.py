"""The outcome in words: what is violated, what holds the motion back and what it costs, what to try."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kinetree.algebra.arrays import Array
from kinetree.motion.options import BETWEEN_SAMPLES
from kinetree.motion.outcome.active import ACTIVE, ActiveBound
from kinetree.motion.outcome.beyond import beyond_limits
from kinetree.motion.outcome.conflicts import TORQUE_LIMIT, strained
from kinetree.motion.outcome.ended import sentence
from kinetree.motion.outcome.hints import detouring, swinging, too_weak, undriven, whirling
from kinetree.motion.outcome.verify import Verification, Violation
from kinetree.motion.problem.instants import GaussSamples, given_samples
from kinetree.motion.problem.problem import Problem
from kinetree.motion.solvers.interface import Outcome, Status
from kinetree.motion.terms.effort import Time

WORTH = 1e-6  # multipliers below this fraction of the largest are not named
MOST = 6  # lines of each kind
TIE = 1e-2  # part of the objective up to which a price on roughness only decides ties
CROWDED = 0.7  # equations per unknown from which few motions are left
HURRIED = {"torque limit", "velocity limit", "acceleration limit", "strength limit", "torque rate limit"}
HURRIED |= {"joint reaction limit", "end-effector speed limit", "unknown force", "friction cone"}
LONGER = {"lower": "longer one", "upper": "shorter one"}
UNFINISHED = (Status.ITERATIONS, Status.TIME, Status.INTERRUPTED, Status.SEARCHING)


@dataclass(frozen=True)
class Explanation:
    """Sentences: how it ended, what is violated, what is active, what to try."""

    status: str
    summary: str
    violated: tuple[str, ...]
    active: tuple[str, ...]
    advice: tuple[str, ...]
    beyond: tuple[str, ...] = ()  # limits of the model that no constraint enforces

    def __str__(self) -> str:
        lines = [self.status, self.summary]
        for head, entries in (
            ("Violated", self.violated),
            ("Exceeded limits of the model", self.beyond),
            ("Active limits", self.active),
            ("What to try", self.advice),
        ):
            if entries:
                lines += [f"{head}:", *(f"  - {entry}" for entry in entries)]
        return "\n".join(lines)


def explained(
    problem: Problem,
    x: Array,
    outcome: Outcome,
    check: Verification,
    active: list[ActiveBound],
    allowed: float = BETWEEN_SAMPLES,
) -> Explanation:
    """Words for the user; bounds may be exceeded by the part ``allowed`` between samples."""
    T = problem.setting.unknowns.duration_of(x)
    summary = (
        f"Duration {T:.6g} s, objective {check.objective:.6g}, {outcome.iterations} iterations "
        f"({outcome.solver}); largest violation {check.at_samples:.1e} at the samples, "
        f"{check.anywhere:.1e} between them (relative to the bounds)."
    )
    most = allowed if outcome.status is Status.SOLVED else 1e-4
    serious = [v for v in check.violations if v.relative > most]
    t = check.s * T
    if outcome.status is Status.INFEASIBLE:  # what is between samples follows from what is at them
        serious = [v for v in serious if not v.between] or serious
    return Explanation(
        sentence(outcome.status, check.anywhere, allowed),
        summary,
        tuple(str(v) for v in serious[:MOST]),
        tuple(_reached(problem, outcome, active)),
        tuple(_advice(problem, outcome, check, serious, x)),
        tuple(x.sentence for x in beyond_limits(problem, t, check.q, check.qd, check.tau)[:MOST]),
    )


def _reached(problem: Problem, outcome: Outcome, active: list[ActiveBound]) -> Iterator[str]:
    """The bounds that cost most; what they cost is known only of the best motion."""
    costly = [bound for bound in active if bound.price]
    largest = max((abs(bound.price) for bound in costly), default=0.0)
    named = [bound for bound in costly if abs(bound.price) > WORTH * largest][:MOST]
    yield from _reached_duration(problem, outcome)
    is_time = all(isinstance(term, Time) and term.weight == 1.0 for term in problem.objective)
    for bound in named:
        if outcome.status is Status.SOLVED:
            yield f"{bound.where}; {bound.worth(is_time=is_time)}"
        else:
            yield bound.where


def _reached_duration(problem: Problem, outcome: Outcome) -> Iterator[str]:
    """The duration, if it is free and at one of its bounds."""
    (low, high), T = problem.setting.duration, problem.program.duration(outcome.z)
    if low == high:
        return
    for side, bound in (("lower", low), ("upper", high)):
        if abs(T - bound) < ACTIVE * bound:
            lacking = problem.arguments["duration"] is None
            hint = "; no duration was given, and no term asks for a " + LONGER[side] if lacking else ""
            yield f"duration: {side} bound {bound:g} s reached{hint}"


def _finer(problem: Problem, outcome: Outcome, check: Verification) -> Iterator[str]:
    """What to do if the motion changes so fast within a segment that its cost depends on where one looks.

    Where the quadrature has nodes by phase, they are too few, however short the segments are.
    """
    apart = objective_apart(problem, outcome, check)
    if apart <= max(term.quadrature_error for term in problem.objective):
        return
    given = given_samples(problem.arguments["samples"])
    if isinstance(given, GaussSamples):
        counts = ", ".join(str(2 * count) for count in given.counts)
        remedy = f"its phases need more Gauss nodes, such as GaussSamples(ends, ({counts}))"
    else:
        finer = f"predict(problem.changed(segments={2 * problem.basis.segments}))"
        remedy = f"the motion needs shorter segments, such as {finer}"
    yield f"Another quadrature gives an objective that differs by {100.0 * apart:.2g} %: {remedy}."


def _smoothed(problem: Problem, outcome: Outcome) -> Iterator[str]:
    """What the price on roughness decides, if it is more than a tie."""
    program = problem.program
    part = outcome.smoothing * program.roughness(outcome.z) / max(abs(program.cost(outcome.z)), 1e-12)
    if part > TIE:
        less = 0.1 * problem.regularization
        yield (
            f"The price on rough joint profiles is {100.0 * part:.2g} % of the objective, which leaves some "
            f"joints nearly free; predict(problem.changed(regularization={less:.0e})) lowers it."
        )


def objective_apart(problem: Problem, outcome: Outcome, check: Verification) -> float:
    """By how much the objective of the search and the recomputed one differ, relatively."""
    stated = problem.program.cost(outcome.z)
    return abs(stated - check.objective) / max(abs(check.objective), outcome.least, 1e-12)


def _advice(
    problem: Problem, outcome: Outcome, check: Verification, violated: list[Violation], x: Array
) -> Iterator[str]:
    if outcome.status is Status.SOLVED:
        if any(v.between for v in violated):
            yield "More samples per segment, or tighten(prediction), also enforce limits between samples."
        yield from whirling(problem, check)
        yield from swinging(problem, x, check)
        yield from detouring(problem, x)
        yield from _finer(problem, outcome, check)
        yield from _smoothed(problem, outcome)
        return
    found = problem.conflicts()
    held = [*found, *strained(problem)]
    yield from held
    closure = problem.setting.closure
    if closure is not None and closure.failure:
        yield f"The solver tried motions that the loops cannot follow; the last: {closure.failure}."
    if outcome.status is Status.UNPROVEN:
        yield "Continue here, perhaps with another solver: predict(problem, start=prediction, solver=...)."
        return
    if outcome.status in UNFINISHED:
        yield "Continue from here: predict(problem, start=prediction), with a higher limit."
        return
    for hint in too_weak(problem, x, violated):
        if not any(hint.split(":")[0] == other.split(":")[0] for other in held):
            yield hint
    still = undriven(problem)
    families = {v.family for v in violated if v.family != TORQUE_LIMIT or v.label not in still}
    yield from _too_many_equations(problem)
    yield from _longer(problem, families & HURRIED, problem.setting.unknowns.duration_of(x))
    if not found:
        yield "Several starts may find a way around: predict(problem, starts=20)."
    others = set(problem.families)
    if len(others) > 1:
        yield f"Relax one kind of constraint at a time to find the conflict: {_words(others)}."


def _too_many_equations(problem: Problem) -> Iterator[str]:
    """Equations at many instants may leave a spline no choice."""
    if len(undriven(problem)) == problem.setting.profiles.n:
        return  # fewer of them would not help: nothing drives the mechanism
    program = problem.program
    count = int((program.lower == program.upper).sum())
    if count > CROWDED * program.n:
        yield (
            f"There are {count} equations for {program.n} unknowns, which leaves little to choose: "
            'enforce them at fewer instants (at="knots"), or use more segments or a higher degree.'
        )


def _longer(problem: Problem, families: set[str], T: float) -> Iterator[str]:
    """What to do if limits of speed or strength are violated although all the time there is was taken."""
    low, high = problem.setting.duration
    if not families or T < high * (1.0 - 1e-6):
        return
    what = f"fixed at {high:g} s" if low == high else f"at its upper end ({high:g} s)"
    yield (
        f"The duration is {what}, too short for the {_words(families)}: allow a longer duration or larger "
        f"limits. To find the shortest: predict(problem.changed(objective=Time(), duration=None))."
    )


def _words(families: set[str]) -> str:
    return ", ".join(sorted(families)) or "constraints"
