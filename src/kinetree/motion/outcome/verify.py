"""A motion checked apart from the solver: objective and every constraint, on a grid of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.motion.outcome.passing import passing_instants
from kinetree.motion.problem.instants import GaussSamples, given_samples
from kinetree.motion.problem.problem import Problem
from kinetree.motion.problem.sampling import quadrature, spread
from kinetree.motion.program.blocks import distinct_parts
from kinetree.motion.program.evaluation import At
from kinetree.motion.terms.contract import Changes, LinearRows, Rows, SampleChanges, unit_of

FINE = 10  # points per segment between which nothing is looked for
GAUSS = 6  # points per segment of the quadrature that recomputes the objective


@dataclass(frozen=True)
class Violation:
    """A bound that is exceeded: by ``amount`` (in ``unit``) at time t, ``relative`` to what counts as 1."""

    family: str
    label: str
    t: float
    value: float
    bound: float
    unit: str
    relative: float
    between: bool  # found between the samples at which the constraint is enforced

    @property
    def amount(self) -> float:
        """By how much."""
        return abs(self.value - self.bound)

    def __str__(self) -> str:
        side = "below" if self.value < self.bound else "above"
        where = " (between samples)" if self.between else ""
        return (
            f"{self.family}, {self.label}: {self.value:.6g} {self.unit} at t = {self.t:.4g} s is "
            f"{self.amount:.3g} {self.unit} {side} {self.bound:.6g}{where}"
        )


@dataclass(eq=False)
class Verification:
    """Objective recomputed, the fine grid (s, q, qd, qdd, tau), and the worst violation of every family.

    ``curves`` are samples of the further blocks of unknowns there, (m, k) by name.
    """

    objective: float
    s: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    violations: list[Violation]
    curves: dict[str, Array] = field(default_factory=dict)
    opened: float = 0.0  # the largest gap of closed loops there (m, or sines of angles)

    @property
    def at_samples(self) -> float:
        """Largest relative violation where constraints are enforced."""
        return max((v.relative for v in self.violations if not v.between), default=0.0)

    @property
    def anywhere(self) -> float:
        """Largest relative violation, between samples too."""
        return max((v.relative for v in self.violations), default=0.0)


def fine_grid(problem: Problem) -> Array:
    """Points in every segment, and the problem's own samples."""
    return np.union1d(spread(problem.setting.bases, FINE), problem.setting.samples)


def verified(problem: Problem, x: Array) -> Verification:
    """All constraints at their samples and between them, and the objective by another quadrature."""
    setting = problem.setting
    fine = fine_grid(problem)
    sampled = [rows for rows in problem.bounded if not isinstance(rows, LinearRows)]
    T = setting.unknowns.duration_of(x)
    given = given_samples(problem.arguments["samples"])
    if isinstance(given, GaussSamples):  # phases have nodes of their own, also where they end within segments
        points, weights = given.finer(2).s, given.finer(2).weights
    else:
        points, weights = quadrature(setting.bases, GAUSS)
    s, parts = distinct_parts([fine, points, *(rows.s for rows in sampled)])
    evaluation = problem.evaluation(s, x)
    everywhere = At(evaluation, parts[0])
    objective = _objective(problem, x, At(evaluation, parts[1]), points, weights)
    found: list[Violation] = []
    for rows, part in zip(sampled, parts[2:], strict=True):
        found += _exceeded(rows, At(evaluation, part), T, between=False)
        if isinstance(rows, Rows) and holds_throughout(rows, problem):
            found += _exceeded(rows, _closely(problem, rows, x, everywhere), T, between=True)
    for linear in problem.bounded:
        if isinstance(linear, LinearRows):
            found += _linear_violation(linear, x, T)
    motion, own = evaluation.motion.part(parts[0]), setting.own
    return Verification(
        objective,
        fine,
        motion.q[:, own],
        motion.qd[:, own],
        motion.qdd[:, own],
        everywhere.tau[:, own],
        sorted(found, key=lambda v: -v.relative),
        {curve.name: everywhere.curve(curve.name) for curve in setting.unknowns.curves},
        0.0 if setting.closure is None else setting.closure.opened_by(motion.q),
    )


