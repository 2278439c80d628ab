"""The verb: predict the best motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import number
from kinetree.errors import InputError
from kinetree.model.files import PathLike
from kinetree.motion.prediction import Prediction, Trial
from kinetree.motion.problem import Problem
from kinetree.motion.progress import Course, shown_progress
from kinetree.motion.saving import Saver
from kinetree.motion.solvers.choice import chosen_solvers
from kinetree.motion.solvers.interface import (
    Outcome,
    Progress,
    Settings,
    Solver,
    Start,
    Status,
    Watch,
    infeasibility,
    rank,
)
from kinetree.motion.start import given_motion, random_start, regridded, result_motion, straight_line
from kinetree.motion.verify import verified
from kinetree.result.result import Result

ENOUGH = 250  # iterations after which the next solver is tried
NOTHING = 1e-9  # objectives below this are no measure of size
FINAL = (Status.SOLVED, Status.TIME, Status.INTERRUPTED)
Given = Prediction | Result | tuple[ArrayLike, ArrayLike] | None


def predict(
    problem: Problem,
    *,
    solver: str = "auto",
    start: Given = None,
    starts: int = 1,
    seed: int = 0,
    tolerance: float = 1e-6,
    max_iterations: int = 1000,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
    save: PathLike | None = None,
    force: bool = False,
) -> Prediction:
    """The motion that solves a problem, verified apart from the solver and explained.

    ``solver``: "auto", "interior", "ipopt", "uno" or "slsqp". The search begins at ``start``: an earlier
    prediction or result, or (times, positions), or by default a straight line; with ``starts`` > 1 also from
    random motions, and the best counts. ``tolerance`` is for optimality and for violations relative to the
    bounds.

    ``progress``: a function that is called with every iteration, or whether to show a line on the terminal
    (default: if there is one). Ctrl-C stops and keeps the best motion so far. ``save`` names a .nc file for
    the best motion so far, written every half minute and at the end; one that is there already is replaced
    only with ``force``.

    >>> import kinetree as kt
    >>> from kinetree.motion.problem import Problem
    >>> from kinetree.motion.terms import Boundary, Time, TorqueLimits
    >>> rest = [Boundary("start", [0.0, -2.0], 0.0), Boundary("end", [1.0, -1.0], 0.0)]
    >>> problem = Problem(kt.zoo.two_link(), objective=Time(), constraints=[*rest, TorqueLimits()])
    >>> round(predict(problem).duration, 4)
    0.3931
    """
    begun = perf_counter()
    settings = _settings(tolerance, max_iterations, time_limit, options)
    if type(starts) is not int or starts < 1:
        raise InputError(f"starts must be a whole number of at least 1, got {starts!r}")
    solvers = chosen_solvers(solver, problem.program)
    for one in solvers:
        one.checked_options(options)
    asked = {
        "solver": solver, "starts": starts, "seed": seed, "tolerance": settings.tolerance,
        "max_iterations": max_iterations, "time_limit": time_limit, "options": dict(options or {}),
    }  # fmt: skip
    trials: list[Trial] = []

    def made(outcome: Outcome) -> Prediction:
        x = problem.program.unknowns(outcome.z)
        return Prediction(
            problem, x, outcome, verified(problem, x), perf_counter() - begun, list(trials), asked
        )

    saver = None if save is None else Saver(problem, save, force, made)
    first = _first_start(problem, start)
    _scale(problem, first)
    with shown_progress(progress) as tell:
        course = None if tell is None else Course(tell, settings, starts)
        search = _Search(problem, solvers, settings, course, saver, begun)
        best = search.run(first, starts, seed, trials)
    found = made(best)
    if saver is not None:
        saver.write(found)
    return found


def _settings(
    tolerance: float, max_iterations: int, time_limit: float | None, options: Mapping[str, Any] | None
) -> Settings:
    small = number(tolerance, "tolerance")
    if not 0.0 < small < 0.1:
        raise InputError(f"tolerance must be between 0 and 0.1, got {small}")
    if type(max_iterations) is not int or max_iterations < 1:
        raise InputError(f"max_iterations must be a whole number of at least 1, got {max_iterations!r}")
    limit = np.inf if time_limit is None else number(time_limit, "time_limit")
    if limit <= 0.0:
        raise InputError(f"time_limit must be positive, got {limit}")
    return Settings(small, max_iterations, limit, options)


def _first_start(problem: Problem, start: Given) -> Start:
    program = problem.program
    if start is None:
        return Start(program.reduced(straight_line(problem)))
    if isinstance(start, Prediction):
        same = start.problem.program
        if (same.n, same.m) == (program.n, program.m) and np.array_equal(
            start.problem.basis.knots, problem.basis.knots
        ):
            return start.warm_start
        return Start(program.reduced(regridded(problem, start.problem, start.x)))
    if isinstance(start, Result):
        return Start(program.reduced(result_motion(problem, start)))
    if not isinstance(start, tuple) or len(start) != 2:
        raise InputError(
            f"start must be an earlier prediction or result, or (times, positions), got {start!r}"
        )
    return Start(program.reduced(given_motion(problem, *start)))


def _scale(problem: Problem, start: Start) -> None:
    """Divide the objective by its size at the start, so that tolerances mean the same for every problem."""
    program = problem.program
    program.scale = 1.0
    size = abs(program.objective(start.z))
    if not size > NOTHING:  # a motion that costs nothing says nothing about others
        other = random_start(problem, np.random.default_rng(0))
        size = 1e-3 * abs(program.objective(program.reduced(other)))
    program.scale = 1.0 / size if np.isfinite(size) and size > NOTHING else 1.0
    if start.multipliers is not None:
        start.multipliers = start.multipliers * program.scale
        low, high = start.bound_multipliers or (np.zeros(program.n), np.zeros(program.n))
        start.bound_multipliers = low * program.scale, high * program.scale


@dataclass(eq=False)
class _Search:
    """Starts and solvers in turn; who is told and what is saved on the way."""

    problem: Problem
    solvers: list[Solver]
    settings: Settings
    course: Course | None
    saver: Saver | None
    begun: float

    def run(self, first: Start, starts: int, seed: int, trials: list[Trial]) -> Outcome:
        """The best of all starts; each adds its trial."""
        program, rng = self.problem.program, np.random.default_rng(seed)
        found: list[Outcome] = []
        for k in range(starts):
            begin = first if k == 0 else Start(program.reduced(random_start(self.problem, rng)))
            outcome = self._from(begin)
            found.append(outcome)
            value, duration = program.objective(outcome.z), float(program.unknowns(outcome.z)[-1])
            trials.append(Trial(outcome.status, value / program.scale, duration, outcome.iterations))
            if self.course is not None:
                self.course.end_start(perf_counter() - self.begun)
            if self.saver is not None:
                self.saver.keep(outcome)
            if outcome.status in (Status.TIME, Status.INTERRUPTED):
                break
        return min(found, key=lambda outcome: rank(program, outcome))

    def _from(self, start: Start) -> Outcome:
        """Try the solvers in turn until one succeeds; the best of what they found."""
        found: list[Outcome] = []
        for solver in self.solvers:
            own = self.settings
            if solver is not self.solvers[-1]:  # another one is waiting
                own = replace(own, max_iterations=min(own.max_iterations, ENOUGH))
            found.append(self._solve(solver, start, own))
            hopeless = [x for x in found if x.status is Status.INFEASIBLE]
            if found[-1].status in FINAL or len(hopeless) == 2:
                break
        return min(found, key=lambda outcome: rank(self.problem.program, outcome))

    def _solve(self, solver: Solver, start: Start, settings: Settings) -> Outcome:
        """One solver from one start; what it is doing is told and saved, also if it is broken off."""
        program, course, saver = self.problem.program, self.course, self.saver
        watch = Watch(program, settings, None, self.begun)
        if course is not None:
            course.next_solve()
        if course is not None or saver is not None:

            def report(step: Progress) -> None:
                if saver is not None:
                    saver.watch(watch, solver.name)
                if course is not None:
                    course(step)

            watch.report = report
        since = perf_counter()
        try:
            with watch.interruptible():
                outcome = solver.solve(program, start, settings, watch)
        except KeyboardInterrupt:
            if saver is not None:
                saver.rescue(watch, solver.name)
            raise
        if watch.stopped is not None and watch.best is not None:
            outcome = replace(outcome, z=watch.best, status=watch.stopped)
        outcome = replace(outcome, seconds=perf_counter() - since, scale=program.scale)
        outcome.z = np.clip(outcome.z, program.x_lower, program.x_upper)
        if course is not None and watch.stopped is None:
            value, worst = program.objective(outcome.z), infeasibility(program, outcome.z)
            course(Progress(outcome.iterations, value / program.scale, worst, watch.seconds))
        return outcome
