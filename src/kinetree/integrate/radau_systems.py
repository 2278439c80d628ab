"""The linear systems of a Radau step, eliminated down to the size of q and the further states.

With q' = qd a step solves (mu - J) x = r for mu = gamma / h and every (alpha - i beta) / h, where
J = [[0, 1, 0], [A, B, E], [C, G, D]] by positions, velocities and further states z.
Eliminating the velocities, x_qd = mu x_q - r_q, leaves
(mu^2 - mu B - A) x_q - E x_z = r_qd + mu r_q - B r_q and
-(C + mu G) x_q + (mu - D) x_z = r_z - G r_q.
Other states and sums count as if f did not depend on them.

With N = n + more the real memory has [A, B, E] and [C, G, D] in rows 0 ... N - 1, LU factors (transposed) in
rows N ... 2 N - 1 and a right-hand side in row 2 N; the complex one has the LU factors of each pair in N rows
and a right-hand side behind them.
"""

from __future__ import annotations

import math

from kinetree.engine.door import helper as compiled
from kinetree.engine.door import in_any_order
from kinetree.engine.lanes.calls import address_of, call
from kinetree.integrate.collocation import GAMMA, MOST_STAGES, PAIRS
from kinetree.integrate.settings import ARGUMENT, ERROR, K, Y
from kinetree.integrate.steps import EPSILON, copy, evaluate

Z, F, W, D, Z_OLD, F_START = (K + k * MOST_STAGES for k in range(6))  # a row for each stage, but the last


@compiled
def factorise(matrix, first, n, pivots, which):
    """P M = L U; column j of M is row first + j of the memory. False if a pivot is zero or not finite."""
    for k in range(n):
        best, largest = k, size_of(matrix[first + k, k])
        for i in range(k + 1, n):
            size = size_of(matrix[first + k, i])
            if size > largest:
                best, largest = i, size
        if not (largest > 0.0 and largest - largest == 0.0):
            return False
        pivots[which, k] = best
        if best != k:
            for j in range(n):
                x = matrix[first + j, k]
                matrix[first + j, k] = matrix[first + j, best]
                matrix[first + j, best] = x
        inverse = 1.0 / matrix[first + k, k]
        matrix[first + k, k] = inverse
        for i in range(k + 1, n):
            matrix[first + k, i] *= inverse
        for j in range(k + 1, n):
            subtract(matrix, first + k, k + 1, n, matrix[first + j, k], matrix, first + j)
    return True


@compiled
def solve(matrix, first, n, pivots, which, b, row):
    """Solve for the right-hand side b[row], in place."""
    for k in range(n):
        best = pivots[which, k]
        if best != k:
            x = b[row, k]
            b[row, k] = b[row, best]
            b[row, best] = x
    for k in range(n):
        subtract(matrix, first + k, k + 1, n, b[row, k], b, row)
    for k in range(n - 1, -1, -1):
        b[row, k] *= matrix[first + k, k]
        subtract(matrix, first + k, 0, k, b[row, k], b, row)


@compiled
def subtract(matrix, k, begin, end, factor, b, row):
    """b[row] -= factor * matrix[k], in the columns begin ... end - 1."""
    target, source = (
        b[row, begin:end],
        matrix[k, begin:end],
    )  # plain indices: no loop is split for negative ones
    for i in range(target.shape[0]):
        target[i] -= factor * source[i]


@in_any_order
def product(matrix, i, first, n, b, row):
    """The sum of matrix[i, first + j] b[row, j] over n entries."""
    source, other = matrix[i, first : first + n], b[row, :n]
    total = 0.0
    for j in range(n):
        total += source[j] * other[j]
    return total


@compiled
def size_of(x):
    """A magnitude that is cheap for complex numbers too."""
    return abs(x.real) + abs(x.imag)


@compiled
def which(s):
    """The number of the method in the tables of coefficients."""
    return (s.stages - 3) // 2


