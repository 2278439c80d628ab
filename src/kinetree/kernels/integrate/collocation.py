"""Coefficients of the Radau IIA method of order 5 and the real form of its eigenvectors.

Hairer, Wanner: Solving ordinary differential equations II, 2nd edition, IV.5 table 5.6 and IV.8. The inverse
of the coefficient matrix has the eigenvalues gamma and alpha +- i beta; with T = [v, Re w, Im w],
T^-1 A^-1 T = [[gamma, 0, 0], [0, alpha, beta], [0, -beta, alpha]].
"""

from __future__ import annotations

import numpy as np

ROOT = 6.0**0.5
C = np.array([(4.0 - ROOT) / 10.0, (4.0 + ROOT) / 10.0, 1.0])
A = np.array(
    [
        [(88.0 - 7.0 * ROOT) / 360.0, (296.0 - 169.0 * ROOT) / 1800.0, (-2.0 + 3.0 * ROOT) / 225.0],
        [(296.0 + 169.0 * ROOT) / 1800.0, (88.0 + 7.0 * ROOT) / 360.0, (-2.0 - 3.0 * ROOT) / 225.0],
        [(16.0 - ROOT) / 36.0, (16.0 + ROOT) / 36.0, 1.0 / 9.0],
    ]
)
E = np.array([-13.0 - 7.0 * ROOT, -13.0 + 7.0 * ROOT, -1.0]) / 3.0  # error estimate, times 1 / gamma
GAMMA = 3.0 + 3.0 ** (2 / 3) - 3.0 ** (1 / 3)
ALPHA = 3.0 + 0.5 * (3.0 ** (1 / 3) - 3.0 ** (2 / 3))
BETA = 0.5 * (3.0 ** (5 / 6) + 3.0 ** (7 / 6))


def _eigenvector(value: complex) -> np.ndarray:
    """Of A^-1, with last entry 1: the null vector of two rows of A^-1 - value."""
    rows = np.linalg.inv(A) - value * np.eye(3)
    vector = np.cross(rows[0], rows[1])
    return vector / vector[2]


_REAL, _COMPLEX = _eigenvector(GAMMA), _eigenvector(ALPHA + 1j * BETA)
T = np.column_stack([_REAL.real, _COMPLEX.real, _COMPLEX.imag])
T_INVERSE = np.linalg.inv(T)
# of the polynomials that are 1 at one node, 0 at the others and at 0: their leading coefficients
SCALES = np.array([1.0 / (c * np.prod([c - d for d in C if d != c])) for c in C])
