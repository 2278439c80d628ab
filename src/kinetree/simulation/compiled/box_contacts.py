"""Boxes against boxes, and spheres against boxes, as machine code, lane by lane.

Two boxes touch by a face of one of them, that of the largest separation among the six: the corners of each
box that lie over the other's face are contacts, with the normal of the face (Gottschalk, Lin, Manocha 1996,
without the axes of edges against edges). A sphere touches at the nearest point of the box.
"""

from __future__ import annotations

from math import sqrt

from kinetree.engine.door import part
from kinetree.kernels.layout import Layout
from kinetree.kernels.number import LANES
from kinetree.simulation.compiled.step_memory import CONTACT_ROW
from kinetree.simulation.compiled.stepping import MOVING

BOX_PAIR = Layout(
    world=False,
    constant=True,
    a=int,  # axes that carry the two, -1: the world
    b=int,
    slot=int,  # number of its first contact
    round=int,  # 1: the first is a sphere
    ca=3,  # center, orientation in the frame of the axis, half sizes (of a sphere its radius)
    Ra=9,
    ha=3,
    cb=3,
    Rb=9,
    hb=3,
    friction=1,
    bound=1,  # m: radius of spheres around both together
)
FAR = 0.2  # m: spheres around boxes that are further apart are not looked at closely
SLOTS = 16  # contacts of two boxes: eight corners of each
EDGE = 1e-3  # m: how far beyond a face corners count, so that those of equal boxes do
APART = 1e3  # m: the gap of a corner that is not over the other's face
CLOSE = 0.01  # m: what counts as close to a face
FACE = 4  # corners of a face
PREFERRED = 1e-4  # m: a face of the first box is taken unless one of the second separates them by more
WIDTH, AT = CONTACT_ROW.width * LANES, {name: x[0] * LANES for name, x in CONTACT_ROW.places.items()}
NORMAL, TANGENT, OTHER, PLACE, GAP, MU = (AT[name] for name in ("n", "t", "u", "place", "gap", "mu"))
FRAME, ORIGIN, ROW = MOVING.places["R"][0] * LANES, MOVING.places["p"][0] * LANES, MOVING.width * LANES


@part
def frame_of(memory, work, axis, c, R, lane):
    """Center and orientation in the world of a box on an axis, in one lane: 3 + 9 numbers."""
    at = work + (axis + 1) * ROW + lane
    Q, o = at + FRAME, at + ORIGIN
    q = (
        memory[Q], memory[Q + LANES], memory[Q + 2 * LANES],
        memory[Q + 3 * LANES], memory[Q + 4 * LANES], memory[Q + 5 * LANES],
        memory[Q + 6 * LANES], memory[Q + 7 * LANES], memory[Q + 8 * LANES],
    )  # fmt: skip
    center = (
        memory[o] + q[0] * c[0] + q[1] * c[1] + q[2] * c[2],
        memory[o + LANES] + q[3] * c[0] + q[4] * c[1] + q[5] * c[2],
        memory[o + 2 * LANES] + q[6] * c[0] + q[7] * c[1] + q[8] * c[2],
    )
    x = (
        q[0] * R[0] + q[1] * R[3] + q[2] * R[6],
        q[3] * R[0] + q[4] * R[3] + q[5] * R[6],
        q[6] * R[0] + q[7] * R[3] + q[8] * R[6],
    )
    y = (
        q[0] * R[1] + q[1] * R[4] + q[2] * R[7],
        q[3] * R[1] + q[4] * R[4] + q[5] * R[7],
        q[6] * R[1] + q[7] * R[4] + q[8] * R[7],
    )
    z = (
        q[0] * R[2] + q[1] * R[5] + q[2] * R[8],
        q[3] * R[2] + q[4] * R[5] + q[5] * R[8],
        q[6] * R[2] + q[7] * R[5] + q[8] * R[8],
    )
    return center, (x, y, z)


