"""B-spline bases of any degree on [0, 1]: values and derivatives as banded matrices, knot insertion.

[Barman2020], section 4.1.1; [Xiang2009], section 5; de Boor, A Practical Guide to Splines (2001), chapters IX
to XI.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from kinetree.algebra.arrays import Array, finite, frozen, numbers
from kinetree.errors import InputError, must_be, shown

Integers = NDArray[np.int64]
HIGHEST_DEGREE = 9
MOST_SEGMENTS = 100_000
STEP = 1e-30  # of complex steps
CLOSE = 1e-12  # knots nearer than this are one knot


@dataclass(frozen=True, eq=False)
class BSplineBasis:
    """The functions B_i, i = 0 .. n_control - 1, of a degree over ascending ``knots``, for curves on [0, 1].

    At every s only degree + 1 neighbors differ from zero. A knot of multiplicity m leaves degree - m
    continuous derivatives there.

    >>> basis = BSplineBasis.uniform(segments=20)
    >>> basis.n_control
    23
    >>> basis.matrix([0.0, 0.5, 1.0]).shape
    (3, 23)
    """

    knots: Array
    degree: int

    def __post_init__(self) -> None:
        degree = _checked_degree(self.degree)
        knots = finite(numbers(self.knots, "knots"), "knots")
        if knots.ndim != 1 or len(knots) < 2 * degree + 2:
            raise InputError(
                f"a basis of degree {degree} needs at least {2 * degree + 2} knots, got shape {knots.shape}"
            )
        if (np.diff(knots) < 0).any():
            k = int(np.argmax(np.diff(knots) < 0))
            raise InputError(f"knots must ascend, got {knots[k]} before {knots[k + 1]}")
        if knots[degree] != 0.0 or knots[-degree - 1] != 1.0:
            raise InputError(
                f"curves live on [0, 1]: knots {degree} and {len(knots) - degree - 1} must be 0 and 1, "
                f"got {knots[degree]} and {knots[-degree - 1]}"
            )
        object.__setattr__(self, "knots", frozen(knots))

    @classmethod
    def uniform(cls, segments: int, degree: int = 3, *, clamped: bool = True) -> BSplineBasis:
        """Equal segments; clamped curves start and end in their first and last control point.

        >>> BSplineBasis.uniform(2, degree=1).knots.tolist()
        [0.0, 0.0, 0.5, 1.0, 1.0]
        >>> BSplineBasis.uniform(2, degree=1, clamped=False).knots.tolist()
        [-0.5, 0.0, 0.5, 1.0, 1.5]
        """
        if type(segments) is not int or not 1 <= segments <= MOST_SEGMENTS:
            raise InputError(must_be("segments", f"an integer from 1 to {MOST_SEGMENTS}", segments))
        return cls.on(np.arange(segments + 1) / segments, degree, clamped=clamped)

    @classmethod
    def on(cls, breaks: ArrayLike, degree: int = 3, *, clamped: bool = True) -> BSplineBasis:
        """The basis with the given breaks from 0 to 1; an interior break listed m times is an m-fold knot.

        Not clamped, the breaks are repeated beyond 0 and 1 with period 1.

        >>> BSplineBasis.on([0, 0.3, 0.3, 1], degree=2).n_control
        5
        >>> BSplineBasis.on([0, 0.25, 1], degree=2, clamped=False).knots.tolist()
        [-1.0, -0.75, 0.0, 0.25, 1.0, 1.25, 2.0]
        """
        degree = _checked_degree(degree)
        inner = finite(numbers(breaks, "breaks"), "breaks")
        if inner.ndim != 1 or len(inner) < 2 or inner[0] != 0.0 or inner[-1] != 1.0:
            raise InputError(f"breaks must ascend from 0 to 1, got {shown(breaks)}")
        if (np.diff(inner) < 0).any() or inner[1] == 0.0 or inner[-2] == 1.0:
            raise InputError(
                f"breaks must ascend from 0 to 1, with neither end repeated, got {shown(breaks)}"
            )
        _, counts = np.unique(inner, return_counts=True)
        if counts.max() > degree:
            raise InputError(
                f"a break may be listed at most {degree} times (the degree), got {shown(breaks)}"
            )
        before, after = np.zeros(degree), np.ones(degree)
        if not isinstance(clamped, bool):
            raise InputError(must_be("clamped", "True or False", clamped))
        if not clamped:
            count = len(inner) - 1  # of knots in each period
            before, after = (
                inner[k % count] + k // count
                for k in (np.arange(-degree, 0), count + np.arange(1, degree + 1))
            )
        return cls(np.concatenate([before, inner, after]), degree)

    @property
    def n_control(self) -> int:
        """Number of functions, and so of control points."""
        return len(self.knots) - self.degree - 1

    @property
    def inner(self) -> Array:
        """The knots from 0 to 1, repeated as often as they are there."""
        return self.knots[self.degree : len(self.knots) - self.degree]

    @cached_property
    def breaks(self) -> Array:
        """The different knots from 0 to 1: the ends of the segments."""
        inner = self.inner
        return frozen(inner[np.concatenate([[True], np.diff(inner) > 0.0])])

    @property
    def segments(self) -> int:
        """Number of segments."""
        return len(self.breaks) - 1

    @property
    def clamped(self) -> bool:
        """Whether the curve starts and ends in its first and last control point."""
        return bool(self.knots[0] == 0.0 and self.knots[-1] == 1.0)

    @cached_property
    def greville(self) -> Array:
        """Means of `degree` neighboring knots; as control points they give the straight line c(s) = s."""
        p, n = self.degree, self.n_control
        return frozen(np.mean([self.knots[k + 1 : k + 1 + n] for k in range(p)], axis=0))

    def local(self, s: ArrayLike, derivatives: int = 0) -> tuple[Integers, Array]:
        """First function that is not zero at each s, (m,), and the values and derivatives, (m, d + 1, p + 1).

        Row k of the second array are the k-th derivatives with respect to s of functions first .. first + p.
        At a knot the segment to the right counts, at s = 1 the last one.

        >>> first, values = BSplineBasis.uniform(4, degree=1).local([0.25, 0.3], derivatives=1)
        >>> first.tolist(), values[1].round(9).tolist()
        ([1, 1], [[0.8, 0.2], [-4.0, 4.0]])
        """
        s = finite(numbers(s, "s"), "s")
        if s.ndim != 1 or ((s < 0.0) | (s > 1.0)).any():
            raise InputError(must_be("s", "a vector of numbers from 0 to 1", s))
        if type(derivatives) is not int or derivatives < 0:
            raise InputError(must_be("derivatives", "an integer of at least 0", derivatives))
        p, t = self.degree, self.knots
        span = np.searchsorted(t, s, side="right") - 1
        span = np.minimum(span, int(np.searchsorted(t, 1.0, side="left")) - 1)
        values = _values(t, span, s, p, derivatives)
        return (span - p).astype(np.int64), values

    def knot_slopes(self, s: ArrayLike, derivatives: int = 0) -> tuple[Integers, Array]:
        """Derivatives of what `local` returns by the inner breaks, (m, d + 1, p + 1, segments - 1).

        At fixed s; a break that is listed several times moves as one. By complex steps through the recursion
        of Cox and de Boor, hence without error of a difference.

        >>> slopes = BSplineBasis.uniform(2, degree=1).knot_slopes([0.25])[1]  # s / break, 1 - s / break
        >>> slopes.round(12).ravel().tolist()
        [1.0, -1.0]
        """
        first, values = self.local(s, derivatives)
        span, p = first + self.degree, self.degree
        where = np.asarray(s, dtype=np.float64)
        found = np.zeros((*values.shape, self.segments - 1))
        for k, x in enumerate(self.breaks[1:-1]):
            moved = self.knots + STEP * 1j * (self.knots == x)
            found[..., k] = _values(moved, span, where, p, derivatives).imag / STEP
        return first, found

    def matrix(self, s: ArrayLike, derivative: int = 0) -> sparse.csr_array:
        """Sparse matrix (m, n_control) that takes control points to the curve, or a derivative of it, at s.

        >>> line = BSplineBasis.uniform(5)
        >>> (line.matrix([0.2, 0.9]) @ line.greville).round(12).tolist()
        [0.2, 0.9]
        """
        first, values = self.local(s, derivative)
        m, width = len(first), self.degree + 1
        columns = first[:, None] + np.arange(width)
        start = np.arange(0, m * width + 1, width)
        return sparse.csr_array(
            (values[:, derivative].ravel(), columns.ravel(), start), shape=(m, self.n_control)
        )

    def refined(self, new_knots: ArrayLike) -> tuple[BSplineBasis, sparse.csr_array]:
        """The basis with more knots, and the matrix that gives the same curve's new control points.

        Knot insertion one by one (Boehm 1980): exact, for any degree.

        >>> coarse = BSplineBasis.uniform(2)
        >>> fine, insert = coarse.refined([0.25, 0.75])
        >>> fine.n_control, insert.shape
        (7, (7, 5))
        """
        wanted = finite(numbers(new_knots, "new knots"), "new knots")
        if wanted.ndim != 1 or ((wanted <= 0.0) | (wanted >= 1.0)).any():
            raise InputError(f"new knots must lie between 0 and 1, got {shown(new_knots)}")
        p, t = self.degree, np.array(self.knots)
        insert = sparse.eye_array(self.n_control, format="csr")
        for x in np.sort(wanted):
            if np.count_nonzero(np.abs(t - x) < CLOSE) >= p:
                raise InputError(f"knot {x} would be repeated more than {p} times (the degree)")
            k = int(np.searchsorted(t, x, side="right")) - 1
            n = len(t) - p - 1
            i = np.arange(n + 1)
            alpha = np.where(i <= k - p, 1.0, 0.0)
            mixed = np.arange(k - p + 1, k + 1)
            alpha[mixed] = (x - t[mixed]) / (t[mixed + p] - t[mixed])
            one = sparse.diags_array([alpha[:n], (1.0 - alpha)[1:]], offsets=[0, -1], shape=(n + 1, n))
            insert = one.tocsr() @ insert
            t = np.insert(t, k + 1, x)
        return BSplineBasis(t, p), insert

    def fitted(self, s: Array, values: Array) -> Array:
        """Control points (n_control, k) of the curve nearest to values (m, k) at s (m,), by least squares."""
        B = self.matrix(s).toarray()
        return np.asarray(np.linalg.lstsq(B, values, rcond=None)[0], dtype=np.float64)


def _checked_degree(degree: object) -> int:
    if type(degree) is not int or not 1 <= degree <= HIGHEST_DEGREE:
        raise InputError(must_be("degree", f"an integer from 1 to {HIGHEST_DEGREE}", degree))
    return degree


def _values(t: Any, span: Integers, s: Array, p: int, derivatives: int) -> Any:
    """Values and derivatives of the functions that are not zero in the spans of s, (m, d + 1, p + 1)."""
    near = t[span + np.arange(1 - p, p + 1)[:, None]]  # the knots around each s, (2 p, m)
    values = np.zeros((len(s), derivatives + 1, p + 1), dtype=t.dtype)
    lower = [np.ones((1, len(s)), dtype=t.dtype)]  # values of degree 0, 1, .., each (degree + 1, m)
    for d in range(1, p + 1):
        lower.append(_raised(near[p - d : p + d], s, lower[-1]))
    for k in range(min(derivatives, p) + 1):
        row = lower[p - k]
        for d in range(p - k + 1, p + 1):
            row = _differentiated(near[p - d : p + d], row)
        values[:, k] = row.T
    return values


def _raised(near: Any, s: Array, lower: Any) -> Any:
    """Values of degree d, (d + 1, m), from those of degree d - 1: the recursion of Cox and de Boor.

    ``near`` (2 d, m) are the d knots before and behind each s.
    """
    d = len(lower)
    left, right = near[:d], near[d:]
    share = lower / (right - left)
    result = np.zeros((d + 1, len(s)), dtype=lower.dtype)
    result[:-1] = (right - s) * share
    result[1:] += (s - left) * share
    return result


def _differentiated(near: Any, row: Any) -> Any:
    """Derivative weights over functions of degree d, (d + 1, m), from weights over those of degree d - 1."""
    d = len(row)
    share = d * row / (near[d:] - near[:d])
    result = np.zeros((d + 1, row.shape[1]), dtype=row.dtype)
    result[:-1] = -share
    result[1:] += share
    return result
