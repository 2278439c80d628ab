"""The study: predict how a human lifts a box, verify it, show it as a result."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, must_be, shown
from kinetree.motion.options import Search, divided
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.seek import seek
from kinetree.result.labeled import coordinates_of, labeled_dataset, variables_of
from kinetree.result.records import Check
from kinetree.result.result import Result
from kinetree.result.variables import Variable
from kinetree.tasks.ground import GroundReactions
from kinetree.tasks.lifting.checks import joint_force, lift_ground, simulation
from kinetree.tasks.lifting.problem import Lifter, lifter
from kinetree.tasks.lifting.search import LiftSearch
from kinetree.tasks.lifting.task import USUAL, Lifting, described
from kinetree.tasks.net_joints import with_net_joints
from kinetree.tasks.sampled import SampledMotion
from kinetree.tasks.walking.verified import Verified
from kinetree.tasks.walking.walk import with_ground

JOINTS = {"back": "lumbar", "right_knee": "right_knee", "left_knee": "left_knee"}


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
    def course(self) -> SampledMotion:
        """Motion, torques and joint forces at the prediction's own samples."""
        return SampledMotion(self.prediction, self.prediction.s)

    @cached_property
    def ground(self) -> GroundReactions:
        """Pushes of the ground on both feet there."""
        return lift_ground(self.lifter, self.course)

    @property
    def joint_forces(self) -> dict[str, Array]:
        """Size of the net force in the joints of back and knees, (m,) each in N, at ``prediction.t``.

        Net forces are what passes from segment to segment; muscles press bones together beside them.
        """
        return joint_forces(self.course)

    def to_result(self) -> Result:
        """Motion, torques, reactions, joint forces of back and knees, the ground's reactions, the audit."""
        found = with_ground(
            self.prediction.to_result(), self.ground, asdict(self.task), self.checks, "lifting", 0
        )
        settings = {**found.settings, "ground": self.lifter.surroundings}
        found = replace(found, settings=settings, messages=(*self.conflicts, *found.messages))
        return with_net_joints(with_forces(found, self.joint_forces), self.lifter.person)

    def __repr__(self) -> str:
        word = self.prediction.word
        return (
            f"Lift({described(self.task)}: {word}, {self.prediction.duration:.3g} s, objective "
            f"{self.prediction.objective:.4g}, {self.prediction.iterations} iterations)"
        )


def joint_forces(course: SampledMotion) -> dict[str, Array]:
    """Size of the net force in the joints of back and knees, (m,) each in N."""
    return {name: joint_force(course, joint) for name, joint in JOINTS.items()}


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
    return replace(result, dataset=labeled_dataset(coordinates, variables_of(result.dataset) | more))


def lift(task: Lifting | None = None, *, start: Any = None, simulated: bool = False, **changes: Any) -> Lift:
    """How someone lifts a box from the floor to a shelf, predicted and verified.

    Effort and time are least; feet stay flat, the zero-moment point stays within both of them, joints keep
    their ranges and strength, the box stays level and meets neither legs, trunk, floor nor shelf. The search
    begins with poses that reach floor and shelf, found from standing upright, or with ``start``; with one
    hand it begins with the lift by both hands. If a mesh has no lift that passes, finer ones are tried. Where
    there is no such lift, ``conflicts`` of the result name the limits that prevent it. ``simulated`` adds a
    forward simulation of the free human; ``changes`` are those of the task, and options of `predict`.

    >>> import kinetree as kt
    >>> found = kt.lifting.lift(box=5.0, shelf=0.7)
    >>> found.passed
    True
    """
    if task is not None and not isinstance(task, Lifting):
        raise InputError(f"lift needs a Lifting, got {shown(task)}")
    options, settings = divided(changes)
    task, search = (task or Lifting()).changed(**settings), Search.of(options, USUAL)
    if not isinstance(simulated, bool):
        raise InputError(must_be("lift: simulated", "true or false", simulated))
    found = seek(LiftSearch(lifter(task), start), search)
    who, checks = found.attempt.mesh, found.checks
    if simulated and found.prediction.solved:
        checks = {**checks, "simulation": simulation(who, found.prediction)}
    return Lift(who, found.prediction, checks, found.seconds, found.conflicts)
