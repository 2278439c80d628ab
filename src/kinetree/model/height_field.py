"""Uneven ground: heights over a rectangular grid, as a surface that is smooth twice over."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, frozen, numbers
from kinetree.errors import InputError, ModelError, must_be

MOST = 4_000_000  # heights of a field
LARGEST, CLOSEST = 1e9, 1e-9  # height or end (m); spacing (m)
STEPS, NEAR = 30, 1e-14  # of the search for the nearest place; share of the field's size


class Surface(NamedTuple):
    """Heights over some places with their slopes (x, y) and bends (xx, xy, yy), arrays of one shape."""

    h: Array
    x: Array
    y: Array
    xx: Array
    xy: Array
    yy: Array


@dataclass(frozen=True, eq=False)
class HeightField:
    """Heights (n, m) in meters above a plane, on a grid of n points along forward and m along side.

    ``forward`` and ``side`` are the intervals (m) of the grid along the plane's two directions. The surface
    interpolates all heights with natural cubic splines in both directions, so that slope and curvature are
    continuous everywhere; beyond the grid it continues linearly. A jump from one grid point to the next
    causes ripples of a tenth of its height; use :class:`kinetree.simulation.Region` for steps.

    >>> hill = HeightField([[0, 0, 0], [0, 0.1, 0], [0, 0, 0]], forward=(-1, 1), side=(-1, 1))
    >>> np.abs(hill.at([0.0, -1.0], [0.0, 0.3])).round(9).tolist()
    [0.1, 0.0]
    """

    heights: ArrayLike
    forward: tuple[float, float] = (-1.0, 1.0)
    side: tuple[float, float] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        heights = numbers(self.heights, "heights of a height field", ModelError)
        if heights.ndim != 2 or min(heights.shape) < 2:
            raise ModelError(
                "heights of a height field must be a table of at least 2 by 2 numbers, got the shape "
                f"{heights.shape}"
            )
        if heights.size > MOST:
            raise ModelError(f"a height field may have up to {MOST} heights, got {heights.size}")
        if not np.isfinite(heights).all():
            i, j = np.argwhere(~np.isfinite(heights))[0]
            raise ModelError(must_be(f"heights[{i}][{j}] of a height field", "finite", heights[i, j], ""))
        if np.abs(heights).max() > LARGEST:
            i, j = np.unravel_index(np.abs(heights).argmax(), heights.shape)
            raise ModelError(
                f"heights[{i}][{j}] of a height field may be up to {LARGEST:g} m, got {heights[i, j]:g} m"
            )
        object.__setattr__(self, "heights", frozen(heights))
        for name in ("forward", "side"):
            ends = numbers(getattr(self, name), f"{name} of a height field", ModelError)
            if ends.shape != (2,) or not ends[0] < ends[1] or not np.isfinite(ends).all():
                raise ModelError(
                    must_be(
                        f"{name} of a height field",
                        "two finite numbers, from low to high",
                        getattr(self, name),
                    )
                )
            if np.abs(ends).max() > LARGEST:
                raise ModelError(
                    f"{name} of a height field may reach up to {LARGEST:g} m, got {ends.tolist()}"
                )
            object.__setattr__(self, name, (float(ends[0]), float(ends[1])))
        if min(self.spacing) < CLOSEST:
            raise ModelError(
                f"neighbors of a height field must be at least {CLOSEST:g} m apart, got "
                f"{min(self.spacing):g} m"
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HeightField):
            return NotImplemented
        same = (self.forward, self.side) == (other.forward, other.side)
        return same and np.array_equal(np.asarray(self.heights), np.asarray(other.heights))

    def __hash__(self) -> int:
        return hash((self.forward, self.side, np.shape(self.heights)))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of grid points along forward and along side."""
        n, m = np.shape(self.heights)
        return int(n), int(m)

    @property
    def spacing(self) -> tuple[float, float]:
        """Grid spacing (m) along forward and along side."""
        (n, m), (a, b), (c, d) = self.shape, self.forward, self.side
        return (b - a) / (n - 1), (d - c) / (m - 1)

    @cached_property
    def coefficients(self) -> Array:
        """The surface by uniform cubic B-splines, (n + 2, m + 2)."""
        return frozen(_spline(_spline(np.asarray(self.heights, dtype=np.float64)).T).T)

    def at(self, forward: ArrayLike, side: ArrayLike) -> Array:
        """The height (m) at places of the plane."""
        height: Array = self.surface(forward, side).h
        return height

    def finer(self, parts: int) -> Array:
        """The surface's heights (m) on a grid ``parts`` times finer, (parts (n - 1) + 1, parts (m - 1) + 1).

        >>> HeightField([[0, 0], [1, 1]]).finer(2).round(9).tolist()
        [[0.0, 0.0, 0.0], [0.5, 0.5, 0.5], [1.0, 1.0, 1.0]]
        """
        if type(parts) is not int or not 1 <= parts <= 1000:
            raise InputError(must_be("parts", "an integer from 1 to 1000", parts))
        found = self.coefficients
        for n in self.shape:
            i, (w, _, _) = _weights(np.arange(parts * (n - 1) + 1) / parts, n)
            found = sum(w[:, k, None] * found[i + k] for k in range(4)).T  # the other direction is next
        return found

    def surface(self, forward: ArrayLike, side: ArrayLike) -> Surface:
        """The height at points of the plane with its first and second derivatives."""
        what = "points on a height field"
        x, y = (finite(numbers(given, what), what) for given in (forward, side))
        try:
            x, y = np.broadcast_arrays(x, y)
        except ValueError:
            raise InputError(f"{what}: shapes {x.shape} and {y.shape} do not broadcast") from None
        return self._surface(x, y)

    def _surface(self, x: Array, y: Array) -> Surface:
        """The surface at places of one shape; NaN where they are NaN."""
        (n, m), (dx, dy), C = self.shape, self.spacing, self.coefficients
        i, a = _weights((x - self.forward[0]) / dx, n)
        j, b = _weights((y - self.side[0]) / dy, m)
        near = C[i[..., None, None] + np.arange(4)[:, None], j[..., None, None] + np.arange(4)]

        def sum_of(u: int, v: int) -> Array:
            found: Array = np.einsum("...i,...ij,...j->...", a[u], near, b[v]) / dx**u / dy**v
            return found

        return Surface(*(sum_of(u, v) for u, v in ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))))

    def nearest(self, places: ArrayLike) -> tuple[Array, Array]:
        """The nearest points of the surface and their normals, (..., 3), for points (forward, side, up).

        By Newton's method from the point below; where that fails, far from the surface, the point below.
        """
        what = "points near a height field"
        given = finite(numbers(places, what), what)
        if given.shape[-1:] != (3,):
            raise InputError(f"{what} must have the shape (..., 3), got {given.shape}")
        with np.errstate(over="ignore", invalid="ignore"):  # very far away the search fails
            return self._nearest(given)

    def _nearest(self, places: Array) -> tuple[Array, Array]:
        x, y, z = (np.array(places[..., k]) for k in range(3))
        start, tall = (x.copy(), y.copy()), np.abs(self._surface(x, y).h - z)
        size = math.hypot(self.forward[1] - self.forward[0], self.side[1] - self.side[0])
        for _ in range(STEPS):
            s = self._surface(x, y)
            e = s.h - z
            u, v = x - start[0] + e * s.x, y - start[1] + e * s.y
            a, b, c = 1.0 + s.x**2 + e * s.xx, s.x * s.y + e * s.xy, 1.0 + s.y**2 + e * s.yy
            bad = (a <= 0.1) | (a * c - b * b <= 0.1)
            a, b = np.where(bad, 1.0 + s.x**2, a), np.where(bad, s.x * s.y, b)
            c = np.where(bad, 1.0 + s.y**2, c)
            step_x, step_y = (c * u - b * v) / (a * c - b * b), (a * v - b * u) / (a * c - b * b)
            x, y = x - step_x, y - step_y
            if not (np.hypot(step_x, step_y) > NEAR * size).any():
                break
        found = self._surface(x, y).h
        nearer = (x - start[0]) ** 2 + (y - start[1]) ** 2 + (found - z) ** 2 <= tall**2 * (1.0 + 1e-12)
        x, y = np.where(nearer, x, start[0]), np.where(nearer, y, start[1])
        s = self._surface(x, y)
        normal = np.stack([-s.x, -s.y, np.ones_like(s.x)], axis=-1)
        return np.stack([x, y, s.h], axis=-1), normal / np.linalg.norm(normal, axis=-1, keepdims=True)


