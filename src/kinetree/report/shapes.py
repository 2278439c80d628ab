"""Shapes as polygons in the body frame."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.model.body import Shape

AROUND = 16  # corners of a circle


def shape_faces(shape: Shape) -> list[Array]:
    """Polygons (k, 3) of a shape in the body frame, counter-clockwise from outside; none for a mesh."""
    return list(_faces(shape))


@lru_cache(maxsize=512)
def _faces(shape: Shape) -> tuple[Array, ...]:
    """The polygons of a shape, made once for all pictures of it."""
    size = shape.size
    if shape.kind == "box":
        faces = box_faces(size / 2)
    elif shape.kind == "cylinder":
        faces = _turned(
            [(0.0, -size[1] / 2), (size[0], -size[1] / 2), (size[0], size[1] / 2), (0.0, size[1] / 2)]
        )
    elif shape.kind in ("sphere", "capsule"):
        faces = _turned(_round_profile(size[0], size[1] if shape.kind == "capsule" else 0.0))
    elif shape.kind == "ellipsoid":
        faces = [face * size for face in _turned(_round_profile(1.0, 0.0))]
    else:
        faces = []
    place = shape.placement
    return tuple(face @ place.rotation.T + place.position for face in faces)


def box_faces(half: Array) -> list[Array]:
    """Rectangles of a box about the origin from its half edges (3,); a flat box has one, a line none."""
    if np.count_nonzero(half) < 2:
        return []
    flat = np.flatnonzero(half == 0.0)
    faces = []
    for across in flat if len(flat) else range(3):
        a, b = (k for k in range(3) if k != across)
        for sign in (1.0,) if len(flat) else (-1.0, 1.0):
            corners = np.zeros((4, 3))
            corners[:, a], corners[:, b] = (
                half[a] * np.array([-1, 1, 1, -1]),
                half[b] * np.array([-1, -1, 1, 1]),
            )
            corners[:, across] = sign * half[across]
            faces.append(corners)
    return faces


def hull_faces(points: Array) -> list[Array]:
    """Polygons of the convex hull of points (k, 3): one if they lie in a plane, none if on a line."""
    from scipy.spatial import ConvexHull

    middle = points.mean(axis=0)
    _, spread, directions = np.linalg.svd(points - middle, full_matrices=False)
    rank = int((spread > 1e-6 * max(spread[0], 1e-12)).sum())
    if len(points) < 3 or rank < 2:
        return []
    if rank == 2:
        flat = (points - middle) @ directions[:2].T
        return [points[ConvexHull(flat).vertices]]
    return [points[corners] for corners in ConvexHull(points).simplices]


def hull_solid(points: Array, thickness: float) -> tuple[Array, np.ndarray]:
    """Corners (k, 3) and triangles (m, 3), counter-clockwise from outside, of a convex hull.

    Points in a plane make a plate of the thickness (m), points on a line nothing.
    """
    from scipy.spatial import ConvexHull

    faces = hull_faces(points)
    if not faces:
        return np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)
    if len(faces) == 1:
        a, b, *_ = (corner - faces[0].mean(axis=0) for corner in faces[0])
        normal = np.cross(a, b) / np.linalg.norm(np.cross(a, b))
        points = np.concatenate([faces[0] + side * thickness / 2 * normal for side in (-1.0, 1.0)])
    hull = ConvexHull(points)
    corners = points[hull.vertices]
    number = np.full(len(points), -1)
    number[hull.vertices] = np.arange(len(corners))
    triangles = number[hull.simplices]
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    inwards = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    triangles[inwards] = triangles[inwards][:, ::-1]
    return corners, triangles


def _round_profile(radius: float, length: float) -> list[tuple[float, float]]:
    """Half circle, pulled apart by a length: points (r, z) from pole to pole."""
    angles = np.linspace(-np.pi / 2, np.pi / 2, 9)
    return [
        (float(radius * np.cos(a)), float(radius * np.sin(a) + np.copysign(length / 2, a))) for a in angles
    ]


def _turned(profile: list[tuple[float, float]]) -> list[Array]:
    """Polygons of the surface that a profile (r, z) sweeps about z."""
    turn = np.linspace(0.0, 2 * np.pi, AROUND + 1)
    rings = [
        np.column_stack([r * np.cos(turn), r * np.sin(turn), np.full(AROUND + 1, z)]) for r, z in profile
    ]
    return [
        np.array([rings[k][j], rings[k][j + 1], rings[k + 1][j + 1], rings[k + 1][j]])
        for k, j in product(range(len(rings) - 1), range(AROUND))
    ]
