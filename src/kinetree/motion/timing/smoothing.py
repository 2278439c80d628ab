"""Timings as polynomials: the fastest one, a moving average of it, and slower ones."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.motion.timing.search import times


def fastest_polynomial(s: Array, x: Array, u: Array) -> PiecewisePolynomial:
    """s(t) with constant u between the places: s_i + sqrt(x_i) dt + u_i dt^2 / 2."""
    t = times(x, np.diff(s))
    rows = np.stack([s[:-1], np.sqrt(np.maximum(x[:-1], 0.0)), 0.5 * u], axis=1)
    return PiecewisePolynomial(t, rows[:, :, None])


def averaged(timing: PiecewisePolynomial, window: float) -> PiecewisePolynomial:
    """The mean of s over the last ``window`` (s): (1 / w) times the integral of s from t - w to t.

    It begins and ends at rest as s does, takes the window longer, and its acceleration has no jumps.
    """
    t, c = timing.breaks, timing.coefficients[:, :, 0]
    breaks = np.union1d(t, t + window)
    breaks = breaks[np.append(True, np.diff(breaks) > 1e-12 * breaks[-1])]
    last = float(timing.at(t[-1])[0])
    area = np.concatenate([[0.0], np.cumsum(_integral(c, np.diff(t)))])

    def parts(at: Array) -> Array:
        """Integral of s from 0 on, s, its rate and its change, right of times (m,), (m, 4)."""
        k = np.clip(np.searchsorted(t, at, side="right") - 1, 0, len(c) - 1)
        d = at - t[k]
        inside = np.stack(
            [area[k] + _integral(c[k], d), c[k, 0] + d * (c[k, 1] + d * c[k, 2]),
             c[k, 1] + 2.0 * d * c[k, 2], 2.0 * c[k, 2]], axis=1,
        )  # fmt: skip
        none = np.zeros_like(at)
        after = np.stack([area[-1] + last * (at - t[-1]), none + last, none, none], axis=1)
        return np.where((at < 0.0)[:, None], 0.0, np.where((at >= t[-1])[:, None], after, inside))

    eps = 1e-13 * breaks[-1]
    left = breaks[:-1] + eps  # so that pieces on the right are taken
    found = (parts(left) - parts(left - window)) / window
    rows = found / np.array([1.0, 1.0, 2.0, 6.0])
    return PiecewisePolynomial(breaks, rows[:, :, None])


def _integral(c: Array, d: Array) -> Array:
    """Integrals of parabolas c (m, 3) from 0 to d (m,)."""
    area: Array = d * (c[:, 0] + d * (c[:, 1] / 2.0 + d * c[:, 2] / 3.0))
    return area


def slower(timing: PiecewisePolynomial, factor: float) -> PiecewisePolynomial:
    """The same with all times longer by a factor."""
    powers = factor ** -np.arange(timing.order, dtype=np.float64)
    return PiecewisePolynomial(timing.breaks * factor, timing.coefficients * powers[:, None])
