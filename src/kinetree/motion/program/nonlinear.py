"""What a solver is given: minimize f(z) subject to lower <= g(z) <= upper and bounds of z itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import Integers
from kinetree.motion.program.linearized import Linearized, SortedEntries, SparseLinearized


class NonlinearProgram(ABC):
    """n unknowns z, m rows g, sparse derivatives whose places never change.

    Entries of the Jacobian are at (``jacobian_rows``, ``jacobian_columns``), those of the Hessian's lower
    triangle at (``hessian_rows``, ``hessian_columns``). ``scale`` is what the objective is multiplied by,
    ``durations`` are the unknowns that are times (s), ``squares`` says whether f is a sum of squares.

    f has a small price on roughness where a problem asks for one, so that directions that its objective
    leaves open have an optimum, too: ``smoothing``, in units of the objective. ``easing`` is a further weight
    of roughness in the scaled f, which a search may use on its way and takes away in the end.
    """

    n: int
    m: int
    lower: Array
    upper: Array
    x_lower: Array
    x_upper: Array
    jacobian_rows: Integers
    jacobian_columns: Integers
    hessian_rows: Integers
    hessian_columns: Integers
    durations: Integers
    scale: float
    squares: bool
    smoothing: float = 0.0
    easing: float = 0.0

    @abstractmethod
    def expect_derivatives(self, z: Array) -> None:
        """Values at z will be asked for, and probably derivatives: both may be cheaper at once."""

    @abstractmethod
    def objective(self, z: Array) -> float:
        """f(z), scaled."""

    @abstractmethod
    def gradient(self, z: Array) -> Array:
        """df/dz."""

    @abstractmethod
    def constraints(self, z: Array) -> Array:
        """g(z)."""

    @abstractmethod
    def jacobian(self, z: Array) -> Array:
        """Entries of dg/dz."""

    @abstractmethod
    def hessian(self, z: Array, factor: float, multipliers: Array) -> Array:
        """Entries of factor d2f/dz2 + sum_i multipliers_i d2g_i/dz2, lower triangle."""

    @abstractmethod
    def straight_hessian(self, z: Array, factor: float, multipliers: Array) -> Array:
        """The Hessian of Gauss and Newton: squares of linearized residuals."""

    def linearized(self, z: Array) -> Linearized:
        """The rows at z as a linear map that can be applied and condensed, however it is stored."""
        return SparseLinearized(self.sorted_entries, self.jacobian(z), lambda: self.gauss_newton(z))

    def gauss_newton(self, z: Array) -> Array:
        """The Hessian of f as if all that it is made of were straight, (n, n), lower triangle.

        For f = sum E(r(z)) that is sum E'' (dr/dz)^T dr/dz: positive semidefinite where E is convex.
        """
        return self._dense(self.straight_hessian(z, 1.0, np.zeros(self.m)))

    def curvature(self, z: Array, multipliers: Array) -> Array:
        """What the Hessian of f + multipliers . g has beside `gauss_newton`, (n, n), lower triangle."""
        bent = self.hessian(z, 1.0, multipliers) - self.straight_hessian(z, 1.0, np.zeros(self.m))
        return self._dense(bent)

    def whole_hessian(self, z: Array, factor: float, multipliers: Array) -> Array:
        """factor d2f/dz2 + sum_i multipliers_i d2g_i/dz2, (n, n), lower triangle."""
        return self._dense(self.hessian(z, factor, multipliers))

    def transposed_times(self, z: Array, y: Array) -> Array:
        """(dg/dz)^T y, (n,)."""
        pull: Array = self.jacobian(z) * y[self.jacobian_rows]
        return np.asarray(np.bincount(self.jacobian_columns, pull, self.n), dtype=np.float64)

    def chosen_rows(self, z: Array, rows: Integers) -> Array:
        """Some rows of dg/dz, (k, n)."""
        J = np.zeros((self.m, self.n))
        J[self.jacobian_rows, self.jacobian_columns] = self.jacobian(z)
        return J[rows]

    def ease(self, easier: bool) -> bool:
        """Replace objectives by easier ones of the same kind, for starts that are far off, or undo that.

        Returns whether there are any: steep powers of torques, say, are replaced by squares.
        """
        return False

    @cached_property
    def sorted_entries(self) -> SortedEntries:
        """Places of the Jacobian's entries, row by row."""
        return SortedEntries(self.n, self.m, self.jacobian_rows, self.jacobian_columns)

    def _dense(self, entries: Array) -> Array:
        """A matrix from entries of its lower triangle, in Fortran order."""
        H = np.zeros((self.n, self.n), order="F")
        H[self.hessian_rows, self.hessian_columns] = entries
        return H

    def cost(self, z: Array) -> float:
        """The objective that was asked for: neither scaled nor with a price on roughness."""
        return self.objective(z) / self.scale

    def roughness(self, z: Array) -> float:
        """How rough the joints are that may have a price on it; 0 if none has."""
        return 0.0

    def roughness_slope(self, z: Array) -> Array:
        """Its derivatives by z."""
        return np.zeros(self.n)

    @abstractmethod
    def duration(self, z: Array) -> float:
        """How long the motion takes (s)."""

    @abstractmethod
    def families(self) -> dict[str, list[int]]:
        """Rows by kind of constraint."""
