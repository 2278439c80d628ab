"""Functions of one coordinate with exact derivatives: laws by which joints and points of muscles follow it.

Whatever a function is made of, it is evaluated from one table: polynomials on pieces of the real line,
the first and the last of which have no end. So splines that go on straight beyond their knots, scaled
functions and functions of functions all are the same thing for algorithms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import factorial, perm
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinetree.algebra.arrays import Array, finite, frozen, number, numbers
from kinetree.errors import InputError, must_be

ENDS = ("cubic", "natural")
KINK = 1e-9  # relative jump of a slope that counts as one


@dataclass(frozen=True, eq=False)
class FunctionTable:
    """Several functions as polynomials on pieces, padded to the same number of pieces and coefficients.

    Function i is sum_j coefficients[i, k, j] (x - centers[i, k])^j on its piece k, the one between
    breaks[i, k - 1] and breaks[i, k]; at a break the right piece counts. ``breaks`` (functions, pieces -
    1) ascend, and infinite ones pad; ``centers`` (functions, pieces); ``coefficients`` (functions,
    pieces, order), lowest power first.
    """

    breaks: Array
    centers: Array
    coefficients: Array

    def at(self, x: Array, order: int = 0) -> Array:
        """The functions, or their derivatives of an order, (..., functions) at x (..., functions)."""
        k = self.pieces(x)
        rows = np.arange(len(self.centers))
        r, c = x - self.centers[rows, k], self.coefficients[rows, k]
        return horner(c, r, order)

    def all_at(self, x: Array, orders: int) -> tuple[Array, ...]:
        """The functions and their derivatives up to an order, each (..., functions)."""
        k = self.pieces(x)
        rows = np.arange(len(self.centers))
        r, c = x - self.centers[rows, k], self.coefficients[rows, k]
        return tuple(horner(c, r, order) for order in range(orders + 1))

    def pieces(self, x: Array) -> NDArray[np.int64]:
        """The piece of each function that x (..., functions) lies on."""
        return np.asarray((np.real(x)[..., None] >= self.breaks).sum(axis=-1), dtype=np.int64)

    @classmethod
    def stacked(cls, tables: Sequence[FunctionTable]) -> FunctionTable:
        """All functions of several tables in one."""
        pieces = max(t.centers.shape[1] for t in tables)
        order = max(t.coefficients.shape[2] for t in tables)
        count = sum(len(t.centers) for t in tables)
        breaks, centers = np.full((count, pieces - 1), np.inf), np.zeros((count, pieces))
        coefficients, i = np.zeros((count, pieces, order)), 0
        for t in tables:
            f, m, k = t.coefficients.shape
            breaks[i : i + f, : m - 1] = t.breaks
            centers[i : i + f, :m] = t.centers
            coefficients[i : i + f, :m, :k] = t.coefficients
            i += f
        return cls(frozen(breaks), frozen(centers), frozen(coefficients))


def horner(coefficients: Array, x: Array, order: int = 0) -> Array:
    """A derivative of sum_j coefficients[..., j] x^j."""
    value = np.zeros(np.broadcast_shapes(x.shape, coefficients.shape[:-1]))
    for j in range(coefficients.shape[-1] - 1, order - 1, -1):
        value = value * x + perm(j, order) * coefficients[..., j]
    return value


@runtime_checkable
class SmoothFunction(Protocol):
    """A function of one coordinate: `Polynomial`, `CubicSpline`, `PiecewiseLinear`, `Scaled`, `Composed`.

    >>> isinstance(Polynomial((0.0, 2.0)), SmoothFunction)
    True
    """

    @property
    def table(self) -> FunctionTable:
        """The function as the only one of a table."""

    def at(self, x: ArrayLike, order: int = 0) -> Array:
        """Its value, or its derivative of an order, (...) at x (...)."""


class _Tabulated:
    """What all functions share: values from their table."""

    table: Any

    def at(self, x: ArrayLike, order: int = 0) -> Array:
        """Its value, or its derivative of an order, (...) at x (...)."""
        if type(order) is not int or order < 0:
            raise InputError(must_be("order", "an integer of at least 0", order))
        at = finite(numbers(x, "x"), "x")
        return np.asarray(self.table.at(at[..., None], order)[..., 0])


@dataclass(frozen=True)
class Polynomial(_Tabulated):
    """sum_j coefficients[j] x^j, lowest power first; a constant has one coefficient, a line two.

    >>> cubic = Polynomial((1.0, 0.0, 0.0, 2.0))
    >>> [float(cubic.at(2.0, order)) for order in range(4)]
    [17.0, 24.0, 24.0, 12.0]
    """

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        given = _tuple(self.coefficients, "coefficients of a polynomial", least=1)
        object.__setattr__(self, "coefficients", given)

    @cached_property
    def table(self) -> FunctionTable:
        """One piece."""
        return FunctionTable(np.empty((1, 0)), frozen([[0.0]]), frozen([[self.coefficients]]))


@dataclass(frozen=True)
class CubicSpline(_Tabulated):
    """The cubic spline through points (x, y), straight beyond them.

    With "cubic" ``ends`` its third derivatives on the first and last interval are those of the cubics
    through the first and last four points (Forsythe, Malcolm and Moler, Computer Methods for Mathematical
    Computations, 1977, section 4.4), three points give a parabola; with "natural" ends its second
    derivatives vanish there.

    >>> spline = CubicSpline((0.0, 1.0, 2.0, 3.0), (0.0, 1.0, 8.0, 27.0))
    >>> float(spline.at(1.5)), float(spline.at(4.0))
    (3.375, 54.0)
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    ends: str = "cubic"

    def __post_init__(self) -> None:
        _check_points(self, "a cubic spline")
        if self.ends not in ENDS:
            raise InputError(must_be("ends of a cubic spline", f"one of {', '.join(ENDS)}", self.ends))

    @cached_property
    def table(self) -> FunctionTable:
        """A straight piece, the cubic ones, a straight piece."""
        x, y = np.array(self.x), np.array(self.y)
        h, s = np.diff(x), _sixths(x, y, self.ends)
        slope = np.diff(y) / h
        c1, c2, c3 = slope - h * (s[1:] + 2 * s[:-1]), 3 * s[:-1], np.diff(s) / h
        cubics = np.stack([y[:-1], c1, c2, c3], axis=1)
        end = c1[-1] + h[-1] * (2 * c2[-1] + 3 * h[-1] * c3[-1])
        return _with_straight_ends(x, y, cubics, float(c1[0]), float(end))


