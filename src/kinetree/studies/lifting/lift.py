"""The study: predict how a human lifts a box, verify it, show it as a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, shown
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.predict import predict
from kinetree.motion.solvers.interface import Progress, Status
from kinetree.result.labelled import coordinates_of, labelled_dataset, variables_of
from kinetree.result.records import Check
from kinetree.result.result import Result
from kinetree.result.variables import Variable
from kinetree.studies.lifting.checks import Course, checked, simulation
from kinetree.studies.lifting.conflict import conflicts
from kinetree.studies.lifting.problem import BOX, Lifter, lifter, lifting_problem
from kinetree.studies.lifting.task import MOST_POINTS, Lifting, described
from kinetree.studies.walking.verified import Verified
from kinetree.studies.walking.walk import with_ground

JOINTS = {"back": "lumbar", "right_knee": "right_thigh", "left_knee": "left_shank"}
FINER, REFINED = 1.6, 2  # segments beside those of a lift that fails a check between samples; how often
ROUGH = 1e-2  # tolerance of the lift with both hands that one with one hand begins with


@dataclass(frozen=True, eq=False)
class Lift(Verified):
    """A predicted lift: who lifted, the prediction, and all checks by name."""

    lifter: Lifter
    prediction: Prediction
    checks: dict[str, Check]
    seconds: dict[str, float] = field(default_factory=dict)
    conflicts: tuple[str, ...] = ()  # what stands in the way of a lift that was not found

    @property
    def task(self) -> Lifting:
        """What was asked."""
        return self.lifter.task

    @cached_property
    def course(self) -> Course:
        """Motion, torques, joint forces and pushes of the ground at the prediction's own samples."""
        return Course(self.lifter, self.prediction, self.prediction.s)

    @property
    def joint_forces(self) -> dict[str, Array]:
        """Size of the net force in the joints of back and knees, (m,) each in N, at ``prediction.t``.

        Net forces are what passes from segment to segment; muscles press bones together beside them.
        """
        return joint_forces(self.course)

    def to_result(self) -> Result:
        """Motion, torques, reactions, joint forces of back and knees, the ground's reactions, the audit."""
        found = with_ground(
            self.prediction.to_result(), self.course.ground(), asdict(self.task), self.checks, "lifting", 0
        )
        found = replace(found, messages=(*self.conflicts, *found.messages))
        return with_forces(found, self.joint_forces)

    def __repr__(self) -> str:
        word = self.prediction.word
        return (
            f"Lift({described(self.task)}: {word}, {self.prediction.duration:.3g} s, objective "
            f"{self.prediction.objective:.4g}, {self.prediction.iterations} iterations)"
        )

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *(f"  {line}" for line in self.conflicts)])


def joint_forces(course: Course) -> dict[str, Array]:
    """Size of the net force in the joints of back and knees, (m,) each in N."""
    return {name: course.joint_force(body) for name, body in JOINTS.items()}


def joint_force_variables(
    values: Array, joints: list[str]
) -> tuple[dict[str, Variable], dict[str, Variable]]:
    """Variable and labels of net forces (m, joints) in N."""
    values.setflags(write=False)
    words = "magnitude of the net joint force, without muscle forces"
    return (
        {"lifting_force": Variable(("time", "lifting_joint"), values, "N", words)},
        {"lifting_joint": Variable(("lifting_joint",), np.array(joints), "", "joint")},
    )


def with_forces(result: Result, forces: dict[str, Array]) -> Result:
    """The result with the net forces in back and knees as one variable."""
    more, labels = joint_force_variables(np.stack(list(forces.values()), axis=1), list(forces))
    coordinates = coordinates_of(result.dataset) | labels
    return replace(result, dataset=labelled_dataset(coordinates, variables_of(result.dataset) | more))


