"""The outcome in words: what is violated, what holds the motion back and what it costs, what to try."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinetree.algebra.arrays import Array
from kinetree.motion.blocks import RowBlock
from kinetree.motion.conflicts import strained
from kinetree.motion.problem import Problem
from kinetree.motion.solvers.interface import Outcome, Status
from kinetree.motion.terms.contract import unit_of
from kinetree.motion.terms.effort import Time
from kinetree.motion.verify import Check, Violation

ACTIVE = 1e-3  # rows nearer to their bound than this, in their scale, have reached it
NEAR = 1e-2  # rows further away have not, however large their multiplier
WORTH = 1e-6  # multipliers below this fraction of the largest are not named
MOST = 6  # lines of each kind
SPANS = 4  # stretches that are named
CROWDED = 0.7  # equations per unknown from which few motions are left
GAP = 3  # steps of the grid within a stretch
HURRIED = {"torque limit", "velocity limit", "acceleration limit", "strength limit", "torque rate limit"}
HURRIED |= {"joint reaction limit", "end-effector speed limit"}
UNFINISHED = (Status.ITERATIONS, Status.TIME, Status.INTERRUPTED, Status.SEARCHING)


@dataclass(frozen=True)
class ActiveBound:
    """A bound that is reached: by whom, during which share of the motion, and what it costs.

    ``price`` is the change of the objective per unit of the bound, if it were loosened everywhere: negative
    means that the objective would fall. ``prices`` are the parts of it that belong to the instants ``times``
    (s), which are some of the ``grid`` at which the bound is enforced.
    """

    family: str
    label: str
    side: str
    bound: float
    unit: str
    times: tuple[float, ...]
    share: float
    price: float
    prices: tuple[float, ...] = ()
    grid: tuple[float, ...] = ()

    @property
    def intervals(self) -> list[tuple[float, float]]:
        """First and last instant (s) of every stretch of the grid on which the bound is reached.

        A curve that follows a bound touches it at some of the samples and hardly misses it in between, so a
        stretch may leave a few out.
        """
        grid = self.grid or self.times
        places = np.searchsorted(grid, self.times)
        runs = np.split(places, np.flatnonzero(np.diff(places) > GAP) + 1)
        return [(grid[run[0]], grid[run[-1]]) for run in runs if len(run)]

    @property
    def where(self) -> str:
        """The bound and when it is reached, in words."""
        when = " and ".join(_span(*interval) for interval in self.intervals[:SPANS])
        more = " and more" if len(self.intervals) > SPANS else ""
        bound = f"{self.side} bound {self.bound:.6g} {self.unit}"
        return f"{self.family}, {self.label}: {bound} reached {when}{more}"

    def worth(self, *, is_time: bool) -> str:
        """What one unit of room more would bring; ``is_time`` if the objective is the duration."""
        change = f"1 {self.unit} {'more' if self.side == 'upper' else 'lower'}"
        if is_time and self.price < 0.0:
            return f"{change} would save {-1e3 * self.price:.3g} ms"
        return f"{change} would change the objective by {self.price:+.3g}"

    def __str__(self) -> str:
        return f"{self.where}; {self.worth(is_time=False)}"


@dataclass(frozen=True)
class Explanation:
    """Sentences: how it ended, what is violated, what is active, what to try."""

    status: str
    summary: str
    violated: tuple[str, ...]
    active: tuple[str, ...]
    advice: tuple[str, ...]

    def __str__(self) -> str:
        lines = [self.status, self.summary]
        for head, entries in (
            ("Violated", self.violated),
            ("Limits that are reached", self.active),
            ("What to try", self.advice),
        ):
            if entries:
                lines += [f"{head}:", *(f"  - {entry}" for entry in entries)]
        return "\n".join(lines)


def active_bounds(problem: Problem, x: Array, outcome: Outcome) -> list[ActiveBound]:
    """Sampled bounds that are reached, with their shadow prices; the most costly first."""
    program = problem.program
    evaluation = program.evaluation(outcome.z)
    found = list(_active_linear(problem, outcome, float(x[-1])))
    for block, start in zip(program.blocks, program.offsets, strict=False):
        if isinstance(block, RowBlock) and not np.array_equal(block.lower, block.upper):
            values = block.values(evaluation).reshape(block.shape)
            multipliers = outcome.multipliers[start : start + block.count].reshape(block.shape)
            found += _active_rows(block, values, multipliers, outcome.scale, float(x[-1]))
    return sorted(found, key=lambda bound: -abs(bound.price * max(abs(bound.bound), 1.0)))


def _active_linear(problem: Problem, outcome: Outcome, T: float) -> Iterator[ActiveBound]:
    """The same for linear rows: positions of joints."""
    program, linear = problem.program, problem.program.linear
    values = linear.matrix @ outcome.z
    multipliers = outcome.multipliers[: len(values)]
    for side, bounds, sign in (("lower", linear.lower, -1.0), ("upper", linear.upper, 1.0)):
        near = reached(sign * (bounds - values), sign * multipliers)
        groups: dict[tuple[int, str], list[int]] = {}
        for r in np.flatnonzero(near & (linear.lower != linear.upper)):
            c, row = (int(k) for k in linear.source[r])
            rows = program.linear_terms[c]
            groups.setdefault((c, rows.labels[row % len(rows.labels)]), []).append(int(r))
        for (c, label), members in groups.items():
            rows, own = program.linear_terms[c], linear.source[members, 1]
            k = rows.labels.index(label)
            pulls = np.maximum(sign * multipliers[members], 0.0) / outcome.scale
            bound = (rows.lower if side == "lower" else rows.upper)[own[0]]
            times = tuple(float(s) * T for s in rows.s[own // len(rows.labels)])
            share = len(members) / len(rows.s)
            yield ActiveBound(
                rows.family, label, side, float(bound), unit_of(rows, k), times, share, float(-pulls.sum()),
                _floats(-pulls), _floats(rows.s * T),
            )  # fmt: skip


def reached(distances: Array, multipliers: Array) -> NDArray[np.bool_]:
    """Which bounds are reached: they are near, or less far than their multipliers are large.

    An interior point stays off its bounds: distance times multiplier is the same everywhere, so the larger of
    the two tells on which side a bound is. Both are scaled.
    """
    found: NDArray[np.bool_] = (distances < ACTIVE) | ((distances < NEAR) & (multipliers > distances))
    return found


def _active_rows(
    block: RowBlock, values: Array, multipliers: Array, scale: float, T: float
) -> Iterator[ActiveBound]:
    rows = block.source
    for side, bounds, sign in (("lower", block.lower, -1.0), ("upper", block.upper, 1.0)):
        limit = bounds.reshape(block.shape)
        near = reached(sign * (limit - values), sign * multipliers)
        for k in map(int, np.flatnonzero(near.any(axis=0))):
            here = np.flatnonzero(near[:, k])
            pulls = np.maximum(sign * multipliers[here, k], 0.0) / (block.scale[k] * scale)
            yield ActiveBound(
                rows.family,
                rows.labels[k],
                side,
                float(limit[here[0], k] * block.scale[k]),
                unit_of(rows, k),
                _floats(rows.s[here] * T),
                len(here) / len(values),
                float(-pulls.sum()),
                _floats(-pulls),
                _floats(rows.s * T),
            )


def _floats(values: Array) -> tuple[float, ...]:
    return tuple(map(float, values))


def explained(
    problem: Problem, x: Array, outcome: Outcome, check: Check, active: list[ActiveBound]
) -> Explanation:
    """Words for the user."""
    T = float(x[-1])
    summary = (
        f"Duration {T:.6g} s, objective {check.objective:.6g}, {outcome.iterations} iterations of "
        f"{outcome.solver}; largest violation {check.at_samples:.1e} at the samples, "
        f"{check.anywhere:.1e} between them (relative to the bounds)."
    )
    most = 1e-2 if outcome.status is Status.SOLVED else 1e-4
    serious = [v for v in check.violations if v.relative > most]
    if outcome.status is Status.INFEASIBLE:  # what is between samples follows from what is at them
        serious = [v for v in serious if not v.between] or serious
    return Explanation(
        outcome.status.value,
        summary,
        tuple(str(v) for v in serious[:MOST]),
        tuple(_reached(problem, outcome, active)),
        tuple(_advice(problem, outcome, serious, T)),
    )


def _reached(problem: Problem, outcome: Outcome, active: list[ActiveBound]) -> Iterator[str]:
    """The bounds that cost most; what they cost is known only of the best motion."""
    costly = [bound for bound in active if bound.price]
    largest = max((abs(bound.price) for bound in costly), default=0.0)
    named = [bound for bound in costly if abs(bound.price) > WORTH * largest][:MOST]
    is_time = all(isinstance(term, Time) and term.weight == 1.0 for term in problem.objective)
    for bound in named:
        if outcome.status is Status.SOLVED:
            yield f"{bound.where}; {bound.worth(is_time=is_time)}"
        else:
            yield bound.where


def _advice(problem: Problem, outcome: Outcome, violated: list[Violation], T: float) -> Iterator[str]:
    if outcome.status is Status.SOLVED:
        if any(v.between for v in violated):
            yield "More samples per segment, or tighten(prediction), keep limits between samples too."
        return
    found = problem.conflicts()
    yield from found
    yield from strained(problem)
    if outcome.status is Status.UNPROVEN:
        yield "Go on from here, perhaps with another solver: predict(problem, start=prediction, solver=...)."
        return
    if outcome.status in UNFINISHED:
        yield "Go on from here: predict(problem, start=prediction), with a higher limit."
        return
    families = {v.family for v in violated}
    yield from _too_many_equations(problem)
    yield from _longer(problem, families & HURRIED, T)
    if not found:
        yield "Several starts may find a way around: predict(problem, starts=20)."
    others = set(problem.families)
    if len(others) > 1:
        yield f"Loosen one kind of constraint at a time to see what conflicts: {_words(others)}."


def _too_many_equations(problem: Problem) -> Iterator[str]:
    """Equations at many instants may leave a spline no choice."""
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
        f"The duration is {what}, too short for the {_words(families)}: allow a longer "
        "one or looser limits. The shortest: predict(problem.changed(objective=Time(), duration=None))."
    )


def _words(families: set[str]) -> str:
    return ", ".join(sorted(families)) or "constraints"


def _span(first: float, last: float) -> str:
    return f"at {first:.4g} s" if first == last else f"from {first:.4g} to {last:.4g} s"
