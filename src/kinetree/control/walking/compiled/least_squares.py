"""Accelerations and ground forces of one tick: least squares under equations, as machine code.

Minimize sum w |r qdd - a|^2 + e |qdd|^2 + f |F - F0|^2 subject to C qdd - G F = d for the unknown
accelerations (n,) and forces (k,); the equations are softened by `SOFT`, as they may contradict each other
near singular legs. The optimality conditions are one symmetric linear system, solved by elimination with
pivots. Nothing here allocates.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

SMALL_ACCELERATION, SMALL_FORCE = 1e-4, 1e-6  # regularization of the least squares
SOFT = 1e-9  # of the equations


def assemble(M, h, moving, n_base, J, body, part, direction, aim, weight, G, usual, light, K, b, row):
    """Fill the symmetric matrix K and the right-hand side b; rows of weight 0 are equations.

    ``body`` (m,) and ``part`` (m,) (0 translation, 3 rotation) choose rows of ``J`` (bodies, 6, n_dof), which
    ``direction`` (m, 3) combines; body -1 is the center of mass, whose direction combines rows of M, and
    body -2 - k is the coordinate k itself.
    ``row`` (n,) is room. Returns how many equations there are.
    """
    n, k, rows = moving.shape[0], G.shape[0], body.shape[0]
    size = n + k
    for i in range(n):
        for j in range(n):
            K[i, j] = 0.0
        K[i, i] = SMALL_ACCELERATION
        b[i] = 0.0
        for j in range(k):
            K[i, n + j] = 0.0
            K[n + j, i] = 0.0
    for i in range(k):
        for j in range(k):
            K[n + i, n + j] = 0.0
        K[n + i, n + i] = light
        b[n + i] = light * usual[i]
    count = 0
    for i in range(n_base):
        at = size + count
        for j in range(n):
            K[at, j] = M[moving[i], moving[j]]
            K[j, at] = K[at, j]
        for j in range(k):
            K[at, n + j] = -G[j, moving[i]]
            K[n + j, at] = K[at, n + j]
        b[at] = -h[moving[i]]
        count += 1
    for i in range(rows):
        who, first = body[i], part[i]
        x, y, z = direction[i, 0], direction[i, 1], direction[i, 2]
        for j in range(n):
            c = moving[j]
            if who < -1:
                total = 1.0 if c == -who - 2 else 0.0
            elif who < 0:
                total = x * M[moving[0], c] + y * M[moving[1], c]
                if n_base > 3:
                    total += z * M[moving[2], c]
            else:
                total = x * J[who, first, c] + y * J[who, first + 1, c] + z * J[who, first + 2, c]
            row[j] = total
        if weight[i] > 0.0:
            for j in range(n):
                scaled = weight[i] * row[j]
                if scaled != 0.0:
                    b[j] += scaled * aim[i]
                    for c in range(n):
                        K[j, c] += scaled * row[c]
        else:
            at = size + count
            for j in range(n):
                K[at, j] = row[j]
                K[j, at] = row[j]
            for j in range(k):
                K[at, n + j] = 0.0
                K[n + j, at] = 0.0
            b[at] = aim[i]
            count += 1
    for i in range(count):
        for j in range(count):
            K[size + i, size + j] = 0.0
        K[size + i, size + i] = -SOFT
    return count


def eliminate(K, b, size):
    """Solve K x = b for the first ``size`` unknowns in place, with partial pivoting; 1 if it is singular."""
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


def torques(M, h, moving, n_base, G, x, tau):
    """tau = M qdd + h - G^T F of the joints that move, x = (qdd, F)."""
    n, k = moving.shape[0], G.shape[0]
    for i in range(n_base, n):
        c = moving[i]
        total = h[c]
        for j in range(n):
            total += M[c, moving[j]] * x[j]
        for j in range(k):
            total -= G[j, c] * x[n + j]
        tau[c] = total


SIGNATURES: dict[Callable[..., Any], str] = {
    assemble: "mvjnajjmvvmvfmvv",
    eliminate: "mvn",
    torques: "mvjnmvv",
}


@functools.cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Machine code of one of the functions above."""
    from kinetree.engine.door import FLOAT, INTEGER, array_type, compiled_function

    kinds = {
        "v": array_type(FLOAT, 1),
        "m": array_type(FLOAT, 2),
        "a": array_type(FLOAT, 3),
        "j": array_type(INTEGER, 1),
        "f": FLOAT,
        "n": INTEGER,
    }
    signature = [kinds[letter] for letter in SIGNATURES[function]]
    return compiled_function(function, signature, f"walking-{function.__name__}")
