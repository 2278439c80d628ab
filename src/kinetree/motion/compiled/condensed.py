"""Arithmetic of an interior-point method whose slacks are eliminated, compiled.

Unknowns and slacks are v = (z, s); bounds are v[a] > low and v[b] < high with multipliers ``pull`` and
``push``. Rows of the Jacobian are sparse: row r has the entries starts[r] ... starts[r + 1] - 1, its columns
ascend; slack[r] is the place of its slack in v, -1 for an equation. Nothing here allocates.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from math import log
from typing import Any


def room(v, dv, a, low, b, high, tau):
    """Largest step, at most 1, after which distances from bounds are at least (1 - tau) of what they were."""
    step = 1.0
    for k in range(a.shape[0]):
        change = dv[a[k]]
        if change < 0.0:
            step = min(step, tau * (v[a[k]] - low[k]) / -change)
    for k in range(b.shape[0]):
        change = dv[b[k]]
        if change > 0.0:
            step = min(step, tau * (high[k] - v[b[k]]) / change)
    return step


def room_of_multipliers(pull, d_pull, push, d_push, tau):
    """The same for multipliers, which stay positive."""
    step = 1.0
    for k in range(pull.shape[0]):
        if d_pull[k] < 0.0:
            step = min(step, tau * pull[k] / -d_pull[k])
    for k in range(push.shape[0]):
        if d_push[k] < 0.0:
            step = min(step, tau * push[k] / -d_push[k])
    return step


def logarithms(v, a, low, b, high, closest):
    """Sum of the logarithms of all distances; v is moved off bounds that rounding put it on."""
    for k in range(a.shape[0]):
        v[a[k]] += max(closest - (v[a[k]] - low[k]), 0.0)
    for k in range(b.shape[0]):
        v[b[k]] -= max(closest - (high[k] - v[b[k]]), 0.0)
    total = 0.0
    for k in range(a.shape[0]):
        total += log(v[a[k]] - low[k])
    for k in range(b.shape[0]):
        total += log(high[k] - v[b[k]])
    return total


def complementarity(v, a, low, b, high, pull, push):
    """Sum of distance times multiplier over all bounds."""
    total = 0.0
    for k in range(a.shape[0]):
        total += (v[a[k]] - low[k]) * pull[k]
    for k in range(b.shape[0]):
        total += (high[k] - v[b[k]]) * push[k]
    return total


def complementarity_after(v, dv, a, low, b, high, pull, d_pull, push, d_push, primal, dual):
    """The same after a step of length ``primal`` in v and ``dual`` in the multipliers."""
    total = 0.0
    for k in range(a.shape[0]):
        total += (v[a[k]] - low[k] + primal * dv[a[k]]) * (pull[k] + dual * d_pull[k])
    for k in range(b.shape[0]):
        total += (high[k] - v[b[k]] - primal * dv[b[k]]) * (push[k] + dual * d_push[k])
    return total


def least_complementarity(v, a, low, b, high, pull, push):
    """The least product of distance and multiplier over all bounds."""
    least = 1e300
    for k in range(a.shape[0]):
        least = min(least, (v[a[k]] - low[k]) * pull[k])
    for k in range(b.shape[0]):
        least = min(least, (high[k] - v[b[k]]) * push[k])
    return least


def residual(g, target, slack, v, c):
    """c = g - s, or g - target in equations; returns the sum of its magnitudes."""
    total = 0.0
    for r in range(g.shape[0]):
        c[r] = g[r] - (v[slack[r]] if slack[r] >= 0 else target[r])
        total += abs(c[r])
    return total


def settle(g, slack, v, lower, upper, mu, price):
    """Move slacks towards their rows as far as mu log(distance) - price |g - s| rises for sure.

    Where both bounds are far this is all the way: rows with room take up what nonlinearity leaves of them.
    """
    near = mu / price
    for r in range(g.shape[0]):
        k = slack[r]
        if k < 0:
            continue
        s, to = v[k], g[r]
        below, above = to - lower[k], upper[k] - to
        if below > 0.0 and above > 0.0 and abs(1.0 / below - 1.0 / above) * near <= 1.0:
            v[k] = to
        elif to > s:
            v[k] = max(s, min(to, upper[k] - near))
        else:
            v[k] = min(s, max(to, lower[k] + near))


def optimality(dual, y, c, slack, v, a, low, b, high, pull, push, mu, slope):
    """Scaled optimality error: dual, primal, complementarity; ``dual`` is of z, ``slope`` (of v) is room."""
    slope[:] = 0.0
    for i in range(dual.shape[0]):
        slope[i] = dual[i]
    primal, rows = 0.0, 0.0
    for r in range(y.shape[0]):
        if slack[r] >= 0:
            slope[slack[r]] = -y[r]
        primal, rows = max(primal, abs(c[r])), rows + abs(y[r])
    bounds, gap = 0.0, 0.0
    for k in range(a.shape[0]):
        slope[a[k]] -= pull[k]
        bounds += abs(pull[k])
        gap = max(gap, abs((v[a[k]] - low[k]) * pull[k] - mu))
    for k in range(b.shape[0]):
        slope[b[k]] += push[k]
        bounds += abs(push[k])
        gap = max(gap, abs((high[k] - v[b[k]]) * push[k] - mu))
    worst = 0.0
    for i in range(slope.shape[0]):
        worst = max(worst, abs(slope[i]))
    count = a.shape[0] + b.shape[0]
    for_dual = max(100.0, (rows + bounds) / max(1, y.shape[0] + count)) / 100.0
    for_gap = max(100.0, bounds / max(1, count)) / 100.0
    return max(worst / for_dual, primal, gap / for_gap)


def times(values, starts, columns, d, out):
    """out = J d."""
    for r in range(out.shape[0]):
        total = 0.0
        for p in range(starts[r], starts[r + 1]):
            total += values[p] * d[columns[p]]
        out[r] = total


def add_squares(values, starts, columns, weight, H):
    """Add J^T weight J to the upper triangle of H."""
    for r in range(weight.shape[0]):
        if weight[r] != 0.0:
            for p in range(starts[r], starts[r + 1]):
                x, i = weight[r] * values[p], columns[p]
                for q in range(p, starts[r + 1]):
                    H[i, columns[q]] += x * values[q]


def transposed_times(values, starts, columns, y, out):
    """Add J^T y to out."""
    for r in range(y.shape[0]):
        for p in range(starts[r], starts[r + 1]):
            out[columns[p]] += values[p] * y[r]


def curb(v, a, low, b, high, pull, push, slack, equal, sigma, unit, weight):
    """sigma = multiplier / distance and the barrier's slope for mu = 1, (of v); weights of the rows."""
    sigma[:] = 0.0
    unit[:] = 0.0
    for k in range(a.shape[0]):
        d = 1.0 / (v[a[k]] - low[k])
        sigma[a[k]] += pull[k] * d
        unit[a[k]] -= d
    for k in range(b.shape[0]):
        d = 1.0 / (high[k] - v[b[k]])
        sigma[b[k]] += push[k] * d
        unit[b[k]] += d
    for r in range(slack.shape[0]):
        weight[r] = sigma[slack[r]] if slack[r] >= 0 else equal


