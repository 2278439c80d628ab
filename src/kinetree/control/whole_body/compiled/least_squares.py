"""Accelerations and ground forces of one tick: least squares under equations, as machine code.

Minimize sum w |r qdd - a|^2 + e |qdd|^2 + f |F - F0|^2 subject to M_b qdd + h_b = G_b^T F and further
equations r qdd = a, for the unknown accelerations (n,) and forces (k,); tau = M qdd + h - G^T F. The
equations are softened, as they may contradict each other near singular legs. The optimality conditions are
one symmetric linear system, solved by elimination with pivots.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from kinetree.engine.door import FLOAT, INTEGER, array_type, compiled_function, helper

WHO, PART, X, Y, Z, AIM, WEIGHT = 0, 1, 2, 3, 4, 5, 6  # columns of a row of walking
ROW = 7


def least_squares(M, h, moving, n_base, J, rows, more, G, usual, prices, K, b, row, tau):
    """Solve for x = (qdd, F), the first numbers of b, and tau; 1 if the system is singular."""
    m, k = rows.shape[0], G.shape[0]
    count = assemble(
        M, h, moving, n_base, J, rows, m, more, G, usual, k, prices[0], prices[1], prices[2], K, b, row
    )
    failed = eliminate(K, b, moving.shape[0] + k + count)
    if not failed:
        torques(M, h, moving, n_base, G, k, b, tau)
    return failed


@functools.cache
def compiled_least_squares() -> Callable[..., Any]:
    """Machine code of `least_squares`."""
    v, m, a, j = array_type(FLOAT, 1), array_type(FLOAT, 2), array_type(FLOAT, 3), array_type(INTEGER, 1)
    signature = [m, v, j, INTEGER, a, m, m, m, v, v, m, v, v, v]
    return compiled_function(least_squares, signature, "least-squares")


@helper
def assemble(M, h, moving, n_base, J, rows, m, more, G, usual, k, small, light, soft, K, b, row):
    """Fill the symmetric matrix K and the right-hand side b; rows of weight 0 are equations.

    Rows (m, 7) choose rows of ``J`` (bodies, 6, n_dof), which a direction combines; body -1 is the center of
    mass, whose direction combines rows of M, and body -2 - c is the coordinate c itself. Rows ``more``
    (e, n_dof + 2) have a coefficient for each coordinate, then aim and weight. ``row`` (n,) is room. Returns
    how many equations there are.
    """
    n = moving.shape[0]
    size, last = n + k, more.shape[1]
    for i in range(size):
        for j in range(size):
            K[i, j] = 0.0
        K[i, i] = small if i < n else light
        b[i] = 0.0 if i < n else light * usual[i - n]
    for i in range(n_base):
        at = size + i
        for j in range(n):
            K[at, j] = K[j, at] = M[moving[i], moving[j]]
        for j in range(k):
            K[at, n + j] = K[n + j, at] = -G[j, moving[i]]
        b[at] = -h[moving[i]]
    count = n_base
    for i in range(m):
        fill_row(M, moving, n_base, J, rows[i], row)
        count = add_row(K, b, row, n, k, rows[i, WEIGHT], rows[i, AIM], count)
    for i in range(more.shape[0]):
        for j in range(n):
            row[j] = more[i, moving[j]]
        count = add_row(K, b, row, n, k, more[i, last - 1], more[i, last - 2], count)
    for i in range(count):
        for j in range(count):
            K[size + i, size + j] = 0.0
        K[size + i, size + i] = -soft
    return count


@helper
def add_row(K, b, row, n, k, weight, aim, count):
    """Add a task, or an equation if the weight is 0, and return how many equations there are."""
    if weight > 0.0:
        add_task(K, b, row, n, weight, aim)
        return count
    at = n + k + count
    for j in range(n):
        K[at, j] = K[j, at] = row[j]
    for j in range(k):
        K[at, n + j] = K[n + j, at] = 0.0
    b[at] = aim
    return count + 1


@helper
def fill_row(M, moving, n_base, J, given, row):
    """Coefficients (n,) of the moving coordinates."""
    who, first = int(given[WHO]), int(given[PART])
    x, y, z = given[X], given[Y], given[Z]
    for j in range(moving.shape[0]):
        c = moving[j]
        if who < -1:
            row[j] = 1.0 if c == -who - 2 else 0.0
        elif who < 0:
            row[j] = x * M[moving[0], c] + y * M[moving[1], c]
            if n_base > 3:
                row[j] += z * M[moving[2], c]
        else:
            row[j] = x * J[who, first, c] + y * J[who, first + 1, c] + z * J[who, first + 2, c]


@helper
def add_task(K, b, row, n, weight, aim):
    """Weigh the square of a row's miss."""
    for j in range(n):
        scaled = weight * row[j]
        if scaled != 0.0:
            b[j] += scaled * aim
            for c in range(n):
                K[j, c] += scaled * row[c]


@helper
def eliminate(K, b, size):
    """Solve K x = b for ``size`` unknowns in place, with partial pivoting; 1 if singular."""
    for k in range(size):
        best, largest = k, abs(K[k, k])
        for i in range(k + 1, size):
            if abs(K[i, k]) > largest:
                best, largest = i, abs(K[i, k])
        if not (largest > 0.0 and largest < 1e300):
            return 1
        if best != k:
            for j in range(k, size):
                x = K[k, j]
                K[k, j] = K[best, j]
                K[best, j] = x
            x = b[k]
            b[k] = b[best]
            b[best] = x
        inverse = 1.0 / K[k, k]
        for i in range(k + 1, size):
            factor = K[i, k] * inverse
            if factor != 0.0:
                target, source = K[i, k + 1 : size], K[k, k + 1 : size]
                for j in range(target.shape[0]):
                    target[j] -= factor * source[j]
                b[i] -= factor * b[k]
    for k in range(size - 1, -1, -1):
        total = b[k]
        for j in range(k + 1, size):
            total -= K[k, j] * b[j]
        b[k] = total / K[k, k]
    return 0


@helper
def torques(M, h, moving, n_base, G, k, x, tau):
    """tau = M qdd + h - G^T F of the joints that move, x = (qdd, F)."""
    n = moving.shape[0]
    for i in range(n_base, n):
        c = moving[i]
        total = h[c]
        for j in range(n):
            total += M[c, moving[j]] * x[j]
        for j in range(k):
            total -= G[j, c] * x[n + j]
        tau[c] = total