def _objective(problem: Problem, x: Array, at: At, points: Array, weights: Array) -> float:
    """The objective of a motion, by a quadrature with these points and weights."""
    setting = problem.setting
    T = setting.unknowns.duration_of(x)
    mean = changes = 0.0
    for term in problem.objective:
        weight, f = (term.weight / T if term.of_mean else term.weight), term.integrand(setting)
        if isinstance(f, Changes):
            changes += _changes(problem, weight, f, x)
        else:
            mean += weight * (1.0 if f is None else float((weights * f.counts(points)) @ f.values(at)[:, 0]))
    return T * mean + changes


def _closely(problem: Problem, rows: Rows, x: Array, everywhere: At) -> At:
    """The fine grid, and instants between at which bodies might pass an obstacle unseen."""
    s = passing_instants(problem, rows, x, everywhere.s)
    return everywhere if len(s) == len(everywhere.s) else problem.evaluation(s, x).everywhere


def _changes(problem: Problem, weight: float, changes: Changes, x: Array) -> float:
    """Squared changes from instant to instant, added up one by one."""
    f = changes.function.values(problem.evaluation(changes.s, x).everywhere)
    s = changes.s
    if changes.after is not None and changes.signs is not None:
        f, s = np.vstack([f, changes.signs * f[0, changes.after]]), np.append(s, 1.0 + s[0])
    dt = np.diff(s)[:, None] * problem.setting.unknowns.duration_of(x)
    return weight * float((np.diff(f, axis=0) ** 2 / dt * changes.weights).sum())


def holds_throughout(rows: Rows, problem: Problem) -> bool:
    """Whether a bound is meant for the whole motion and not only for some instants of it."""
    return rows.s is problem.setting.samples or np.array_equal(rows.s, problem.basis.breaks)


def _exceeded(rows: Rows | SampleChanges, at: At, T: float, *, between: bool) -> list[Violation]:
    """The worst violation of each labeled number."""
    values, s = rows.function.values(at), at.s
    if isinstance(rows, SampleChanges):
        values = np.diff(values, axis=0) / (T * np.diff(s)[:, None])
        s, scale = s[:-1], np.abs(rows.upper)
    else:
        scale = np.broadcast_to(np.asarray(rows.scale, dtype=np.float64), (rows.function.size,))
    if between and (np.ndim(rows.lower) > 1 or np.ndim(rows.upper) > 1):
        return []
    low, high = np.broadcast_to(rows.lower, values.shape), np.broadcast_to(rows.upper, values.shape)
    excess = np.maximum(low - values, values - high) / scale
    found = []
    for k in map(int, np.flatnonzero(excess.max(axis=0) > 0.0)):
        m = int(excess[:, k].argmax())
        bound = low[m, k] if low[m, k] - values[m, k] > values[m, k] - high[m, k] else high[m, k]
        found.append(
            Violation(
                rows.family,
                rows.labels[k],
                float(s[m]) * T,
                float(values[m, k]),
                float(bound),
                unit_of(rows, k),
                float(excess[m, k]),
                between,
            )
        )
    return found


def _linear_violation(rows: LinearRows, x: Array, T: float) -> list[Violation]:
    values = (rows.values * x[rows.columns]).sum(axis=1)
    excess = np.maximum(rows.lower - values, values - rows.upper)
    r = int(excess.argmax())
    if excess[r] <= 0.0:
        return []
    k = len(rows.labels)
    bound = rows.lower[r] if rows.lower[r] > values[r] else rows.upper[r]
    return [
        Violation(
            rows.family,
            rows.labels[r % k],
            float(rows.s[r // k]) * T,
            float(values[r]),
            float(bound),
            unit_of(rows, r % k),
            float(excess[r]),
            False,
        )
    ]
