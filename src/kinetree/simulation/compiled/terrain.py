"""Planes that touch uneven ground nearest to each contact point, as machine code, lane by lane.

The surface is that of `model.height_field`; `HeightField.nearest` has the search in NumPy. With the place
(x, y, h) nearest to the point (a, b, c), x - a + (h - c) h_x = 0 and y - b + (h - c) h_y = 0. Where an
ellipsoid touches depends on the normal, and the normal on where it touches: both are found in turn.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.engine.door import inline, part
from kinetree.engine.lanes import fields
from kinetree.kernels.ground import PLANE, POINT, SOUGHT, seek_points
from kinetree.kernels.layout import Layout, layout_rows
from kinetree.model.height_field import NEAR, STEPS, HeightField

TERRAIN = Layout(
    world=False, constant=True, n=int, m=int, low=2, step=2, size=1, origin=3, normal=3, forward=3, side=3
)  # before the coefficients (n + 2, m + 2), line by line
FIRST = TERRAIN.width
N, M, LOW, STEP, SIZE = (TERRAIN.places[key][0] for key in ("n", "m", "low", "step", "size"))
FRAME = TERRAIN.places["origin"][0]  # origin, normal, forward, side
SOUGHT_WIDTH, CENTRE, MATRIX = SOUGHT.width, SOUGHT.places["c"][0], SOUGHT.places["S"][0]
PLANE_WIDTH, AT = PLANE.width, PLANE.places["at"][0]
TURNS = 25  # at most, until place and normal of an ellipsoid agree
SAME = 1e-15


def terrain_numbers(field: HeightField, origin: Any, frame: tuple[Array, Array, Array]) -> Array:
    """A height field on a plane with normal, forward and side as compiled code reads it."""
    (n, m), low = field.shape, (field.forward[0], field.side[0])
    size = np.hypot(field.forward[1] - field.forward[0], field.side[1] - field.side[0])
    up, ahead, side = frame
    head = layout_rows(
        TERRAIN, 1, n=n, m=m, low=[low], step=[field.spacing], size=size, origin=[origin], normal=[up],
        forward=[ahead], side=[side],
    )  # fmt: skip
    return np.concatenate([head.ravel(), field.coefficients.ravel()])


@part
def _weights(u, n):
    """First of four coefficients, and the weights of value, slope and bend; straight outside."""
    inside = u if u > 0.0 else 0.0  # also where u is not a number: no index may come from that
    inside = inside if inside < n - 1.0 else n - 1.0
    i = min(int(inside), n - 2)
    t, e = inside - i, u - inside
    s = 1.0 - t
    d = (-0.5 * s * s, 0.5 * t * (3.0 * t - 4.0), 0.5 * (1.0 + t * (2.0 - 3.0 * t)), 0.5 * t * t)
    w = (
        s * s * s / 6.0 + d[0] * e,
        (t * t * (3.0 * t - 6.0) + 4.0) / 6.0 + d[1] * e,
        (t * (t * (3.0 - 3.0 * t) + 3.0) + 1.0) / 6.0 + d[2] * e,
        t * t * t / 6.0 + d[3] * e,
    )
    k = 1.0 if e == 0.0 else 0.0
    return i, w, d, (k * s, k * (3.0 * t - 2.0), k * (1.0 - 3.0 * t), k * t)


@part
def _surface(memory, integers, place, x, y):
    """The height at (x, y) with slopes and bends."""
    n, m = integers[place + N], integers[place + M]
    dx, dy = memory[place + STEP], memory[place + STEP + 1]
    i, w, d, dd = _weights((x - memory[place + LOW]) / dx, n)
    j, v, c, cc = _weights((y - memory[place + LOW + 1]) / dy, m)
    h, hx, hy, hxx, hxy, hyy = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(4):
        first = place + FIRST + (i + a) * (m + 2) + j
        f, fy, fyy = 0.0, 0.0, 0.0
        for b in range(4):
            z = memory[first + b]
            f, fy, fyy = f + v[b] * z, fy + c[b] * z, fyy + cc[b] * z
        h, hx, hxx = h + w[a] * f, hx + d[a] * f, hxx + dd[a] * f
        hy, hxy, hyy = hy + w[a] * fy, hxy + d[a] * fy, hyy + w[a] * fyy
    return h, hx / dx, hy / dy, hxx / (dx * dx), hxy / (dx * dy), hyy / (dy * dy)


@part
def _nearest(memory, integers, place, px, py, pz):
    """The place of the surface nearest to a point, with its slopes; the one below if the search fails."""
    x, y, near = px, py, NEAR * memory[place + SIZE]
    tall = 0.0
    for k in range(STEPS):
        h, hx, hy, hxx, hxy, hyy = _surface(memory, integers, place, x, y)
        e = h - pz
        if k == 0:
            tall = e * e
        u, v = x - px + e * hx, y - py + e * hy
        a, b, c = 1.0 + hx * hx + e * hxx, hx * hy + e * hxy, 1.0 + hy * hy + e * hyy
        if a <= 0.1 or a * c - b * b <= 0.1:
            a, b, c = 1.0 + hx * hx, hx * hy, 1.0 + hy * hy
        det = a * c - b * b
        step_x, step_y = (c * u - b * v) / det, (a * v - b * u) / det
        x, y = x - step_x, y - step_y
        if not step_x * step_x + step_y * step_y > near * near:
            break
    h, hx, hy, hxx, hxy, hyy = _surface(memory, integers, place, x, y)
    if not (x - px) ** 2 + (y - py) ** 2 + (h - pz) ** 2 <= tall * (1.0 + 1e-12):
        x, y = px, py
        h, hx, hy, hxx, hxy, hyy = _surface(memory, integers, place, x, y)
    return x, y, h, hx, hy


@part
def _lay(memory, integers, place, sought, plane, is_round, lanes):
    """The plane under one point of one lane; ``sought`` and ``plane`` are where its rows begin."""
    o = place + FRAME
    cx, cy, cz = memory[sought], memory[sought + lanes], memory[sought + 2 * lanes]
    rx, ry, rz = cx, cy, cz
    ux, uy, uz = 0.0, 0.0, 0.0
    x, y, h, hx, hy = 0.0, 0.0, 0.0, 0.0, 0.0
    for _ in range(TURNS):
        qx, qy, qz = rx - memory[o], ry - memory[o + 1], rz - memory[o + 2]
        pz = qx * memory[o + 3] + qy * memory[o + 4] + qz * memory[o + 5]
        px = qx * memory[o + 6] + qy * memory[o + 7] + qz * memory[o + 8]
        py = qx * memory[o + 9] + qy * memory[o + 10] + qz * memory[o + 11]
        x, y, h, hx, hy = _nearest(memory, integers, place, px, py, pz)
        s = 1.0 / sqrt(1.0 + hx * hx + hy * hy)
        nx = s * (memory[o + 3] - hx * memory[o + 6] - hy * memory[o + 9])
        ny = s * (memory[o + 4] - hx * memory[o + 7] - hy * memory[o + 10])
        nz = s * (memory[o + 5] - hx * memory[o + 8] - hy * memory[o + 11])
        change = (nx - ux) ** 2 + (ny - uy) ** 2 + (nz - uz) ** 2
        ux, uy, uz = nx, ny, nz
        if is_round == 0 or change <= SAME * SAME:
            break
        S = sought + MATRIX * lanes
        sx = memory[S] * nx + memory[S + lanes] * ny + memory[S + 2 * lanes] * nz
        sy = memory[S + 3 * lanes] * nx + memory[S + 4 * lanes] * ny + memory[S + 5 * lanes] * nz
        sz = memory[S + 6 * lanes] * nx + memory[S + 7 * lanes] * ny + memory[S + 8 * lanes] * nz
        root = 1.0 / sqrt(nx * sx + ny * sy + nz * sz)
        rx, ry, rz = cx - root * sx, cy - root * sy, cz - root * sz
    t = 1.0 / sqrt(1.0 + hx * hx)
    normal = (ux, uy, uz)
    for i in range(3):
        up, ahead, side = memory[o + 3 + i], memory[o + 6 + i], memory[o + 9 + i]
        memory[plane + i * lanes] = memory[o + i] + x * ahead + y * side + h * up
        memory[plane + (3 + i) * lanes] = normal[i]
        memory[plane + (6 + i) * lanes] = t * (ahead + hx * up)
    fx, fy, fz = memory[plane + 6 * lanes], memory[plane + 7 * lanes], memory[plane + 8 * lanes]
    memory[plane + 9 * lanes] = uy * fz - uz * fy
    memory[plane + 10 * lanes] = uz * fx - ux * fz
    memory[plane + 11 * lanes] = ux * fy - uy * fx
    memory[plane + AT * lanes], memory[plane + (AT + 1) * lanes] = x, y


def planes_in_state(lanes: int) -> Any:
    """lay(memory, head, work): the planes under all points, if the ground is uneven."""

    def lay(memory, head, work):
        if head.uneven[0] == 1:
            points, integers = fields(memory, POINT, 1, head.points[0]), memory.view(np.int64)
            seek_points(head, work, points, fields(memory, SOUGHT, lanes, head.sought[0]))
            for k in range(head.n_points[0]):
                sought = head.sought[0] + k * SOUGHT_WIDTH * lanes + CENTRE * lanes
                plane = head.plane[0] + k * PLANE_WIDTH * lanes
                for lane in range(lanes):
                    _lay(
                        memory, integers, head.terrain[0], sought + lane, plane + lane, points.round[k], lanes
                    )

    return inline(lay)
