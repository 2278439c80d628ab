"""The search for the motion of a task: attempts on meshes, by one solver and another, until one passes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any, ClassVar, Generic, TypeVar, cast

from kinetree.motion.options import Search
from kinetree.motion.outcome.phased_prediction import PhasedPrediction
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.phased import solve_phases
from kinetree.motion.predict import solve
from kinetree.motion.problem.phases import PhasedProblem
from kinetree.motion.problem.problem import Problem
from kinetree.motion.solvers.choice import chosen_solvers
from kinetree.motion.solvers.interface import Start, Status
from kinetree.motion.tightening import followed, tightened
from kinetree.result.records import Check

AUTO = "auto"
FAILS = 0.05  # of a bound: where the solver ends further beyond it, no finer mesh has a motion
HOPELESS = 2  # meshes without a motion after which no finer one is tried
STOPPED = (Status.TIME, Status.INTERRUPTED)

Mesh = TypeVar("Mesh")
Motion = TypeVar("Motion", bound=Prediction | PhasedPrediction)


class MotionTask(ABC, Generic[Mesh, Motion]):
    """A motion that is sought: problems on meshes, initial guesses, checks, and what to try next.

    ``quick`` is the solver that "auto" begins with where another one follows, with options ``own``, for at
    most ``patience`` iterations; without it "auto" is that of :func:`kinetree.predict`. Where a motion
    exceeds bounds between samples by more than ``tight`` in the end, samples are added there. With
    ``adds_up`` iterations of a motion include those on coarser meshes.
    """

    quick: ClassVar[str | None] = None
    own: ClassVar[Mapping[str, float] | None] = None
    patience: ClassVar[int | None] = None
    tight: ClassVar[float | None] = None
    adds_up: ClassVar[bool] = False

    @property
    @abstractmethod
    def mesh(self) -> Mesh:
        """The mesh to begin with."""

    @abstractmethod
    def problem(self, mesh: Mesh) -> Problem | PhasedProblem:
        """The problem on a mesh."""

    @abstractmethod
    def starts(
        self, problem: Any, attempts: Sequence[Attempt[Mesh, Motion]], budget: TimeBudget
    ) -> Iterator[Any]:
        """Initial guesses for the next mesh; each is used if those before it do not lead to a motion."""

    def checks(self, mesh: Mesh, prediction: Motion) -> dict[str, Check]:
        """The checks of a motion by name; none for one that only begins another search."""
        return {}

    def finer(self, attempts: Sequence[Attempt[Mesh, Motion]]) -> Mesh | None:
        """The mesh to try after these attempts, or None if there is nothing to gain."""
        return None

    def options(self, search: Search, attempts: Sequence[Attempt[Mesh, Motion]]) -> Search:
        """The options of the next attempt: those of the quick solver, where it may be chosen."""
        if self.quick is None or search.solver not in (AUTO, self.quick):
            return search
        own = search.options if search.options or self.own is None else self.own
        if search.solver == self.quick or self.patience is None:
            return search.changed(solver=self.quick, options=own)
        most = min(search.max_iterations, self.patience)
        return search.changed(solver=self.quick, options=own, max_iterations=most)

    def is_hopeless(self, prediction: Motion) -> bool:
        """Whether a search ended such that there seems to be no motion."""
        return prediction.outcome.status is Status.INFEASIBLE

    def conflicts(self, attempt: Attempt[Mesh, Motion], budget: TimeBudget) -> list[str]:
        """Which limits prevent a motion, one sentence each; nothing if there is one."""
        return []


@dataclass(frozen=True, eq=False)
class TimeBudget:
    """Options of a search and when it began: the one clock of all its attempts."""

    search: Search
    begun: float = field(default_factory=perf_counter)

    @property
    def seconds(self) -> float:
        """Since the search began."""
        return perf_counter() - self.begun

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return self.search.is_over(self.seconds)

    @property
    def left(self) -> Search:
        """The options with what is left of the time."""
        return self.search.after(self.seconds)

    def solve(self, problem: Problem | PhasedProblem, start: Any, options: Search) -> Any:
        """The motion that solves a problem within the time that is left."""
        options = options.changed(time_limit=self.search.time_limit).after(self.seconds)
        if isinstance(problem, PhasedProblem):
            return solve_phases(problem, start, options)
        return solve(problem, start, options)


@dataclass(frozen=True, eq=False)
class Attempt(Generic[Mesh, Motion]):
    """A motion as it was sought: on which mesh, from which initial guess."""

    task: MotionTask[Mesh, Motion]
    mesh: Mesh
    problem: Problem | PhasedProblem
    start: Any
    prediction: Motion

    @cached_property
    def checks(self) -> dict[str, Check]:
        """All checks of the task by name."""
        return self.task.checks(self.mesh, self.prediction)

    @property
    def passed(self) -> bool:
        """Whether the motion is solved and all checks pass."""
        return self.prediction.solved and all(x.passed for x in self.checks.values())

    @property
    def solved(self) -> bool:
        """Whether the motion is solved at its samples."""
        return self.prediction.solved_at_samples

    @property
    def parts(self) -> list[Prediction]:
        """The motion of each phase."""
        found: Prediction | PhasedPrediction = self.prediction
        return [found] if isinstance(found, Prediction) else list(found.parts)

    @property
    def is_hopeless(self) -> bool:
        """Whether there seems to be no motion."""
        return self.task.is_hopeless(self.prediction)


@dataclass(frozen=True, eq=False)
class Found(Generic[Mesh, Motion]):
    """What a search ended with: the best attempt, what prevents a motion, and what the search took."""

    attempt: Attempt[Mesh, Motion]
    conflicts: tuple[str, ...]
    iterations: int  # of all attempts
    seconds: dict[str, float]

    @property
    def prediction(self) -> Motion:
        """The motion of the best attempt."""
        return self.attempt.prediction

    @property
    def checks(self) -> dict[str, Check]:
        """The checks of the best attempt."""
        return self.attempt.checks


def seek(task: MotionTask[Mesh, Motion], search: Search, found: Motion | None = None) -> Found[Mesh, Motion]:
    """The motion of a task: on the first mesh on which it passes, else the best attempt.

    An attempt is followed by one on a finer mesh while the task names one, from the motion before; where none
    is solved and the solver is free, by one of another solver on the first mesh. Nothing follows where time
    is over or there is clearly no motion; then the conflicts name the limits that prevent it. With
    ``found``, a motion on the first mesh, the search continues from there.
    """
    driver = _Driver(task, TimeBudget(search))
    best = driver.best(found)
    why = task.conflicts(best, driver.budget)
    if why:
        outcome = replace(best.prediction.outcome, status=Status.INFEASIBLE)
        best = replace(best, prediction=replace(best.prediction, outcome=outcome))
    searched = driver.budget.seconds - driver.preparing
    begun = perf_counter()
    best.checks  # noqa: B018
    seconds = {"problem": driver.preparing, "search": searched, "checks": perf_counter() - begun}
    return Found(best, tuple(why), driver.iterations, seconds)


class _Driver(Generic[Mesh, Motion]):
    """Attempts one after another."""

    def __init__(self, task: MotionTask[Mesh, Motion], budget: TimeBudget) -> None:
        self.task, self.budget, self.search = task, budget, budget.search
        self.attempts: list[Attempt[Mesh, Motion]] = []
        self.other: Attempt[Mesh, Motion] | None = None  # by another solver than the quick one
        self.iterations, self.preparing = 0, 0.0

    def best(self, found: Motion | None) -> Attempt[Mesh, Motion]:
        """The first attempt that leaves nothing to try, or the best of all."""
        task, mesh = self.task, self.task.mesh
        if found is None:
            self._try(mesh)
        else:
            self.attempts.append(Attempt(task, mesh, _problem_of(found), None, found))
        self._refine()
        if self._try_other_solver():
            self._refine()
        best = self._best()
        return best if self._is_stopped() else self._with_samples(best)

    def _refine(self) -> None:
        """Finer meshes as long as the task names one."""
        while self._goes_on():
            finer = self.task.finer(self.attempts)
            if finer is None or self.budget.is_over:
                break
            self._try(finer)

    def _is_stopped(self) -> bool:
        return self.attempts[-1].prediction.outcome.status in STOPPED

    def _goes_on(self) -> bool:
        """Whether another mesh may help: not after a stop, nor where there is clearly no motion."""
        last = self.attempts[-1]
        clear = last.is_hopeless and last.prediction.max_violation > FAILS
        return not (self._is_stopped() or clear or sum(x.is_hopeless for x in self.attempts) == HOPELESS)

    def _try(self, mesh: Mesh) -> None:
        """One mesh, from one initial guess after another until one leads to a motion."""
        options = self.task.options(self.search, self.attempts)
        first: Attempt[Mesh, Motion] | None = None
        begun = perf_counter()
        problem = self.task.problem(mesh)
        self.preparing += perf_counter() - begun
        for start in self.task.starts(problem, self.attempts, self.budget):
            attempt = self._attempt(mesh, problem, start, options)
            first = attempt if first is None or attempt.solved else first
            if attempt.solved or self.budget.is_over:
                break
        assert first is not None
        if self.attempts and self.task.adds_up and first.solved:
            first = replace(first, prediction=followed(self.attempts[-1].prediction, first.prediction))
        self.attempts.append(first)

    def _attempt(
        self, mesh: Mesh, problem: Problem | PhasedProblem, start: Any, options: Search
    ) -> Attempt[Mesh, Motion]:
        if self.iterations and options.save is not None:
            options = options.changed(force=True)  # the file is that of the attempt before
        prediction = self.budget.solve(problem, start, options)
        prediction.asked = self.search.stated()
        self.iterations += prediction.iterations
        return Attempt(self.task, mesh, problem, start, prediction)

    def _best(self) -> Attempt[Mesh, Motion]:
        """The last one that is solved, or the first without a motion, which is easy to explain."""
        solved = [x for x in self.attempts if x.solved]
        if solved:
            return solved[-1]
        hopeless = [x for x in self.attempts if x is not self.other and x.is_hopeless]
        best = (hopeless or self.attempts)[0]
        return best if self.other is None else min(best, self.other, key=lambda x: x.prediction.max_violation)

    def _try_other_solver(self) -> bool:
        """Try another solver where the quick one found nothing; the only one gets all iterations then."""
        task, search, best = self.task, self.search, self._best()
        free = search.solver == AUTO and task.quick is not None
        if not free or best.solved or best.is_hopeless or self._is_stopped() or self.budget.is_over:
            return False
        first = self.attempts[0]
        others = [x.name for x in chosen_solvers(AUTO, first.problem.program) if x.name != task.quick]
        options = task.options(search, ()).changed(max_iterations=search.max_iterations)
        options = search.changed(solver=others[0]) if others else options
        self.other = self._attempt(first.mesh, first.problem, first.start, options)
        self.attempts.append(self.other)
        return True

    def _with_samples(self, best: Attempt[Mesh, Motion]) -> Attempt[Mesh, Motion]:
        """The motion with samples where bounds are exceeded between the others, if it passes then."""
        if self.task.tight is None or not best.solved or best.passed:
            return best
        options = self.task.options(self.search, self.attempts).changed(
            max_iterations=self.search.max_iterations, starts=1, between=None, save=None
        )

        def again(problem: Problem | PhasedProblem, start: Start) -> Motion:
            return cast(Motion, self.budget.solve(problem, start, options))

        tight = tightened(best.prediction, self.task.tight, again)
        better = replace(best, problem=_problem_of(tight), prediction=tight)
        return better if better.passed else best


def _problem_of(prediction: Prediction | PhasedPrediction) -> Problem | PhasedProblem:
    """What a motion solves."""
    return prediction.problem if isinstance(prediction, Prediction) else prediction.phases
