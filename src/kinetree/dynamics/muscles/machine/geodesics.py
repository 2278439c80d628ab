"""Shortest paths around ellipsoids and tori: a straight line, a geodesic of the surface, a straight line.

On F(x) = 0 a geodesic x(s) obeys x' = T, T' = -(T . H T) g / |g|^2, with g and H the derivatives of F. From
the point x0 where the path comes, tangent to the surface, it goes on for a length s; Newton's method finds x0
(two numbers in the tangent plane) and s so that g(x0) . (x0 - a) = 0 and that b lies ahead at its end: (b -
x) has no part along the normal g nor along g x T. It begins at the great circle of an ellipsoid that is a
sphere when scaled, in the plane of both points and the center, and at the tube of a torus taken as a
cylinder.
"""

import math

from kinetree.dynamics.muscles.machine.round_wraps import (
    AROUND,
    INSIDE,
    STRAIGHT,
    TINY,
    around_cylinder,
    around_sphere,
)
from kinetree.engine.door import helper

ELLIPSOID, TORUS = 2, 3
STEP = 0.04  # of the least radius of curvature, for the integration
MOST_STEPS = 400
NEWTON, KEPT = 60, 3  # turns, and turns with one matrix
DIFFERENCE = 1e-6
CLOSE = 1e-13  # relative to the size: where Newton's method ends


@helper
def gradient(kind, x, y, z, A, B, C):
    """g of F: of the ellipsoid with half axes A, B, C, or of the torus with tube A about the circle B."""
    if kind == ELLIPSOID:
        return x / (A * A), y / (B * B), z / (C * C)
    rho = max(math.hypot(x, y), TINY)
    k = (rho - B) / rho
    return k * x, k * y, z


@helper
def curving(kind, x, y, z, u, v, w, A, B, C):
    """T . H T for T = (u, v, w), with H the derivative of `gradient`."""
    if kind == ELLIPSOID:
        return u * u / (A * A) + v * v / (B * B) + w * w / (C * C)
    rho = max(math.hypot(x, y), TINY)
    rate = (x * u + y * v) / rho
    k = (rho - B) / rho
    return k * (u * u + v * v) + B / (rho * rho) * rate * (x * u + y * v) + w * w


@helper
def bending(kind, x, y, z, u, v, w, A, B, C):
    """T' at a point with direction T."""
    gx, gy, gz = gradient(kind, x, y, z, A, B, C)
    k = -curving(kind, x, y, z, u, v, w, A, B, C) / max(gx * gx + gy * gy + gz * gz, TINY)
    return k * gx, k * gy, k * gz


@helper
def shot(kind, x, y, z, u, v, w, s, A, B, C, steps):
    """The end of a geodesic of length s and its direction there, by Runge and Kutta's fourth order."""
    h = s / steps
    for _ in range(steps):
        a1, b1, c1 = bending(kind, x, y, z, u, v, w, A, B, C)
        u2, v2, w2 = u + 0.5 * h * a1, v + 0.5 * h * b1, w + 0.5 * h * c1
        a2, b2, c2 = bending(kind, x + 0.5 * h * u, y + 0.5 * h * v, z + 0.5 * h * w, u2, v2, w2, A, B, C)
        u3, v3, w3 = u + 0.5 * h * a2, v + 0.5 * h * b2, w + 0.5 * h * c2
        a3, b3, c3 = bending(kind, x + 0.5 * h * u2, y + 0.5 * h * v2, z + 0.5 * h * w2, u3, v3, w3, A, B, C)
        u4, v4, w4 = u + h * a3, v + h * b3, w + h * c3
        a4, b4, c4 = bending(kind, x + h * u3, y + h * v3, z + h * w3, u4, v4, w4, A, B, C)
        x += h / 6.0 * (u + 2.0 * u2 + 2.0 * u3 + u4)
        y += h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4)
        z += h / 6.0 * (w + 2.0 * w2 + 2.0 * w3 + w4)
        u += h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        v += h / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4)
        w += h / 6.0 * (c1 + 2.0 * c2 + 2.0 * c3 + c4)
    return x, y, z, u, v, w


@helper
def excess(kind, x, y, z, A, B, C):
    """F, such that `gradient` is half its derivative."""
    if kind == ELLIPSOID:
        return x * x / (A * A) + y * y / (B * B) + z * z / (C * C) - 1.0
    across = math.hypot(x, y) - B
    return across * across + z * z - A * A


@helper
def onto(kind, x, y, z, A, B, C):
    """The point of the surface near a point, along the normal."""
    for _ in range(30):
        f = excess(kind, x, y, z, A, B, C)
        gx, gy, gz = gradient(kind, x, y, z, A, B, C)
        k = 0.5 * f / max(gx * gx + gy * gy + gz * gz, TINY)
        x, y, z = x - k * gx, y - k * gy, z - k * gz
        if abs(k) * math.sqrt(gx * gx + gy * gy + gz * gz) < 1e-16 * (A + B):
            break
    return x, y, z