@dataclass(frozen=True)
class PiecewiseLinear(_Tabulated):
    """Straight lines through points (x, y), which go on beyond them; its slope jumps at the points.

    >>> line = PiecewiseLinear((0.0, 1.0, 2.0), (0.0, 1.0, 0.0))
    >>> line.at([0.5, 1.5, 3.0]).tolist(), line.at([0.5, 1.5], 1).tolist()
    ([0.5, 0.5, -1.0], [1.0, -1.0])
    """

    x: tuple[float, ...]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        _check_points(self, "a piecewise linear function")

    @cached_property
    def table(self) -> FunctionTable:
        """A piece for each line."""
        x, y = np.array(self.x), np.array(self.y)
        slope = np.diff(y) / np.diff(x)
        lines = np.stack([y[:-1], slope], axis=1)
        return FunctionTable(frozen(x[None, 1:-1]), frozen(x[None, :-1]), frozen(lines[None]))


@dataclass(frozen=True)
class Scaled(_Tabulated):
    """factor f(x).

    >>> float(Scaled(Polynomial((0.0, 1.0)), 3.0).at(2.0))
    6.0
    """

    function: SmoothFunction
    factor: float

    def __post_init__(self) -> None:
        _check_function(self.function, "the function that is scaled")
        object.__setattr__(self, "factor", number(self.factor, "the factor of a function"))

    @cached_property
    def table(self) -> FunctionTable:
        """The function's own with other coefficients."""
        of = self.function.table
        return FunctionTable(of.breaks, of.centers, frozen(self.factor * of.coefficients))


@dataclass(frozen=True)
class Composed(_Tabulated):
    """outer(inner(x)), exact: pieces end at breaks of the inner function and where it meets the outer's.

    >>> square = Polynomial((0.0, 0.0, 1.0))
    >>> float(Composed(square, Polynomial((1.0, 2.0))).at(3.0))
    49.0
    """

    outer: SmoothFunction
    inner: SmoothFunction

    def __post_init__(self) -> None:
        _check_function(self.outer, "the outer function")
        _check_function(self.inner, "the inner function")

    @cached_property
    def table(self) -> FunctionTable:
        """Polynomials of polynomials."""
        return _composed(self.outer.table, self.inner.table)


def constant(function: SmoothFunction) -> float | None:
    """The value of a function that has only one; otherwise nothing.

    >>> constant(Polynomial((2.0,))), constant(IDENTITY)
    (2.0, None)
    """
    table = function.table
    alike = not table.coefficients[..., 1:].any() and np.ptp(table.coefficients[..., 0]) == 0.0
    return float(table.coefficients[0, 0, 0]) if alike else None


def line(function: SmoothFunction) -> tuple[float, float] | None:
    """Slope and offset of a function that is one straight line; otherwise nothing.

    >>> line(Polynomial((0.5, -2.0))), line(Polynomial((0.0, 0.0, 1.0)))
    ((-2.0, 0.5), None)
    """
    table = function.table
    c = table.coefficients[0]
    if table.breaks.size or c[:, 2:].any():
        return None
    slope = float(c[0, 1]) if c.shape[1] > 1 else 0.0
    return slope, float(c[0, 0]) - slope * float(table.centers[0, 0])


def kinks(function: SmoothFunction) -> Array:
    """Where the slope of a function jumps.

    >>> kinks(PiecewiseLinear((0.0, 1.0, 2.0), (0.0, 1.0, 0.0))).tolist()
    [1.0]
    """
    table = function.table
    at = table.breaks[0]
    left, right = (
        horner(table.coefficients[0, k], at - table.centers[0, k], 1)
        for k in (slice(0, len(at)), slice(1, len(at) + 1))
    )
    size = np.maximum(np.abs(left), np.abs(right))
    return np.asarray(at[np.abs(left - right) > KINK * np.maximum(size, size.max(initial=0.0))])


