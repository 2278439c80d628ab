"""The document's walking problem solved, verified and shown: :func:`two_step_walk`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.analysis.inverse import inverse_dynamics
from kinetree.analysis.rooting import change_root
from kinetree.documents.walking_problem import (
    DOCUMENT,
    NEAR,
    SLOW,
    TO_TOES,
    DocumentPhases,
    Pedestrian,
    document_problem,
    pedestrian,
    supports,
)
from kinetree.errors import InputError
from kinetree.motion.options import Search, divided
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.problem.problem import Problem
from kinetree.motion.seek import Attempt, MotionTask, TimeBudget, seek
from kinetree.result.records import Check
from kinetree.result.result import Result
from kinetree.tasks.checks import momentum_check, torque_check, torque_excess, unsupported_check
from kinetree.tasks.ground import GroundReactions, ground_of
from kinetree.tasks.sampled import SampledMotion
from kinetree.tasks.walking.ground import LIGHT
from kinetree.tasks.walking.task import USUAL, Walking
from kinetree.tasks.walking.verified import Verified
from kinetree.tasks.walking.walk import with_ground

FINER = 10
SAME = 1e-9  # of the largest torque: what both formulations may differ by in single support
FREE = 1e-9  # relative to the weight: what the free root may need
TWICE = 2.0  # contact points between the instants of the conditions may be so many times the bands away
EXCESS = 1e-2  # relative to the limit: torques between the instants of the rows


@dataclass(frozen=True, eq=False)
class TwoStepWalk(Verified):
    """A step predicted by the document's own formulation: the walker, the prediction, all checks by name."""

    who: Pedestrian
    prediction: Prediction
    sharing: str
    checks: dict[str, Check]
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def task(self) -> Walking:
        """The settings of the walk."""
        return self.who.task

    @cached_property
    def ground(self) -> GroundReactions:
        """Pushes of the ground on both feet at the prediction's own samples."""
        step = SampledMotion(self.prediction, self.prediction.s)
        return ground_of(step, step.evaluation.pushes, LIGHT * self.who.walker.weight)

    def to_result(self) -> Result:
        """Motion, torques, joint reactions, pushes of the ground on each foot, and the audit."""
        task = asdict(self.task) | {"formulation": "two_step", "sharing": self.sharing}
        return with_ground(self.prediction.to_result(), self.ground, task, self.checks)

    def __repr__(self) -> str:
        task, word = self.task, self.prediction.word
        return (
            f"TwoStepWalk({task.speed:g} m/s, steps of {task.step:g} m, {task.sex} {task.height:g} m "
            f"{task.mass:g} kg: {word}, objective {self.prediction.objective:.4g}, "
            f"{self.prediction.iterations} iterations)"
        )


def two_step_walk(
    task: Walking | None = None, *, sharing: str = "zmp", start: Any = None, **changes: Any
) -> TwoStepWalk:
    """One step by the document's formulation: pelvis as root, two-step algorithm, six control points.

    ``task`` is a :class:`kinetree.walking.Walking`, of which size, speed, step, width, loads, strength,
    phases and points count; ``changes`` are those of it, and options of `predict`. ``sharing`` in double
    support: "zmp" or "time". The search begins at q = 0 unless a ``start`` is given. See docs/walking.md for
    how well six points walk.

    >>> import kinetree as kt
    >>> kt.walking.two_step_problem()
    Problem('human': 228 variables, 1807 constraints, 3 segments of degree 3)
    """
    if task is not None and not isinstance(task, Walking):
        raise InputError(f"two_step_walk needs a Walking, got {task!r}")
    options, settings = divided(changes)
    task, search = (task or DOCUMENT).changed(**settings), Search.of(options, USUAL)
    who = pedestrian(task)
    found = seek(TwoStepSearch(who, sharing, start), search)
    return TwoStepWalk(who, found.prediction, sharing, found.checks, found.seconds)


@dataclass(frozen=True, eq=False)
class TwoStepSearch(MotionTask[Pedestrian, Prediction]):
    """The search for the document's step, on one mesh."""

    who: Pedestrian
    sharing: str
    start: Any = None

    @property
    def mesh(self) -> Pedestrian:
        """Who walks."""
        return self.who

    def problem(self, mesh: Pedestrian) -> Problem:
        """The document's."""
        return document_problem(mesh.task, mesh, self.sharing)

    def starts(
        self, problem: Problem, attempts: Sequence[Attempt[Pedestrian, Prediction]], budget: TimeBudget
    ) -> Iterator[Any]:
        """The given motion, or standing upright."""
        upright = np.array([0.0, self.who.task.duration]), np.zeros((2, self.who.person.n_dof))
        yield upright if self.start is None else self.start

    def checks(self, mesh: Pedestrian, prediction: Prediction) -> dict[str, Check]:
        """All checks of the step."""
        return checked(mesh, prediction)


