"""The walking problem of [Barman2020], chapter V: 55 degrees of freedom, rooted at the pelvis, six points.

Ground reactions come from the two-step active-passive algorithm (:class:`kinetree.terms.GroundReaction`), the
feet are held by conditions on contact points, and nine families of constraints are those of section 5.2. What
the document leaves open is chosen here: which points touch when, the instants of the conditions, how far the
contact points may be from the ground and how fast they may move where six control points cannot keep them
still, and a small weight of the posture, since effort does not see how straight arms rotate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, must_be
from kinetree.model.human.joints import FROZEN_WHILE_WALKING, mirror_image
from kinetree.motion.problem.instants import GaussSamples
from kinetree.motion.problem.problem import Problem
from kinetree.motion.problem.setting import End
from kinetree.motion.terms import (
    Effort,
    GroundClearance,
    GroundReaction,
    Hold,
    JointLimits,
    KeepOut,
    PendulumProduct,
    PointPosition,
    PointVelocity,
    Posture,
    SquaredAcceleration,
    Symmetric,
    TorqueLimits,
    ZeroMomentPoint,
)
from kinetree.motion.terms.contract import Constraint
from kinetree.tasks.person import ROOT, PersonOnFeet
from kinetree.tasks.walking.problem import Walker, person_of, walker
from kinetree.tasks.walking.task import DEGREE, Walking

POINTS = 6  # control points of each degree of freedom
DEGREE_OF_SPLINES = 3
WRIST_INSTANTS = np.linspace(0.0, 1.0, 25)  # of the step: between the nodes below a hand comes 3 mm nearer
NODES = (5, 7, 6)  # Gauss nodes in double support, with the foot flat, after heel off
NEAR, SLOW = 0.004, 0.08  # m, m/s: how far from the ground and how fast contact points may be
POSTURE, ACCELERATION = 1e-3, 5e-6  # weights of squared angles and accelerations; that of the effort is 1
TO_TOES = 0.1  # of the step: how long before heel off the load goes over from the foot to its toes
KNEE = (55.0 * DEGREE, 65.0 * DEGREE)  # at mid-swing: 60 degrees, 5 more or less
WRIST = 0.10  # m, least distance of wrist and hip: radii of both spheres
SHARINGS = ("zmp", "time")
DOCUMENT = Walking(points=POINTS, double=0.2, flat=0.2, heel_off=0.65, passive=0.0)
FEET = ("left_toes", "right_foot", "right_toes")  # what carries
BEHIND_HEEL = 0.01  # m: how far behind the heel the pressure may have its center
HEEL_OFF = 0.6  # of the way from heel to ball: how far back it may be after heel off


@dataclass(frozen=True, eq=False)
class Pedestrian(PersonOnFeet):
    """Who walks in the document's problem: the whole person, rooted at the pelvis, 55 degrees of freedom."""

    task: Walking
    walker: Walker  # the same with 38, for strength and comparison

    @property
    def torques(self) -> dict[str, tuple[float, float]]:
        """Least and largest torque of every joint (N m)."""
        return {name: self.walker.torques[name] for name in self.joints}

    @cached_property
    def still(self) -> list[str]:
        """Degrees of freedom that stay at zero while walking."""
        return [
            name
            for name in self.mechanism.joint_names
            if any(name == x or name.startswith(f"{x}.") for x in FROZEN_WHILE_WALKING)
        ]

    @cached_property
    def sole(self) -> dict[str, Array]:
        """Contact points of the right foot from its heel, standing, (2,) each (m)."""
        places = self.placed(np.zeros(self.mechanism.n_dof))
        heel = places["right_heel"]
        return {
            name.removeprefix("right_"): (place - heel)[:2]
            for name, place in places.items()
            if name.startswith("right_")
        }

    def ground(self, side: str, at: Array, step: float) -> Array:
        """Where a place (..., 2) of the sole of a flat foot is in the world, its heel at ``step`` (m)."""
        sign = 1.0 if side == "left" else -1.0
        angle = sign * self.task.toe_out
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        own = np.asarray(at) * [1.0, -sign]
        placed: Array = np.array([step, sign * self.task.width / 2.0]) + own @ turn.T
        return placed

    def polygon(self, side: str, rear: float, step: float) -> Array:
        """Corners (4, 2) of the sole from ``rear`` (m before the heel) to the tip."""
        tip, half = self.sole["toe_tip"][0], abs(self.sole["ball_lateral"][1])
        corners = np.array([[rear, -half], [tip, -half], [tip, half], [rear, half]])
        return self.ground(side, corners, step)


