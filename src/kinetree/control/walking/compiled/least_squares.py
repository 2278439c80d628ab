"""Accelerations and ground forces of one tick: least squares under equations, as machine code.

Minimize sum w |r qdd - a|^2 + e |qdd|^2 + f |F - F0|^2 subject to C qdd - G F = d for the unknown
accelerations (n,) and forces (k,); the equations are softened by `SOFT`, as they may contradict each other
near singular legs. The optimality conditions are one symmetric linear system, solved by elimination with
pivots. Nothing here allocates.
"""

from __future__ import annotations

from kinetree.control.walking.compiled.tasks import AIM, PART, WEIGHT, WHO, X, Y, Z
from kinetree.engine.door import helper

SMALL_ACCELERATION, SMALL_FORCE = 1e-4, 1e-6  # regularization of the least squares
SOFT = 1e-9  # of the equations


@helper
def assemble(M, h, moving, n_base, J, rows, m, G, usual, k, light, K, b, row):
    """Fill the symmetric matrix K and the right-hand side b; rows of weight 0 are equations.

    Rows (m, 7) choose rows of ``J`` (bodies, 6, n_dof), which a direction combines; body -1 is the center of
    mass, whose direction combines rows of M, and body -2 - c is the coordinate c itself. ``row`` (n,) is
    room. Returns how many equations there are.
    """
    n = moving.shape[0]
    size = n + k
    for i in range(size):
        for j in range(size):
            K[i, j] = 0.0
        K[i, i] = SMALL_ACCELERATION if i < n else light
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
        weight, aim = rows[i, WEIGHT], rows[i, AIM]
        if weight > 0.0:
            add_task(K, b, row, n, weight, aim)
            continue
        at = size + count
        for j in range(n):
            K[at, j] = K[j, at] = row[j]
        for j in range(k):
            K[at, n + j] = K[n + j, at] = 0.0
        b[at] = aim
        count += 1
    for i in range(count):
        for j in range(count):
            K[size + i, size + j] = 0.0
        K[size + i, size + i] = -SOFT
    return count


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
