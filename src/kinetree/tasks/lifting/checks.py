"""A predicted lift put to the test: finer grid, balance, what the box meets, momentum, simulation."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.model.rooted import carried_bodies
from kinetree.motion.outcome.prediction import Prediction
from kinetree.result.records import Check
from kinetree.state import Wrench
from kinetree.tasks.checks import (
    CARRIES,
    friction_check,
    friction_used,
    momentum_check,
    outside,
    pushing_check,
    torque_check,
    torque_excess,
    unsupported_check,
)
from kinetree.tasks.ground import GroundReactions, ground_of
from kinetree.tasks.lifting.problem import BOX, FEET, LEVEL, Lifter
from kinetree.tasks.person import ROOT
from kinetree.tasks.piecewise_simulation import simulated_in_pieces
from kinetree.tasks.sampled import SampledMotion

FINER = 10
EXCESS = 1e-2  # relative to the limit, of torques between the instants of the rows
OUTSIDE, PLACED, MOVES = 2e-3, 1e-3, 1e-3  # m: zero-moment point, hands at both ends, the left foot
TILTED = 0.02  # rad, beyond what is allowed
MEETS = 3e-3  # m, by which the box may get into what it must not meet between the instants of the rows
LIGHT = 1e-6  # of the weight: a foot that carries less has no center of pressure
PULLS, FLOATS = 1e-6, 1e-9  # of the weight: pull of the ground, forces on the root that nothing exerts
LIMBS = {  # half thickness (m) of what the box passes: from one joint to the next
    ("right_knee", "right_ankle"): 0.04, ("left_knee", "left_ankle"): 0.04,
    ("right_hip", "right_knee"): 0.05, ("left_hip", "left_knee"): 0.05,
    ("lumbar", "waist"): 0.09, ("waist", "chest"): 0.09, ("chest", "neck"): 0.09,
}  # fmt: skip
SLICES = 21  # points along each of them


def joint_force(course: SampledMotion, joint: str) -> Array:
    """Size of the net force in a joint, (m,) in N."""
    carried = carried_bodies(course.mechanism)[joint]
    force = course.reactions[:, course.mechanism.body_index(carried), :3]
    return np.asarray(np.linalg.norm(force, axis=1))


def zero_moment_point(course: SampledMotion) -> Array:
    """x and y (m, 2) of the zero-moment point on the floor."""
    F = course.reaction("world")
    return np.stack([-F[:, 4], F[:, 3]], axis=1) / F[:, 2:3]


def lift_ground(who: Lifter, course: SampledMotion) -> GroundReactions:
    """Pushes of the ground on the right and on the left foot, each with its center of pressure."""
    return ground_of(course, course.evaluation.pushes, LIGHT * who.weight)


def limb_ends(who: Lifter, course: SampledMotion) -> dict[str, Array]:
    """Joints that limbs end in, (m, 3) each in the world."""
    carried = carried_bodies(course.mechanism)
    found = {name: course.poses[name][1] for name in ("lumbar", "waist", "chest")}
    for joint in (f"{side}_{name}" for side in ("right", "left") for name in ("ankle", "knee", "hip")):
        found[joint] = course.poses[carried[joint]][1]
    return found | {"neck": course.place("chest", who.neck)}


def checked(who: Lifter, prediction: Prediction, *, simulated: bool = False) -> dict[str, Check]:
    """All checks by name; the simulation only if asked for."""
    own = prediction.problem.setting.samples
    s = np.unique(np.concatenate([np.linspace(a, b, FINER + 1) for a, b in pairwise(own)]))
    course = SampledMotion(prediction, s)
    ground = lift_ground(who, course)
    root = max(float(np.abs(course.torque(name)).max()) for name in ROOT) / who.weight
    found = {
        **_body(who, course),
        **_balance(who, course, ground),
        **_box(who, course),
        "momentum": momentum_check(course, ground.force.sum(axis=1)),
        "floating": unsupported_check(root, FLOATS),
    }
    if simulated:
        found["simulation"] = simulation(who, prediction)
    return found


def _body(who: Lifter, course: SampledMotion) -> dict[str, Check]:
    """Strength, ranges, forces in back and knees, the left foot."""
    task, mechanism = who.task, course.mechanism
    names, (low, high) = list(who.torques), np.array(list(who.torques.values())).T
    tau = course.tau[:, [course.column(x) for x in names]]
    excess = torque_excess(tau, low, high, np.array([who.sizes[x] for x in names]))
    tree, beyond = mechanism.tree, 0.0
    for name in who.joints:
        k, q = tree.axis_names.index(name), course.q[:, mechanism.joint_index(name)]
        beyond = max(beyond, float((tree.lower[k] - q).max()), float((q - tree.upper[k]).max()))
    found = {
        "torques": torque_check(excess, EXCESS),
        "joints": Check.within(max(beyond, 0.0), 1e-6, "rad", "joints stay within their ranges"),
        "feet": Check.within(_left_foot(who, course), MOVES, "m", "the left foot stays where it is"),
    }
    limits = {"back_force": ("lumbar",), "knee_force": ("right_knee", "left_knee")}
    for name, joints in limits.items():
        limit = getattr(task, name)
        if limit is not None:
            most = max(float(joint_force(course, joint).max()) for joint in joints)
            words = f"net force in the joint: {most:.0f} N of {limit:.0f} N; excess relative to the limit"
            found[name] = Check.within(max(most / limit - 1.0, 0.0), EXCESS, "1", words)
    return found


def _left_foot(who: Lifter, course: SampledMotion) -> float:
    """How far any of its points gets from where it stood (m)."""
    worst = 0.0
    names = [x for x in course.mechanism.contact_points if x.name.startswith("left")]
    for point, xy in zip(names, who.soles["left_foot"], strict=True):
        place = course.place(point.body, point.position)
        worst = max(worst, float(np.abs(place - np.append(xy, 0.0)).max()))
    return worst


def _balance(who: Lifter, course: SampledMotion, ground: GroundReactions) -> dict[str, Check]:
    """The zero-moment point within both feet, each foot's center of pressure within it, pushing, friction."""
    support, force, each = who.support, ground.force, 0.0
    off = outside(zero_moment_point(course), support.min(axis=0), support.max(axis=0))
    for k, name in enumerate(FEET):
        sole, carries = who.soles[name][:3], force[:, k, 2] > CARRIES * who.weight
        beyond = outside(ground.point[carries, k, :2], sole.min(axis=0), sole.max(axis=0))
        each = max(each, float(beyond.max(initial=0.0)))
    total = force.sum(axis=1)
    used = friction_used(total[:, 2], np.linalg.norm(total[:, :2], axis=1), who.weight)
    return {
        "balance": Check.within(
            float(off.max()), OUTSIDE, "m", "the zero-moment point is within the support of both feet"
        ),
        "soles": Check.within(
            each, OUTSIDE, "m", "the center of pressure of each foot is between heel and ball"
        ),
        "pushing": pushing_check(force[..., 2], who.weight, PULLS),
        "friction": friction_check(used, who.task.friction, 0.0),  # by both feet together
    }


