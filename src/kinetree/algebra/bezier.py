"""Smooth curves y(x) of quintic Bezier pieces that bend from one straight line into the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from kinetree.algebra.arrays import Array, frozen

PARALLEL = 1.5e-8  # slopes that differ less have no corner between them
ITERATIONS = 60
Knot = tuple[float, float, float]  # x, y and slope of a line


@dataclass(frozen=True, eq=False)
class BezierCurve:
    """y(x) of pieces with control points ``x`` and ``y`` (pieces, 6), straight before and after them.

    >>> curve = BezierCurve.bent([(0.0, 0.0, 0.0), (1.0, 1.0, 2.0)], [0.5])
    >>> [float(v) for v in curve.at(np.array(2.0))], float(curve.at(np.array(-1.0))[0])
    ([3.0, 2.0], 0.0)
    """

    x: Array
    y: Array
    slopes: tuple[float, float]  # of the lines before and after

    @classmethod
    def bent(cls, knots: Sequence[Knot], curviness: Sequence[float]) -> BezierCurve:
        """The curve through points with given slopes; each piece bends where the lines of its ends meet.

        With C this corner and c = 0.1 + 0.8 curviness, its inner control points are c of the way from each
        end to C, two at each (Millard et al. 2013, appendix).
        """
        rows_x: list[list[float]] = []
        rows_y: list[list[float]] = []
        for (x0, y0, d0), (x1, y1, d1), c in zip(knots[:-1], knots[1:], curviness, strict=True):
            corner = (y1 - y0 - x1 * d1 + x0 * d0) / (d0 - d1) if abs(d0 - d1) > PARALLEL else 0.5 * (x0 + x1)
            height, share = (corner - x1) * d1 + y1, 0.1 + 0.8 * c
            for rows, a, b, m in ((rows_x, x0, x1, corner), (rows_y, y0, y1, height)):
                rows.append([a, *[a + share * (m - a)] * 2, *[b + share * (m - b)] * 2, b])
        return cls(frozen(rows_x), frozen(rows_y), (knots[0][2], knots[-1][2]))

    def at(self, x: Array) -> tuple[Array, Array]:
        """Value and slope, both (...), at x (...)."""
        inside = np.clip(x, self.x[0, 0], self.x[-1, -1])
        k = np.clip(np.searchsorted(self.x[:, 0], inside, side="right") - 1, 0, len(self.x) - 1)
        cx, cy = self.x[k], self.y[k]
        u = _parameter(cx, inside)
        dx, dy = (_bernstein(np.diff(c), u) for c in (cx, cy))
        value, slope = _bernstein(cy, u), dy / dx
        before, after = x < self.x[0, 0], x > self.x[-1, -1]
        slope = np.where(before, self.slopes[0], np.where(after, self.slopes[1], slope))
        return value + slope * (x - inside), slope


def _bernstein(c: Array, u: Array) -> Array:
    """sum_j binomial(n, j) c_j u^j (1 - u)^(n - j), with c (..., n + 1)."""
    n = c.shape[-1] - 1
    total = np.zeros(np.broadcast_shapes(u.shape, c.shape[:-1]))
    for j in range(n + 1):
        total = total + comb(n, j) * c[..., j] * u**j * (1 - u) ** (n - j)
    return total


def _parameter(c: Array, x: Array) -> Array:
    """u in [0, 1] where sum_j c_j B_j(u) = x, for c that ascend: Newton's method held between its bounds."""
    low, high = np.zeros_like(x), np.ones_like(x)
    u = (x - c[..., 0]) / (c[..., -1] - c[..., 0])
    for _ in range(ITERATIONS):
        off = _bernstein(c, u) - x
        low, high = np.where(off < 0, u, low), np.where(off > 0, u, high)
        slope = 5.0 * _bernstein(np.diff(c), u)
        new = u - off / np.maximum(slope, 1e-300)
        new = np.where((new <= low) | (new >= high), 0.5 * (low + high), new)
        new = np.where(off == 0.0, u, new)
        if np.abs(new - u).max(initial=0.0) < 1e-15:
            return new
        u = new
    return u
