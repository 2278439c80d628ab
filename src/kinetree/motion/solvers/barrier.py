"""The barrier problem of an interior-point method, and its Newton steps by dense Cholesky factors.

Inequalities get slacks s, g(z) - s = 0 with lower < s < upper, so v = (z, s) has simple bounds and
f(z) - mu sum log(distance to the bounds) is minimised subject to c(v) = 0. Eliminating the slacks leaves
H = W + Sigma_z + J^T Sigma_s J of the size of z: motions have few unknowns and many samples.
Notation of Waechter and Biegler, Mathematical Programming 106 (2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

from kinetree.algebra.arrays import Array
from kinetree.motion.program import Program

PUSH = 1e-2  # how far inside its bounds an unknown starts, relatively
AUGMENTED = 1e2  # weight of equations in the factored matrix: leaves the step as it is
LARGEST_SHIFT = 1e12
TRUST = 1e10  # multipliers of bounds stay within this factor of mu / distance


@dataclass(eq=False)
class Iterate:
    """Unknowns and slacks v, multipliers y of the rows, and those of lower and upper bounds."""

    v: Array
    y: Array
    low: Array
    high: Array


@dataclass(eq=False)
class Step:
    """A Newton step of an iterate."""

    v: Array
    y: Array
    low: Array
    high: Array


class Barrier:
    """Sizes, bounds and derivatives of a program in the form that the method wants."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.n = program.n
        self.target = np.where(program.lower == program.upper, program.lower, 0.0)
        self.equal = np.flatnonzero(program.lower == program.upper)
        self.open: Any = np.flatnonzero(program.lower != program.upper) if len(self.equal) else slice(None)
        self.jacobian_places = program.jacobian_rows.astype(np.int64) * self.n + program.jacobian_columns
        self.hessian_places = program.hessian_rows.astype(np.int64) * self.n + program.hessian_columns
        lower = np.concatenate([program.x_lower, program.lower[self.open]])
        upper = np.concatenate([program.x_upper, program.upper[self.open]])
        self.bounded_low, self.bounded_high = (np.flatnonzero(np.isfinite(x)) for x in (lower, upper))
        self.lower, self.upper = lower, upper
        self.low, self.high = lower[self.bounded_low], upper[self.bounded_high]
        self.n_bounds = len(self.low) + len(self.high)
        size = max(np.abs(self.low).max(initial=1.0), np.abs(self.high).max(initial=1.0))
        self.closest = 10.0 * np.finfo(float).eps * float(size)
        self.shift = 0.0  # of the last factorisation

    def inside(self, v: Array, push: float = PUSH) -> Array:
        """The nearest point that keeps a distance from all bounds."""
        width = self.upper - self.lower
        low, high = self.lower.copy(), self.upper.copy()
        a, b = self.bounded_low, self.bounded_high
        low[a] += push * np.minimum(np.maximum(1.0, np.abs(low[a])), width[a])
        high[b] -= push * np.minimum(np.maximum(1.0, np.abs(high[b])), width[b])
        inner: Array = np.minimum(np.maximum(v, low), high)
        return inner

    def nudged(self, v: Array) -> Array:
        """The same point, but off the bounds that rounding put it on."""
        d_low, d_high = self.distances(v)
        if min(d_low.min(initial=1.0), d_high.min(initial=1.0)) > self.closest:
            return v
        v = v.copy()
        v[self.bounded_low] += np.maximum(self.closest - d_low, 0.0)
        v[self.bounded_high] -= np.maximum(self.closest - d_high, 0.0)
        return v

    def with_slacks(self, z: Array, g: Array, push: float = PUSH) -> Array:
        """Unknowns and the slacks that fit their constraints best."""
        return self.inside(np.concatenate([z, g[self.open]]), push)

    def distances(self, v: Array) -> tuple[Array, Array]:
        """From the lower and from the upper bounds."""
        return v[self.bounded_low] - self.low, self.high - v[self.bounded_high]

    def residual(self, v: Array, g: Array) -> Array:
        """c(v), one number per row of the program."""
        c: Array = g - self.target
        c[self.open] -= v[self.n :]
        return c

    def merit(self, v: Array, f: float, mu: float) -> float:
        """The barrier function."""
        d_low, d_high = self.distances(v)
        return f - mu * float(np.log(d_low).sum() + np.log(d_high).sum())

    def barrier_slope(self, v: Array, mu: float) -> Array:
        """Gradient of the logarithms' part."""
        d_low, d_high = self.distances(v)
        slope = np.zeros(len(v))
        slope[self.bounded_low] -= mu / d_low
        slope[self.bounded_high] += mu / d_high
        return slope

    def jacobian(self, z: Array) -> Array:
        """dg/dz as a full matrix."""
        program = self.program
        J = np.zeros(program.m * self.n)
        J[self.jacobian_places] = program.jacobian(z)
        return J.reshape(program.m, self.n)

    def hessian(self, z: Array, y: Array) -> Array:
        """Hessian of the Lagrangian; the lower triangle of a full matrix."""
        program = self.program
        W = np.zeros(self.n * self.n)
        W[self.hessian_places] = program.hessian(z, 1.0, y)
        return W.reshape(self.n, self.n)

    def complementarity(self, at: Iterate) -> float:
        """Mean of distance times multiplier over all bounds."""
        d_low, d_high = self.distances(at.v)
        return float(d_low @ at.low + d_high @ at.high) / max(1, self.n_bounds)

    def error(self, at: Iterate, slope: Array, J: Array, c: Array, mu: float) -> float:
        """Scaled optimality error E_mu: dual, primal, complementarity."""
        dual = np.zeros(len(at.v))
        dual[: self.n] = slope + J.T @ at.y
        dual[self.n :] = -at.y[self.open]
        dual[self.bounded_low] -= at.low
        dual[self.bounded_high] += at.high
        d_low, d_high = self.distances(at.v)
        count = len(at.low) + len(at.high)
        bounds = np.abs(at.low).sum() + np.abs(at.high).sum()
        s_d = max(100.0, (np.abs(at.y).sum() + bounds) / max(1, len(at.y) + count)) / 100.0
        s_c = max(100.0, bounds / max(1, count)) / 100.0
        gap = max(
            np.abs(d_low * at.low - mu).max(initial=0.0), np.abs(d_high * at.high - mu).max(initial=0.0)
        )
        return float(max(np.abs(dual).max(initial=0.0) / s_d, np.abs(c).max(initial=0.0), gap / s_c))


