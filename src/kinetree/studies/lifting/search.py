"""How a lift is sought: from which motion, on which mesh, by which solver, until its checks pass."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.predict import predict
from kinetree.motion.problem.problem import Problem
from kinetree.motion.solvers.choice import SOLVERS
from kinetree.motion.solvers.interface import Start, Status
from kinetree.motion.tightening import tightened
from kinetree.result.records import Check
from kinetree.studies.lifting.checks import OUTSIDE, checked
from kinetree.studies.lifting.problem import BOX, Lifter, lifting_problem
from kinetree.studies.lifting.task import MOST_POINTS

FINER, REFINED = 1.6, 2  # segments beside those of a lift that fails on its mesh; how often
ROUGH = 1e-2  # tolerance of a lift that only begins another one
PATIENT = 80  # iterations on a mesh before a finer one is tried
TIGHT = 0.5 * OUTSIDE  # of a bound between samples; that of the zero-moment point is relative to 1 m
HOPELESS = 2  # meshes on which there is no way
FAILS = 0.05  # of a bound, by which it is exceeded where no finer mesh finds a way
FAR = 45.0  # degrees: from further beside, the search begins with a lift from here
QUICK, SURE = "interior", "ipopt"  # what "auto" tries first, and after all else


@dataclass(frozen=True, eq=False)
class Attempt:
    """A lift as it was sought: by whom on which mesh, from what, with which checks."""

    who: Lifter
    problem: Problem
    start: Any
    prediction: Prediction
    checks: dict[str, Check]

    @property
    def passed(self) -> bool:
        """Whether it is a lift and all checks pass."""
        return self.prediction.solved and all(x.passed for x in self.checks.values())

    @property
    def hopeless(self) -> bool:
        """Whether the solver found that there is no way."""
        return self.prediction.outcome.status is Status.INFEASIBLE


@dataclass(frozen=True, eq=False)
class Seeker:
    """Arguments of every search, within one time limit."""

    tolerance: float
    search: dict[str, Any]
    begun: float = field(default_factory=perf_counter)

    @property
    def solver(self) -> str:
        """The quick one if the choice is free."""
        asked: str = self.search["solver"]
        return QUICK if asked == "auto" else asked

    @property
    def over(self) -> bool:
        """Whether no time is left."""
        limit = self.search["time_limit"]
        return limit is not None and perf_counter() - self.begun >= limit

    def options(self, **own: Any) -> dict[str, Any]:
        """For one search."""
        limit = self.search["time_limit"]
        if limit is not None:
            limit = max(limit - (perf_counter() - self.begun), 1e-9)
        return {**self.search, "solver": self.solver, "tolerance": self.tolerance, "time_limit": limit, **own}

    def rough(self, problem: Problem, start: Any = None) -> Prediction:
        """A lift that another one begins with."""
        return predict(problem, start=start, **self.options(tolerance=ROUGH, starts=1))


def sought(who: Lifter, start: Any, seeker: Seeker) -> Attempt:
    """The lift on the first mesh on which it passes; else the best attempt.

    What fails between samples passes on a finer mesh, or with samples there; what is not found in so many
    iterations often is on a finer mesh, too. Where two meshes have no way, or one by far, there is none.
    """
    task, both = who.task, None
    if start is None and not task.symmetric:
        start = both = _beginning(who, seeker)
    given = seeker.search["solver"] != "auto"
    most = seeker.search["max_iterations"]
    tried: list[Attempt] = []
    for k in range(REFINED + 1):
        points = round(FINER**k * task.points)
        if k and (points > MOST_POINTS or seeker.over):
            break
        own = who if k == 0 else replace(who, task=task.changed(points=points))
        last = given or k == REFINED
        found = _on_mesh(own, start, both, seeker, most if last else min(most, PATIENT))
        tried.append(found)
        stopped = found.prediction.outcome.status in (Status.TIME, Status.INTERRUPTED)
        if found.passed or stopped:
            return found
        clear = found.hopeless and found.prediction.max_violation > FAILS
        if clear or sum(x.hopeless for x in tried) == HOPELESS:
            break
        if found.prediction.solved_at_samples and not task.symmetric:
            start, both = (found.prediction.t, found.prediction.q), None
    found = _best(tried)
    if found.prediction.solved_at_samples:
        return _with_samples(found, seeker)
    if given or found.hopeless or seeker.over or not SOLVERS[SURE].is_installed():
        return found
    return _attempt(who, start, seeker, solver=SURE)


def _best(tried: list[Attempt]) -> Attempt:
    """The last one that is solved at its samples, or the first without a way, which is easy to explain."""
    solved = [x for x in tried if x.prediction.solved_at_samples]
    hopeless = [x for x in tried if x.hopeless]
    return solved[-1] if solved else (hopeless or tried)[0]


def _attempt(who: Lifter, start: Any, seeker: Seeker, **own: Any) -> Attempt:
    problem = lifting_problem(who.task, who)
    prediction = predict(problem, start=start, **seeker.options(**own))
    return Attempt(who, problem, start, prediction, checked(who, prediction))


def _on_mesh(who: Lifter, start: Any, both: Any, seeker: Seeker, most: int) -> Attempt:
    """One mesh; a lift that is not found may be, begun with one in the time that its beginning takes."""
    first = _attempt(who, start, seeker, max_iterations=most)
    if both is None or first.prediction.solved_at_samples or seeker.over:
        return first
    timed = who.task.changed(duration=float(both[0][-1]))
    begun = seeker.rough(lifting_problem(timed, replace(who, task=timed)), both)
    if not begun.solved_at_samples:
        return first
    second = _attempt(who, begun, seeker, max_iterations=most)
    return second if second.prediction.solved_at_samples else first


def _with_samples(found: Attempt, seeker: Seeker) -> Attempt:
    """The same with samples where limits are exceeded between the others, if that is better."""

    def again(problem: Problem, start: Start) -> Prediction:
        return predict(problem, start=start, between=None, **seeker.options(starts=1))

    tight = tightened(found.prediction, TIGHT, again)
    better = replace(found, problem=tight.problem, prediction=tight, checks=checked(found.who, tight))
    return better if better.passed else found


def _beginning(who: Lifter, seeker: Seeker) -> tuple[Array, Array]:
    """Times (m,) and positions (m, n) of a lift that is easier to find: by both hands, straight ahead.

    From far beside, it is the lift from half way there, begun in the same way.
    """
    task = who.task
    symmetric = task.changed(hand="both", beside=0.0, strength={})
    both = seeker.rough(lifting_problem(symmetric))
    q = np.zeros((len(both.t), who.mechanism.n_dof))
    theirs = both.problem.mechanism
    for k, name in enumerate(who.mechanism.joint_names):
        source = BOX if name == f"{BOX}.pitch" else name
        if source in theirs.joint_names:
            q[:, k] = both.q[:, theirs.joint_index(source)]
    if abs(task.beside) <= FAR:
        return both.t, q
    near = task.changed(beside=float(np.copysign(FAR, task.beside)))
    found = seeker.rough(lifting_problem(near, replace(who, task=near)), (both.t, q))
    return (found.t, found.q) if found.solved_at_samples else (both.t, q)
