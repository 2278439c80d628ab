"""The barrier problem of an interior-point method: its unknowns with slacks, and their bounds.

Inequalities get slacks s, g(z) - s = 0 with lower < s < upper, so v = (z, s) has simple bounds and
f(z) - mu sum log(distance to the bounds) is minimized subject to c(v) = 0. Eliminating the slacks leaves
H = W + Sigma_z + J^T Sigma_s J of the size of z: motions have few unknowns and many samples.
Notation of Waechter and Biegler, Mathematical Programming 106 (2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.motion.compiled.condensed import compiled, residual
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.motion.solvers.scaled import ScaledProgram

PUSH = 1e-2  # how far inside its bounds an unknown starts, relatively
# Bounds nearer to each other than this, in units of the row, are nearly an equation: between them an unknown
# starts this far inside, relatively. Nearer to one of them its multiplier would dwarf all others.
NARROW, WELL_INSIDE = 0.01, 0.3
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

    def __init__(self, program: NonlinearProgram) -> None:
        self.program = program
        self.n = program.n
        self.target = np.where(program.lower == program.upper, program.lower, 0.0)
        self.equal = np.flatnonzero(program.lower == program.upper)
        self.open: Any = np.flatnonzero(program.lower != program.upper) if len(self.equal) else slice(None)
        lower = np.concatenate([program.x_lower, program.lower[self.open]])
        upper = np.concatenate([program.x_upper, program.upper[self.open]])
        self.bounded_low, self.bounded_high = (np.flatnonzero(np.isfinite(x)) for x in (lower, upper))
        self.lower, self.upper = lower, upper
        self.low, self.high = lower[self.bounded_low], upper[self.bounded_high]
        self.n_bounds = len(self.low) + len(self.high)
        size = max(np.abs(self.low).max(initial=1.0), np.abs(self.high).max(initial=1.0))
        self.closest = 10.0 * np.finfo(float).eps * float(size)
        self.shift, self.share = 0.0, 1.0  # of the last matrix that was not definite
        # multipliers of equations and of steep rows, and a free duration, make up for second derivatives of
        # what f has the squares of: only without them can these be left out
        alone = not (len(self.equal) or len(program.durations) or isinstance(program, ScaledProgram))
        self.squares = program.squares and alone

    def inside(self, v: Array, push: float = PUSH) -> Array:
        """The nearest point that keeps a distance from all bounds."""
        width = self.upper - self.lower
        share = np.where(width < NARROW, WELL_INSIDE, push)
        low, high = self.lower.copy(), self.upper.copy()
        a, b = self.bounded_low, self.bounded_high
        low[a] += share[a] * np.minimum(np.maximum(1.0, np.abs(low[a])), width[a])
        high[b] -= share[b] * np.minimum(np.maximum(1.0, np.abs(high[b])), width[b])
        inner: Array = np.minimum(np.maximum(v, low), high)
        return inner

    def with_slacks(self, z: Array, g: Array, push: float = PUSH) -> Array:
        """Unknowns and the slacks that fit their constraints best."""
        return self.inside(np.concatenate([z, g[self.open]]), push)

    def distances(self, v: Array) -> tuple[Array, Array]:
        """From the lower and from the upper bounds."""
        return v[self.bounded_low] - self.low, self.high - v[self.bounded_high]


class RowPlaces:
    """The rows of a barrier problem as compiled code wants them: slacks, targets of equations, bounds."""

    def __init__(self, program: NonlinearProgram, barrier: Barrier) -> None:
        self.slack = np.full(program.m, -1)
        self.slack[barrier.open] = np.arange(program.n, len(barrier.lower))
        self.target, self.equal = barrier.target, barrier.equal
        self.bounds = (barrier.bounded_low, barrier.low, barrier.bounded_high, barrier.high)

    def residual(self, v: Array, g: Array) -> tuple[Array, float]:
        """c(v), one number per row, and the sum of its magnitudes."""
        c = np.empty(len(g))
        return c, compiled(residual)(g, self.target, self.slack, v, c)
