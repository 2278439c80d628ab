"""Coefficients of the Radau IIA methods of order 5 and 9 and the real form of their eigenvectors.

Hairer, Wanner: Solving ordinary differential equations II, 2nd edition, IV.5 and IV.8; Stiff differential
equations solved by Radau methods, J. Comput. Appl. Math. 111 (1999). The inverse of the coefficient matrix
has one real eigenvalue gamma and pairs alpha +- i beta; with T = [v, Re w, Im w, ...], T^-1 A^-1 T has the
blocks gamma and [[alpha, beta], [-beta, alpha]].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import Legendre, legendre

MOST_STAGES, MOST_PAIRS = 5, 2


@dataclass(frozen=True, eq=False)
class Collocation:
    """A method with s stages at the nodes c (s,), whose last is 1.

    ``error``: the error estimate is (gamma / h - J)^-1 (f(y) + error . z / h); ``scales`` are the leading
    coefficients of the polynomials that are 1 at one node, 0 at the others and at 0.
    """

    c: np.ndarray
    A: np.ndarray
    gamma: float
    pairs: tuple[tuple[float, float], ...]
    T: np.ndarray
    T_inverse: np.ndarray
    error: np.ndarray
    scales: np.ndarray

    @property
    def order(self) -> int:
        """Of the solution at the ends of steps."""
        return 2 * len(self.c) - 1


def radau_nodes(s: int) -> np.ndarray:
    """Zeros of P_s - P_(s-1), on 0 ... 1."""
    polynomial = Legendre.basis(s) - Legendre.basis(s - 1)
    x = np.sort(polynomial.roots().real)
    for _ in range(3):
        x = x - polynomial(x) / polynomial.deriv()(x)
    return np.append((x[:-1] + 1.0) / 2.0, 1.0)


def integrals(c: np.ndarray) -> np.ndarray:
    """Integrals from 0 to c_i of the polynomials that are 1 at c_j and 0 at the other nodes."""
    x, s = 2.0 * c - 1.0, len(c)
    of_basis = [Legendre.basis(k).integ(lbnd=-1)(x) / 2.0 for k in range(s)]
    return np.array(of_basis).T @ np.linalg.inv(legendre.legvander(x, s - 1))


def radau_iia(s: int) -> Collocation:
    """The method with s stages (odd)."""
    c = radau_nodes(s)
    A = integrals(c)
    inverse = np.linalg.inv(A)
    values, vectors = np.linalg.eig(inverse)
    vectors = vectors / vectors[-1]
    real = int(np.argmin(np.abs(values.imag)))
    upper = [k for k in np.argsort(values.imag) if values[k].imag > 1e-6]
    columns = [vectors[:, real].real]
    for k in upper:
        columns += [vectors[:, k].real, vectors[:, k].imag]
    T, gamma = np.column_stack(columns), float(values[real].real)
    right = 1.0 / np.arange(1, s + 1)
    right[0] -= 1.0 / gamma
    embedded = np.linalg.solve(np.vander(c, s, increasing=True).T, right)
    scales = np.array([1.0 / (x * np.prod([x - y for y in c if y != x])) for x in c])
    pairs = tuple((float(values[k].real), float(values[k].imag)) for k in upper)
    error = gamma * ((embedded - A[-1]) @ inverse)
    return Collocation(c, A, gamma, pairs, T, np.linalg.inv(T), error, scales)


METHODS = (radau_iia(3), radau_iia(5))


def padded(name: str, *shape: int) -> np.ndarray:
    """A quantity of both methods in one array, filled up with zeros."""
    table = np.zeros((len(METHODS), *shape))
    for k, method in enumerate(METHODS):
        value = np.asarray(getattr(method, name))
        places: Any = (k, *(slice(size) for size in value.shape))
        table[places] = value
    return table


C, E, SCALES = (padded(name, MOST_STAGES) for name in ("c", "error", "scales"))
T, T_INVERSE = (padded(name, MOST_STAGES, MOST_STAGES) for name in ("T", "T_inverse"))
GAMMA, PAIRS = padded("gamma"), padded("pairs", MOST_PAIRS, 2)
