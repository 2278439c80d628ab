"""Interior point for motions with equations: null space, one factor on all curvature, a merit that may rise.

At many solutions the curvature of the objective and that of the rows, weighed by their multipliers, are both
large and cancel: either alone is indefinite, so all of it is taken or the same share of all, in the end none
(Gauss and Newton). mu follows the rule of LOQO (Vanderbei and Shanno 1999, section 2.2): a tenth of the mean
complementarity where all products are alike, more where some lag behind. Steps are accepted by the barrier
function plus nu times the sum of all violations, compared with the worst of the last few points (Grippo,
Lampariello and Lucidi 1986), after one second-order correction if need be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import KinetreeError
from kinetree.motion.compiled.condensed import (
    compiled,
    complementarity,
    curb,
    expand_bounds,
    least_complementarity,
    logarithms,
    optimality,
    room,
    room_of_multipliers,
    settle,
    take,
)
from kinetree.motion.program.linearized import Linearized
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.motion.solvers.barrier import Barrier, Iterate, RowPlaces, Step
from kinetree.motion.solvers.interface import SolverSettings, Start, Status, Watch
from kinetree.motion.solvers.null_space import NullSpace
from kinetree.motion.solvers.restoration import restored

FIRST_BARRIER, WARM_BARRIER = 1e-2, 1e-5
PUSH, WARM_PUSH = 1e-3, 1e-4  # how far inside its bounds an unknown starts, relatively
WINDOW = 4  # points whose worst merit counts
LEAST_PRICE, EASIER = 1e-2, 0.5  # of violations; how fast it may fall
ENOUGH_SLOPE = 0.9  # of the violation's own slope that the price leaves to the rest
ARMIJO, ROUNDING = 1e-4, 1e-9
BENT_BELOW = 50.0  # errors above this are too large for curvature to matter
SADDLE_BELOW = 5.0  # errors above this do not say that a matrix which is not definite is a saddle's
TAU = 0.995  # of the way to a bound
TRUST = 1e8  # multipliers of bounds stay within this factor of mu / distance
LONGEST_MOVE = 0.6  # of an unknown in one iteration (rad, m)
SHORTEST_STEP = 1e-8
SHORTEST_CORRECTION = 0.5  # of the step that it corrects: what bounds leave of a shorter one is no progress
RESTARTS = 3
ACCEPTABLE = 1e2  # times the tolerance: good enough if no step helps any more
LEAST_BARRIER = 1e-9  # with thousands of bounds a lower mu makes the condensed matrix indefinite by rounding
LEAST_BESIDE = 3e-7  # of the error that mu is at least: with less, slacks hug bounds far from a solution
# mu to which the error alone may raise it. Errors grow with the square of the number of control points; where
# they raised mu to its first value, searches with 36 points of a walking human did not end in 200 iterations.
RAISED = 1e-6
STALLED = 10  # iterations without a lower error after which what is acceptable is accepted
LEAST_SHARE = 0.02  # of the mean complementarity that mu is lowered to at once


class _Point(NamedTuple):
    """A point with its objective, residual, sum of logarithms of distances, and violation."""

    v: Array
    f: float
    c: Array
    logarithms: float
    violation: float

    def merit(self, mu: float, price: float) -> float:
        return self.f - mu * self.logarithms + price * self.violation


class MeritSearch:
    """The iteration from a start; ``done`` iterations were spent before."""

    def __init__(
        self, program: NonlinearProgram, start: Start, settings: SolverSettings, watch: Watch, done: int = 0
    ) -> None:
        self.program, self.settings, self.watch, self.iteration = program, settings, watch, done
        self.barrier = Barrier(program)
        self.rows = RowPlaces(program, self.barrier)
        self.warm = start.multipliers is not None
        self.mu = WARM_BARRIER if self.warm else FIRST_BARRIER
        count = max(self.barrier.n_bounds, 3)
        self.least_barrier = max(0.3 * settings.tolerance / count, LEAST_BARRIER)
        self.most_gap = max(1.0, 3.0 * count * self.least_barrier / settings.tolerance)
        self.restarts = 0
        self._begin(start.z, start.multipliers)

    def _begin(self, z: Array, multipliers: Array | None = None) -> None:
        """Fresh slacks and multipliers of bounds at z, at some distance from all bounds."""
        barrier, program, mu = self.barrier, self.program, self.mu
        push = WARM_PUSH if self.warm else PUSH
        z = barrier.inside(np.concatenate([z, barrier.lower[program.n :]]), push)[: program.n]
        self.longest = LONGEST_MOVE * max(1.0, 0.5 * float(np.abs(z).max(initial=0.0)))
        v = barrier.with_slacks(z, program.constraints(z), push)
        d_low, d_high = barrier.distances(v)
        low, high = mu / d_low, mu / d_high
        full = np.zeros(len(v))
        if multipliers is None:
            full[barrier.bounded_high] += high
            full[barrier.bounded_low] -= low
            y = np.zeros(program.m)
            y[barrier.open] = full[program.n :]
        else:
            y = multipliers.copy()
            full[program.n :] = y[barrier.open]
            low = np.maximum(-full[barrier.bounded_low], low)
            high = np.maximum(full[barrier.bounded_high], high)
        self.at, self.price = Iterate(v, y, low, high), 1.0
        point = self._point(v)
        if point is None:
            raise KinetreeError("the motion cannot be evaluated at the initial guess")
        self.point, self.past = point, [point]
        self._linearize()

    def _linearize(self) -> None:
        z = self.at.v[: self.program.n]
        self.slope, self.linear = self.program.gradient(z), self.program.linearized(z)

    def run(self) -> tuple[Status, str]:
        """Iterate until optimal, stopped, or stuck."""
        tolerance, straight = self.settings.tolerance, False
        first, lowest, waited = True, np.inf, 0
        while True:
            z, c = self.at.v[: self.program.n], self.point.c
            self.dual = self.slope + self.linear.transposed(self.at.y)
            violated = float(np.abs(c).max(initial=0.0))
            if not self.watch.see(self.iteration, z, self.point.f, violated):
                assert self.watch.stopped is not None
                return self.watch.stopped, "stopped"
            error, total = self._error(), self._complementarity()
            worst = max(error, violated, total / max(abs(self.point.f), 1.0) / self.most_gap)
            if worst <= tolerance:
                return Status.SOLVED, "optimal"
            lowest, waited = (worst, 0) if worst < lowest else (lowest, waited + 1)
            if waited > STALLED and max(error, violated) <= ACCEPTABLE * tolerance:
                return Status.SOLVED, "optimal to acceptable level"
            if self.iteration >= self.settings.max_iterations:
                return Status.ITERATIONS, "iteration limit"
            if not first:
                least = min(LEAST_BESIDE * error, max(self.mu, RAISED))
                self.mu = max(self._next_barrier(total), least)
            first = False
            bent = not straight and error < BENT_BELOW
            newton = _Newton(self, bent=bent, saddle=max(error, violated) < SADDLE_BELOW)
            straight = False
            if newton.good and self._advance(newton):
                self.iteration += 1
                continue
            if newton.good and newton.space.share > 0.0:  # curvature misled: once more without
                straight = True
                continue
            if max(error, violated) <= ACCEPTABLE * tolerance:
                return Status.SOLVED, "optimal to acceptable level"
            ended = self._restore()
            if ended is not None:
                return ended
            self.iteration += 1
            first = True

    def _restore(self) -> tuple[Status, str] | None:
        """Go on from a point with less violation; how it ended if there is none."""
        here = self.at.v[: self.program.n]
        z = restored(self.program, here, self.settings.tolerance)
        if z is None:
            return Status.INFEASIBLE, "locally infeasible"
        self.restarts += 1
        if self.restarts > RESTARTS or np.array_equal(z, here):
            return Status.FAILED, "no step helps"
        self.mu = max(self.mu, FIRST_BARRIER)
        self.warm = False
        self._begin(z)
        return None

    def _error(self) -> float:
        """Scaled optimality error."""
        at, rows = self.at, self.rows
        error: float = compiled(optimality)(
            self.dual,
            at.y,
            self.point.c,
            rows.slack,
            at.v,
            *rows.bounds,
            at.low,
            at.high,
            0.0,
            np.empty(len(at.v)),
        )
        return error

    def _complementarity(self) -> float:
        """Sum of distance times multiplier over all bounds."""
        at = self.at
        total: float = compiled(complementarity)(at.v, *self.rows.bounds, at.low, at.high)
        return total

    def _next_barrier(self, total: float) -> float:
        """mu by LOQO's rule: small where all products of distance and multiplier are alike."""
        if not self.barrier.n_bounds:
            return self.least_barrier
        at, mean = self.at, total / self.barrier.n_bounds
        least: float = compiled(least_complementarity)(at.v, *self.rows.bounds, at.low, at.high)
        even = max(least / max(mean, 1e-300), 1e-12)
        share = 0.1 * min(0.05 * (1.0 - even) / even, 2.0) ** 3
        return min(max(max(share, LEAST_SHARE) * mean, self.least_barrier), max(mean, self.least_barrier))

    # ---- line search ---------------------------------------------------------------------------------
    def _point(self, v: Array, *, likely: bool = False) -> _Point | None:
        """A point with all that its merit needs; None where the motion cannot be evaluated.

        Slacks settle where that lowers the merit (Byrd, Nocedal and Waltz 2003): else the many
        rows that are far from their bounds would forbid steps by what their nonlinearity leaves of them.
        """
        logarithms_of, z = compiled(logarithms), v[: self.barrier.n]
        logarithms_of(v, *self.rows.bounds, self.barrier.closest)  # v is off its bounds from here on
        try:
            if likely:
                self.program.expect_derivatives(z)
            f, g = self.program.objective(z), self.program.constraints(z)
        except KinetreeError:
            return None
        compiled(settle)(g, self.rows.slack, v, self.barrier.lower, self.barrier.upper, self.mu, self.price)
        total: float = logarithms_of(v, *self.rows.bounds, self.barrier.closest)
        c, violation = self.rows.residual(v, g)
        return _Point(v, f, c, total, violation) if np.isfinite(f + total + violation) else None

    def _room(self, change: Array) -> float:
        length: float = compiled(room)(self.at.v, change, *self.rows.bounds, TAU)
        return length

    def _advance(self, newton: _Newton) -> bool:
        """Go along the step as far as the merit allows; False if no length is accepted."""
        n, mu, point = self.barrier.n, self.mu, self.point
        step = newton.step(point.c)
        largest = float(np.abs(step.v[:n]).max(initial=0.0))
        alpha = min(self._room(step.v), self.longest / max(largest, 1e-300))
        slope = float(self.slope @ step.v[:n] + mu * (newton.unit @ step.v))
        if point.violation > 1e-12:
            needed = slope / (ENOUGH_SLOPE * point.violation)
            self.price = max(EASIER * self.price, 1.1 * needed, LEAST_PRICE)
        worst = max(old.merit(mu, self.price) for old in self.past)
        descent, first = slope - self.price * point.violation, True
        while alpha > SHORTEST_STEP:
            trial = self._point(self.at.v + alpha * step.v, likely=first)
            most = worst + ARMIJO * alpha * descent + ROUNDING * abs(worst)
            if trial is not None:
                if trial.merit(mu, self.price) <= most:
                    self._take(trial, step, alpha)
                    return True
                if first and trial.violation > 0.1 * point.violation:
                    corrected = newton.step(alpha * point.c + trial.c)
                    length = self._room(corrected.v)
                    far = length >= SHORTEST_CORRECTION * alpha
                    trial = self._point(self.at.v + length * corrected.v) if far else None
                    if trial is not None and trial.merit(mu, self.price) <= most:
                        self._take(trial, step, alpha)
                        return True
            first = False
            alpha *= 0.5
        return False

    def _take(self, trial: _Point, step: Step, alpha: float) -> None:
        at, bounds = self.at, self.rows.bounds
        low, high = np.empty(len(at.low)), np.empty(len(at.high))
        dual: float = compiled(room_of_multipliers)(at.low, step.low, at.high, step.high, TAU)
        compiled(take)(
            trial.v, *bounds, at.low, at.high, step.low, step.high, dual, self.mu, TRUST, low, high
        )
        self.at, self.point = Iterate(trial.v, at.y + alpha * step.y, low, high), trial
        self.past = [*self.past, trial][-WINDOW:]
        self._linearize()


