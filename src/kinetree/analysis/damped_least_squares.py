"""Damped least squares after Levenberg and Marquardt, with limits, for a batch of targets at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.targets import TargetProblems
from kinetree.model.tree import Integers

DAMPING = 0.1  # at the start, relative to the square of the residual
STUCK = 1e12  # damping at which an attempt is given up
STILL = 1e-14  # rad or m: no joint moves by more any longer
IDLE = 1e-14  # relative gain of a step at which an attempt is given up
SMALLEST = 1e-24  # damping that keeps a singular step finite


@dataclass(frozen=True, eq=False)
class Best:
    """The best positions so far (rows, n), the largest error there, and the iterations spent."""

    q: Array
    cost: Array
    size: Array
    iterations: Integers

    def improved(self, rows: Integers, other: Best) -> Best:
        """With some rows replaced where the other attempt came nearer."""
        q, cost, size = (x.copy() for x in (self.q, self.cost, self.size))
        iterations = self.iterations.copy()
        iterations[rows] += other.iterations
        better = other.cost < cost[rows]
        q[rows[better]] = other.q[better]
        cost[rows[better]], size[rows[better]] = other.cost[better], other.size[better]
        return Best(q, cost, size, iterations)


def attempt(problem: TargetProblems, start: Array, tolerance: float, max_iterations: int) -> Best:
    """Damped least squares from one start, all rows at once; a row stops when it is met or stuck."""
    weights = problem.weights
    q = start.copy()
    lacking = problem.residual(q)
    cost = ((weights * lacking) ** 2).sum(axis=1)
    size = largest_error(lacking)
    damping, growth = np.full(len(q), DAMPING), np.full(len(q), 2.0)
    iterations = np.zeros(len(q), dtype=np.int64)
    going = np.flatnonzero(size > tolerance)
    for _ in range(max_iterations):
        if not len(going):
            break
        iterations[going] += 1
        part = problem.rows(going)
        e = weights * lacking[going]
        step, gain = _step(part, q[going], e, weights, damping[going] * cost[going])
        tried = q[going] + step
        new = part.residual(tried)
        new_cost = ((weights * new) ** 2).sum(axis=1)
        better = new_cost < cost[going]
        with np.errstate(over="ignore"):  # a gain that is nearly zero: the ratio counts as large
            ratio = np.where(better, (cost[going] - new_cost) / np.maximum(gain, np.finfo(float).tiny), 0.0)
        shrink = np.maximum(1.0 - (2.0 * np.minimum(ratio, 1.0) - 1.0) ** 3, 1.0 / 3.0)
        damping[going] *= np.where(better, shrink, growth[going])
        growth[going] = np.where(better, 2.0, 2.0 * growth[going])
        idle = better & (cost[going] - new_cost <= IDLE * cost[going])
        kept = going[better]
        q[kept], lacking[kept], cost[kept] = tried[better], new[better], new_cost[better]
        size[kept] = largest_error(new[better])
        stuck = idle | (damping[going] > STUCK) | (np.abs(step).max(axis=1, initial=0.0) < STILL)
        going = going[(size[going] > tolerance) & ~stuck]
    return Best(q, cost, size, iterations)


def _step(problem: TargetProblems, q: Array, e: Array, weights: Array, damping: Array) -> tuple[Array, Array]:
    """The step (rows, n) that lessens |e - J dq|^2 + damping |dq|^2 within the limits, and what it promises.

    Joints at a limit that the slope would push beyond are held.
    """
    J = weights[:, None] * problem.slope(q)
    downhill = np.einsum("rmn,rm->rn", J, e)
    held = ((q >= problem.upper) & (downhill > 0)) | ((q <= problem.lower) & (downhill < 0))
    J = J * ~held[:, None, :]
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    filtered = s / (s**2 + damping[:, None] + SMALLEST) * np.einsum("rmk,rm->rk", U, e)
    free = q + np.einsum("rkn,rk->rn", Vt, filtered)
    step = np.where(problem.moves, np.clip(free, problem.lower, problem.upper), q) - q
    left = e - np.einsum("rmn,rn->rm", J, step)
    return step, (e**2).sum(axis=1) - (left**2).sum(axis=1)


def largest_error(lacking: Array) -> Array:
    """The largest distance or angle of each row, from residuals (rows, m)."""
    largest: Array = np.linalg.norm(lacking.reshape(len(lacking), lacking.shape[1] // 3, 3), axis=2).max(
        axis=1
    )
    return largest
