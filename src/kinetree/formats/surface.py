"""Triangles of a mesh file, with a color."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array


@dataclass(frozen=True, eq=False)
class MeshSurface:
    """A surface in a body frame: ``corners`` (k, 3) in m, ``triangles`` (m, 3) seen from outside.

    ``color`` is such as "#2f6db5"; None is the color of the body's module.
    """

    corners: Array
    triangles: np.ndarray
    color: str | None = None


def hex_color(values: Array) -> str:
    """The name of a color from red, green and blue between 0 and 1.

    >>> hex_color(np.array([1.0, 0.5, 0.0]))
    '#ff8000'
    """
    return "#" + "".join(f"{round(255 * float(x)):02x}" for x in np.clip(values[:3], 0.0, 1.0))


def used_corners(surface: MeshSurface) -> tuple[Array, np.ndarray]:
    """Corners and triangles of the same surface without corners that no triangle has."""
    used, number = np.unique(surface.triangles, return_inverse=True)
    return surface.corners[used], number.reshape(-1, 3)