@part
def along(a, b):
    """a . b"""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@part
def minus(a, b):
    """a - b"""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@part
def corner(c, axes, h, k):
    """Corner k of a box."""
    x = h[0] if k % 2 == 0 else -h[0]
    y = h[1] if (k // 2) % 2 == 0 else -h[1]
    z = h[2] if k // 4 == 0 else -h[2]
    u, v, w = axes
    return (
        c[0] + x * u[0] + y * v[0] + z * w[0],
        c[1] + x * u[1] + y * v[1] + z * w[1],
        c[2] + x * u[2] + y * v[2] + z * w[2],
    )


@part
def put(memory, at, n, place, gap, friction):
    """A contact of one lane, with two directions across its normal."""
    x, y, z = n
    if abs(x) < 0.7:
        s = 1.0 / sqrt(y * y + z * z)
        t = (0.0, s * z, -s * y)
    else:
        s = 1.0 / sqrt(x * x + z * z)
        t = (-s * z, 0.0, s * x)
    u = (y * t[2] - z * t[1], z * t[0] - x * t[2], x * t[1] - y * t[0])
    for i in range(3):
        memory[at + NORMAL + i * LANES], memory[at + PLACE + i * LANES] = n[i], place[i]
        memory[at + TANGENT + i * LANES], memory[at + OTHER + i * LANES] = t[i], u[i]
    memory[at + GAP], memory[at + MU] = gap, friction


@part
def reach_along(a, axes, h):
    """How far a box reaches from its center along a direction."""
    return h[0] * abs(along(a, axes[0])) + h[1] * abs(along(a, axes[1])) + h[2] * abs(along(a, axes[2]))


@part
def face_between(ca, A, ha, cb, B, hb):
    """The face that separates two boxes most: whose it is (0 or 1), which, its outward sign, by how much."""
    d = minus(cb, ca)
    whose, which, sign, most = 0, 0, 1.0, -1e30
    for i in range(3):
        s = along(d, A[i])
        reach = (
            hb[0] * abs(along(A[i], B[0])) + hb[1] * abs(along(A[i], B[1])) + hb[2] * abs(along(A[i], B[2]))
        )
        if abs(s) - ha[i] - reach > most:
            most, which, sign = abs(s) - ha[i] - reach, i, 1.0 if s >= 0.0 else -1.0
    best = most
    for i in range(3):
        s = along(d, B[i])
        reach = (
            ha[0] * abs(along(B[i], A[0])) + ha[1] * abs(along(B[i], A[1])) + ha[2] * abs(along(B[i], A[2]))
        )
        if abs(s) - hb[i] - reach > best + PREFERRED and abs(s) - hb[i] - reach > most:
            most, whose, which, sign = abs(s) - hb[i] - reach, 1, i, -1.0 if s >= 0.0 else 1.0
    return whose, which, sign, most


@part
def over(p, c, axes, h, skip):
    """Whether a point is over or under a box, along its axis ``skip``."""
    d = minus(p, c)
    inside = True
    for i in range(3):
        if i != skip and abs(along(d, axes[i])) > h[i] + EDGE:
            inside = False
    return inside


@part
def corners_on(memory, at, m, inward, own, other, friction):
    """Contacts of the corners of a box with the face of another that looks along m, their normal ``inward``.

    own and other: center, axes, half sizes; the face is that of the other box nearest to m. Answers how many
    corners are close to the face.
    """
    found = 0
    c, axes, h = other
    skip, best, sign = 0, -1.0, 1.0
    for i in range(3):
        s = along(m, axes[i])
        if abs(s) > best:
            best, skip, sign = abs(s), i, 1.0 if s >= 0.0 else -1.0
    f = (sign * axes[skip][0], sign * axes[skip][1], sign * axes[skip][2])
    for k in range(8):
        p = corner(own[0], own[1], own[2], k)
        gap = along(minus(p, c), f) - h[skip]
        if not over(p, c, axes, h, skip) or gap < -h[skip]:
            gap = APART
        place = p[0] - 0.5 * gap * m[0], p[1] - 0.5 * gap * m[1], p[2] - 0.5 * gap * m[2]
        if gap == APART:
            place = p
        if gap < CLOSE:
            found += 1
        put(memory, at + k * WIDTH, inward, place, gap, friction)
    return found


@part
def two_boxes(memory, at, first, second, friction):
    """The contacts of two boxes: corners of the one on the face of the other, and the reverse."""
    whose, which, sign, _ = face_between(first[0], first[1], first[2], second[0], second[1], second[2])
    axes = first[1] if whose == 0 else second[1]
    a = axes[which]
    if whose == 1:
        sign = -sign
    m = sign * a[0], sign * a[1], sign * a[2]  # from the first box to the second
    n = -m[0], -m[1], -m[2]
    found = corners_on(memory, at, m, n, second, first, friction)
    corners_on(memory, at + 8 * WIDTH, n, n, first, second, friction)
    if found >= FACE:  # a whole face of the second box is on that of the first
        for k in range(8, SLOTS):
            memory[at + k * WIDTH + GAP] = APART


@part
def round_on_box(memory, at, c, radius, box, friction):
    """The contact of a sphere with a box."""
    center, axes, h = box
    d = minus(c, center)
    x, y, z = along(d, axes[0]), along(d, axes[1]), along(d, axes[2])
    a, b, e = min(max(x, -h[0]), h[0]), min(max(y, -h[1]), h[1]), min(max(z, -h[2]), h[2])
    out = sqrt((x - a) ** 2 + (y - b) ** 2 + (z - e) ** 2)
    if out > 1e-12:
        u, v, w, gap = (x - a) / out, (y - b) / out, (z - e) / out, out
    else:  # the center is inside: out through the nearest face
        p, q, r = h[0] - abs(x), h[1] - abs(y), h[2] - abs(z)
        u, v, w, gap = 0.0, 0.0, 0.0, -min(p, min(q, r))
        if p <= q and p <= r:
            u = 1.0 if x >= 0.0 else -1.0
        elif q <= r:
            v = 1.0 if y >= 0.0 else -1.0
        else:
            w = 1.0 if z >= 0.0 else -1.0
    X, Y, Z = axes
    n = (
        u * X[0] + v * Y[0] + w * Z[0],
        u * X[1] + v * Y[1] + w * Z[1],
        u * X[2] + v * Y[2] + w * Z[2],
    )
    s = 0.5 * (gap - radius) - gap
    put(memory, at, n, (c[0] + s * n[0], c[1] + s * n[1], c[2] + s * n[2]), gap - radius, friction)


@part
def lay_boxes(memory, work, contacts, boxes, count):
    """All contacts of boxes: ``work`` and ``contacts`` are where these begin."""
    for m in range(count):
        ca, cb, ha, hb = boxes.ca[m], boxes.cb[m], boxes.ha[m], boxes.hb[m]
        at = contacts + boxes.slot[m] * WIDTH
        for lane in range(LANES):
            first = frame_of(memory, work, boxes.a[m], ca, boxes.Ra[m], lane)
            second = frame_of(memory, work, boxes.b[m], cb, boxes.Rb[m], lane)
            box = second[0], second[1], hb
            d = minus(first[0], second[0])
            if not along(d, d) < (boxes.bound[m] + FAR) ** 2:
                for k in range(1 if boxes.round[m] == 1 else SLOTS):
                    put(memory, at + k * WIDTH + lane, (0.0, 0.0, 1.0), first[0], APART, 0.0)
            elif boxes.round[m] == 1:
                round_on_box(memory, at + lane, first[0], ha[0], box, boxes.friction[m])
            else:
                two_boxes(memory, at + lane, (first[0], first[1], ha), box, boxes.friction[m])
