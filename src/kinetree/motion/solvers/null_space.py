"""A Newton system with equations, solved in the null space of these.

With J_E^T = Q [R; 0], Q = [Y Z] orthogonal, the step d = Y p + Z w splits: R^T p = -c decides p alone, and w
follows from Z^T A Z. Whether a step descends depends on Z^T A Z only (Nocedal and Wright 2006, section 16.2):
its definiteness is tested, by its Cholesky factor, not that of A + rho J_E^T J_E, for which rho would have to
exceed the square of the cross terms divided by the least eigenvalue.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import Integers

SMALLEST = 1e-12  # equations whose slopes are smaller than this have none
REDUNDANT = 1e-10  # relative size of what is left of an equation that others imply
ROUNDING = 1e-14  # least pivot of a matrix that is definite, relatively
SHARES = (1.0, 0.5, 0.25, 0.0)  # of all curvature: the first with which the matrix is definite
LITTLE_SHIFTS = (1e-3, 4e-3, 0.016, 0.06, 0.25, 1.0, 4.0)  # the objective and unknowns are of size 1
LEAST_SHIFT, GROWTH, LARGEST_SHIFT = 1e-12, 10.0, 1e3  # relative to the mean of the diagonal


class NullSpace:
    """Equations J_E d = -c (k, n), each divided by its size; those that others imply are left out.

    >>> import numpy as np
    >>> space = NullSpace(np.array([[1.0, 1.0], [2.0, 2.0]]))
    >>> space.rank, bool(space.factor(np.diag([1.0, -0.5]), None))
    (1, True)
    >>> d, y = space.step(np.array([0.0, 0.0]), np.array([-2.0, -4.0]))
    >>> (d.round(12) + 0.0).tolist()  # the least of x^2 - y^2 / 2 where x + y = 2
    [-2.0, 4.0]
    """

    def __init__(self, equations: Array) -> None:
        k, n = equations.shape
        self.n, self.count, self.rank, self.share, self.shift = n, k, 0, 0.0, 0.0
        self.size = np.maximum(np.sqrt(np.einsum("kn,kn->k", equations, equations)), SMALLEST)
        if not k:
            return
        scaled = np.asfortranarray((equations / self.size[:, None]).T)
        qr, tau, pivots = _reflections(scaled)
        self.rank = int((np.abs(np.diagonal(qr)) > REDUNDANT).sum())
        self.pivots = pivots[: self.rank]
        self.R = np.asfortranarray(np.triu(qr[: self.rank, : self.rank]))
        V = np.tril(qr[:, : self.rank], -1)
        V[np.arange(self.rank), np.arange(self.rank)] = 1.0
        self.V = np.asfortranarray(V)
        self.T = _triangle(self.V, tau[: self.rank])

    def rotated(self, A: Array) -> Array:
        """Q^T A Q of a symmetric matrix of which the lower triangle counts, in Fortran order; A may change.

        Q = 1 - V T V^T, so Q^T A Q = A - V U^T - U V^T with U = A V T - V (T^T V^T A V T) / 2.
        """
        if not self.rank:
            return A
        B = blas.dsymm(1.0, A, self.V, lower=1) @ self.T
        U = B - 0.5 * (self.V @ (self.T.T @ (self.V.T @ B)))
        rotated: Array = blas.dsyr2k(-1.0, self.V, U, beta=1.0, c=A, lower=1, overwrite_c=1)
        return rotated

    def is_definite(self, A: Array) -> bool:
        """Whether A, which may change, is definite on the null space, to more than rounding."""
        if self.rank == self.n:
            return True
        matrix = self.rotated(A)
        largest = float(np.diagonal(matrix)[self.rank :].max())
        if not self.has_factor(matrix):
            return False
        return bool(np.diagonal(self._factor).min() ** 2 > ROUNDING * largest)

    def factor(self, A: Array, curvature: Array | None, *, saddle: bool = False) -> bool:
        """Factor A + share curvature for the first share with which it is definite, else A + shift.

        A, which may change, is positive semidefinite apart from rounding; returns False if no shift helps.
        ``share`` and ``shift`` are then what was taken. Where all is nearly stationary, a matrix that is not
        definite is that of a ``saddle``: all curvature with hardly more of a shift than it needs leaves that
        behind in a few steps, a share of the curvature in dozens.
        """
        whole = None if curvature is None else self.rotated(np.asfortranarray(A + curvature))
        if whole is not None and self.has_factor(whole):
            self.share, self.shift = 1.0, 0.0
            return True
        if whole is not None and saddle and self._has_little_shift(whole):
            return True
        plain = self.rotated(np.asfortranarray(A))
        for share in SHARES[1:] if whole is not None else (0.0,):
            matrix = plain + share * (whole - plain) if whole is not None and share else plain
            if self.has_factor(matrix):
                self.share, self.shift = share, 0.0
                return True
        size = max(1.0, float(np.abs(np.diagonal(plain)).mean()))
        self.share, shift = 0.0, LEAST_SHIFT * size
        while shift < LARGEST_SHIFT * size:  # never if it is not a number
            if self.has_factor(plain, shift):
                self.shift = shift
                return True
            shift *= GROWTH
        return False

    def _has_little_shift(self, whole: Array) -> bool:
        """Whether all curvature is definite with a little shift."""
        for shift in LITTLE_SHIFTS:
            if self.has_factor(whole, shift):
                self.share, self.shift = 1.0, shift
                return True
        return False

    def has_factor(self, matrix: Array, shift: float = 0.0) -> bool:
        """Whether a rotated matrix + shift has a Cholesky factor in the null space, which is then kept."""
        if shift:
            matrix = matrix.copy(order="F")
            matrix.ravel(order="K")[:: self.n + 1] += shift
        k, factor, failed = self.rank, np.zeros((0, 0)), 0
        if k < self.n:
            factor, failed = lapack.dpotrf(matrix[k:, k:], lower=1, clean=0)
        failed = failed or not np.isfinite(np.diagonal(factor).sum())
        if not failed:
            self._factor, self._below = factor, matrix[k:, :k]
            corner = matrix[:k, :k]
            self._corner = np.tril(corner) + np.tril(corner, -1).T
        return not failed

    def step(self, right: Array, c: Array) -> tuple[Array, Array]:
        """d and the multipliers y with A d + J_E^T y = right and J_E d = -c."""
        y = np.zeros(self.count)
        if not self.rank:
            return lapack.dpotrs(self._factor, right, lower=1)[0], y
        k, inner = self.rank, right - self.V @ (self.T.T @ (self.V.T @ right))
        p = lapack.dtrtrs(self.R, -(c / self.size)[self.pivots], lower=0, trans=1)[0]
        w = inner[k:] - self._below @ p
        w = lapack.dpotrs(self._factor, w, lower=1)[0] if k < self.n else w
        pull = lapack.dtrtrs(self.R, inner[:k] - self._corner @ p - self._below.T @ w, lower=0)[0]
        y[self.pivots] = pull / self.size[self.pivots]
        d = np.concatenate([p, w])
        return d - self.V @ (self.T @ (self.V.T @ d)), y


def _reflections(columns: Array) -> tuple[Array, Array, Integers]:
    """Householder's reflections that make columns triangular, and the columns' order.

    That is their own, or, if one depends on others, one in which what is left of them falls.
    """
    qr, tau, _, _ = lapack.dgeqrf(columns)
    if columns.shape[1] <= len(columns) and (np.abs(np.diagonal(qr)) > REDUNDANT).all():
        return qr, tau, np.arange(columns.shape[1])
    qr, pivots, tau, _, _ = lapack.dgeqp3(columns)
    return qr, tau, pivots.astype(np.int64) - 1


def _triangle(V: Array, tau: Array) -> Array:
    """T of Q = H_1 H_2 ... = 1 - V T V^T for reflections H_i = 1 - tau_i v_i v_i^T.

    T^-1 + T^-T = V^T V, for Q is orthogonal, and T^-1 has 1 / tau_i on its diagonal; tau = 0 reflects
    nothing.
    """
    some = np.flatnonzero(tau)
    T, inner = np.zeros((len(tau), len(tau))), np.triu((V.T @ V)[np.ix_(some, some)], 1)
    inner[np.arange(len(some)), np.arange(len(some))] = 1.0 / tau[some]
    if len(some):
        T[np.ix_(some, some)] = lapack.dtrtri(inner)[0]
    return T
