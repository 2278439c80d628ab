"""Normal equations of markers on a tree, summed frame by frame, and their damped steps.

With J the derivative of a marker's place by the coordinates, H = sum w J^T J and g = sum w J^T r, r its
error. An axis i on the path of a marker moves it by z x (x - o) or z times its slope by the coordinate
that it follows.
"""

import math

from kinetree.engine.door import helper

TINY = 1e-12  # share of the mean diagonal entry that every one gets


@helper
def column(R, p, turns, s, i, x, slope, J, k):
    """The derivative of a place x by the coordinate of axis i, as row k of J."""
    zx, zy, zz = R[s, i, 0, 2], R[s, i, 1, 2], R[s, i, 2, 2]
    if turns[i]:
        rx, ry, rz = x[0] - p[s, i, 0], x[1] - p[s, i, 1], x[2] - p[s, i, 2]
        J[k, 0] = (zy * rz - zz * ry) * slope
        J[k, 1] = (zz * rx - zx * rz) * slope
        J[k, 2] = (zx * ry - zy * rx) * slope
    else:
        J[k, 0], J[k, 1], J[k, 2] = zx * slope, zy * slope, zz * slope


def equations(R, p, turns, slope, leader, start, path, axis, local, weight, y, J, x, H, g, error):
    """H (m, n, n), g (m, n), error (m, k) of places y (m, k, 3), not a number where a marker was not seen."""
    n = H.shape[1]
    for s in range(H.shape[0]):
        for a in range(n):
            g[s, a] = 0.0
            for b in range(n):
                H[s, a, b] = 0.0
        for i in range(axis.shape[0]):
            c, far = axis[i], 0.0
            for d in range(3):
                x[d] = p[s, c, d]
                for e in range(3):
                    x[d] += R[s, c, d, e] * local[i, e]
                x[3 + d] = x[d] - y[s, i, d]
                far += x[3 + d] * x[3 + d]
            error[s, i] = math.sqrt(far)
            if not far < math.inf or weight[i] == 0.0:
                continue
            count = start[i + 1] - start[i]
            for k in range(count):
                j = path[start[i] + k]
                column(R, p, turns, s, j, x, slope[s, j], J, k)
            for k in range(count):
                a = leader[path[start[i] + k]]
                g[s, a] += weight[i] * (J[k, 0] * x[3] + J[k, 1] * x[4] + J[k, 2] * x[5])
                for v in range(k + 1):
                    b = leader[path[start[i] + v]]
                    h = weight[i] * (J[k, 0] * J[v, 0] + J[k, 1] * J[v, 1] + J[k, 2] * J[v, 2])
                    H[s, a, b] += h
                    if v != k:
                        H[s, b, a] += h


def damped_steps(H, g, q, low, high, moves, damping, A, b, step):
    """Steps -(H + damping mean) ^-1 g of coordinates that move and do not push against a limit."""
    n = H.shape[1]
    for s in range(H.shape[0]):
        mean = 0.0
        for a in range(n):
            mean += H[s, a, a] / n
        for a in range(n):
            out = (q[s, a] <= low[a] and g[s, a] > 0.0) or (q[s, a] >= high[a] and g[s, a] < 0.0)
            free = moves[a] and not out
            b[a] = -g[s, a] if free else 0.0
            for c in range(a):
                A[a, c] = H[s, a, c] if free and A[c, n] > 0.0 else 0.0
            A[a, a] = H[s, a, a] + (damping[s] + TINY) * mean if free else 1.0
            A[a, n] = 1.0 if free else 0.0
        for a in range(n):
            for c in range(a):
                t = A[a, c]
                for d in range(c):
                    t -= A[a, d] * A[c, d]
                A[a, c] = t / A[c, c]
            t = A[a, a]
            for d in range(a):
                t -= A[a, d] * A[a, d]
            A[a, a] = math.sqrt(max(t, 1e-300))
        for a in range(n):
            t = b[a]
            for d in range(a):
                t -= A[a, d] * b[d]
            b[a] = t / A[a, a]
        for k in range(n):
            a = n - 1 - k
            t = b[a]
            for d in range(a + 1, n):
                t -= A[d, a] * b[d]
            b[a] = t / A[a, a]
        for a in range(n):
            step[s, a] = min(max(q[s, a] + b[a], low[a]), high[a]) - q[s, a]
