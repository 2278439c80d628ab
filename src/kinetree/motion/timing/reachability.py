"""Reachable speeds along a path: backward which can still stop, forward the fastest of them.

With u = d2s/dt2 constant between two places s_i, s_i+1 of the path, x = (ds/dt)^2 changes by 2 (s_i+1 - s_i)
u, and limits of torque, acceleration and speed are rows alpha u + beta x + gamma <= 0. The set of x from
which the end can be reached is an interval at every place; it is found by elimination of u, and the fastest
motion takes the largest u that stays in these sets (Pham and Pham, IEEE Transactions on Robotics 34, 2018).
The cost is in proportion to the number of places.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array

FLAT = 1e-11  # of the largest coefficient of a row: below, it counts as zero
SLACK = 1e-9  # of a limit: rounding of rows that are met exactly
CHUNK = 64  # places whose pairs of rows are looked at together


@dataclass(frozen=True, eq=False)
class ReachRows:
    """Limits between places: alpha u + beta x + gamma <= 0, (k, m) each, x at the place before.

    Every row is divided by its limit, so that gamma is of the size of 1. ``fastest`` (k + 1,) is the largest
    x at each place, ``widths`` (k,) are the distances of places.
    """

    alpha: Array
    beta: Array
    gamma: Array
    fastest: Array
    widths: Array


@dataclass(frozen=True, eq=False)
class Reached:
    """x (k + 1,) at the places, u (k,) between them, and the interval of x that limits leave, (k + 1, 2).

    Where there is no motion, ``stuck`` is the place, else -1.
    """

    x: Array
    u: Array
    allowed: Array
    stuck: int = -1


def reached(rows: ReachRows) -> Reached:
    """The fastest motion from rest to rest."""
    alone = _allowed_alone(rows)
    sets, stuck = _controllable(rows, alone)
    x, u = np.zeros(len(rows.fastest)), np.zeros(len(rows.widths))
    if stuck < 0 and sets[0, 0] > SLACK * max(1.0, sets[0, 1]):
        stuck = 0
    if stuck >= 0:
        return Reached(x, u, alone, stuck)
    for i, width in enumerate(rows.widths):
        low, high = _accelerations(rows, i, float(x[i]))
        high = min(high, (float(sets[i + 1, 1]) - float(x[i])) / (2.0 * width))
        u[i] = max(high, min(low, (float(sets[i + 1, 1]) - float(x[i])) / (2.0 * width)))
        x[i + 1] = min(max(x[i] + 2.0 * width * u[i], float(sets[i + 1, 0])), float(sets[i + 1, 1]))
        u[i] = (x[i + 1] - x[i]) / (2.0 * width)
        if x[i] <= 0.0 and x[i + 1] <= 0.0:
            return Reached(x, u, alone, i)
    return Reached(x, u, alone)


def _accelerations(rows: ReachRows, i: int, x: float) -> tuple[float, float]:
    """The interval of u at a known x."""
    alpha, rest = rows.alpha[i], -(rows.beta[i] * x + rows.gamma[i])
    up, down = alpha > FLAT * _size(rows, i), alpha < -FLAT * _size(rows, i)
    high = float((rest[up] / alpha[up]).min(initial=np.inf))
    low = float((rest[down] / alpha[down]).max(initial=-np.inf))
    return low, high


def _size(rows: ReachRows, i: int) -> float:
    return max(float(np.abs(rows.alpha[i]).max(initial=0.0)), 1e-300)


def _controllable(rows: ReachRows, alone: Array) -> tuple[Array, int]:
    """Intervals of x (k + 1, 2) from which the end can be reached at rest; the place where there is none."""
    count = len(rows.widths)
    sets = np.zeros((count + 1, 2))
    for i in range(count - 1, -1, -1):
        low, high = alone[i]
        twice = 2.0 * float(rows.widths[i])
        alpha, beta, gamma = rows.alpha[i], rows.beta[i], rows.gamma[i]
        size = FLAT * _size(rows, i)
        to_low, to_high = sets[i + 1]
        # x + 2 d u <= to_high with rows that bound u from below, x + 2 d u >= to_low with those from above
        for chosen, b, c in (
            (alpha < -size, beta * twice - alpha, gamma * twice + alpha * to_high),
            (alpha > size, twice * beta - alpha, twice * gamma + alpha * to_low),
        ):
            low, high = _narrowed(low, high, b[chosen], c[chosen])
        if low > high:
            if low - high > SLACK * max(1.0, abs(high)):
                return sets, i
            low = high
        sets[i] = max(low, 0.0), high
    return sets, -1


def _narrowed(low: float, high: float, b: Array, c: Array) -> tuple[float, float]:
    """An interval of x within which b x + c <= 0, too."""
    size = FLAT * (np.abs(b).max(initial=0.0) + 1e-300)
    above, below, flat = b > size, b < -size, np.abs(b) <= size
    high = min(high, float((-c[above] / b[above]).min(initial=np.inf)))
    low = max(low, float((-c[below] / b[below]).max(initial=-np.inf)))
    if flat.any() and float(c[flat].max()) > SLACK * max(1.0, float(np.abs(c).max())):
        return np.inf, -np.inf
    return low, high


def _allowed_alone(rows: ReachRows) -> Array:
    """Intervals of x (k + 1, 2) at which some u keeps all limits, by elimination of u from pairs of rows."""
    count = len(rows.widths)
    allowed = np.empty((count + 1, 2))
    allowed[:, 0], allowed[:, 1] = 0.0, rows.fastest
    for begin in range(0, count, CHUNK):
        part = slice(begin, min(begin + CHUNK, count))
        a, b, c = rows.alpha[part], rows.beta[part], rows.gamma[part]
        size = FLAT * np.maximum(np.abs(a).max(axis=1, keepdims=True, initial=0.0), 1e-300)
        pairs = (a > size)[:, :, None] & (a < -size)[:, None, :]
        slope = np.where(pairs, a[:, :, None] * b[:, None, :] - a[:, None, :] * b[:, :, None], 0.0)
        rest = np.where(pairs, a[:, :, None] * c[:, None, :] - a[:, None, :] * c[:, :, None], -1.0)
        flat = np.abs(a) <= size
        slope = np.concatenate([slope.reshape(len(a), -1), np.where(flat, b, 0.0)], axis=1)
        rest = np.concatenate([rest.reshape(len(a), -1), np.where(flat, c, -1.0)], axis=1)
        tiny = FLAT * np.abs(slope).max(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = -rest / slope
        high = np.where(slope > tiny, bound, np.inf).min(axis=1)
        low = np.where(slope < -tiny, bound, -np.inf).max(axis=1)
        large = np.abs(rest).max(axis=1, keepdims=True)
        hopeless = ((np.abs(slope) <= tiny) & (rest > SLACK * np.maximum(large, 1e-300))).any(axis=1)
        allowed[part, 0] = np.where(hopeless, np.inf, np.maximum(low, 0.0))
        allowed[part, 1] = np.where(hopeless, -np.inf, np.minimum(high, allowed[part, 1]))
    return allowed
