"""How nearly a motion is the best: the conditions of optimality, recomputed from the solver's multipliers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.motion.problem import Problem
from kinetree.motion.solvers.interface import Outcome

USUAL = 100.0  # multipliers of this mean size do not count as large


class Optimality(NamedTuple):
    """Slope of the Lagrangian in the free directions, scaled; and what bounds off their multipliers cost.

    ``stationarity`` is the largest entry of df/dz + J^T y - z_low + z_high, divided by the mean multiplier if
    that is large (Waechter and Biegler 2006, eq. 5). ``gap`` is the sum of multiplier times distance over all
    bounds, relative to the objective.
    """

    stationarity: float
    gap: float


def optimality(problem: Problem, outcome: Outcome) -> Optimality:
    """Both figures at the end of a search."""
    program, z, y = problem.program, outcome.z, outcome.multipliers
    size = outcome.scale / program.scale
    g = program.constraints(z)
    pull = program.jacobian(z) * y[program.jacobian_rows]
    low, high = outcome.bound_multipliers
    slope = size * program.gradient(z) + np.bincount(program.jacobian_columns, pull, program.n) - low + high
    total = float(np.abs(y).sum() + np.abs(low).sum() + np.abs(high).sum())
    mean = total / max(1, len(y) + len(low) + len(high))
    gap = _products(np.maximum(y, 0.0), program.upper - g) + _products(np.maximum(-y, 0.0), g - program.lower)
    gap += _products(high, program.x_upper - z) + _products(low, z - program.x_lower)
    objective = max(abs(size * program.objective(z)), 1e-12)
    worst = float(np.abs(slope).max(initial=0.0)) / max(1.0, mean / USUAL)
    return Optimality(worst, gap / objective)


def _products(multipliers: Array, distances: Array) -> float:
    bounded = np.isfinite(distances)
    return float(np.abs(multipliers[bounded] * distances[bounded]).sum())
