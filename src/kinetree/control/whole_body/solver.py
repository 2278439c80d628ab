"""The least squares of one tick of a law, for tasks and forces that are given as rows."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.control.whole_body.compiled.least_squares import ROW, compiled_least_squares
from kinetree.control.whole_body.task import TaskRows
from kinetree.errors import SimulationError
from kinetree.model.tree import Integers


class LeastSquares:
    """The least squares of a law for a mechanism whose coordinates ``moving`` (n,) move, the base's first."""

    def __init__(self, moving: Integers, n_base: int, small: float, light: float, soft: float) -> None:
        """Prices ``small`` of accelerations and ``light`` of forces; ``soft`` are the equations."""
        self._moving, self._n_base = np.ascontiguousarray(moving, np.int64), n_base
        self._prices = np.array([small, light, soft])

    def solve(
        self, M: Array, h: Array, tasks: TaskRows, G: Array, usual: Array
    ) -> tuple[Array, Array, Array]:
        """Accelerations (n,), forces (k,) near ``usual`` ones, and torques (n_dof,).

        ``G`` (k, n_dof): rows of the Jacobians of the points at which the forces act.
        """
        n, k, rows = len(self._moving), len(G), tasks.dense()
        size = n + k + self._n_base + len(rows)
        K, b, tau = np.zeros((size, size)), np.zeros(size), np.zeros(len(h))
        failed = compiled_least_squares()(
            M, h, self._moving, self._n_base, np.zeros((0, 6, len(h))), np.zeros((0, ROW)), rows,
            np.ascontiguousarray(G), usual, self._prices, K, b, np.zeros(n), tau,
        )  # fmt: skip
        if failed:
            raise SimulationError("the tasks of the law have no solution in numbers")
        return b[:n], b[n : n + k], tau
