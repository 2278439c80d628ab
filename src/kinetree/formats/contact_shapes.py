"""Shapes that touch a floor as points, spheres and ellipsoids, in frames of their own.

Against a plane a sphere is a point with a radius, a capsule two of them, a box its corners, an ellipsoid
itself, all exactly. A cylinder is two flat ellipsoids, as wide as its ends and `FLATNESS` of its radius
thick, which round its edges off by that much.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.model.floor import UP

FLATNESS = 0.02  # thickness of the ends of cylinders, of their radius


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
