"""What the settings of a prediction keep bodies out of, as shapes that are drawn beside the mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.placement import Placement
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.model.body import WORLD, Shape
from kinetree.model.floor import Floor
from kinetree.model.mechanism import Mechanism
from kinetree.report.shapes import shape_faces

UPRIGHT = 0.5  # cosine of the angle between gravity and the normal of a plane that is a floor, at least


@dataclass(frozen=True)
class Obstacle:
    """A shape (m) in the frame of a ``body`` or of the world."""

    body: str
    shape: Shape


def obstacles(mechanism: Mechanism, settings: Mapping[str, Any]) -> tuple[Obstacle, ...]:
    """The spheres and boxes of the settings of a prediction, of all its phases, each once.

    >>> import kinetree as kt
    >>> ball = {"term": "KeepOut", "of": "world", "center": [1, 0, 0], "radius": 0.2}
    >>> [x.shape.kind for x in obstacles(kt.zoo.two_link(), {"constraints": [ball, ball]})]
    ['sphere']
    """
    found = []
    for term in _terms(settings):
        if term["term"] == "KeepOut":
            found.append(_obstacle(mechanism, term, Shape("sphere", np.array([term["radius"]]))))
        elif term["term"] == "KeepOutBox":
            found.append(_obstacle(mechanism, term, Shape("box", term["size"])))
    return tuple(dict.fromkeys(found))


def clearance_floor(mechanism: Mechanism, settings: Mapping[str, Any]) -> Floor | None:
    """The lowest level plane that bodies stay above during an entire prediction; None without one."""
    up, found = -mechanism.gravity / max(float(np.linalg.norm(mechanism.gravity)), 1e-12), []
    for term in _terms(settings):
        if term["term"] == "GroundClearance" and term.get("at") == "samples":
            heights, normal = np.unique(term["height"]), np.array(term["normal"], dtype=np.float64)
            if len(heights) == 1 and normal @ up > UPRIGHT:
                found.append((float(heights[0]), normal / np.linalg.norm(normal)))
    if not found:
        return None
    height, normal = min(found, key=lambda x: x[0])
    return Floor(normal=tuple(normal), origin=tuple(height * normal))


def obstacle_faces(mechanism: Mechanism, found: tuple[Obstacle, ...], q: Array) -> list[Array]:
    """Polygons (k, 3) of obstacles in the world, at coordinates q (n_dof,)."""
    if not found:
        return []
    poses = forward_kinematics(mechanism, q)
    faces = []
    for one in found:
        R, x = (np.eye(3), np.zeros(3)) if one.body == WORLD else poses[one.body]
        faces += [face @ R.T + x for face in shape_faces(one.shape)]
    return faces


def _terms(settings: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The constraints of a prediction or of its phases."""
    phases = settings.get("phases")
    parts = [settings, *(phases if isinstance(phases, list) else ())]
    lists = [part.get("constraints") or () for part in parts if isinstance(part, Mapping)]
    return [term for terms in lists for term in terms if isinstance(term, Mapping) and "term" in term]


def _obstacle(mechanism: Mechanism, term: Mapping[str, Any], shape: Shape) -> Obstacle:
    of = str(term["of"])
    body, place = (WORLD, Placement()) if of == WORLD else mechanism.place_of(of)
    own = Placement.at(term["center"], term.get("rotation"))
    return Obstacle(body, Shape(shape.kind, shape.size, place @ own))
