"""Interior point with the exact Hessian from the first step, and a filter that judges steps.

Filter line search and barrier strategy of Waechter and Biegler, Mathematical Programming 106 (2006). Where a
program has a price on roughness, the search begins with a high one that falls with mu: it then follows a path
of smooth motions instead of wandering where the objective is nearly flat, where rounding errors would decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import KinetreeError
from kinetree.motion.compiled.condensed import (
    compiled,
    complementarity,
    complementarity_after,
    logarithms,
    optimality,
    room,
    room_of_multipliers,
    take,
    transposed_times,
)
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.motion.solvers.barrier import TRUST, Barrier, Iterate, Step
from kinetree.motion.solvers.interface import SolverSettings, Start, Status, Watch
from kinetree.motion.solvers.newton import BarrierRows, Newton
from kinetree.motion.solvers.restoration import restored

FIRST_BARRIER, WARM_BARRIER = 0.1, 1e-5
PUSH, WARM_PUSH = 1e-2, 1e-4  # how far inside its bounds an unknown starts, relatively
FIRST_PULL = 0.3  # multipliers of bounds at the start: the objective is of size 1
BARRIER_ERROR = 10.0  # times mu: how well a barrier problem is solved before the next one
LINEAR, SUPERLINEAR = 0.2, 1.5
LEAST_TAU, MOST_TAU = 0.99, 0.9995  # of the way to a bound: nearer, the barrier's slope hides all others
ROUNDING = 1e-11  # mu below this is lost in rounding errors
CORRECTIONS = 3
LEAST_SHARE, POWER = 0.1, 2  # of the mean complementarity that mu is lowered to at once
FRESH = 1.0  # of the error: where mu begins when it is lowered step by step
PATIENCE, PROGRESS = 8, 0.9  # iterations in which the error must fall, else mu is lowered step by step
LONGEST_MOVE = 1.0  # of a control point in one iteration (rad, m): further steps wind joints up
MOST_HASTE = 0.8  # of a duration that one iteration may take away: torques grow with its inverse square
SHORTEST_STEP = 1e-7
CENTRED = 10.0  # multipliers stay within this factor of mu / distance where mu begins to be lowered stepwise
FRESH_STARTS = 5  # with new slacks and multipliers where no step helps but nothing is violated
EASING, MOST_EASING = 0.5, 5e-4  # further price on roughness: this times mu, at most so much
ACCEPTABLE = 1e2  # times the tolerance: good enough if no step helps any more
GAIN_VIOLATION, GAIN_MERIT, ARMIJO = 1e-5, 1e-5, 1e-4
SWITCH_MERIT, SWITCH_VIOLATION = 2.3, 1.1


class LinePoint(NamedTuple):
    """A point of the line search: unknowns, objective, violation, merit, residual."""

    v: Array
    f: float
    violation: float
    merit: float
    c: Array


class Present(NamedTuple):
    """Where a step begins: violation, merit, and how the merit falls along the step."""

    violation: float
    merit: float
    descent: float


class Filter:
    """Pairs of violation and merit that a new point must not exceed both of."""

    def __init__(self, violation: float) -> None:
        size = max(1.0, violation)
        self.most, self.least = 1e4 * size, 1e-4 * size
        self.pairs: list[tuple[float, float]] = []

    def clear(self) -> None:
        """Forget all pairs: merits of another barrier cannot be compared with them."""
        self.pairs = []

    def accepts(self, trial: LinePoint, present: Present, alpha: float) -> bool:
        """Sufficient progress in violation or merit, and not worse than what the filter holds."""
        violation, merit, descent = present
        slack = 10.0 * np.finfo(float).eps * abs(merit)
        if trial.violation > self.most:
            return False
        if any(trial.violation >= old and trial.merit >= best for old, best in self.pairs):
            return False
        switching = descent < 0.0 and alpha * (-descent) ** SWITCH_MERIT > violation**SWITCH_VIOLATION
        if violation <= self.least and switching:
            return bool(trial.merit <= merit + ARMIJO * alpha * descent + slack)
        good = bool(
            trial.violation <= (1.0 - GAIN_VIOLATION) * violation
            or trial.merit <= merit - GAIN_MERIT * violation + slack
        )
        if good:
            self.pairs.append(((1.0 - GAIN_VIOLATION) * violation, merit - GAIN_MERIT * violation))
        return good


class FilterSearch:
    """The iteration from a start; ``done`` iterations were spent before."""

    def __init__(
        self,
        program: NonlinearProgram,
        start: Start,
        settings: SolverSettings,
        watch: Watch,
        options: Mapping[str, Any],
        done: int = 0,
    ) -> None:
        self.program, self.settings, self.watch = program, settings, watch
        self.barrier = Barrier(program)
        self.eased = program.smoothing > 0.0 and not len(program.durations)
        self.rows = BarrierRows(program, self.barrier)
        self.corrections = options.get("corrections", CORRECTIONS)
        warm = start.multipliers is not None
        self.mu = WARM_BARRIER if warm else FIRST_BARRIER
        self.least_barrier = max(0.3 * settings.tolerance / max(self.barrier.n_bounds, 3), ROUNDING)
        self.iteration = done
        push = WARM_PUSH if warm else PUSH
        z = self.barrier.inside(np.concatenate([start.z, self.barrier.lower[program.n :]]), push)[: program.n]
        self.at = self._iterate(z, push, start.multipliers)
        self._evaluate(z)
        self.longest = np.full(program.n, LONGEST_MOVE * max(1.0, 0.5 * float(np.abs(z).max(initial=0.0))))
        self.longest[program.durations] = np.inf
        self.filter = Filter(float(np.abs(self.c).sum()))
        self.sizes, self.fresh_starts = np.ones(program.m), 0
        self.adaptive = True
        self.errors: list[float] = []

    def _iterate(self, z: Array, push: float, multipliers: Array | None = None) -> Iterate:
        """An iterate with fresh slacks and multipliers of bounds."""
        barrier, mu = self.barrier, self.mu
        v = barrier.with_slacks(z, self.program.constraints(z), push)
        d_low, d_high = barrier.distances(v)
        y = np.zeros(self.program.m)
        low, high = np.full(len(d_low), FIRST_PULL), np.full(len(d_high), FIRST_PULL)
        if multipliers is not None:
            y, low, high = multipliers.copy(), mu / d_low, mu / d_high
            full = np.zeros(len(v))
            full[self.program.n :] = y[barrier.open]
            low = np.maximum(-full[barrier.bounded_low], low)
            high = np.maximum(full[barrier.bounded_high], high)
        return Iterate(v, y, low, high)

    def _evaluate(self, z: Array, f: float | None = None, c: Array | None = None) -> None:
        """Values and derivatives at z; values that are known already are not computed again."""
        self.f = self.program.objective(z) if f is None else f
        self.slope, self.J = self.program.gradient(z), self.program.jacobian(z)[self.rows.order]
        self.c = self.rows.residual(self.at.v, self.program.constraints(z))[0] if c is None else c
        self.dual = self.slope.copy()
        compiled(transposed_times)(self.J, self.rows.starts, self.rows.columns, self.at.y, self.dual)

    def run(self) -> tuple[Status, str]:
        """Iterate until optimal, stopped, or stuck."""
        try:
            return self._run()
        finally:
            self.program.easing = 0.0

    def _run(self) -> tuple[Status, str]:
        tolerance = self.settings.tolerance
        for iteration in range(self.iteration, self.settings.max_iterations + 1):
            self.iteration = iteration
            if self.eased:
                self._ease()
            violated = float(np.abs(self.sizes * self.c).max(initial=0.0))
            if not self.watch.see(iteration, self.at.v[: self.program.n], self.f, violated):
                assert self.watch.stopped is not None
                return self.watch.stopped, "stopped"
            error = self._error(0.0)
            if max(error, violated, self._gap()) <= tolerance:
                return Status.SOLVED, "optimal"
            newton = self._choose_barrier(self._newton(), error)
            if newton.good and self._advance(newton, newton.step(self.c, self.mu)):
                continue
            if max(error, violated) <= ACCEPTABLE * tolerance:
                return Status.SOLVED, "optimal to acceptable level"
            ended = self._restore()
            if ended is not None:
                return ended
        return Status.ITERATIONS, "iteration limit"

    def _ease(self) -> None:
        """Let the further price on roughness follow mu."""
        program, z, weight = self.program, self.at.v[: self.program.n], min(MOST_EASING, EASING * self.mu)
        change = weight - program.easing
        if change:
            program.easing, slope = weight, change * program.roughness_slope(z)
            self.f, self.slope, self.dual = (
                self.f + change * program.roughness(z),
                self.slope + slope,
                self.dual + slope,
            )

    def _newton(self) -> Newton:
        return Newton(self.barrier, self.rows, self.at, self.J, self.dual)

    def _restore(self) -> tuple[Status, str] | None:
        """Go on from a point with less violation, with fresh slacks and multipliers; how it ended if not."""
        z = restored(self.program, self.at.v[: self.program.n], self.settings.tolerance)
        if z is None:
            return Status.INFEASIBLE, "locally infeasible"
        if np.array_equal(z, self.at.v[: self.program.n]):
            self.fresh_starts += 1
            if self.fresh_starts > FRESH_STARTS:
                return Status.FAILED, "no step helps"
        self.mu = max(self.mu, 1e-2)
        self.at = self._iterate(z, 1e-2)
        self._evaluate(z)
        self.filter.clear()
        return None

    def _gap(self) -> float:
        """What the barrier still costs: the sum of all complementarity, relative to the objective."""
        return self._complementarity() / max(abs(self.f), 1.0)

    def _complementarity(self) -> float:
        """Sum of distance times multiplier over all bounds."""
        at = self.at
        total: float = compiled(complementarity)(at.v, *self.rows.bounds, at.low, at.high)
        return total

    def _mean(self) -> float:
        return self._complementarity() / max(1, self.barrier.n_bounds)

    def _error(self, mu: float) -> float:
        """Scaled optimality error E_mu."""
        at, rows = self.at, self.rows
        error: float = compiled(optimality)(
            self.dual, at.y, self.c, rows.slack, at.v, *rows.bounds, at.low, at.high, mu, np.empty(len(at.v))
        )
        return error

    def _choose_barrier(self, newton: Newton, error: float) -> Newton:
        """The next mu: as low as the affine step promises while that makes progress, else step by step.

        Returns the Newton system, a new one if the multipliers of bounds were changed.
        """
        least = self.least_barrier
        if not newton.good:
            return newton
        if self.adaptive:
            self.errors.append(error)
            old = self.errors[:-PATIENCE]
            self.filter.clear()
            if old and error > PROGRESS * min(old):
                self.adaptive = False
                self.mu = max(least, 0.8 * self._mean(), min(FIRST_BARRIER, FRESH * error))
                self._centre()
                return self._newton()
            self.mu = max(min(self._promised(newton), self._mean()), least)
            return newton
        while self.mu > least and self._error(self.mu) <= BARRIER_ERROR * self.mu:
            self.mu = max(least, min(LINEAR * self.mu, self.mu**SUPERLINEAR))
            self.filter.clear()
        return newton

    def _centre(self) -> None:
        """Bring multipliers of bounds near mu / distance: those of a far lower mu give useless steps."""
        at, distances = self.at, self.barrier.distances(self.at.v)
        low, high = (
            np.clip(pull, self.mu / d / CENTRED, self.mu / d * CENTRED)
            for pull, d in zip((at.low, at.high), distances, strict=True)
        )
        self.at = Iterate(at.v, at.y, low, high)

    def _promised(self, newton: Newton) -> float:
        """mu by Mehrotra's rule: the square of how far an affine step could lower complementarity."""
        at, bounds, mean = self.at, self.rows.bounds, self._mean()
        step = newton.step(self.c, 0.0)
        primal, dual = self._room(step.v, 1.0), self._dual_room(step, 1.0)
        after: float = compiled(complementarity_after)(
            at.v, step.v, *bounds, at.low, step.low, at.high, step.high, primal, dual
        )
        ratio = max(after / max(1, self.barrier.n_bounds), 0.0) / max(mean, 1e-300)
        return min(1.0, max(LEAST_SHARE, ratio**POWER)) * mean

    # ---- line search ---------------------------------------------------------------------------------
    def _advance(self, newton: Newton, step: Step) -> bool:
        """Go along the step as far as the filter accepts; False if no length is accepted."""
        barrier, at = self.barrier, self.at
        tau = min(max(LEAST_TAU, 1.0 - self.mu), MOST_TAU)
        n = barrier.n
        descent = float(self.slope @ step.v[:n] + self.mu * (newton.unit_slope @ step.v))
        present = Present(float(np.abs(self.c).sum()), self._merit(at.v, self.f), descent)
        alpha = min(self._room(step.v, tau), self._reach(step.v[:n]))
        first = True
        while alpha > SHORTEST_STEP:
            trial = self._trial(at.v + alpha * step.v, likely=first)
            if trial is not None:
                if self.filter.accepts(trial, present, alpha):
                    self._take(trial, step, alpha, tau)
                    return True
                if first and trial.violation >= present.violation:
                    corrected = self._corrected(newton, trial, alpha, tau, present)
                    if corrected is not None:
                        self._take(*corrected, tau)
                        return True
            first = False
            alpha *= 0.5
        return False

    def _reach(self, change: Array) -> float:
        """How much of a step is taken at once: joints do not wind up, durations do not collapse."""
        times, z = self.program.durations, self.at.v[: len(change)]
        slower = change[times]
        most_haste = float((-slower / z[times]).max(initial=0.0)) / MOST_HASTE
        most_delay = float((slower / np.maximum(1.0, z[times])).max(initial=0.0))
        return 1.0 / max(
            float(np.abs(change / self.longest).max(initial=0.0)), most_haste, most_delay, 1e-300
        )

    def _room(self, change: Array, tau: float) -> float:
        step: float = compiled(room)(self.at.v, change, *self.rows.bounds, tau)
        return step

    def _dual_room(self, step: Step, tau: float) -> float:
        at = self.at
        length: float = compiled(room_of_multipliers)(at.low, step.low, at.high, step.high, tau)
        return length

    def _merit(self, v: Array, f: float) -> float:
        """The barrier function; v is moved off bounds that rounding put it on."""
        total: float = compiled(logarithms)(v, *self.rows.bounds, self.barrier.closest)
        return f - self.mu * total

    def _trial(self, v: Array, *, likely: bool = False) -> LinePoint | None:
        """A point with objective, violation and merit; None where the motion cannot be evaluated."""
        merit = self._merit(v, 0.0)
        z = v[: self.barrier.n]
        try:
            if likely:
                self.program.expect_derivatives(z)
            f, g = self.program.objective(z), self.program.constraints(z)
        except KinetreeError:
            return None
        c, violation = self.rows.residual(v, g)
        return LinePoint(v, f, violation, f + merit, c) if np.isfinite(f + merit) else None

    def _corrected(
        self,
        newton: Newton,
        trial: LinePoint,
        alpha: float,
        tau: float,
        present: Present,
    ) -> tuple[LinePoint, Step, float] | None:
        """Second-order corrections: the same matrix, the curvature of the constraints in the right side."""
        c = self.c
        last = present.violation
        for _ in range(self.corrections):
            c = alpha * c + trial.c
            step = newton.step(c, self.mu)
            alpha_c = self._room(step.v, tau)
            found = self._trial(self.at.v + alpha_c * step.v)
            if found is None:
                return None
            if self.filter.accepts(found, present, alpha_c):
                return found, step, alpha_c
            if found.violation > 0.99 * last:
                return None
            last, trial, alpha = found.violation, found, alpha_c
        return None

    def _take(self, trial: LinePoint, step: Step, alpha: float, tau: float) -> None:
        at, dual = self.at, self._dual_room(step, tau)
        low, high = np.empty(len(at.low)), np.empty(len(at.high))
        compiled(take)(
            trial.v, *self.rows.bounds, at.low, at.high, step.low, step.high, dual, self.mu, TRUST, low, high
        )
        self.at = Iterate(trial.v, at.y + alpha * step.y, low, high)
        self._evaluate(trial.v[: self.barrier.n], trial.f, trial.c)
