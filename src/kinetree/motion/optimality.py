"""How nearly a motion is the best: the conditions of optimality, recomputed from the solver's multipliers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.motion.nonlinear import NonlinearProgram
from kinetree.motion.solvers.interface import Outcome, infeasibility

USUAL = 100.0  # multipliers of this mean size do not count as large
ENOUGH = 1e2  # times the tolerance of the search: what counts as solved
NOTHING = 1e-12  # what an objective counts as if it is less


class Optimality(NamedTuple):
    """Slope of the Lagrangian in the free directions, and what bounds off their multipliers cost.

    Both are relative to the objective where the search ended, whatever the solver scaled it by.
    ``stationarity`` is the largest entry of df/dz + J^T y - z_low + z_high, durations in units of themselves,
    divided by the mean multiplier if that is large (Waechter and Biegler 2006, eq. 5). ``gap`` is the sum of
    multiplier times distance over all bounds. ``violation`` is the largest of all constraints, scaled.
    """

    stationarity: float
    gap: float
    violation: float

    def holds(self, tolerance: float) -> bool:
        """Whether a search with this tolerance has reached the best motion."""
        return max(self) <= ENOUGH * tolerance


def optimality(program: NonlinearProgram, outcome: Outcome) -> Optimality:
    """The figures at the end of a search."""
    z, g = outcome.z, program.constraints(outcome.z)
    size = 1.0 / reference(program, outcome)
    y, low, high = (size / outcome.scale * x for x in (outcome.multipliers, *outcome.bound_multipliers))
    pull = program.jacobian(z) * y[program.jacobian_rows]
    slope = size / program.scale * program.gradient(z) - low + high
    slope += np.bincount(program.jacobian_columns, pull, program.n)
    slope[program.durations] *= z[program.durations]
    total = float(np.abs(y).sum() + np.abs(low).sum() + np.abs(high).sum())
    mean = total / max(1, len(y) + len(low) + len(high))
    gap = _products(np.maximum(y, 0.0), program.upper - g) + _products(np.maximum(-y, 0.0), g - program.lower)
    gap += _products(high, program.x_upper - z) + _products(low, z - program.x_lower)
    worst = float(np.abs(slope).max(initial=0.0)) / max(1.0, mean / USUAL)
    return Optimality(worst, gap, infeasibility(program, z, g))


def reference(program: NonlinearProgram, outcome: Outcome) -> float:
    """The objective where a search ended, or what is small for this problem if that is more."""
    return max(abs(program.objective(outcome.z)) / program.scale, outcome.least, NOTHING)


def _products(multipliers: Array, distances: Array) -> float:
    bounded = np.isfinite(distances)
    return float(np.abs(multipliers[bounded] * distances[bounded]).sum())
