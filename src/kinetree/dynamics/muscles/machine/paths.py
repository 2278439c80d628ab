"""Lengths and moment arms of muscles at m poses, about all axes of a tree.

A path goes through the points of a muscle that are active, straight or around wraps; of the pieces between
which a wrap is used, the one which it makes least longer goes around it. Several wraps on one path are taken
in turn, each between what the others leave, until the path stays as it is: then it is the shortest near
there, whatever their order. A straight piece with direction e changes its length by e . (dx_end - dx_start);
points where the path comes to and leaves a wrap count as fixed to it, since the path is stationary. An axis
does work on a piece only if it moves one of its ends.
"""

import math

from kinetree.dynamics.muscles.machine.geodesics import around_ellipsoid, around_torus
from kinetree.dynamics.muscles.machine.round_wraps import (
    AROUND,
    INSIDE,
    around_cylinder,
    around_sphere,
)
from kinetree.engine.door import helper, inline

MOST_TURNS = 200  # of the wraps of one path
SETTLED = 1e-9  # m: points of contact that move less change lengths by their square
FIXED = -1  # what a point of the path that is no point of contact belongs to
STRAIGHT_PIECE = -1.0
IS_INSIDE, UNSETTLED, HAS_WRAPPED = 1, 2, 4  # bits of the state of a path


@inline
def law_value(breaks, centers, coefficients, i, x):
    """Value and slope of function i of a table of polynomials on pieces."""
    k = 0
    while k < breaks.shape[1] and x >= breaks[i, k]:
        k += 1
    x -= centers[i, k]
    value, slope = 0.0, 0.0
    for j in range(coefficients.shape[2] - 1, -1, -1):
        slope = slope * x + value
        value = value * x + coefficients[i, k, j]
    return value, slope


@inline
def active_points(R, p, q, points, local, condition, laws, law_frame, functions, i, X, marks, arc):
    """The number of active points of muscle i; X (room, 3) are they in the world, ``marks`` what they are."""
    start, axis, gate, mover = points
    breaks, centers, coefficients = functions
    n = 0
    for y in range(start[i], start[i + 1]):
        if gate[y] >= 0:
            x = q[gate[y]]
            if x < condition[y, 0] or x > condition[y, 1]:
                continue
        c, k = axis[y], mover[y]
        lx, ly, lz = local[y, 0], local[y, 1], local[y, 2]
        if k >= 0:
            vx, _ = moved_along(breaks, centers, coefficients, laws, q, k, 0)
            vy, _ = moved_along(breaks, centers, coefficients, laws, q, k, 1)
            vz, _ = moved_along(breaks, centers, coefficients, laws, q, k, 2)
            lx += law_frame[k, 0, 0] * vx + law_frame[k, 0, 1] * vy + law_frame[k, 0, 2] * vz
            ly += law_frame[k, 1, 0] * vx + law_frame[k, 1, 1] * vy + law_frame[k, 1, 2] * vz
            lz += law_frame[k, 2, 0] * vx + law_frame[k, 2, 1] * vy + law_frame[k, 2, 2] * vz
        marks[n, 0], marks[n, 1], marks[n, 2], marks[n, 3] = c, FIXED, y - start[i], y
        arc[n] = STRAIGHT_PIECE
        for r in range(3):
            X[n, r] = p[c, r] + R[c, r, 0] * lx + R[c, r, 1] * ly + R[c, r, 2] * lz
        n += 1
    return n


@inline
def moved_along(breaks, centers, coefficients, laws, q, k, r):
    """Value and slope of the function of moving point k along axis r; (0, 0) without one."""
    if laws[k, r, 0] < 0:
        return 0.0, 0.0
    return law_value(breaks, centers, coefficients, laws[k, r, 0], q[laws[k, r, 1]])


@inline
def without(h, n, X, marks, arc):
    """The number of points left when those of contact with wrap h are gone."""
    j = 0
    for x in range(n):
        if marks[x, 1] == h:
            continue
        if x != j:
            arc[j] = arc[x]
            for r in range(4):
                marks[j, r] = marks[x, r]
            for r in range(3):
                X[j, r] = X[x, r]
        j += 1
    return j


