"""Bounded functions as rows of a nonlinear program: values, sparse derivatives, what multipliers weigh."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import Integers
from kinetree.motion.compiled.assembly import compiled, pull_entries, weigh
from kinetree.motion.problem.presolve import Flags
from kinetree.motion.program.evaluation import At, Evaluation
from kinetree.motion.terms.contract import Chained, Function, Quantity, Rows, Steps


class Sampled:
    """A quantity at a part of the samples; its slopes are kept for the evaluation they were made for."""

    def __init__(self, function: Quantity, part: slice) -> None:
        self.function, self.part = function, part
        self._seen: Evaluation | None = None

    def values(self, evaluation: Evaluation) -> Array:
        """The k numbers at each sample, (m, k)."""
        return self.function.values(At(evaluation, self.part))

    def slopes(self, evaluation: Evaluation) -> Array:
        """Derivatives by (q, qd, qdd), (m, 3, k, n)."""
        if not isinstance(self.function, Function):
            raise TypeError(f"{type(self.function).__name__} is no function of (q, qd, qdd)")
        if self._seen is not evaluation:
            self._slopes = self.function.slopes(At(evaluation, self.part))
            self._seen = evaluation
        return self._slopes

    def weigh(self, evaluation: Evaluation, weight: Array) -> None:
        """Leave gradient and curvature of weight . values in the evaluation; weight (m, k)."""
        if isinstance(self.function, Function):
            compiled(weigh)(weight, self.slopes(evaluation), evaluation.gradient[self.part])
        self.function.bend(At(evaluation, self.part), weight)


class Places:
    """Where derivatives by control points of each sample go among the unknowns; -1 where one is fixed."""

    def __init__(self, points: Integers, n: int, free: Flags) -> None:
        self.columns = points[:, :, None] * n + np.arange(n)  # (m, p + 1, n)
        place = np.full(len(free), -1)
        place[free] = np.arange(int(free.sum()))
        self.place, self.free = place, free
        self.last = int(place[-1])  # of the duration, -1 if it is fixed


class RowBlock:
    """Rows lower <= f(s) <= upper, sample by sample, divided by the function's scale."""

    def __init__(self, rows: Rows, part: slice, places: Places) -> None:
        self.sampled, self.source, self.part = Sampled(rows.function, part), rows, part
        m, k = part.stop - part.start, rows.function.size
        self.shape, self.count = (m, k), m * k
        self.scale = np.array(np.broadcast_to(np.asarray(rows.scale, dtype=np.float64), (k,)))
        self.lower = (np.broadcast_to(rows.lower, self.shape) / self.scale).ravel()
        self.upper = (np.broadcast_to(rows.upper, self.shape) / self.scale).ravel()
        columns = places.place[places.columns[part]]
        full = (m, columns.shape[1], k, columns.shape[2])
        here = np.broadcast_to(columns[:, :, None, :], full)
        index = np.broadcast_to(np.arange(m * k).reshape(m, 1, k, 1), full)
        keep = here >= 0
        self.kept = int(keep.sum())
        self.entries = np.where(keep, np.cumsum(keep).reshape(full) - 1, -1)
        self.timed = places.last >= 0
        last = np.full(m * k if self.timed else 0, places.last)
        self.columns = np.concatenate([here[keep], last])
        self.rows = np.concatenate([index[keep], np.arange(len(last))])

    def values(self, evaluation: Evaluation) -> Array:
        """All rows."""
        return (self.sampled.values(evaluation) / self.scale).ravel()

    def jacobian(self, evaluation: Evaluation, entries: Array) -> None:
        """Derivatives in the order of ``rows`` and ``columns``."""
        if isinstance(self.sampled.function, Chained):
            by_point, by_duration = pulled(self.sampled, evaluation, self.part)
            entries[: self.kept] = (by_point / self.scale[:, None])[self.entries >= 0]
            if self.timed:
                entries[self.kept :] = (by_duration / self.scale).ravel()
            return
        grid, motion = evaluation.grid, evaluation.motion
        slopes, last = self.sampled.slopes(evaluation), self.kept if self.timed else -1
        moving, weights = motion.moving[self.part], grid.weights[self.part]
        compiled(pull_entries)(
            slopes, moving, weights, motion.duration, self.scale, self.entries, entries, last
        )

    def weigh(self, evaluation: Evaluation, multipliers: Array) -> None:
        """Add multipliers . rows to what curvature is asked of."""
        self.sampled.weigh(evaluation, multipliers.reshape(self.shape) / self.scale)


