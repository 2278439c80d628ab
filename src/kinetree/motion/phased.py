"""The verb for several phases: predict the best motion through all of them."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, must_be
from kinetree.motion.options import Search
from kinetree.motion.outcome.phased_prediction import PhasedPrediction
from kinetree.motion.outcome.prediction import Prediction, SearchTrial
from kinetree.motion.problem.phases import PhasedProblem
from kinetree.motion.problem.problem import Problem
from kinetree.motion.search.saving import Saver
from kinetree.motion.search.search import MultiStart, reference_size, solver_settings
from kinetree.motion.search.start import given_motion, regridded
from kinetree.motion.solvers.choice import chosen_solvers
from kinetree.motion.solvers.interface import Outcome, Start
from kinetree.motion.tightening import tightened_within
from kinetree.result.result import Result

Given = PhasedPrediction | Result | Start | Array | Sequence[Prediction] | None


def predict_phases(
    phases: PhasedProblem | Sequence[Problem],
    *,
    start: Given = None,
    **options: Any,
) -> PhasedPrediction:
    """The best motion through a sequence of problems, solved as one; see :class:`PhasedProblem`.

    Positions and velocities are continuous from phase to phase unless a `Junction` says otherwise; each phase
    has its own terms, loads, limits, frozen joints, durations and meshes. What boundary conditions do not
    prescribe at the junctions is free. ``start`` may also be a prediction for each phase; ``options`` are
    those of `predict`.

    >>> import kinetree as kt
    >>> from kinetree.motion.terms import Boundary, Time, TorqueLimits
    >>> arm = kt.zoo.two_link()
    >>> away = Problem(arm, objective=Time(), constraints=[Boundary("start", [0, -2], 0.0), TorqueLimits()])
    >>> there = Problem(arm, objective=Time(), constraints=[Boundary("end", [1, -1], 0.0), TorqueLimits()])
    >>> round(predict_phases([away, there]).duration, 2)
    0.39
    """
    search = Search.of(options, further=("start",))
    asked = phases if isinstance(phases, PhasedProblem) else PhasedProblem(phases)
    return solve_phases(asked, start, search)


def solve_phases(phases: PhasedProblem, start: Given, search: Search) -> PhasedPrediction:
    """The motion that solves all phases as one, by the options of a search; see `predict_phases`."""
    begun = perf_counter()
    program, rng = phases.program, np.random.default_rng(search.seed)
    solvers = chosen_solvers(search.solver, program, search.options)
    asked = search.stated()
    trials: list[SearchTrial] = []

    def made(outcome: Outcome) -> PhasedPrediction:
        return PhasedPrediction(phases, outcome, perf_counter() - begun, list(trials), asked)

    saver = None if search.save is None else Saver(program, search.save, search.force, made)
    runs = MultiStart(program, solvers, solver_settings(search), saver, begun, phases.conflicts)
    first = _first_start(phases, start)
    part = max(problem.regularization for problem in phases.problems)
    rough = any(x.rough for x in program.programs)
    if rough and any(problem.breaks_ties for problem in phases.problems):
        runs.tie_break = part
    elif rough:
        runs.smoothing = part * reference_size(program, phases.straight_start())
    outcome = runs.run(first, phases.random_start, search.starts, rng, trials, search.progress)
    found = tightened_within(made(outcome), search, solve_phases)
    found.asked = asked
    if saver is not None:
        saver.write(found)
    return found


def _first_start(phases: PhasedProblem, start: Given) -> Start:
    if isinstance(start, list | tuple) and all(isinstance(x, Prediction) for x in start):
        if len(start) != len(phases.problems):
            raise InputError(f"start has {len(start)} predictions for {len(phases.problems)} phases")
        nothing = np.zeros(phases.program.n)  # of multipliers: the motion is near, so no bound pushes it away
        return Start(_from_predictions(phases, start), np.zeros(phases.program.m), (nothing, nothing.copy()))
    if start is None:
        return Start(phases.straight_start())
    if isinstance(start, Start):
        return start
    if isinstance(start, np.ndarray) and start.shape == (phases.program.n,):  # its own free unknowns
        return Start(start)
    if isinstance(start, Result):
        return Start(_from_result(phases, start))
    if not isinstance(start, PhasedPrediction):
        raise InputError(must_be("start", "an earlier prediction in phases or its result", start))
    before = start.phases.problems
    if len(before) != len(phases.problems):
        raise InputError(f"start has {len(before)} phases, but {len(phases.problems)} are given")
    sizes = start.phases.program.n, start.phases.program.m
    same = sizes == (phases.program.n, phases.program.m) and all(
        a.setting.unknowns.same_splines(b.setting.unknowns)
        for a, b in zip(before, phases.problems, strict=True)
    )
    if same:
        return start.warm_start
    parts = zip(phases.problems, start.parts, strict=True)
    return Start(np.concatenate([x.program.reduced(regridded(x, y.problem, y.x)) for x, y in parts]))


def _from_predictions(phases: PhasedProblem, start: Sequence[Prediction]) -> Array:
    """Unknowns of the splines nearest to a motion for each phase; the same where splines are equal."""
    found = []
    for problem, other in zip(phases.problems, start, strict=True):
        same = problem.setting.unknowns.same_splines(other.problem.setting.unknowns)
        x = other.x if same else regridded(problem, other.problem, other.x)
        found.append(problem.program.reduced(x))
    return np.concatenate(found)


def _from_result(phases: PhasedProblem, result: Result) -> Array:
    """Unknowns of the splines nearest to a saved motion, phase by phase."""
    names, count = phases.mechanism.joint_names, len(phases.problems)
    good = "q" in result and tuple(result.q["joint"].values.tolist()) == tuple(names) and "phase" in result
    if not good or int(result["phase"].values.max()) != count:
        raise InputError(f"a result to start from needs positions of the same joints in {count} phases")
    t, q, phase = result.time.values, result.q.values, result["phase"].values
    found = []
    for k, problem in enumerate(phases.problems, 1):
        here = phase == k
        curves = {
            curve.name: result[curve.variable].values[here]
            for curve in problem.setting.unknowns.curves
            if curve.variable in result and result[curve.variable].shape[1] == len(curve.labels)
        }
        found.append(problem.program.reduced(given_motion(problem, t[here], q[here], curves)))
    return np.concatenate(found)
