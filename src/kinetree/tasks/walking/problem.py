"""One step of a human as a motion problem, written with terms that serve any mechanism.

The tree is rooted at the toes of the right, supporting foot, in its heel point, so joint torques are inverse
dynamics and the root's generalized forces are the ground's reaction on that foot. The left foot trails: its
force in double support is sought. Splines go on mirrored, so one step is all steps, and the trailing toes
that rest on the ground are the foot that the next step lands on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, frozen
from kinetree.algebra.placement import Placement
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.errors import InputError, unknown_name
from kinetree.model.body import Shape
from kinetree.model.human.joints import FROZEN_WHILE_WALKING, mirror_image
from kinetree.model.human.muscles import with_leg_muscles
from kinetree.model.human.strength import MEASURED, Strength, constant_torques, scaled_strength, strength
from kinetree.model.inertia import Inertia
from kinetree.model.mechanism import Mechanism
from kinetree.model.zoo.human import human
from kinetree.motion.problem.instants import AddedSamples, GaussSamples
from kinetree.motion.problem.problem import Problem
from kinetree.motion.terms import (
    Effort,
    Friction,
    GroundClearance,
    Hold,
    HumanPassive,
    JointLimits,
    JointProduct,
    MuscleCost,
    PointPosition,
    PointVelocity,
    Posture,
    RelativePosition,
    SquaredAcceleration,
    SquaredSum,
    Support,
    Symmetric,
    Time,
    TorqueCombination,
    TorqueLimits,
    TorqueRate,
    UnknownForce,
    UnknownMoment,
    VelocityLimits,
)
from kinetree.motion.terms.contract import Constraint, Objective
from kinetree.motion.terms.strength import StrengthLimits
from kinetree.tasks.person import ROOT, PersonOnFeet, carrying, on_foot
from kinetree.tasks.walking.task import DEGREE, GRAVITY, Walking

SUPPORTING, TRAILING, TOE = "right_toes", "left_toes", "right_toe"
POSTURE = (
    "ankle", "lumbar", "waist", "chest", "shoulder.adduction", "shoulder.rotation", "elbow",
)  # fmt: skip
PELVIS = 0.3  # of the weight of posture: what rotation of the hips costs, by which the pelvis lengthens steps
LEAN = {
    "root.pitch": 1.0, "right_toe": 1.0, "right_ankle.flexion": 1.0, "right_knee": -1.0,
    "right_hip.flexion": 1.0, "lumbar.flexion": 1.0, "waist.flexion": 1.0, "chest.flexion": 1.0,
}  # fmt: skip
# What effort measures torques by, beside the limits: walking asks more of plantar flexors than dynamometers
EFFORT = {"ankle.flexion": 1.5, "knee": 0.9, "hip.flexion": 0.8}
LEGS = ("hip.flexion", "hip.adduction", "hip.rotation", "knee", "ankle.flexion", "ankle.inversion")
# Ranges of these joints in which lengths of muscles are fitted (rad)
RANGES = dict(
    zip(LEGS, ((-0.6, 1.0), (-0.4, 0.4), (-0.4, 0.4), (0.0, 1.5), (-0.6, 0.5), (-0.35, 0.35)), strict=True)
)
LOADING = 3.0  # of the weight of torque rates: what the rate of the ground's push costs, by body weights
LEG = 0.936  # m: for these legs weights of rates are as given; for others so that all walk alike
BEHIND_HEEL, BEFORE_HEEL, ROLLS = 0.043, 0.13, 0.69  # of the sole: center of pressure while the foot rolls on
# Of the time until the foot is flat: further instants after touch-down. Without the first, the center of
# pressure of who walks downhill leaves the sole before the first node, while the foot hardly carries
EARLY = np.array([0.016, 0.04, 0.06, 0.085, 0.18])
MIDDLE = 0.5  # of the way from heel to ball: behind it no pressure has its center once the foot is flat
HEEL_OFF = 0.7  # of the same way: how far back it may be after heel off; just before, it reaches the ball
TOUCHES = 5e-4  # of the weight, at touch-down: else rounding would let the ground pull there
INSIDE = 0.003  # m: rows keep so far from the rear edge of the support, which is checked between them
LIFTED = 0.06  # m, at most, of a ball that no longer carries
LEAVES = 0.02  # m/s, upwards, of toes that lift off: else they would sink first
# Shares of the segments of splines: 10 and 4 of 18. Of eleven ways to place 17 or 18 of them, tried on three
# women and a man, this one was within 0.1 % of the least mean objective
IN_DOUBLE_SUPPORT, AFTER_HEEL_OFF = 10 / 18, 4 / 18
PER_SEGMENT = 2  # Gauss nodes at least: with fewer, splines bend between them at no cost, and no search ends
EARLIER = 0.55  # of the instants at which the trailing toes are held: while their ball carries
FORCE_DEGREE = 4
SAME = 1e-9  # of the step: instants nearer than this are one
LARGEST_PUSH, LARGEST_PULL, LARGEST_TWIST = 2.0, 0.6, 0.02  # weights, weights, weights times m
PACK = np.array([-0.18, 0.0, 0.05])  # m, from the joint of the chest
PACK_SIZE = 0.14  # m, radius of gyration
PACK_SHAPE, BAG_SHAPE = (0.18, 0.3, 0.45), (0.2, 0.1, 0.2)  # m, as they are drawn


@dataclass(frozen=True, eq=False)
class Walker(PersonOnFeet):
    """A human who walks, rooted at the toes of the right foot, with 38 degrees of freedom."""

    task: Walking
    heel: Array  # the heel point in the frame of the toes, as the person has it

    @cached_property
    def points(self) -> dict[str, tuple[str, Array]]:
        """Body and place of every contact point, and of the middle of the ball."""
        found = {point.name: (point.body, point.position) for point in self.mechanism.contact_points}
        for side in ("left", "right"):
            (body, a), (_, b) = found[f"{side}_ball_medial"], found[f"{side}_ball_lateral"]
            found[f"{side}_ball"] = body, 0.5 * (a + b)
        return found

    @cached_property
    def middle(self) -> Array:
        """The middle between the hips in the frame of the pelvis as the mechanism has it (m)."""
        poses = forward_kinematics(self.mechanism, np.zeros(self.mechanism.n_dof))
        hips = [poses[f"{side}_thigh"] for side in ("left", "right")]
        lengths = [self.task.parts["right_thigh"].length]
        left, right = hips[0][1], hips[1][1] + np.array([0.0, 0.0, lengths[0]])
        R, p = poses["pelvis"]
        return np.asarray(R.T @ (0.5 * (left + right) - p))

    @property
    def half_width(self) -> float:
        """Of the ball (m)."""
        return float(abs(self.points["left_ball_lateral"][1] - self.points["left_ball"][1])[1])

    @cached_property
    def sole(self) -> dict[str, float]:
        """How far before the heel point ball and tip are (m)."""
        ball, tip = (self.points[f"right_{name}"][1][0] for name in ("ball", "toe_tip"))
        return {"ball": float(ball), "tip": float(tip)}

    @cached_property
    def pairs(self) -> dict[str, str]:
        """Each joint and what takes over in the next step."""
        return {name: mirror_image(name)[0] for name in self.joints}

    @cached_property
    def mirrored(self) -> list[str]:
        """Joints whose sign changes then."""
        return [name for name in self.joints if mirror_image(name)[1] < 0.0]

    @cached_property
    def torques(self) -> dict[str, tuple[float, float]]:
        """Least and largest torque of every joint (N m)."""
        task, found = self.task, constant_torques(self.task.sex, self.task.height, self.task.mass)
        for key in task.strength:
            named = [*self.joints, *(muscle.name for muscle in self.mechanism.muscles)]
            if not any(_begins(name, key) for name in named):
                known = sorted({*(_base(name) for name in self.joints), *self.joints, "left", "right"})
                raise InputError(unknown_name("joint", key, known).after("walking: strength: "))
        factor = self.factors
        return {
            name: (float(factor[name] * found[name][0]), float(factor[name] * found[name][1]))
            for name in self.joints
        }

    @cached_property
    def factors(self) -> dict[str, float]:
        """What the strength of every joint is multiplied by."""
        given = self.task.strength
        return {
            name: float(np.prod([f for key, f in given.items() if _begins(name, key)]))
            for name in self.joints
        }

    @cached_property
    def strength(self) -> Strength | None:
        """Strength by angle and velocity of the joints that were measured; None where all is constant."""
        if self.task.strength_by == "constant":
            return None
        names = [name for name in self.joints if _base(name) in MEASURED]
        given = strength(names, self.task.sex, self.task.height, self.task.mass)
        return scaled_strength(given, {name: self.factors[name] for name in names})

    @cached_property
    def norms(self) -> dict[str, float]:
        """What torques are measured by in the objective (N m): a man's of this size, for women as well.

        Women were measured to be as strong as men of their size in hip, knee and ankle, and are taken to be
        weaker elsewhere: measured by such a mixture, they would walk with other joints than men.
        """
        found = constant_torques("male", self.task.height, self.task.mass)
        return {name: self.factors[name] * max(-found[name][0], found[name][1]) for name in self.joints}

    @cached_property
    def effort(self) -> dict[str, float]:
        """What effort measures torques by (N m)."""
        return {name: EFFORT.get(_base(name), 1.0) * size for name, size in self.norms.items()}

    def of(self, *names: str) -> list[str]:
        """Joints on both sides whose names begin like these."""
        return [x for x in self.joints if _base(x).startswith(names)]


def _base(name: str) -> str:
    """A joint's name without its side.

    >>> _base("left_hip.flexion")
    'hip.flexion'
    """
    return name.removeprefix("left_").removeprefix("right_")


def _begins(name: str, key: str) -> bool:
    """Whether a key of the strength means a joint: by its name with or without its side."""
    return name.startswith(key) or _base(name).startswith(key)


def person_of(task: Walking) -> Mechanism:
    """Who walks with what is carried, 55 degrees of freedom; on slopes gravity is inclined, z the normal."""
    hands = task.hand + task.left_hand, task.hand + task.right_hand
    return _person(task.sex, task.height, task.mass, task.slope, task.backpack, *hands)


def _person(
    sex: str, height: float, mass: float, slope: float, backpack: float, left: float, right: float
) -> Mechanism:
    angle = slope * DEGREE
    gravity = (-GRAVITY * np.sin(angle), 0.0, -GRAVITY * np.cos(angle))
    person = human(sex, height, mass, gravity=gravity)
    if backpack:
        load = Inertia(backpack, PACK, backpack * PACK_SIZE**2 * np.eye(3))
        person = carrying(person, "chest", load, [_box(load, PACK_SHAPE)])
    for side, carried in (("left", left), ("right", right)):
        if carried:
            body = person.link(f"{side}_hand").body
            load = Inertia(carried, body.inertia.center, carried * 0.05**2 * np.eye(3))
            person = carrying(person, body.name, load, [_box(load, BAG_SHAPE)])
    return person


def walker(task: Walking) -> Walker:
    """The human of a task with the 38 degrees of freedom that walk.

    >>> import kinetree as kt
    >>> who = kt.walking.walker(kt.walking.Walking(height=1.8))
    >>> len(who.joints)
    32
    """
    load = task.backpack, task.hand + task.left_hand, task.hand + task.right_hand
    height, mass, slope, *carried = map(float, (task.height, task.mass, task.slope, *load))  # of arrays ()
    person, mechanism, heel = _bodies(task.sex, height, mass, slope, *carried)
    if task.muscles:
        strength = tuple(sorted((name, float(factor)) for name, factor in task.strength.items()))
        person, mechanism = _muscular(task.sex, height, mass, slope, *carried, strength=strength)
    return Walker(mechanism, person, task, heel)


@lru_cache(maxsize=8)
def _bodies(
    sex: str, height: float, mass: float, slope: float, backpack: float, left: float, right: float
) -> tuple[Mechanism, Mechanism, Array]:
    """Who walks, the same rooted at the supporting foot, and its heel in that: alike for many steps."""
    person = _person(sex, height, mass, slope, backpack, left, right).frozen(FROZEN_WHILE_WALKING).fused()
    points = {point.name: point for point in person.contact_points}
    heel = frozen(points["right_heel"].position - person.link(SUPPORTING).placement.position)
    return person, on_foot(person, SUPPORTING, heel), heel


@lru_cache(maxsize=8)
def _muscular(
    sex: str,
    height: float,
    mass: float,
    slope: float,
    *carried: float,
    strength: tuple[tuple[str, float], ...],
) -> tuple[Mechanism, Mechanism]:
    """The same with the muscles of the legs, some of which may be weaker; kept with their fitted lengths."""
    backpack, left, right = carried
    whole = with_leg_muscles(_person(sex, height, mass, slope, backpack, left, right), mass)
    muscles = []
    for muscle in whole.muscles:
        factor = float(np.prod([f for key, f in strength if _begins(muscle.name, key)]))
        force = muscle.max_isometric_force * factor
        muscles.append(muscle if factor == 1.0 else replace(muscle, max_isometric_force=force))
    person = replace(whole, muscles=tuple(muscles)).frozen(FROZEN_WHILE_WALKING).fused()
    _, _, heel = _bodies(sex, height, mass, slope, backpack, left, right)
    return person, on_foot(person, SUPPORTING, heel)


def _box(load: Inertia, size: tuple[float, float, float]) -> Shape:
    """What a load is drawn as: a box of a size (m) about its center."""
    return Shape("box", np.array(size), Placement.at(load.center))


class StepSchedule:
    """When what touches the ground, in shares of the step, and the instants of the problem.

    ``more`` are further instants, such as those at which limits were exceeded between the others.
    """

    def __init__(self, task: Walking, more: ArrayLike = ()) -> None:
        self.task, self.more = task, np.asarray(more, dtype=np.float64)
        self.flat = task.flat
        both = task.double_support
        self.double = both if both > self.flat else min(1.02 * self.flat, task.heel_off)
        self.ball_off = task.ball * self.double
        if not self.double < task.heel_off:
            raise InputError(
                f"walking: the foot is flat at {self.flat:.3g} of the step, and double support ends only at "
                f"heel off, {task.heel_off:g}; it must end before"
            )
        self.breaks = self._breaks(task.points)
        self.landed = float(self.breaks[1:][np.abs(self.breaks[1:] - task.landing).argmin()])
        self.nodes, self.samples = self._samples()
        self.s = np.union1d(self.nodes.s, self.samples.more)  # all instants of the problem
        self.closure = self._closure()
        inside = np.linspace(0.0, 1.0, task.clearances + 2)[1:-1]
        self.swing = self.double + inside * (1.0 - self.double)
        self.heights = task.clearance * np.clip(8.0 * np.minimum(inside, 1.0 - inside), 0.0, 1.0)

    def _breaks(self, points: int) -> Array:
        """Ends of the segments of all splines: of the phases, and between them; shorter in double support.

        There the trailing toes rest while the other foot rolls, for which splines need many control points;
        its segments are about equally long, with a knot where the trailing ball stops carrying. Where points
        are at least twice the usual and even, segments of half as many are halved: finer splines contain
        the motions of coarser ones.
        """
        if points >= 2 * Walking.points and points % 2 == 0:
            coarse = self._breaks(points // 2)
            return np.union1d(coarse, 0.5 * (coarse[1:] + coarse[:-1]))
        dense = max(2, round(IN_DOUBLE_SUPPORT * points))
        off = max(1, round(AFTER_HEEL_OFF * points))
        length, ends = self.double / dense, {self.flat, self.double, self.task.heel_off, 1.0}
        if min(abs(self.ball_off - self.flat), self.double - self.ball_off) > length:
            ends.add(self.ball_off)
        both = [max(1, round(end / length)) for end in sorted(ends) if end <= self.double]
        counts = np.diff([0, *both, points - off, points])
        begin, found = 0.0, [np.zeros(1)]
        for end, count in zip(sorted(ends), counts, strict=True):
            if count:  # else the phase is too short for a segment
                found.append(np.linspace(begin, end, count + 1)[1:])
                begin = end
        return np.concatenate(found)

    def _closure(self) -> Array:
        """Instants at which the trailing toes are held: denser where their contact begins and ends.

        Touch-down of the other foot, then Chebyshev points until the ball stops carrying and until lift-off.
        """
        first = max(1, round(EARLIER * (self.task.closure - 1)))
        parts = (0.0, self.ball_off, first), (self.ball_off, self.double, self.task.closure - 1 - first)
        found = [np.zeros(1)]
        for begin, end, count in parts:
            angles = np.pi * np.arange(1, count + 1) / max(count, 1)
            found.append(begin + 0.5 * (end - begin) * (1.0 - np.cos(angles)))
        return np.unique(np.concatenate(found))

    def _samples(self) -> tuple[GaussSamples, AddedSamples]:
        """Nodes by phase; while the foot rolls, by segment: there forces grow, with corners at knots.

        Where the trailing ball stops carrying, and at the end, forces have corners that nodes would miss.
        """
        task = self.task
        phases = [0.0, self.flat, self.double, task.heel_off, 1.0]
        segments = np.histogram(self.breaks[1:], np.array(phases) + SAME)[0]
        self.counts = [max(x, PER_SEGMENT * int(k)) for x, k in zip(task.nodes, segments, strict=True)]
        roll, *others = self.counts
        counts = [len(x) for x in np.array_split(np.arange(roll), segments[0])]
        knots = self.breaks[self.breaks < self.flat - SAME].tolist()
        early = (EARLY * self.flat).tolist()
        corners = (self.ball_off, self.flat, self.double, 1.0)
        nodes = GaussSamples((*knots, *phases[1:]), (*counts, *others))
        return nodes, AddedSamples(nodes, (*early, *corners, *self.more))

    @property
    def knots(self) -> Array:
        """Knots of double support that are no instants: there accelerations have corners."""
        return np.setdiff1d(self.breaks[self.breaks < self.double], self.s)

    @property
    def after_heel_off(self) -> Array:
        """Instants after heel off."""
        s = self.s
        return s[s >= self.task.heel_off]

    @property
    def before_heel_off(self) -> Array:
        """Instants at which the sole, or the heel, of the leading foot rests on the ground."""
        s = self.s
        return s[s < self.task.heel_off]

    @property
    def both(self) -> Array:
        """Instants of double support."""
        s = self.s
        return s[s < self.double]

    def support(self, walker: Walker, s: Array) -> tuple[Array, Array]:
        """Lower and upper corner of where the center of pressure may be at instants s, (m, 2) each (m)."""
        sole, half = walker.sole, walker.half_width
        rolls, off = s < self.flat, s >= self.task.heel_off
        behind, end = -BEHIND_HEEL * sole["tip"], self.task.heel_off
        path = np.array([behind, MIDDLE * sole["ball"], sole["ball"]])
        rear = np.where(
            off & ~rolls, HEEL_OFF * sole["ball"], np.interp(s, [0.5 * self.flat, self.flat, end], path)
        )
        front = np.where(rolls, BEFORE_HEEL + ROLLS * s / self.flat, 1.0) * sole["tip"]
        side = np.full(len(s), half)
        return np.stack([rear, -side], axis=1), np.stack([front, side], axis=1)


def walking_problem(
    task: Walking | None = None,
    who: Walker | None = None,
    *,
    alone: bool = False,
    more: ArrayLike = (),
) -> Problem:
    """The problem of one step; see :func:`kinetree.tasks.walking.walk.walk`.

    A step ``alone`` does not go on mirrored: what comes before and after it is said elsewhere. Limits hold at
    ``more`` instants s, too.

    >>> import kinetree as kt
    >>> problem = kt.walking.walking_problem(kt.walking.Walking(points=10))
    >>> problem.mechanism.n_dof
    38
    """
    task = task or Walking()
    if task.asymmetric and not alone:
        raise InputError("walking: left and right differ, so steps are not mirror images; use walk()")
    if task.double_range is not None:
        raise InputError(
            "walking: double support is sought by walk(); a problem needs it as a number, double"
        )
    who = who or walker(task)
    plan = StepSchedule(task, more)
    x, y, z, yaw, roll, _ = ROOT
    frozen = {y: -task.width / 2.0, yaw: -task.toe_out, roll: 0.0}
    return Problem(
        who.mechanism,
        objective=_objective(task, who, alone),
        constraints=[
            *_motion(task, who, plan, alone),
            *_trailing(task, who, plan),
            *_supporting(task, who, plan),
            *_landmarks(task, who, plan),
        ],
        duration=_duration(task),
        breaks=plan.breaks,
        clamped=False,
        samples=plan.samples,
        frozen=frozen,
        sizes={x: 0.1, z: 0.1},  # decimetres: solvers see numbers of the size of angles
        regularization=0.0,
    )


def _duration(task: Walking) -> float | tuple[float, float]:
    """Of the step (s): given, or between two bounds where step or speed are sought."""
    if task.step_range is not None:
        low, high = task.step_range
        return low / task.speed, high / task.speed
    if task.speed_range is not None:
        low, high = task.speed_range
        return task.step / high, task.step / low
    return task.duration


def _objective(task: Walking, who: Walker, alone: bool) -> list[Objective]:
    """Means over the step: effort, accelerations, posture, an upright trunk, rates of torques and of loading.

    Where the speed is sought, it is the cost of a meter: their integrals and the price of time, by the step.
    Weights of rates go with powers of leg length, so that people of all sizes walk alike at like speeds,
    v / sqrt(g leg). While the sole rests, the ground holds hind foot and toes: what passes through the joint
    between them is no effort.
    """
    size = task.leg / LEG
    mine = [name for name in who.joints if name != TOE and not (task.muscles and _base(name) in LEGS)]
    steady = [name for name in who.joints if _base(name) != "toe"]
    pairs = {name: who.pairs[name] for name in steady}
    goes_on: dict[str, Any] = {} if alone else {"pairs": pairs, "mirrored": who.mirrored}

    def sizes(known: dict[str, float], names: list[str]) -> dict[str, float]:
        return {name: known[name] for name in names}

    off, z = (task.heel_off, 1.0), ROOT[2]
    terms = [
        (task.effort, Effort(task.exponent, mine, limits=sizes(who.effort, mine))),
        (task.effort, Effort(task.exponent, [TOE], limits=sizes(who.effort, [TOE]), during=off)),
        (size**2 * task.acceleration, SquaredAcceleration(who.joints)),
        (task.posture, Posture(who.of(*POSTURE))),
        (PELVIS * task.posture, Posture(who.of("hip.rotation"))),
        (task.upright, SquaredSum(LEAN)),
        (size * task.rate, TorqueRate(steady, limits=sizes(who.norms, steady), **goes_on)),
        (size * LOADING * task.rate, TorqueRate([z], limits={z: who.weight})),
    ]
    if task.muscles:
        terms.append((task.muscles, muscle_cost()))
    if task.speed_range is None:
        return [weight * term.mean() for weight, term in terms if weight]
    per_meter = 1.0 / task.step
    return [per_meter * task.time * Time(), *(per_meter * weight * term for weight, term in terms if weight)]


def muscle_cost() -> MuscleCost:
    """What the muscles of both legs cost."""
    sides = ("right", "left")
    return MuscleCost(ranges={f"{side}_{name}": ends for side in sides for name, ends in RANGES.items()})


def _motion(task: Walking, who: Walker, plan: StepSchedule, alone: bool) -> list[Constraint]:
    """Splines that go on mirrored, what is held when, ranges and strength."""
    x, _, z, _, _, pitch = ROOT
    ends = {x: (-6.0 * task.slip, 0.0), z: (0.0, 6.0 * task.pad), pitch: (-120.0 * DEGREE, 30.0 * DEGREE)}
    low, high = ({name: bounds[k] for name, bounds in ends.items()} for k in range(2))
    varies = [] if who.strength is None else [StrengthLimits(who.strength)]
    constant = [x for x in who.joints if x != TOE and (who.strength is None or x not in who.strength.names)]
    if task.muscles:
        constant = [name for name in constant if _base(name) not in LEGS]
    flexing, extending = who.torques[TOE]
    relaxed = [HumanPassive(task.height, task.mass, factor=task.passive)] if task.passive else []
    return [
        *([] if alone else [Symmetric(who.pairs, who.mirrored, spline=True)]),
        Hold([x, z], during=(plan.landed, 1.0)),
        Hold([pitch], during=(plan.flat, 1.0)),
        Hold(["right_toe"], during=(0.0, task.heel_off)),
        JointLimits(joints=who.joints, at="points"),
        JointLimits({"right_toe": 0.0}, joints=["right_toe"], at="points"),  # else the heel would sink
        JointLimits(low, high, list(ends), at="points"),
        TorqueLimits(
            {name: who.torques[name][1] for name in constant},
            {name: who.torques[name][0] for name in constant},
            constant,
        ),
        TorqueLimits({TOE: extending}, {TOE: flexing}, [TOE], at=plan.after_heel_off),
        TorqueLimits({TOE: np.inf}, {TOE: flexing}, [TOE], at=plan.before_heel_off),
        *varies,
        *relaxed,
    ]


def _trailing(task: Walking, who: Walker, plan: StepSchedule) -> list[Constraint]:
    """The left foot: its toes rest until they lift off, its force, its clearance after that."""
    (_, ball), (_, tip) = who.points["left_ball"], who.points["left_toe_tip"]
    _, side = who.points["left_ball_medial"]
    yaw = np.array(
        [[np.cos(task.toe_out), -np.sin(task.toe_out)], [np.sin(task.toe_out), np.cos(task.toe_out)]]
    )
    sought = task.step_range is not None  # then the step is as long as its duration says, at the speed
    travel = (-task.speed if sought else 0.0, 0.0, 0.0)
    heel = np.array([0.0 if sought else -task.step, task.width / 2.0])
    places = {name: np.append(heel + yaw @ [who.sole[name], 0.0], 0.0) for name in ("ball", "tip")}
    carries = plan.closure <= plan.ball_off
    first, later = plan.closure[carries], plan.closure[~carries]

    def rests(name: str, point: Array, axes: str, at: Array) -> list[PointPosition]:
        """A point is in its place at touch-down and afterwards within the band by which toes give."""
        where: dict[str, Any] = {"point": point, "axes": axes, "travel": travel}
        if not task.band:
            return [PointPosition(TRAILING, places[name], at=at, **where)]
        low, high = places[name] - task.band, places[name] + task.band
        return [
            PointPosition(TRAILING, places[name], at="start", **where),
            PointPosition(TRAILING, lower=low, upper=high, at=at[at > 0.0], **where),
        ]

    found: list[Constraint] = [
        *rests("tip", tip, "xyz", plan.closure),
        *rests("ball", ball, "y", plan.closure),
        *rests("ball", ball, "z", first),
        *rests("ball", side, "z", first),
        PointVelocity(TRAILING, np.zeros(3), point=tip, at="start"),
        PointVelocity(TRAILING, np.zeros(3), point=ball, axes="yz", at="start"),
        PointVelocity(TRAILING, np.zeros(3), point=side, axes="z", at="start"),
        PointVelocity(TRAILING, lower=(0.0, 0.0, LEAVES), point=tip, axes="z", at=plan.double),
        *_pushes(who, plan),
        Friction(
            ["ball_medial", "ball_lateral", "toe_tip"], task.friction, at=plan.both, shape=task.friction_shape
        ),
        *(
            GroundClearance(body, point, plan.heights, at=plan.swing)
            for body, point in (who.points[f"left_{name}"] for name in ("heel", "ball", "toe_tip"))
        ),
    ]  # fmt: skip
    if len(later):
        for point in (ball, side):
            found.append(
                PointPosition(
                    TRAILING, lower=(0, 0, 0), upper=(0, 0, LIFTED), point=point, axes="z", at=later
                )
            )
    return found


def _pushes(who: Walker, plan: StepSchedule) -> list[Constraint]:
    """The forces of the ground on the trailing toes, and their moment."""
    weight, both = who.weight, (0.0, plan.double)
    _, tip = who.points["left_toe_tip"]
    common: dict[str, Any] = {"degree": FORCE_DEGREE, "segments": 1, "size": weight, "at": "points"}
    return [
        *(
            UnknownForce(
                TRAILING, who.points[f"left_{name}"][1], name=name, axes="z", lower=0.0,
                upper=LARGEST_PUSH * weight, during=(0.0, plan.ball_off), **common,
            )
            for name in ("ball_medial", "ball_lateral")
        ),
        UnknownForce(
            TRAILING, tip, name="toe_tip", during=both,
            lower={"x": -LARGEST_PULL * weight, "y": -LARGEST_PULL * weight, "z": 0.0},
            upper={"x": LARGEST_PULL * weight, "y": LARGEST_PULL * weight, "z": LARGEST_PUSH * weight},
            **common,
        ),
        UnknownMoment(
            TRAILING, name="toes", axes="z", lower=-LARGEST_TWIST * weight, upper=LARGEST_TWIST * weight,
            during=both, **common,
        ),
    ]  # fmt: skip


def _supporting(task: Walking, who: Walker, plan: StepSchedule) -> list[Constraint]:
    """The right foot: what the ground can give, and that it gives next to nothing at touch-down."""
    x, y, z, _, roll, pitch = ROOT
    begins = {x: 0.0, y: 0.0, z: TOUCHES * who.weight}

    def support(s: Array) -> Support:
        lower, upper = plan.support(who, s)
        lower[s > plan.flat, 0] += INSIDE
        return Support((x, y, z), (roll, pitch), lower, upper, task.friction, at=s, shape=task.friction_shape)

    return [
        support(plan.s[1:]),
        *([support(plan.knots)] if len(plan.knots) else []),  # else it leaves the support between instants
        *(
            TorqueCombination({name: 1.0}, force, force, size=who.weight, at="start")
            for name, force in begins.items()
        ),
    ]


def _landmarks(task: Walking, who: Walker, plan: StepSchedule) -> list[Constraint]:
    """Knees and foot at some instants, the touch-down, arms."""
    x, _, z, _, _, pitch = ROOT
    found: list[Constraint] = [_between("left_knee", task.knee_swing, task.knee_at)]
    if task.knee_strike:
        found.append(_between("right_knee", task.knee_strike, 0.0))
    if task.knee_off:
        found.append(_between("left_knee", task.knee_off, plan.double))
    if task.pitch_strike:
        a, b = task.pitch_strike
        found.append(_between(pitch, (-b, -a), 0.0))
    down, forward = task.landing_speeds
    if task.pad:
        found += [_between(z, (0.0, task.pad), 0.0), VelocityLimits({z: 0.0}, {z: -down}, [z], at="start")]
    if task.slip:
        found += [
            _between(x, (-task.slip, task.slip), 0.0),
            VelocityLimits({x: forward}, joints=[x], at="start"),
        ]
    if task.arms:
        at = np.linspace(0.0, 1.0, 6)[:-1]
        found.append(JointProduct("left_shoulder.flexion", "right_hip.flexion", at=at))
    if task.wrist:
        at = np.linspace(0.0, 1.0, 7)[:-1]
        for side, sign in (("left", 1.0), ("right", -1.0)):
            length = task.parts[f"{side}_forearm"].length
            bound = {"lower" if sign > 0 else "upper": (0.0, sign * task.wrist, 0.0)}
            found.append(
                RelativePosition(
                    f"{side}_forearm",
                    "pelvis",
                    point=(0, 0, -length),
                    of_point=who.middle,
                    axes="y",
                    at=at,
                    **bound,
                )
            )
    return found


def _between(joint: str, bounds: tuple[float, float], at: float) -> JointLimits:
    return JointLimits({joint: bounds[0]}, {joint: bounds[1]}, [joint], at=at)
