"""What there is to draw of a mechanism in one pose: lines, plates and marks in the world, no graphics yet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.algebra.placement import Placement
from kinetree.analysis.kinematics import Poses, forward_kinematics
from kinetree.errors import InputError
from kinetree.model.body import WORLD
from kinetree.model.inertia import Inertia
from kinetree.model.mechanism import Link, Mechanism
from kinetree.report.shapes import box_faces, hull_faces, shape_faces
from kinetree.state import coordinates

SAME_POINT = 1e-9  # m
NO_LINES = np.zeros((0, 2, 3))
THIN = 0.02  # an edge of the box below this part of the longest is drawn as none


@dataclass(frozen=True, eq=False)
class JointMark:
    """A joint in the world: where it is, where it sits on the parent, and its axis if it has just one."""

    name: str
    kind: str
    position: Array
    seat: Array  # the joint frame's origin on the parent; differs from position if the joint slides
    axis: Array | None
    grounded: bool


@dataclass(frozen=True, eq=False)
class BodyMark:
    """A body in the world: origin, ``lines`` (k, 2, 3), ``faces`` (polygons), centre of mass and mass."""

    name: str
    module: int
    origin: Array
    lines: Array
    faces: list[Array]
    center: Array
    mass: float


@dataclass(frozen=True, eq=False)
class LoopMark:
    """A cut joint: its place on body a and on body b, equal when the loop is closed."""

    name: str
    at_a: Array
    at_b: Array


@dataclass(frozen=True, eq=False)
class Skeleton:
    """All marks of one pose; ``normal`` is the direction (3,) that a planar mechanism is seen along."""

    bodies: list[BodyMark]
    joints: list[JointMark]
    loops: list[LoopMark]
    contacts: Array
    normal: Array | None

    @property
    def points(self) -> Array:
        """Every point of the mechanism but the corners of faces, (k, 3)."""
        points = [joint.position for joint in self.joints] + [joint.seat for joint in self.joints]
        points += [body.center for body in self.bodies if body.mass > 0]
        points += [end for body in self.bodies for end in body.lines.reshape(-1, 3)]
        points += [end for loop in self.loops for end in (loop.at_a, loop.at_b)]
        return np.array([*points, *self.contacts]).reshape(-1, 3)

    @property
    def corners(self) -> Array:
        """Corners of all faces, (k, 3)."""
        faces = [face for body in self.bodies for face in body.faces]
        return np.concatenate([np.zeros((0, 3)), *faces])

    @property
    def grounded(self) -> bool:
        """Whether a joint other than a free one stands on the world."""
        return any(joint.grounded for joint in self.joints)


def resting_pose(mechanism: Mechanism) -> Array:
    """The allowed q (n_dof,) nearest to zero."""
    joints = [link.joint for link in mechanism.links if link.joint.mimic is None]
    if not mechanism.n_dof:
        return np.zeros(0)
    lower = np.concatenate([joint.lower for joint in joints])
    pose: Array = np.clip(0.0, lower, np.concatenate([joint.upper for joint in joints]))
    return pose


def skeleton(mechanism: Mechanism, q: ArrayLike | None = None) -> Skeleton:
    """The marks of a mechanism in the pose q (n_dof,), by default the allowed one nearest to zero."""
    pose = coordinates(mechanism, resting_pose(mechanism) if q is None else q, "q")
    if pose.ndim != 1:
        raise InputError(f"q must be one pose of shape ({mechanism.n_dof},), got shape {pose.shape}")
    places = _places(forward_kinematics(mechanism, pose))
    module_of = {body: module.number for module in mechanism.modules for body in module.bodies}
    bodies = [_body_mark(mechanism, link, places, module_of) for link in mechanism.links]
    joints = [_joint_mark(link, places) for link in mechanism.links]
    loops = [
        LoopMark(
            loop.name,
            (places[loop.body_a] @ loop.placement_a).position,
            (places[loop.body_b] @ loop.placement_b).position,
        )
        for loop in mechanism.loops
    ]
    contacts = [_moved(places[point.body], point.position) for point in mechanism.contact_points]
    found = Skeleton(bodies, joints, loops, np.array(contacts).reshape(-1, 3), None)
    return Skeleton(bodies, joints, loops, found.contacts, _plane_normal(found))


def _places(poses: Poses) -> dict[str, Placement]:
    moving = {
        body: Placement(poses.rotation[k], poses.position[k]) for k, body in enumerate(poses.body_names)
    }
    return {WORLD: Placement(), **moving}


def _moved(place: Placement, points: Array) -> Array:
    """Points (..., 3) of a body frame in the world."""
    return points @ place.rotation.T + place.position


def _joint_mark(link: Link, places: dict[str, Placement]) -> JointMark:
    place, joint = places[link.body.name], link.joint
    seat = (places[link.parent] @ link.placement).position
    single = joint.kind in ("revolute", "prismatic", "cylindrical", "planar")
    axis = place.rotation @ joint.axes[-1] if single else None
    grounded = link.parent == WORLD and joint.kind != "free"
    return JointMark(joint.name, joint.kind, place.position, seat, axis, grounded)


def _body_mark(
    mechanism: Mechanism, link: Link, places: dict[str, Placement], module_of: dict[str, int]
) -> BodyMark:
    body = link.body
    ends = _attachments(mechanism, body.name)
    floating = link.joint.kind == "free"
    lines, faces = _form(_distinct(ends), body.inertia, floating=floating, last=not len(ends))
    if body.shapes:
        faces = [face for shape in body.shapes for face in shape_faces(shape)]
    place = places[body.name]
    return BodyMark(
        body.name,
        module_of[body.name],
        place.position,
        _moved(place, lines),
        [_moved(place, face) for face in faces],
        _moved(place, body.inertia.center),
        body.inertia.mass,
    )


def _attachments(mechanism: Mechanism, body: str) -> Array:
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


def _form(ends: Array, inertia: Inertia, *, floating: bool, last: bool) -> tuple[Array, list[Array]]:
    """Lines and faces of a body without shapes.

    A plate where it is attached in three or more points off one line, else lines from its origin. The last
    body of a branch is a line to its far end if its joint carries it outside its centre of mass; else it,
    like a floating body, is the box of equal inertia.
    """
    if last and not floating and inertia.center.any():
        return _spokes(_far_end(inertia)[None, :]), []
    edges, faces = _equal_box(inertia) if floating or last else (NO_LINES, [])
    plate = hull_faces(np.concatenate([np.zeros((1, 3)), ends]))
    lines = NO_LINES if plate else _spokes(ends)
    return np.concatenate([edges, lines]), faces + plate


def _far_end(inertia: Inertia) -> Array:
    """Where a body that starts at its joint ends: beyond its centre by the half length of an equal rod.

    c (1 + min(1, sqrt(3 c^T S c / m) / c^2)) with S the second moment about the centre; 2 c for a rod.
    """
    c, square = inertia.center, float(inertia.center @ inertia.center)
    along = float(c @ _spread(inertia) @ c)
    beyond: Array = c * (1.0 + min(1.0, np.sqrt(3.0 * max(0.0, along)) / square))
    return beyond


def _spread(inertia: Inertia) -> Array:
    """Second moment about the centre of mass per mass (m^2); zero for a body without mass."""
    if inertia.mass == 0.0:
        return np.zeros((3, 3))
    spread: Array = (0.5 * np.trace(inertia.moment) * np.eye(3) - inertia.moment) / inertia.mass
    return spread


def _spokes(ends: Array) -> Array:
    ends = _distinct(ends)
    return np.stack([np.zeros_like(ends), ends], axis=1)


def _equal_box(inertia: Inertia) -> tuple[Array, list[Array]]:
    """Edges and faces of the uniform box with the same inertia: half edges sqrt(3 S_ii / m).

    A box without two of its dimensions is the line that a slender rod is.
    """
    squares, directions = np.linalg.eigh(_spread(inertia))
    half = np.sqrt(3.0 * np.clip(squares, 0.0, None))
    half[half <= THIN * half.max()] = 0.0
    if np.count_nonzero(half) == 1:
        arm = directions @ half
        return np.array([[inertia.center - arm, inertia.center + arm]]), []
    return NO_LINES, [inertia.center + face @ directions.T for face in box_faces(half)]


def _plane_normal(marks: Skeleton) -> Array | None:
    """The coordinate axis along which all lies in one plane and stays there; None in space.

    Turning axes must be along it, sliding axes across it; a free joint is not asked.
    """
    moving = [joint for joint in marks.joints if joint.kind not in ("free", "fixed")]
    turning = [joint.axis for joint in moving if joint.kind in ("revolute", "planar")]
    sliding = [joint.axis for joint in moving if joint.kind == "prismatic"]
    if not turning or len(turning) + len(sliding) < len(moving):
        return None
    normal = np.abs(np.asarray(turning[0])).round(9)
    turned = [np.linalg.norm(np.cross(normal, axis)) for axis in turning if axis is not None]
    lifted = [abs(normal @ axis) for axis in sliding if axis is not None]
    flat = np.ptp(marks.points @ normal) <= 1e-6 * extent(marks.points)
    within = flat and max([*turned, *lifted]) < SAME_POINT and np.count_nonzero(normal) == 1
    return normal if within else None


def extent(points: Array) -> float:
    """The largest distance between two points along an axis, at least 1 mm."""
    return max(1e-3, float(np.ptp(points, axis=0).max()))


def gaps(marks: Skeleton) -> dict[str, float]:
    """How far each loop is from closed (m)."""
    return {loop.name: float(np.linalg.norm(loop.at_a - loop.at_b)) for loop in marks.loops}
