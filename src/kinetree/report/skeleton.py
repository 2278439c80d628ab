"""What there is to draw of a mechanism in one pose: lines, plates and marks in the world, no graphics yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.algebra.placement import Placement
from kinetree.analysis.kinematics import Poses, forward_kinematics
from kinetree.dynamics.loops.assembly import assemble
from kinetree.dynamics.muscles.paths import polylines
from kinetree.errors import InputError, KinetreeError
from kinetree.model.aids import aids
from kinetree.model.body import WORLD
from kinetree.model.joint_kind import KINDS, JointKind
from kinetree.model.mechanism import Link, Mechanism
from kinetree.report.forms import NO_FORM, SAME_POINT, body_form, shown_by_shapes
from kinetree.report.looks import Look
from kinetree.report.shapes import shape_faces
from kinetree.state import coordinates

HOME = "home"  # the state that a mechanism is shown in, if it has one of this name; else its first one


@dataclass(frozen=True, eq=False)
class JointMark:
    """A joint in the world: where it is, where it sits on the parent, and its axis if it has just one."""

    name: str
    kind: JointKind
    position: Array
    seat: Array  # the joint frame's origin on the parent; differs from position if the joint slides
    axis: Array | None
    grounded: bool
    covered: bool = False  # drawn inside bodies that are shown as they look


@dataclass(frozen=True, eq=False)
class BodyMark:
    """A body in the world: origin, ``lines`` (k, 2, 3), ``faces`` (polygons), center of mass and mass.

    ``look`` are the surfaces of its description in its frame, which is at ``place``; then it has no faces.
    """

    name: str
    module: int
    origin: Array
    lines: Array
    faces: list[Array]
    center: Array
    mass: float
    place: Placement = field(default_factory=Placement)
    look: Look | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is drawn as lines and plates, not as it looks."""
        return self.look is None and bool(self.faces or len(self.lines))


@dataclass(frozen=True, eq=False)
class LoopMark:
    """A cut joint: its place on body a and on body b, equal when the loop is closed."""

    name: str
    at_a: Array
    at_b: Array


@dataclass(frozen=True, eq=False)
class SpringMark:
    """A spring between bodies: its points on body a and on body b."""

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
    springs: list[SpringMark] = field(default_factory=list)
    muscles: list[Array] = field(default_factory=list)  # corners of their paths, (points, 3)

    @property
    def points(self) -> Array:
        """Every point of the mechanism but the corners of faces, (k, 3)."""
        points = [joint.position for joint in self.joints] + [joint.seat for joint in self.joints]
        points += [body.center for body in self.bodies if body.mass > 0]
        points += [end for body in self.bodies for end in body.lines.reshape(-1, 3)]
        points += [end for loop in self.loops for end in (loop.at_a, loop.at_b)]
        points += [end for spring in self.springs for end in (spring.at_a, spring.at_b)]
        points += [corner for path in self.muscles for corner in path]
        return np.array([*points, *self.contacts]).reshape(-1, 3)

    @property
    def corners(self) -> Array:
        """Corners of all faces, and the ends of bodies that are drawn as they look, (k, 3)."""
        faces = [face for body in self.bodies for face in body.faces]
        ends = [_moved(body.place, body.look.ends) for body in self.bodies if body.look is not None]
        return np.concatenate([np.zeros((0, 3)), *faces, *ends])

    @property
    def grounded(self) -> bool:
        """Whether a joint other than a free one stands on the world."""
        return any(joint.grounded for joint in self.joints)

    @property
    def has_looks(self) -> bool:
        """Whether a body is drawn as it looks."""
        return any(body.look is not None for body in self.bodies)

    def weights(self, marks: bool) -> list[BodyMark]:
        """Bodies whose center of mass is marked: those with mass, unless it is inside what they look like."""
        plain = marks or not self.has_looks
        return [body for body in self.bodies if body.mass > 0 and (plain or body.is_plain)]


def shown_state(mechanism: Mechanism) -> str | None:
    """The name of the state that a mechanism is shown in; None if it has none."""
    return HOME if HOME in mechanism.states else next(iter(mechanism.states), None)


def resting_pose(mechanism: Mechanism) -> Array:
    """The q (n_dof,) of its state 'home' or its first, else that nearest to zero with closed loops."""
    state = shown_state(mechanism)
    if state is not None:
        return np.array(mechanism.states[state].q)
    joints = [link.joint for link in mechanism.links if link.joint.mimic is None]
    if not mechanism.n_dof:
        return np.zeros(0)
    lower = np.concatenate([joint.lower for joint in joints])
    pose: Array = np.clip(0.0, lower, np.concatenate([joint.upper for joint in joints]))
    return _closed(mechanism, pose) if mechanism.loops else pose


