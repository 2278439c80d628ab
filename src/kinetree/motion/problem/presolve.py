"""Linear conditions before solving: what they fix, what they leave, and where they contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import Integers
from kinetree.errors import InputError
from kinetree.motion.terms.contract import LinearRows, unit_of

SAME = 1e-9
Flags = NDArray[np.bool_]


@dataclass(eq=False)
class Linear:
    """What is left of linear conditions: lower <= matrix x_free <= upper, and the unknowns that are fixed.

    ``x`` (size,) has the values of the fixed unknowns and zero elsewhere; ``source`` (rows, 2) says where
    each row comes from: which condition, which row in it.
    """

    matrix: sparse.csr_array
    lower: Array
    upper: Array
    x: Array
    free: Flags
    source: Integers


def presolved(conditions: Sequence[LinearRows], size: int, fixed: dict[int, float]) -> Linear:
    """Fix every unknown that equations with one unknown determine, again and again; check what is left.

    ``fixed`` are unknowns that are given. Raises InputError where conditions contradict each other.
    """
    x, known = np.zeros(size), np.zeros(size, dtype=bool)
    for k, value in fixed.items():
        x[k], known[k] = value, True
    columns, values, lower, upper, source = _stacked(conditions)
    used = _fix_unknowns(columns, values, lower, lower == upper, x, known)
    open_entries = ~known[columns] & (values != 0.0)
    live = open_entries.any(axis=1)
    constant = (values * x[columns]).sum(axis=1)
    _check_constants(conditions, source, constant, lower, upper, ~live & ~used)
    keep = live & ~used & (np.isfinite(lower) | np.isfinite(upper))
    place = np.cumsum(~known) - 1
    row, entry = np.nonzero(open_entries[keep])
    shape = int(keep.sum()), int((~known).sum())
    if shape[0] == 0:
        matrix = sparse.csr_array(shape)
    else:
        entries = values[keep][row, entry], (row, place[columns[keep][row, entry]])
        matrix = sparse.csr_array(entries, shape=shape)
    return Linear(matrix, (lower - constant)[keep], (upper - constant)[keep], x, ~known, source[keep])


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
            wanted = f"asks for {lower[r]:g}"
        else:
            wanted = f"allows {lower[r]:g} to {upper[r]:g}"
        unit = unit_of(rows, k % len(rows.labels))
        raise InputError(
            f"{described(rows, k)} {wanted} {unit}, but other conditions make it {constant[r]:g}: "
            f"two terms contradict each other"
        )


def described(rows: LinearRows, r: int) -> str:
    """Which condition a row is, in words."""
    k = len(rows.labels)
    return f"{rows.family}, {rows.labels[r % k]} at s = {rows.s[r // k]:g}"
