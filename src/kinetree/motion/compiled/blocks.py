"""Derivatives of torques by free unknowns as dense blocks, and sums of squares of their rows, compiled.

At each of m samples k generalized forces depend on few of the n unknowns, of which the sample knows the
``columns`` (m, l), -1 where there is none; ``A`` (m, k, l) are the derivatives. Places of control points lead
to those columns: ``local`` (m, w, n), -1 where an unknown is fixed, each with a ``factor``. Nothing here
allocates.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from math import sqrt
from typing import Any


def pull_motion(slopes, weights, duration, leads, run, factor, A):
    """Add slopes (3, m, k, N) by (q, qd, qdd), carried back to control points, to A.

    Of control point b at a sample of run r, ``leads[r, b, t]`` are the first of some coordinates, the one
    after the last, the column of A that the first leads to, and where it is among the N; the others come one
    after another in all of these. Empty ones are at the end. ``run`` (m,) is each r.
    """
    m, k, width = slopes.shape[1], slopes.shape[2], weights.shape[2]
    one = 1.0 / duration
    for j in range(m):
        r = run[j]
        for i in range(k):
            for b in range(width):
                x, v, a = weights[j, 0, b], one * weights[j, 1, b], one * one * weights[j, 2, b]
                for t in range(leads.shape[2]):
                    h, count = leads[r, b, t, 0], leads[r, b, t, 1] - leads[r, b, t, 0]
                    if count <= 0:
                        break
                    to, at = leads[r, b, t, 2], leads[r, b, t, 3]
                    for c in range(count):
                        change = x * slopes[0, j, i, at + c] + v * slopes[1, j, i, at + c]
                        change += a * slopes[2, j, i, at + c]
                        A[j, i, to + c] += factor[j, b, h + c] * change


def pull_curve(slopes, weights, local, factor, A):
    """Add slopes (m, k, c) by the numbers of a curve, carried back to its control points, to A."""
    m, k, c, width = slopes.shape[0], slopes.shape[1], slopes.shape[2], weights.shape[1]
    for j in range(m):
        for b in range(width):
            for h in range(c):
                place = local[j, b, h]
                if place >= 0:
                    share = factor[j, b, h] * weights[j, b]
                    for i in range(k):
                        A[j, i, place] += share * slopes[j, i, h]


def transposed(A, columns, last, y, room, out):
    """Add A^T y, y (m, k), to out (n,); ``last`` says after which samples columns change, room is (l,)."""
    m, k, length = A.shape
    room[:] = 0.0
    for j in range(m):
        for i in range(k):
            if y[j, i] != 0.0:
                for c in range(length):
                    room[c] += A[j, i, c] * y[j, i]
        if last[j]:
            for c in range(length):
                if columns[j, c] >= 0:
                    out[columns[j, c]] += room[c]
            room[:] = 0.0


def chained_rows(A, first, last, weight, link, X):
    """Rows X whose squares add up to sum w_k a_k^2 + sum l_k (a_k+1 - a_k)^2 at samples first to last - 1.

    With weights (m, k) and links (m, k) between a sample and the next one within the same run: the matrix of
    the form is tridiagonal for each force, and its Cholesky factor has two diagonals.
    """
    forces, length = A.shape[1], A.shape[2]
    row = 0
    for i in range(forces):
        below = 0.0  # of the factor's column before
        for j in range(first, last):
            ahead = link[j, i] if j < last - 1 else 0.0
            behind = link[j - 1, i] if j > first else 0.0
            pivot = sqrt(max(weight[j, i] + ahead + behind - below * below, 0.0))
            if pivot == 0.0 and ahead == 0.0:
                below = 0.0
                continue
            below = -ahead / pivot if ahead != 0.0 else 0.0
            for c in range(length):
                X[row, c] = pivot * A[j, i, c]
            if below != 0.0:
                for c in range(length):
                    X[row, c] += below * A[j + 1, i, c]
            row += 1
    return row


def linked_rows(A, here, there, after, sign, root, near, far, X):
    """Rows sqrt(2 w) (sign a_after(there) - a(here)); ``near`` and ``far`` place their columns in X."""
    for i in range(root.shape[0]):
        for c in range(near.shape[0]):
            if near[c] >= 0:
                X[i, near[c]] -= root[i] * A[here, i, c]
        for c in range(far.shape[0]):
            if far[c] >= 0:
                X[i, far[c]] += sign[i] * root[i] * A[there, after[i], c]


def add_square(S, columns, stretches, H):
    """Add S (l, l), symmetric, to the lower triangle of H at columns (l,) that ascend.

    H is given transposed: its rows are columns. Columns ``stretches[r, 0]`` to ``stretches[r, 1] - 1`` follow
    one another without a gap, beginning with ``stretches[r, 2]``; the others count for nothing.
    """
    for r in range(stretches.shape[0]):
        for e in range(stretches[r, 0], stretches[r, 1]):
            b = columns[e]
            for t in range(r, stretches.shape[0]):
                first, begin = max(stretches[t, 0], e), stretches[t, 2] - stretches[t, 0]
                for c in range(first, stretches[t, 1]):
                    H[b, begin + c] += S[e, c]


def scatter_half(half, weights, duration, place, factor, H):
    """Add the Hessian M + M^T of half Hessians over (q, qd, qdd), carried back, to the lower triangle of H.

    ``half`` (m, 6, n, n), ``place`` (m, w, n) among the unknowns; H is given transposed.
    """
    m, n, width = half.shape[0], half.shape[2], weights.shape[2]
    one = 1.0 / duration
    two, three = one * one, one * one * one
    for j in range(m):
        for i in range(n):
            for h in range(n):
                x0, x1, x2 = half[j, 0, i, h], half[j, 1, i, h], half[j, 2, i, h]
                x3, x4, x5 = half[j, 3, i, h], half[j, 4, i, h], half[j, 5, i, h]
                if x0 == 0.0 and x1 == 0.0 and x2 == 0.0 and x3 == 0.0 and x4 == 0.0 and x5 == 0.0:
                    continue
                for a in range(width):
                    p = place[j, a, i]
                    if p < 0:
                        continue
                    A0, A1, A2 = weights[j, 0, a], weights[j, 1, a], weights[j, 2, a]
                    f = factor[j, a, i]
                    c0 = f * A0 * x0
                    c1 = f * one * (A0 * x1)
                    c2 = f * two * (A0 * x2)
                    c1 += f * two * A1 * x3
                    c2 += f * three * A1 * x4 + f * two * two * A2 * x5
                    for b in range(width):
                        q = place[j, b, h]
                        if q >= 0:
                            v = weights[j, 0, b] * c0 + weights[j, 1, b] * c1 + weights[j, 2, b] * c2
                            v *= factor[j, b, h]
                            if p > q:
                                H[q, p] += v
                            elif q > p:
                                H[p, q] += v
                            else:
                                H[p, p] += 2.0 * v


def scatter_mixed(mixed, weights, duration, place, factor, curve_weights, curve_place, curve_factor, H):
    """Add second derivatives (m, 3, n, c) by (q, qd, qdd) and a curve to the lower triangle of H."""
    m, n, c = mixed.shape[0], mixed.shape[2], mixed.shape[3]
    width, span = weights.shape[2], curve_weights.shape[1]
    one = 1.0 / duration
    for j in range(m):
        for i in range(n):
            for h in range(c):
                x, v, a = mixed[j, 0, i, h], one * mixed[j, 1, i, h], one * one * mixed[j, 2, i, h]
                if x == 0.0 and v == 0.0 and a == 0.0:
                    continue
                for b in range(width):
                    p = place[j, b, i]
                    if p >= 0:
                        change = weights[j, 0, b] * x + weights[j, 1, b] * v + weights[j, 2, b] * a
                        change *= factor[j, b, i]
                        for e in range(span):
                            q = curve_place[j, e, h]
                            if q >= 0:
                                y = change * curve_weights[j, e] * curve_factor[j, e, h]
                                if p > q:
                                    H[q, p] += y
                                elif q > p:
                                    H[p, q] += y
                                else:
                                    H[p, p] += 2.0 * y


# a digit: numbers with so many axes; i, I, T, F: integers with 1 to 4 axes, only read; f, n: a number;
# s: numbers with 3 axes, w: with 2, in any order, that are only read
SIGNATURES: dict[Callable[..., Any], str] = {
    pull_motion: "43fFi33",
    pull_curve: "sWT33",
    transposed: "3Ii211",
    chained_rows: "3nn222",
    linked_rows: "3nni11ii2",
    add_square: "2iI2",
    scatter_half: "43fT32",
    scatter_mixed: "43fT3WT32",
}


@functools.cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Machine code of one of the functions above."""
    from kinetree.engine.door import FLOAT, INTEGER, array_type, compiled_function

    kinds: dict[str, Any] = {str(k): array_type(FLOAT, k) for k in range(1, 5)}
    kinds |= {"f": FLOAT, "n": INTEGER}
    read = {"w": (FLOAT, 2, "A"), "W": (FLOAT, 2, "C"), "s": (FLOAT, 3, "A")}
    read |= {key: (INTEGER, k, "C") for key, k in (("i", 1), ("I", 2), ("T", 3), ("F", 4))}
    kinds |= {key: array_type(*kind, readonly=True) for key, kind in read.items()}
    signature = [kinds[letter] for letter in SIGNATURES[function]]
    return compiled_function(function, signature, f"blocks-{function.__name__}")