@helper
def missed(kind, a, b, x, y, z, s, A, B, C, steps):
    """What Newton's method makes zero, and the end: (r1, r2, r3, ahead, x, y, z)."""
    gx, gy, gz = gradient(kind, x, y, z, A, B, C)
    size = max(math.sqrt(gx * gx + gy * gy + gz * gz), TINY)
    gx, gy, gz = gx / size, gy / size, gz / size
    u, v, w = x - a[0], y - a[1], z - a[2]
    r1 = gx * u + gy * v + gz * w
    u, v, w = u - r1 * gx, v - r1 * gy, w - r1 * gz
    size = max(math.sqrt(u * u + v * v + w * w), TINY)
    x, y, z, u, v, w = shot(kind, x, y, z, u / size, v / size, w / size, s, A, B, C, steps)
    gx, gy, gz = gradient(kind, x, y, z, A, B, C)
    size = max(math.sqrt(gx * gx + gy * gy + gz * gz), TINY)
    gx, gy, gz = gx / size, gy / size, gz / size
    dx, dy, dz = b[0] - x, b[1] - y, b[2] - z
    bx, by, bz = gy * w - gz * v, gz * u - gx * w, gx * v - gy * u
    return r1, gx * dx + gy * dy + gz * dz, bx * dx + by * dy + bz * dz, u * dx + v * dy + w * dz, x, y, z


@helper
def tangent_axes(kind, x, y, z, A, B, C):
    """Two unit vectors of the tangent plane."""
    gx, gy, gz = gradient(kind, x, y, z, A, B, C)
    size = max(math.sqrt(gx * gx + gy * gy + gz * gz), TINY)
    gx, gy, gz = gx / size, gy / size, gz / size
    if abs(gx) < 0.6:
        px, py, pz = 0.0, gz, -gy
    else:
        px, py, pz = -gz, 0.0, gx
    size = math.sqrt(px * px + py * py + pz * pz)
    px, py, pz = px / size, py / size, pz / size
    return px, py, pz, gy * pz - gz * py, gz * px - gx * pz, gx * py - gy * px


@helper
def solved3(J, r):
    """Whether J d = -r has a solution d, which replaces r; J (3, 3) is used up."""
    for i in range(3):
        best = i
        for k in range(i + 1, 3):
            if abs(J[k, i]) > abs(J[best, i]):
                best = k
        if abs(J[best, i]) < TINY:
            return False
        for j in range(3):
            J[i, j], J[best, j] = J[best, j], J[i, j]
        r[i], r[best] = r[best], r[i]
        for k in range(i + 1, 3):
            f = J[k, i] / J[i, i]
            for j in range(i, 3):
                J[k, j] -= f * J[i, j]
            r[k] -= f * r[i]
    for i in range(2, -1, -1):
        for j in range(i + 1, 3):
            r[i] -= J[i, j] * r[j]
        r[i] /= J[i, i]
    for i in range(3):
        r[i] = -r[i]
    return True


@helper
def refined(kind, a, b, A, B, C, s, t1, t2, J, K, r):
    """(found, length) by Newton's method from t1 and the length s of the arc; t1 and t2 become exact."""
    least = min(A, min(B, C))
    if kind == ELLIPSOID:
        most = max(A, max(B, C))
        least = least * least / most
    size = A + B + abs(b[0] - a[0]) + abs(b[1] - a[1]) + abs(b[2] - a[2])
    x, y, z = onto(kind, t1[0], t1[1], t1[2], A, B, C)
    ahead, px, py, pz, qx, qy, qz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for turn in range(NEWTON):
        steps = min(MOST_STEPS, 6 + int(abs(s) / (STEP * least)))
        r1, r2, r3, ahead, t2[0], t2[1], t2[2] = missed(kind, a, b, x, y, z, s, A, B, C, steps)
        r[0], r[1], r[2] = r1, r2, r3
        if max(abs(r1), max(abs(r2), abs(r3))) < CLOSE * size:
            break
        if turn % KEPT == 0:
            px, py, pz, qx, qy, qz = tangent_axes(kind, x, y, z, A, B, C)
        h = DIFFERENCE * least
        rough = 6 + steps // 3  # the matrix need not be exact, nor new in every turn
        for k in range(3 if turn % KEPT == 0 else 0):
            for sign in range(2):
                d = h if sign == 0 else -h
                i, j, ds = (d if k == 0 else 0.0), (d if k == 1 else 0.0), (d if k == 2 else 0.0)
                xx, yy, zz = onto(
                    kind, x + i * px + j * qx, y + i * py + j * qy, z + i * pz + j * qz, A, B, C
                )
                f1, f2, f3, _, _, _, _ = missed(kind, a, b, xx, yy, zz, s + ds, A, B, C, rough)
                if sign == 0:
                    J[0, k], J[1, k], J[2, k] = f1, f2, f3
                else:
                    J[0, k] = (J[0, k] - f1) / (2.0 * h)
                    J[1, k] = (J[1, k] - f2) / (2.0 * h)
                    J[2, k] = (J[2, k] - f3) / (2.0 * h)
        for k in range(3):
            for j in range(3):
                K[k, j] = J[k, j]
        if not solved3(K, r):
            return STRAIGHT, 0.0
        length = math.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
        share = min(1.0, 0.5 * least / max(length, TINY))
        i, j = share * r[0], share * r[1]
        x, y, z = onto(kind, x + i * px + j * qx, y + i * py + j * qy, z + i * pz + j * qz, A, B, C)
        s += share * r[2]
        if length < 1e-14 * size:
            break
    if s <= 0.0 or ahead < 0.0 or max(abs(r[0]), max(abs(r[1]), abs(r[2]))) > 1e-8 * size:
        return STRAIGHT, 0.0
    t1[0], t1[1], t1[2] = x, y, z
    before = math.sqrt((x - a[0]) ** 2 + (y - a[1]) ** 2 + (z - a[2]) ** 2)
    return AROUND, before + s + ahead


