"""Linear conditions before solving: what they fix, tie or bound, what they leave, where they contradict.

Every unknown becomes x = x0 + factor z[place]: a constant, or a multiple of one of the free unknowns z.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import Integers
from kinetree.errors import InputError
from kinetree.motion.terms.contract import LinearRows, unit_of

SAME = 1e-9
ROUNDING = 1e-14  # coefficients that are left where equal ones cancel
Flags = NDArray[np.bool_]


@dataclass(eq=False)
class Linear:
    """What is left of linear conditions: lower <= matrix z <= upper and bounds of z, and x as a map of z.

    x = ``x`` + ``factor`` z[``place``], (size,) each; place is -1 where an unknown is fixed. ``free`` marks
    the unknowns that are z themselves. ``source`` (rows, 2) says where each row comes from: which condition,
    which row in it. ``z_lower`` and ``z_upper`` bound z.
    """

    matrix: sparse.csr_array
    lower: Array
    upper: Array
    x: Array
    free: Flags
    source: Integers
    place: Integers
    factor: Array
    z_lower: Array
    z_upper: Array

    @cached_property
    def linked(self) -> Integers | None:
        """Unknowns that follow a free one; None if each free one is followed by itself alone."""
        found = np.flatnonzero(self.place >= 0)
        alone = len(found) == int(self.free.sum()) and (self.factor[found] == 1.0).all()
        return None if alone else found

    def reduced(self, x: Array) -> Array:
        """z from x (size,), of which those that are free count."""
        return (x[self.free] - self.x[self.free]) / self.factor[self.free]

    def unknowns(self, z: Array) -> Array:
        """x (size,) from z."""
        x = self.x.copy()
        if self.linked is None:
            x[self.free] = z
        else:
            x[self.linked] += self.factor[self.linked] * z[self.place[self.linked]]
        return x

    def carried(self, by_x: Array) -> Array:
        """Derivatives by z from those by x, (size,)."""
        if self.linked is None:
            return by_x[self.free]
        some = self.linked
        share = self.factor[some] * by_x[some]
        return np.asarray(np.bincount(self.place[some], share, len(self.z_lower)), dtype=np.float64)


def presolved(
    conditions: Sequence[LinearRows],
    size: int,
    fixed: dict[int, float],
    bounds: tuple[Array, Array] | None = None,
    sizes: Array | None = None,
) -> Linear:
    """Fix every unknown that equations with one unknown determine, again and again; check what is left.

    Conditions that say ``eliminate`` tie unknowns, if they are equations of two, and bound them, if they are
    inequalities of one. ``fixed`` are unknowns that are given, ``bounds`` (size,) those of x, and ``sizes``
    (size,) what 1 of z stands for. Raises InputError where conditions contradict each other.
    """
    columns, values, lower, upper, source = _stacked(conditions)
    gone = np.array([rows.eliminate for rows in conditions], dtype=bool)[source[:, 0]]
    ties = _Ties(size)
    used = ties.follow(columns, values, lower, gone & (lower == upper))
    if used.any():
        lower, upper = (side - (values * ties.shift[columns]).sum(axis=1) for side in (lower, upper))
        columns, values = _merged(ties.root[columns], values * ties.factor[columns])
    x, known = np.zeros(size), np.zeros(size, dtype=bool)
    for k, value in fixed.items():
        root = ties.root[k]
        x[root], known[root] = (value - ties.shift[k]) / ties.factor[k], True
    used |= _fix_unknowns(columns, values, lower, (lower == upper) & ~used, x, known)
    open_entries = ~known[columns] & (values != 0.0)
    count = open_entries.sum(axis=1)
    constant = (values * x[columns]).sum(axis=1)
    _check_constants(conditions, source, constant, lower, upper, (count == 0) & ~used)
    low, high = (np.array(side) for side in bounds or (np.full(size, -np.inf), np.full(size, np.inf)))
    ties.gather(low, high)
    single = np.flatnonzero(gone & (count == 1) & ~used)
    entry = open_entries[single].argmax(axis=1)
    sides = ((side - constant)[single] for side in (lower, upper))
    _bound(low, high, columns[single, entry], values[single, entry], *sides)
    used[single] = True
    keep = (count > 0) & ~used & (np.isfinite(lower) | np.isfinite(upper))
    is_root = ties.root == np.arange(size)
    free = is_root & ~known
    number = np.cumsum(free) - 1
    row, place = np.nonzero(open_entries[keep])
    own, unit = columns[keep][row, place], np.ones(size) if sizes is None else sizes
    entries = values[keep][row, place] * unit[own], (row, number[own])
    fixes = known[ties.root]
    return Linear(
        sparse.csr_array(entries, shape=(int(keep.sum()), int(free.sum()))),
        (lower - constant)[keep],
        (upper - constant)[keep],
        ties.shift + np.where(fixes, ties.factor * x[ties.root], 0.0),
        free,
        source[keep],
        np.where(fixes, -1, number[ties.root]),
        ties.factor * unit[ties.root],
        low[free] / unit[free],
        high[free] / unit[free],
    )


class _Ties:
    """Unknowns that follow others: x = shift + factor x[root]."""

    def __init__(self, size: int) -> None:
        self.root, self.factor, self.shift = np.arange(size), np.ones(size), np.zeros(size)

    def follow(self, columns: Integers, values: Array, target: Array, wanted: Flags) -> Flags:
        """Use up the wanted equations of two unknowns; the later unknown follows the earlier."""
        used = np.zeros(len(columns), dtype=bool)
        for r in np.flatnonzero(wanted & ((values != 0.0).sum(axis=1) == 2)):
            i, j = columns[r, values[r] != 0.0]
            a, b = values[r, values[r] != 0.0]
            p, q = self.root[i], self.root[j]
            if p == q:
                continue
            a, b, c = (
                a * self.factor[i],
                b * self.factor[j],
                target[r] - a * self.shift[i] - b * self.shift[j],
            )
            if p > q:
                p, q, a, b = q, p, b, a
            own = self.root == q  # x[q] = c / b - (a / b) x[p]
            self.shift[own] += self.factor[own] * (c / b)
            self.factor[own] *= -a / b
            self.root[own] = p
            used[r] = True
        return used

    def gather(self, low: Array, high: Array) -> None:
        """Bounds of all that follows an unknown become bounds of that unknown."""
        others = np.flatnonzero(self.root != np.arange(len(self.root)))
        lower, upper = low[others] - self.shift[others], high[others] - self.shift[others]
        _bound(low, high, self.root[others], self.factor[others], lower, upper)


def _bound(low: Array, high: Array, columns: Integers, values: Array, lower: Array, upper: Array) -> None:
    """Narrow bounds of unknowns so that lower <= values x[columns] <= upper."""
    a, b = lower / values, upper / values
    np.maximum.at(low, columns, np.minimum(a, b))
    np.minimum.at(high, columns, np.maximum(a, b))


def _merged(columns: Integers, values: Array) -> tuple[Integers, Array]:
    """The same rows with entries of the same unknown added into the first of them."""
    order = np.argsort(columns, axis=1, kind="stable")
    columns, values = np.take_along_axis(columns, order, 1), np.take_along_axis(values, order, 1)
    for k in range(columns.shape[1] - 1, 0, -1):
        same = columns[:, k] == columns[:, k - 1]
        values[same, k - 1] += values[same, k]
        values[same, k] = 0.0
    values[np.abs(values) < ROUNDING] = 0.0
    return columns, values


def _stacked(conditions: Sequence[LinearRows]) -> tuple[Integers, Array, Array, Array, Integers]:
    """All rows with the same width: padded with zeros."""
    counts = [len(rows.columns) for rows in conditions]
    width = max((rows.columns.shape[1] for rows in conditions), default=1)
    columns, values = np.zeros((sum(counts), width), dtype=np.int64), np.zeros((sum(counts), width))
    source, start = np.zeros((sum(counts), 2), dtype=np.int64), 0
    for c, (rows, count) in enumerate(zip(conditions, counts, strict=True)):
        own, used = slice(start, start + count), rows.columns.shape[1]
        columns[own, :used], values[own, :used] = rows.columns, rows.values
        source[own, 0], source[own, 1] = c, np.arange(count)
        start += count
    lower = np.concatenate([np.zeros(0), *(rows.lower for rows in conditions)])
    upper = np.concatenate([np.zeros(0), *(rows.upper for rows in conditions)])
    return columns, values, lower, upper, source


def _fix_unknowns(
    columns: Integers, values: Array, target: Array, waiting: Flags, x: Array, known: Flags
) -> Flags:
    """Solve equations with one unknown until there are none; returns which rows were used up."""
    used = np.zeros(len(columns), dtype=bool)
    while True:
        unknown = ~known[columns] & (values != 0.0)
        ready = waiting & ~used & (unknown.sum(axis=1) == 1)
        if not ready.any():
            return used
        rows = np.flatnonzero(ready)
        entry = unknown[rows].argmax(axis=1)
        wanted = columns[rows, entry]
        _, first = np.unique(wanted, return_index=True)  # if two rows determine one unknown, check the second
        rows, entry, wanted = rows[first], entry[first], wanted[first]
        missing = target[rows] - (values[rows] * x[columns[rows]]).sum(axis=1)
        x[wanted] = missing / values[rows, entry]
        known[wanted] = True
        used[rows] = True


def _check_constants(
    conditions: Sequence[LinearRows],
    source: Integers,
    constant: Array,
    lower: Array,
    upper: Array,
    fixed: Flags,
) -> None:
    """Rows without unknowns must hold."""
    room = SAME * np.maximum(1.0, np.abs(constant))
    bad = np.flatnonzero(fixed & ((lower - constant > room) | (constant - upper > room)))
    if len(bad):
        r = bad[0]
        rows, k = conditions[source[r, 0]], int(source[r, 1])
        if lower[r] == upper[r]:
            wanted = f"must be {lower[r]:g}"
        else:
            wanted = f"allows {lower[r]:g} to {upper[r]:g}"
        unit = unit_of(rows, k % len(rows.labels))
        raise InputError(
            f"{described(rows, k)} {wanted} {unit}, but other conditions make it {constant[r]:g}: terms "
            f"contradict each other"
        )


def described(rows: LinearRows, r: int) -> str:
    """Which condition a row is, in words."""
    k = len(rows.labels)
    return f"{rows.family}, {rows.labels[r % k]} at s = {rows.s[r // k]:g}"
