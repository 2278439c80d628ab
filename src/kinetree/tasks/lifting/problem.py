"""Lifting as a motion problem, written with terms that serve any mechanism.

The tree is rooted at the right foot, which does not move; the ground carries what the motion asks of it, on
both feet, each at its own place (the two-step algorithm, [Barman2020], section 5.1). With both hands the
motion is in the sagittal plane and both sides move alike, so that the left foot stays where it is without any
condition. With one hand it is held by conditions at the knots.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.placement import Placement
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.model.body import Body, Shape
from kinetree.model.human.strength import constant_torques, scaled_torques
from kinetree.model.inertia import Inertia
from kinetree.model.joint import Joint
from kinetree.model.mechanism import Link, Mechanism
from kinetree.model.zoo.human import BEHIND_ANKLE, human
from kinetree.motion.problem.problem import Problem
from kinetree.motion.problem.setting import ENDS
from kinetree.motion.terms import (
    Boundary,
    Effort,
    GroundReaction,
    JointCombination,
    JointLimits,
    KeepOutBox,
    PointPosition,
    PointVelocity,
    Posture,
    ReactionLimit,
    RelativePosition,
    SquaredAcceleration,
    Time,
    TorqueLimits,
    ZeroMomentPoint,
)
from kinetree.motion.terms.contract import Constraint, Objective
from kinetree.tasks.lifting.task import FREE_TIME, GRIP, Lifting
from kinetree.tasks.person import ROOT, PersonOnFeet, carrying, on_foot

BOX = "box"
STANDING = "right_foot"
FEET = ("right_foot", "left_foot")
BACK = ("lumbar", "waist", "chest", "thorax")  # what "back" means in a strength
STILL = ("thorax", "neck", "head", "clavicle", "wrist", "toe")  # joints that no lift uses
SIDEWAYS = ("adduction", "rotation", "inversion", "bending", "pronation")
ONE_HANDED = ("chest.bending", "elbow.pronation", "idle.elbow.flexion", "idle.shoulder.rotation")
TURNED = 2.6  # rad, at most, of the box in the hand
SIDEWAYS_COSTS = 0.2  # of the weight of posture: bending and rotating beside bending of the back
LEVEL = 0.05  # rad, about which a box in one hand may be off the horizontal
KNEE, BELLY = 0.06, 0.10  # m, half thickness of knee and trunk before their joints
CHEST = 0.12  # m, half thickness of the trunk from the joint of the chest to the neck
NECK = 0.9  # of the length of the upper trunk: where the neck begins
TRUNK = {  # what adds up to the forward lean of the chest
    "right_ankle.flexion": 1.0, "right_knee": -1.0, "right_hip.flexion": 1.0, "lumbar.flexion": 1.0,
    "waist.flexion": 1.0, "chest.flexion": 1.0,
}  # fmt: skip
CAPSULES = (  # from the joint of a body to that of the next, with a half thickness (m)
    ("right_shank", "right_thigh", KNEE), ("right_thigh", "pelvis", KNEE), ("left_thigh", "left_shank", KNEE),
    ("left_shank", "left_foot", KNEE), ("lumbar", "waist", BELLY), ("waist", "chest", BELLY),
)  # fmt: skip
LIFT, UP, DOWN = "lift", "up", "down"  # a lift by itself, or what a cycle is made of
CORNER = 1.5  # instants for which a box is both before the shelf and above it, so that it cuts no corner
AROUND = 0.1  # m, by which a shelf that is drawn is wider and deeper than the box
SLACK = 5e-4  # m, of the left hand on the box where both sides do not move alike
STRONG_GRIP = 200.0  # N m, of hands about the box


@dataclass(frozen=True, eq=False)
class Lifter(PersonOnFeet):
    """A human with a box in its hands, rooted at the right foot."""

    task: Lifting
    part: str = LIFT  # from rest to rest, or UP or DOWN: half of a cycle, in which only the box comes to rest

    @property
    def still(self) -> list[str]:
        """The coordinates of the box."""
        return self.swivels

    @cached_property
    def swivels(self) -> list[str]:
        """Coordinates by which the box is turned in the hands."""
        return [x for x in self.mechanism.joint_names if x.startswith(BOX)]

    @cached_property
    def torques(self) -> dict[str, tuple[float, float]]:
        """Least and largest torque of every joint (N m)."""
        task = self.task
        factors: dict[str, float] = {}
        for name, factor in task.strength.items():
            for part in BACK if name == "back" else (name,):
                factors[part] = factors.get(part, 1.0) * factor
        both: dict[str, float] = {}
        whole = constant_torques(task.sex, task.height, task.mass)
        for part, factor in factors.items():
            sides = [f"left_{part}", f"right_{part}"] if f"left_{part}" in _bases(whole) else [part]
            both |= {side: both.get(side, 1.0) * factor for side in sides}
        found = scaled_torques(whole, both)
        return {name: found[name] for name in self.joints}

    @cached_property
    def soles(self) -> dict[str, Array]:
        """Heel, both sides of the ball, and tip of each foot on the floor, (4, 2) each (m)."""
        q = np.zeros(self.mechanism.n_dof)
        for name, value in self.held.items():
            q[self.mechanism.joint_index(name)] = value
        places = self.placed(q)
        return {
            f"{side}_foot": np.array([x[:2] for name, x in places.items() if name.startswith(side)])
            for side in ("right", "left")
        }

    @cached_property
    def held(self) -> dict[str, float]:
        """Where the root, the right heel, stays: the middle of the heels is the origin."""
        return dict.fromkeys(ROOT, 0.0) | {"root.y": -self.task.parts.hip}

    @property
    def support(self) -> Array:
        """Corners (4, 2) of what carries: from the heels to the balls of both feet (m)."""
        every = np.concatenate([points[:3] for points in self.soles.values()])  # no toes
        (rear, right), (front, left) = every.min(axis=0), every.max(axis=0)
        m = self.task.margin
        return np.array(
            [[rear + m, right + m], [front - m, right + m], [front - m, left - m], [rear + m, left - m]]
        )

    @property
    def tips(self) -> float:
        """How far before the heels the toes end (m)."""
        return float(self.soles[STANDING][:, 0].max())

    @property
    def places(self) -> Array:
        """Between which feet share what they carry: the middle of each sole, (2, 2) (m)."""
        return np.array([[0.0, self.soles[name][0, 1]] for name in FEET])

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """Where the hold of the box is at first and at last, in the world (3,) each (m)."""
        task = self.task
        y = 0.0 if task.two_handed else (-task.aside if task.hand == "right" else task.aside)
        floor = np.array([self.tips + task.gap + 0.5 * task.depth, y, task.grip])
        if task.twisted:  # about the vertical between the ankles
            (c, sine), ankle = self.facing, BEHIND_ANKLE * task.parts.scale
            ahead = floor[0] - ankle
            floor[:2] = ankle + c * ahead, sine * ahead
        shelf = np.array([self.tips + task.from_toes + task.onto, y, task.shelf + task.grip])
        return (shelf, floor) if self.part == DOWN else (floor, shelf)

    @property
    def surroundings(self) -> dict[str, Any]:
        """Floor and shelf, as results keep the ground that is drawn: a block as high as the shelf."""
        task = self.task
        y = float(self.ends[0 if self.part == DOWN else 1][1])
        edge, half = self.tips + task.from_toes, 0.5 * task.wide + AROUND
        ahead = [edge, edge + task.onto + 0.5 * task.depth + AROUND]
        shelf = {"forward": ahead, "side": [y - half, y + half], "height": task.shelf}
        return {
            "origin": [0.0, 0.0, 0.0], "normal": [0.0, 0.0, 1.0], "forward": [1.0, 0.0, 0.0],
            "regions": [shelf],
        }  # fmt: skip

    @property
    def facing(self) -> tuple[float, float]:
        """Cosine and sine of the direction in which the box stands at first."""
        angle = np.radians(self.task.beside)
        return float(np.cos(angle)), float(np.sin(angle))

    @property
    def lateral(self) -> float:
        """y of the middle of the box in its own frame, whose origin is the hold of the hand (m)."""
        return float(self.task.parts.shoulder) if self.task.two_handed else 0.0

    @property
    def left_hold(self) -> Array:
        """Where the left hand holds, in the frame of its forearm (3,) (m)."""
        parts = self.task.parts
        return np.array([0.0, 0.0, -parts["left_forearm"].length - GRIP * parts["left_hand"].length])

    @property
    def middle(self) -> Array:
        """Middle of the box in its own frame (3,) (m)."""
        return np.array([0.0, self.lateral, 0.5 * self.task.tall - self.task.grip])

    def capsules(self) -> list[tuple[str, Array, float]]:
        """What the box keeps away from: bodies, where their capsules end (3,) and radii (m)."""
        poses, found = forward_kinematics(self.mechanism, np.zeros(self.mechanism.n_dof)), []
        for body, after, radius in CAPSULES:
            R, p = poses[body]
            found.append((body, np.asarray(R.T @ (poses[after][1] - p)), radius))
        return [*found, ("chest", self.neck, CHEST)]

    @property
    def neck(self) -> Array:
        """Where the trunk ends, in the frame of the chest (3,) (m)."""
        return np.array([0.0, 0.0, NECK * self.task.parts["upper_trunk"].length])


def _bases(names: Any) -> set[str]:
    return {name.split(".")[0] for name in names}


def lifter(task: Lifting) -> Lifter:
    """The human of a task with the box in its hands and the joints that lift.

    >>> import kinetree as kt
    >>> who = kt.lifting.lifter(kt.lifting.Lifting())
    >>> type(who).__name__
    'Lifter'
    """
    whole = human(task.sex, task.height, task.mass)
    held = [x for x in whole.joint_names if x not in ROOT and _still(x, task)]
    person = _with_box(whole.frozen(held).fused(), task)
    heel = next(point.position for point in person.contact_points if point.name == "right_heel")
    return Lifter(on_foot(person, STANDING, heel), person, task)


def _still(name: str, task: Lifting) -> bool:
    """Whether a lift leaves a joint as it is."""
    side, _, base = name.partition("_") if name.startswith(("left_", "right_")) else ("", "", name)
    if base.startswith(STILL) or base == "elbow.pronation":
        return True
    if task.symmetric:
        return base.endswith(SIDEWAYS)
    if task.twisted:
        return base in ONE_HANDED
    idle = side not in ("", task.hand)
    return base in ONE_HANDED or (idle and f"idle.{base}" in ONE_HANDED)


def _with_box(person: Mechanism, task: Lifting) -> Mechanism:
    """The person with the box: in the right hand half of it, half in the left; or all in one hand."""
    side = task.sides[0]
    body = f"{side}_forearm"  # the hand, whose wrist is stiff, is a part of it
    parts = task.parts
    hold = np.array([0.0, 0.0, -parts[f"{side}_forearm"].length - GRIP * parts[f"{side}_hand"].length])
    size = np.array([task.depth, task.wide, task.tall])
    share = 0.5 if task.two_handed else 1.0
    y = parts.shoulder if task.two_handed else 0.0
    middle = np.array([0.0, y, 0.5 * task.tall - task.grip])
    solid = Inertia.box(max(share * task.box, 1e-3), size)
    center = middle * [1.0, 0.0, 1.0]  # both hands carry alike: half of it in the plane of each arm
    load = Inertia(solid.mass, center, solid.moment)
    shape = Shape("box", size, Placement.at(middle))
    if task.symmetric:
        swivel = Joint.of_kind(BOX, "revolute", axes=[(0.0, 1.0, 0.0)], effort_limit=STRONG_GRIP)
    elif task.twisted:
        swivel = Joint.of_kind(
            BOX, "spherical", sequence="YXZ", labels=("pitch", "roll", "yaw"), effort_limit=STRONG_GRIP
        )
    else:
        swivel = Joint.of_kind(
            BOX,
            "universal",
            axes=[(0.0, 1.0, 0.0), (1.0, 0.0, 0.0)],
            labels=("pitch", "roll"),
            effort_limit=STRONG_GRIP,
        )
    links = list(person.links)
    if task.two_handed and task.box:
        other = np.array([0.0, 0.0, hold[2]])
        half = Inertia(share * task.box, other, 1e-6 * np.eye(3))
        links = list(carrying(person, "left_forearm", half).links)
    links.append(Link(Body(BOX, load, (shape,)), swivel, body, Placement.at(hold)))
    return replace(person, links=tuple(links))


def lifting_problem(task: Lifting | None = None, who: Lifter | None = None) -> Problem:
    """The problem of one lift; see :func:`kinetree.tasks.lifting.lift.lift`.

    >>> import kinetree as kt
    >>> problem = kt.lifting.lifting_problem()
    >>> problem.mechanism.n_dof
    20
    """
    task = task or Lifting()
    who = who or lifter(task)
    duration: Any = FREE_TIME if task.duration is None else task.duration
    return Problem(
        who.mechanism,
        objective=_objective(task, who),
        constraints=[*_body(task, who), *_box(task, who), *_sides(task, who)],
        duration=duration,
        segments=task.points,
        samples=3,
        frozen=who.held,
        regularization=0.0,
    )


def _objective(task: Lifting, who: Lifter) -> list[Objective]:
    back = [x for x in who.joints if x.startswith(BACK) and x.endswith("flexion")]
    sideways = [x for x in who.joints if x.endswith(SIDEWAYS)]
    terms: list[tuple[float, Objective]] = [
        (task.effort, Effort(2.0, who.joints, limits=who.sizes)),
        (task.time, Time()),
        (task.acceleration, SquaredAcceleration(who.joints)),
        (task.posture, Posture(back)),
        *([(SIDEWAYS_COSTS * task.posture, Posture(sideways))] if sideways else []),
    ]
    return [weight * term for weight, term in terms if weight]


def _body(task: Lifting, who: Lifter) -> list[Constraint]:
    """Rest at both ends, ranges, strength, balance, forces in back and knees."""
    moving = [x for x in who.mechanism.joint_names if x not in ROOT]
    rest: list[Constraint] = []
    if who.part == LIFT:
        rest += [Boundary(end, velocity=dict.fromkeys(moving, 0.0)) for end in ("start", "end")]
    elif who.part == UP:  # the way down goes on from its ends
        rest += [PointVelocity(BOX, np.zeros(3), axes="xz", at=end) for end in ("start", "end")]
    found: list[Constraint] = [
        *rest,
        JointLimits(joints=who.joints, at="points"),
        TorqueLimits(
            {name: high for name, (_, high) in who.torques.items()},
            {name: low for name, (low, _) in who.torques.items()},
            who.joints,
        ),
        GroundReaction(FEET, between=who.places, apart=True),
        ZeroMomentPoint(who.support),
    ]
    if task.lean is not None:
        found.append(JointCombination(TRUNK, upper=float(np.radians(task.lean))))
    if task.back_force is not None:
        found.append(ReactionLimit("lumbar", task.back_force))
    if task.knee_force is not None:
        found += [ReactionLimit(name, task.knee_force) for name in knees(task)]
    return found


def knees(task: Lifting) -> tuple[str, ...]:
    """The knees whose forces are limited; in symmetric lifts both have the same."""
    return ("right_knee",) if task.symmetric else ("right_knee", "left_knee")


def _box(task: Lifting, who: Lifter) -> list[Constraint]:
    """How the box goes, whichever way it is held."""
    return _box_beside(task, who) if task.twisted else _box_ahead(task, who)


def _box_beside(task: Lifting, who: Lifter) -> list[Constraint]:
    """From the floor at one side to the shelf, past legs and trunk, over the edge of the shelf."""
    s = np.linspace(0.0, 1.0, 3 * task.points + 1)[1:-1]
    before = s < task.inside
    after = s >= task.inside - CORNER * (s[1] - s[0])
    edge, c, inf = who.tips + task.from_toes, task.clearance, np.inf
    size, hold = np.array([task.depth, task.wide, task.tall]), np.array([0.0, who.lateral, 0.0])
    low, above, high = (
        np.full((int(x.sum()), 3), side * inf) for x, side in ((before, -1), (after, -1), (before, 1))
    )
    low[:, 2] = task.grip + c * np.minimum(1.0, 8.0 * s[before])
    above[:, 2] = task.shelf + task.grip + c * np.minimum(1.0, 8.0 * (1.0 - s[after]))
    high[:, 0] = edge - c
    found: list[Constraint] = [
        PointPosition(BOX, lower=low, upper=np.full(low.shape, inf), point=hold, axes="z", at=s[before]),
        PointPosition(BOX, lower=above, upper=np.full(above.shape, inf), point=hold, axes="z", at=s[after]),
    ]
    for side in (-0.5, 0.5):  # front corners before the shelf
        corner = np.array([0.5 * task.depth, who.lateral + side * task.wide, 0.0])
        free = np.full(high.shape, -inf)
        found.append(PointPosition(BOX, lower=free, upper=high, point=corner, axes="x", at=s[before]))
    for end, place, (cosine, sine) in zip(ENDS, who.ends, (who.facing, (1.0, 0.0)), strict=True):
        found.append(PointPosition(BOX, place, point=hold, axes="xyz", at=end))
        right = place + who.lateral * np.array([sine, -cosine, 0.0])
        found.append(PointPosition(BOX, right, axes="x" if cosine > abs(sine) else "y", at=end))
    for body, tip, radius in who.capsules():
        found.append(KeepOutBox(body, who.middle, size, end=tip, radius=radius, of=BOX))
    return found


def _box_ahead(task: Lifting, who: Lifter) -> list[Constraint]:
    """From the floor to the shelf, past knees and trunk, over the edge of the shelf."""
    first, last = who.ends
    axes = "xz" if task.symmetric else "xyz"
    s = np.linspace(0.0, 1.0, 3 * task.points + 1)[1:-1]
    way = 1.0 - s if who.part == DOWN else s  # 0 at the floor, 1 at the shelf
    before, after = way < task.inside, way >= task.inside
    edge, c = who.tips + task.from_toes, task.clearance
    inf = np.inf
    low, above, high = (
        np.full((int(x.sum()), 3), side * inf) for x, side in ((before, -1), (after, -1), (before, 1))
    )
    low[:, 2] = task.grip + c * np.minimum(1.0, 8.0 * way[before])
    above[:, 2] = task.shelf + task.grip + c * np.minimum(1.0, 8.0 * (1.0 - way[after]))
    high[:, 0] = edge - c - 0.5 * task.depth
    ends = [PointPosition(BOX, first, axes=axes, at="start"), PointPosition(BOX, last, axes=axes, at="end")]
    middle, size = who.middle, (task.depth, task.wide, task.tall)
    sides = ("right",) if task.symmetric else ("right", "left")
    half = 0.5 * task.depth
    knee = {"right": ("right_shank", _knee(who)), "left": ("left_shank", np.zeros(3))}
    return [
        *(ends if who.part != DOWN else []),
        PointPosition(BOX, lower=low, upper=high, axes="xz", at=s[before]),
        PointPosition(BOX, lower=above, upper=np.full(above.shape, inf), axes="z", at=s[after]),
        *(
            RelativePosition(BOX, knee[side][0], of_point=knee[side][1], lower=(half + KNEE, 0, 0), axes="x")
            for side in sides
        ),
        *(RelativePosition(BOX, name, lower=(half + BELLY, 0, 0), axes="x") for name in ("lumbar", "waist")),
        KeepOutBox("chest", middle, size, end=who.neck, radius=CHEST, of=BOX),
    ]


def _knee(who: Lifter) -> Array:
    """The right knee in the frame of its shank as the mechanism has it, rooted at the foot."""
    poses = forward_kinematics(who.mechanism, np.zeros(who.mechanism.n_dof))
    R, p = poses["right_shank"]
    return np.asarray(R.T @ (poses["right_thigh"][1] - p))


def _sides(task: Lifting, who: Lifter) -> list[Constraint]:
    """Both sides alike and the box level; or the left foot at rest and the box nearly level."""
    if task.symmetric:
        paired = [name.removeprefix("left_") for name in who.joints if name.startswith("left_")]
        chain = TRUNK | {"right_shoulder.flexion": -1.0, "right_elbow.flexion": -1.0, BOX: 1.0}
        return [
            *(JointCombination({f"right_{name}": 1.0, f"left_{name}": -1.0}, 0.0, 0.0) for name in paired),
            JointCombination(chain, 0.0, 0.0),
        ]
    points = {x.name: x for x in who.mechanism.contact_points}
    names = ("left_heel", "left_ball_medial", "left_ball_lateral")
    place = {name: np.append(xy, 0.0) for name, xy in zip(names, who.soles["left_foot"][:3], strict=True)}
    s = np.linspace(0.0, 1.0, task.points + 1)
    held: list[Constraint] = [
        PointPosition(points[name].body, place[name], point=points[name].position, axes=axes, at=s)
        for name, axes in zip(names, ("xyz", "yz", "z"), strict=True)
    ]
    upright = RelativePosition(
        BOX, BOX, point=(0, 0, 1), lower=(-LEVEL, -LEVEL, 0), upper=(LEVEL, LEVEL, 0), axes="xy"
    )
    if task.twisted:
        held.append(_left_hand(task, who, np.linspace(0.0, 1.0, 2 * task.points + 1)))
    return [*held, upright, JointLimits(-TURNED, TURNED, who.swivels, at="points")]


def _left_hand(task: Lifting, who: Lifter, at: Array) -> Constraint:
    """It holds the box where the mirror image of the right one is."""
    across, slack = (0.0, 2.0 * who.lateral, 0.0), np.full(3, SLACK)
    return RelativePosition(
        "left_forearm", BOX, point=who.left_hold, of_point=across, lower=-slack, upper=slack, at=at
    )
