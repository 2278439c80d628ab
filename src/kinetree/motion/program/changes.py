"""Squared changes of functions from instant to instant as a part of the objective.

With r_k = (f(s_k+1) - f(s_k)) / sqrt(dt_k), f(1 + s) as the cycle says, the part is sum_k w . r_k^2. Its
gradient is that of d . f for d = the transposed differences of 2 w r, so it is local; its Hessian is
2 R^T w R + (curvature of d . f), where R are the rows of r.

Where the duration T is free, the part is T^-p V with V that of T = 1: p is 1 for the time integral and 2 for
the mean. Its Hessian is T^-p V'' - (p / T) (g e^T + e g^T) + p (p + 1) / T^2 (T^-p V) e e^T with
g = T^-p V' and e the direction of T.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import Integers
from kinetree.motion.program.blocks import Sampled, UnknownPlaces, pulled
from kinetree.motion.program.evaluation import At, Evaluation
from kinetree.motion.terms.contract import Changes


class ChangeBlock:
    """One such part: function, weights, and which instant comes after which; ``duration`` None is free."""

    def __init__(
        self,
        weight: float,
        changes: Changes,
        part: slice,
        places: UnknownPlaces,
        duration: float | None,
        mean: bool = False,
    ) -> None:
        self.sampled, self.part, self.places = Sampled(changes.function, part, places), part, places
        m, k = len(changes.s), changes.function.size
        self.m, self.k = m, k
        self.after = np.arange(k) if changes.after is None else changes.after
        self.signs = np.ones(k) if changes.signs is None else changes.signs
        self.goes_on = changes.after is not None
        s = np.append(changes.s, 1.0 + changes.s[0]) if self.goes_on else changes.s
        self.power = 0 if duration is not None else 2 if mean else 1
        self.roots = 1.0 / np.sqrt(np.diff(s) * (1.0 if duration is None else duration))
        self.weights = weight * changes.weights
        self._map()

    def _map(self) -> None:
        """Differences as a sparse matrix over all numbers of all instants, (rows, m k)."""
        rows = len(self.roots) * self.k
        step, number = np.divmod(np.arange(rows), self.k)
        last = step == self.m - 1
        there = np.where(last, self.after[number], (step + 1) * self.k + number)
        sign, root = np.where(last, self.signs[number], 1.0), self.roots[step]
        entries = np.concatenate([sign * root, -root])
        here = step * self.k + number
        index = np.concatenate([np.arange(rows)] * 2), np.concatenate([there, here])
        self.differences = sparse.csr_array((entries, index), shape=(rows, self.m * self.k))
        self.back = self.differences.T.tocsr()
        self.row_weights = np.tile(self.weights, len(self.roots))

    def rates(self, at: Evaluation) -> Array:
        """r, one number for each step and number, (steps k,)."""
        return np.asarray(self.differences @ self.sampled.values(at).ravel())

    def _share(self, at: Evaluation) -> float:
        """T^-p, or 1 where the duration is given."""
        return float(at.motion.duration**-self.power)

    def value(self, at: Evaluation) -> float:
        """Its part of the objective."""
        return self._share(at) * float(self.row_weights @ self.rates(at) ** 2)

    def pulls(self, at: Evaluation) -> Array:
        """d, its derivatives by the function's values, (m, k)."""
        d = self.back @ (2.0 * self._share(at) * self.row_weights * self.rates(at))
        return np.asarray(d).reshape(self.m, self.k)

    def gradient(self, at: Evaluation) -> Array:
        """Its derivatives by x, (size,)."""
        d, total = self.pulls(at), np.zeros(len(self.places.place))
        for columns, by_point in self._slopes(at):
            share = np.einsum("mk,mwkn->mwn", d, by_point)
            total += np.bincount(columns.ravel(), share.ravel(), len(total))
        if self.power:
            last = self._duration_place(at)
            total[last] += float(
                (d * self._by_duration(at)).sum()
            ) - self.power / at.motion.duration * self.value(at)
        return total

    def add_by_duration(self, at: Evaluation, factor: float, total: Array) -> None:
        """Add what T^-p adds to second derivatives by T and each of x, times factor, to total (size,)."""
        if not self.power:
            return
        T, p, last = at.motion.duration, self.power, self._duration_place(at)
        value, slopes = self.value(at), self.gradient(at)
        slopes[last] += p / T * value  # those of V alone
        total -= factor * p / T * slopes
        total[last] += factor * (p * (p + 1) / T**2 * value - p / T * slopes[last])

    def _by_duration(self, at: Evaluation) -> Array:
        """Derivatives of the function's values by T, (m, k)."""
        if not self.sampled.moves:
            return np.zeros((self.m, self.k))
        return pulled(self.sampled, at, self.part)[1]

    def _duration_place(self, at: Evaluation) -> int:
        return at.instants.unknowns.duration_place

    def weigh(self, at: Evaluation, factor: float) -> None:
        """Leave the curvature of d . f in the evaluation, without the squares."""
        d = factor * self.pulls(at)
        self.sampled.weigh(at, d)

    def bend(self, at: Evaluation, factor: float) -> None:
        """The same without its gradient, which only free durations need."""
        self.sampled.function.bend(At(at, self.part), factor * self.pulls(at))

    def _slopes(self, at: Evaluation) -> list[tuple[Integers, Array]]:
        """Places in x (m, w, numbers) and derivatives (m, w, k, numbers) by them, block by block."""
        columns, curves = self.places.entries(self.sampled)
        found = [] if columns is None else [(columns, pulled(self.sampled, at, self.part)[0])]
        return [*found, *zip(curves, self.sampled.curve_slopes(at), strict=True)]

    def rows(self, at: Evaluation, n: int) -> Array:
        """Derivatives of r by z, (steps k, n)."""
        dense = np.zeros((self.m, self.k, n + 1))
        samples, numbers = np.arange(self.m)[:, None, None], np.arange(self.k)[None, :, None]
        for columns, by_point in self._slopes(at):
            place, factor = self.places.place[columns], self.places.factor[columns]
            for w in range(place.shape[1]):
                share = by_point[:, w] * factor[:, w, None]
                np.add.at(dense, (samples, numbers, place[:, w, None]), share)
        if self.power:
            dense[:, :, self.places.duration] += self._by_duration(at)
        flat = dense[:, :, :n].reshape(self.m * self.k, n)
        return np.asarray(self.differences @ flat)

    def squares(self, at: Evaluation, n: int) -> Array:
        """2 R^T w R, (n, n)."""
        R = self.rows(at, n)
        return np.asarray((R.T * (2.0 * self._share(at) * self.row_weights)) @ R)

    def keys(self) -> Integers:
        """Places row n + column of the lower triangle that can differ from zero."""
        columns, curves = self.places.entries(self.sampled)
        every = [x.reshape(self.m, -1) for x in ([] if columns is None else [columns]) + curves]
        place = self.places.place[np.concatenate(every, axis=1)]
        after = np.roll(place, -1, axis=0) if self.goes_on else place[1:]
        both = np.concatenate([place[: len(after)], after], axis=1)
        occurs = np.zeros((self.places.size, self.places.size), dtype=bool)
        for row in both:
            own = np.unique(row[row >= 0])
            occurs[np.ix_(own, own)] = True
        if self.power:
            occurs[self.places.duration] = occurs[:, self.places.duration] = True
        return np.flatnonzero(np.tril(occurs))
