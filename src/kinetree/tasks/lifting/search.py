"""How a lift is sought: from which motion, on which meshes, and what prevents one that is not found."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import listed
from kinetree.motion.options import Search
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.problem.problem import Problem
from kinetree.motion.seek import Attempt, MotionTask, TimeBudget
from kinetree.motion.terms import JointCombination, ReactionLimit, TorqueLimits, ZeroMomentPoint
from kinetree.result.records import Check
from kinetree.tasks.checks import outside
from kinetree.tasks.conflict import conflicting, excess_of_torques
from kinetree.tasks.lifting.checks import OUTSIDE, checked, joint_force, zero_moment_point
from kinetree.tasks.lifting.problem import BOX, TRUNK, Lifter, lifter, lifting_problem
from kinetree.tasks.lifting.task import MOST_POINTS
from kinetree.tasks.sampled import SampledMotion

FINER, REFINED = 1.6, 2  # segments of a finer mesh relative to the one before; how many follow the first
ROUGH = 1e-2  # tolerance of a lift that only begins another one
PATIENT = 80  # iterations on a mesh before a finer one is tried
TIGHT = 0.5 * OUTSIDE  # of a bound between samples; that of the zero-moment point is relative to 1 m
FAR = 45.0  # degrees: from further to the side, the search begins with a lift from here
Attempts = Sequence[Attempt[Lifter, Prediction]]
PLAIN = (TorqueLimits, ZeroMomentPoint, ReactionLimit)  # limits that may be given up as they are


def conflicts(who: Lifter, problem: Problem, start: Any = None) -> list[str]:
    """One sentence for each kind of limit without which there is such a lift, or one that there is none."""
    kinds: dict[str, list[Any]] = {}
    for term in problem.constraints:
        if isinstance(term, PLAIN) or (isinstance(term, JointCombination) and term.coefficients == TRUNK):
            name = "lean" if isinstance(term, JointCombination) else term.family
            kinds.setdefault(name, []).append(term)

    def without(names: Collection[str]) -> Problem:
        given_up = [term for name in names for term in kinds[name]]
        return problem.changed(constraints=[x for x in problem.constraints if x not in given_up])

    def how(name: str, found: Prediction) -> str:
        return _how(who, name, SampledMotion(found, found.s))

    neither = f"no lift was found without {listed(kinds)} either: these positions are out of reach"
    return conflicting("a lift", kinds, without, how, neither, start)


def _how(who: Lifter, name: str, course: SampledMotion) -> str:
    """What a lift without some limit takes of it."""
    if name == TorqueLimits.family:
        return excess_of_torques(
            (x, float(np.maximum(course.torque(x) / high, course.torque(x) / low).max()))
            for x, (low, high) in who.torques.items()
        )
    if name == ZeroMomentPoint.family:
        low, high = who.support.min(axis=0), who.support.max(axis=0)
        off = outside(zero_moment_point(course), low, high).max()
        return f", with the zero-moment point {1e3 * off:.0f} mm outside the feet: the person falls over"
    if name == ReactionLimit.family:
        back = joint_force(course, "lumbar").max()
        knee = max(joint_force(course, joint).max() for joint in ("right_knee", "left_knee"))
        return f", with {back:.0f} N in the back and {knee:.0f} N in a knee"
    lean = sum(factor * course.q[:, course.column(x)] for x, factor in TRUNK.items())
    return f", with a lean of {np.degrees(np.max(lean)):.0f} degrees"


@dataclass(frozen=True, eq=False)
class LiftSearch(MotionTask[Lifter, Prediction]):
    """The search for a lift: what is not found on a mesh, or fails a check there, often is on a finer one."""

    quick: ClassVar[str | None] = "interior"
    patience: ClassVar[int | None] = PATIENT
    tight: ClassVar[float | None] = TIGHT

    who: Lifter
    start: Any = None

    @property
    def mesh(self) -> Lifter:
        """The lifter with the segments that are asked for."""
        return self.who

    def problem(self, mesh: Lifter) -> Problem:
        """The lift."""
        return lifting_problem(mesh.task, mesh)

    def starts(self, problem: Problem, attempts: Attempts, budget: TimeBudget) -> Iterator[Any]:
        """The given motion, or an easier lift, or the motion on the mesh before.

        Where that easier lift does not lead to a motion, the lift in the same duration may.
        """
        solved = [x.prediction for x in attempts if x.solved]
        if self.who.task.symmetric or (self.start is not None and not solved):
            yield self.start
        elif solved:
            yield solved[-1].t, solved[-1].q
        else:
            easier = attempts[0].start if attempts else self._easier(budget)
            yield easier
            mesh = self._mesh(len(attempts))
            timed = mesh.task.changed(duration=float(easier[0][-1]))
            lift = self._rough(budget, replace(mesh, task=timed), easier)
            if lift.solved_at_samples:
                yield lift

    def checks(self, mesh: Lifter, prediction: Prediction) -> dict[str, Check]:
        """All checks of a lift."""
        return checked(mesh, prediction)

    def finer(self, attempts: Attempts) -> Lifter | None:
        """The lifter with more segments, until a lift passes."""
        if attempts[-1].passed or len(attempts) > REFINED:
            return None
        mesh = self._mesh(len(attempts))
        return mesh if mesh.task.points <= MOST_POINTS else None

    def options(self, search: Search, attempts: Attempts) -> Search:
        """The quick solver if the choice is free, with few iterations where a finer mesh may follow."""
        options = super().options(search, attempts)
        last = len(attempts) >= REFINED
        return options.changed(max_iterations=search.max_iterations) if last else options

    def conflicts(self, attempt: Attempt[Lifter, Prediction], budget: TimeBudget) -> list[str]:
        """The limits that prevent a lift."""
        if not attempt.is_hopeless:
            return []
        return conflicts(attempt.mesh, attempt.prediction.problem, attempt.start)

    def _mesh(self, k: int) -> Lifter:
        """The lifter on the k-th mesh."""
        task = self.who.task
        return replace(self.who, task=task.changed(points=round(FINER**k * task.points))) if k else self.who

    def _rough(self, budget: TimeBudget, who: Lifter, start: Any = None) -> Prediction:
        """A lift that another one begins with."""
        options = self.options(budget.search, ()).changed(
            tolerance=ROUGH, starts=1, max_iterations=budget.search.max_iterations
        )
        found: Prediction = budget.solve(lifting_problem(who.task, who), start, options)
        return found

    def _easier(self, budget: TimeBudget) -> tuple[Array, Array]:
        """Times (m,) and positions (m, n) of a lift that is easier to find: by both hands, straight ahead.

        From far to the side, it is the lift from half way there, begun in the same way.
        """
        who, task = self.who, self.who.task
        both = self._rough(budget, lifter(task.changed(hand="both", beside=0.0, strength={})))
        q = np.zeros((len(both.t), who.mechanism.n_dof))
        theirs = both.problem.mechanism
        for k, name in enumerate(who.mechanism.joint_names):
            source = BOX if name == f"{BOX}.pitch" else name
            if source in theirs.joint_names:
                q[:, k] = both.q[:, theirs.joint_index(source)]
        if abs(task.beside) <= FAR:
            return both.t, q
        near = task.changed(beside=float(np.copysign(FAR, task.beside)))
        half = self._rough(budget, replace(who, task=near), (both.t, q))
        return (half.t, half.q) if half.solved_at_samples else (both.t, q)
