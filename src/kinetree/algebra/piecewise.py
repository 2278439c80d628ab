"""Piecewise polynomials in time: the table from which a prescribed motion is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import comb, factorial

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, frozen, numbers
from kinetree.errors import InputError, must_be

SMOOTH = 2  # derivatives that must not jump where a table counts as smooth
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class PiecewisePolynomial:
    """Values x(t) (n,) from a polynomial on each of k intervals.

    x(t) = sum_j coefficients[i, j] (t - breaks[i])^j for breaks[i] <= t < breaks[i + 1]; the last interval
    includes its end. ``breaks`` (k + 1,) ascend; two equal ones express a jump, and at a jump the value is
    that from the right. ``coefficients`` (k, order, n), lowest power first. Outside its range x keeps the
    value at the end, and all derivatives are zero. Both arrays are float64, C-contiguous and read-only.

    >>> ramp = PiecewisePolynomial.linear([0.0, 1.0, 3.0], [[0.0], [2.0], [2.0]])
    >>> ramp.at([0.5, 1.0, 9.0])[:, 0].tolist()
    [1.0, 2.0, 2.0]
    >>> ramp.at(0.5, derivative=1).tolist()
    [2.0]
    """

    breaks: Array
    coefficients: Array

    def __post_init__(self) -> None:
        breaks = _breaks(self.breaks, "breaks")
        table = finite(numbers(self.coefficients, "coefficients"), "coefficients")
        if table.ndim != 3 or len(table) != len(breaks) - 1 or table.shape[1] < 1:
            raise InputError(
                f"coefficients must have shape ({len(breaks) - 1}, order, n), one polynomial for each of the "
                f"intervals between {len(breaks)} breaks, got shape {table.shape}"
            )
        object.__setattr__(self, "breaks", frozen(breaks))
        object.__setattr__(self, "coefficients", frozen(np.ascontiguousarray(table)))

    @property
    def n(self) -> int:
        """Number of values."""
        return int(self.coefficients.shape[2])

    @property
    def order(self) -> int:
        """Number of coefficients of each polynomial: its degree plus one."""
        return int(self.coefficients.shape[1])

    def at(self, t: ArrayLike, derivative: int = 0) -> Array:
        """The values, or one of their derivatives, (..., n) at times (...)."""
        if type(derivative) is not int or derivative < 0:
            raise InputError(must_be("derivative", "an integer of at least 0", derivative))
        time = finite(numbers(t, "time"), "time")
        i = np.clip(np.searchsorted(self.breaks, time, side="right") - 1, 0, len(self.breaks) - 2)
        first, last = self.breaks[0], self.breaks[-1]
        x = (np.clip(time, first, last) - self.breaks[i])[..., None]
        value = np.zeros((*time.shape, self.n))
        for j in range(self.order - 1, derivative - 1, -1):
            value = value * x + comb(j, derivative) * factorial(derivative) * self.coefficients[i, j]
        if derivative:
            value[(time < first) | (time > last)] = 0.0
        return value

    @property
    def kinks(self) -> Array:
        """Times where values or their first two derivatives jump, including the ends.

        >>> PiecewisePolynomial.linear([0.0, 1.0, 2.0, 3.0], [[0.0], [1.0], [2.0], [0.0]]).kinks.tolist()
        [0.0, 2.0, 3.0]
        """
        t, rough = self.breaks, np.zeros(len(self.breaks), dtype=bool)
        rough[[0, -1]] = True
        rough[:-1] |= np.diff(t) == 0.0
        for derivative in range(SMOOTH + 1):
            left, right = self._ends(derivative)
            scale = max(float(np.abs(left).max(initial=0.0)), float(np.abs(right).max(initial=0.0)))
            rough[1:-1] |= (np.abs(left[:-1] - right[1:]) > ROUNDING * scale).any(axis=1)
        return np.unique(t[rough])

    def _ends(self, derivative: int) -> tuple[Array, Array]:
        """A derivative at the right end and at the left end of every interval, both (k, n)."""
        c = self.coefficients
        for _ in range(derivative):
            c = c[:, 1:] * np.arange(1, c.shape[1])[:, None]
        width = np.diff(self.breaks)[:, None]
        end = np.zeros((len(c), self.n))
        for row in range(c.shape[1] - 1, -1, -1):
            end = end * width + c[:, row]
        return end, c[:, 0] if c.shape[1] else np.zeros_like(end)

    @classmethod
    def linear(cls, times: ArrayLike, values: ArrayLike) -> PiecewisePolynomial:
        """Straight lines through the values (k + 1, n) at times (k + 1,); equal times make a jump.

        >>> jump = PiecewisePolynomial.linear([0.0, 1.0, 1.0, 2.0], [[0.0], [1.0], [5.0], [5.0]])
        >>> jump.at([0.999, 1.0])[:, 0].round(3).tolist()
        [0.999, 5.0]
        """
        t, x = _samples(times, values, least=2)
        width = np.diff(t)[:, None]
        slope = np.divide(np.diff(x, axis=0), width, out=np.zeros_like(x[1:]), where=width > 0)
        start = np.where(width > 0, x[:-1], x[1:])
        start[0] = x[0]
        return cls(t, np.stack([start, slope], axis=1))

    @classmethod
    def hold(cls, times: ArrayLike, values: ArrayLike) -> PiecewisePolynomial:
        """Each of the values (k, n) holds from its time (k,) until the next; the last one from then on.

        >>> PiecewisePolynomial.hold([0.0, 1.0], [[3.0], [4.0]]).at([0.9, 1.0, 5.0])[:, 0].tolist()
        [3.0, 4.0, 4.0]
        """
        t, x = _samples(times, values, least=1)
        _no_jumps(t, "hold")
        return cls(np.append(t, t[-1]), x[:, None, :])

    @classmethod
    def cubic(cls, times: ArrayLike, values: ArrayLike) -> PiecewisePolynomial:
        """The cubic spline through the values (k + 1, n): two continuous derivatives, no knot at the ends.

        Equal times make a jump and start a new spline. Two values are joined by a line, three by a parabola.

        >>> t = np.linspace(0.0, 1.0, 5)
        >>> round(float(PiecewisePolynomial.cubic(t, t[:, None] ** 3).at(0.3)[0]), 12)
        0.027
        """
        from scipy.interpolate import CubicSpline

        t, x = _samples(times, values, least=2)
        pieces: list[Array] = []
        for part in _runs(t):
            if part.start > 0:  # the interval without length between two splines
                kept = x[0] if part.start == 1 else x[part.start]
                pieces.append(np.stack([kept, *np.zeros((3, len(kept)))])[None])
            if part.stop - part.start > 1:
                spline = CubicSpline(t[part], x[part])
                pieces.append(spline.c[::-1].transpose(1, 0, 2))
        return cls(t, np.concatenate(pieces))

    @classmethod
    def quintic(cls, times: ArrayLike, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> PiecewisePolynomial:
        """Polynomials of degree 5 through positions, velocities and accelerations (k + 1, n) at times.

        Equal times make a jump.

        >>> still = [[0.0], [0.0]]
        >>> PiecewisePolynomial.quintic([0.0, 2.0], [[0.0], [1.0]], still, still).at(1.0).tolist()
        [0.5]
        """
        t, x = _samples(times, q, least=2)
        v, a = (_like(x, values, what) for values, what in ((qd, "qd"), (qdd, "qdd")))
        return cls(t, quintic_coefficients(np.diff(t), (x[:-1], v[:-1], a[:-1]), (x[1:], v[1:], a[1:])))


def quintic_coefficients(
    width: Array, start: tuple[Array, Array, Array], end: tuple[Array, Array, Array]
) -> Array:
    """Coefficients (k, 6, n) from position, velocity, acceleration (k, n) at both ends of intervals (k,).

    On an interval without length the polynomial is the constant at its end, but for the first at its start.
    """
    empty = width <= 0
    h = np.where(empty, 1.0, width)[:, None]
    (x0, v0, a0), (x1, v1, a1) = start, end
    dx = x1 - x0 - (v0 + a0 * h / 2) * h  # what the end lacks when the start's motion goes on
    dv = (v1 - v0 - a0 * h) * h
    da = (a1 - a0) * h**2
    c3 = (10 * dx - 4 * dv + da / 2) / h**3
    c4 = (-15 * dx + 7 * dv - da) / h**4
    c5 = (6 * dx - 3 * dv + da / 2) / h**5
    table = np.stack([x0, v0, a0 / 2, c3, c4, c5], axis=1)
    if empty.any():
        table[empty] = 0.0
        table[empty, 0] = x1[empty]
        if empty[0]:
            table[0, 0] = x0[0]
    return table


def _breaks(values: ArrayLike, what: str) -> Array:
    t = finite(numbers(values, what), what)
    if t.ndim != 1 or len(t) < 2:
        raise InputError(f"{what} must be a vector of at least 2 times, got shape {t.shape}")
    return _ascending(t, what)


def _ascending(t: Array, what: str) -> Array:
    back = np.diff(t) < 0
    if back.any():
        k = int(np.argmax(back))
        raise InputError(f"{what} must ascend, got {t[k + 1]:g} after {t[k]:g} at index {k + 1}")
    thrice = (np.diff(t)[1:] == 0) & (np.diff(t)[:-1] == 0)
    if thrice.any():
        k = int(np.argmax(thrice))
        raise InputError(f"{what} may hold a time at most twice, got {t[k]:g} three times from index {k}")
    return t


def _samples(times: ArrayLike, values: ArrayLike, least: int) -> tuple[Array, Array]:
    """Checked times (k,) and values (k, n)."""
    t = finite(numbers(times, "times"), "times")
    if t.ndim != 1 or len(t) < least:
        raise InputError(f"times must be a vector of at least {least}, got shape {t.shape}")
    x = finite(numbers(values, "values"), "values")
    if x.ndim != 2 or len(x) != len(t):
        raise InputError(f"values must have shape ({len(t)}, n), a row for each time, got shape {x.shape}")
    return _ascending(t, "times"), x


def _like(x: Array, values: ArrayLike, what: str) -> Array:
    array = finite(numbers(values, what), what)
    if array.shape != x.shape:
        raise InputError(f"{what} must have the shape of the positions, {x.shape}, got shape {array.shape}")
    return array


def _no_jumps(t: Array, what: str) -> None:
    if (np.diff(t) == 0).any():
        k = int(np.argmax(np.diff(t) == 0))
        raise InputError(f"{what}: times must differ, got {t[k]:g} twice from index {k}")


def _runs(t: Array) -> Iterator[slice]:
    """The stretches between repeated times."""
    cuts = [0, *(np.flatnonzero(np.diff(t) == 0) + 1).tolist(), len(t)]
    for begin, end in pairwise(cuts):
        yield slice(begin, end)