def condense(values, starts, columns, weight, sigma, hessian, places, H):
    """Add W + Sigma_z + J^T weight J to the upper triangle of H; W's entries have ``places`` in H."""
    n = H.shape[0]
    for e in range(places.shape[0]):
        H[places[e] // n, places[e] % n] += hessian[e]
    for i in range(n):
        H[i, i] += sigma[i]
    for r in range(weight.shape[0]):
        for p in range(starts[r], starts[r + 1]):
            x, i = weight[r] * values[p], columns[p]
            for q in range(p, starts[r + 1]):
                H[i, columns[q]] += x * values[q]


def right_side(values, starts, columns, slack, weight, c, mu, unit, y, dual, right):
    """The right-hand side of the condensed system for residuals c and barrier mu."""
    for i in range(dual.shape[0]):
        right[i] = -dual[i] - mu * unit[i]
    for r in range(c.shape[0]):
        t = weight[r] * c[r]
        if slack[r] >= 0:
            t += mu * unit[slack[r]] - y[r]
        for p in range(starts[r], starts[r + 1]):
            right[columns[p]] -= values[p] * t


def expand(values, starts, columns, slack, weight, c, mu, unit, y, dz, dv, dy):
    """Steps of slacks and multipliers that follow from dz; equations keep the dy they have."""
    for i in range(dz.shape[0]):
        dv[i] = dz[i]
    for r in range(c.shape[0]):
        if slack[r] >= 0:
            ds = c[r]
            for p in range(starts[r], starts[r + 1]):
                ds += values[p] * dz[columns[p]]
            dv[slack[r]] = ds
            dy[r] = weight[r] * ds + mu * unit[slack[r]] - y[r]


def expand_bounds(v, dv, a, low, b, high, pull, push, mu, d_pull, d_push):
    """Steps of the multipliers of bounds."""
    for k in range(a.shape[0]):
        d_pull[k] = (mu - pull[k] * dv[a[k]]) / (v[a[k]] - low[k]) - pull[k]
    for k in range(b.shape[0]):
        d_push[k] = (mu + push[k] * dv[b[k]]) / (high[k] - v[b[k]]) - push[k]


def take(v, a, low, b, high, pull, push, d_pull, d_push, dual, mu, trust, new_pull, new_push):
    """Multipliers of bounds after a step, kept near mu / distance."""
    for k in range(a.shape[0]):
        near = mu / (v[a[k]] - low[k])
        new_pull[k] = min(max(pull[k] + dual * d_pull[k], near / trust), trust * near)
    for k in range(b.shape[0]):
        near = mu / (high[k] - v[b[k]])
        new_push[k] = min(max(push[k] + dual * d_push[k], near / trust), trust * near)


SIGNATURES: dict[Callable[..., Any], str] = {  # v: numbers, i: integers, m: matrix, f: a number
    room: "vvivivf",
    room_of_multipliers: "vvvvf",
    logarithms: "vivivf",
    complementarity: "vivivvv",
    least_complementarity: "vivivvv",
    complementarity_after: "vvivivvvvvff",
    residual: "vvivv",
    settle: "vivvvff",
    optimality: "vvvivivivvvfv",
    transposed_times: "viivv",
    times: "viivv",
    add_squares: "viivm",
    curb: "vivivvvifvvv",
    condense: "viivvvim",
    right_side: "viiivvfvvvv",
    expand: "viiivvfvvvvv",
    expand_bounds: "vvivivvvfvv",
    take: "vivivvvvvfffvv",
}


USUAL = (
    residual, transposed_times, optimality, complementarity, curb, condense, right_side, expand,
    expand_bounds, room, room_of_multipliers, complementarity_after, logarithms, take,
)  # what the first iteration of most searches needs  # fmt: skip


@functools.cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Machine code of one of the functions above."""
    from kinetree.engine.door import FLOAT, INTEGER, array_type, compiled_function

    kinds = {
        "v": array_type(FLOAT, 1),
        "i": array_type(INTEGER, 1),
        "m": array_type(FLOAT, 2),
        "f": FLOAT,
    }
    signature = [kinds[letter] for letter in SIGNATURES[function]]
    return compiled_function(function, signature, f"condensed-{function.__name__}")
