"""A primal-dual interior-point method for motions: few unknowns, many samples, exact Hessians, dense factors.

Two searches with the same conditions at their ends, and the rule which of them goes first. It needs no extra
package and gives the same bits every time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.motion.solvers.filter_search import FilterSearch
from kinetree.motion.solvers.interface import (
    Outcome,
    Solver,
    SolverSettings,
    Start,
    Status,
    Watch,
    infeasibility,
    rank,
)
from kinetree.motion.solvers.merit_search import MeritSearch
from kinetree.motion.solvers.null_space import NullSpace
from kinetree.motion.solvers.scaled import ScaledProgram, steepness
from kinetree.motion.solvers.soft import EQUAL, STEPS, Soft

FAR = 0.1  # largest scaled violation at a start that needs no soft stage
PATIENT, IMPATIENT = 200, 120  # iterations of the merit and of the filter search before the other is tried
NOTHING = 1e-9  # objectives below this are no measure of size


class InteriorPoint(Solver):
    """The default: interior point with condensed dense Newton steps.

    The *filter* search uses the exact Hessian from the first step. The *merit* search begins with Gauss and
    Newton's, from far away with a soft stage, and is considered if durations are fixed and Gauss and Newton's
    Hessian is definite on the null space of the equations. It goes first if there are equations; without
    these it has its turn where the filter search takes long.
    """

    name = "interior"
    allowed: ClassVar[Mapping[str, type | tuple[Any, ...]]] = {
        "corrections": int,  # of second order, in one step of the filter search
        "equation_price": float,  # in the soft stage
    }

    @override
    def solve(
        self, program: NonlinearProgram, start: Start, settings: SolverSettings, watch: Watch
    ) -> Outcome:
        """Solve the program from a starting point."""
        run = SearchRuns(program, start, watch, self.checked_options(settings.options))
        if not may_be_straight(program, start.z):
            return run.filtered(settings, 0)
        first, second, patience = run.filtered, run.straight, IMPATIENT
        if len(_equations(program)):
            first, second, patience = run.straight, run.filtered, PATIENT
        found = first(replace(settings, max_iterations=min(settings.max_iterations, patience)), 0)
        limited = found.status is Status.ITERATIONS and found.iterations < settings.max_iterations
        hopeless = found.status is Status.INFEASIBLE and first == run.straight
        if not limited and not hopeless and found.status is not Status.FAILED:
            return found
        other = second(settings, found.iterations)
        found.iterations = other.iterations
        violated = infeasibility(program, found.z) > settings.tolerance
        if other.status is Status.INFEASIBLE and violated:
            return other
        return min(other, found, key=lambda outcome: rank(program, outcome))


def may_be_straight(program: NonlinearProgram, z: Array) -> bool:
    """Whether Gauss and Newton's Hessian can stand for the exact one far from a solution.

    Objectives must be convex in what they are made of, durations fixed, and the matrix at z definite on the
    null space of the equations: else only curvature says how far to go in some directions.
    """
    if not program.squares or len(program.durations) or not program.n:
        return False
    linear = program.linearized(z)
    space = NullSpace(linear.chosen(_equations(program)))
    return space.rank < program.n and space.is_definite(linear.condensed(np.zeros(program.m)))


def _equations(program: NonlinearProgram) -> Any:
    return np.flatnonzero(program.lower == program.upper)


class SearchRuns:
    """A program and its start: each search once, after so many iterations of the other."""

    def __init__(
        self, program: NonlinearProgram, start: Start, watch: Watch, options: Mapping[str, Any]
    ) -> None:
        self.program, self.start, self.watch, self.options = program, start, watch, options

    def straight(self, settings: SolverSettings, done: int) -> Outcome:
        """The merit search; from far away after a soft stage, whose end says how large the objective is."""
        program, start, scale = self.program, self.start, self.program.scale
        try:
            if start.multipliers is None and infeasibility(program, start.z) > FAR:
                price = self.options.get("equation_price", EQUAL)
                soft = Soft(program, start.z, self.watch, done, price)
                soft.run(min(STEPS, settings.max_iterations - done))
                if self.watch.stopped is not None:
                    return _stopped(program, soft, self.watch.stopped)
                start, done = Start(soft.z), soft.iteration
                program.scale *= 1.0 / max(abs(program.objective(soft.z)), NOTHING)
            search = MeritSearch(program, start, settings, self.watch, done)
            status, message = search.run()
            back = scale / program.scale
        finally:
            program.scale = scale
        return _outcome(search, program.n, np.full(program.m, back), back, status, message)

    def filtered(self, settings: SolverSettings, done: int) -> Outcome:
        """The filter search, steep rows scaled."""
        program, start, sizes = self.program, self.start, steepness(self.program, self.start.z)
        if sizes.max(initial=1.0) > 1.0:
            program = ScaledProgram(program, sizes)
            if start.multipliers is not None:
                start = Start(start.z, start.multipliers * sizes, start.bound_multipliers)
        search = FilterSearch(program, start, settings, self.watch, self.options, done)
        search.sizes = sizes
        status, message = search.run()
        return _outcome(search, program.n, 1.0 / sizes, 1.0, status, message)


def _stopped(program: NonlinearProgram, soft: Soft, status: Status) -> Outcome:
    """Where a soft stage was stopped, without multipliers."""
    y, none = np.zeros(program.m), (np.zeros(program.n), np.zeros(program.n))
    return Outcome(soft.z, y, none, status, soft.iteration, "stopped", InteriorPoint.name)


def _outcome(
    search: FilterSearch | MeritSearch, n: int, of_rows: Array, of_bounds: float, status: Status, message: str
) -> Outcome:
    """Where a search ended; factors lead from its multipliers to those of the program."""
    at, barrier = search.at, search.barrier
    low, high = np.zeros(len(at.v)), np.zeros(len(at.v))
    low[barrier.bounded_low], high[barrier.bounded_high] = of_bounds * at.low, of_bounds * at.high
    return Outcome(
        at.v[:n], at.y * of_rows, (low[:n], high[:n]), status, search.iteration, message, InteriorPoint.name
    )
