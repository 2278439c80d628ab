"""Collisions of SDF links as contact points, and a plane that does not move as the floor.

The coefficient of friction of two surfaces is the smaller one, as Gazebo has it: that of a contact point is
the smaller of its <mu> and the floor's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from kinetree.algebra.arrays import Array, frozen
from kinetree.algebra.placement import Placement
from kinetree.errors import KinetreeError
from kinetree.formats.contact_shapes import balls
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.sdf_elements import ROUND, SIZES
from kinetree.formats.sdf_values import flag, number, pose, vector
from kinetree.formats.xml_file import Element
from kinetree.model.contact_point import ContactPoint
from kinetree.model.floor import UP, Floor

FRICTION = 1.0  # the format's own default
LEVEL = 0.7  # a plane whose normal has at least this part along up is a floor, others are walls


def contact_points(
    links: Mapping[str, Element], moving: Sequence[str], floor: Floor | None, passed: PassedOver
) -> Iterator[ContactPoint]:
    """The points of the collisions of links by name, of those that move."""
    taken: set[str] = set()
    for name in moving:
        for k, collision in enumerate(links[name].all("collision")):
            own = f"{name}_{collision.attributes.get('name', '') or k}"
            mu = _friction(collision)
            mu = mu if floor is None else min(mu, floor.friction)
            found = _balls(collision, passed)
            for number_, (position, radius, half) in enumerate(found, start=1):
                label = own if len(found) == 1 else f"{own}_{number_}"
                while label in taken:
                    label += "_"
                taken.add(label)
                point = ContactPoint(label, name, frozen(position), radius, half, mu)
                yield point.moved(name, pose(collision))


def floor_of(root: Element, gravity: Array) -> Floor | None:
    """The plane of a static model of the file's world that is most nearly level; None without one."""
    best, level = None, LEVEL
    size = float(np.linalg.norm(gravity))
    up = -gravity / size if size else np.array(UP)
    for world in root.all("world"):
        for model in world.all("model"):
            if not flag(model, "static"):
                continue
            for link in model.all("link"):
                place = pose(model) @ pose(link)
                for collision in link.all("collision"):
                    found = _plane(collision, place @ pose(collision))
                    if found is not None and float(np.asarray(found.normal) @ up) > level:
                        best, level = found, float(np.asarray(found.normal) @ up)
    return best


def _plane(collision: Element, place: Placement) -> Floor | None:
    geometry = collision.one("geometry")
    plane = None if geometry is None else geometry.one("plane")
    if plane is None:
        return None
    normal = place.rotation @ vector(plane, "normal", UP)
    return Floor(place.position, normal, _friction(collision))


def _friction(collision: Element) -> float:
    """What <surface><friction><ode><mu> says."""
    place: Element | None = collision
    for tag in ("surface", "friction", "ode"):
        place = None if place is None else place.one(tag)
    return max(0.0, number(place, "mu", FRICTION))


def _balls(collision: Element, passed: PassedOver) -> list[tuple[Array, float, Array | None]]:
    """Places, radii and half axes of what a collision touches with; none of meshes and the like."""
    geometry = collision.one("geometry")
    shape = next(iter(geometry.children), None) if geometry is not None else None
    if shape is None or shape.tag == "plane":
        return []
    try:
        if shape.tag in ROUND:
            values = [number(shape, key, 1.0) for key in ROUND[shape.tag]]
            radius, length = values[0], values[-1]
            size = (radius, 0.5 * length, 0.0)
        elif shape.tag in SIZES:
            x, y, z = (float(x) for x in vector(shape, *SIZES[shape.tag]))
            size = (x, y, z) if shape.tag == "ellipsoid" else (0.5 * x, 0.5 * y, 0.5 * z)
        else:
            message = f"{shape.place}: a {shape.tag} does not touch the ground"
            passed.mention("not-used", f"contact of <{shape.tag}> collisions", message)
            return []
    except KinetreeError:
        return []  # said where shapes are drawn
    return [(ball.position, ball.radius, ball.half_axes) for ball in balls(shape.tag, size)]
