"""The document's walking problem solved, verified and shown: :func:`two_step_walk`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.energy import momentum
from kinetree.analysis.inverse import inverse_dynamics
from kinetree.analysis.kinematics import body_velocities, forward_kinematics
from kinetree.analysis.rooting import change_root
from kinetree.errors import InputError
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.predict import predict
from kinetree.motion.solvers.choice import SolverName
from kinetree.motion.solvers.interface import Progress
from kinetree.result.records import Check
from kinetree.result.result import Result
from kinetree.studies.walking.document import (
    DOCUMENT,
    FEET,
    NEAR,
    SLOW,
    TO_TOES,
    Pedestrian,
    Phases,
    document_problem,
    pedestrian,
    supports,
)
from kinetree.studies.walking.ground import LIGHT, Ground, centre_of_pressure
from kinetree.studies.walking.task import Walking
from kinetree.studies.walking.verified import Verified
from kinetree.studies.walking.walk import with_ground

FINER = 10
SAME = 1e-9  # beside the largest torque: what both formulations may differ by in single support
FREE = 1e-9  # relative to the weight: what the free root may need
TWICE = 2.0  # contact points between the instants of the conditions may be so many times the bands away
STEP = 1e-6  # s, of the difference that gives the rate of the momentum
EXACT = 1e-6  # relative to the weight: the error of that difference


@dataclass(frozen=True, eq=False)
class TwoStepWalk(Verified):
    """A step predicted by the document's own formulation: who walked, the prediction, all checks by name."""

    who: Pedestrian
    prediction: Prediction
    sharing: str
    checks: dict[str, Check]
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def task(self) -> Walking:
        """What was asked."""
        return self.who.task

    @cached_property
    def ground(self) -> Ground:
        """Pushes of the ground on both feet at the prediction's own samples."""
        return ground_at(self.who, self.prediction, self.prediction.s)

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
    task: Walking | None = None,
    *,
    sharing: str = "zmp",
    tolerance: float = 1e-3,
    start: Any = None,
    starts: int = 1,
    seed: int = 0,
    solver: SolverName = "auto",
    max_iterations: int = 400,
    time_limit: float | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
    **changes: Any,
) -> TwoStepWalk:
    """One step by the document's formulation: pelvis as root, two-step algorithm, six control points.

    ``task`` is a :class:`kinetree.walking.Walking`, of which size, speed, step, width, loads, strength,
    phases and points count; ``changes`` are those of it. ``sharing`` in double support: "zmp" or "time". The
    search begins at q = 0 unless a ``start`` is given. See docs/walking.md for how well six points walk.

    >>> import kinetree as kt
    >>> kt.walking.two_step_problem()
    Problem('human': 228 variables, 1795 constraints, 3 segments of degree 3)
    """
    begun = perf_counter()
    if task is not None and not isinstance(task, Walking):
        raise InputError(f"two_step_walk needs a Walking, got {task!r}")
    task = (task or DOCUMENT).changed(**changes)
    who = pedestrian(task)
    problem = document_problem(task, who, sharing)
    made = perf_counter()
    if start is None:
        start = np.array([0.0, task.duration]), np.zeros((2, who.person.n_dof))
    prediction = predict(
        problem, solver=solver, start=start, starts=starts, seed=seed, tolerance=tolerance,
        max_iterations=max_iterations, time_limit=time_limit, progress=progress,
    )  # fmt: skip
    found = perf_counter()
    checks = checked(who, prediction)
    seconds = {"problem": made - begun, "search": found - made, "checks": perf_counter() - found}
    return TwoStepWalk(who, prediction, sharing, checks, seconds)