@helper
def around_ellipsoid(a, b, A, B, C, axis, sign, t1, t2, J, K, r, c, d):
    """The path around an ellipsoid, from that around the unit sphere that it is when scaled; c, d: room."""
    c[0], c[1], c[2] = a[0] / A, a[1] / B, a[2] / C
    d[0], d[1], d[2] = b[0] / A, b[1] / B, b[2] / C
    found, _ = around_sphere(c, d, 1.0, axis, sign, t1, t2)
    if found != AROUND:
        return found, 0.0
    s, parts = 0.0, 16
    ux, uy, uz, vx, vy, vz = t1[0], t1[1], t1[2], t2[0], t2[1], t2[2]
    angle = math.acos(max(-1.0, min(1.0, ux * vx + uy * vy + uz * vz)))
    lx, ly, lz = A * ux, B * uy, C * uz
    across = max(math.sin(angle), 1e-9)
    for k in range(1, parts + 1):
        p, q = math.sin((1.0 - k / parts) * angle) / across, math.sin(k / parts * angle) / across
        x, y, z = A * (p * ux + q * vx), B * (p * uy + q * vy), C * (p * uz + q * vz)
        s += math.sqrt((x - lx) ** 2 + (y - ly) ** 2 + (z - lz) ** 2)
        lx, ly, lz = x, y, z
    t1[0], t1[1], t1[2] = A * ux, B * uy, C * uz
    return refined(ELLIPSOID, a, b, A, B, C, s, t1, t2, J, K, r)


@helper
def around_torus(a, b, A, B, t1, t2, J, K, r, c, d):
    """The path through the hole of a torus with tube A about the circle of radius B in the xy plane."""
    if excess(TORUS, a[0], a[1], a[2], A, B, A) < 0.0 or excess(TORUS, b[0], b[1], b[2], A, B, A) < 0.0:
        return INSIDE, 0.0
    if a[2] * b[2] >= 0.0:
        return STRAIGHT, 0.0
    t = a[2] / (a[2] - b[2])  # where the line crosses the plane of the circle
    px, py = a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])
    rho = math.hypot(px, py)
    ex, ey = (1.0, 0.0) if rho < TINY else (px / rho, py / rho)
    c[0], c[1], c[2] = a[2], B - (ex * a[0] + ey * a[1]), -ey * a[0] + ex * a[1]
    d[0], d[1], d[2] = b[2], B - (ex * b[0] + ey * b[1]), -ey * b[0] + ex * b[1]
    found, length = around_cylinder(c, d, A, 1, 1.0, 1e9, t1, t2)  # on the side of the hole
    if found != AROUND:
        return STRAIGHT, 0.0
    before = math.sqrt((c[0] - t1[0]) ** 2 + (c[1] - t1[1]) ** 2 + (c[2] - t1[2]) ** 2)
    after = math.sqrt((d[0] - t2[0]) ** 2 + (d[1] - t2[1]) ** 2 + (d[2] - t2[2]) ** 2)
    up, out, along = t1[0], B - t1[1], t1[2]
    t1[0], t1[1], t1[2] = ex * out - ey * along, ey * out + ex * along, up
    return refined(TORUS, a, b, A, B, A, max(length - before - after, 1e-3 * A), t1, t2, J, K, r)
