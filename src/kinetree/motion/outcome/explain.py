"""The outcome in words: what is violated, what holds the motion back and what it costs, what to try."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import listed
from kinetree.motion.options import BETWEEN_SAMPLES
from kinetree.motion.outcome.active import ACTIVE, ActiveBound
from kinetree.motion.outcome.beyond import beyond_limits
from kinetree.motion.outcome.conflicts import (
    TORQUE_LIMIT,
    allowed,
    holding_torques,
    limits_of,
    strained,
    torque_limits,
)
from kinetree.motion.outcome.ended import sentence
from kinetree.motion.outcome.verify import Verification, Violation
from kinetree.motion.problem.instants import GaussSamples, given_samples
from kinetree.motion.problem.problem import Problem
from kinetree.motion.search.start import straight_line
from kinetree.motion.solvers.interface import Outcome, Status
from kinetree.motion.terms.apart import KeepApart, KeepOutBox
from kinetree.motion.terms.contract import Rows, unit_of
from kinetree.motion.terms.effort import Time
from kinetree.motion.terms.limits import JointLimits
from kinetree.motion.terms.reach import GroundClearance, KeepOut

WORTH = 1e-6  # multipliers below this fraction of the largest are not named
MOST = 6  # lines of each kind
TIE = 1e-2  # part of the objective up to which a price on roughness only decides ties
CROWDED = 0.7  # equations per unknown from which few motions are left
HURRIED = {"torque limit", "velocity limit", "acceleration limit", "strength limit", "torque rate limit"}
WHIRL = 2.0 * np.pi  # rad that a joint may turn further than its boundary conditions ask for
OBSTACLES = {KeepOut.family, KeepOutBox.family, KeepApart.family, GroundClearance.family}
DETOUR = 1.3  # objectives relative to the straight motion from which another way may be better
QUICKEST, DURATIONS = 0.2, 24  # of the straight motion beside the one found: the shortest, and how many
BEYOND = 1e-3  # of a torque limit by which a pose must be too heavy


def whirling(problem: Problem, check: Verification) -> Iterator[str]:
    """Joints without limits that go round and round: light bodies that others push themselves off."""
    setting, known = problem.setting, problem.known_positions()
    limited = {
        label for rows in problem.bounded if rows.family == JointLimits.family for label in rows.labels
    }
    found = []
    for joint, column in setting.column.items():
        name = setting.mechanism.joint_names[joint]
        if name in limited or setting.units([joint], "rad", "m") != ["rad"]:
            continue
        asked = [q for _, q in known.get(column, [])]
        turned, needed = (float(np.ptp(x)) if len(x) else 0.0 for x in (check.q[:, joint], asked))
        if turned > needed + WHIRL:
            found.append(f"'{name}' by {turned:.2g} rad")
    if found:
        yield (
            f"Nothing limits the positions of joints that make full revolutions ({', '.join(found)}): "
            "add JointLimits(lower=..., upper=...), or some 1e-4 * Jerk() to the objective."
        )


def swinging(problem: Problem, x: Array, check: Verification) -> Iterator[str]:
    """Poses on the way that are too heavy to hold: each number of swings has a best motion of its own."""
    if problem.acting:
        return  # forces that are sought may hold them
    unknowns = problem.setting.unknowns
    tau = holding_torques(problem, unknowns.at(check.s).motion(x), check.s)
    for rows, function in torque_limits(problem):
        if np.ndim(rows.upper) > 1 or len(rows.s) < 2:
            continue
        held = tau[:, function.rows]
        low, high, scale = (np.asarray(x, dtype=np.float64) for x in (rows.lower, rows.upper, rows.scale))
        excess = np.maximum(held - high, low - held) / scale
        m, k = (int(i) for i in np.unravel_index(int(excess.argmax()), excess.shape))
        if excess[m, k] > BEYOND:
            t, takes = check.s[m] * unknowns.duration_of(x), f"{held[m, k]:.3g} {unit_of(rows, k)}"
            yield (
                f"{rows.labels[k]} swings through poses it cannot hold (at {t:.3g} s that takes {takes}): "
                "another number of swings may be better; predict(problem, starts=10) tries several."
            )
            return


def detouring(problem: Problem, x: Array) -> Iterator[str]:
    """Obstacles that make a motion far dearer than the straight one through them: there are other ways."""
    program, unknowns = problem.program, problem.setting.unknowns
    families = [name for name in program.families() if name in OBSTACLES]
    low, high = problem.setting.duration
    if not families or problem.acting or problem.setting.closure is not None:
        return
    ours = np.ones(program.m, dtype=bool)
    for name in families:
        ours[program.families()[name]] = False
    T, cost = unknowns.duration_of(x), program.cost(program.reduced(x))
    line, best = _eased(problem, straight_line(problem, T)), np.inf
    for duration in np.unique(np.clip(T * np.geomspace(QUICKEST, 1.0, DURATIONS), low, high)):
        z = program.reduced(unknowns.with_duration(line, float(duration)))
        g = program.constraints(z)
        if (np.maximum(program.lower - g, g - program.upper)[ours] <= BEYOND).all():
            best = min(best, program.cost(z))
    if cost > DETOUR * best:
        yield (
            f"Through the obstacles ({listed(families)}), a straight motion would cost {best:.3g} instead of "
            f"{cost:.3g}: another way around them may be better; predict(problem, starts=6) tries several."
        )


def _eased(problem: Problem, x: Array) -> Array:
    """The same path with constant acceleration up to the middle of the time, and deceleration from there."""
    unknowns, at = problem.setting.unknowns, problem.basis.greville
    ahead = np.where(at < 0.5, 2.0 * at**2, 1.0 - 2.0 * (1.0 - at) ** 2)
    points = unknowns.control_points(x)
    eased = np.stack([np.interp(ahead, at, column) for column in points.T], axis=1)
    return unknowns.joined(eased, unknowns.duration_of(x))


def undriven(problem: Problem) -> dict[str, str]:
    """Joints that may exert only one torque all the time, and which; none where forces are sought."""
    found: dict[str, str] = {}
    if problem.acting:
        return found  # they may drive any joint
    for rows, function in torque_limits(problem):
        low, high = limits_of(rows)
        for k in range(function.size):
            if len(rows.s) > 1 and (low[:, k] == high[:, k]).all() and np.ptp(low[:, k]) == 0.0:
                found[rows.labels[k]] = f"{low[0, k]:g} {unit_of(rows, k)}"
    return found


def too_weak(problem: Problem, x: Array, violated: Sequence[Violation]) -> Iterator[str]:
    """Joints whose torque limits cannot do what is asked: not driven at all, or too weak for their poses."""
    still = [f"{joint} ({torque})" for joint, torque in undriven(problem).items()]
    if still:
        yield (
            f"{TORQUE_LIMIT}: joints whose lower and upper torque limits are equal are not driven: "
            f"{listed(still)}; allow a range, such as TorqueLimits(upper=1.0), or leave their motion free."
        )
    worst = {v.label: v for v in reversed(violated) if v.family == TORQUE_LIMIT}
    for rows, function in torque_limits(problem):
        for k, label in enumerate(rows.labels):
            if label in worst:
                yield from _too_heavy_there(problem, x, worst[label], rows, k, int(function.rows[k]))


def _too_heavy_there(
    problem: Problem, x: Array, worst: Violation, rows: Rows, k: int, row: int
) -> Iterator[str]:
    """What the pose takes in which a limit is exceeded most, if that alone is too much."""
    if problem.acting:
        return  # forces that are sought may help to hold it
    unknowns = problem.setting.unknowns
    s = worst.t / unknowns.duration_of(x)
    tau = holding_torques(problem, unknowns.at([s]).motion(x), np.array([s]))[0, row]
    low, high = (bounds[int(np.abs(rows.s - s).argmin()), k] for bounds in limits_of(rows))
    if not low - BEYOND * abs(low) <= tau <= high + BEYOND * abs(high):
        yield (
            f"{TORQUE_LIMIT}, {worst.label}: holding the pose at t = {worst.t:.4g} s against gravity "
            f"and loads takes {tau:.4g} {worst.unit}, but {allowed(low, high, rows, k)}."
        )


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
