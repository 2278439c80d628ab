"""Surfaces as one artist of matplotlib's 3-D axes, drawn with a depth buffer in whatever view is set."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.artist import Artist

from kinetree.algebra.arrays import Array
from kinetree.report.solid import Solid

FINEST = 2400  # pixels along a side of what is drawn, before it is halved
MOST_AT_ONCE = 1_500_000  # pixels of boxes that are tested at a time
LIGHT = np.array([-0.35, 0.65, 0.68])  # to the right, up and to the eye


def raster(points: Array, normals: Array, colors: Array, size: tuple[int, int]) -> np.ndarray:
    """A picture (height, width, 4) of bytes, empty where no triangle is.

    ``points`` (m, 3, 3): corners of triangles as pixels to the right and up, and nearness to the eye (larger
    is nearer); ``normals`` (m, 3, 3) along the same directions, ``colors`` (m, 3) from 0 to 1.

    >>> near = np.array([[[0, 0, 0], [8, 0, 0], [0, 8, 0]]], dtype=float)
    >>> facing = np.zeros((1, 3, 3)) + [0, 0, 1]
    >>> int((raster(near, facing, np.ones((1, 3)), (8, 8))[..., 3] > 0).sum())  # half of 8 x 8 pixels
    36
    """
    width, height = size
    depth = np.full(width * height, -np.inf, dtype=np.float32)
    owner = np.full(width * height, -1, dtype=np.int64)
    p = np.asarray(points, dtype=np.float32)
    low = np.maximum(np.ceil(p[:, :, :2].min(axis=1) - 0.5), 0.0).astype(np.int64)
    high = np.floor(p[:, :, :2].max(axis=1) - 0.5).astype(np.int64)
    high = np.minimum(high, np.array([width, height]) - 1)
    span = np.maximum(high - low + 1, 0)
    area = _twice_area(p)
    seen = np.flatnonzero((span.prod(axis=1) > 0) & (np.abs(area) > 1e-12) & np.isfinite(p).all(axis=(1, 2)))
    counts = span[seen].prod(axis=1)
    ends = np.cumsum(counts)
    start = 0
    while start < len(seen):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + MOST_AT_ONCE, side="right")))
        _paint(seen[start:stop], p, area, low, span, depth, owner, width)
        start = stop
    return _shaded(owner, depth, p, area, normals, colors, (width, height))


def _twice_area(p: np.ndarray) -> np.ndarray:
    a, b, c = (p[:, k, :2] for k in range(3))
    found: np.ndarray = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    return found


def _weights(p: np.ndarray, area: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
    """Barycentric coordinates of points (k,) in triangles (k, 3, 3)."""
    (ax, ay), (bx, by), (cx, cy) = ((p[:, k, 0], p[:, k, 1]) for k in range(3))
    u = ((bx - x) * (cy - y) - (by - y) * (cx - x)) / area
    v = ((cx - x) * (ay - y) - (cy - y) * (ax - x)) / area
    return u, v, 1.0 - u - v


def _paint(
    which: np.ndarray,
    p: np.ndarray,
    area: np.ndarray,
    low: np.ndarray,
    span: np.ndarray,
    depth: np.ndarray,
    owner: np.ndarray,
    width: int,
) -> None:
    """Test all pixels in the boxes of some triangles, and keep what is nearest."""
    counts = span[which].prod(axis=1)
    rows = np.repeat(which, counts)
    index = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    across = np.repeat(span[which, 0], counts)
    down = index // across
    column, line = low[rows, 0] + index - down * across, low[rows, 1] + down
    x, y = column.astype(np.float32) + 0.5, line.astype(np.float32) + 0.5
    u, v, w = _weights(p[rows], area[rows], x, y)
    inside = (u >= 0.0) & (v >= 0.0) & (w >= 0.0)
    rows, pixel = rows[inside], (line * width + column)[inside]
    near = u[inside] * p[rows, 0, 2] + v[inside] * p[rows, 1, 2] + w[inside] * p[rows, 2, 2]
    np.maximum.at(depth, pixel, near)
    front = near == depth[pixel]
    owner[pixel[front]] = rows[front]


def _shaded(
    owner: np.ndarray,
    depth: np.ndarray,
    p: np.ndarray,
    area: np.ndarray,
    normals: Array,
    colors: Array,
    size: tuple[int, int],
) -> np.ndarray:
    """Colors of the pixels that a triangle owns; surfaces are lit on both sides."""
    width, height = size
    picture = np.zeros((width * height, 4), dtype=np.uint8)
    pixel = np.flatnonzero(owner >= 0)
    rows = owner[pixel]
    x, y = (pixel % width).astype(np.float32) + 0.5, (pixel // width).astype(np.float32) + 0.5
    weights = np.stack(_weights(p[rows], area[rows], x, y), axis=1)
    normal = np.einsum("ki,kij->kj", weights, np.asarray(normals, dtype=np.float32)[rows])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-9)
    normal *= np.where(normal[:, 2:] < 0.0, -1.0, 1.0)
    light = LIGHT / np.linalg.norm(LIGHT)
    sun = np.clip(normal @ light, 0.0, 1.0)
    half = light + np.array([0.0, 0.0, 1.0])
    gloss = np.clip(normal @ (half / np.linalg.norm(half)), 0.0, 1.0) ** 40
    sky = 0.5 + 0.5 * normal[:, 1]
    base = np.asarray(colors, dtype=np.float32)[rows]
    lit = base * (0.40 + 0.18 * sky + 0.50 * sun)[:, None] + (0.04 * sky + 0.14 * gloss)[:, None]
    picture[pixel, :3] = np.clip(255.0 * lit, 0.0, 255.0)
    picture[pixel, 3] = 255
    return picture.reshape(height, width, 4)[::-1]


def halved(picture: np.ndarray) -> np.ndarray:
    """A picture (2 h, 2 w, 4) at half the size, its edges smoothed: the mean of four pixels by opacity."""
    height, width = picture.shape[0] // 2, picture.shape[1] // 2
    four = picture.reshape(height, 2, width, 2, 4).astype(np.float32)
    opacity = four[..., 3:]
    total = opacity.sum(axis=(1, 3))
    color = (four[..., :3] * opacity).sum(axis=(1, 3)) / np.maximum(total, 1.0)
    return np.concatenate([color, total / 4.0], axis=-1).round().astype(np.uint8)


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