def ground_at(who: Pedestrian, prediction: Prediction, s: Array) -> Ground:
    """Pushes of the ground on right and left foot at instants s (m,), and what they do to the feet."""
    problem = prediction.problem
    at = problem.evaluation(s, prediction.x)
    q, qd = (rate[:, problem.setting.own] for rate in at.motion[:2])
    poses, twists = forward_kinematics(who.person, q), body_velocities(who.person, q, qd)
    force, about, power = np.zeros((len(s), 2, 3)), np.zeros((len(s), 2, 3)), {}
    for load, body in zip(at.pushes, FEET, strict=True):
        foot = 0 if body.startswith("right") else 1
        f, n = np.asarray(load.force), np.asarray(load.moment)
        force[:, foot] += f
        about[:, foot] += n + np.cross(poses[body][1], f)
        twist = twists[:, who.person.body_index(body)]
        power[body] = (f * twist[:, :3]).sum(axis=1) + (n * twist[:, 3:]).sum(axis=1)
    least = LIGHT * who.walker.weight
    parts = [centre_of_pressure(force[:, k], about[:, k], np.zeros(len(s)), least) for k in range(2)]
    point, moment = (np.stack([part[k] for part in parts], axis=1) for k in range(2))
    return Ground(force, point, moment, power)


def checked(who: Pedestrian, prediction: Prediction) -> dict[str, Check]:
    """All checks by name, on a grid that is ten times finer."""
    plan = Phases(who.task)
    problem, s = prediction.problem, plan.samples.finer(FINER).s
    at = problem.evaluation(s, prediction.x)
    q, qd, qdd = (rate[:, problem.setting.own] for rate in at.motion[:3])
    tau = at.tau[:, problem.setting.own]
    weight = who.walker.weight
    return {
        "torques": _torques(who, tau),
        "root": Check.within(
            float(np.abs(tau[:, : len(who.root)]).max()) / weight, FREE, "1",
            "no force acts on the free pelvis; residual relative to the weight",
        ),
        **_contact(who, plan, s, q, qd),
        "support": _support(who, plan, s, at.tau[:, problem.setting.reaction("world")]),
        "other_formulation": _same(who, plan, s, (q, qd, qdd), tau),
        "momentum": _momentum(who, (q, qd, qdd), np.sum([np.asarray(x.force) for x in at.pushes], axis=0)),
    }  # fmt: skip


def _torques(who: Pedestrian, tau: Array) -> Check:
    columns = [who.person.joint_index(name) for name in who.joints]
    low, high = (np.array([who.walker.torques[name][k] for name in who.joints]) for k in range(2))
    size = np.array([who.walker.sizes[name] for name in who.joints])
    excess = float((np.maximum(low - tau[:, columns], tau[:, columns] - high) / size).max())
    return Check.within(
        max(excess, 0.0), 1e-2, "1", f"torques stay within their limits at {len(tau)} instants"
    )


def _contact(who: Pedestrian, plan: Phases, s: Array, q: Array, qd: Array) -> dict[str, Check]:
    """How far contact points are from the ground, how fast they move, and how low the others are."""
    poses, twists = forward_kinematics(who.person, q), body_velocities(who.person, q, qd)
    apart, speed, lowest = 0.0, 0.0, 0.0
    for name, instants in plan.touching.items():
        body, point = who.points[name]
        R, p = poses[body]
        arm = R @ point
        twist = twists[:, who.person.body_index(body)]
        z, v = (p + arm)[:, 2], twist[:, :3] + np.cross(twist[:, 3:], arm)
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


def _support(who: Pedestrian, plan: Phases, s: Array, F: Array) -> Check:
    """How far the zero-moment point is outside its polygon."""
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


def _same(who: Pedestrian, plan: Phases, s: Array, motion: tuple[Array, Array, Array], tau: Array) -> Check:
    """Torques beside those of the tree that is rooted at its supporting foot, in single support."""
    worst = 0.0
    for body, begin, end in (("right_foot", plan.double, plan.off - TO_TOES), ("right_toes", plan.off, 1.0)):
        some = (s > begin) & (s < end)
        other = who.person.rooted_at(body, sequence="ZXY")
        seen = change_root(who.person, other, *(x[some] for x in motion))
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


def _momentum(who: Pedestrian, motion: tuple[Array, Array, Array], push: Array) -> Check:
    q, qd, qdd = motion
    ends = [
        momentum(who.person, q + h * qd + 0.5 * h * h * qdd, qd + h * qdd)[..., :3] for h in (STEP, -STEP)
    ]
    rate = (ends[0] - ends[1]) / (2.0 * STEP)
    apart = float(np.abs(rate - push - who.person.mass * who.person.gravity).max()) / who.walker.weight
    return Check.within(
        apart, EXACT, "1", "change of momentum equals ground reaction plus weight, by finite differences"
    )
