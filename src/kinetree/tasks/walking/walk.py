"""The study: predict one step of a human, verify it, show it as a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, must_be, shown
from kinetree.motion.options import Search, divided
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.seek import seek
from kinetree.result.labeled import Unlabeled
from kinetree.result.records import Check
from kinetree.result.result import Result, arrays_of, changed
from kinetree.result.variables import KNOWN, Variable
from kinetree.tasks.ground import FEET, GroundReactions
from kinetree.tasks.net_joints import with_net_joints
from kinetree.tasks.sampled import SampledMotion
from kinetree.tasks.walking.ground import step_ground
from kinetree.tasks.walking.problem import StepSchedule, Walker, muscle_cost, walker
from kinetree.tasks.walking.search import StepSearch
from kinetree.tasks.walking.sought import Sought, sought_step
from kinetree.tasks.walking.stride import Stride, plain, stride
from kinetree.tasks.walking.task import USUAL, Walking
from kinetree.tasks.walking.verified import Verified


@dataclass(frozen=True, eq=False)
class Walk(Verified):
    """A predicted step: who walked, the prediction, and all checks by name."""

    walker: Walker
    prediction: Prediction
    checks: dict[str, Check]
    seconds: dict[str, float] = field(default_factory=dict)
    sought: Sought | None = None  # where length, speed or double support were sought
    conflicts: tuple[str, ...] = ()  # what stands in the way of a step that was not found

    @property
    def task(self) -> Walking:
        """What was asked; what was sought is as it was found."""
        return self.walker.task

    @cached_property
    def step(self) -> SampledMotion:
        """Motion and torques at the prediction's own samples."""
        return SampledMotion(self.prediction, self.prediction.s)

    @cached_property
    def ground(self) -> GroundReactions:
        """Pushes of the ground on both feet there."""
        return step_ground(self.walker, self.step)

    def to_result(self) -> Result:
        """Motion, torques, net joint reactions, pushes of the ground on each foot, and the audit.

        ``tau`` are torques of inverse dynamics, as they are measured; with passive moments, ``tau_passive``
        and ``tau_active`` are the two parts of them.
        """
        result = with_ground(self.prediction.to_result(), self.ground, asdict(self.task), self.checks)
        result = with_net_joints(result, self.walker.person)
        if self.task.muscles:
            result = with_activations(result, self)
        if not result.audit["objective"].passed:
            nodes = [2 * count for count in StepSchedule(self.task).counts]
            remedy = f"The integrals of the objective need more nodes in the phases: walk.nodes = {nodes}."
            result = changed(result, messages=(remedy, *result.messages))
        if self.conflicts:
            result = changed(result, messages=(*self.conflicts, *result.messages))
        if self.sought is None:
            return result
        return changed(
            result,
            settings={**result.settings, "sought": self.sought.stated()},
            messages=(*self.sought.sentences(), *result.messages),
        )

    @property
    def activations(self) -> dict[str, Array]:
        """Activations of the leg muscles by name, (m,) each; none without muscles."""
        if not self.task.muscles:
            return {}
        found = self.prediction
        return muscle_cost().activations(self.walker.mechanism, found.q, found.qd, found.tau)

    def __repr__(self) -> str:
        task, word = self.task, self.prediction.word
        return (
            f"Walk({task.speed:g} m/s, steps of {task.step:g} m, {task.sex} {task.height:g} m "
            f"{task.mass:g} kg: {word}, objective {self.prediction.objective:.4g}, "
            f"{self.prediction.iterations} iterations)"
        )


def with_activations(result: Result, step: Walk) -> Result:
    """A result with the activations of the muscles."""
    found = step.activations
    values = np.stack(list(found.values()), axis=1)
    values.setflags(write=False)
    coordinates, variables = arrays_of(result)
    labels = coordinates | {"muscle": Variable(("muscle",), np.array(list(found)), "", "muscle")}
    known = KNOWN["activation"]
    more = {"activation": Variable(known.dims, values, known.unit, known.long_name)}
    return changed(result, dataset=Unlabeled(labels, variables | more))


