"""Surfaces made of triangles: colors, smooth normals, and coarser copies of fine ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.formats.surface import MeshSurface, used_corners

CREASE = 0.77  # cosine of the angle (40 degrees) between faces from which on an edge is seen
CROWDED = 48  # faces about a corner from which on it is not smoothed
FEWEST_CELLS = 10  # along a surface: how coarse a copy may get


@dataclass(frozen=True, eq=False)
class Solid(MeshSurface):
    """A surface that is drawn, with normals."""

    @cached_property
    def normals(self) -> Array:
        """Unit normals (m, 3, 3) at the corners of the triangles, made once for all pictures."""
        return smooth_normals(self.corners, self.triangles)


def face_normals(corners: Array, triangles: np.ndarray) -> Array:
    """Unit normals (m, 3) of triangles; zero for those without an area."""
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    unit: Array = np.divide(normal, length, out=np.zeros_like(normal), where=length > 0.0)
    return unit


def smooth_normals(corners: Array, triangles: np.ndarray) -> Array:
    """A unit normal (m, 3, 3) at each corner of each triangle: the mean of neighbors that bend gently.

    >>> square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float)
    >>> smooth_normals(square, np.array([[0, 1, 2], [0, 2, 3]]))[1, 0].tolist()
    [0.0, 0.0, 1.0]
    """
    flat = face_normals(corners, triangles)
    corner = triangles.ravel()
    face = np.repeat(np.arange(len(triangles)), 3)
    order = np.argsort(corner, kind="stable")
    corner_sorted, slots = corner[order], np.arange(len(corner))[order]
    starts = np.flatnonzero(np.append(True, np.diff(corner_sorted) > 0))
    counts = np.diff(np.append(starts, len(corner)))
    mean = flat[face].copy()
    for size in np.unique(counts[(counts > 1) & (counts <= CROWDED)]).tolist():
        rows = starts[counts == size][:, None] + np.arange(size)
        mine = slots[rows]
        around = flat[face[mine]]
        alike = np.einsum("vik,vjk->vij", around, around) > CREASE
        mean[mine] = np.einsum("vij,vjk->vik", alike.astype(np.float64), around)
    length = np.linalg.norm(mean, axis=1, keepdims=True)
    smooth: Array = np.divide(mean, length, out=flat[face].copy(), where=length > 1e-9).reshape(-1, 3, 3)
    return smooth


def coarser(solid: Solid, cell: float) -> Solid:
    """A surface whose corners within a cube of edge ``cell`` (m) are one; a small surface keeps its form.

    >>> corners = np.array([[0, 0, 0], [1, 0, 0], [1.001, 1, 0], [1, 1, 0.0]])
    >>> len(coarser(Solid(corners, np.array([[0, 1, 2], [0, 2, 3]])), 0.05).triangles)
    1
    """
    low = solid.corners.min(axis=0, initial=np.inf)
    span = float(np.ptp(solid.corners, axis=0).max(initial=0.0)) if len(solid.corners) else 0.0
    edge = min(cell, span / FEWEST_CELLS)
    if not edge > 0.0:
        return solid
    cells = np.floor((solid.corners - low) / edge + 0.5).astype(np.int64)
    side = int(cells.max(initial=0)) + 1
    key = (cells[:, 0] * side + cells[:, 1]) * side + cells[:, 2]
    _, number, count = np.unique(key, return_inverse=True, return_counts=True)
    number = number.ravel()
    means = np.stack([np.bincount(number, solid.corners[:, k]) for k in range(3)], axis=1) / count[:, None]
    triangles = number[solid.triangles]
    a, b, c = triangles.T
    triangles = triangles[(a != b) & (b != c) & (c != a)]
    _, first = np.unique(np.sort(triangles, axis=1), axis=0, return_index=True)
    return compact(Solid(means, triangles[np.sort(first)], solid.color))


def compact(solid: Solid) -> Solid:
    """The same surface without corners that no triangle has."""
    return Solid(*used_corners(solid), solid.color)


def within(solids: list[Solid], most: int) -> list[Solid]:
    """Surfaces with at most so many triangles together, all made coarser by one cell as far as needed."""
    total = sum(len(x.triangles) for x in solids)
    if total <= most or not solids:
        return solids
    low = np.min([x.corners.min(axis=0) for x in solids if len(x.corners)], axis=0)
    high = np.max([x.corners.max(axis=0) for x in solids if len(x.corners)], axis=0)
    cell = 2e-3 * float((high - low).max())
    made = solids
    for _ in range(12):
        made = [coarser(x, cell) for x in solids]
        if sum(len(x.triangles) for x in made) <= most:
            break
        cell *= 1.5
    return made
