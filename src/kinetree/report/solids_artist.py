"""Surfaces as one artist of matplotlib's 3-D axes, drawn with a depth buffer in whatever view is set."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.artist import Artist

from kinetree.algebra.arrays import Array
from kinetree.report.raster import halved, raster
from kinetree.report.solid import Solid

FINEST = 2400  # pixels along a side of what is drawn, before it is halved


class SolidsArtist(Artist):
    """Triangles (m, 3, 3) in the world with normals and colors (m, 3)."""

    def __init__(self, triangles: Array, normals: Array, colors: Array, alpha: float, zorder: float) -> None:
        super().__init__()
        self.triangles, self.normals, self.colors, self.opacity = triangles, normals, colors, alpha
        self.set_zorder(zorder)

    def do_3d_projection(self, *unused: Any) -> float:
        """What matplotlib asks of things in space before they are drawn."""
        return 0.0

    def draw(self, renderer: Any) -> None:
        """Draw as the axes look at the moment."""
        axes: Any = self.axes
        box = axes.figure.bbox
        finer = float(renderer.get_image_magnification())
        over = 2 if 2 * finer * max(box.width, box.height) <= FINEST else 1
        scale = finer * over
        size = (round(box.width * finer) * over, round(box.height * finer) * over)
        picture = raster(*self._on_paper(scale), self.colors, size)
        if over == 2:
            picture = halved(picture)
        if self.opacity < 1.0:
            picture = picture.copy()
            picture[..., 3] = (self.opacity * picture[..., 3]).astype(np.uint8)
        context = renderer.new_gc()
        renderer.draw_image(context, 0.0, 0.0, np.ascontiguousarray(picture[::-1]))
        context.restore()

    def _on_paper(self, scale: float) -> tuple[Array, Array]:
        """Corners as pixels with their nearness, and normals in the same directions.

        The projection is affine; far from the origin float32 is fine, as pixels are.
        """
        axes: Any = self.axes
        matrix = axes.get_proj()
        flat = self.triangles.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]
        flat = flat / (self.triangles.reshape(-1, 3) @ matrix[3, :3] + matrix[3, 3])[:, None]
        pixels = axes.transData.transform(flat[:, :2]) * scale
        towards, above, right = _directions(matrix)
        near = self.triangles.reshape(-1, 3) @ towards
        points = np.column_stack([pixels, near]).reshape(-1, 3, 3)
        return points, self.normals @ np.stack([right, above, towards], axis=1)


def _directions(matrix: Array) -> tuple[Array, Array, Array]:
    """Unit vectors in the world towards the eye, up and to the right on the paper."""
    right, above = (row / np.linalg.norm(row) for row in matrix[:2, :3])
    return np.cross(right, above), above, right


def placed_solids(
    parts: list[tuple[Solid, Array, Array, Array]], alpha: float, zorder: float
) -> SolidsArtist | None:
    """One artist of surfaces, each with rotation (3, 3), position (3,) and color (3,); None without any."""
    if not parts:
        return None
    triangles, normals, colors = [], [], []
    for solid, rotation, position, color in parts:
        triangles.append((solid.corners @ rotation.T + position)[solid.triangles])
        normals.append(solid.normals @ rotation.T)
        colors.append(np.broadcast_to(color, (len(solid.triangles), 3)))
    return SolidsArtist(
        np.concatenate(triangles), np.concatenate(normals), np.concatenate(colors), alpha, zorder
    )