def _box(who: Lifter, course: SampledMotion) -> dict[str, Check]:
    """Hands at both ends, the box level, clear of floor, shelf and limbs."""
    task = who.task
    R, p = course.poses[BOX]
    middle = p + R @ np.array([0.0, who.lateral, 0.0])
    floor, shelf = who.ends
    off = max(float(np.abs(middle[0] - floor).max()), float(np.abs(middle[-1] - shelf).max()))
    tilt = float(np.arccos(np.clip(R[:, 2, 2], -1.0, 1.0)).max())
    allowed = 1e-6 if task.symmetric else float(np.sqrt(2.0) * LEVEL + TILTED)
    found = {
        "ends": Check.within(off, PLACED, "m", "the box starts and ends at the given positions"),
        "level": Check.within(tilt, allowed, "rad", "the box stays level"),
        "floor_and_shelf": Check.within(
            _into_shelf(who, middle, R), MEETS, "m", "the box touches neither floor nor shelf"
        ),
        "limbs": Check.within(
            (_into_limbs_at_any_angle if task.twisted else _into_limbs)(who, course, middle),
            MEETS,
            "m",
            "the box touches neither legs nor trunk",
        ),
    }
    if task.two_handed:
        found["hands"] = _hands(who, course)
    return found


def _hands(who: Lifter, course: SampledMotion) -> Check:
    """Both hands hold the box: the left one where the mirror image of the right one is."""
    hold = who.left_hold
    if who.task.twisted:
        turn, origin = course.poses[BOX]
        off = course.place("left_forearm", hold) - origin - turn @ np.array([0.0, 2.0 * who.lateral, 0.0])
        return Check.within(float(np.abs(off).max()), PLACED, "m", "both hands stay on the box")
    places = [course.place(f"{side}_forearm", hold) for side in ("right", "left")]
    apart = float(np.abs(places[0] * [1.0, -1.0, 1.0] - places[1]).max())
    return Check.within(apart, 1e-9, "m", "both hands stay on the box")


