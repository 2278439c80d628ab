"""Chain rule from samples of a motion to its control points and duration, compiled.

Arrays as in `motion.problem.profile`: m samples, each ruled by w control points from ``first`` on;
``weights`` (m, 3, w) are basis functions and their first two derivatives by s = t / T; ``moving`` (m, 3, n)
are q, qd and qdd. Blocks of a half Hessian over (q, qd, qdd) come in the order (q, q), (q, qd), (q, qdd),
(qd, qd), (qd, qdd), (qdd, qdd). Nothing here allocates: results go to arrays that are given.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

LOAD = 21  # numbers per axis in `add_load_torques`, as in `load_gradient`


def sample(points, first, weights, duration, chosen, moving, full):
    """``moving`` from control points (., n); ``full`` (3, m, n_dof) has them at the places ``chosen``."""
    m, n, width = moving.shape[0], moving.shape[2], weights.shape[2]
    for j in range(m):
        power = 1.0
        for r in range(3):
            for i in range(n):
                total = 0.0
                for a in range(width):
                    total += weights[j, r, a] * points[first[j] + a, i]
                total *= power
                moving[j, r, i] = total
                full[r, j, chosen[i]] = total
            power /= duration


def pull(slopes, moving, weights, duration, by_point, by_duration):
    """Slopes (m, 3, k, n) carried back to control points, (m, w, k, n), and duration, (m, k)."""
    m, k, n, width = slopes.shape[0], slopes.shape[2], slopes.shape[3], weights.shape[2]
    one = 1.0 / duration
    for j in range(m):
        for i in range(k):
            total = 0.0
            for h in range(n):
                x, v, a = slopes[j, 0, i, h], one * slopes[j, 1, i, h], one * one * slopes[j, 2, i, h]
                total -= moving[j, 1, h] * v + 2.0 * duration * moving[j, 2, h] * a
                for b in range(width):
                    by_point[j, b, i, h] = weights[j, 0, b] * x + weights[j, 1, b] * v + weights[j, 2, b] * a
            by_duration[j, i] = total


def pull_entries(slopes, moving, weights, duration, scale, places, entries, last):
    """The same, divided by ``scale`` (k,), to entries of a sparse matrix.

    ``places`` (m, w, k, n), -1 where there is none; the m k slopes by the duration follow from ``last`` on if
    that is not negative.
    """
    m, k, n, width = slopes.shape[0], slopes.shape[2], slopes.shape[3], weights.shape[2]
    one = 1.0 / duration
    for j in range(m):
        for i in range(k):
            total, unit = 0.0, 1.0 / scale[i]
            for h in range(n):
                x = unit * slopes[j, 0, i, h]
                v, a = unit * one * slopes[j, 1, i, h], unit * one * one * slopes[j, 2, i, h]
                total -= moving[j, 1, h] * v + 2.0 * duration * moving[j, 2, h] * a
                for b in range(width):
                    place = places[j, b, i, h]
                    if place >= 0:
                        entries[place] = weights[j, 0, b] * x + weights[j, 1, b] * v + weights[j, 2, b] * a
            if last >= 0:
                entries[last + j * k + i] = total


def pull_twice(half, gradient, moving, weights, duration, turned, points, mixed, twice):
    """Second derivatives carried back: see `Grid.pull_twice`. ``turned`` (3, n) is room."""
    m, n, width = moving.shape[0], moving.shape[2], weights.shape[2]
    one = 1.0 / duration
    two, three = one * one, one * one * one
    for j in range(m):
        for a in range(width):
            A0, A1, A2 = weights[j, 0, a], weights[j, 1, a], weights[j, 2, a]
            for b in range(width):
                B0, B1, B2 = weights[j, 0, b], weights[j, 1, b], weights[j, 2, b]
                c00, c01, c02 = A0 * B0, A0 * B1 * one, A0 * B2 * two
                c11, c12, c22 = A1 * B1 * two, A1 * B2 * three, A2 * B2 * two * two
                for i in range(n):
                    for h in range(n):
                        points[j, a, b, i, h] = (
                            c00 * half[j, 0, i, h]
                            + c01 * half[j, 1, i, h]
                            + c02 * half[j, 2, i, h]
                            + c11 * half[j, 3, i, h]
                            + c12 * half[j, 4, i, h]
                            + c22 * half[j, 5, i, h]
                        )
        total = 0.0
        for i in range(n):
            x, y, z = 0.0, 0.0, 0.0  # Hessian times d(q, qd, qdd)/dT; positions do not change with T
            for h in range(n):
                v, a = -one * moving[j, 1, h], -2.0 * one * moving[j, 2, h]
                x += half[j, 1, i, h] * v + half[j, 2, i, h] * a
                y += 2.0 * half[j, 3, i, h] * v + half[j, 4, i, h] * a
                z += half[j, 4, h, i] * v + 2.0 * half[j, 5, i, h] * a
            v, a = moving[j, 1, i], moving[j, 2, i]
            total -= one * v * y + 2.0 * one * a * z
            total += two * (2.0 * gradient[j, 1, i] * v + 6.0 * gradient[j, 2, i] * a)
            turned[0, i] = x
            turned[1, i] = one * (y - gradient[j, 1, i] * one)
            turned[2, i] = two * (z - gradient[j, 2, i] * 2.0 * one)
        twice[j] = total
        for b in range(width):
            for i in range(n):
                mixed[j, b, i] = (
                    weights[j, 0, b] * turned[0, i]
                    + weights[j, 1, b] * turned[1, i]
                    + weights[j, 2, b] * turned[2, i]
                )


def gather(points, mixed, first, span, places, factors, entries, total):
    """Add second derivatives of all samples where they belong.

    ``points`` (m, numbers) go to the places (spans, numbers) of each sample's span, times ``factors``, -1
    where there is none; ``mixed`` (m, w, n) to the control points in ``total``.
    """
    m, numbers, width, n = points.shape[0], points.shape[1], mixed.shape[1], mixed.shape[2]
    for j in range(m):
        k = span[j]
        for e in range(numbers):
            place = places[k, e]
            if place >= 0:
                entries[place] += factors[k, e] * points[j, e]
        for a in range(width):
            for i in range(n):
                total[(first[j] + a) * n + i] += mixed[j, a, i]


def weigh(weight, slopes, gradient):
    """Add weight (m, k) . slopes (m, 3, k, n) to the gradient (m, 3, n)."""
    for j in range(slopes.shape[0]):
        for r in range(3):
            for i in range(slopes.shape[2]):
                for h in range(slopes.shape[3]):
                    gradient[j, r, h] += weight[j, i] * slopes[j, r, i, h]


def add_outer(weight, slopes, others, half):
    """Add sum_k weight_k (a_k b_k^T + b_k a_k^T) / 2 of rows a, b over (q, qd, qdd), (m, 3, k, n)."""
    n = slopes.shape[3]
    for j in range(slopes.shape[0]):
        for k in range(slopes.shape[2]):
            quarter, block = 0.25 * weight[j, k], 0
            for r in range(3):
                for c in range(r, 3):
                    factor = quarter if r == c else 2.0 * quarter
                    for i in range(n):
                        a, b = factor * slopes[j, r, k, i], factor * others[j, r, k, i]
                        for h in range(n):
                            half[j, block, i, h] += a * others[j, c, k, h] + b * slopes[j, c, k, h]
                    block += 1


def add_torque_blocks(blocks, chosen, half):
    """Add second derivatives q-q, q-qd, qd-qd and q-qdd, (4, m, n_dof, n_dof), of coordinates ``chosen``."""
    n = chosen.shape[0]
    for j in range(half.shape[0]):
        for i in range(n):
            for h in range(n):
                a, b = chosen[i], chosen[h]
                half[j, 0, i, h] += 0.5 * blocks[0, j, a, b]
                half[j, 1, i, h] += blocks[1, j, a, b]
                half[j, 2, i, h] += blocks[3, j, a, b]
                half[j, 3, i, h] += 0.5 * blocks[2, j, a, b]


def add_load_torques(pose, parent, turns, load, tau):
    """Subtract J^T load from tau (m, n); poses (m, 12 n) of the axes, loads (m, LOAD n)."""
    m, n = tau.shape
    for j in range(m):
        for i in range(n):
            at, k = 12 * i, LOAD * i
            some = 0.0
            for e in range(LOAD):
                some += abs(load[j, k + e])
            if some == 0.0:
                continue
            px, py, pz = pose[j, at + 9], pose[j, at + 10], pose[j, at + 11]
            fx, fy, fz = load[j, k + 6], load[j, k + 7], load[j, k + 8]
            nx, ny, nz = load[j, k + 9], load[j, k + 10], load[j, k + 11]
            for e in range(3):  # the columns of the axis' rotation
                x, y, z = pose[j, at + e], pose[j, at + 3 + e], pose[j, at + 6 + e]
                f, n_e, V = load[j, k + e], load[j, k + 3 + e], k + 12 + 3 * e
                fx, fy, fz = fx + x * f, fy + y * f, fz + z * f
                Vx, Vy, Vz = load[j, V], load[j, V + 1], load[j, V + 2]
                nx += x * n_e + y * Vz - z * Vy
                ny += y * n_e + z * Vx - x * Vz
                nz += z * n_e + x * Vy - y * Vx
            nx, ny, nz = nx + py * fz - pz * fy, ny + pz * fx - px * fz, nz + px * fy - py * fx
            a = i
            while a >= 0:
                at = 12 * a
                zx, zy, zz = pose[j, at + 2], pose[j, at + 5], pose[j, at + 8]
                px, py, pz = pose[j, at + 9], pose[j, at + 10], pose[j, at + 11]
                if turns[a]:
                    tau[j, a] -= (
                        zx * (nx - py * fz + pz * fy)
                        + zy * (ny - pz * fx + px * fz)
                        + zz * (nz - px * fy + py * fx)
                    )
                else:
                    tau[j, a] -= zx * fx + zy * fy + zz * fz
                a = parent[a]


# a digit: contiguous numbers with so many axes; f, n: a number; the others are arrays that are only read
SIGNATURES: dict[Callable[..., None], str] = {
    sample: "2i3fi33",
    pull: "r33f42",
    pull_entries: "r33f1P1n",
    pull_twice: "4333f2531",
    gather: "23iiI211",
    weigh: "wr3",
    add_outer: "wrrs",
    add_torque_blocks: "ris",
    add_load_torques: "2ib22",
}


USUAL = pull_entries, weigh, add_torque_blocks, pull_twice, gather  # what most programs need


@functools.cache
def compiled(function: Callable[..., None]) -> Callable[..., None]:
    """Machine code of one of the functions above."""
    from kinetree.engine.door import BOOLEAN, FLOAT, INTEGER, array_type, compiled_function

    kinds: dict[str, Any] = {str(k): array_type(FLOAT, k) for k in range(1, 6)}
    kinds |= {"f": FLOAT, "n": INTEGER, "s": array_type(FLOAT, 4, "A")}
    read = {"w": (FLOAT, 2, "A"), "r": (FLOAT, 4, "A"), "b": (BOOLEAN, 1, "C")}
    read |= {key: (INTEGER, k, "C") for key, k in (("i", 1), ("I", 2), ("P", 4))}
    kinds |= {key: array_type(*kind, readonly=True) for key, kind in read.items()}
    signature = [kinds[letter] for letter in SIGNATURES[function]]
    return compiled_function(function, signature, f"motion-{function.__name__}")
