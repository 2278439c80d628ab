"""The rows of a program at one point, as a linear map: applied, transposed, condensed to squares.

Solvers ask for products, not for entries, so a program is free to store its Jacobian as it likes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import Integers
from kinetree.motion.compiled.condensed import add_squares, compiled, times, transposed_times


class Linearized(ABC):
    """J = dg/dz (m, n) at a point, and the Gauss-Newton part of the objective's Hessian there."""

    @abstractmethod
    def times(self, d: Array) -> Array:
        """J d, (m,)."""

    @abstractmethod
    def transposed(self, y: Array) -> Array:
        """J^T y, (n,)."""

    @abstractmethod
    def chosen(self, rows: Integers) -> Array:
        """Some of the rows as a full matrix, (k, n)."""

    @abstractmethod
    def condensed(self, weight: Array) -> Array:
        """Gauss-Newton Hessian of f plus J^T weight J for weights (m,) of the rows, none negative.

        A new matrix (n, n) in Fortran order, of which the lower triangle counts.
        """


class SortedEntries:
    """Places of a sparse Jacobian, sorted by row: row r has the entries starts[r] ... starts[r + 1] - 1."""

    def __init__(self, n: int, m: int, rows: Integers, columns: Integers) -> None:
        self.n, self.m = n, m
        self.order = np.argsort(rows.astype(np.int64) * n + columns)
        self.columns = columns[self.order].astype(np.int64)
        self.starts = np.searchsorted(rows[self.order], np.arange(m + 1))

    def of_rows(self, rows: Integers) -> tuple[Integers, Integers]:
        """Which entries some rows have: the number of each one's row among them, and its place."""
        begin, count = self.starts[rows], self.starts[rows + 1] - self.starts[rows]
        number = np.repeat(np.arange(len(rows)), count)
        return number, np.arange(len(number)) + np.repeat(begin - np.cumsum(count) + count, count)


class SparseLinearized(Linearized):
    """Rows stored one by one: for programs that know nothing better.

    ``entries`` are those of the Jacobian in the program's order, ``gauss_newton`` makes the objective's part.
    """

    def __init__(self, places: SortedEntries, entries: Array, gauss_newton: Callable[[], Array]) -> None:
        self.places, self._gauss_newton = places, gauss_newton
        self.values = entries[places.order]
        self._rows = (self.values, places.starts, places.columns)

    def times(self, d: Array) -> Array:
        """J d, (m,)."""
        product = np.empty(self.places.m)
        compiled(times)(*self._rows, d, product)
        return product

    def transposed(self, y: Array) -> Array:
        """J^T y, (n,)."""
        total = np.zeros(self.places.n)
        compiled(transposed_times)(*self._rows, y, total)
        return total

    def chosen(self, rows: Integers) -> Array:
        """Some of the rows as a full matrix, (k, n)."""
        J, (k, own) = np.zeros((len(rows), self.places.n)), self.places.of_rows(rows)
        J[k, self.places.columns[own]] = self.values[own]
        return J

    def condensed(self, weight: Array) -> Array:
        """Gauss-Newton Hessian of f plus J^T weight J, lower triangle, Fortran order."""
        H = self._gauss_newton()
        self.add_squares(weight, H)
        return H

    def add_squares(self, weight: Array, H: Array) -> None:
        """Add J^T weight J to the lower triangle of H, in Fortran order."""
        compiled(add_squares)(*self._rows, weight, H.T)
