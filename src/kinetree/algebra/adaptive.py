"""Piecewise polynomials through a function, on intervals as short as it needs, and those side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.errors import InputError

NODES = 8  # of each polynomial
EXACT = 1e-10  # error of the polynomials relative to the largest value
ROUNDING = 2e-11  # of coefficients relative to the largest value
SHORT = 1e-10  # share of the whole span on which a function that is not met jumps
MOST = 2000  # intervals
ROUNDS = 8  # until no jump is found any more
FIRST = 8  # intervals at the beginning, so that what lasts for a short time is seen
_X = (np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)[::-1] + 1.0) / 2.0  # inside (0, 1): ends may jump
_BETWEEN = np.concatenate([[_X[0] / 2.0], (_X[1:] + _X[:-1]) / 2.0, [(1.0 + _X[-1]) / 2.0]])
_POWERS = np.linalg.inv(np.vander(_X, increasing=True))


def fitted_pieces(function: Callable[[float], Array], duration: float, stated: str) -> PiecewisePolynomial:
    """Polynomials of degree 7 through a function of t that returns (n,), from 0 to a duration (s).

    Intervals are halved until the polynomial agrees between its nodes to 1e-10 of the largest value; jumps
    are found to 1e-10 of the duration. A change that begins and ends between two nodes is not seen: an
    eighth of the duration has 17 at first. ``stated`` names the function in complaints.

    >>> pulse = fitted_pieces(lambda t: np.array([float(0.3 < t < 0.5)]), 1.0, "pulse")
    >>> pulse.at([0.2, 0.4, 0.6])[:, 0].round(9).tolist()
    [0.0, 1.0, 0.0]
    >>> pulse.breaks[1:][np.diff(pulse.breaks) == 0.0].round(6).tolist()  # where it jumps
    [0.3, 0.5]
    """
    edges, fits = [0.0, duration], list[_Fit]()
    for _ in range(ROUNDS):
        found, fits = set[float](), []
        for begin, end in pairwise(edges):
            fit = _Fit(function, duration, stated)
            margin = min(2.0 * SHORT * duration, 0.25 * (end - begin))
            inner = begin + margin * (begin > 0.0), end - margin * (end < duration)
            found |= set(fit.jumps(np.linspace(*inner, FIRST + 1)))
            fits.append(fit)
        if not found:
            break
        edges = sorted({*edges, *found})
    breaks, pieces = list[float](), list[Array]()
    for begin, fit in zip(edges[:-1], fits, strict=True):
        rows = [_moved(c, begin - a) if k == 0 else c for k, (a, _, c) in enumerate(fit.pieces)]
        if breaks:  # an interval without length: a jump
            jump = np.zeros_like(rows[0])
            jump[0] = rows[0][0]
            breaks, pieces = [*breaks, begin], [*pieces, jump]
        breaks += [begin, *(a for a, _, _ in fit.pieces[1:])]
        pieces += rows
    return PiecewisePolynomial(np.array([*breaks, duration]), np.array(pieces))


def side_by_side(tables: Sequence[PiecewisePolynomial]) -> PiecewisePolynomial:
    """The values of several tables, one after the other, on the intervals of all of them.

    >>> lines = PiecewisePolynomial.linear([0.0, 2.0], [[0.0], [4.0]])
    >>> steps = PiecewisePolynomial.linear([1.0, 1.0, 3.0], [[0.0], [5.0], [5.0]])
    >>> side_by_side([lines, steps]).at([0.5, 1.0, 2.5]).tolist()
    [[1.0, 0.0], [2.0, 5.0], [4.0, 5.0]]
    """
    jumps = {t for x in tables for t in x.breaks[1:][np.diff(x.breaks) == 0.0].tolist()}
    times = sorted({t for x in tables for t in x.breaks.tolist()})
    breaks = [t for time in times for t in ((time, time) if time in jumps else (time,))]
    if len(breaks) == 1:
        breaks *= 2
    order = max(x.order for x in tables)
    rows = [[_piece(x, a, b, order) for x in tables] for a, b in pairwise(breaks)]
    if breaks[0] == breaks[1]:  # a jump at the beginning: before it values are those from the left
        rows[0] = [_piece(x, float(np.nextafter(breaks[0], -np.inf)), breaks[0], order) for x in tables]
    return PiecewisePolynomial(np.array(breaks), np.array([np.concatenate(x, axis=1) for x in rows]))


def _piece(table: PiecewisePolynomial, a: float, b: float, order: int) -> Array:
    """Coefficients (order, n) about a of a table between two times that it does not bend between."""
    found = np.zeros((order, table.n))
    inside = a < b and table.breaks[0] <= a and b <= table.breaks[-1]
    if inside:
        k = int(np.searchsorted(table.breaks, (a + b) / 2.0, side="right")) - 1
        found[: table.order] = _moved(table.coefficients[k], a - table.breaks[k])
    else:
        found[0] = table.at(a)
    return found


class _Fit:
    """Intervals of a function: (begin, end, coefficients (8, n))."""

    def __init__(self, function: Callable[[float], Array], duration: float, stated: str) -> None:
        self.function, self.duration, self.stated = function, duration, stated
        self.pieces: list[tuple[float, float, Array]] = []
        self.scale = 0.0

    def jumps(self, breaks: Array) -> list[float]:
        """Fit all intervals; where the function jumps."""
        waiting, found = [(float(a), float(b)) for a, b in pairwise(breaks)][::-1], list[float]()
        while waiting:
            a, b = waiting.pop()
            values, between = self._values(a, b, _X), self._values(a, b, _BETWEEN)
            self.scale = max(self.scale, float(np.abs(values).max()), float(np.abs(between).max()))
            scaled = _POWERS @ values
            off = float(np.abs(np.vander(_BETWEEN, NODES, increasing=True) @ scaled - between).max())
            if off > EXACT * self.scale:
                if b - a > SHORT * self.duration:
                    waiting += [((a + b) / 2.0, b), (a, (a + b) / 2.0)]
                    if len(self.pieces) + len(waiting) > MOST:
                        raise InputError(
                            f"{self.stated} varies too fast near t = {a:g} s for {MOST} "
                            "polynomials; give a table (times, wrenches)"
                        )
                    continue
                if not found or a - found[-1] > 2.0 * SHORT * self.duration:
                    found.append(b)
                else:
                    found[-1] = b
            scaled[np.abs(scaled) < ROUNDING * self.scale] = 0.0  # or else slopes of nothing look like kinks
            self.pieces.append((a, b, scaled / (b - a) ** np.arange(NODES)[:, None]))
        return found

    def _values(self, a: float, b: float, x: Array) -> Array:
        return np.array([self.function(float(t)) for t in a + (b - a) * x])


def _moved(c: Array, shift: float) -> Array:
    """Coefficients (order, n) about a place that lies so much further."""
    if shift == 0.0:
        return c
    moved = np.array(c)
    for k in range(len(c)):  # Horner: repeated synthetic division
        for j in range(len(c) - 2, k - 1, -1):
            moved[j] = moved[j] + shift * moved[j + 1]
    return moved
