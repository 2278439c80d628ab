"""What a solver is given: minimise f(z) subject to lower <= g(z) <= upper and bounds of z itself."""

from __future__ import annotations

from abc import ABC, abstractmethod

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import Integers


class NonlinearProgram(ABC):
    """n unknowns z, m rows g, sparse derivatives whose places never change.

    Entries of the Jacobian are at (``jacobian_rows``, ``jacobian_columns``), those of the Hessian's lower
    triangle at (``hessian_rows``, ``hessian_columns``). ``scale`` is what the objective is multiplied by,
    ``durations`` are the unknowns that are times (s), ``squares`` says whether f is a sum of squares.
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
        """The same as if all that f is the sum of squares of were straight (Gauss and Newton)."""

    @abstractmethod
    def duration(self, z: Array) -> float:
        """How long the motion takes (s)."""

    @abstractmethod
    def families(self) -> dict[str, list[int]]:
        """Rows by kind of constraint."""