def joint_torques(variables: Mapping[str, Variable]) -> dict[str, Variable]:
    """Torques of joints as measured ones are: ``tau`` with what relaxed joints give, ``tau_active`` without.

    Nothing where joints give nothing by themselves.
    """
    if "tau_passive" not in variables:
        return {}
    tau, passive = variables["tau"], variables["tau_passive"]
    meaning = "torque or force of the joints, active and passive"
    return {
        "tau": tau._replace(values=np.asarray(tau.values) + passive.values, long_name=meaning),
        "tau_active": tau._replace(long_name=KNOWN["tau_active"].long_name),
        "tau_passive": passive._replace(long_name="torque of relaxed joints, part of tau"),
    }


def with_ground(
    result: Result,
    ground: GroundReactions,
    task: dict[str, Any],
    checks: dict[str, Check],
    study: str = "walking",
    steps: int = 1,
) -> Result:
    """A result with the ground's reactions on both feet, what was asked of a study, and further checks.

    ``steps`` is how many steps of a gait the motion is; 0 is none.
    """
    dims, axes = ("time", "foot", "axis"), ("x", "y", "z")
    more = {
        "ground_reaction": Variable(dims, ground.force, "N", "ground reaction force on each foot"),
        "ground_reaction_point": Variable(
            dims, ground.point, "m",
            "center of pressure of each foot, in the world", True,
        ),
        "ground_reaction_moment": Variable(
            dims, ground.moment, "N m", "ground reaction moment on each foot at its center of pressure"
        ),
    }  # fmt: skip
    labels = {
        "foot": Variable(("foot",), np.array(FEET), "", "foot"),
        "axis": Variable(("axis",), np.array(axes), "", "axis of the world"),
    }
    known, variables = arrays_of(result)
    more |= joint_torques(variables)
    for variable in more.values():
        variable.values.setflags(write=False)
    coordinates = known | {name: label for name, label in labels.items() if name not in known}
    settings = {**result.settings, study: plain(task), "steps": steps}
    return changed(
        result,
        dataset=Unlabeled(coordinates, variables | more),
        settings=settings,
        audit={**result.audit, **checks},
    )


def walk(
    task: Walking | None = None, *, start: Any = None, simulated: bool = False, **changes: Any
) -> Walk | Stride:
    """One step of a walking human, predicted from q = 0 and verified.

    ``changes`` are those of the task, and options of `predict`. Effort, accelerations, posture and torque
    rates are least; the trailing toes rest until they lift off, the leading heel lands with speed and rolls
    on, the center of pressure keeps within the sole, friction holds, torques keep within strength, and the
    next step mirrors this one. The search begins standing upright unless a ``start`` is given, and with
    ``starts`` > 1 also at random motions. ``simulated`` adds a forward simulation of the free human to the
    checks. Where left and right differ in strength or in what hands carry, two different steps are
    predicted, a :class:`Stride`.

    >>> import kinetree as kt
    >>> kt.walking.Walking(speed=1.0, step=0.5).duration
    0.5
    """
    if task is not None and not isinstance(task, Walking):
        raise InputError(f"walk needs a Walking, got {shown(task)}")
    options, settings = divided(changes)
    task, search = (task or Walking()).changed(**settings), Search.of(options, USUAL)
    if not isinstance(simulated, bool):
        raise InputError(must_be("walk: simulated", "true or false", simulated))
    if task.asymmetric:
        return stride(task, search, start, simulated=simulated)
    if task.sought:
        sought, found = sought_step(task, search, start, simulated=simulated)
        return Walk(sought.walker, found.prediction, found.checks, found.seconds, sought)
    seeking = StepSearch(task, start, walker(task), simulated)
    found = seek(seeking, search)
    return Walk(seeking.walker, found.prediction, found.checks, found.seconds, conflicts=found.conflicts)
