"""What a body looks like that has no shapes of its own: lines, a box of equal inertia, a plate."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.placement import Placement
from kinetree.model.body import Shape
from kinetree.model.inertia import Inertia
from kinetree.model.mechanism import Link, Mechanism
from kinetree.report.shapes import hull_faces

SAME_POINT = 1e-9  # m
NO_LINES = np.zeros((0, 2, 3))
SMALL = 0.3  # half an edge of the box of a last body, at most, beside the longest link
THIN = 0.02  # an edge of the box below this part of the longest is drawn as none


class DrawnForm(NamedTuple):
    """Lines (k, 2, 3), boxes, and the polygons (corners, 3) of a plate, all in the body frame (m)."""

    lines: Array
    boxes: tuple[Shape, ...]
    plate: list[Array]


NO_FORM = DrawnForm(NO_LINES, (), [])


def shown_by_shapes(mechanism: Mechanism, shown: Collection[str]) -> bool:
    """Whether the bodies ``shown`` as described show the mechanism: half of those with mass, or more.

    Then bodies without shapes are frames inside it. A part on an arm without shapes does not show the arm.
    """
    heavy = [link.body.name for link in mechanism.links if link.body.inertia.mass > 0.0]
    return bool(shown) and 2 * sum(name in shown for name in heavy) >= len(heavy)


def body_form(mechanism: Mechanism, link: Link) -> DrawnForm:
    """Lines and faces of a body without shapes.

    A plate where it is attached in three or more points off one line, else lines from its origin. The last
    body of a branch is a line to its far end if its joint carries it outside its center of mass; else it,
    like a floating body, is the box of equal inertia.

    >>> import kinetree as kt
    >>> arm = kt.zoo.two_link()
    >>> body_form(arm, arm.links[0]).lines.tolist()
    [[[0.0, 0.0, 0.0], [0.4, 0.0, 0.0]]]
    """
    attached, inertia = attachments(mechanism, link.body.name), link.body.inertia
    ends, last, floating = _distinct(attached), not len(attached), link.joint.is_free
    if last and not floating and inertia.center.any():
        return DrawnForm(_spokes(_far_end(inertia)[None, :]), (), [])
    largest = np.inf if floating else SMALL * _longest(mechanism)
    edges, boxes = _equal_box(inertia, largest) if floating or last else (NO_LINES, ())
    plate = hull_faces(np.concatenate([np.zeros((1, 3)), ends]))
    lines = NO_LINES if plate else _spokes(ends)
    return DrawnForm(np.concatenate([edges, lines]), boxes, plate)


def attachments(mechanism: Mechanism, body: str) -> Array:
    """Where joints, cut joints and contact points sit on a body, (k, 3) in its frame."""
    points = [link.placement.position for link in mechanism.links if link.parent == body]
    points += [loop.placement_a.position for loop in mechanism.loops if loop.body_a == body]
    points += [loop.placement_b.position for loop in mechanism.loops if loop.body_b == body]
    points += [point.position for point in mechanism.contact_points if point.body == body]
    return np.array(points).reshape(-1, 3)


def _distinct(points: Array) -> Array:
    """The points without repetitions and without the origin."""
    kept: list[Array] = []
    for point in points:
        if all(np.linalg.norm(point - other) > SAME_POINT for other in [np.zeros(3), *kept]):
            kept.append(point)
    return np.array(kept).reshape(-1, 3)


def _far_end(inertia: Inertia) -> Array:
    """Where a body that starts at its joint ends: beyond its center by the half length of an equal rod.

    c (1 + min(1, sqrt(3 c^T S c / m) / c^2)) with S the second moment about the center; 2 c for a rod.
    """
    c, square = inertia.center, float(inertia.center @ inertia.center)
    along = float(c @ _spread(inertia) @ c)
    beyond: Array = c * (1.0 + min(1.0, np.sqrt(3.0 * max(0.0, along)) / square))
    return beyond


def _spread(inertia: Inertia) -> Array:
    """Second moment about the center of mass per mass (m^2); zero for a body without mass."""
    if inertia.mass == 0.0:
        return np.zeros((3, 3))
    spread: Array = (0.5 * np.trace(inertia.moment) * np.eye(3) - inertia.moment) / inertia.mass
    return spread


def _spokes(ends: Array) -> Array:
    ends = _distinct(ends)
    return np.stack([np.zeros_like(ends), ends], axis=1)


def _longest(mechanism: Mechanism) -> float:
    """The longest way (m) from a joint to the next on a body; infinite where all are in one place."""
    lengths = [float(np.linalg.norm(link.placement.position)) for link in mechanism.links]
    return max(lengths, default=0.0) or np.inf


def _equal_box(inertia: Inertia, largest: float) -> tuple[Array, tuple[Shape, ...]]:
    """The uniform box with the same inertia: half edges sqrt(3 S_ii / m), at most the largest (m).

    Inertias of rotors are often given at the joint, with far more spread than so small a body has.

    A box without two of its dimensions is the line that a slender rod is, one without any is nothing.
    """
    squares, directions = np.linalg.eigh(_spread(inertia))
    directions[:, 0] *= np.linalg.det(directions)
    half = np.minimum(np.sqrt(3.0 * np.clip(squares, 0.0, None)), largest)
    half[half <= THIN * half.max()] = 0.0
    if np.count_nonzero(half) == 0:
        return NO_LINES, ()
    if np.count_nonzero(half) == 1:
        arm = directions @ half
        return np.array([[inertia.center - arm, inertia.center + arm]]), ()
    return NO_LINES, (Shape("box", 2.0 * half, Placement(directions, inertia.center)),)
