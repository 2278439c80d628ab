"""Bounded functions as rows of a nonlinear program: values, sparse derivatives, what multipliers weigh."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import Integers
from kinetree.motion.compiled.assembly import compiled, pull_entries, weigh
from kinetree.motion.problem.presolve import Flags, Linear
from kinetree.motion.problem.unknowns import MOTION, Instants
from kinetree.motion.program.evaluation import At, Evaluation
from kinetree.motion.terms.contract import TORQUE, Acting, Chained, Function, Quantity, Rows, SampleChanges

NUMBER = np.dtype(np.float64).itemsize


class Sampled:
    """A quantity at a part of the samples; its slopes are kept for the evaluation they were made for.

    ``moves`` says whether it depends on the motion, ``curves`` are the further blocks that it depends on.
    """

    def __init__(self, function: Quantity, part: slice, places: UnknownPlaces) -> None:
        self.function, self.part = function, part
        self.moves = MOTION in function.reads or TORQUE in function.reads
        self.curves = places.curves_read(function)
        self._seen: Evaluation | None = None

    def values(self, evaluation: Evaluation) -> Array:
        """The k numbers at each sample, (m, k)."""
        return self.function.values(At(evaluation, self.part))

    def slopes(self, evaluation: Evaluation) -> Array:
        """Derivatives by (q, qd, qdd) of what splines move, (m, 3, k, n)."""
        if not isinstance(self.function, Function):
            raise TypeError(f"{type(self.function).__name__} is no function of (q, qd, qdd)")
        if self._seen is not evaluation:
            self._full = self.function.slopes(At(evaluation, self.part))
            self._slopes = evaluation.reduced(self._full, self.part)
            self._seen = evaluation
        return self._slopes

    def _all_slopes(self, evaluation: Evaluation) -> Array:
        """The same by all coordinates that move, also those that follow others."""
        self.slopes(evaluation)
        return self._full

    def curve_slopes(self, evaluation: Evaluation) -> list[Array]:
        """Derivatives by the control points of the further blocks, (m, p + 1, k, numbers) each."""
        if not self.curves or not isinstance(self.function, Function):
            return []
        found = self.function.curve_slopes(At(evaluation, self.part))
        grids = evaluation.instants.curves
        return [grids[name].part(self.part).pull(found[name]) for name in self.curves]

    def weigh(self, evaluation: Evaluation, weight: Array) -> None:
        """Leave gradient and curvature of weight . values in the evaluation; weight (m, k)."""
        if self.moves and isinstance(self.function, Function):
            compiled(weigh)(weight, self._all_slopes(evaluation), evaluation.gradient[self.part])
        self.function.bend(At(evaluation, self.part), weight)


class UnknownPlaces:
    """Where derivatives by control points of each sample go among the unknowns; -1 where one is fixed.

    ``columns`` (m, p + 1, n) are places in x of the motion's control points, ``place`` (size,) leads from x
    to the free unknowns, of which each is ``factor`` (size,) times one; ``duration`` is the place of T among
    these. ``acting`` are the loads that torques depend on. Blocks of rows give derivatives by x; the program
    multiplies them by the ``factors`` of the blocks.
    """

    def __init__(self, instants: Instants, linear: Linear, acting: Sequence[Acting]) -> None:
        unknowns, n = instants.unknowns, instants.unknowns.profiles.n
        self.columns = unknowns.points(instants.grid.points[:, :, None], np.arange(n))
        self.place, self.factor = linear.place, linear.factor
        self.size = len(linear.z_lower)
        self.duration = int(self.place[unknowns.duration_place])
        self.curves = {name: grid.columns for name, grid in instants.curves.items()}  # (m, p + 1, k) in x
        self._of_torque = {name for load in acting for name in load.reads}
        self.torque_curves = [name for name in self.curves if name in self._of_torque]

    def curves_read(self, function: Quantity) -> list[str]:
        """The further blocks that a function depends on, in their order."""
        reads = {*function.reads, *(self._of_torque if TORQUE in function.reads else ())}
        return [name for name in self.curves if name in reads]

    def entries(self, sampled: Sampled) -> tuple[Integers | None, list[Integers]]:
        """Places in x of all that a function's samples depend on, (m, p + 1, numbers).

        Those of the motion, None if it has no part in it, and those of the further blocks.
        """
        motion = self.columns[sampled.part] if sampled.moves else None
        return motion, [self.curves[name][sampled.part] for name in sampled.curves]

    def spread(self, columns: Integers, k: int) -> tuple[Flags, Integers, Integers, Array]:
        """Which of the columns (m, p + 1, numbers) in x are free, for k rows at each sample.

        And of those that are: their places among the free unknowns, rows and factors.
        """
        full = (columns.shape[0], columns.shape[1], k, columns.shape[2])
        here = np.broadcast_to(columns[:, :, None, :], full)
        rows = np.broadcast_to(np.arange(full[0] * k).reshape(full[0], 1, k, 1), full)
        keep = self.place[here] >= 0
        own = here[keep]
        return keep, self.place[own], rows[keep], self.factor[own]


class RowBlock:
    """Rows lower <= f(s) <= upper, sample by sample, divided by the function's scale."""

    def __init__(self, rows: Rows, part: slice, places: UnknownPlaces) -> None:
        self.sampled, self.source, self.part = Sampled(rows.function, part, places), rows, part
        m, k = part.stop - part.start, rows.function.size
        self.shape, self.count = (m, k), m * k
        self.scale = np.array(np.broadcast_to(np.asarray(rows.scale, dtype=np.float64), (k,)))
        self.lower = (np.broadcast_to(rows.lower, self.shape) / self.scale).ravel()
        self.upper = (np.broadcast_to(rows.upper, self.shape) / self.scale).ravel()
        self.kept, self.timed, parts = 0, False, []
        motion, curves = places.entries(self.sampled)
        if motion is not None:
            keep, *own = places.spread(motion, k)
            self.kept, self.timed = int(keep.sum()), places.duration >= 0
            self.entries = np.where(keep, np.cumsum(keep).reshape(keep.shape) - 1, -1)
            last = np.full(m * k if self.timed else 0, places.duration)
            parts += [own, [last, np.arange(len(last)), np.ones(len(last))]]
        spread = [places.spread(columns, k) for columns in curves]
        parts += [own for _, *own in spread]
        self.curve_keeps = [keep for keep, *_ in spread]
        self.columns, self.rows, self.factors = (np.concatenate(x) for x in zip(*parts, strict=True))

    def values(self, evaluation: Evaluation) -> Array:
        """All rows."""
        return (self.sampled.values(evaluation) / self.scale).ravel()

    def jacobian(self, evaluation: Evaluation, entries: Array) -> None:
        """Derivatives in the order of ``rows`` and ``columns``."""
        start = self.kept + (self.count if self.timed else 0)
        if self.sampled.moves:
            self._motion_jacobian(evaluation, entries[:start])
        slopes = self.sampled.curve_slopes(evaluation)
        for by_curve, keep in zip(slopes, self.curve_keeps, strict=True):
            values = (by_curve / self.scale[:, None])[keep]
            entries[start : start + len(values)] = values
            start += len(values)

    def _motion_jacobian(self, evaluation: Evaluation, entries: Array) -> None:
        """Derivatives by the motion's control points and the duration."""
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

    def bend(self, evaluation: Evaluation, multipliers: Array) -> None:
        """The same without the gradient, which only free durations need."""
        at = At(evaluation, self.part)
        self.sampled.function.bend(at, multipliers.reshape(self.shape) / self.scale)