@compiled
def new_jacobian(s, memory, matrices):
    """[A, B, E; C, G, D] at the present state; by differences if there is no function for it."""
    s.jacobians += 1
    s.has_jacobian, s.is_current, s.h_factored = 1, 1, 0.0
    if s.jacobian != 0:
        return call(s.jacobian, s.t, (address_of(memory, Y), address_of(matrices, 0), s.context))
    copy(memory, Y, ARGUMENT)
    for j in range(2 * s.n + s.more):
        memory[ARGUMENT, j] += math.sqrt(EPSILON) * max(abs(memory[Y, j]), 1e-5)
        change = memory[ARGUMENT, j] - memory[Y, j]
        if evaluate(s, memory, s.t, ARGUMENT, ERROR) != 0:
            return 1
        for i in range(s.n + s.more):
            matrices[i, j] = (memory[ERROR, s.n + i] - memory[F_START, s.n + i]) / change
        memory[ARGUMENT, j] = memory[Y, j]
    return 0


@compiled
def new_factors(s, matrices, complexes, pivots):
    """LU of the eliminated systems for all mu; False if a matrix is singular."""
    n, more = s.n, s.more
    size = n + more
    mu, regular = GAMMA[which(s)] / s.h, True
    for i in range(size):
        for j in range(n):
            matrices[size + j, i] = -mu * matrices[i, n + j] - matrices[i, j]
        for j in range(more):
            matrices[size + n + j, i] = -matrices[i, 2 * n + j]
        matrices[size + i, i] += mu * mu if i < n else mu
    for pair in range(s.stages // 2):
        nu, first = shift(s, pair), pair * size
        for i in range(size):
            for j in range(n):
                complexes[first + j, i] = -nu * matrices[i, n + j] - matrices[i, j]
            for j in range(more):
                complexes[first + n + j, i] = complex(-matrices[i, 2 * n + j], 0.0)
        for i in range(size):
            complexes[first + i, i] += nu * nu if i < n else nu
        regular = regular and factorise(complexes, first, size, pivots, 1 + pair)
    s.factorisations += 1
    s.h_factored = s.h
    return factorise(matrices, size, size, pivots, 0) and regular


@compiled
def shift(s, pair):
    """The complex mu of a pair."""
    return complex(PAIRS[which(s), pair, 0] / s.h, -PAIRS[which(s), pair, 1] / s.h)


@compiled
def solve_real(s, memory, matrices, pivots, row):
    """x = (gamma / h - J)^-1 r for the row r, in place."""
    n, size, mu = s.n, s.n + s.more, GAMMA[which(s)] / s.h
    right = matrices.shape[0] - 1
    for i in range(size):
        x = memory[row, n + i]
        if i < n:
            x += mu * memory[row, i]
        matrices[right, i] = x - product(matrices, i, n, n, memory, row)
    solve(matrices, size, size, pivots, 0, matrices, right)
    for i in range(n):
        r = memory[row, i]
        memory[row, i] = matrices[right, i]
        memory[row, n + i] = mu * matrices[right, i] - r
    for i in range(n, size):
        memory[row, n + i] = matrices[right, i]
    for i in range(n + size, s.size):
        memory[row, i] /= mu


@compiled
def solve_complex(s, memory, matrices, complexes, pivots, pair):
    """x = ((alpha - i beta) / h - J)^-1 r for the two rows r of a pair (real, imaginary), in place."""
    n, size, nu = s.n, s.n + s.more, shift(s, pair)
    first, right, one, two = pair * size, complexes.shape[0] - 1, D + 1 + 2 * pair, D + 2 + 2 * pair
    for i in range(size):
        re = memory[one, n + i] - product(matrices, i, n, n, memory, one)
        im = memory[two, n + i] - product(matrices, i, n, n, memory, two)
        x = complex(re, im)
        if i < n:
            x += nu * complex(memory[one, i], memory[two, i])
        complexes[right, i] = x
    solve(complexes, first, size, pivots, 1 + pair, complexes, right)
    for i in range(n):
        x = complexes[right, i]
        v = nu * x - complex(memory[one, i], memory[two, i])
        memory[one, i], memory[two, i] = x.real, x.imag
        memory[one, n + i], memory[two, n + i] = v.real, v.imag
    for i in range(n, size):
        x = complexes[right, i]
        memory[one, n + i], memory[two, n + i] = x.real, x.imag
    for i in range(n + size, s.size):
        x = complex(memory[one, i], memory[two, i]) / nu
        memory[one, i], memory[two, i] = x.real, x.imag
