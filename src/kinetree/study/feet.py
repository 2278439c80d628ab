"""Feet of a robot: those among its contact points, or proposed ones at its ends where a file has none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.kinematics import Poses, forward_kinematics
from kinetree.analysis.leg_chains import DEEP
from kinetree.analysis.legs import legged
from kinetree.errors import InputError, KinetreeError
from kinetree.model.body import WORLD
from kinetree.model.contact_point import ContactPoint
from kinetree.model.mechanism import Link, Mechanism

ANKLES = 5  # degrees of freedom of a leg from which on a biped has soles
NEAR = 0.02  # m by which a body that is fixed to a limb, such as a foot, may end above it
SMALLEST = 0.02  # m: half of a sole's length
LARGEST = 0.5  # of the way down to the sole: a foot whose inertia is that of a longer box has no usable one
SOLE = (0.14, 0.07)  # of the way down: half sizes of a sole that nothing in the file describes


def own_feet(mechanism: Mechanism) -> tuple[str, ...] | None:
    """The bodies with the contact points of its feet; None if it has no points, or no feet among them.

    >>> from kinetree.model import zoo
    >>> own_feet(zoo.quadruped())
    ('shank1', 'shank3', 'shank2', 'shank4')
    """
    if not mechanism.contact_points:
        return None
    try:
        walker = legged(mechanism)
    except KinetreeError:
        return None
    bodies = {point.name: point.body for point in mechanism.contact_points}
    return tuple(dict.fromkeys(bodies[name] for foot in walker.feet for name in foot.contact_points))


def proposed_feet(mechanism: Mechanism) -> tuple[ContactPoint, ...]:
    """Contact points at the lowest ends of the limbs in the pose q = 0.

    A ball where the last body is drawn as one, else its origin; legs of a biped with ankles get the four
    lower corners of a box: that which is drawn, else the one with the inertia of the foot.

    >>> from kinetree.model import zoo
    >>> [point.name for point in proposed_feet(zoo.quadruped())]
    ['shank1', 'shank2', 'shank3', 'shank4']
    """
    pose = forward_kinematics(mechanism, np.zeros(mechanism.n_dof))
    strength = float(np.linalg.norm(mechanism.gravity))
    if strength == 0.0:
        raise InputError(f"'{mechanism.name}' has no gravity, so there is no ground to walk on")
    up = -mechanism.gravity / strength
    limbs = list(_limbs(mechanism))
    lowest = [
        min(limb, key=lambda link: _height(mechanism, pose, up, link) - NEAR * link.joint.is_fixed)
        for limb in limbs
    ]
    root = float(up @ pose.position[0])
    depths = [root - _height(mechanism, pose, up, link) for link in lowest]
    if not limbs or max(depths) <= 0.0:
        raise InputError(f"'{mechanism.name}' has no limbs that reach below its trunk, so it has no feet")
    chosen = [k for k, depth in enumerate(depths) if depth >= DEEP * max(depths)]
    if len(chosen) < 2:
        raise InputError(
            f"'{mechanism.name}' has no feet: only one limb, to '{lowest[chosen[0]].body.name}', "
            f"reaches down from its trunk '{mechanism.links[0].body.name}'; walking needs two or more"
        )
    feet: list[ContactPoint] = []
    for k in chosen:
        moving = limbs[k][0]
        if len(chosen) == 2 and _count(mechanism, moving) >= ANKLES:
            feet += _sole(mechanism, pose, up, moving, lowest[k], root)
        else:
            feet.append(_point(lowest[k]))
    return tuple(feet)


def _limbs(mechanism: Mechanism) -> Iterator[list[Link]]:
    """The last movable link of each limb, and all that is fixed to it."""
    fixed_on: dict[str, list[Link]] = {}
    moves: set[str] = set()
    for link in mechanism.links[1:]:
        if link.joint.is_fixed:
            fixed_on.setdefault(link.parent, []).append(link)
        else:
            moves.add(link.parent)
    for link in mechanism.links[1:]:
        if link.joint.is_fixed:
            continue
        rigid = [link]
        for part in rigid:
            rigid += fixed_on.get(part.body.name, [])
        if not any(part.body.name in moves for part in rigid):
            yield rigid


def _count(mechanism: Mechanism, link: Link) -> int:
    """Degrees of freedom between the trunk and a link."""
    by_name = {x.body.name: x for x in mechanism.links}
    root, total = mechanism.links[0].body.name, 0
    while link.body.name != root:
        total += link.joint.n_dof
        if link.parent == WORLD:
            break
        link = by_name[link.parent]
    return total


def _height(mechanism: Mechanism, pose: Poses, up: Array, link: Link) -> float:
    k = mechanism.body_index(link.body.name)
    return float(up @ (pose.position[k] + pose.rotation[k] @ _end(link)))


def _end(link: Link) -> Array:
    """The far end of a body: its origin, or that of its rod if it turns about the near one."""
    if link.joint.is_fixed:
        return np.zeros(3)
    center: Array = 2.0 * np.asarray(link.body.inertia.center)
    return center


def _point(link: Link) -> ContactPoint:
    balls = [shape for shape in link.body.shapes if shape.kind == "sphere"]
    name = link.body.name
    if balls:
        return ContactPoint(name, name, balls[0].placement.position, float(balls[0].size[0]))
    return ContactPoint(name, name, _end(link))


def _sole(
    mechanism: Mechanism, pose: Poses, up: Array, foot: Link, lowest: Link, root: float
) -> list[ContactPoint]:
    """Four corners below a foot, level at q = 0."""
    k, low = mechanism.body_index(foot.body.name), mechanism.body_index(lowest.body.name)
    R = pose.rotation[k]
    middle, half = _box(foot, R.T @ up, root - float(up @ pose.position[k]))
    bottom = float(up @ (R @ middle)) - float(np.abs(R.T @ up) @ half)
    if lowest is not foot:
        bottom = min(bottom, float(up @ (pose.position[low] - pose.position[k])))
    across = [np.eye(3)[i] for i in np.argsort(np.abs(R.T @ up))[:2]]  # axes of the foot that are level
    corners = []
    for n, (a, b) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1)), start=1):
        place = (
            middle + a * across[0] * (half @ np.abs(across[0])) + b * across[1] * (half @ np.abs(across[1]))
        )
        place = place + (R.T @ up) * (bottom - float(up @ (R @ place)))
        corners.append(ContactPoint(f"{foot.body.name}{n}", foot.body.name, place.round(5)))
    return corners


def _box(foot: Link, up: Array, depth: float) -> tuple[Array, Array]:
    """Middle and half sizes of the box that is drawn, or that has the inertia of the body.

    Where that box is out of proportion to the ``depth`` (m) of the ankle below the trunk, as with a moment of
    inertia of 1 kg m^2 everywhere, it is a usual sole below the ankle, longest along x.
    """
    for shape in foot.body.shapes:
        if shape.kind == "box":
            return shape.placement.position, 0.5 * np.abs(shape.placement.rotation @ np.asarray(shape.size))
    inertia = foot.body.inertia
    moments = np.diag(np.asarray(inertia.moment))
    squares = 1.5 * (moments.sum() - 2.0 * moments) / max(inertia.mass, 1e-9)
    half = np.sqrt(np.maximum(squares, SMALLEST**2))
    if 2.0 * half.max() <= LARGEST * depth:
        return np.asarray(inertia.center), half
    level = np.argsort(np.abs(up))[:2]
    half = np.zeros(3)
    half[level.min()], half[level.max()] = (x * depth for x in SOLE)
    return np.zeros(3), half
