"""Triangles as a picture: the nearest surface at every pixel, lit from above.

A depth buffer in NumPy. All pixels of the boxes around many triangles are tested at once; the nearest one of
each pixel is kept and shaded.
"""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array

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