class _Newton:
    """The Newton system at the present iterate of a search, condensed and factored in the null space."""

    def __init__(self, search: MeritSearch, *, bent: bool, saddle: bool) -> None:
        self.at, self.rows, self.mu, self.dual = search.at, search.rows, search.mu, search.dual
        self.linear: Linearized = search.linear
        at, rows, n = self.at, self.rows, search.barrier.n
        sigma, self.unit, self.weight = np.empty(len(at.v)), np.empty(len(at.v)), np.empty(len(at.y))
        compiled(curb)(at.v, *rows.bounds, at.low, at.high, rows.slack, 0.0, sigma, self.unit, self.weight)
        A = self.linear.condensed(self.weight)
        A.ravel(order="K")[:: n + 1] += sigma[:n]
        curvature = search.program.curvature(at.v[:n], at.y) if bent else None
        self.space = NullSpace(self.linear.chosen(rows.equal))
        self.good = self.space.factor(A, curvature, saddle=saddle)

    def step(self, c: Array) -> Step:
        """The step that solves the linearized equations with residual c."""
        at, rows, n = self.at, self.rows, len(self.dual)
        open_rows = rows.slack >= 0
        slack = rows.slack[open_rows]
        pull = np.zeros(len(c))
        pull[open_rows] = (self.weight * c - at.y)[open_rows] + self.mu * self.unit[slack]
        right = -self.dual - self.mu * self.unit[:n] - self.linear.transposed(pull)
        dz, y_equal = self.space.step(right, c[rows.equal])
        dv, dy = np.empty(len(at.v)), np.zeros(len(at.y))
        dv[:n] = dz
        ds = (self.linear.times(dz) + c)[open_rows]
        dv[slack] = ds
        dy[open_rows] = self.weight[open_rows] * ds + self.mu * self.unit[slack] - at.y[open_rows]
        dy[rows.equal] = y_equal
        low, high = np.empty(len(at.low)), np.empty(len(at.high))
        compiled(expand_bounds)(at.v, dv, *rows.bounds, at.low, at.high, self.mu, low, high)
        return Step(dv, dy, low, high)