def _tuple(values: Any, what: str, least: int) -> tuple[float, ...]:
    array = finite(numbers(values, what), what)
    if array.ndim != 1 or len(array) < least:
        raise InputError(must_be(what, f"at least {least} number{'s' * (least > 1)}", values))
    return tuple(array.tolist())


def _check_points(function: Any, what: str) -> None:
    """Two ascending x or more, and as many y."""
    x, y = (_tuple(getattr(function, k), f"{k} of {what}", least=2) for k in ("x", "y"))
    if len(x) != len(y):
        raise InputError(f"{what} needs as many y as x, got {len(x)} x and {len(y)} y")
    for a, b in pairwise(x):
        if b <= a:
            raise InputError(f"x of {what} must ascend, got {b:g} after {a:g}")
    object.__setattr__(function, "x", x)
    object.__setattr__(function, "y", y)


def _check_function(function: Any, what: str) -> None:
    if not isinstance(function, SmoothFunction):
        raise InputError(must_be(what, "a smooth function such as CubicSpline(x, y)", function))


def _sixths(x: Array, y: Array, ends: str) -> Array:
    """A sixth of the spline's second derivatives at its points."""
    n, h = len(x), np.diff(x)
    if n == 2:
        return np.zeros(2)
    A, b = np.zeros((n, n)), np.zeros(n)
    rows, slope = np.arange(1, n - 1), np.diff(y) / h
    A[rows, rows - 1], A[rows, rows], A[rows, rows + 1] = h[:-1], 2 * (h[:-1] + h[1:]), h[1:]
    b[1:-1] = np.diff(slope)
    if ends == "natural":
        A[0, 0] = A[-1, -1] = 1.0
    else:
        A[0, :2], A[-1, -2:] = (-h[0], h[0]), (h[-1], -h[-1])
        if n > 3:
            second = np.diff(slope) / (x[2:] - x[:-2])
            third = np.diff(second) / (x[3:] - x[:-3])
            b[0], b[-1] = h[0] ** 2 * third[0], -(h[-1] ** 2) * third[-1]
    return np.asarray(np.linalg.solve(A, b))


def _with_straight_ends(x: Array, y: Array, cubics: Array, first: float, last: float) -> FunctionTable:
    """Pieces between points x, and lines of given slopes before and after them."""
    ends = np.zeros((2, cubics.shape[1]))
    ends[0, :2], ends[1, :2] = (y[0], first), (y[-1], last)
    return FunctionTable(
        frozen(x[None]),
        frozen(np.concatenate([x[:1], x])[None]),
        frozen(np.concatenate([ends[:1], cubics, ends[1:]])[None]),
    )


def _composed(outer: FunctionTable, inner: FunctionTable) -> FunctionTable:
    """The table of outer(inner(x)), of one function each."""
    breaks = np.unique(np.concatenate([inner.breaks[0], _meetings(outer.breaks[0], inner)]))
    inside = 0.5 * (breaks[:-1] + breaks[1:])
    centers = np.concatenate([breaks[:1] - 1.0, inside, breaks[-1:] + 1.0]) if len(breaks) else np.zeros(1)
    order = (outer.coefficients.shape[2] - 1) * (inner.coefficients.shape[2] - 1) + 1
    table = np.zeros((len(centers), order))
    for k, center in enumerate(centers):
        at = np.array([center])
        i = int(inner.pieces(at)[0])
        p = _about(inner.coefficients[0, i], float(center - inner.centers[0, i]))
        j = int(outer.pieces(inner.at(at))[0])
        p[0] -= outer.centers[0, j]
        value = np.zeros(1)
        for c in outer.coefficients[0, j][::-1]:
            value = np.convolve(value, p)
            value[0] += c
        table[k] = value[:order]
    return FunctionTable(frozen(breaks[None]), frozen(centers[None]), frozen(table[None]))


def _about(coefficients: Array, shift: float) -> Array:
    """A polynomial in x as one in x - shift."""
    x = np.array(shift)
    return np.array([horner(coefficients, x, k) / factorial(k) for k in range(len(coefficients))])


def _meetings(values: Array, inner: FunctionTable) -> Array:
    """Where a function has one of the values, by the roots of its pieces."""
    found: list[float] = []
    ends = [-np.inf, *inner.breaks[0].tolist(), np.inf]
    for k, (center, c) in enumerate(zip(inner.centers[0], inner.coefficients[0], strict=True)):
        for value in values:
            p = c.copy()
            p[0] -= value
            p = np.trim_zeros(p, "b")
            if len(p) > 1:
                roots = np.polynomial.polynomial.polyroots(p)
                real = roots[np.abs(roots.imag) <= KINK * (1 + np.abs(roots.real))].real + center
                found += [float(r) for r in real if ends[k] < r < ends[k + 1]]
    return np.array(found)


IDENTITY = Polynomial((0.0, 1.0))
