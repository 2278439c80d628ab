"""Linear algebra over batches of small matrices, as dynamics with loops needs it."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.loops.system import spaces


def swapped(A: Array) -> Array:
    """The transposes."""
    return np.swapaxes(A, -1, -2)


def solved(A: Array, b: Array) -> Array:
    """x with A x = b, for several right sides (..., n, k)."""
    return np.asarray(np.linalg.solve(A, b), dtype=np.float64)


def constrained(M: Array, J: Array, right: Array, rows: Array) -> tuple[Array, Array]:
    """x and J^T lambda with M x = right + J^T lambda and J x = -rows, for several right sides (..., n, k).

    With M = L L^T, Y = L^-1 J^T = U diag(s) V^T and y = L^-1 right,
    x = L^-T (y - U (U^T y + V^T rows / s)): exact for redundant rows, too.
    """
    L = np.asarray(np.linalg.cholesky(M), dtype=np.float64)
    s, y = spaces(solved(L, swapped(J))), solved(L, right)
    pull = -s.U @ (swapped(s.U) @ y + (swapped(s.V) @ rows) / s.s[..., None])
    return solved(swapped(L), y + pull), L @ pull
