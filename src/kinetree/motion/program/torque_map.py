"""Derivatives of all generalized forces by the free unknowns, sample by sample, and what is made of them.

Limits of torques, supports, efforts and torque rates are linear in the forces tau at a sample or convex in
them, so rows, their products with vectors and the squares that Newton's matrix is made of are those of
A = dtau/dz with weights: J^T w J = sum_k A_k^T (C_k^T w_k C_k) A_k. Samples of one segment touch the same
unknowns, so their squares are one product of full matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.linalg import blas

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import Integers
from kinetree.motion.compiled.blocks import (
    add_square,
    chained_rows,
    compiled,
    linked_rows,
    pull_curve,
    pull_motion,
    transposed,
)
from kinetree.motion.problem.presolve import Linear
from kinetree.motion.problem.unknowns import Instants
from kinetree.motion.program.blocks import UnknownPlaces
from kinetree.motion.program.evaluation import Evaluation


class TorqueMap:
    """Which unknowns forces at the first ``count`` samples depend on: ``columns`` (count, l), -1: none."""

    def __init__(
        self, instants: Instants, places: UnknownPlaces, linear: Linear, curves: Sequence[str], count: int
    ) -> None:
        self.count, self.n, self.curve_names = count, len(linear.z_lower), list(curves)
        self._kept: tuple[Array, Array] | None = None
        first = instants.grid.first[:count]
        change = np.flatnonzero(np.diff(first)) + 1
        ends = np.concatenate([[0], change, [count]])
        self.runs = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        own = [places.columns[:count]] + [places.curves[name][:count] for name in curves]
        place = [places.place[x] for x in own]
        factors = [places.factor[x] for x in own]
        known = []
        for run in self.runs:
            used = np.concatenate([x[run].ravel() for x in place])
            known.append(np.unique(used[used >= 0]))
        self.run_stretches = [stretches(x) for x in known]
        self.last = np.isin(np.arange(count), ends[1:] - 1).astype(np.int64)
        length = max(len(x) for x in known)
        self.run_columns = [np.pad(x, (0, length - len(x)), constant_values=-1) for x in known]
        self.columns = np.empty((count, length), dtype=np.int64)
        self.local = [np.full(x.shape, -1) for x in place]
        for run, found, padded in zip(self.runs, known, self.run_columns, strict=True):
            self.columns[run] = padded
            for local, x in zip(self.local, place, strict=True):
                local[run] = np.where(x[run] >= 0, np.searchsorted(found, x[run]), -1)
        self.run_of_sample = np.repeat(np.arange(len(self.runs)), np.diff(ends))
        self._starts, self._leads = ends[:-1], dict[bool, Integers]()
        self.factors = [np.ascontiguousarray(x) for x in factors]
        self.weights = instants.grid.weights[:count]
        self.curve_weights = [np.ascontiguousarray(instants.curves[name].weights[:count]) for name in curves]

    def rows(self, at: Evaluation) -> Array:
        """A = dtau/dz, (count, forces, l)."""
        slopes, whole = at.torque_slopes
        if whole not in self._leads:
            source = at.mechanics.moving if whole else np.arange(slopes.shape[3])
            self._leads[whole] = _leads(self.local[0][self._starts], source)
        A = np.zeros((self.count, slopes.shape[2], self.columns.shape[1]))
        leads = self._leads[whole], self.run_of_sample, self.factors[0]
        compiled(pull_motion)(slopes, self.weights, at.motion.duration, *leads, A)
        by_curve = at.torque_curves
        parts = zip(self.curve_names, self.curve_weights, self.local[1:], self.factors[1:], strict=True)
        for name, weights, local, factor in parts:
            compiled(pull_curve)(np.ascontiguousarray(by_curve[name]), weights, local, factor, A)
        return A

    def times(self, A: Array, d: Array) -> Array:
        """A d, (count, forces)."""
        out, padded = np.empty(A.shape[:2]), np.append(d, 0.0)  # -1 is the last place
        for run, columns in zip(self.runs, self.run_columns, strict=True):
            np.matmul(A[run], padded[columns], out=out[run])
        return out

    def transposed(self, A: Array, y: Array) -> Array:
        """A^T y for y (count, forces), (n,)."""
        out = np.zeros(self.n)
        compiled(transposed)(A, self.columns, self.last, y, np.empty(A.shape[2]), out)
        return out

    def dense(self, A: Array, sample: int, matrix: Array) -> Array:
        """Rows matrix (r, forces) A at one sample over all unknowns, (r, n)."""
        found = np.zeros((len(matrix), self.n + 1))
        found[:, self.columns[sample]] = matrix @ A[sample]
        return found[:, : self.n]

    def add_squares(self, A: Array, form: SquaredForces, H: Array) -> None:
        """Add the squares of a form to the lower triangle of H (n, n) in Fortran order."""
        length, forces = A.shape[2], A.shape[1]
        longest = max(run.stop - run.start for run in self.runs)
        most = longest * (forces + sum(C.shape[1] for _, C, _ in form.combined))
        room = self._room(max(most, forces), max([length, *(len(x.columns) for x in form.between)]))
        for run, columns, own in zip(self.runs, self.run_columns, self.run_stretches, strict=True):
            size = run.stop - run.start
            X, S = room[0][: most * length].reshape(most, length), room[1][: length**2]
            used = compiled(chained_rows)(A, run.start, run.stop, form.weights, form.links, X)
            for rows, C, w in form.combined:
                if not w[run].any():
                    continue
                count = size * C.shape[1]
                scaled = np.sqrt(w[run])[:, :, None] * C[run]
                np.matmul(scaled, A[run][:, rows], out=X[used : used + count].reshape(size, -1, length))
                used += count
            compiled(add_square)(_square(X[:used], S), columns, own, H.T)
        for link in form.between:
            link.add(A, form.scale, room, H)

    def _room(self, rows: int, length: int) -> tuple[Array, Array]:
        """Memory for rows and their squares, kept from call to call."""
        if self._kept is None or self._kept[0].size < rows * length or self._kept[1].size < length**2:
            self._kept = np.empty(rows * length), np.empty(length**2)
        return self._kept


def _square(X: Array, S: Array) -> Array:
    """The upper triangle of X^T X, (l, l), in the memory of S (l l,)."""
    length = X.shape[1]
    out = S.reshape(length, length).T
    square: Array = blas.dsyrk(1.0, X.T, beta=0.0, c=out, lower=1, overwrite_c=1).T
    return square


def _leads(local: Integers, source: Integers) -> Integers:
    """What `pull_motion` asks for, (runs, w, k, 4), of columns local (runs, w, n) and places in slopes."""
    before, last = np.roll(local, 1, axis=-1), np.roll(source, 1)
    before[..., 0] = -1
    begins = (local >= 0) & ((before < 0) | (local != before + 1) | (source != last + 1))
    number = np.cumsum(begins, axis=-1) - 1
    found = np.zeros((*local.shape[:2], max(1, int(begins.sum(axis=-1).max())), 4), dtype=np.int64)
    for r, b, h in np.argwhere(begins).tolist():
        k = number[r, b, h]
        count = int(((number[r, b] == k) & (local[r, b] >= 0)).sum())
        found[r, b, k] = h, h + count, local[r, b, h], source[h]
    return found


def stretches(columns: Integers) -> Integers:
    """Where ascending columns (l,) have no gap: first, after the last, and the first column, (k, 3)."""
    begin = np.flatnonzero(np.diff(columns, prepend=-2) != 1)
    return np.stack([begin, np.append(begin[1:], len(columns)), columns[begin]], axis=1)


class SquaredForces:
    """A sum of squares of forces: of each at each sample, of changes to the next, of combinations."""

    def __init__(self, count: int, forces: int) -> None:
        self.weights, self.links, self.scale = np.zeros((count, forces)), np.zeros((count, forces)), 1.0
        self.combined: list[tuple[Integers, Array, Array]] = []  # rows, matrices (m, k, r), weights (m, k)
        self.between: list[SquaredChanges] = []


class SquaredChanges:
    """Squared changes of forces between two samples whose unknowns differ."""

    def __init__(
        self, map: TorqueMap, here: int, there: int, after: Integers, sign: Array, weight: Array
    ) -> None:
        self.here, self.there, self.after, self.sign = here, there, after, sign
        self.root = np.sqrt(weight)
        a, b = map.columns[here], map.columns[there]
        self.columns = np.unique(np.concatenate([a[a >= 0], b[b >= 0]]))
        self.stretches = stretches(self.columns)
        self.near, self.far = (
            np.where(x >= 0, np.searchsorted(self.columns, np.maximum(x, 0)), -1) for x in (a, b)
        )

    def add(self, A: Array, scale: float, room: tuple[Array, Array], H: Array) -> None:
        """Add its squares, times scale, to the lower triangle of H."""
        forces, length = len(self.root), len(self.columns)
        X, S = room[0][: forces * length].reshape(forces, length), room[1][: length**2]
        X[:] = 0.0
        root = np.sqrt(scale) * self.root
        compiled(linked_rows)(A, self.here, self.there, self.after, self.sign, root, self.near, self.far, X)
        compiled(add_square)(_square(X, S), self.columns, self.stretches, H.T)
