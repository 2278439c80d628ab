"""Where labels stand in a picture: beside what they name, not over each other and not beyond the edge."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array

NEAR, FAR, RINGS, AROUND = 5.0, 170.0, 24, 24  # distances tried, as the sizes are given, and directions
GAP = 1.5
STRAY = 0.3  # what a place nearer to another anchor costs


def box_distance(points: Array, low: Array, high: Array) -> Array:
    """Distances of points (..., 2) from boxes between corners ``low`` and ``high`` (..., 2)."""
    found: Array = np.linalg.norm(np.maximum(np.maximum(low - points, points - high), 0.0), axis=-1)
    return found


def label_places(anchors: Array, sizes: Array, page: tuple[float, float], taken: Array) -> Array:
    """Lower left corners (k, 2) of labels with sizes (k, 2) near anchors (k, 2) on a page (width, height).

    Labels go where the least of them covers another label, then an anchor or one of the ``taken`` points
    (m, 2), where no other anchor is nearer, and as near as that allows; all in the same unit, such as points.

    >>> place, none = np.array([[50.0, 50.0], [50.0, 50.0]]), np.zeros((0, 2))
    >>> label_places(place, np.full((2, 2), 10.0), (100.0, 100.0), none).round(1).tolist()
    [[45.0, 55.0], [45.0, 35.0]]
    """
    angles = 2.0 * np.pi * np.arange(AROUND) / AROUND
    ring = np.geomspace(NEAR, FAR, RINGS)
    steps = (ring[:, None, None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)).reshape(-1, 2)
    points = np.concatenate([anchors, taken.reshape(-1, 2)])
    found = np.zeros_like(anchors)
    placed = np.zeros((0, 4))
    for k in range(len(anchors)):
        size = sizes[k]
        side = np.where(np.abs(steps) < 1e-9, -0.5, np.where(steps > 0.0, 0.0, -1.0))
        side[:, 1] = np.where(np.abs(steps[:, 1]) < 0.3 * np.abs(steps[:, 0]), 0.0, side[:, 1])
        low = anchors[k] + steps + side * size
        low = np.clip(low, GAP, np.maximum(np.array(page) - size - GAP, GAP))
        high = low + size
        cost = np.linalg.norm(low + 0.5 * size - anchors[k], axis=1) / FAR
        for box in placed:
            wide = np.minimum(high[:, 0], box[2]) - np.maximum(low[:, 0], box[0]) + GAP
            tall = np.minimum(high[:, 1], box[3]) - np.maximum(low[:, 1], box[1]) + GAP
            cost += np.where((wide > 0.0) & (tall > 0.0), 100.0 + wide * tall, 0.0)
        inside = (points[:, None] > low - GAP).all(axis=-1) & (points[:, None] < high + GAP).all(axis=-1)
        cost += 0.5 * inside.sum(axis=0)
        gaps = box_distance(anchors[:, None], low, high)
        others = np.linalg.norm(anchors - anchors[k], axis=1) > 1e-9
        if others.any():
            cost += np.where(gaps[others].min(axis=0) < gaps[k] + GAP, STRAY, 0.0)
        best = int(np.argmin(cost))
        found[k] = low[best]
        placed = np.vstack([placed, [*low[best], *high[best]]])
    return found
