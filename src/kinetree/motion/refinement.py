"""A better mesh: knots where limits begin, end or switch, more segments, more samples; until nothing changes.

Between saturated stretches the torque jumps, so the acceleration must be able to: knots of multiplicity
degree - 1 at the switching times. Where a limit is only entered or left, degree - 2 is enough. Higher degrees
follow the smooth stretches between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, number
from kinetree.errors import InputError, expect
from kinetree.motion.options import BETWEEN_SAMPLES, checked_part
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.predict import predict
from kinetree.motion.problem.problem import Problem
from kinetree.motion.problem.sampling import spread
from kinetree.motion.solvers.interface import Start
from kinetree.motion.tightening import ROUNDS, bounded_values, tightened

SATURATED = 0.02  # nearer to a bound than this, in its scale, counts as at the bound
FINE = 20  # points per segment between which nothing is looked for
SHORT = 1.5  # segments: what is between opposite bounds for a shorter time is a switch
APART = 0.25  # segments: knots nearer to an event than this make way
SHARPER = 1e-2  # of the tolerance of the first solution


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
    >>> round(refine(predict(problem)).duration, 4)
    0.3919
    """
    wanted = number(tolerance, "tolerance")
    if wanted <= 0.0 or type(rounds) is not int or rounds < 1:
        raise InputError(f"tolerance must be positive and rounds at least 1, got {tolerance} and {rounds!r}")
    expect(prediction, Prediction, "prediction", "what kinetree.predict gives")
    problem = prediction.problem
    degree = max(degree, problem.basis.degree)
    segments = problem.basis.segments
    between = checked_part(arguments.pop("between", BETWEEN_SAMPLES))
    best, tight = prediction, {"tolerance": min(1e-8, SHARPER * wanted), **arguments}
    for _ in range(rounds):
        breaks = event_breaks(events(best), segments, degree)
        finer = problem.changed(breaks=breaks, degree=degree, samples=samples)
        found = predict(finer, start=best, between=None, **tight)
        change = abs(found.objective - best.objective) / max(abs(best.objective), 1e-12)
        found.seconds += best.seconds
        if not found.solved_at_samples:
            segments *= 2
            continue
        settled = change < wanted and best is not prediction
        best = found
        if settled:
            break
        if best is not prediction and change < 1e-3:
            segments = min(2 * segments, 4 * problem.basis.segments)
    return best if between is None else _tightened(best, between, ROUNDS, tight)


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
    >>> tighten(predict(problem)).max_violation < 1e-4
    True
    """
    return _tightened(prediction, number(tolerance, "tolerance"), rounds, arguments)


def _tightened(prediction: Prediction, allowed: float, rounds: int, arguments: dict[str, Any]) -> Prediction:
    def search(problem: Problem, start: Start) -> Prediction:
        return predict(problem, start=start, **{**arguments, "between": None})

    found = tightened(prediction, allowed, search, rounds)
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
