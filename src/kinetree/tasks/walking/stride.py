"""A stride of two different steps, for who is weaker or carries more on one side.

The second step is that of the mirrored person on the right foot: both steps are written with the same pieces
as a step that mirrors itself. Where one ends, the other goes on with partners of joints, mirrored, up to
their accelerations, and the second ends as the first begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.inverse import inverse_dynamics, joint_reactions
from kinetree.analysis.rooting import change_root
from kinetree.gait_data.ground import ground_variables
from kinetree.model.human.joints import mirror_image
from kinetree.motion.options import Search
from kinetree.motion.outcome.phased_prediction import PhasedPrediction, phased_statistics
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.problem.phases import Junction, PhasedProblem
from kinetree.motion.seek import TimeBudget, seek
from kinetree.result.build import build_result
from kinetree.result.labeled import Unlabeled
from kinetree.result.records import Check
from kinetree.result.result import Result, arrays_of, changed
from kinetree.result.variables import KNOWN, Variable
from kinetree.state import Wrench
from kinetree.tasks.ground import FEET
from kinetree.tasks.net_joints import with_net_joints
from kinetree.tasks.person import ROOT
from kinetree.tasks.sampled import SampledMotion
from kinetree.tasks.walking.checks import checked
from kinetree.tasks.walking.ground import step_ground, step_wrenches
from kinetree.tasks.walking.problem import Walker, step_activations, walker, walking_problem
from kinetree.tasks.walking.search import Footsteps, Instants, NearStep
from kinetree.tasks.walking.task import USUAL, Walking
from kinetree.tasks.walking.verified import Verified

CONTINUES = 1e-3  # rad, 1e-2 rad/s: what steps may differ by where they meet
FREE = 1e-6  # relative to the weight: what the free pelvis may need
ACROSS = np.array([1.0, -1.0, 1.0])


@dataclass(frozen=True, eq=False)
class Stride(Verified):
    """Two predicted steps: who took them (the second as a mirror image), the predictions, all checks."""

    task: Walking
    walkers: tuple[Walker, Walker]
    prediction: PhasedPrediction
    checks: dict[str, Check]
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def steps(self) -> tuple[Prediction, Prediction]:
        """Both steps; the second is that of the mirrored person."""
        first, second = self.prediction.parts
        return first, second

    def to_result(self) -> Result:
        """Motion rooted at the pelvis, torques, net joint and ground reactions of the whole stride."""
        parts = [_shown(self, k) for k in range(2)]
        first = slice(0, -1)  # the step ends as the next begins
        joined = {
            name: np.concatenate([parts[0][name][first], parts[1][name]])
            for name in ("time", "q", "qd", "qdd", "tau", "tau_active", "tau_passive", "reaction")
            if name in parts[0]
        }
        force, point, moment = (
            {
                foot: np.concatenate([parts[0][name][first, k], parts[1][name][:, k]])
                for k, foot in enumerate(FEET)
            }
            for name in ("force", "point", "moment")
        )
        more, labels = ground_variables(force, point, moment)
        audit = {"solved": _solved(self.prediction), **self.checks}
        settings = {"walking": plain(asdict(self.task)), "steps": 2, "search": dict(self.prediction.asked)}
        found = build_result(
            "predict", self.walkers[0].person, joined | more, coordinates=labels, settings=settings,
            audit=audit, statistics=phased_statistics(self.prediction), seconds=self.prediction.seconds,
        )  # fmt: skip
        found = with_net_joints(found, found.mechanism)
        return with_activations(found, self.activations) if self.task.muscles else found

    @property
    def activations(self) -> dict[str, Array]:
        """Activations of the leg muscles by name over both steps, (m,) each; none without muscles."""
        if not self.task.muscles:
            return {}
        one, two = (step_activations(*pair) for pair in zip(self.walkers, self.steps, strict=True))
        return {name: np.concatenate([x[:-1], two[mirror_image(name)[0]]]) for name, x in one.items()}

    def __repr__(self) -> str:
        task = self.task
        return (
            f"Stride({task.speed:g} m/s, two steps of {task.step:g} m, {task.sex} {task.height:g} m "
            f"{task.mass:g} kg: {self.prediction.word}, objective "
            f"{self.prediction.objective:.4g}, {self.prediction.outcome.iterations} iterations)"
        )


def with_activations(result: Result, activations: Mapping[str, Array]) -> Result:
    """A result with the activations of muscles, (m,) each."""
    values = np.stack(list(activations.values()), axis=1)
    values.setflags(write=False)
    coordinates, variables = arrays_of(result)
    labels = coordinates | {"muscle": Variable(("muscle",), np.array(list(activations)), "", "muscle")}
    known = KNOWN["activation"]
    more = {"activation": Variable(known.dims, values, known.unit, known.long_name)}
    return changed(result, dataset=Unlabeled(labels, variables | more))


def plain(task: dict[str, Any]) -> dict[str, Any]:
    """Settings as a file holds them."""
    return {name: list(x) if isinstance(x, tuple) else x for name, x in task.items()}


def stride(task: Walking, search: Search = USUAL, start: Any = None, *, simulated: bool = False) -> Stride:
    """Two different steps, predicted from what someone with two equal sides would do."""
    seeking = StrideSearch(task, start, simulated)
    found = seek(seeking, search)
    return Stride(task, seeking.walkers, found.prediction, found.checks, found.seconds)


@dataclass(frozen=True, eq=False)
class StrideSearch(Footsteps[PhasedPrediction]):
    """The search for two different steps, each of which ends as the other begins."""

    task: Walking
    start: Any = None
    simulated: bool = False

    @cached_property
    def walkers(self) -> tuple[Walker, Walker]:
        """The person, and its mirror image."""
        return walker(self.task), walker(self.task.mirrored())

    def problem(self, mesh: Instants) -> PhasedProblem:
        """Both steps, with limits at further instants."""
        one = self.walkers[0]
        on = Junction("acceleration", joints=one.joints, pairs=one.pairs, mirrored=one.mirrored)
        steps = zip(self.walkers, mesh, strict=True)
        problems = [walking_problem(x.task, x, alone=True, more=s) for x, s in steps]
        return PhasedProblem(problems, on, cycle=on)

    def first(self, budget: TimeBudget) -> Any:
        """The given motion, or twice the step of someone whose sides are alike.

        That one carries half of the load in each hand and has all strength.
        """
        if self.start is not None:
            return self.start
        task = self.task
        hands = 0.5 * (task.left_hand + task.right_hand)
        both = {x: f for x, f in task.strength.items() if not x.startswith(("left", "right"))}
        even = task.changed(left_hand=hands, right_hand=hands, strength=both)
        own = budget.left.changed(starts=1, seed=0, save=None)
        return [seek(NearStep(even), own).prediction] * 2

    def checks(self, mesh: Instants, prediction: PhasedPrediction) -> dict[str, Check]:
        """All checks of both steps, and that each goes on into the other."""
        found: dict[str, Check] = {}
        steps = zip(("right", "left"), self.walkers, prediction.parts, strict=True)
        for side, who, part in steps:
            own = checked(who, part, simulated=self.simulated, alone=True)
            found |= {f"{name}_{side}": check for name, check in own.items()}
        gap = max((abs(x) for x in prediction.gaps.values()), default=0.0)
        found["goes_on"] = Check.within(
            gap, CONTINUES, "rad, per s", "each step ends in the initial state of the other"
        )
        return found


def _solved(prediction: PhasedPrediction) -> Check:
    worst, most = prediction.violation_at_samples, prediction.allowed_at_samples
    return Check(worst, most, prediction.solved_at_samples, "1", prediction.status)


def _shown(stride: Stride, k: int) -> dict[str, Array]:
    """One step as the person takes it: rooted at the pelvis, in its place, not mirrored."""
    who, part = stride.walkers[k], stride.prediction.parts[k]
    person, shift = stride.walkers[0].person, k * stride.task.step
    step = SampledMotion(part, part.s)
    ground, names = step_ground(who, step), person.joint_names
    state = change_root(who.mechanism, who.person, step.q, step.qd, step.qdd)
    assert state.qd is not None and state.qdd is not None
    motion = [state.q, state.qd, state.qdd]
    image = [mirror_image(name) if k else (name, 1.0) for name in names]
    order, sign = [who.person.joint_index(name) for name, _ in image], np.array([x for _, x in image])
    q, qd, qdd = (sign * x[:, order] for x in motion)
    q[:, person.joint_index(ROOT[0])] += shift
    wrenches = [_mirrored(load) if k else load for load in step_wrenches(who, step)]
    tau = inverse_dynamics(person, q, qd, qdd, wrenches)
    reaction = joint_reactions(person, q, qd, qdd, wrenches)
    relaxed = {}
    if who.task.passive:
        own = [who.mechanism.joint_names.index(name) if name not in ROOT else -1 for name, _ in image]
        passive = np.where(np.array(own) < 0, 0.0, sign * step.passive[:, own])
        relaxed = {"tau_passive": passive, "tau_active": tau - passive}
    flip, feet = (ACROSS, slice(None, None, -1)) if k else (np.ones(3), slice(None))
    place = np.array([shift, 0.0, 0.0])
    return {
        "time": part.t + k * stride.prediction.parts[0].duration,
        "q": q, "qd": qd, "qdd": qdd, "tau": tau, "reaction": reaction, **relaxed,
        "force": flip * ground.force[:, feet],
        "point": flip * ground.point[:, feet] + place,
        "moment": -flip * ground.moment[:, feet] if k else ground.moment,
    }  # fmt: skip


def _mirrored(load: Wrench) -> Wrench:
    """A load in the mirror image: on the other side; moments are no vectors like others."""
    body, _ = mirror_image(load.body)
    return Wrench(
        body, ACROSS * np.asarray(load.force), -ACROSS * np.asarray(load.moment),
        point=ACROSS * np.asarray(load.point),
    )  # fmt: skip
