"""Places s along a motion: equal steps in the segments of its splines, and Gauss points."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import CLOSE, BSplineBasis

GAUSS = 3  # quadrature points in each segment


def spread(bases: Sequence[BSplineBasis], per_segment: int) -> Array:
    """Equal steps in every segment of the splines, both ends included; both sides of a jump are sampled.

    Where knots of the motion, the first of the splines, repeat so that accelerations may jump, there is a
    sample just before the knot, too.
    """
    basis, breaks = bases[0], all_breaks(bases)
    a, b = breaks[:-1, None], breaks[1:, None]
    s = np.append((a + (b - a) * (np.arange(per_segment) / per_segment)).ravel(), 1.0)
    inner, counts = np.unique(basis.inner[1:-1], return_counts=True)
    jumps = inner[counts >= basis.degree - 1] if basis.degree > 1 else inner
    before = np.nextafter(jumps, 0.0)
    return np.sort(np.concatenate([s, before]))


def all_breaks(bases: Sequence[BSplineBasis]) -> Array:
    """Ends of all segments of several splines, from 0 to 1; those closer than rounding count once."""
    breaks = bases[0].breaks
    for basis in bases[1:]:
        apart = np.abs(basis.breaks[:, None] - breaks).min(axis=1) > CLOSE
        breaks = np.union1d(breaks, basis.breaks[apart])
    return breaks


@cache
def _gauss(points: int) -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(points)


def quadrature(bases: Sequence[BSplineBasis], points: int = GAUSS) -> tuple[Array, Array]:
    """Gauss points and weights in every segment of the splines."""
    x, w = _gauss(points)
    breaks = all_breaks(bases)
    a, h = breaks[:-1, None], np.diff(breaks)[:, None]
    return (a + h * (x + 1.0) / 2.0).ravel(), (h * w / 2.0).ravel()