class StepBlock:
    """Rows f(s+) - f(s) - upper T ds <= 0 and f(s+) - f(s) - lower T ds >= 0, divided by the bounds."""

    def __init__(self, steps: SampleChanges, part: slice, places: UnknownPlaces) -> None:
        self.sampled, self.source, self.part = Sampled(steps.function, part, places), steps, part
        m, k = part.stop - part.start - 1, steps.function.size
        self.shape, self.count = (m, k), 2 * m * k
        ds = np.diff(steps.s)[:, None]
        self.scale = np.broadcast_to(np.asarray(np.abs(steps.upper), dtype=np.float64), (k,)) * ds.mean()
        self.bounds = np.stack([steps.upper * ds, steps.lower * ds]) / self.scale  # (2, m, k)
        none = np.full((m, k), np.inf)
        self.lower = np.concatenate([-none, 0.0 * ds + np.zeros(k)]).ravel()
        self.upper = np.concatenate([0.0 * ds + np.zeros(k), none]).ravel()
        self._map(places, m, k)

    def _map(self, places: UnknownPlaces, m: int, k: int) -> None:
        """Neighboring samples share control points: sum what falls on the same entry."""
        one = np.arange(m * k).reshape(m, 1, k, 1)
        here, there = [], []
        motion, curves = places.entries(self.sampled)
        for columns in curves if motion is None else [motion, *curves]:
            full = (m, columns.shape[1], k, columns.shape[2])
            here += [np.broadcast_to(c[:, :, None, :], full).ravel() for c in (columns[1:], columns[:-1])]
            there += [np.broadcast_to(one, full).ravel()] * 2
        x, row = np.concatenate(here), np.concatenate(there)
        column = places.place[x]
        keep = np.flatnonzero(column >= 0)
        width = places.size
        keys, target = np.unique(row[keep] * width + column[keep], return_inverse=True)
        entries = places.factor[x[keep]], (target, keep)
        self.gather = sparse.csr_array(entries, shape=(len(keys), len(column)))
        rows, cols = np.divmod(keys, width)
        self.timed = places.duration >= 0
        if self.timed:
            rows, cols = np.append(rows, np.arange(m * k)), np.append(cols, np.full(m * k, places.duration))
        self.rows, self.columns = np.concatenate([rows, rows + m * k]), np.tile(cols, 2)
        self.factors = np.ones(len(self.rows))  # they are in ``gather``

    def values(self, evaluation: Evaluation) -> Array:
        """All rows: those with the upper bounds first."""
        change = np.diff(self.sampled.values(evaluation), axis=0) / self.scale
        rows: Array = (change - evaluation.motion.duration * self.bounds).ravel()
        return rows

    def jacobian(self, evaluation: Evaluation, entries: Array) -> None:
        """Derivatives in the order of ``rows`` and ``columns``."""
        by_point, by_duration = pulled(self.sampled, evaluation, self.part)
        slopes = [by_point] if self.sampled.moves else []
        slopes = [x / self.scale[:, None] for x in slopes + self.sampled.curve_slopes(evaluation)]
        values = self.gather @ np.concatenate([y for x in slopes for y in (x[1:].ravel(), -x[:-1].ravel())])
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

    def bend(self, evaluation: Evaluation, multipliers: Array) -> None:
        """The same without the gradient, which only free durations need."""
        self.weigh(evaluation, multipliers)