@helper
def around(kind, a, b, radii, side, sign, half, room):
    """(found, length) of the path around a wrap; the points of contact are room[0] and room[1]."""
    t1, t2 = room[0], room[1]
    if kind == 0:
        return around_cylinder(a, b, radii[0], side, sign, half, t1, t2)
    J, K, r, c, d = room[2:5], room[16:19], room[5], room[6], room[7]
    if kind == 1:
        return around_sphere(a, b, radii[0], side, sign, t1, t2)
    if kind == 2:
        return around_ellipsoid(a, b, radii[0], radii[1], radii[2], side, sign, t1, t2, J, K, r, c, d)
    return around_torus(a, b, radii[0], radii[1], t1, t2, J, K, r, c, d)


@inline
def wrapped(R, p, h, wraps, radii, frames, n, X, marks, arc, room):
    """(points, state, farthest move) of a path of n points that goes around wrap h where it is shortest."""
    kinds, axes, sides, ranges = wraps
    c = axes[h]
    before = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for x in range(n - 1):
        if marks[x, 1] == h and marks[x + 1, 1] == h:
            before = X[x, 0], X[x, 1], X[x, 2], X[x + 1, 0], X[x + 1, 1], X[x + 1, 2]
    n = without(h, n, X, marks, arc)
    M, P, best1, best2 = room[8:11], room[11], room[12], room[13]
    a, b = room[14], room[15]
    for r in range(3):
        P[r] = p[c, r]
        for k in range(3):
            P[r] += R[c, r, k] * frames[h, 3, k]
            M[r, k] = (
                R[c, r, 0] * frames[h, 0, k] + R[c, r, 1] * frames[h, 1, k] + R[c, r, 2] * frames[h, 2, k]
            )
    least, where, curved, state = 1e300, -1, 0.0, 0
    for j in range(n - 1):
        if arc[j] >= 0.0 or marks[j, 2] < ranges[h, 0] or marks[j, 2] >= ranges[h, 1]:
            continue
        straight = 0.0
        for r in range(3):
            a[r] = M[0, r] * (X[j, 0] - P[0]) + M[1, r] * (X[j, 1] - P[1]) + M[2, r] * (X[j, 2] - P[2])
            b[r] = (
                M[0, r] * (X[j + 1, 0] - P[0])
                + M[1, r] * (X[j + 1, 1] - P[1])
                + M[2, r] * (X[j + 1, 2] - P[2])
            )
            straight += (X[j + 1, r] - X[j, r]) ** 2
        found, length = around(kinds[h], a, b, radii[h], sides[h, 0], float(sides[h, 1]), radii[h, 3], room)
        if found == INSIDE:
            state |= IS_INSIDE
        more = length - math.sqrt(straight)
        if found != AROUND or more >= least:
            continue
        least, where = more, j
        d1, d2 = 0.0, 0.0
        for r in range(3):
            d1 += (a[r] - room[0, r]) ** 2
            d2 += (b[r] - room[1, r]) ** 2
            best1[r] = P[r] + M[r, 0] * room[0, 0] + M[r, 1] * room[0, 1] + M[r, 2] * room[0, 2]
            best2[r] = P[r] + M[r, 0] * room[1, 0] + M[r, 1] * room[1, 1] + M[r, 2] * room[1, 2]
        curved = length - math.sqrt(d1) - math.sqrt(d2)
    if where < 0:
        return n, state, 0.0 if before[0] == 0.0 and before[3] == 0.0 else 1.0
    for j in range(n - 1, where, -1):
        arc[j + 2] = arc[j]
        for r in range(4):
            marks[j + 2, r] = marks[j, r]
        for r in range(3):
            X[j + 2, r] = X[j, r]
    apart = 0.0
    for k in range(2):
        j = where + 1 + k
        marks[j, 0], marks[j, 1], marks[j, 2], marks[j, 3] = c, h, marks[where, 2], -1
        for r in range(3):
            X[j, r] = best1[r] if k == 0 else best2[r]
    for r in range(3):
        apart = max(apart, max(abs(best1[r] - before[r]), abs(best2[r] - before[3 + r])))
    arc[where], arc[where + 1], arc[where + 2] = STRAIGHT_PIECE, max(curved, 0.0), STRAIGHT_PIECE
    return n + 2, state | HAS_WRAPPED, apart


