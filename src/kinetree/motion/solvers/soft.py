"""A first stage for starts that are far from feasible: violations cost something, none is forbidden.

Minimizes f + 1/2 (EQUAL |equations|^2 + OPEN |violated rows|^2 + BOUND |violated bounds|^2) by Gauss-Newton
steps with Levenberg's damping. Without slacks and barrier nothing creeps along bounds of slacks that had to
be invented, so a dozen steps bring the motion near to where an interior-point method is at its best.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from kinetree.algebra.arrays import Array
from kinetree.errors import KinetreeError
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.motion.solvers.barrier import NARROW as NEARLY_EQUAL
from kinetree.motion.solvers.interface import Watch

EQUAL, OPEN, BOUND = 20.0, 0.02, 2.0  # the objective is 1 at a simple motion, and rows are of size 1
NARROW = 0.3  # violations of bounds count relative to the distance of these, if that is between this and 1
STEPS = 60
LEAST_SIZE = 0.03  # of the objective: where it falls below, it is measured by a smaller unit from then on
NOTHING = 1e-9  # an objective below this is no measure of size
LONGEST = 0.6  # change of one unknown in one step (rad, m)
TOO_LONG, MOST_ADDED = 20.0, 0.1  # times that: so long a step is damped first, up to this
SHARES = (1.0, 0.5, 0.25)  # of a step: bounds that it does not know about yet forbid a long one
SLOW, PATIENCE = 2e-2, 2  # gain relative to the cost that two steps in turn must exceed to go on
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-6, 1e-9, 1e3


class _Cost(NamedTuple):
    """f with its penalties, and what is violated: rows (m,) and bounds (n,), with signs."""

    total: float
    rows: Array
    bounds: Array


class Soft:
    """The stage: its present point ``z``, and the number of its ``iteration``, after ``done`` before."""

    def __init__(
        self, program: NonlinearProgram, z: Array, watch: Watch, done: int = 0, price: float = EQUAL
    ) -> None:
        self.program, self.watch, self.iteration = program, watch, done
        self.z = np.clip(z, program.x_lower, program.x_upper)
        self.damping = FIRST_DAMPING
        self.equal = program.upper - program.lower < NEARLY_EQUAL
        self.price = np.where(self.equal, price, OPEN)
        self.bound_price = BOUND / np.clip(program.x_upper - program.x_lower, NARROW, 1.0) ** 2

    def run(self, most: int = STEPS) -> bool:
        """Take steps while the cost falls well; False if the search was stopped."""
        program, goes_on, slow = self.program, True, 0
        program.ease(True)
        try:
            cost = self._cost(self.z)
            for step in range(most + 1):
                f, worst = program.objective(self.z), self._worst(cost)
                goes_on = self.watch.see(self.iteration, self.z, f, worst)
                found = self._step(cost) if goes_on and slow < PATIENCE and step < most else None
                if found is None:
                    break
                self.iteration += 1
                last, self.z, cost = cost.total, found, self._cost(found)
                slow = slow + 1 if last - cost.total < SLOW * cost.total else 0
                if self._enlarged(cost):
                    cost = self._cost(self.z)
        finally:
            program.ease(False)
        self.z = np.clip(self.z, program.x_lower, program.x_upper)
        return goes_on

    def _enlarged(self, cost: _Cost) -> bool:
        """Measure the objective by a smaller unit if it has become small, also beside the penalties.

        A wild start may cost a million times what its end does. Divided by that, the objective would no
        longer decide what the rows leave open, and steps into such directions have no end.
        """
        size = abs(self.program.objective(self.z))
        if not NOTHING < size < min(LEAST_SIZE, cost.total - size):
            return False
        self.program.scale *= LEAST_SIZE / size
        return True

    def _cost(self, z: Array) -> _Cost:
        program = self.program
        g = program.constraints(z)
        rows = g - np.clip(g, program.lower, program.upper)
        bounds = z - np.clip(z, program.x_lower, program.x_upper)
        penalty = float(self.price @ rows**2) + float(self.bound_price @ bounds**2)
        return _Cost(program.objective(z) + 0.5 * penalty, rows, bounds)

    def _worst(self, cost: _Cost) -> float:
        return float(max(np.abs(cost.rows).max(initial=0.0), np.abs(cost.bounds).max(initial=0.0)))

    def _step(self, cost: _Cost) -> Array | None:
        """A step, or part of one, that lowers the cost, damped as much as it must be; None if none does."""
        program, z = self.program, self.z
        linear = program.linearized(z)
        H = linear.condensed(np.where(self.equal | (cost.rows != 0.0), self.price, 0.0))
        diagonal = np.diagonal(H) + np.where(cost.bounds != 0.0, self.bound_price, 0.0)
        slope = program.gradient(z) + linear.transposed(self.price * cost.rows)
        slope += self.bound_price * cost.bounds
        while self.damping <= MOST_DAMPING:
            d = self._damped(H, diagonal, slope)
            if d is not None:
                for share in SHARES:
                    trial: Array = z + share * d
                    if self._is_lower(trial, cost.total):
                        if share == 1.0:
                            self.damping = max(self.damping / 10.0, LEAST_DAMPING)
                        return trial
            self.damping = max(20.0 * self.damping, 1e-5)
        return None

    def _damped(self, H: Array, diagonal: Array, slope: Array) -> Array | None:
        """A step with at least the present damping that is not far too long; None if there is none."""
        damping = self.damping
        while True:
            damped = H.copy(order="F")
            damped.ravel(order="K")[:: len(H) + 1] = diagonal + damping * (1.0 + diagonal) + 1e-8
            factor, failed = lapack.dpotrf(damped, lower=1, clean=0, overwrite_a=1)
            if failed:
                return None
            d: Array = -lapack.dpotrs(factor, slope, lower=1)[0]
            length = max(float(np.abs(d).max(initial=0.0)), 1e-300)
            if length <= TOO_LONG * LONGEST or damping >= MOST_ADDED:
                return d * min(1.0, LONGEST / length)
            damping = max(10.0 * damping, 1e-5)

    def _is_lower(self, z: Array, than: float) -> bool:
        """Whether the cost at z is lower; not where the motion cannot be evaluated."""
        try:
            self.program.expect_derivatives(z)
            return self._cost(z).total < than
        except KinetreeError:
            return False
