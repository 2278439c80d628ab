"""Derivatives of points fixed in bodies by the coordinates that move, compiled.

At m samples the n axes of a tree have ``rotation`` (m, n, 3, 3) and ``position`` (m, n, 3). A point is at
``x`` (m, 3) and moves with the axes of its ``path`` from the base outwards, of which some ``turn`` and the
others slide; ``place`` is the number of each among the coordinates that move, -1 where it does not. A
``direction`` has no place of its own: it only turns. With w_i the direction of a revolute axis, else 0, and
J_i the velocity of x per unit rate, dx/dq_i = J_i and d2x/dq_i dq_j = w_i x J_j for i before j.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def point_slopes(rotation, position, path, turns, place, x, direction, out):
    """J (m, 3, n): where an axis of the path moves; the rest stays as it is."""
    for j in range(x.shape[0]):
        for p in range(path.shape[0]):
            h, i = place[p], path[p]
            if h < 0:
                continue
            zx, zy, zz = rotation[j, i, 0, 2], rotation[j, i, 1, 2], rotation[j, i, 2, 2]
            if turns[p]:
                ax, ay, az = x[j, 0], x[j, 1], x[j, 2]
                if not direction:
                    ax, ay, az = ax - position[j, i, 0], ay - position[j, i, 1], az - position[j, i, 2]
                out[j, 0, h] = zy * az - zz * ay
                out[j, 1, h] = zz * ax - zx * az
                out[j, 2, h] = zx * ay - zy * ax
            elif not direction:
                out[j, 0, h], out[j, 1, h], out[j, 2, h] = zx, zy, zz


def point_change(rotation, position, path, turns, place, x, direction, y, out):
    """d(J y)/dq (m, 3, n) for rates y (m, n): w_i x sum_{k >= i} J_k y_k + (sum_{k < i} w_k y_k) x J_i."""
    count = path.shape[0]
    for j in range(x.shape[0]):
        sx, sy, sz = 0.0, 0.0, 0.0  # sum of w_k y_k before i
        ox, oy, oz = 0.0, 0.0, 0.0  # sum of J_k y_k from i on
        for backwards in (True, False):
            for step in range(count):
                p = count - 1 - step if backwards else step
                h, i = place[p], path[p]
                rate = y[j, h] if h >= 0 else 0.0
                zx, zy, zz = rotation[j, i, 0, 2], rotation[j, i, 1, 2], rotation[j, i, 2, 2]
                Jx, Jy, Jz = 0.0, 0.0, 0.0
                if turns[p]:
                    ax, ay, az = x[j, 0], x[j, 1], x[j, 2]
                    if not direction:
                        ax, ay, az = ax - position[j, i, 0], ay - position[j, i, 1], az - position[j, i, 2]
                    Jx, Jy, Jz = zy * az - zz * ay, zz * ax - zx * az, zx * ay - zy * ax
                elif not direction:
                    Jx, Jy, Jz = zx, zy, zz
                if backwards:
                    ox, oy, oz = ox + rate * Jx, oy + rate * Jy, oz + rate * Jz
                    if h >= 0 and turns[p]:
                        out[j, 0, h] = zy * oz - zz * oy
                        out[j, 1, h] = zz * ox - zx * oz
                        out[j, 2, h] = zx * oy - zy * ox
                else:
                    if h >= 0:
                        out[j, 0, h] += sy * Jz - sz * Jy
                        out[j, 1, h] += sz * Jx - sx * Jz
                        out[j, 2, h] += sx * Jy - sy * Jx
                    if turns[p]:
                        sx, sy, sz = sx + rate * zx, sy + rate * zy, sz + rate * zz


def point_bend(rotation, position, path, turns, place, x, direction, weight, out):
    """d2(weight . x)/dq2 (m, n, n) for weights (m, 3): weight . (w_i x J_j) for i up to j, and symmetric."""
    count = path.shape[0]
    for j in range(x.shape[0]):
        ux, uy, uz = weight[j, 0], weight[j, 1], weight[j, 2]
        if ux == 0.0 and uy == 0.0 and uz == 0.0:
            continue
        for q in range(count):
            h, k = place[q], path[q]
            if h < 0:
                continue
            zx, zy, zz = rotation[j, k, 0, 2], rotation[j, k, 1, 2], rotation[j, k, 2, 2]
            Jx, Jy, Jz = 0.0, 0.0, 0.0
            if turns[q]:
                ax, ay, az = x[j, 0], x[j, 1], x[j, 2]
                if not direction:
                    ax, ay, az = ax - position[j, k, 0], ay - position[j, k, 1], az - position[j, k, 2]
                Jx, Jy, Jz = zy * az - zz * ay, zz * ax - zx * az, zx * ay - zy * ax
            elif not direction:
                Jx, Jy, Jz = zx, zy, zz
            vx, vy, vz = Jy * uz - Jz * uy, Jz * ux - Jx * uz, Jx * uy - Jy * ux  # J x weight
            for p in range(q + 1):
                g, i = place[p], path[p]
                if g < 0 or not turns[p]:
                    continue
                value = rotation[j, i, 0, 2] * vx + rotation[j, i, 1, 2] * vy + rotation[j, i, 2, 2] * vz
                out[j, g, h] = value
                out[j, h, g] = value


# r: rotation, p: position, i: integers, b: flags, x: numbers with two axes that are only read, d: a flag,
# o: numbers with three axes that are filled
SIGNATURES: dict[Callable[..., None], str] = {
    point_slopes: "rpibixdo",
    point_change: "rpibixdxo",
    point_bend: "rpibixdxo",
}


@functools.cache
def compiled(function: Callable[..., None]) -> Callable[..., None]:
    """Machine code of one of the functions above."""
    from kinetree.engine.door import BOOLEAN, FLOAT, INTEGER, array_type, compiled_function

    kinds: dict[str, Any] = {
        "r": array_type(FLOAT, 4, "A", readonly=True),
        "p": array_type(FLOAT, 3, "A", readonly=True),
        "x": array_type(FLOAT, 2, "A", readonly=True),
        "i": array_type(INTEGER, 1, readonly=True),
        "b": array_type(BOOLEAN, 1, readonly=True),
        "d": BOOLEAN,
        "o": array_type(FLOAT, 3),
    }
    signature = [kinds[letter] for letter in SIGNATURES[function]]
    return compiled_function(function, signature, f"points-{function.__name__}")