@helper
def traced(
    R,
    p,
    q,
    points,
    local,
    condition,
    laws,
    law_frame,
    functions,
    used,
    wraps,
    radii,
    frames,
    i,
    X,
    marks,
    arc,
    room,
):
    """(points, state) of the path of muscle i at one pose."""
    n = active_points(R, p, q, points, local, condition, laws, law_frame, functions, i, X, marks, arc)
    first, last, state = used[i], used[i + 1], 0
    if first == last:
        return n, state
    for _ in range(MOST_TURNS):
        farthest, state = 0.0, 0
        for h in range(first, last):
            n, found, apart = wrapped(R, p, h, wraps, radii, frames, n, X, marks, arc, room)
            state |= found
            farthest = max(farthest, apart)
        if last - first == 1 or farthest <= SETTLED:
            return n, state
    return n, state | UNSETTLED


@inline
def add_arm(A, x, y, z, ex, ey, ez, R, p, axis, turns, sign):
    """What an axis does to the length of a piece whose end (x, y, z) it moves, times the sign, into A."""
    zx, zy, zz = R[axis, 0, 2], R[axis, 1, 2], R[axis, 2, 2]
    if turns:
        rx, ry, rz = x - p[axis, 0], y - p[axis, 1], z - p[axis, 2]
        value = zx * (ry * ez - rz * ey) + zy * (rz * ex - rx * ez) + zz * (rx * ey - ry * ex)
    else:
        value = zx * ex + zy * ey + zz * ez
    A[axis] += sign * value


@inline
def pulled(R, p, q, points, laws, law_frame, functions, turns, pair, between, n, X, marks, arc, A):
    """The length of a path of n points; its derivatives by the axes are added to A (axes,)."""
    pair_start, pair_axis, pair_sign = between
    breaks, centers, coefficients = functions
    mover = points[3]
    total = 0.0
    for j in range(n - 1):
        if arc[j] >= 0.0:
            total += arc[j]
            continue
        ex, ey, ez = X[j + 1, 0] - X[j, 0], X[j + 1, 1] - X[j, 1], X[j + 1, 2] - X[j, 2]
        d = math.sqrt(ex * ex + ey * ey + ez * ez)
        total += d
        if d == 0.0:
            continue
        ex, ey, ez = ex / d, ey / d, ez / d
        for end in range(2):
            y, c = marks[j + end, 3], marks[j + end, 0]
            k = mover[y] if y >= 0 else -1
            if k < 0:
                continue
            lx = ex * R[c, 0, 0] + ey * R[c, 1, 0] + ez * R[c, 2, 0]
            ly = ex * R[c, 0, 1] + ey * R[c, 1, 1] + ez * R[c, 2, 1]
            lz = ex * R[c, 0, 2] + ey * R[c, 1, 2] + ez * R[c, 2, 2]
            for r in range(3):
                _, slope = moved_along(breaks, centers, coefficients, laws, q, k, r)
                along = lx * law_frame[k, 0, r] + ly * law_frame[k, 1, r] + lz * law_frame[k, 2, r]
                if laws[k, r, 0] >= 0:
                    A[laws[k, r, 1]] += slope * along if end else -slope * along
        m = pair[marks[j, 0], marks[j + 1, 0]]
        for y in range(pair_start[m], pair_start[m + 1]):
            x = pair_axis[y]
            add_arm(A, X[j, 0], X[j, 1], X[j, 2], ex, ey, ez, R, p, x, turns[x], pair_sign[y])
    return total


