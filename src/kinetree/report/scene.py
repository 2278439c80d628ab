"""What there is to show of a mechanism that moves: solids and marks in the frames of its bodies.

The poses they move through are :class:`kinetree.report.frames.Frames`. Pages, viewers and films draw both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import rotation_to_axis
from kinetree.formats.regular_file import PathLike
from kinetree.model.body import WORLD, Shape
from kinetree.model.joint_kind import KINDS, JointKind
from kinetree.model.mechanism import Link, Mechanism
from kinetree.report.forms import body_form, shown_by_shapes
from kinetree.report.looks import Look, is_visible, mesh_looks
from kinetree.report.palette import module_color
from kinetree.report.shapes import hull_solid
from kinetree.report.skeleton import extent, skeleton
from kinetree.report.solid import Solid

WORLD_INDEX = -1
MOST_TRIANGLES = 40_000  # of all meshes on a page: together less than 1 MB of it
THICK, SLENDER, THINNEST = (
    0.026,
    0.13,
    0.009,
)  # radius of a link: of the size, of its length, at least of the size


@dataclass(frozen=True, eq=False)
class SceneBody:
    """A body: ``shapes`` (box, cylinder, sphere, capsule, ellipsoid: ``Shape``) and ``solids`` in its frame.

    ``center`` (3,) is its center of mass, ``color`` that of its module.
    """

    name: str
    module: int
    color: str
    shapes: tuple[Shape, ...]
    solids: tuple[Solid, ...]
    center: Array
    mass: float


@dataclass(frozen=True, eq=False)
class SceneJoint:
    """A joint: it sits at the origin of ``body``, and at ``seat`` (3,) in the frame of ``parent``.

    Both are indices of bodies, -1 is the world; seat and origin differ if the joint slides. ``axis`` (3,) in
    the body frame is that of a joint with just one. ``grounded``: it stands on the world; ``covered``: it is
    inside bodies that are shown as they look.
    """

    name: str
    kind: JointKind
    body: int
    parent: int
    seat: Array
    axis: Array | None
    grounded: bool
    covered: bool


@dataclass(frozen=True, eq=False)
class ScenePoint:
    """A contact point, or an end of a loop or spring, at a ``position`` (3,) of the frame of a ``body``."""

    name: str
    body: int
    position: Array


@dataclass(frozen=True, eq=False)
class Scene:
    """A mechanism to be drawn; all in the frames of its bodies, in m.

    ``size`` is its extent in its resting pose, ``up`` (3,) the unit vector against gravity. ``normal`` (3,)
    is what a planar mechanism is seen along, None in space. A loop is a pair of points that coincide when it
    is closed. ``looks`` are the meshes by body.
    """

    name: str
    bodies: tuple[SceneBody, ...]
    joints: tuple[SceneJoint, ...]
    contacts: tuple[ScenePoint, ...]
    loops: tuple[tuple[ScenePoint, ScenePoint], ...]
    size: float
    up: Array
    normal: Array | None
    springs: tuple[tuple[ScenePoint, ScenePoint], ...] = ()
    looks: Mapping[str, Look] = field(default_factory=dict)

    @property
    def grounded(self) -> bool:
        """Whether a joint other than a free one stands on the world."""
        return any(joint.grounded for joint in self.joints)


def scene(mechanism: Mechanism, meshes: PathLike | None = None, most: int = MOST_TRIANGLES) -> Scene:
    """The scene of a mechanism.

    A body has the shapes of its description; without any it is made of capsules between its joints, a plate
    if it is attached in three points or more, or the box of equal inertia. Mesh files are read as by
    :func:`kinetree.report.looks.looks`, and together have at most ``most`` triangles.

    >>> import kinetree as kt
    >>> arm = scene(kt.zoo.two_link())
    >>> [shape.kind for body in arm.bodies for shape in body.shapes]
    ['capsule', 'capsule']
    """
    found = mesh_looks(mechanism, meshes, most)
    covered = _covered(mechanism, found)
    shot = skeleton(mechanism, None, found)
    size = extent(np.concatenate([shot.points, shot.corners]))
    module_of = {body: module.number for module in mechanism.modules for body in module.bodies}
    bodies = tuple(
        _body(mechanism, link, module_of[link.body.name], size, found.get(link.body.name), covered)
        for link in mechanism.links
    )
    return Scene(
        mechanism.name,
        bodies,
        tuple(_joint(mechanism, link, link.body.name in covered) for link in mechanism.links),
        tuple(_point(mechanism, x.name, x.body, x.position) for x in mechanism.contact_points),
        tuple(
            (
                _point(mechanism, loop.name, loop.body_a, loop.placement_a.position),
                _point(mechanism, loop.name, loop.body_b, loop.placement_b.position),
            )
            for loop in mechanism.loops
        ),
        size,
        _up(mechanism.gravity),
        shot.normal,
        tuple(
            (
                _point(mechanism, spring.name, spring.body_a, spring.point_a),
                _point(mechanism, spring.name, spring.body_b, spring.point_b),
            )
            for spring in mechanism.springs
        ),
        found,
    )


def _covered(mechanism: Mechanism, found: Mapping[str, Look]) -> set[str]:
    """Bodies that are shown as they look, and those without shapes among them."""
    shown = {x.body.name for x in mechanism.links if any(map(_is_primitive, x.body.shapes))} | set(found)
    bare = {link.body.name for link in mechanism.links if not link.body.shapes}
    return shown | bare if shown_by_shapes(mechanism, shown) else shown


def _is_primitive(shape: Shape) -> bool:
    return shape.kind != "mesh" and is_visible(shape)


def _up(gravity: Array) -> Array:
    length = float(np.linalg.norm(gravity))
    return -gravity / length if length > 0.0 else np.array([0.0, 0.0, 1.0])


def _index(mechanism: Mechanism, body: str) -> int:
    return WORLD_INDEX if body == WORLD else mechanism.body_index(body)


def _point(mechanism: Mechanism, name: str, body: str, position: Array) -> ScenePoint:
    return ScenePoint(name, _index(mechanism, body), position)


def _joint(mechanism: Mechanism, link: Link, covered: bool) -> SceneJoint:
    joint = link.joint
    kind = KINDS[joint.kind]
    return SceneJoint(
        joint.name,
        kind,
        mechanism.body_index(link.body.name),
        _index(mechanism, link.parent),
        link.placement.position,
        joint.axes[-1] if kind.has_direction else None,
        link.parent == WORLD and not kind.is_free,
        covered,
    )


def _body(
    mechanism: Mechanism, link: Link, module: int, size: float, look: Look | None, covered: set[str]
) -> SceneBody:
    """A body; a frame without shapes is not made up where others have shapes."""
    body = link.body
    shapes = tuple(filter(_is_primitive, body.shapes))
    solids = () if look is None else look.solids
    if not shapes and not solids and (body.shapes or body.name not in covered):
        shapes, solids = _made_up(mechanism, link, size)
    return SceneBody(
        body.name, module, module_color(module), shapes, solids, body.inertia.center, body.inertia.mass
    )


def _made_up(mechanism: Mechanism, link: Link, size: float) -> tuple[tuple[Shape, ...], tuple[Solid, ...]]:
    """Capsules for lines, the box of equal inertia with some thickness, and the hull of a plate."""
    form, least = body_form(mechanism, link), THINNEST * size
    capsules = tuple(_capsule(start, end, size) for start, end in form.lines)
    boxes = tuple(Shape("box", np.maximum(box.size, least), box.placement) for box in form.boxes)
    solids: tuple[Solid, ...] = ()
    if form.plate:
        solids = (Solid(*hull_solid(np.concatenate(form.plate), least)),)
    return (*boxes, *capsules), solids


def _capsule(start: Array, end: Array, size: float) -> Shape:
    length = float(np.linalg.norm(end - start))
    radius = max(min(THICK * size, SLENDER * length), THINNEST * size)
    placement = Placement(rotation_to_axis((end - start) / length), (start + end) / 2.0)
    return Shape("capsule", np.array([radius, length]), placement)
