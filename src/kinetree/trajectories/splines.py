"""B-splines of any degree, from control points or through given points."""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers, positive
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.errors import InputError, must_be
from kinetree.trajectories.polynomials import PolynomialTrajectory


def bspline(
    control_points: ArrayLike, duration: float, *, degree: int = 3, knots: ArrayLike | None = None
) -> PolynomialTrajectory:
    """q(t) = sum_i N_i(t) P_i with control points P (m, n) and B-splines N_i of the degree.

    Without ``knots`` they are equally spaced and clamped: the motion begins at the first control point and
    ends at the last. Given knots (m + degree + 1,) need only their proportions right: the span
    knots[degree] to knots[m] becomes 0 to the duration (s).

    >>> bspline([[0.0], [0.0], [1.0], [1.0]], 2.0).at([0.0, 1.0, 2.0]).q[:, 0].tolist()
    [0.0, 0.5, 1.0]
    """
    from scipy.interpolate import BSpline

    T = positive(duration, "duration", "s")
    P = _rows(control_points, "control_points")
    k = _degree(degree, len(P), "control points")
    if knots is None:
        inner = np.linspace(0.0, T, len(P) - k + 1)
        t = np.concatenate([np.zeros(k), inner, np.full(k, T)])
    else:
        t = _knots(knots, len(P), k, T)
    return PolynomialTrajectory(_polynomials(BSpline(t, P, k), t[k : len(P) + 1]))


def interpolate(times: ArrayLike, points: ArrayLike, *, degree: int = 3) -> PolynomialTrajectory:
    """The B-spline of odd or even degree through points (m, n) at times (m,) that begin at 0.

    It has degree - 1 continuous derivatives.

    >>> t = np.linspace(0.0, 1.0, 7)
    >>> float(interpolate(t, t[:, None] ** 5, degree=5).at(0.3).q[0].round(12)) == round(0.3**5, 12)
    True
    """
    from scipy.interpolate import make_interp_spline

    x = _rows(points, "points")
    t = finite(numbers(times, "times"), "times")
    if t.shape != (len(x),):
        raise InputError(must_be("times", f"a vector with one time for each of {len(x)} points", t.shape, ""))
    if (np.diff(t) <= 0).any():
        k = int(np.argmax(np.diff(t) <= 0))
        raise InputError(f"times must ascend, got {t[k + 1]:g} after {t[k]:g} at index {k + 1}")
    spline = make_interp_spline(t, x, _degree(degree, len(x), "points"))
    return PolynomialTrajectory(_polynomials(spline, spline.t[spline.k : len(x) + 1]))


def _polynomials(spline: Any, knots: Array) -> PiecewisePolynomial:
    """Power basis about each knot, by the spline's derivatives there."""
    breaks = np.unique(knots)
    terms = [spline.derivative(j)(breaks[:-1]) / factorial(j) for j in range(spline.k + 1)]
    return PiecewisePolynomial(breaks, np.stack(terms, axis=1))


def _rows(values: ArrayLike, what: str) -> Array:
    x = finite(numbers(values, what), what)
    if x.ndim != 2 or len(x) < 2:
        raise InputError(f"{what} must have shape (m, n) with m of at least 2, got shape {x.shape}")
    return x


def _degree(degree: int, count: int, what: str) -> int:
    if type(degree) is not int or not 1 <= degree < count:
        raise InputError(must_be("degree", f"an integer from 1 to {count - 1} for {count} {what}", degree))
    return degree


def _knots(values: ArrayLike, count: int, k: int, T: float) -> Array:
    t = finite(numbers(values, "knots"), "knots")
    if t.shape != (count + k + 1,):
        raise InputError(
            f"{count} control points of degree {k} need {count + k + 1} knots, got shape {t.shape}"
        )
    if (np.diff(t) < 0).any() or t[k] >= t[count]:
        raise InputError(f"knots must ascend from knot {k} to knot {count}, got {t.tolist()}")
    scaled: Array = (t - t[k]) * (T / (t[count] - t[k]))
    return scaled
