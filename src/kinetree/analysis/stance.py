"""How a walker stands: feet level on the ground at height zero, knees bent, trunk upright."""

from __future__ import annotations

import math

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.rotation import rotation_about
from kinetree.analysis.energy import center_of_mass
from kinetree.analysis.inverse_kinematics import inverse_kinematics
from kinetree.analysis.kinematics import Poses, forward_kinematics
from kinetree.analysis.legs import Foot, Legged
from kinetree.analysis.targets import Target
from kinetree.errors import ModelError
from kinetree.state import independent_axes

BENT = (0.6, -0.6, 1.2, -1.2)  # rad: knees from which a standing posture is looked for
SPRAWL, STRETCH = 0.6, 0.9  # how far sideways of its hip a foot may stand, and how long its leg is then, in L
LOWER = (1.0, 0.93, 0.86, 0.8)  # of the given height, tried where joints are at their limits there
MARGIN = 0.15  # rad or m from the limits of joints in the legs
BACKWARDS = 0.1  # in L: so far behind the lines from hips to ankles knees bend backwards (iCub faces -x)
SLACK = 0.02  # rad or m from the limits of other joints, such as those of arms
SHIFT = 0.2  # in L: by how much feet stand ahead of their hips if the center of mass does


def standing(walker: Legged, height: float, width: float, guess: Array | None = None) -> Array:
    """Coordinates (n_dof,) of a stance on level ground: hips ``height`` up, feet ``width`` apart (m)."""
    guesses = [_bent(walker, angle) for angle in BENT] if guess is None else [guess]
    best: list[Array] = []
    for share in LOWER:
        found = [_stance(walker, start, share * height, width) for start in guesses]
        good = [q for q in found if q is not None]
        inside = [q for q in good if _within_limits(walker, q)]
        if inside:
            return max(inside, key=lambda q: round(_knee_forward(walker, q), 6))
        best = best or good
    if not best:
        raise ModelError(
            f"'{walker.mechanism.name}' cannot stand with its hips {height:.3g} m above its feet, nor "
            f"{LOWER[-1]:g} of that; {_obstacle(walker, guesses, height, width)}"
        )
    return max(best, key=lambda q: round(_knee_forward(walker, q), 6))


def sole_height(walker: Legged, foot: Foot, rotation: Array) -> float:
    """Height of the ankle above the lowest point of the sole, with the foot as it is."""
    return foot.radius - float(((foot.points - foot.point) @ rotation.T @ walker.axes[-1]).min())


def faces_back(walker: Legged, q: Array) -> bool:
    """Whether a biped with soles that stands at q bends its knees backwards: it was built to walk that way.

    >>> from kinetree.analysis.legs import legged
    >>> from kinetree.model import zoo
    >>> robot = legged(zoo.spatial_biped())
    >>> faces_back(robot, standing(robot, 0.88 * robot.leg, robot.hip_width))
    False
    """
    return walker.is_biped and walker.has_soles and _knee_forward(walker, q) < -BACKWARDS * walker.leg


# ---- helpers ---------------------------------------------------------------------------------------------


def _bent(walker: Legged, angle: float) -> Array:
    """The upright posture with bent legs, feet level: each second pitch bends, the others undo it.

    Joints of no leg are at zero, or as near to it as their limits allow.
    """
    q = walker.upright.copy()
    tree, axes = walker.mechanism.tree, independent_axes(walker.mechanism)
    inside = {name for foot in walker.feet for name in foot.joints}
    for k, name in enumerate(walker.mechanism.joint_names):
        if k >= walker.mechanism.links[0].joint.n_dof and name not in inside:
            low, high = tree.lower[axes][k], tree.upper[axes][k]
            room = min(SLACK, 0.1 * (high - low))
            q[k] = min(max(q[k], low + room), high - room)
    for foot in walker.feet:
        bend = (-0.5, 1.0, -0.5) if len(foot.bending) > 2 else (-0.5, 1.0)
        for (k, sign), share in zip(foot.bending[:3], bend, strict=False):
            q[k] += sign * share * angle
    return q


def _within_limits(walker: Legged, q: Array) -> bool:
    tree, free = walker.mechanism.tree, independent_axes(walker.mechanism)
    room = np.minimum(MARGIN, 0.1 * (tree.upper[free] - tree.lower[free]))
    inside = (q >= tree.lower[free] + room) & (q <= tree.upper[free] - room)
    legs = {name for foot in walker.feet for name in foot.joints}
    names = walker.mechanism.joint_names
    return all(ok for name, ok in zip(names, inside, strict=True) if name in legs)


def _obstacle(walker: Legged, guesses: list[Array], height: float, width: float) -> str:
    """What prevents a stance: the limits of joints, or the lengths of the legs."""
    tree, axes = walker.mechanism.tree, independent_axes(walker.mechanism)
    low, high, best = tree.lower[axes], tree.upper[axes], ""
    least = math.inf
    for guess in guesses:
        q = _stance(walker, guess, height, width, limits=False)
        if q is None:
            continue
        beyond = np.maximum(np.maximum(low - q, q - high), 0.0)
        k = int(np.argmax(beyond))
        if 0.0 < beyond[k] < least:
            least = float(beyond[k])
            best = (
                f"limits of its joints prevent it: '{walker.mechanism.joint_names[k]}' would have to be at "
                f"{q[k]:.3g}, but its limits are {low[k]:.3g} and {high[k]:.3g}"
            )
    return best or "its legs do not reach level ground there; give a posture near a standing one"


