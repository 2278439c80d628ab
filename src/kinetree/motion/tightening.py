"""Bounds that are exceeded between samples: where, and a bounded search again with samples there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.model.tree import Flags
from kinetree.motion.options import Search
from kinetree.motion.outcome.passing import passing_instants
from kinetree.motion.outcome.phased_prediction import PhasedPrediction
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.outcome.verify import fine_grid
from kinetree.motion.problem.instants import AddedSamples, GaussSamples, given_samples
from kinetree.motion.problem.phases import PhasedProblem
from kinetree.motion.problem.problem import Problem
from kinetree.motion.solvers.interface import Start
from kinetree.motion.terms.contract import Rows

ROUNDS = 3  # searches that follow the first by themselves
PATIENT = 2  # times the iterations of the first search that each of them may take
FEWEST = 50  # iterations that each of them may take in any case

Found = TypeVar("Found", bound=Prediction | PhasedPrediction)


def tightened(
    found: Found, allowed: float, search: Callable[[Any, Start], Found], rounds: int = ROUNDS
) -> Found:
    """The motion found again with samples where bounds are exceeded by more than the part ``allowed``.

    ``search(problem, start)`` solves the problem, or phases, with samples added. Where that fails, or so many
    ``rounds`` do not suffice, it is the best before.
    """
    best = found
    for _ in range(rounds):
        if not best.solved_at_samples or best.max_violation <= allowed:
            break
        asked = _with_samples(best, allowed)
        if asked is None:
            break
        again = search(asked, _near(asked, best))
        if not again.solved_at_samples:
            break
        best = followed(best, again)
    return best


def followed(found: Found, again: Found) -> Found:
    """What a further search has found, with iterations, seconds and starts of the one before it."""
    outcome = replace(again.outcome, iterations=again.iterations + found.iterations)
    seconds = again.seconds + found.seconds
    return replace(again, outcome=outcome, seconds=seconds, trials=found.trials, asked=found.asked)


def tightened_within(found: Found, search: Search, solve: Callable[[Any, Start, Search], Found]) -> Found:
    """A prediction with samples where bounds are exceeded, within what is left of its time and iterations.

    Motions whose samples are the nodes of integrals (:class:`GaussSamples`) are left as they are.
    ``solve(problem, start, search)`` solves again.
    """
    problems = [found.problem] if isinstance(found, Prediction) else found.phases.problems
    if search.between is None or any(
        isinstance(given_samples(x.arguments["samples"]), GaussSamples) for x in problems
    ):
        return found
    most = min(search.max_iterations, max(FEWEST, PATIENT * found.iterations))
    further = search.changed(starts=1, seed=0, max_iterations=most, between=None, save=None, force=False)
    spent = [found.seconds]

    def again(asked: Any, start: Start) -> Found:
        more = solve(asked, start, further.after(sum(spent)))
        spent.append(more.seconds)
        return more

    return tightened(found, float(search.between), again)


def _near(asked: Problem | PhasedProblem, found: Prediction | PhasedPrediction) -> Start:
    """The same motion; no bound pushes it away at first, for the best motion is near."""
    nothing = np.zeros(asked.program.n)
    return Start(found.outcome.z.copy(), np.zeros(asked.program.m), (nothing, nothing.copy()))


def _with_samples(found: Prediction | PhasedPrediction, allowed: float) -> Problem | PhasedProblem | None:
    """What was asked, with samples at the peaks of violations; None where there is nothing to add."""
    if isinstance(found, Prediction):
        return _sampled_there(found, allowed)
    parts = [_sampled_there(part, allowed) for part in found.parts]
    if not any(parts):
        return None
    before = found.phases
    problems = [new or old for new, old in zip(parts, before.problems, strict=True)]
    return PhasedProblem(problems, before.junctions, before.cycle, before.total)


def _sampled_there(found: Prediction, allowed: float) -> Problem | None:
    problem = found.problem
    peaks = np.setdiff1d(violation_peaks(found, allowed), problem.setting.samples)
    if not len(peaks):
        return None
    given = problem.arguments["samples"]
    samples = given if isinstance(given, AddedSamples) else AddedSamples(given, ())
    return problem.changed(samples=samples.with_more(peaks))


def violation_peaks(prediction: Prediction, tolerance: float) -> Array:
    """Instants s (m,) at which violations on the fine grid are largest, of those above ``tolerance``."""
    problem, x = prediction.problem, prediction.x
    grid = fine_grid(problem)
    found = []
    for rows, values in bounded_values(problem, x, grid):
        s = passing_instants(problem, rows, x, grid)
        if len(s) > len(grid):
            values = rows.function.values(problem.evaluation(s, x).everywhere)
        excess = np.maximum(np.asarray(rows.lower) - values, values - np.asarray(rows.upper)) / np.asarray(
            rows.scale
        )
        found.append(s[peaks_above(excess, tolerance)])
    return np.concatenate([np.zeros(0), *found])


def peaks_above(excess: Array, tolerance: float) -> Flags:
    """Whether any column of ``excess`` (m, k) is above a tolerance and at a peak there, (m,)."""
    padded = np.pad(excess, ((1, 1), (0, 0)), constant_values=-np.inf)
    peaks = (excess > tolerance) & (excess >= padded[:-2]) & (excess >= padded[2:])
    return np.asarray(peaks.any(axis=1))


def bounded_values(problem: Problem, x: Array, s: Array) -> Iterator[tuple[Rows, Array]]:
    """Values of every function with constant bounds at samples, at s."""
    at = problem.evaluation(s, x).everywhere
    for rows in problem.bounded:
        if isinstance(rows, Rows) and rows.s is problem.setting.samples and np.ndim(rows.lower) < 2:
            yield rows, rows.function.values(at)
