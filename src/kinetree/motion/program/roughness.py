"""How rough a motion is: a quadratic form of its control points that prices what an objective leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import Integers

if TYPE_CHECKING:
    from kinetree.motion.program.program import Program

GAUSS = 3  # points in each span of the splines: exact up to degree 4


class Roughness:
    """R = int_0^1 sum_j (d2 q_j / ds2 / size_j)^2 ds over s = t / T, for some of the joints with splines.

    It does not depend on the duration, and its second derivatives are constant: R = 1/2 z . A z + b . z + c
    in the free unknowns z of a program. ``sizes`` (rad, m) are those of the joints that count, by column.
    """

    def __init__(self, program: Program, sizes: Mapping[int, float]) -> None:
        setting, linear = program.setting, program.linear
        unknowns, basis, size = setting.unknowns, setting.profiles.basis, setting.unknowns.size
        x, w = np.polynomial.legendre.leggauss(GAUSS)
        begin, width = basis.breaks[:-1, None], np.diff(basis.breaks)[:, None]
        grid = setting.profiles.at((begin + width * (x + 1.0) / 2.0).ravel())
        known = np.isin(grid.first, program.grid.first)  # spans without a sample have no place in the Hessian
        root = np.sqrt((width * w).ravel() / 2.0)[known]
        second = root[:, None] * grid.weights[known, 2]
        points = unknowns.points(grid.points[known][:, :, None], np.array([*sizes], dtype=np.int64))
        m, _, n = points.shape
        row = np.broadcast_to(np.arange(m)[:, None, None] * n + np.arange(n), points.shape)
        entries = second[:, :, None] / np.array([*sizes.values()])
        bend = sparse.csr_array((entries.ravel(), (row.ravel(), points.ravel())), shape=(m * n, size))
        follows = np.flatnonzero(linear.place >= 0)
        places = follows, linear.place[follows]
        spread = sparse.csr_array((linear.factor[follows], places), shape=(size, program.n))
        by_unknown = (bend @ spread).tocsr()
        offset = bend @ linear.unknowns(np.zeros(program.n))
        self.A = (2.0 * (by_unknown.T @ by_unknown)).tocsr()
        self.b = 2.0 * (by_unknown.T @ offset)
        self.c = float(offset @ offset)

    def value(self, z: Array) -> float:
        """R, without a unit."""
        return max(0.0, float(0.5 * (z @ (self.A @ z)) + self.b @ z + self.c))

    def slope(self, z: Array) -> Array:
        """dR/dz."""
        slope: Array = self.A @ z + self.b
        return slope

    def entries(self, rows: Integers, columns: Integers) -> Array:
        """d2R/dz2 at some places."""
        return np.asarray(self.A[rows, columns], dtype=np.float64).ravel()

    def matrix(self) -> Array:
        """d2R/dz2, (n, n), in Fortran order."""
        return np.asfortranarray(self.A.toarray())
