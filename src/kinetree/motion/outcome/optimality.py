"""How nearly a motion is the best: the conditions of optimality, recomputed from the solver's multipliers."""

from __future__ import annotations

from contextlib import nullcontext
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack, qr, solve_triangular

from kinetree.algebra.arrays import Array
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.motion.solvers.choice import LARGE
from kinetree.motion.solvers.interface import Outcome, infeasibility
from kinetree.motion.solvers.threads import one_thread

USUAL = 100.0  # multipliers of this mean size do not count as large
ENOUGH = 1e2  # times the tolerance of the search: what counts as solved
SLIGHT = 1e-6  # slopes below this are none, however steep the objective
PRICELESS = 1e-6  # multipliers below this fraction of the largest are none
FLAT = 1e-12  # curvatures below this fraction of the largest are rounding errors
SAFE = 1e-10  # squared pivots that differ by less than this are far from rounding errors
TINY = 1e-30
EPSILON = float(np.finfo(np.float64).eps)
NOTHING = 1e-12  # what an objective counts as if it is less


class Optimality(NamedTuple):
    """Slope of the Lagrangian in the free directions, and what bounds off their multipliers cost.

    Both are relative to the objective where the search ended, whatever the solver scaled it by.
    ``stationarity`` is the largest entry of df/dz + J^T y - z_low + z_high, durations in units of themselves,
    divided by the mean multiplier if that is large (Waechter and Biegler 2006, eq. 5); where the objective is
    so steep that this is not small, the square root of what one Newton step would gain, or the share by which
    it would change the multipliers. ``gap`` is the sum of multiplier times distance over all bounds,
    ``violation`` the largest of all constraints, scaled.
    """

    stationarity: float
    gap: float
    violation: float

    def holds(self, tolerance: float) -> bool:
        """Whether a search with this tolerance has reached the best motion."""
        return max(self) <= ENOUGH * tolerance


def optimality(program: NonlinearProgram, outcome: Outcome) -> Optimality:
    """The figures at the end of a search, for the objective with the price on roughness that it had."""
    before, program.smoothing = program.smoothing, outcome.smoothing
    try:
        return _optimality(program, outcome)
    finally:
        program.smoothing = before


def _optimality(program: NonlinearProgram, outcome: Outcome) -> Optimality:
    z, g = outcome.z, program.constraints(outcome.z)
    size = 1.0 / reference(program, outcome)
    y, low, high = (size / outcome.scale * x for x in (outcome.multipliers, *outcome.bound_multipliers))
    slope = size / program.scale * program.gradient(z) - low + high + program.transposed_times(z, y)
    total = float(np.abs(y).sum() + np.abs(low).sum() + np.abs(high).sum())
    mean = total / max(1, len(y) + len(low) + len(high))
    gap = _products(np.maximum(y, 0.0), program.upper - g) + _products(np.maximum(-y, 0.0), g - program.lower)
    gap += _products(high, program.x_upper - z) + _products(low, z - program.x_lower)
    units = np.ones(program.n)
    units[program.durations] = z[program.durations]
    worst = float(np.abs(units * slope).max(initial=0.0)) / max(1.0, mean / USUAL)
    if worst > SLIGHT:
        with one_thread() if program.n <= LARGE else nullcontext():
            worst = min(worst, _newton_step(program, z, slope, size, (y, low, high)))
    return Optimality(worst, gap, infeasibility(program, z, g))


def reference(program: NonlinearProgram, outcome: Outcome) -> float:
    """The objective where a search ended, or what is small for this problem if that is more."""
    return max(abs(program.objective(outcome.z)) / program.scale, outcome.least, NOTHING)


def _newton_step(
    program: NonlinearProgram, z: Array, slope: Array, size: float, multipliers: tuple[Array, Array, Array]
) -> float:
    """Square root of what a Newton step along the bounds with multipliers would gain, or change in these.

    Infinite if there is no such step.
    """
    y, low, high = multipliers
    largest = max(float(np.abs(x).max(initial=0.0)) for x in multipliers)
    free = np.flatnonzero(np.maximum(low, high) <= PRICELESS * largest)
    rows = np.flatnonzero((np.abs(y) > PRICELESS * largest) | (program.lower == program.upper))
    H = np.tril(program.whole_hessian(z, size / program.scale, y))
    H = H + np.tril(H, -1).T
    A, along, change = program.chosen_rows(z, rows)[:, free], np.eye(len(free)), 0.0
    if len(rows):
        along, across = _along(A, slope[free])
        change = float(np.abs(across).max(initial=0.0)) / max(largest, TINY)
    if not along.shape[1]:
        return change
    gain = _gain(along.T @ H[np.ix_(free, free)] @ along, along.T @ slope[free])
    return max(sqrt(gain), change)


def _gain(matrix: Array, slope: Array) -> float:
    """slope . matrix^-1 slope / 2; infinite where the matrix is not definite to more than rounding."""
    factor, failed = lapack.dpotrf(matrix, lower=1)
    sizes = np.diagonal(factor)
    if not failed and sizes.min() ** 2 > SAFE * sizes.max() ** 2:
        half = solve_triangular(factor, slope, lower=True)
        return 0.5 * float(half @ half)
    bent, directions = np.linalg.eigh(matrix)
    pushed = directions.T @ slope
    if bent[0] < -FLAT * bent[-1]:
        return np.inf
    return float(0.5 * (pushed**2 / np.maximum(bent, max(FLAT * bent[-1], TINY))).sum())


def _along(A: Array, slope: Array) -> tuple[Array, Array]:
    """Directions (n, k) along rows A (m, n), and multipliers of these rows that fit a slope (n,) best."""
    Q, R, _ = qr(A.T, pivoting=True)
    sizes = np.abs(np.diagonal(R))
    rank = int((sizes > max(A.shape) * EPSILON * sizes.max(initial=0.0)).sum())
    if rank < len(A):  # of the multipliers that do, the least
        least: Array = np.asarray(np.linalg.lstsq(A.T, slope, rcond=None)[0], dtype=np.float64)
        return Q[:, rank:], least
    return Q[:, rank:], solve_triangular(R[:rank], Q[:, :rank].T @ slope)


def _products(multipliers: Array, distances: Array) -> float:
    bounded = np.isfinite(distances)
    return float(np.abs(multipliers[bounded] * distances[bounded]).sum())
