"""Bodies that might pass obstacles between two instants: where to look closer, by how fast they come nearer.

A distance d(s) that changes by at most L per unit of s cannot fall below (d_a + d_b - L h) / 2 between two
instants that are h apart. Where that is less than what is asked for, the interval is halved, until its ends
are so near that the bodies move by less than the ``resolution`` of the obstacle.
"""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.motion.problem.problem import Problem
from kinetree.motion.terms.contract import Distance, Rows

FASTER = 1.5  # times the speeds at both ends: what is allowed for between them
SLOWEST = 0.02  # of the fastest: the least that is allowed for
HALVINGS = 24  # of one interval
MOST = 200_000  # instants


def passing_instants(problem: Problem, rows: Rows, x: Array, s: Array) -> Array:
    """Instants s (m,), and those between them at which a distance must be looked at; ascending."""
    function, least = rows.function, float(np.min(rows.lower))
    if not isinstance(function, Distance):
        return s
    d, speed = _looked_at(problem, function, x, s)
    lowest = SLOWEST * float(speed.max(initial=0.0))
    for _ in range(HALVINGS):
        h = np.diff(s)
        way = FASTER * np.maximum(np.maximum(speed[:-1], speed[1:]), lowest) * h
        near = (0.5 * (d[:-1] + d[1:] - way) < least) & (way > function.resolution)
        if not near.any() or len(s) > MOST:
            return s
        middle = s[:-1][near] + 0.5 * h[near]
        more, faster = _looked_at(problem, function, x, middle)
        order = np.argsort(np.concatenate([s, middle]), kind="stable")
        s, d, speed = (np.concatenate(pair)[order] for pair in ((s, middle), (d, more), (speed, faster)))
    return s


def _looked_at(problem: Problem, function: Distance, x: Array, s: Array) -> tuple[Array, Array]:
    """Distances (m,) at instants s and the speeds at which they can change, by s."""
    at = problem.evaluation(s, x).everywhere
    return function.values(at)[:, 0], at.duration * function.speed(at)
