"""Linear systems inside compiled code: LU factors with partial pivoting, real or complex, in place.

Matrices are stored transposed, so that all inner loops run along rows of memory.
"""

from __future__ import annotations

from kinetree.engine.door import in_any_order
from kinetree.integrate.settings import compiled


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
