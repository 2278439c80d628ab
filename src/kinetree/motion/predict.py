"""The verb: predict the best motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.engine.code import piece
from kinetree.engine.companion import compile_ahead
from kinetree.errors import AssemblyError, InputError, must_be, shown
from kinetree.formats.regular_file import PathLike
from kinetree.motion.compiled import assembly, condensed
from kinetree.motion.options import BETWEEN_SAMPLES, Search
from kinetree.motion.outcome.explain import OBSTACLES
from kinetree.motion.outcome.prediction import Prediction, SearchTrial
from kinetree.motion.outcome.verify import verified
from kinetree.motion.problem.problem import Problem
from kinetree.motion.search.saving import Saver
from kinetree.motion.search.search import MultiStart, reference_size, solver_settings
from kinetree.motion.search.start import given_motion, random_start, regridded, result_motion, straight_line
from kinetree.motion.solvers.choice import SolverName, chosen_solvers
from kinetree.motion.solvers.interface import Outcome, Progress, Start, Status
from kinetree.motion.terms.boundary import CLOSED
from kinetree.motion.terms.contract import Constraint
from kinetree.motion.terms.idle import AtRest
from kinetree.motion.tightening import tightened_within
from kinetree.result.result import Result
from kinetree.state import hint_at_degrees

Given = Prediction | Result | Start | tuple[ArrayLike, ArrayLike] | str | None
RANDOM = "random"
DERIVATIVES = ("rnea_gradient", "rnea_hessian")  # kernels that most predictions need
FEW, NEARLY = 30, 1e-2  # iterations and tolerance of a second start; its motion is not used
DEARER = 0.02  # of the objective: by so much the second start must end cheaper to be named


def predict(
    problem: Problem,
    *,
    solver: SolverName = "auto",
    start: Given = None,
    starts: int = 1,
    seed: int = 0,
    tolerance: float = 1e-6,
    max_iterations: int = 1000,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
    between: float | None = BETWEEN_SAMPLES,
    progress: bool | Callable[[Progress], object] | None = None,
    save: PathLike | None = None,
    force: bool = False,
) -> Prediction:
    """The motion that solves a problem, verified independently of the solver and explained.

    ``solver``: "auto", "interior", "ipopt" or "slsqp". ``start`` is the initial guess: an earlier prediction
    or result, (times, positions), "random", or by default a straight line; with ``starts`` > 1 random motions
    are tried, too, and the best solution is kept. ``tolerance`` is for optimality and for violations relative
    to the bounds.

    Constraints are enforced at samples and also verified between them. Where a bound is exceeded there by
    more than the fraction ``between``, samples are added and the search continues, at most three times
    (:func:`tighten` goes further); None adds no samples. The first sentence of the outcome states what holds
    where.

    Where obstacles are in the way, a second start on their other side is tried for a short while; if it ends
    cheaper, the explanation says so.

    ``progress``: a function that is called in every iteration, or whether to show a progress line (default:
    on a terminal). Ctrl-C stops and keeps the best motion so far. ``save`` names a .nc file for the best
    motion so far, written every half minute and at the end; an existing file is replaced only with ``force``.

    >>> import kinetree as kt
    >>> from kinetree.motion.problem.problem import Problem
    >>> from kinetree.motion.terms import Boundary, Time, TorqueLimits
    >>> rest = [Boundary("start", [0.0, -2.0], 0.0), Boundary("end", [1.0, -1.0], 0.0)]
    >>> problem = Problem(kt.zoo.two_link(), objective=Time(), constraints=[*rest, TorqueLimits()])
    >>> round(predict(problem).duration, 4)
    0.3931
    """
    if not isinstance(problem, Problem):
        raise InputError(f"predict needs a Problem, got {shown(problem)}")
    search = Search(
        solver, starts, seed, tolerance, max_iterations, time_limit, options, between, progress, save, force
    )
    begun = perf_counter()
    found = solve(problem, start, search)
    if start is None and starts == 1:
        found.cheaper = cheaper_start(problem, found, search.after(perf_counter() - begun))
    return found


def cheaper_start(problem: Problem, found: Prediction, search: Search) -> SearchTrial | None:
    """A motion that costs less, from a start on the other side of obstacles; None where there is none.

    ``found`` solves the problem, perhaps with samples added. The start is this motion, mirrored about the
    straight one. It is tried where an obstacle is in the way of an optimum, with few iterations and a wide
    tolerance: enough to see that it is cheaper.
    """
    outcome = found.outcome
    in_the_way = any(x.family in OBSTACLES for x in found.active)
    if not found.solved_at_samples or not in_the_way or problem.acting or problem.setting.closure is not None:
        return None
    unknowns, T = problem.setting.unknowns, found.duration
    mirrored = unknowns.with_duration(2.0 * straight_line(problem, T) - found.x, T)
    own = Search(
        solver=outcome.solver, tolerance=max(NEARLY, search.tolerance), max_iterations=FEW,
        time_limit=search.time_limit, options=search.options, between=None, progress=False,
    )  # fmt: skip
    other = solve(problem, Start(problem.program.reduced(mirrored)), own)
    saved = found.objective - other.objective
    kept = other.outcome.status is Status.SOLVED and other.violation_at_samples <= NEARLY
    if not kept or saved <= DEARER * max(abs(found.objective), outcome.least):
        return None
    return SearchTrial(other.outcome.status, other.objective, other.duration, other.iterations)


def solve(problem: Problem, start: Given, search: Search) -> Prediction:
    """The motion that solves a problem, by the options of a search; see `predict`."""
    begun, given = perf_counter(), start
    compile_ahead(
        [piece("rnea_unloaded", "many")],
        [piece(name, "full") for name in DERIVATIVES],
        [partial(room.compiled, function) for room in (assembly, condensed) for function in room.USUAL],
    )
    solvers = chosen_solvers(search.solver, problem.program, search.options)
    asked = search.stated()
    trials: list[SearchTrial] = []

    def made(outcome: Outcome) -> Prediction:
        x = problem.program.unknowns(outcome.z)
        return Prediction(
            problem, x, outcome, verified(problem, x), perf_counter() - begun, list(trials), asked
        )

    def by_chance(rng: np.random.Generator) -> Array:
        return program.reduced(random_start(problem, rng))

    program, rng = problem.program, np.random.default_rng(search.seed)
    saver = None if search.save is None else Saver(program, search.save, search.force, made)
    runs = MultiStart(program, solvers, solver_settings(search), saver, begun, problem.conflicts)
    if start is None:
        start = _at_rest(problem, search)
    before = start.outcome.iterations if isinstance(start, Prediction) and given is None else 0
    runs.counted = before
    first = (
        Start(by_chance(rng)) if isinstance(start, str) and start == RANDOM else _first_start(problem, start)
    )
    _refuse_open_start(problem, first)
    if program.rough and problem.breaks_ties:
        runs.tie_break = problem.regularization
    elif program.rough:
        runs.smoothing = problem.regularization * reference_size(program, _reference(problem, start, first))
    _hint_at_degrees(problem)
    outcome = runs.run(first, by_chance, search.starts, rng, trials, search.progress)
    outcome.iterations += before
    found = tightened_within(made(outcome), search, solve)
    found.asked = asked
    if saver is not None:
        saver.write(found)
    return found


def _hint_at_degrees(problem: Problem) -> None:
    """Warn of boundary conditions that look like degrees beside the limits of their joints."""
    known, largest = problem.known_positions(), np.zeros(problem.mechanism.n_dof)
    for joint, column in problem.setting.column.items():
        largest[joint] = max((q for _, q in known.get(column, [])), key=abs, default=0.0)
    hint_at_degrees(problem.mechanism, largest, "boundary position")


def _at_rest(problem: Problem, search: Search) -> Prediction | None:
    """The motion of closed loops in which joints without drives rest, where that is possible.

    From the straight motion, in which they move as nothing makes them move, the search for both is long.
    """
    setting, known = problem.setting, problem.known_positions()
    if setting.closure is None or not setting.passive or not set(setting.passive) <= set(setting.splines):
        return None
    if len(setting.passive) == setting.profiles.n or any(isinstance(x, AtRest) for x in problem.constraints):
        return None
    names = [setting.mechanism.joint_names[j] for j in setting.passive]
    first = [float(setting.closure.guess[setting.own[j]]) for j in setting.passive]
    for joint, position in zip(setting.passive, first, strict=True):
        if any(abs(q - position) > CLOSED for _, q in known.get(setting.column[joint], [])):
            return None
    given = problem.arguments["constraints"]
    given = [given] if isinstance(given, Constraint) else list(given)
    try:
        rest = AtRest(dict(zip(names, first, strict=True)))
        held = problem.changed(constraints=[*given, rest])
        found = solve(held, None, _first_of(search))
    except InputError:
        return None
    return found if found.solved else None


def _first_of(search: Search) -> Search:
    """Options of a search that only begins another one: all iterations, no time limit, one start, no file."""
    return Search(
        solver=search.solver, tolerance=search.tolerance, options=search.options, between=None,
        progress=search.progress,
    )  # fmt: skip


def _refuse_open_start(problem: Problem, start: Start) -> None:
    """An error where the motion that a search begins with leaves the branch of closed loops."""
    if problem.setting.closure is not None:
        try:
            problem.program.constraints(start.z)
        except AssemblyError as error:
            raise AssemblyError(
                f"{error}. This motion cannot be the initial guess: choose an end on the branch of the "
                f"start, or give an initial motion, predict(problem, start=(times, positions))"
            ) from None


def _reference(problem: Problem, given: Given, first: Start) -> Array:
    """The motion whose objective is the measure of a price on roughness: the straight one, if it exists."""
    if given is not None:
        with suppress(AssemblyError):
            z = problem.program.reduced(straight_line(problem))
            problem.program.constraints(z)
            return z
    return first.z


def _from_prediction(problem: Problem, start: Prediction) -> Start:
    """The same unknowns where splines are equal, with multipliers if all else is; else the nearest motion."""
    program, same, unknowns = problem.program, start.problem.program, problem.setting.unknowns
    if not unknowns.same_splines(start.problem.setting.unknowns):
        return Start(program.reduced(regridded(problem, start.problem, start.x)))
    if (same.n, same.m) == (program.n, program.m):
        return start.warm_start
    duration = float(np.clip(start.duration, *problem.setting.duration))
    nothing = np.zeros(program.n)  # of multipliers: the motion is near, so no bound pushes it away
    z = program.reduced(unknowns.with_duration(start.x, duration))
    y = start.outcome.multipliers if same.m == program.m else np.zeros(program.m)
    return Start(z, y.copy(), (nothing, nothing.copy()))


def _first_start(problem: Problem, start: Given) -> Start:
    program = problem.program
    if start is None:
        return Start(program.reduced(straight_line(problem)))
    if isinstance(start, Start):
        return start
    if isinstance(start, Prediction):
        return _from_prediction(problem, start)
    if isinstance(start, Result):
        return Start(program.reduced(result_motion(problem, start)))
    if not isinstance(start, tuple) or len(start) != 2:
        raise InputError(
            must_be("start", "an earlier prediction or result, (times, positions) or 'random'", start)
        )
    return Start(program.reduced(given_motion(problem, *start)))