class StepBlock:
    """Rows f(s+) - f(s) - upper T ds <= 0 and f(s+) - f(s) - lower T ds >= 0, divided by the bounds."""

    def __init__(self, steps: Steps, part: slice, places: Places) -> None:
        self.sampled, self.source, self.part = Sampled(steps.function, part), steps, part
        m, k = part.stop - part.start - 1, steps.function.size
        self.shape, self.count = (m, k), 2 * m * k
        ds = np.diff(steps.s)[:, None]
        self.scale = np.broadcast_to(np.asarray(np.abs(steps.upper), dtype=np.float64), (k,)) * ds.mean()
        self.bounds = np.stack([steps.upper * ds, steps.lower * ds]) / self.scale  # (2, m, k)
        none = np.full((m, k), np.inf)
        self.lower = np.concatenate([-none, 0.0 * ds + np.zeros(k)]).ravel()
        self.upper = np.concatenate([0.0 * ds + np.zeros(k), none]).ravel()
        self._map(places, m, k)

    def _map(self, places: Places, m: int, k: int) -> None:
        """Neighbouring samples share control points: sum what falls on the same entry."""
        columns = places.place[places.columns[self.part]]
        full = (m, columns.shape[1], k, columns.shape[2])
        one = np.arange(m * k).reshape(m, 1, k, 1)
        here = [np.broadcast_to(c[:, :, None, :], full).ravel() for c in (columns[1:], columns[:-1])]
        column, row = np.concatenate(here), np.tile(np.broadcast_to(one, full).ravel(), 2)
        keep = np.flatnonzero(column >= 0)
        width = len(places.free)
        keys, target = np.unique(row[keep] * width + column[keep], return_inverse=True)
        ones = np.ones(len(keep))
        self.gather = sparse.csr_array((ones, (target, keep)), shape=(len(keys), len(column)))
        rows, cols = np.divmod(keys, width)
        self.timed = places.last >= 0
        if self.timed:
            rows, cols = np.append(rows, np.arange(m * k)), np.append(cols, np.full(m * k, places.last))
        self.rows, self.columns = np.concatenate([rows, rows + m * k]), np.tile(cols, 2)

    def values(self, evaluation: Evaluation) -> Array:
        """All rows: those with the upper bounds first."""
        change = np.diff(self.sampled.values(evaluation), axis=0) / self.scale
        rows: Array = (change - evaluation.motion.duration * self.bounds).ravel()
        return rows

    def jacobian(self, evaluation: Evaluation, entries: Array) -> None:
        """Derivatives in the order of ``rows`` and ``columns``."""
        by_point, by_duration = pulled(self.sampled, evaluation, self.part)
        by_point = by_point / self.scale[:, None]
        values = self.gather @ np.concatenate([by_point[1:].ravel(), -by_point[:-1].ravel()])
        upper, lower = entries.reshape(2, -1)
        upper[: len(values)] = lower[: len(values)] = values
        if self.timed:
            change = np.diff(by_duration, axis=0) / self.scale
            for side, bound in zip((upper, lower), self.bounds, strict=True):
                side[len(values) :] = (change - bound).ravel()

    def weigh(self, evaluation: Evaluation, multipliers: Array) -> None:
        """Add multipliers . rows to what curvature is asked of; they are linear in T."""
        both = multipliers.reshape(2, *self.shape).sum(axis=0) / self.scale
        weight = np.zeros((self.shape[0] + 1, self.shape[1]))
        weight[1:] += both
        weight[:-1] -= both
        self.sampled.weigh(evaluation, weight)


Block = RowBlock | StepBlock


def pulled(sampled: Sampled, evaluation: Evaluation, part: slice) -> tuple[Array, Array]:
    """Slopes carried back to control points (m, p + 1, k, n) and duration (m, k)."""
    if isinstance(sampled.function, Chained):
        return sampled.function.pull(At(evaluation, part))
    return evaluation.grid.part(part).pull(sampled.slopes(evaluation), evaluation.motion.part(part))


def distinct_parts(grids: Sequence[Array]) -> tuple[Array, list[slice]]:
    """All samples one after the other, each grid once, and where each of the grids is."""
    known: dict[bytes, slice] = {}
    chosen: list[Array] = []
    count, parts = 0, []
    for s in grids:
        key = s.tobytes()
        if key not in known:
            known[key] = slice(count, count + len(s))
            chosen.append(s)
            count += len(s)
        parts.append(known[key])
    return (np.concatenate(chosen) if chosen else np.zeros(1)), parts
