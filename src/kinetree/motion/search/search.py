"""The search itself: starts and solvers in turn, watched, reported and saved on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import chain
from time import perf_counter

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError
from kinetree.motion.options import Search
from kinetree.motion.outcome.optimality import optimality, reference
from kinetree.motion.outcome.prediction import SearchTrial
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.motion.search.progress import StartsProgress, Tell, shown_progress
from kinetree.motion.search.saving import Saver
from kinetree.motion.solvers.interface import (
    Outcome,
    Progress,
    Solver,
    SolverSettings,
    Start,
    Status,
    Watch,
    infeasibility,
    rank,
)
from kinetree.motion.solvers.threads import one_thread

ENOUGH = 600  # iterations after which the next solver is tried
NOTHING = 1e-9  # objectives below this are no measure of size
SMALL = 1e-6  # of the objective at the start: less counts as nothing
MOST_SMOOTHING = 0.5  # part of the objective that a price on roughness may be
LOWER, LEAST = (
    1e-2,
    1e-5,
)  # factor by which it is reduced where it is more, and the least before it is dropped
SMOOTHER, DEARER = 0.5, 1.001  # factors on roughness and objective with which another optimum is a tie
FINAL = (Status.SOLVED, Status.TIME, Status.INTERRUPTED)


def solver_settings(search: Search) -> SolverSettings:
    """What a solver reads of the options of a search."""
    return SolverSettings(float(search.tolerance), search.max_iterations, search.longest, search.options)


def scale_objective(program: NonlinearProgram, start: Start, other: Callable[[], Array]) -> None:
    """Divide the objective by its size at the start, so that tolerances mean the same for every problem.

    A motion that costs nothing says nothing about others: then the size of an ``other`` one counts.
    """
    program.scale = 1.0
    size = abs(program.cost(start.z))
    _check_numbers(program, start.z, size)
    if not size > NOTHING:
        size = 1e-3 * abs(program.cost(other()))
    program.scale = 1.0 / size if np.isfinite(size) and size > NOTHING else 1.0
    if start.multipliers is not None:
        start.multipliers = start.multipliers * program.scale
        low, high = start.bound_multipliers or (np.zeros(program.n), np.zeros(program.n))
        start.bound_multipliers = low * program.scale, high * program.scale


def reference_size(program: NonlinearProgram, z: Array) -> float:
    """What a price on roughness is relative to: the objective of a simple motion, 0 if it has none."""
    size = abs(program.cost(z))
    return size if np.isfinite(size) else 0.0


def _check_numbers(program: NonlinearProgram, z: Array, objective: float) -> None:
    """Raise where own functions give no numbers at the start, where nothing can begin."""
    if np.isnan(objective):
        raise InputError("the objective is not a number (NaN) at the initial guess")
    bad = np.isnan(program.constraints(z))
    if bad.any():
        (family,) = (kind for kind, rows in program.families().items() if int(bad.argmax()) in rows)
        raise InputError(f"{family}: not a number (NaN) at the initial guess")


@dataclass(eq=False)
class MultiStart:
    """Starts and solvers in turn; what is reported and saved on the way."""

    program: NonlinearProgram
    solvers: list[Solver]
    settings: SolverSettings
    saver: Saver | None
    begun: float
    conflicts: Callable[[], list[str]] = list  # reasons why there can be no such motion
    least: float = 0.0  # objectives below this are no measure of size
    course: StartsProgress | None = None
    smoothing: float = 0.0  # price on roughness, in units of the objective
    tie_break: float = 0.0  # price on roughness once the optimum is known, relative to its objective
    counted: int = 0  # iterations that the progress of a continued search goes on from

    def run(
        self,
        first: Start,
        by_chance: Callable[[np.random.Generator], Array],
        starts: int,
        rng: np.random.Generator,
        trials: list[SearchTrial],
        progress: bool | Tell | None,
    ) -> Outcome:
        """The best of so many starts: the first, then unknowns by chance; each adds its trial."""
        scale_objective(self.program, first, lambda: by_chance(np.random.default_rng(0)))
        further = (by_chance(rng) for _ in range(starts - 1))
        with shown_progress(progress) as tell:
            self.course = None if tell is None else StartsProgress(tell, self.settings, starts)
            with one_thread():
                return self._run(first, further, trials)

    def _run(self, first: Start, further: Iterable[Array], trials: list[SearchTrial]) -> Outcome:
        program = self.program
        self.least = SMALL / program.scale
        found: list[Outcome] = []
        for start in chain([first], map(Start, further)):
            program.smoothing = self.smoothing
            outcome = self._from(start)
            found.append(outcome)
            value, duration = program.cost(outcome.z), program.duration(outcome.z)
            trials.append(SearchTrial(outcome.status, value, duration, outcome.iterations))
            if self.course is not None:
                self.course.end_start(perf_counter() - self.begun)
            if self.saver is not None:
                self.saver.keep(outcome)
            if outcome.status in (Status.TIME, Status.INTERRUPTED):
                break
        best = min(found, key=lambda outcome: rank(program, outcome))
        if self.tie_break and best.status is Status.SOLVED:
            best = self._smoothest(best)
        program.smoothing = 0.0  # which is part of the search, not of the program
        return best

    def _smoothest(self, outcome: Outcome) -> Outcome:
        """A motion as good as an optimum, but much smoother in joints that decide nothing, or itself."""
        program, (solver,) = self.program, [x for x in self.solvers if x.name == outcome.solver]
        before, rough = program.cost(outcome.z), program.roughness(outcome.z)
        self.saver, self.counted = None, outcome.iterations  # what is saved so far is the optimum
        program.scale, program.smoothing = outcome.scale, self.tie_break * max(abs(before), outcome.least)
        again = self._solve(solver, _continued(program, outcome, warm=True), self.settings)
        dearest = before + (DEARER - 1.0) * abs(before)
        if again.status is not Status.SOLVED or program.cost(again.z) > dearest:
            return outcome
        if program.roughness(again.z) > SMOOTHER * rough:
            return outcome
        again.iterations += outcome.iterations
        return again

    def _from(self, start: Start) -> Outcome:
        """Try the solvers in turn until one succeeds; the best of what they found."""
        found: list[Outcome] = []
        for solver in self.solvers:
            own = self.settings
            if solver is not self.solvers[-1]:  # another one is waiting
                own = replace(own, max_iterations=min(own.max_iterations, ENOUGH))
            found.append(self._smoothed(solver, start, own))
            hopeless = [x for x in found if x.status is Status.INFEASIBLE]
            if found[-1].status in FINAL or len(hopeless) == 2 or (hopeless and self.conflicts()):
                break
        return min(found, key=lambda outcome: rank(self.program, outcome))

    def _smoothed(self, solver: Solver, start: Start, settings: SolverSettings) -> Outcome:
        """One solver from one start, with a price on roughness that is a small part of the objective."""
        program, outcome = self.program, self._solve(solver, start, settings)
        while program.smoothing and outcome.status is Status.SOLVED:
            price = program.smoothing * program.roughness(outcome.z)
            if price <= MOST_SMOOTHING * max(abs(program.cost(outcome.z)), outcome.least):
                break
            lower = LOWER * program.smoothing
            program.smoothing = lower if lower > LEAST * self.smoothing else 0.0
            again = self._solve(solver, _continued(program, outcome, warm=True), settings)
            again.iterations += outcome.iterations
            outcome = again
        return outcome

    def _solve(self, solver: Solver, start: Start, settings: SolverSettings) -> Outcome:
        """One solver from one start; where it is not the best in the scale of its end, from there again.

        A solver compares with the objective at the start, which may be far larger than the one at the end.
        """
        program = self.program
        outcome = self._attempt(solver, start, settings)
        for warm in (True, False):
            if outcome.status not in (Status.SOLVED, Status.FAILED):
                return outcome
            if optimality(program, outcome).holds(settings.tolerance):
                outcome.status = Status.SOLVED
                return outcome
            if outcome.status is Status.FAILED:
                return outcome
            program.scale = 1.0 / reference(program, outcome)
            again = self._attempt(solver, _continued(program, outcome, warm=warm), settings)
            again.iterations += outcome.iterations
            outcome = again
        if outcome.status is Status.SOLVED and not optimality(program, outcome).holds(settings.tolerance):
            outcome.status = Status.UNPROVEN
        return outcome

    def _attempt(self, solver: Solver, start: Start, settings: SolverSettings) -> Outcome:
        """One solver from one start; what it is doing is reported and saved, also if it is broken off."""
        program, course, saver = self.program, self.course, self.saver
        watch = Watch(program, settings, None, self.begun)
        if course is not None:
            course.next_solve()
        if course is not None or saver is not None:

            def report(step: Progress) -> None:
                if saver is not None:
                    saver.watch(watch, solver.name)
                if course is not None:
                    course(replace(step, iteration=self.counted + step.iteration))

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
        elif outcome.status is Status.INFEASIBLE and watch.best is not None:  # it may have been nearer before
            outcome.z = min(outcome.z, watch.best, key=lambda z: infeasibility(program, z))
        outcome = replace(
            outcome,
            seconds=perf_counter() - since,
            scale=program.scale,
            least=self.least,
            smoothing=program.smoothing,
        )
        outcome.z = np.clip(outcome.z, program.x_lower, program.x_upper)
        if course is not None and watch.stopped is None:
            value, worst = program.cost(outcome.z), infeasibility(program, outcome.z)
            course(Progress(self.counted + outcome.iterations, value, worst, watch.seconds))
        return outcome


def _continued(program: NonlinearProgram, outcome: Outcome, *, warm: bool) -> Start:
    """Where an outcome ended, in the present scale; ``warm`` with its multipliers."""
    if not warm:
        return Start(outcome.z)
    change = program.scale / outcome.scale
    low, high = outcome.bound_multipliers
    return Start(outcome.z, change * outcome.multipliers, (change * low, change * high))