def pedestrian(task: Walking | None = None) -> Pedestrian:
    """Who walks; slopes and unequal steps belong to the other formulation."""
    task = task or DOCUMENT
    if task.slope:
        raise InputError(
            f"walking by the two-step algorithm needs level ground, got slope = {task.slope:g} degrees"
        )
    if task.asymmetric or task.strength_by != "constant":
        raise InputError(
            "walking by the two-step algorithm needs symmetric legs and constant strength; "
            "formulation = 'foot' handles asymmetric strides, and strength by angle and velocity"
        )
    person = person_of(task)
    return Pedestrian(person, person, task, walker(task))


class DocumentPhases:
    """Instants of the problem and which points touch the ground at which of them."""

    def __init__(self, task: Walking, nodes: tuple[int, int, int] = NODES) -> None:
        self.double, self.off = task.double_support, task.heel_off
        self.samples = GaussSamples((0.0, self.double, self.off, 1.0), nodes)
        s = self.samples.s
        self.both, self.flat, self.late = (
            s[s < self.double],
            s[(s > self.double) & (s < self.off)],
            s[s > self.off],
        )
        front = ("ball_medial", "ball_lateral", "toe_tip")
        touching = {"right_heel": s[s < self.off], "left_toe_tip": self.both, "left_heel": s[:0]}
        touching |= {f"right_{name}": s[s > self.double] for name in front}
        touching |= {f"left_{name}": s[:0] for name in front[:2]}
        self.touching = touching
        self.clear = {name: np.setdiff1d(s, at) for name, at in touching.items()}


def document_problem(
    task: Walking | None = None, who: Pedestrian | None = None, sharing: str = "zmp"
) -> Problem:
    """The document's problem: 330 control points, nine families of constraints, least effort.

    ``sharing`` says who carries in double support: "zmp", by where the zero-moment point is between both
    feet, or "time", from the trailing foot to the leading one at a constant rate.

    >>> import kinetree as kt
    >>> problem = kt.walking.two_step_problem()
    >>> problem.program.n
    228
    """
    task = task or DOCUMENT
    who = who or pedestrian(task)
    if sharing not in SHARINGS:
        raise InputError(must_be("walking: sharing", f"one of {', '.join(SHARINGS)}", sharing))
    plan, torques = DocumentPhases(task), who.torques
    moving = [*who.root, *who.joints]
    return Problem(
        who.person,
        objective=[
            Effort(2.0, who.joints, limits=who.sizes),
            POSTURE * Posture(who.joints),
            ACCELERATION * SquaredAcceleration(moving),
        ],
        constraints=[
            Hold(who.still),
            JointLimits(joints=who.joints),  # (1)
            TorqueLimits(  # (2)
                {name: high for name, (_, high) in torques.items()},
                {name: low for name, (low, _) in torques.items()},
                who.joints,
            ),
            *_ground(who, plan),  # (3)
            *_balance(who, plan),  # (4)
            reaction(who, plan, sharing),
            _arm_with_leg(who),  # (5)
            *_wrists(who),  # (6)
            Symmetric(  # (7)
                {name: mirror_image(name)[0] for name in moving},
                [name for name in moving if mirror_image(name)[1] < 0.0],
                offset={ROOT[0]: task.step},
            ),
            JointLimits({"left_knee": KNEE[0]}, {"left_knee": KNEE[1]}, ["left_knee"], at=0.5),  # (8)
            *_steps(who),  # (9)
        ],
        duration=task.duration,
        segments=task.points - DEGREE_OF_SPLINES,
        degree=DEGREE_OF_SPLINES,
        samples=plan.samples,
    )