def lift(
    task: Lifting | None = None,
    *,
    tolerance: float = 1e-3,
    start: Any = None,
    starts: int = 1,
    seed: int = 0,
    solver: str = "auto",
    max_iterations: int = 200,
    time_limit: float | None = None,
    simulated: bool = False,
    progress: bool | Callable[[Progress], object] | None = None,
    **changes: Any,
) -> Lift:
    """How someone lifts a box from the floor to a shelf, predicted and verified; ``changes`` as in Lifting.

    Effort and time are least; feet stay flat, the zero-moment point stays within both of them, joints keep
    their ranges and strength, the box stays level and meets neither legs, trunk, floor nor shelf. The search
    begins with poses that reach floor and shelf, found from standing upright, or with ``start``; with one
    hand it begins with the lift by both hands. Where there is no such lift, ``conflicts`` of the answer say
    which limits stand in the way. ``simulated`` adds a forward simulation of the free human.

    >>> import kinetree as kt
    >>> found = kt.lifting.lift(box=5.0, shelf=0.7)
    >>> found.passed
    True
    """
    begun = perf_counter()
    if task is not None and not isinstance(task, Lifting):
        raise InputError(f"lift needs a Lifting, got {shown(task)}")
    task = (task or Lifting()).changed(**changes)
    if not isinstance(simulated, bool):
        raise InputError(f"lift: simulated must be true or false, got {shown(simulated)}")
    who = lifter(task)
    problem = lifting_problem(task, who)
    made = perf_counter()
    search: dict[str, Any] = {
        "solver": solver, "starts": starts, "seed": seed, "max_iterations": max_iterations,
        "time_limit": time_limit, "progress": progress,
    }  # fmt: skip
    both = None
    if start is None and not task.symmetric:
        start = both = _from_both_hands(task, who, search)
    prediction = predict(problem, start=start, tolerance=tolerance, **search)
    if both is not None and not prediction.solved_at_samples:
        prediction = _by_way_of_its_time(prediction, who, both, tolerance, search)
    checks = checked(who, prediction)
    for _ in range(REFINED):  # what fails between the instants of the rows is looked for on a finer mesh
        points = round(FINER * who.task.points)
        good = prediction.solved and all(x.passed for x in checks.values())
        if good or not prediction.solved_at_samples or points > MOST_POINTS:
            break
        who = replace(who, task=who.task.changed(points=points))
        problem = lifting_problem(who.task, who)
        start = None if task.symmetric else (prediction.t, prediction.q)
        prediction = predict(problem, start=start, tolerance=tolerance, **search)
        checks = checked(who, prediction)
    found = perf_counter()
    infeasible = prediction.outcome.status is Status.INFEASIBLE
    why = conflicts(who, problem, start) if infeasible else []
    if simulated and prediction.solved:
        checks["simulation"] = simulation(who, prediction)
    seconds = {"problem": made - begun, "search": found - made, "checks": perf_counter() - found}
    return Lift(who, prediction, checks, seconds, tuple(why))


def _from_both_hands(task: Lifting, who: Lifter, search: dict[str, Any]) -> tuple[Array, Array]:
    """Times (m,) and positions (m, n) of the lift by both hands, which one with one hand begins with."""
    symmetric = task.changed(hand="both", beside=0.0, strength={})
    both = predict(lifting_problem(symmetric), tolerance=ROUGH, **{**search, "starts": 1})
    q = np.zeros((len(both.t), who.mechanism.n_dof))
    theirs = both.problem.mechanism
    for k, name in enumerate(who.mechanism.joint_names):
        source = BOX if name == f"{BOX}.pitch" else name
        if source in theirs.joint_names:
            q[:, k] = both.q[:, theirs.joint_index(source)]
    return both.t, q


def _by_way_of_its_time(
    first: Prediction, who: Lifter, both: tuple[Array, Array], tolerance: float, search: dict[str, Any]
) -> Prediction:
    """The lift, begun with one in the time that both hands take; the first answer if that leads nowhere."""
    timed = who.task.changed(duration=float(both[0][-1]))
    begun = predict(
        lifting_problem(timed, replace(who, task=timed)), start=both, tolerance=ROUGH,
        **{**search, "starts": 1},
    )  # fmt: skip
    if not begun.solved_at_samples:
        return first
    second = predict(first.problem, start=begun, tolerance=tolerance, **search)
    return second if second.solved_at_samples else first