def _into_shelf(who: Lifter, middle: Array, turn: Array) -> float:
    """How deep the box, as a level rectangle in the sagittal plane, is in the floor or in the shelf (m)."""
    task = who.task
    bottom = middle[:, 2] - task.grip
    reach = np.full(len(middle), task.depth)
    if task.twisted:
        reach = np.abs(turn[:, 0, 0]) * task.depth + np.abs(turn[:, 0, 1]) * task.wide
    front = middle[:, 0] + 0.5 * reach
    floor = float(np.maximum(-bottom, 0.0).max())
    edge = who.tips + task.from_toes
    depth = np.minimum(np.maximum(task.shelf - bottom, 0.0), np.maximum(front - edge, 0.0))
    return max(floor, float(depth.max()))


def _into_limbs(who: Lifter, course: SampledMotion, middle: Array) -> float:
    """How deep legs and trunk, as capsules in the sagittal plane, are in the box (m)."""
    task, places, worst = who.task, limb_ends(who, course), 0.0
    half = 0.5 * np.array([task.depth, task.tall])
    center = middle[:, [0, 2]] + np.array([0.0, 0.5 * task.tall - task.grip])
    beside = 0.5 * task.wide
    for (begin, end), radius in LIMBS.items():
        if not task.symmetric and abs(who.ends[0][1] - places[begin][0, 1]) > beside + radius:
            continue  # it passes on the outside
        for share in np.linspace(0.0, 1.0, SLICES):
            point = (1.0 - share) * places[begin] + share * places[end]
            away = np.maximum(np.abs(point[:, [0, 2]] - center) - half, 0.0)
            worst = max(worst, float((radius - np.linalg.norm(away, axis=1)).max()))
    return worst


def _into_limbs_at_any_angle(who: Lifter, course: SampledMotion, middle: Array) -> float:
    """How deep legs and trunk, as capsules, are in the box, whichever way it points (m)."""
    task, places, worst = who.task, limb_ends(who, course), 0.0
    half = 0.5 * np.array([task.depth, task.wide, task.tall])
    turn = course.poses[BOX][0]
    center = middle + turn @ np.array([0.0, 0.0, 0.5 * task.tall - task.grip])
    for (begin, end), radius in LIMBS.items():
        for share in np.linspace(0.0, 1.0, SLICES):
            point = (1.0 - share) * places[begin] + share * places[end]
            own = np.einsum("mji,mj->mi", turn, point - center)
            away = np.linalg.norm(np.maximum(np.abs(own) - half, 0.0), axis=1)
            worst = max(worst, float((radius - away).max()))
    return worst


def simulation(who: Lifter, prediction: Prediction) -> Check:
    """The free human with the box, rooted at the pelvis, under torques and pushes, in pieces."""
    heel = next(x.position for x in who.person.contact_points if x.name == "right_heel")

    def forces(s: Array) -> tuple[dict[str, Array], list[Wrench]]:
        course = SampledMotion(prediction, s)
        names = [x for x in who.person.joint_names if x not in ROOT]
        right, left = course.evaluation.pushes
        loads = [
            Wrench(right.body, right.force, right.moment, point=heel),
            Wrench(left.body, left.force, left.moment),
        ]
        return {name: course.torque(name) for name in names}, loads

    return simulated_in_pieces(prediction, who.person, forces, "human with its box")