class Newton:
    """The Newton system of the barrier problem at an iterate, factored; H shifted until it is definite."""

    def __init__(self, barrier: Barrier, at: Iterate, slope: Array, J: Array) -> None:
        self.barrier, self.at = barrier, at
        n = barrier.n
        self.d_low, self.d_high = barrier.distances(at.v)
        sigma = np.zeros(len(at.v))
        sigma[barrier.bounded_low] += at.low / self.d_low
        sigma[barrier.bounded_high] += at.high / self.d_high
        self.sigma = sigma[n:]
        self.J_open, self.J_equal = J[barrier.open], J[barrier.equal]
        self.unit_slope = barrier.barrier_slope(at.v, 1.0)
        self.dual = slope + J.T @ at.y
        weighted = self.J_open * np.sqrt(self.sigma)[:, None]
        H = barrier.hessian(at.v[:n], at.y) + weighted.T @ weighted
        if len(barrier.equal):
            H += AUGMENTED * (self.J_equal.T @ self.J_equal)
        H[np.diag_indices(n)] += sigma[:n]
        self.good = self._factor(H)
        if self.good and len(barrier.equal):
            self._eliminate_equations()

    def _factor(self, H: Array) -> bool:
        """Cholesky factor of H + shift; the shift grows until there is one."""
        barrier, shift = self.barrier, 0.0
        diagonal = np.diag_indices(len(H))
        while True:
            trial = H.copy()
            trial[diagonal] += shift
            self.factor, failed = lapack.dpotrf(trial, lower=1, overwrite_a=1, clean=0)
            if not failed:
                barrier.shift = shift if shift else barrier.shift
                self.shift = shift
                return True
            if not np.isfinite(H).all() or shift > LARGEST_SHIFT:
                return False
            size = max(1e-8, 1e-8 * float(np.abs(H[diagonal]).max()))
            shift = max(size, barrier.shift / 3.0) if shift == 0.0 else 8.0 * shift

    def _solve(self, right: Array) -> Array:
        return np.asarray(lapack.dpotrs(self.factor, right, lower=1)[0])

    def _eliminate_equations(self) -> None:
        self.carried = self._solve(self.J_equal.T)
        schur = self.J_equal @ self.carried
        schur[np.diag_indices(len(schur))] += 1e-12 * max(1.0, float(np.abs(schur).max()))
        self.schur = np.linalg.pinv(schur, hermitian=True)

    def step(self, c: Array, mu: float) -> Step:
        """The step that solves the linearised equations with residual c for a barrier mu."""
        barrier, at, n = self.barrier, self.at, self.barrier.n
        c_open, c_equal = c[barrier.open], c[barrier.equal]
        slope = mu * self.unit_slope
        dual_open = slope[n:] - at.y[barrier.open]
        right = -self.dual - slope[:n] - self.J_open.T @ (self.sigma * c_open + dual_open)
        dy = np.zeros(len(at.y))
        if len(barrier.equal):
            right -= AUGMENTED * (self.J_equal.T @ c_equal)
            free = self._solve(right)
            dy[barrier.equal] = self.schur @ (self.J_equal @ free + c_equal)
            dz = free - self.carried @ dy[barrier.equal]
        else:
            dz = self._solve(right)
        ds = self.J_open @ dz + c_open
        dy[barrier.open] = self.sigma * ds + dual_open
        dv = np.concatenate([dz, ds])
        low = mu / self.d_low - at.low - at.low / self.d_low * dv[barrier.bounded_low]
        high = mu / self.d_high - at.high + at.high / self.d_high * dv[barrier.bounded_high]
        return Step(dv, dy, low, high)


def longest(distance: Array, change: Array, tau: float) -> float:
    """Largest step, at most 1, after which distances are at least (1 - tau) of what they were."""
    falling = change < 0.0
    if not falling.any():
        return 1.0
    return min(1.0, tau * float((-distance[falling] / change[falling]).min()))


def safeguarded(multipliers: Array, distance: Array, mu: float) -> Array:
    """Multipliers of bounds kept near mu / distance."""
    return np.clip(multipliers, mu / (TRUST * distance), TRUST * mu / distance)