def checked(who: Pedestrian, prediction: Prediction) -> dict[str, Check]:
    """All checks by name, on a grid that is ten times finer."""
    plan = DocumentPhases(who.task)
    step = SampledMotion(prediction, plan.samples.finer(FINER).s)
    low, high = np.array([who.torques[name] for name in who.joints]).T
    tau = step.tau[:, [step.column(name) for name in who.joints]]
    excess = torque_excess(tau, low, high, np.array(list(who.sizes.values())))
    root = float(np.abs(step.tau[:, : len(who.root)]).max()) / who.walker.weight
    pushes = np.sum([np.asarray(x.force) for x in step.evaluation.pushes], axis=0)
    return {
        "torques": torque_check(excess, EXCESS),
        "root": unsupported_check(root, FREE),
        **_contact(who, plan, step),
        "support": _support(who, plan, step),
        "other_formulation": _same(who, plan, step),
        "momentum": momentum_check(step, pushes),
    }


def _contact(who: Pedestrian, plan: DocumentPhases, step: SampledMotion) -> dict[str, Check]:
    """How far contact points are from the ground, how fast they move, and how low the others are."""
    s = step.s
    apart, speed, lowest = 0.0, 0.0, 0.0
    for name, instants in plan.touching.items():
        z, v = step.place(*who.points[name])[:, 2], step.velocity(*who.points[name])
        touches = np.zeros(len(s), dtype=bool)
        if len(instants):
            touches = (s >= instants[0]) & (s <= instants[-1])
            apart = max(apart, float(np.abs(z[touches]).max()))
            speed = max(speed, float(np.abs(v[touches]).max()))
        lowest = min(lowest, float(z[~touches].min(initial=0.0)))
    return {
        "contact": Check.within(apart, TWICE * NEAR, "m", "contact points are near the ground"),
        "slip": Check.within(speed, TWICE * SLOW, "m/s", "contact points are nearly at rest"),
        "clearance": Check(lowest, -NEAR, lowest >= -NEAR, "m", "no other point is below the ground"),
    }


def _support(who: Pedestrian, plan: DocumentPhases, step: SampledMotion) -> Check:
    """How far the zero-moment point is outside its polygon."""
    s, F = step.s, step.reaction("world")
    point = np.stack([-F[:, 4], F[:, 3]], axis=1) / F[:, 2:3]
    outside = 0.0
    ends = (0.0, plan.double, plan.off, 1.0)
    for corners, begin, end in zip(supports(who), ends[:-1], ends[1:], strict=True):
        edges = np.roll(corners, -1, axis=0) - corners
        normals = np.stack([edges[:, 1], -edges[:, 0]], axis=1) / np.linalg.norm(edges, axis=1)[:, None]
        middle = corners.mean(axis=0)
        normals *= np.sign(((corners - middle) * normals).sum(axis=1))[:, None]
        some = point[(s >= begin) & (s <= end)]
        outside = max(outside, float(((some[:, None] - corners) * normals).sum(axis=2).max()))
    pushes = bool((F[:, 2] > 0.0).all())
    found = Check.within(outside, 5e-3, "m", "the zero-moment point is within the support, the ground pushes")
    return found if pushes else Check(outside, 5e-3, False, "m", "the ground pulls")


def _same(who: Pedestrian, plan: DocumentPhases, step: SampledMotion) -> Check:
    """Torques compared with those of the tree that is rooted at its supporting foot, in single support."""
    s, tau, worst = step.s, step.tau, 0.0
    for body, begin, end in (("right_foot", plan.double, plan.off - TO_TOES), ("right_toes", plan.off, 1.0)):
        some = (s > begin) & (s < end)
        other = who.person.rooted_at(body, sequence="ZXY")
        seen = change_root(who.person, other, *(x[some] for x in (step.q, step.qd, step.qdd)))
        assert seen.qd is not None and seen.qdd is not None
        wanted = inverse_dynamics(other, seen.q, seen.qd, seen.qdd)
        for name in who.joints:
            mine = tau[some, who.person.joint_index(name)]
            worst = max(worst, float(np.abs(mine - wanted[:, other.joint_index(name)]).max()))
    return Check.within(
        worst / float(np.abs(tau).max()), SAME, "1",
        "in single support the tree rooted at the foot has the same torques; difference relative to the "
        "largest",
    )  # fmt: skip