def _closed(mechanism: Mechanism, pose: Array) -> Array:
    """A pose near the given one with loops closed; the pose itself if none is found."""
    rng = np.random.default_rng(0)
    for width in (0.0, 0.1, 0.3, 0.6, 1.0, 1.0, 1.0, 1.0):  # a flat linkage can only be closed from beside
        try:
            return assemble(mechanism, pose + width * rng.normal(size=pose.shape))
        except KinetreeError:
            continue
    return pose


def skeleton(
    mechanism: Mechanism, q: ArrayLike | None = None, looks: Mapping[str, Look] | None = None
) -> Skeleton:
    """The marks of a mechanism in the pose q (n_dof,), by default its resting pose.

    Bodies that ``looks`` has are drawn by it.
    """
    pose = coordinates(mechanism, resting_pose(mechanism) if q is None else q, "q")
    if pose.ndim != 1:
        raise InputError(f"q must be one pose of shape ({mechanism.n_dof},), got shape {pose.shape}")
    places = _places(forward_kinematics(mechanism, pose))
    module_of = {body: module.number for module in mechanism.modules for body in module.bodies}
    known = looks or {}
    others = shown_by_shapes(mechanism, known)
    unseen = {link.body.name for link in aids(mechanism)}
    links = [link for link in mechanism.links if link.body.name not in unseen] or mechanism.links
    bodies = [
        _body_mark(mechanism, link, places, module_of, known.get(link.body.name), others) for link in links
    ]
    covered = {x.name for x in bodies if known and not (x.faces or len(x.lines))}
    joints = [_joint_mark(link, places, link.body.name in covered) for link in links]
    loops = [
        LoopMark(
            loop.name,
            (places[loop.body_a] @ loop.placement_a).position,
            (places[loop.body_b] @ loop.placement_b).position,
        )
        for loop in mechanism.loops
    ]
    contacts = [_moved(places[point.body], point.position) for point in mechanism.contact_points]
    springs = [
        SpringMark(
            spring.name,
            _moved(places[spring.body_a], spring.point_a),
            _moved(places[spring.body_b], spring.point_b),
        )
        for spring in mechanism.springs
    ]
    muscles = [path for path, _ in polylines(mechanism, pose)] if mechanism.muscles else []
    found = Skeleton(bodies, joints, loops, np.array(contacts).reshape(-1, 3), None, springs, muscles)
    return replace(found, normal=_plane_normal(found))


def _places(poses: Poses) -> dict[str, Placement]:
    moving = {
        body: Placement(poses.rotation[k], poses.position[k]) for k, body in enumerate(poses.body_names)
    }
    return {WORLD: Placement(), **moving}


def _moved(place: Placement, points: Array) -> Array:
    """Points (..., 3) of a body frame in the world."""
    return points @ place.rotation.T + place.position


def _moved_faces(place: Placement, faces: list[Array]) -> list[Array]:
    """Polygons (k, 3) of a body frame in the world, all at once."""
    if not faces:
        return []
    ends = np.cumsum([len(face) for face in faces])[:-1]
    return np.split(_moved(place, np.concatenate(faces)), ends)


def _joint_mark(link: Link, places: dict[str, Placement], covered: bool) -> JointMark:
    place, joint = places[link.body.name], link.joint
    seat = (places[link.parent] @ link.placement).position
    kind = KINDS[joint.kind]
    axis = place.rotation @ joint.axes[-1] if kind.has_direction else None
    grounded = link.parent == WORLD and not kind.is_free
    return JointMark(joint.name, kind, place.position, seat, axis, grounded, covered)


def _body_mark(
    mechanism: Mechanism,
    link: Link,
    places: dict[str, Placement],
    module_of: dict[str, int],
    look: Look | None,
    others: bool,
) -> BodyMark:
    body = link.body
    bare = look is None and (bool(body.shapes) or not others)  # no frame of a robot that is drawn otherwise
    form = body_form(mechanism, link) if bare else NO_FORM
    described = [shape for shape in body.shapes if shape.kind != "mesh"] if bare else []
    faces = [face for shape in described or form.boxes for face in shape_faces(shape)]
    if not described:
        faces += form.plate
    place = places[body.name]
    return BodyMark(
        body.name,
        module_of[body.name],
        place.position,
        _moved(place, form.lines),
        _moved_faces(place, faces),
        _moved(place, body.inertia.center),
        body.inertia.mass,
        place,
        look,
    )


def _plane_normal(marks: Skeleton) -> Array | None:
    """The coordinate axis along which all lies in one plane and stays there; None in space.

    Revolute axes must be along it, prismatic axes across it; a free joint is not asked.
    """
    moving = [joint for joint in marks.joints if not (joint.kind.is_free or joint.kind.is_fixed)]
    turning = [joint.axis for joint in moving if joint.kind.turns_in_a_plane]
    sliding = [joint.axis for joint in moving if joint.kind.is_slide]
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
