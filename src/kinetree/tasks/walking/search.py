"""How steps and strides are sought: by which solver, with which instants, and what prevents one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import listed
from kinetree.motion.options import Search
from kinetree.motion.outcome.phased_prediction import PhasedPrediction
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.problem.problem import Problem
from kinetree.motion.seek import AUTO, FAILS, STOPPED, Attempt, MotionTask, TimeBudget
from kinetree.motion.solvers.interface import Status
from kinetree.motion.terms import Friction, GroundClearance, JointLimits, Support, TorqueLimits
from kinetree.motion.terms.contract import Constraint
from kinetree.motion.terms.strength import StrengthLimits
from kinetree.motion.tightening import ROUNDS
from kinetree.result.records import Check
from kinetree.tasks.conflict import BETWEEN, conflicting, excess_of_torques
from kinetree.tasks.sampled import SampledMotion
from kinetree.tasks.walking.checks import checked, exceeded, friction_needed, outside_support, strength_needed
from kinetree.tasks.walking.problem import Walker, walker, walking_problem
from kinetree.tasks.walking.task import Walking

QUICK = "interior"  # what "auto" tries first, also with many points: IPOPT takes minutes for these
GENTLE = {"equation_price": 7.0}  # feet that are tied down later leave a way to straighter knees
PATIENT = 200  # iterations after which a step that breaks limits by far is given up; others take 30 to 160
LONGEST = 150  # iterations of a search with further instants; those that find a step take 10 to 110
STICKY = 2.0  # coefficient of friction where no foot slips, the largest that is allowed
STRENGTH, FRICTION, SUPPORT, CLEARANCE, LANDMARKS = (
    "torque limit", "friction", "support", "ground clearance", "joint limit at landmarks",
)  # fmt: skip
KINDS = (STRENGTH, FRICTION, SUPPORT, CLEARANCE, LANDMARKS)
Instants = tuple[Array, ...]  # further instants s of each step, at which limits hold, too
Motion = TypeVar("Motion", bound=Prediction | PhasedPrediction)


class Footsteps(MotionTask[Instants, Motion]):
    """What searches for one step or two have in common.

    The solver of walking is tried first, and no other one where that is far from any step. Where a step
    exceeds limits between its instants, it is sought again with instants there, from the step before.
    """

    quick: ClassVar[str | None] = QUICK
    own: ClassVar[Mapping[str, float] | None] = GENTLE
    patience: ClassVar[int | None] = PATIENT
    adds_up: ClassVar[bool] = True

    @property
    @abstractmethod
    def walkers(self) -> tuple[Walker, ...]:
        """Who takes each step."""

    @abstractmethod
    def first(self, budget: TimeBudget) -> Any:
        """The motion to begin with."""

    @property
    def mesh(self) -> Instants:
        """No instants but those of the problem."""
        return tuple(np.zeros(0) for _ in self.walkers)

    def starts(
        self, problem: Any, attempts: Sequence[Attempt[Instants, Motion]], budget: TimeBudget
    ) -> Iterator[Any]:
        """The motion to begin with, then the one before."""
        if not attempts:
            yield self.first(budget)
            return
        last = attempts[-1]
        yield last.prediction if isinstance(last.prediction, Prediction) else last.parts

    def options(self, search: Search, attempts: Sequence[Attempt[Instants, Motion]]) -> Search:
        """The solver of walking; from a step that was found, the one that found it, for fewer iterations."""
        if not attempts:
            return super().options(search, attempts)
        solver = attempts[-1].prediction.outcome.solver if search.solver == AUTO else search.solver
        most = min(search.max_iterations, LONGEST)
        return search.changed(solver=solver, starts=1, max_iterations=most)

    def finer(self, attempts: Sequence[Attempt[Instants, Motion]]) -> Instants | None:
        """Instants where limits are exceeded between the others, a few times."""
        last = attempts[-1]
        if not last.solved or sum(x.solved for x in attempts) > ROUNDS:
            return None
        peaks = [exceeded(who, part) for who, part in zip(self.walkers, last.parts, strict=True)]
        if not any(len(x) for x in peaks):
            return None
        return tuple(np.union1d(x, y) for x, y in zip(last.mesh, peaks, strict=True))

    def is_hopeless(self, prediction: Motion) -> bool:
        """Whether a search ended far from any step that keeps all limits, and not for lack of iterations."""
        outcome = prediction.outcome
        if outcome.status is Status.INFEASIBLE:
            return True
        if prediction.solved_at_samples or outcome.status in STOPPED or prediction.max_violation <= FAILS:
            return False
        assert self.patience is not None
        return outcome.status is not Status.ITERATIONS or (
            outcome.solver == QUICK and outcome.iterations >= self.patience
        )


@dataclass(frozen=True, eq=False)
class NearStep(Footsteps[Prediction]):
    """A step that another search begins with, or that is one of many: at its own instants, not checked."""

    task: Walking
    start: Any = None  # of the search; upright, q = 0, by default
    who: Walker | None = None  # by default who the task says

    @cached_property
    def walker(self) -> Walker:
        """Who takes the step."""
        return self.who or walker(self.task)

    @property
    def walkers(self) -> tuple[Walker]:
        """Who takes the step."""
        return (self.walker,)

    def problem(self, mesh: Instants) -> Problem:
        """The step with limits at further instants."""
        return walking_problem(self.task, self.walker, more=mesh[0])

    def first(self, budget: TimeBudget) -> Any:
        """The given motion, or standing upright."""
        if self.start is not None:
            return self.start
        return np.array([0.0, self.task.duration]), np.zeros((2, self.walker.mechanism.n_dof))

    def finer(self, attempts: Sequence[Attempt[Instants, Prediction]]) -> Instants | None:
        """No further instants."""
        return None


@dataclass(frozen=True, eq=False)
class StepSearch(NearStep):
    """The search for a step that passes all checks; ``simulated`` adds a simulation to them."""

    simulated: bool = False

    def finer(self, attempts: Sequence[Attempt[Instants, Prediction]]) -> Instants | None:
        """Instants where limits are exceeded between the others, a few times."""
        return Footsteps.finer(self, attempts)

    def checks(self, mesh: Instants, prediction: Prediction) -> dict[str, Check]:
        """All checks of a step."""
        return checked(self.walker, prediction, simulated=self.simulated)

    def conflicts(self, attempt: Attempt[Instants, Prediction], budget: TimeBudget) -> list[str]:
        """The limits that prevent a step."""
        if not attempt.is_hopeless and not self.breaks_between(attempt.prediction, budget):
            return []
        return conflicts(self.walker, self.first(budget))

    def breaks_between(self, found: Prediction, budget: TimeBudget) -> bool:
        """Whether a step keeps limits at instants only, although further ones were tried with all patience.

        One that exceeds them less is near a step: it is not solved, and its messages say by how much.
        """
        tried = budget.search.max_iterations >= PATIENT and not budget.is_over
        return tried and found.solved_at_samples and found.max_violation > BETWEEN


def conflicts(who: Walker, start: Any) -> list[str]:
    """One sentence for each kind of limit without which there is such a step, or one that there is none."""
    task = who.task
    neither = (
        f"no step was found without {listed(KINDS)} either: "
        f"a step of {task.step:g} m in {task.duration:.3g} s is out of reach"
    )

    def without(kinds: Collection[str]) -> Problem:
        return _without(who, kinds)

    def how(kind: str, found: Prediction) -> str:
        return _how(who, kind, SampledMotion(found, found.s))

    return conflicting("a step", KINDS, without, how, neither, start)


def _without(who: Walker, kinds: Collection[str]) -> Problem:
    """The problem without some kinds of limits; without those of torques effort is that of full strength."""
    task = who.task
    if STRENGTH in kinds and task.strength:
        task = task.changed(strength={})
    if FRICTION in kinds:
        task = task.changed(friction=STICKY)
    problem = walking_problem(task, who if task is who.task else walker(task))
    return problem.changed(constraints=[x for x in problem.constraints if _kind(x) not in kinds])


def _kind(term: Constraint) -> str:
    """Of limits that may be given up; the others have none."""
    if isinstance(term, TorqueLimits | StrengthLimits):
        return STRENGTH
    if isinstance(term, JointLimits):
        return LANDMARKS if term.at != "points" else ""
    plain = {Friction: FRICTION, Support: SUPPORT, GroundClearance: CLEARANCE}
    return next((kind for known, kind in plain.items() if isinstance(term, known)), "")


def _how(who: Walker, kind: str, step: SampledMotion) -> str:
    """What a step without some limit takes of it."""
    if kind == STRENGTH:
        return excess_of_torques(strength_needed(who, step).items())
    if kind == FRICTION:
        return f", with a coefficient of friction of {friction_needed(who, step):.2g}"
    if kind == SUPPORT:
        off = outside_support(who, step)
        return f", with the center of pressure {1e3 * off:.0f} mm outside the sole: the person falls over"
    return ""
