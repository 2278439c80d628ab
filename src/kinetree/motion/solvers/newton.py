"""The Newton system of a barrier problem: rows as compiled code wants them, and its factors."""

from __future__ import annotations

from math import sqrt

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.motion.compiled.condensed import (
    compiled,
    condense,
    curb,
    expand,
    expand_bounds,
    right_side,
)
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.motion.solvers.barrier import LARGEST_SHIFT, Barrier, Iterate, RowPlaces, Step
from kinetree.motion.solvers.null_space import NullSpace

LEAST_SHARE = 0.05  # of the second derivatives of torques that is worth keeping
BISECTIONS = 2
LEAST_SHIFT = 1e-6  # of a matrix that is not definite; the objective is of size 1


class BarrierRows(RowPlaces):
    """The rows of a barrier problem with the sorted entries of their Jacobian."""

    def __init__(self, program: NonlinearProgram, barrier: Barrier) -> None:
        super().__init__(program, barrier)
        places = program.sorted_entries
        self.order, self.columns, self.starts = places.order, places.columns, places.starts
        self.hessian_places = program.hessian_columns.astype(np.int64) * program.n + program.hessian_rows

    def dense_equations(self, values: Array, n: int) -> Array:
        """Rows of equations as a full matrix."""
        J = np.zeros((len(self.equal), n))
        for k, r in enumerate(self.equal):
            own = slice(self.starts[r], self.starts[r + 1])
            J[k, self.columns[own]] = values[own]
        return J


class Newton:
    """The Newton system of the barrier problem at an iterate, factored in the null space of the equations.

    H is shifted until it is definite there. Elsewhere it need not be: what a shift would have to make up for
    in the directions that the equations decide can be millions, with steps as small as rounding errors.
    ``values`` are the sorted entries of the Jacobian, ``dual`` is slope + J^T y.
    """

    def __init__(self, barrier: Barrier, rows: BarrierRows, at: Iterate, values: Array, dual: Array) -> None:
        self.barrier, self.rows, self.at, self.dual = barrier, rows, at, dual
        n, size = barrier.n, len(at.v)
        self.jacobian = (values, rows.starts, rows.columns)
        sigma, self.unit_slope, self.weight = np.empty(size), np.empty(size), np.empty(len(at.y))
        compiled(curb)(
            at.v, *rows.bounds, at.low, at.high, rows.slack, 0.0, sigma, self.unit_slope, self.weight
        )
        self.space = NullSpace(rows.dense_equations(values, n))
        hessian = barrier.program.hessian(at.v[:n], 1.0, at.y)
        H = np.zeros((n, n))
        compiled(condense)(*self.jacobian, self.weight, sigma, hessian, rows.hessian_places, H)
        self.good = bool(np.isfinite(H).all()) and self._factor(self.space.rotated(H.T), hessian)

    def _factor(self, H: Array, hessian: Array) -> bool:
        """Cholesky factor of H, of one whose torques bend less, or of H + shift: the first that exists."""
        if self.space.has_factor(H):
            self.barrier.share = 1.0
            return True
        if self.barrier.squares:
            change = np.zeros(H.shape)
            straight = self.barrier.program.straight_hessian(self.at.v[: len(H)], 1.0, self.at.y)
            change.ravel()[self.rows.hessian_places] = straight - hessian
            if self._straightened(H, change.T):
                return True
            H = H + change.T
        return self._shifted(H)

    def _straightened(self, H: Array, change: Array) -> bool:
        """Squares of torques need no second derivatives of these: keep as large a share as is definite."""
        barrier = self.barrier
        barrier.share = min(0.5, 2.0 * barrier.share)
        while barrier.share >= LEAST_SHARE:
            if self.space.has_factor(H + (1.0 - barrier.share) * change):
                return True
            barrier.share *= 0.5
        return self.space.has_factor(H + change)

    def _shifted(self, H: Array) -> bool:
        """H + shift; if time is fixed, with hardly more than it must be: saddles are left behind quickly.

        A free duration would grow along such steps, into valleys where motions are slow.
        """
        low, high = 0.0, max(LEAST_SHIFT, self.barrier.shift / 3.0)
        while not self.space.has_factor(H, high):
            low, high = high, 8.0 * high
            if high > LARGEST_SHIFT:
                return False
        timed = len(self.barrier.program.durations) > 0
        for _ in range(BISECTIONS if low and not timed else 0):
            middle = sqrt(low * high)
            if self.space.has_factor(H, middle):
                high = middle
            else:
                low = middle
        self.barrier.shift = high
        return True

    def step(self, c: Array, mu: float) -> Step:
        """The step that solves the linearized equations with residual c for a barrier mu."""
        at, rows, n = self.at, self.rows, self.barrier.n
        system = (*self.jacobian, rows.slack, self.weight, c, mu, self.unit_slope, at.y)
        right, dv, dy = np.empty(n), np.empty(len(at.v)), np.zeros(len(at.y))
        compiled(right_side)(*system, self.dual, right)
        dz, dy[rows.equal] = self.space.step(right, c[rows.equal])
        compiled(expand)(*system, dz, dv, dy)
        low, high = np.empty(len(at.low)), np.empty(len(at.high))
        compiled(expand_bounds)(at.v, dv, *rows.bounds, at.low, at.high, mu, low, high)
        return Step(dv, dy, low, high)
