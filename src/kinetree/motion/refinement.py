"""A better mesh: knots where limits begin, end or switch, more segments, more samples; until nothing changes.

Between saturated stretches the torque jumps, so the acceleration must be able to: knots of multiplicity
degree - 1 at the switching times. Where a limit is only entered or left, degree - 2 is enough. Higher degrees
follow the smooth stretches between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, number
from kinetree.errors import InputError, expect
from kinetree.motion.options import Search
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.predict import solve
from kinetree.motion.problem.problem import Problem
from kinetree.motion.problem.sampling import spread
from kinetree.motion.seek import Attempt, MotionTask, TimeBudget, seek
from kinetree.motion.solvers.interface import Start
from kinetree.motion.tightening import ROUNDS, bounded_values, tightened

SATURATED = 0.02  # nearer to a bound than this, in its scale, counts as at the bound
FINE = 20  # points per segment between which nothing is looked for
SHORT = 1.5  # segments: what is between opposite bounds for a shorter time is a switch
APART = 0.25  # segments: knots nearer to an event than this make way
SHARPER = 1e-2  # of the tolerance of the first solution
SETTLES = 1e-3  # relative change of the objective below which knots are right and segments are doubled


@dataclass(frozen=True)
class BoundSwitch:
    """An instant s at which ``label`` switches between its bounds, or reaches or leaves one."""

    s: float
    family: str
    label: str
    switch: bool


def refine(
    prediction: Prediction,
    *,
    tolerance: float = 1e-6,
    rounds: int = 6,
    degree: int = 5,
    samples: int = 3,
    **arguments: Any,
) -> Prediction:
    """Solve again on better meshes until the objective's relative change is below ``tolerance``.

    Knots are moved to the switching times of the previous solution, and segments are doubled while the
    objective still changes. ``degree`` is raised to 5 by default. Other arguments are passed on to `predict`.

    >>> import kinetree as kt
    >>> from kinetree.motion.problem.problem import Problem
    >>> from kinetree.motion.terms import Boundary, Time, TorqueLimits
    >>> rest = [Boundary("start", [0.0, -2.0], 0.0), Boundary("end", [1.0, -1.0], 0.0)]
    >>> problem = Problem(kt.zoo.two_link(), objective=Time(), constraints=[*rest, TorqueLimits()])
    >>> round(refine(kt.predict(problem)).duration, 4)
    0.3919
    """
    wanted = number(tolerance, "tolerance")
    if wanted <= 0.0 or type(rounds) is not int or rounds < 1:
        raise InputError(f"tolerance must be positive and rounds at least 1, got {tolerance} and {rounds!r}")
    expect(prediction, Prediction, "prediction", "what kinetree.predict gives")
    search = Search.of({"tolerance": min(1e-8, SHARPER * wanted), **arguments})
    degree = max(degree, prediction.problem.basis.degree)
    found = seek(KnotSearch(prediction, wanted, rounds, degree, samples), search, prediction)
    best = found.prediction
    if best is not prediction:
        best.seconds = prediction.seconds + found.seconds["search"]
    if search.between is None:
        return best
    return _tightened(best, search.between, ROUNDS, search.after(found.seconds["search"]))


@dataclass(frozen=True, eq=False)
class Knots:
    """A mesh: the problem with its knots, and how many equal segments they were placed among."""

    problem: Problem
    segments: int


@dataclass(frozen=True, eq=False)
class KnotSearch(MotionTask[Knots, Prediction]):
    """The search for better knots, from a motion on equal segments, until its objective is settled."""

    known: Prediction
    wanted: float
    rounds: int
    degree: int
    samples: int

    @property
    def mesh(self) -> Knots:
        """That of the motion to begin with."""
        return Knots(self.known.problem, self.known.problem.basis.segments)

    def problem(self, mesh: Knots) -> Problem:
        """The problem with these knots."""
        return mesh.problem

    def starts(
        self, problem: Problem, attempts: Sequence[Attempt[Knots, Prediction]], budget: TimeBudget
    ) -> Iterator[Prediction]:
        """The best motion before."""
        yield self._solved(attempts)[-1]

    def options(self, search: Search, attempts: Sequence[Attempt[Knots, Prediction]]) -> Search:
        """No samples between, which come in the end."""
        return search.changed(between=None)

    def finer(self, attempts: Sequence[Attempt[Knots, Prediction]]) -> Knots | None:
        """Knots at the switching times of the best motion, with more segments while the objective changes."""
        if len(attempts) > self.rounds:
            return None
        solved, last = self._solved(attempts), attempts[-1]
        segments = last.mesh.segments
        if len(attempts) > 1 and not last.solved:
            segments *= 2
        elif len(attempts) > 1:
            before, best = solved[-2:]
            change = abs(best.objective - before.objective) / max(abs(before.objective), 1e-12)
            if change < self.wanted and before is not self.known:
                return None
            if change < SETTLES:
                segments = min(2 * segments, 4 * self.known.problem.basis.segments)
        breaks = event_breaks(events(solved[-1]), segments, self.degree)
        finer = self.known.problem.changed(breaks=breaks, degree=self.degree, samples=self.samples)
        return Knots(finer, segments)

    def _solved(self, attempts: Sequence[Attempt[Knots, Prediction]]) -> list[Prediction]:
        """The motion to begin with, and all that were found on better meshes."""
        return [self.known, *(x.prediction for x in attempts[1:] if x.solved)]


def tighten(
    prediction: Prediction, *, tolerance: float = 1e-4, rounds: int = 8, **arguments: Any
) -> Prediction:
    """Add samples where constraints are violated between samples, and solve again, until none is.

    ``tolerance`` is relative to the bounds. Constraints that are enforced only at knots are not changed.

    >>> import kinetree as kt
    >>> from kinetree.motion.problem.problem import Problem
    >>> from kinetree.motion.terms import Boundary, Time, TorqueLimits
    >>> rest = [Boundary("start", [0.0, -2.0], 0.0), Boundary("end", [1.0, -1.0], 0.0)]
    >>> problem = Problem(kt.zoo.two_link(), objective=Time(), constraints=[*rest, TorqueLimits()])
    >>> tighten(kt.predict(problem)).max_violation < 1e-4
    True
    """
    return _tightened(prediction, number(tolerance, "tolerance"), rounds, Search.of(arguments))


def _tightened(prediction: Prediction, allowed: float, rounds: int, search: Search) -> Prediction:
    own = search.changed(between=None)

    def again(problem: Problem, start: Start) -> Prediction:
        return solve(problem, start, own)

    found = tightened(prediction, allowed, again, rounds)
    if found is not prediction:
        found.asked = {**found.asked, "between": prediction.asked.get("between")}
    return found


def events(prediction: Prediction) -> list[BoundSwitch]:
    """Where bounded quantities switch between their bounds, or reach or leave one, in order."""
    problem = prediction.problem
    s = spread(problem.setting.bases, FINE)
    step = 1.0 / problem.basis.segments
    found: list[BoundSwitch] = []
    for rows, values in bounded_values(problem, prediction.x, s):
        low, high = (
            np.broadcast_to(np.asarray(b, dtype=np.float64), values.shape[1:])
            for b in (rows.lower, rows.upper)
        )
        scale = np.broadcast_to(np.asarray(rows.scale, dtype=np.float64), values.shape[1:])
        for k, label in enumerate(rows.labels):
            room = SATURATED * scale[k]
            state = np.where(values[:, k] > high[k] - room, 1, np.where(values[:, k] < low[k] + room, -1, 0))
            for at, switch in _changes(s, values[:, k], state, (low[k], high[k]), SHORT * step):
                found.append(BoundSwitch(at, rows.family, label, switch))
    return sorted(found, key=lambda event: event.s)


def _changes(
    s: Array, value: Array, state: Array, bounds: tuple[float, float], short: float
) -> Iterator[tuple[float, bool]]:
    """Switches between the bounds, and entries and exits of long stretches in between."""
    cuts = np.flatnonzero(np.diff(state)) + 1
    starts, ends = np.append(0, cuts), np.append(cuts, len(s))
    runs = [(int(a), int(b), int(state[a])) for a, b in zip(starts, ends, strict=True)]
    for k, (a, b, here) in enumerate(runs):
        before = runs[k - 1][2] if k else 0
        after = runs[k + 1][2] if k + 1 < len(runs) else 0
        if here and before and here != before:
            yield float(s[a]), True
        if here or (not before and not after):
            continue
        length = s[min(b, len(s) - 1)] - s[max(a - 1, 0)]
        if length <= short:
            if before * after < 0:
                yield _balance(s[a - 1 : b + 1], value[a - 1 : b + 1], bounds, rising=after > 0), True
            continue
        if before:
            yield float(s[a]), False
        if after:
            yield float(s[b - 1]), False


def _balance(s: Array, value: Array, bounds: tuple[float, float], *, rising: bool) -> float:
    """When a jump between the bounds would have the same integral as the values."""
    low, high = bounds
    area = float((np.diff(s) * (value[1:] + value[:-1])).sum()) / 2.0
    share = (area / (s[-1] - s[0]) - low) / (high - low)  # of the time at the upper bound
    share = min(max(share, 0.0), 1.0)
    return float(s[-1] - share * (s[-1] - s[0]) if rising else s[0] + share * (s[-1] - s[0]))


def event_breaks(found: list[BoundSwitch], segments: int, degree: int) -> Array:
    """Equal segments with multiple knots at the events; ordinary knots next to them make way."""
    step = 1.0 / segments
    kept: list[BoundSwitch] = []
    for event in sorted(found, key=lambda event: not event.switch):  # switches count more
        inside = 0.1 * step < event.s < 1.0 - 0.1 * step
        if inside and all(abs(event.s - other.s) > APART * step for other in kept):
            kept.append(event)
    times = np.array([event.s for event in kept])
    base = np.linspace(0.0, 1.0, segments + 1)
    if len(times):
        near = np.abs(base[:, None] - times).min(axis=1) < APART * step
        near[[0, -1]] = False
        base = base[~near]
    repeated = [np.full(degree - 1 if event.switch else max(1, degree - 2), event.s) for event in kept]
    return np.sort(np.concatenate([base, *repeated]))
