"""Ground of flat triangles, as MuJoCo has it over a grid of heights, as a smooth height field near to it.

A cubic spline through few heights dips and bulges between them: by 8 cm on a grid of 3 by 4 heights of half a
meter. Heights of the triangles on a finer grid keep the spline near them, with creases as round as the grid
is fine: the largest difference halves with the distance of its heights.
"""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.model.height_field import HeightField

NEAR = 2e-3  # m, between the triangles and the smooth surface
MOST = 60_000  # heights of a grid that was made finer
PARTS, FEW = 4, 2  # of the distance of two heights, where both surfaces are compared; of large grids


def smooth_ground(
    heights: Array, forward: tuple[float, float], side: tuple[float, float]
) -> tuple[HeightField, float]:
    """A height field within `NEAR` of the triangles over a grid, and its largest distance (m) from them.

    Of grids 1, 2, 4, ... times as fine, the coarsest that is near enough; at most `MOST` heights are made,
    so that where many heights jump the distance may be larger.

    >>> field, distance = smooth_ground(np.array([[0, 0, 0], [0, 0.1, 0], [0, 0, 0]]), (-1, 1), (-1, 1))
    >>> field.shape, distance < 2e-3
    ((33, 33), True)
    """
    n, m = heights.shape
    parts = 1
    while True:
        field = HeightField(over_triangles(heights, parts), forward, side)
        compared = PARTS if np.size(field.heights) <= MOST else FEW
        distance = float(np.abs(field.finer(compared) - over_triangles(heights, parts * compared)).max())
        parts *= 2
        if distance <= NEAR or (parts * (n - 1) + 1) * (parts * (m - 1) + 1) > MOST:
            return field, distance


def over_triangles(heights: Array, parts: int) -> Array:
    """Heights of the triangles over a grid (n, m) on a grid ``parts`` times finer.

    Each cell has two triangles that meet on its diagonal from the lower to the higher numbers of both
    directions, as MuJoCo's cells do.

    >>> over_triangles(np.array([[1.0, 0.0], [0.0, 0.0]]), 2).tolist()
    [[1.0, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]
    """
    (i, u), (j, v) = (_cells(n, parts) for n in heights.shape)
    i, u = i[:, None], u[:, None]
    low, high = heights[i, j], heights[i + 1, j + 1]
    first = low + u * (heights[i + 1, j] - low) + v * (high - heights[i + 1, j])
    second = low + v * (heights[i, j + 1] - low) + u * (high - heights[i, j + 1])
    found: Array = np.where(u >= v, first, second)
    return found


def _cells(n: int, parts: int) -> tuple[np.ndarray, Array]:
    """Cell and share of its length, of all places of a finer grid."""
    places = np.arange(parts * (n - 1) + 1)
    cell = np.minimum(places // parts, n - 2)
    return cell, places / parts - cell