def _spline(values: Array) -> Array:
    """Coefficients (n + 2, m) of natural cubic B-splines through the rows of values (n, m)."""
    from scipy.linalg import solve_banded

    n = len(values)
    inner = values.copy()
    if n > 2:
        right = 6.0 * values[1:-1]
        right[0] -= values[0]
        right[-1] -= values[-1]
        bands = np.ones((3, n - 2))
        bands[1] = 4.0
        inner[1:-1] = solve_banded((1, 1), bands, right)
    first, last = 2.0 * inner[0] - inner[1], 2.0 * inner[-1] - inner[-2]
    return np.concatenate([first[None], inner, last[None]])


def _weights(u: Array, n: int) -> tuple[np.ndarray, tuple[Array, Array, Array]]:
    """First of four coefficients, and the weights (..., 4) of value, slope and bend; straight outside."""
    inside = np.clip(u, 0.0, n - 1.0)
    i = np.minimum(np.nan_to_num(inside).astype(np.int64), n - 2)
    t, beyond = inside - i, u - inside
    value = [
        (1 - t) ** 3 / 6,
        (3 * t**3 - 6 * t**2 + 4) / 6,
        (-3 * t**3 + 3 * t**2 + 3 * t + 1) / 6,
        t**3 / 6,
    ]
    slope = [-((1 - t) ** 2) / 2, (3 * t**2 - 4 * t) / 2, (-3 * t**2 + 2 * t + 1) / 2, t**2 / 2]
    within = beyond == 0.0
    bend = [(1 - t) * within, (3 * t - 2) * within, (1 - 3 * t) * within, t * within]
    w, d, dd = (np.stack(some, axis=-1) for some in (value, slope, bend))
    return i, (w + d * beyond[..., None], d, dd)