def _stance(walker: Legged, start: Array, height: float, width: float, limits: bool = True) -> Array | None:
    """The stance nearest to a posture, or None."""
    mechanism, up, L = walker.mechanism, walker.axes[-1], walker.leg
    pose = forward_kinematics(mechanism, start)
    upright = forward_kinematics(mechanism, walker.upright)
    middle = _middle(walker, pose)
    ahead = 0.0
    if not walker.is_biped:
        away = float(walker.axes[0] @ (center_of_mass(mechanism, start) - middle))
        ahead = min(max(away, -SHIFT * L), SHIFT * L)
    targets, lowest = [], height
    for k, foot in enumerate(walker.feet):
        b, hip = mechanism.body_index(foot.body), pose.position[mechanism.body_index(foot.hip)]
        level = _level(walker, foot, pose.rotation[b])
        place = hip - up * ((up @ hip) - sole_height(walker, foot, level)) + ahead * walker.axes[0]
        if walker.is_biped and not walker.is_planar:
            left, side = walker.axes[1], 1.0 if k == 0 else -1.0
            place = place + left * (0.5 * side * width - left @ (hip - middle))
        elif not walker.is_biped:
            beside = _sprawl(walker, foot, upright)
            place = place + beside
            upwards = (STRETCH * L) ** 2 - float(beside @ beside)
            lowest = min(lowest, math.sqrt(max(upwards, (0.3 * L) ** 2)))
        orientation = level if len(foot.points) > 1 else None
        targets.append(Target(foot.body, position=place, point=foot.point, orientation=orientation))
    raised = start + _lift(walker, lowest - _hip_height(walker, start))
    inside = {name for foot in walker.feet for name in foot.joints}
    frozen = [name for name in mechanism.joint_names if name not in inside]
    found = inverse_kinematics(mechanism, targets, raised, frozen=frozen, limits=limits, strict=False)
    return found.q if bool(np.all(found.converged)) else None


def _sprawl(walker: Legged, foot: Foot, upright: Poses) -> Array:
    """Offset of a foot from its hip in the upright posture (3,), shortened if it is far."""
    k, h = (walker.mechanism.body_index(name) for name in (foot.body, foot.hip))
    away = upright.position[k] + upright.rotation[k] @ foot.point - upright.position[h]
    across = float(walker.lateral @ away)
    most = SPRAWL * walker.leg
    beside: Array = walker.lateral * min(max(across, -most), most)
    return beside


def _middle(walker: Legged, pose: Poses) -> Array:
    places = [pose.position[walker.mechanism.body_index(foot.hip)] for foot in walker.feet]
    middle: Array = np.mean(places, axis=0)
    return middle


def _level(walker: Legged, foot: Foot, rotation: Array) -> Array:
    """The rotation nearest to the present one with the sole on level ground, toes forward."""
    if len(foot.points) < 2:
        return rotation
    ahead, up = walker.axes[0], walker.axes[-1]
    corners = foot.points @ rotation.T
    if walker.is_planar:
        far = np.argsort(np.linalg.norm(foot.points - foot.point, axis=1))
        sole = corners[far[-1]] - corners[far[0]]
        left = walker.lateral
        angle = np.arctan2(left @ np.cross(sole, ahead), sole @ ahead)
        leveled: Array = rotation_about(left, float(angle)) @ rotation
        return leveled
    normal = np.linalg.svd(corners - corners.mean(axis=0))[2][-1]
    normal = normal if normal @ up > 0.0 else -normal
    across = np.cross(normal, up)
    sine = float(np.linalg.norm(across))
    if sine < 1e-12:
        return rotation
    leveled = rotation_about(across / sine, float(np.arctan2(sine, normal @ up))) @ rotation
    return leveled


def _hip_height(walker: Legged, q: Array) -> float:
    mechanism = walker.mechanism
    pose = forward_kinematics(mechanism, q)
    heights = [walker.axes[-1] @ pose.position[mechanism.body_index(x.hip)] for x in walker.feet]
    soles = [
        sole_height(walker, x, _level(walker, x, pose.rotation[mechanism.body_index(x.body)]))
        for x in walker.feet
    ]
    return float(np.mean(heights)) - float(np.mean(soles))


def _lift(walker: Legged, distance: float) -> Array:
    """A change of the base's coordinates (n_dof,) that moves the robot up by a distance (m)."""
    change = np.zeros(walker.mechanism.n_dof)
    change[walker.moving[: walker.n_base]] = distance * walker.slides[-1]
    return change


def _knee_forward(walker: Legged, q: Array) -> float:
    """How far the knees lie in front of the lines from hips to ankles (m)."""
    pose, total = forward_kinematics(walker.mechanism, q), 0.0
    parents = {link.body.name: link.parent for link in walker.mechanism.links}
    for foot in walker.feet:
        names = [foot.body]
        while names[0] != foot.hip:
            names.insert(0, parents[names[0]])
        places = [pose.position[walker.mechanism.body_index(name)] for name in names]
        hip, k = places[0], walker.mechanism.body_index(foot.body)
        ankle = places[-1] + pose.rotation[k] @ foot.point
        total += sum(float(walker.axes[0] @ (p - 0.5 * (hip + ankle))) for p in places[1:-1] or [places[-1]])
    return total