def _ground(who: Pedestrian, plan: DocumentPhases) -> list[Constraint]:
    """Points that touch are at the ground and at rest, others above it (5.4)."""
    found: list[Constraint] = []
    for name, at in plan.touching.items():
        body, point = who.points[name]
        if len(at):
            band = {"lower": (0.0, 0.0, -NEAR), "upper": (0.0, 0.0, NEAR)}
            found.append(PointPosition(body, point=point, axes="z", at=at, **band))
            found.append(PointVelocity(body, np.zeros(3), point=point, at=at, slack=SLOW))
        if len(plan.clear[name]):
            found.append(GroundClearance(body, point, at=plan.clear[name]))
    return found


def supports(who: Pedestrian) -> tuple[Array, Array, Array]:
    """Corners of the support in double support, with the foot flat, and after heel off."""
    rear = HEEL_OFF * who.sole["ball_lateral"][0]
    leading, trailing = who.polygon("right", -BEHIND_HEEL, 0.0), who.polygon("left", rear, -who.task.step)
    return _hull(np.vstack([leading, trailing])), leading, who.polygon("right", rear, 0.0)


def _balance(who: Pedestrian, plan: DocumentPhases) -> list[Constraint]:
    """The zero-moment point stays in the support (5.5)."""
    instants = (plan.both, plan.flat, plan.late)
    return [ZeroMomentPoint(corners, at=at) for corners, at in zip(supports(who), instants, strict=True)]


def _hull(corners: Array) -> Array:
    from scipy.spatial import ConvexHull

    return np.asarray(corners[ConvexHull(corners).vertices])


def reaction(who: Pedestrian, plan: DocumentPhases, sharing: str) -> GroundReaction:
    """Who carries when: trailing toes and leading foot, the foot, then its toes."""
    d, off = plan.double, plan.off
    s = np.array([0.0, d, off - TO_TOES, off, 1.0])
    if sharing == "time":
        return GroundReaction(FEET, [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]], s)
    trailing = who.ground(
        "left", 0.5 * (who.sole["toe_tip"] + who.sole["ball_lateral"]) * [1, 0], -who.task.step
    )
    places = np.stack([trailing, who.ground("right", np.zeros(2), 0.0)])
    rows = [[0, 1, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]
    return GroundReaction(FEET, rows, s, between=places, during=(0.0, d))


def _arm_with_leg(who: Pedestrian) -> Constraint:
    """The left arm, from shoulder to wrist, swings with the right leg, from hip to ankle (5.6)."""
    wrist = (0.0, 0.0, -who.task.parts["left_forearm"].length)
    return PendulumProduct("left_upper_arm", "left_forearm", "right_thigh", "right_foot", end_point=wrist)


def _wrists(who: Pedestrian) -> list[Constraint]:
    """Wrists stay away from the hips (5.7)."""
    parts = who.task.parts
    return [
        KeepOut(
            f"{side}_forearm", (0.0, sign * parts.hip, 0.0), WRIST,
            points=(0.0, 0.0, -parts[f"{side}_forearm"].length), of="pelvis", at=WRIST_INSTANTS,
        )
        for side, sign in (("left", 1.0), ("right", -1.0))
    ]  # fmt: skip


def _steps(who: Pedestrian) -> list[Constraint]:
    """Where feet are at the start and one step further at the end (5.10)."""
    L = who.task.step
    rows: tuple[tuple[str, str, float, End], ...] = (
        ("right", "heel", 0.0, "start"),
        ("left", "toe_tip", -L, "start"),
        ("left", "heel", L, "end"),
        ("right", "toe_tip", 0.0, "end"),
    )
    found: list[Constraint] = []
    for side, name, step, at in rows:
        body, point = who.points[f"{side}_{name}"]
        target = np.append(who.ground(side, who.sole[name], step), 0.0)
        found.append(PointPosition(body, target, point=point, at=at))
    return found
