"""Collisions of URDF links as contact points.

URDF itself has no friction. What its users add is taken: <mu1> that a <gazebo> element gives a link, and
<lateral_friction> of a link's <contact>, which Bullet reads; else the ground's counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kinetree.formats.contact_choice import ContactChoice
from kinetree.formats.contact_shapes import Collision, collision_points
from kinetree.formats.mesh_path import MeshFolder
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.urdf_elements import shape_of
from kinetree.formats.xml_file import Element
from kinetree.model.body import WORLD
from kinetree.model.contact_point import ContactPoint
from kinetree.model.mechanism import Link


def contact_points(
    robot: Element, links: Sequence[Link], folder: MeshFolder, choice: ContactChoice, passed: PassedOver
) -> tuple[ContactPoint, ...]:
    """The points of all collisions of bodies that are chosen, usually those that a free joint carries."""
    elements = {x.text("name"): x for x in robot.all("link")}
    choice.check_names([link.body.name for link in links])
    free, moves = _carried(links)
    names = [link.body.name for link in links if link.body.name in moves]
    wanted = [x for x in names if choice.wants(x, x in free) and elements[x].all("collision")]
    friction = _frictions(robot) if wanted else {}
    found = [
        x for name in wanted for x in _collisions(elements[name], name, friction.get(name), folder, passed)
    ]
    points = tuple(collision_points(found, passed))
    choice.check_found(points)
    return points


def _carried(links: Sequence[Link]) -> tuple[set[str], set[str]]:
    """Bodies that a free joint carries, and all that move."""
    by_name = {link.body.name: link for link in links}
    free, moves, seen = set[str](), set[str](), {WORLD}
    for link in links:
        chain = [link]
        while chain[-1].parent not in seen and chain[-1].parent in by_name:
            chain.append(by_name[chain[-1].parent])
        for part in reversed(chain):
            name = part.body.name
            seen.add(name)
            if part.joint.is_free or part.parent in free:
                free.add(name)
            if part.joint.n_dof or part.parent in moves:
                moves.add(name)
    return free, moves


def _collisions(
    link: Element, name: str, friction: float | None, folder: MeshFolder, passed: PassedOver
) -> Iterator[Collision]:
    quiet = PassedOver(passed.source)  # what is wrong with a shape is said where it is drawn
    collisions = link.all("collision")
    for k, collision in enumerate(collisions, start=1):
        shape = shape_of(collision, folder, quiet)
        if shape is not None:
            own = name if len(collisions) == 1 else f"{name}_{k}"
            yield Collision(shape, own, name, friction, collision.place)


def _frictions(robot: Element) -> dict[str, float]:
    """Coefficients of friction by link, as far as the file has them."""
    found: dict[str, float] = {}
    for link in robot.all("link"):
        for contact in link.all("contact"):
            _take(found, link.text("name"), contact.all("lateral_friction"))
    for extension in robot.all("gazebo"):
        _take(found, extension.attributes.get("reference", ""), extension.all("mu1"))
    return found


def _take(found: dict[str, float], name: str, elements: list[Element]) -> None:
    """Keep the number of the first element, which stands inside it or in an attribute."""
    for element in elements[:1]:
        try:
            value = float(element.attributes.get("value", "") or element.content or "")
        except ValueError:
            return
        if math.isfinite(value) and value >= 0.0:
            found[name] = value