Block = RowBlock | StepBlock


def pulled(sampled: Sampled, evaluation: Evaluation, part: slice) -> tuple[Array, Array]:
    """Slopes carried back to control points (m, p + 1, k, n) and duration (m, k)."""
    if isinstance(sampled.function, Chained):
        return sampled.function.pull(At(evaluation, part))
    return evaluation.grid.part(part).pull(sampled.slopes(evaluation), evaluation.motion.part(part))


def distinct_parts(grids: Sequence[Array], early: Sequence[bool] | None = None) -> tuple[Array, list[slice]]:
    """All samples one after the other, each grid once, and where each of the grids is.

    A grid that is a run of samples of another is found there; those that are ``early`` come first.

    >>> distinct_parts([np.array([0.5]), np.array([0.0, 0.5, 1.0]), np.array([0.5, 1.0])])
    (array([0. , 0.5, 1. ]), [slice(1, 2, None), slice(0, 3, None), slice(1, 3, None)])
    """
    chosen: list[tuple[bytes, int]] = []
    count, parts = 0, [slice(0, 0)] * len(grids)
    late = [False] * len(grids) if early is None else [not flag for flag in early]
    for k in sorted(range(len(grids)), key=lambda k: (late[k], -len(grids[k]))):
        s = grids[k]
        start = next((first + at for known, first in chosen if (at := _run(known, s.tobytes())) >= 0), count)
        if start == count:
            chosen.append((s.tobytes(), count))
            count += len(s)
        parts[k] = slice(start, start + len(s))
    every = np.concatenate([np.frombuffer(known) for known, _ in chosen]) if chosen else np.zeros(1)
    return every, parts


def _run(known: bytes, wanted: bytes) -> int:
    """Where numbers stand among others; -1 if they do not."""
    at = known.find(wanted)
    while at >= 0 and at % NUMBER:
        at = known.find(wanted, at + 1)
    return at // NUMBER if at >= 0 else -1
