"""The linear systems of a Radau step, eliminated down to the size of q.

With q' = qd a step solves (mu - J) x = r for mu = gamma / h and (alpha - i beta) / h, J = [[0, 1], [A, B]].
Eliminating the velocities leaves (mu^2 - mu B - A) x_q = r_qd + mu r_q - B r_q and x_qd = mu x_q - r_q.
Further states and sums count as if f did not depend on them.

The real memory has [A, B] in rows 0 ... n - 1, LU factors (transposed) in rows n ... 2 n - 1 and a right-hand
side in row 2 n; the complex one has LU factors in rows 0 ... n - 1 and a right-hand side in row n.
"""

from __future__ import annotations

import math

from kinetree.kernels.integrate.collocation import ALPHA, BETA, GAMMA
from kinetree.kernels.integrate.linear import factorise, product, solve
from kinetree.kernels.integrate.settings import ARGUMENT, ERROR, K, Y, compiled
from kinetree.kernels.integrate.steps import EPSILON, copy, evaluate
from kinetree.kernels.lanes.calls import address_of, call

Z, F, W, D, Z_OLD, F_START = K, K + 3, K + 6, K + 9, K + 12, K + 15  # three rows each, but the last


@compiled
def new_jacobian(s, memory, matrices):
    """[A, B] at the present state; by differences if there is no function for it."""
    s.jacobians += 1
    s.has_jacobian, s.is_current, s.h_factored = 1, 1, 0.0
    if s.jacobian != 0:
        return call(s.jacobian, s.t, (address_of(memory, Y), address_of(matrices, 0), s.context))
    copy(memory, Y, ARGUMENT)
    for j in range(2 * s.n):
        memory[ARGUMENT, j] += math.sqrt(EPSILON) * max(abs(memory[Y, j]), 1e-5)
        change = memory[ARGUMENT, j] - memory[Y, j]
        if evaluate(s, memory, s.t, ARGUMENT, ERROR) != 0:
            return 1
        for i in range(s.n):
            matrices[i, j] = (memory[ERROR, s.n + i] - memory[F_START, s.n + i]) / change
        memory[ARGUMENT, j] = memory[Y, j]
    return 0


@compiled
def new_factors(s, matrices, complexes, pivots):
    """LU of mu^2 - mu B - A for both mu; False if a matrix is singular."""
    n = s.n
    mu, nu = GAMMA / s.h, complex(ALPHA / s.h, -BETA / s.h)
    for i in range(n):
        for j in range(n):
            a, b = matrices[i, j], matrices[i, n + j]
            matrices[n + j, i] = -mu * b - a
            complexes[j, i] = -nu * b - a
    for i in range(n):
        matrices[n + i, i] += mu * mu
        complexes[i, i] += nu * nu
    s.factorisations += 1
    s.h_factored = s.h
    return factorise(matrices, n, n, pivots, 0) and factorise(complexes, 0, n, pivots, 1)


@compiled
def solve_real(s, memory, matrices, pivots, row):
    """x = (gamma / h - J)^-1 r for the row r, in place."""
    n, mu = s.n, GAMMA / s.h
    right = matrices.shape[0] - 1
    for i in range(n):
        x = memory[row, n + i] + mu * memory[row, i]
        matrices[right, i] = x - product(matrices, i, n, n, memory, row)
    solve(matrices, n, n, pivots, 0, matrices, right)
    for i in range(n):
        r = memory[row, i]
        memory[row, i] = matrices[right, i]
        memory[row, n + i] = mu * matrices[right, i] - r
    for i in range(2 * n, s.size):
        memory[row, i] /= mu


@compiled
def solve_complex(s, memory, matrices, complexes, pivots):
    """x = ((alpha - i beta) / h - J)^-1 r for the rows r = D + 1, D + 2 (real, imaginary), in place."""
    n, nu = s.n, complex(ALPHA / s.h, -BETA / s.h)
    for i in range(n):
        re = memory[D + 1, n + i] - product(matrices, i, n, n, memory, D + 1)
        im = memory[D + 2, n + i] - product(matrices, i, n, n, memory, D + 2)
        complexes[n, i] = complex(re, im) + nu * complex(memory[D + 1, i], memory[D + 2, i])
    solve(complexes, 0, n, pivots, 1, complexes, n)
    for i in range(n):
        x = complexes[n, i]
        v = nu * x - complex(memory[D + 1, i], memory[D + 2, i])
        memory[D + 1, i], memory[D + 2, i] = x.real, x.imag
        memory[D + 1, n + i], memory[D + 2, n + i] = v.real, v.imag
    for i in range(2 * n, s.size):
        x = complex(memory[D + 1, i], memory[D + 2, i]) / nu
        memory[D + 1, i], memory[D + 2, i] = x.real, x.imag
