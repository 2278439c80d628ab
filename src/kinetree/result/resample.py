"""A result at other times: the motion by polynomials through its samples, all else without overshoot."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers
from kinetree.algebra.piecewise import PiecewisePolynomial, quintic_coefficients
from kinetree.errors import InputError, must_be
from kinetree.result.labeled import Unlabeled
from kinetree.result.result import arrays_of, changed

if TYPE_CHECKING:
    from kinetree.result.result import Result

MOST = 10_000_000  # samples
MOTIONS = tuple((f"q{x}", f"qd{x}", f"qdd{x}") for x in ("", "_reference"))  # position and its derivatives
JOLT = 0.1  # of the change of velocity: accelerations that differ more from it are not those in between


def resampled(result: Result, times: ArrayLike) -> Result:
    """The result at times (k,) within its span; see :meth:`Result.at`."""
    if result.task == "sweep":
        raise InputError("a sweep has no common time; kt.sweeps.case_result gives the result of one case")
    coordinates, variables = arrays_of(result)
    own, t = coordinates["time"].values, _checked(times, coordinates["time"].values)
    # of instants that are there more than twice, the first and the last: values before and after jumps
    kept = np.ones(len(own), dtype=bool)
    kept[1:-1] = (np.diff(own)[1:] > 0.0) | (np.diff(own)[:-1] > 0.0)
    grid, rows = own[kept], {}
    for name, variable in variables.items():
        if "time" in variable.dims:
            values = np.moveaxis(np.asarray(variable.values), variable.dims.index("time"), 0)
            rows[name] = values[kept]
    new = {name: _between(grid, values, t) for name, values in rows.items()}
    for q, qd, qdd in MOTIONS:
        known = [rows[name] for name in (q, qd, qdd) if name in rows]
        if q in rows and qd in rows and len(grid) > 1 and np.isfinite(known).all():
            new |= dict(zip((q, qd, qdd), _motion(grid, rows[q], rows[qd], rows.get(qdd), t), strict=False))
    arrays = {
        name: x._replace(values=_frozen(np.moveaxis(new[name], 0, x.dims.index("time"))))
        if name in new
        else x
        for name, x in variables.items()
    }
    labels = coordinates | {"time": coordinates["time"]._replace(values=_frozen(t))}
    return changed(result, dataset=Unlabeled(labels, arrays))


def at_rate(result: Result, rate: float) -> Result:
    """The result at so many equally spaced times per second from its start, as far as it lasts.

    >>> import kinetree as kt
    >>> from kinetree.result.build import build_result
    >>> motion = {"time": [0, 0.35], "q": [[0, 0], [1, 2]], "qd": [[1, 2], [1, 2]]}
    >>> at_rate(build_result("simulate", kt.zoo.two_link(), motion), 10).time.values.round(2).tolist()
    [0.0, 0.1, 0.2, 0.3]
    """
    own = arrays_of(result)[0]["time"].values
    if not 0.0 < rate < np.inf:
        raise InputError(must_be("rate", "a number of samples per second above 0", rate, "g"))
    span = float(own[-1] - own[0])
    if span * rate > MOST:
        raise InputError(
            f"a rate of {rate:g} per second makes {span * rate:.3g} samples of {span:g} s, more than {MOST:,}"
        )
    steps = np.arange(math.floor(span * rate * (1.0 + 1e-12)) + 1)
    return resampled(result, own[0] + steps / rate)


def _checked(times: ArrayLike, own: Array) -> Array:
    """Times within those of a result, (k,)."""
    t = np.atleast_1d(finite(numbers(times, "times"), "times"))
    if t.ndim != 1 or not len(t):
        raise InputError(f"times must be a number or a vector, got shape {t.shape}")
    if (np.diff(t) < 0.0).any():
        k = int(np.argmax(np.diff(t) < 0.0))
        raise InputError(f"times must not decrease, got {t[k]:g} s and then {t[k + 1]:g} s at index {k + 1}")
    slack = 1e-12 * max(abs(own[0]), abs(own[-1]))
    if t[0] < own[0] - slack or t[-1] > own[-1] + slack:
        raise InputError(
            f"times must lie within those of the result, {own[0]:g} to {own[-1]:g} s, "
            f"got {t[0]:g} to {t[-1]:g} s"
        )
    return np.clip(t, own[0], own[-1])


def _motion(grid: Array, q: Array, qd: Array, qdd: Array | None, t: Array) -> list[Array]:
    """Position, velocity and, if given, acceleration at times t: polynomials of degree 5 through all three.

    Of degree 3 through the first two where accelerations are not given, or are those of an impact: no mean of
    them gives the change of velocity.
    """
    shape, flat = q.shape[1:], [x.reshape(len(grid), -1) for x in (q, qd)]
    (x0, v0), (x1, v1) = [x[:-1] for x in flat], [x[1:] for x in flat]
    width = np.diff(grid)
    h = np.where(width > 0.0, width, 1.0)[:, None]
    # the cubic polynomial has these accelerations at both ends
    bent = 6.0 * (x1 - x0) / h**2
    a0, a1 = bent - (4.0 * v0 + 2.0 * v1) / h, -bent + (2.0 * v0 + 4.0 * v1) / h
    smooth = np.zeros(x0.shape, dtype=bool)
    if qdd is not None:
        own = qdd.reshape(len(grid), -1)
        gained = 0.5 * h * (own[:-1] + own[1:])
        largest = np.abs(own[:-1]) + np.abs(own[1:])
        smooth = np.abs(v1 - v0 - gained) <= JOLT * h * largest + 1e-9 * np.abs(flat[1]).max(initial=0.0)
        a0, a1 = np.where(smooth, own[:-1], a0), np.where(smooth, own[1:], a1)
    table = PiecewisePolynomial(grid, quintic_coefficients(width, (x0, v0, a0), (x1, v1, a1)))
    found = [table.at(t, derivative=k).reshape(-1, *shape) for k in range(3)]
    if qdd is None:
        return found[:2]
    here = smooth[_interval(grid, t)].reshape(-1, *shape)
    return [*found[:2], np.where(here, found[2], _between(grid, qdd, t))]


def _between(grid: Array, values: Any, t: Array) -> Any:
    """Floats without overshoot, by lines next to what is missing; what is no float as it was before."""
    if values.dtype.kind != "f" or len(grid) == 1:
        return values[np.clip(np.searchsorted(grid, t, side="right") - 1, 0, len(grid) - 1)]
    flat = values.reshape(len(grid), -1)
    missing = np.isnan(flat).any(axis=0)
    found = _lines(grid, flat, t)
    if not missing.all():
        found[:, ~missing] = _monotone(grid, flat[:, ~missing], t)
    return found.reshape(-1, *values.shape[1:])


def _lines(grid: Array, values: Array, t: Array) -> Array:
    """Straight lines; a sample that is hit counts alone, also next to missing ones."""
    i = _interval(grid, t)
    width = grid[i + 1] - grid[i]
    w = np.divide(t - grid[i], width, out=np.ones(len(t)), where=width > 0.0)[:, None]
    found = np.where(w == 0.0, values[i], (1.0 - w) * values[i] + w * values[i + 1])
    return np.asarray(np.where(w == 1.0, values[i + 1], found))


def _monotone(grid: Array, values: Array, t: Array) -> Array:
    """Cubic polynomials without an extremum between samples, on each stretch between jumps."""
    from scipy.interpolate import PchipInterpolator

    found = np.empty((len(t), values.shape[1]))
    cuts = [0, *(np.flatnonzero(np.diff(grid) == 0.0) + 1), len(grid)]
    for begin, end in pairwise(cuts):
        here = (t >= grid[begin]) & (t <= grid[end - 1])  # at a jump the later stretch counts
        if end - begin == 1:
            found[here] = values[begin]
        elif here.any():
            found[here] = PchipInterpolator(grid[begin:end], values[begin:end])(t[here])
    return found


def _interval(grid: Array, t: Array) -> Any:
    """Index of the interval in which each time lies."""
    return np.clip(np.searchsorted(grid, t, side="right") - 1, 0, len(grid) - 2)


def _frozen(values: Any) -> Any:
    array = np.ascontiguousarray(values)
    array.setflags(write=False)
    return array
