"""Shapes that touch a floor as points, spheres and ellipsoids, in frames of their own.

Against a plane a sphere is a point with a radius, a capsule two of them, a box its corners, an ellipsoid
itself, all exactly. A cylinder is two flat ellipsoids, as wide as its ends and `FLATNESS` of its radius
thick, which round its edges off by that much. A mesh is corners of its convex hull, so many that its
extent in every direction is met within `ROUGHNESS` of its size, at most `CORNERS`. All meshes of a robot
together have at most `ALL_CORNERS`, so many each that the largest lack (m) is as small as possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array, frozen
from kinetree.algebra.placement import Placement
from kinetree.errors import FileError, MissingExtraError
from kinetree.formats.mesh_file import mesh_surfaces
from kinetree.formats.passed_over import PassedOver
from kinetree.model.body import Shape
from kinetree.model.contact_point import ContactPoint
from kinetree.model.floor import UP

FLATNESS = 0.02  # thickness of the ends of cylinders, of their radius
ROUGHNESS = 0.01  # of the size of a mesh
CORNERS = 32  # of a mesh
LEAST = 4  # corners of a mesh, however many meshes there are
ALL_CORNERS = 400  # of all meshes
DIRECTIONS = 400  # in which the extent of a mesh is compared
AT_ONCE = 10_000  # corners of a mesh that are looked at together


class Ball(NamedTuple):
    """A point with half axes (3, 3) in rows, both in the frame of a shape."""

    position: Array
    half: Array

    @property
    def radius(self) -> float:
        """Of a sphere; 0 for points and ellipsoids."""
        lengths = np.linalg.norm(self.half, axis=1)
        return float(lengths[0]) if np.ptp(lengths) == 0.0 else 0.0

    @property
    def half_axes(self) -> Array | None:
        """Of an ellipsoid; None for points and spheres."""
        return self.half if self.half.any() and not self.radius else None


def balls(kind: str, size: tuple[float, float, float]) -> list[Ball]:
    """What a shape touches with; ``size`` are half axes, or radius and half length, as MuJoCo has them.

    >>> [len(balls(kind, (0.1, 0.1, 0.2))) for kind in ("sphere", "capsule", "box", "cylinder")]
    [1, 2, 8, 2]
    """
    x, y, z = size
    up, none = np.array(UP), np.zeros((3, 3))
    if kind == "sphere":
        return [Ball(np.zeros(3), x * np.eye(3))]
    if kind == "capsule":
        return [Ball(sign * y * up, x * np.eye(3)) for sign in (-1.0, 1.0)]
    if kind == "ellipsoid":
        return [Ball(np.zeros(3), np.diag([x, y, z]))]
    if kind == "cylinder":
        thin = min(FLATNESS * x, 0.5 * y)
        return [Ball(sign * (y - thin) * up, np.diag([x, x, thin])) for sign in (-1.0, 1.0)]
    signs = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], dtype=np.float64)
    return [Ball(corner, none) for corner in signs * (x, y, z)]


def corner_balls(points: Array) -> list[Ball]:
    """What a mesh with corners (n, 3) touches with."""
    return [Ball(corner, np.zeros((3, 3))) for corner in few_corners(points)]


def few_corners(points: Array, most: int = CORNERS, tolerance: float = ROUGHNESS) -> Array:
    """The corners of :func:`ordered_corners`."""
    return ordered_corners(points, most, tolerance).points


class Corners(NamedTuple):
    """Points (k, 3), and what of the extent lacked before each of them, then after the last (k + 1,) (m)."""

    points: Array
    lacks: Array


def ordered_corners(points: Array, most: int = CORNERS, tolerance: float = ROUGHNESS) -> Corners:
    """Some of the points (n, 3), that reach as far as all of them in every direction, within a tolerance.

    The tolerance is relative to the size; at most ``most`` points are taken, one after the other where the
    lack is largest.

    >>> cube = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 0.5, 1)], dtype=float)
    >>> len(ordered_corners(cube).points)
    8
    """
    turns = np.arange(DIRECTIONS) + 0.5
    height = 1.0 - 2.0 * turns / DIRECTIONS
    around = np.pi * (1.0 + np.sqrt(5.0)) * turns
    across = np.sqrt(1.0 - height**2)
    directions = np.column_stack([across * np.cos(around), across * np.sin(around), height])
    best, full = np.zeros(DIRECTIONS, dtype=np.int64), np.full(DIRECTIONS, -np.inf)
    for start in range(0, len(points), AT_ONCE):
        reach = directions @ points[start : start + AT_ONCE].T
        found = reach.argmax(axis=1)
        farther = reach[np.arange(DIRECTIONS), found] > full
        best[farther] = start + found[farther]
        full = np.maximum(full, reach.max(axis=1))
    size = float(np.ptp(points, axis=0).max())
    chosen, lacks = [int(best[0])], [np.inf]
    got = directions @ points[chosen[0]]
    while True:
        lack = full - got
        d = int(np.argmax(lack))
        lacks.append(float(lack[d]))
        if len(chosen) == most or lack[d] <= tolerance * size:
            return Corners(points[chosen], np.array(lacks))
        chosen.append(int(best[d]))
        got = np.maximum(got, directions @ points[chosen[-1]])


def shared_corners(meshes: Sequence[Corners], most: int = ALL_CORNERS) -> tuple[list[Array], float]:
    """The first corners of each mesh, ``most`` in all, and the largest lack (m); 0 if all are kept.

    >>> fine = Corners(np.zeros((8, 3)), np.array([np.inf, 8, 7, 6, 5, 4, 3, 2, 1.0]))
    >>> [len(x) for x in shared_corners([fine, fine], 14)[0]], shared_corners([fine, fine], 14)[1]
    ([7, 7], 2.0)
    """
    if sum(len(x.points) for x in meshes) <= most:
        return [x.points for x in meshes], 0.0
    later = np.sort(np.concatenate([x.lacks[LEAST:-1] for x in meshes]))[::-1]
    free = most - sum(min(LEAST, len(x.points)) for x in meshes)
    limit = float(later[free]) if free > 0 else np.inf
    kept = [max(min(LEAST, len(x.points)), int((x.lacks[:-1] > limit).sum())) for x in meshes]
    return [x.points[:k] for x, k in zip(meshes, kept, strict=True)], max(
        float(x.lacks[k]) for x, k in zip(meshes, kept, strict=True)
    )


class Collision(NamedTuple):
    """A shape of a body that touches: its points are called ``name``, with a number if there are several.

    ``place`` begins messages.
    """

    shape: Shape
    name: str
    body: str
    friction: float | None
    place: str


def collision_points(collisions: Sequence[Collision], passed: PassedOver) -> Iterator[ContactPoint]:
    """The contact points of all collisions; meshes that cannot be read, and those thinned, are mentioned."""
    meshes = {k: x for k, one in enumerate(collisions) if (x := _mesh_corners(one, passed)) is not None}
    shared, lack = shared_corners(list(meshes.values()))
    corners = dict(zip(meshes, shared, strict=True))
    if lack:
        said = f"exact contact of meshes ({sum(map(len, shared))} corners instead, up to {lack:.2g} m inside)"
        place = next(iter(collisions)).place
        passed.mention("not-used", said, f"{place}: {said}; contacts= chooses the bodies")
    taken: set[str] = set()
    for k, one in enumerate(collisions):
        is_mesh = one.shape.kind == "mesh"
        parts = [Ball(x, np.zeros((3, 3))) for x in corners.get(k, ())] if is_mesh else _solid(one.shape)
        where = Placement() if is_mesh else one.shape.placement
        for number, ball in enumerate(parts, start=1):
            own = one.name if len(parts) == 1 else f"{one.name}_{number}"
            point = ContactPoint(
                own, one.body, frozen(ball.position), ball.radius, ball.half_axes, one.friction
            )
            yield with_new_name(point.moved(one.body, where), taken)


def _mesh_corners(one: Collision, passed: PassedOver) -> Corners | None:
    if one.shape.kind != "mesh":
        return None
    try:
        return ordered_corners(np.concatenate([x.corners for x in mesh_surfaces(one.shape)]))
    except (FileError, MissingExtraError) as reason:
        passed.mention("not-used", "contact of meshes that cannot be read", f"{one.place}: {reason}")
        return None


def _solid(shape: Shape) -> list[Ball]:
    values = [float(x) for x in shape.size]
    if shape.kind == "box":
        x, y, z = (0.5 * value for value in values)
    elif shape.kind == "ellipsoid":
        x, y, z = values
    else:
        x, y, z = values[0], 0.5 * values[-1], 0.0
    return balls(shape.kind, (x, y, z)) if x > 0.0 else []


def with_new_name(point: ContactPoint, taken: set[str]) -> ContactPoint:
    """The point, with underscores behind its name if that is taken; its name is taken from now on."""
    name = point.name
    while name in taken:
        name += "_"
    taken.add(name)
    return point if name == point.name else replace(point, name=name)