def paths(
    R, p, q, start, axis, gate, mover, local, condition, laws, law_frame, breaks, centers, coefficients, used,
    kinds, carriers, sides, ranges, radii, frames, turns, pair, pair_start, pair_axis, pair_sign, spread,
    slope, X, marks, arc, room, axes, L, A, state,
):  # fmt: skip
    """Lengths L (m, k), their derivatives A (m, k, coordinates), states (m, k) at m poses R, p, q of axes."""
    points, functions = (start, axis, gate, mover), (breaks, centers, coefficients)
    wraps, between = (kinds, carriers, sides, ranges), (pair_start, pair_axis, pair_sign)
    for s in range(L.shape[0]):
        for i in range(L.shape[1]):
            n, found = traced(
                R[s], p[s], q[s], points, local, condition, laws, law_frame, functions, used, wraps, radii,
                frames, i, X, marks, arc, room,
            )  # fmt: skip
            for x in range(axes.shape[0]):
                axes[x] = 0.0
            L[s, i] = pulled(
                R[s],
                p[s],
                q[s],
                points,
                laws,
                law_frame,
                functions,
                turns,
                pair,
                between,
                n,
                X,
                marks,
                arc,
                axes,
            )
            state[s, i] = found
            for c in range(A.shape[2]):
                A[s, i, c] = 0.0
            for x in range(axes.shape[0]):
                if axes[x] != 0.0:
                    A[s, i, spread[x]] += slope[s, x] * axes[x]


def polylines(
    R, p, q, start, axis, gate, mover, local, condition, laws, law_frame, breaks, centers, coefficients, used,
    kinds, carriers, sides, ranges, radii, frames, X, marks, arc, room, out, count, owner,
):  # fmt: skip
    """The points of all paths at one pose: ``out`` (k, room, 3), how many (k,), the wrap of each or -1."""
    points, functions, wraps = (
        (start, axis, gate, mover),
        (breaks, centers, coefficients),
        (kinds, carriers, sides, ranges),
    )
    for i in range(count.shape[0]):
        n, _ = traced(
            R[0], p[0], q[0], points, local, condition, laws, law_frame, functions, used, wraps, radii,
            frames, i, X, marks, arc, room,
        )  # fmt: skip
        count[i] = n
        for j in range(n):
            owner[i, j] = marks[j, 1]
            for r in range(3):
                out[i, j, r] = X[j, r]


def wrenches(
    R, p, q, start, axis, gate, mover, local, condition, laws, law_frame, breaks, centers, coefficients, used,
    kinds, carriers, sides, ranges, radii, frames, X, marks, arc, room, force, out,
):  # fmt: skip
    """Force and moment about its origin on each axis, ``out`` (m, n + 1, 6), of muscles with ``force``.

    They pull along the straight pieces of their paths, at both ends.
    """
    points, functions = (start, axis, gate, mover), (breaks, centers, coefficients)
    wraps = (kinds, carriers, sides, ranges)
    for s in range(force.shape[0]):
        for c in range(out.shape[1]):
            for r in range(6):
                out[s, c, r] = 0.0
        for i in range(force.shape[1]):
            n, _ = traced(
                R[s], p[s], q[s], points, local, condition, laws, law_frame, functions, used, wraps, radii,
                frames, i, X, marks, arc, room,
            )  # fmt: skip
            for j in range(n - 1):
                if arc[j] >= 0.0:
                    continue
                ex, ey, ez = X[j + 1, 0] - X[j, 0], X[j + 1, 1] - X[j, 1], X[j + 1, 2] - X[j, 2]
                d = math.sqrt(ex * ex + ey * ey + ez * ez)
                if d == 0.0:
                    continue
                f = force[s, i] / d
                add_pull(out[s], marks[j, 0], X[j], p[s], f * ex, f * ey, f * ez)
                add_pull(out[s], marks[j + 1, 0], X[j + 1], p[s], -f * ex, -f * ey, -f * ez)


@helper
def add_pull(out, c, x, p, fx, fy, fz):
    """A force at a point x into the wrench of axis c about its origin."""
    rx, ry, rz = x[0] - p[c, 0], x[1] - p[c, 1], x[2] - p[c, 2]
    out[c, 0] += fx
    out[c, 1] += fy
    out[c, 2] += fz
    out[c, 3] += ry * fz - rz * fy
    out[c, 4] += rz * fx - rx * fz
    out[c, 5] += rx * fy - ry * fx
