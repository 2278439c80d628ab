"""Accelerations and ground forces of one tick from rows of tasks and equations."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.control.walking.compiled.least_squares import assemble, compiled, eliminate, torques
from kinetree.model.tree import Integers

CENTER = -1  # the "body" of rows that concern the center of mass
COORDINATE = -2  # minus k: the "body" of the row of the coordinate k


class Solver:
    """Rows of one tick, and what they lead to; memory is kept from tick to tick."""

    def __init__(self, moving: Integers, n_base: int, rows: int, forces: int, light: float) -> None:
        self.moving, self.n_base = np.ascontiguousarray(moving, dtype=np.int64), n_base
        self.light = light
        n = len(self.moving)
        most = n + forces + n_base + rows
        self._K, self._b, self._row = np.zeros((most, most)), np.zeros(most), np.zeros(n)
        self.body, self.part = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        self.direction, self.aim, self.weight = np.zeros((rows, 3)), np.zeros(rows), np.zeros(rows)
        self.count = 0

    def begin(self) -> None:
        """No rows yet."""
        self.count = 0

    def add(self, body: int, part: int, directions: Array, aims: Array, weight: float) -> None:
        """Rows directions @ J[body, part:part + 3] qdd = aims, (k, 3) and (k,); weight 0: equations."""
        first, last = self.count, self.count + len(aims)
        self.body[first:last], self.part[first:last] = body, part
        self.direction[first:last, : directions.shape[1]] = directions
        self.direction[first:last, directions.shape[1] :] = 0.0
        self.aim[first:last], self.weight[first:last] = aims, weight
        self.count = last

    def add_coordinates(self, places: Integers, aims: Array, weight: float) -> None:
        """Rows qdd[places] = aims, (k,)."""
        first, last = self.count, self.count + len(aims)
        self.body[first:last], self.part[first:last] = COORDINATE - places, 0
        self.direction[first:last] = 0.0
        self.aim[first:last], self.weight[first:last] = aims, weight
        self.count = last

    def solve(self, M: Array, h: Array, J: Array, G: Array, usual: Array) -> tuple[Array, Array] | None:
        """Torques (n_dof,) and forces (k,); None if there is no solution."""
        rows = slice(0, self.count)
        found = compiled(assemble)(
            M, h, self.moving, self.n_base, J, self.body[rows], self.part[rows], self.direction[rows],
            self.aim[rows], self.weight[rows], G, usual, self.light, self._K, self._b, self._row,
        )  # fmt: skip
        n, k = len(self.moving), len(G)
        if compiled(eliminate)(self._K, self._b, n + k + found):
            return None
        tau = np.zeros(len(h))
        compiled(torques)(M, h, self.moving, self.n_base, G, self._b, tau)
        return tau, self._b[n : n + k].copy()
