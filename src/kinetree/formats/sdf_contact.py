"""Collisions of SDF links as contact points, and a plane that does not move as the floor.

The coefficient of friction of two surfaces is the smaller one, as Gazebo has it: that of a contact point is
the smaller of its <mu> and the floor's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.placement import Placement
from kinetree.formats.contact_shapes import Collision, collision_points
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.sdf_values import flag, number, pose, vector
from kinetree.formats.xml_file import Element
from kinetree.model.body import Shape
from kinetree.model.contact_point import ContactPoint
from kinetree.model.floor import UP, Floor

FRICTION = 1.0  # the format's own default
LEVEL = 0.7  # a plane whose normal has at least this part along up is a floor, others are walls


def contact_points(
    solids: Mapping[str, Sequence[tuple[Element, Shape]]], floor: Floor | None, passed: PassedOver
) -> Iterator[ContactPoint]:
    """The points of the collisions, with their shapes, of links by name."""
    collisions: list[Collision] = []
    for name, found in solids.items():
        for k, (collision, shape) in enumerate(found):
            own = f"{name}_{collision.attributes.get('name', '') or k}"
            mu = _friction(collision)
            mu = mu if floor is None else min(mu, floor.friction)
            collisions.append(Collision(shape, own, name, mu, collision.place))
    yield from collision_points(collisions, passed)


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
