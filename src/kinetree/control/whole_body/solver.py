"""The least squares of one tick of a law, for tasks and contacts that are given as rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.control.whole_body.compiled.least_squares import ROW, compiled_least_squares
from kinetree.errors import SimulationError
from kinetree.model.tree import Flags, Integers


class Contacts(NamedTuple):
    """Forces of the ground that a law counts on, along ``rows`` (k, n_dof) of Jacobians, near ``usual`` (k,).

    Each acts at one of the points ``point`` (k,); those that are ``normal`` (k,) must not pull.
    """

    rows: Array
    usual: Array
    point: Integers
    normal: Flags

    def without(self, points: Integers) -> Contacts:
        """The contacts at all other points."""
        kept = ~np.isin(self.point, points)
        return Contacts(self.rows[kept], self.usual[kept], self.point[kept], self.normal[kept])


class LeastSquares:
    """The least squares of a law for a mechanism whose coordinates ``moving`` (n,) move, the base's first."""

    def __init__(self, moving: Integers, n_base: int, small: float, light: float, soft: float) -> None:
        """Prices ``small`` of accelerations and ``light`` of forces; ``soft`` are the equations."""
        self._moving, self._n_base = np.ascontiguousarray(moving, np.int64), n_base
        self._prices = np.array([small, light, soft])

    def solve(
        self, M: Array, h: Array, rows: Array, contacts: Contacts, J: Array | None, few: Array | None
    ) -> tuple[Array, Array, Array]:
        """Accelerations (n,), forces (k,) near the usual ones of the contacts, and torques (n_dof,).

        ``rows`` (r, n_dof + 2) of tasks are :meth:`TaskRows.dense`; rows ``few`` (m, 7) choose rows of the
        Jacobians ``J`` (bodies, 6, n_dof).
        """
        J, few = (np.zeros((0, 6, len(h))), np.zeros((0, ROW))) if J is None or few is None else (J, few)
        n, k = len(self._moving), len(contacts.usual)
        size = n + k + self._n_base + len(rows) + len(few)
        K, b, tau = np.zeros((size, size)), np.zeros(size), np.zeros(len(h))
        failed = compiled_least_squares()(
            M, h, self._moving, self._n_base, J, few, rows, np.ascontiguousarray(contacts.rows),
            contacts.usual, self._prices, K, b, np.zeros(n), tau,
        )  # fmt: skip
        if failed:
            raise SimulationError("the tasks of the law have no solution in numbers")
        return b[:n], b[n : n + k], tau
