"""Coordinates of cut joints: angle and displacement of frame B as seen from frame A, and forces on them.

A cut joint has the coordinates s that its kind lists. A unit force on one of them is a force F and a moment N
on body B at B's origin, and the opposite at the same point on body A; ds/dt is the power of these. With the
axes z1 = R_A a1 of a first and z2 = R_B a2 of a last rotation and g = z1 . z2:

| type | s | F | N |
|---|---|---|---|
| ALONG | e . D | e | |
| ABOUT | angle about z1 from p (fixed in A) to r (fixed in B) | | z1 |
| FIRST | angle about z1 from p to z2 | | (z1 - g z2) / (1 - g^2) |
| LAST | angle about z2 from z1 to r | | (z2 - g z1) / (1 - g^2) |
| MIDDLE | from the angle between z1 and z2 | | +-(z1 x z2) / |z1 x z2| |
"""

from kinetree.kernels.axes import WORLD
from kinetree.kernels.layout import Layout
from kinetree.kernels.number import arctan, lanewise, square_root, where_less
from kinetree.kernels.torque_law import dry_friction, limited
from kinetree.kernels.vectors import (
    add,
    cross,
    cross_plus,
    dot,
    scale,
    scale_plus,
    sub,
    times,
    times_plus,
)

ALONG, ABOUT, FIRST, LAST, MIDDLE = range(5)
PI = 3.141592653589793
TINY = 1e-300
CUT_AXES = Layout(world=False, constant=True, n=int, slow=1)  # one row, before those of the coordinates
CUT_AXIS = Layout(
    world=False,
    constant=True,
    type=int,
    a=int,  # axes of the tree that carry the frames; WORLD: at rest
    b=int,
    stopped=int,  # whether stops meet its limits
    pa=3,  # origins of the frames, in the frames of these axes
    pb=3,
    ua=3,  # e or a1, in the frame of axis a
    ub=3,  # a2, in the frame of axis b
    ra=3,  # p, in the frame of axis a
    rb=3,  # r, in the frame of axis b
    proper=1,  # of MIDDLE: 1 if the third axis is the first one again, else 0
    sense=1,  # of MIDDLE: a1 . (a2 x a3) of three different axes, else 0
    center=1,  # what is added to the angle
    k=1,  # spring
    rest=1,
    viscous=1,
    coulomb=1,  # mean of both directions, and half of what the positive one has more
    coulomb_bias=1,
    lower=1,
    upper=1,
    stop_k=1,
    stop_c=1,
    limit=1,  # of the drive
)


@lanewise
def angle_of(x, y):
    """The angle from -pi to pi with cosine and sine in the ratio x : y; 0 where both are 0."""
    size = square_root(where_less(TINY, x * x + y * y, x * x + y * y, 1.0))
    far = where_less(x, 0.0 * x, -x, x) + size
    half = 2.0 * arctan(y / where_less(0.0, far, far, 1.0))
    return where_less(x, 0.0 * x, where_less(y, 0.0 * y, -PI - half, PI - half), half)


@lanewise
def angle_about(z, p, r):
    """The angle about a unit axis from p to r, both seen along it."""
    return angle_of(dot(p, r) - dot(p, z) * dot(r, z), dot(z, cross(p, r)))


@lanewise
def turned_angle(joints, k, z1, z2, p, r):
    """s of a rotation, and the moment N of a unit torque on it."""
    s, N = 0.0 * dot(z1, z2), z1
    if joints.type[k] == ABOUT:
        s = angle_about(z1, p, r)
    if joints.type[k] != ABOUT:
        g = dot(z1, z2)
        rest = 1.0 - g * g
        inverse = where_less(TINY, rest, 1.0 / where_less(TINY, rest, rest, 1.0), 0.0 * rest)
        if joints.type[k] == FIRST:
            s, N = angle_about(z1, p, z2), scale(inverse, scale_plus(-g, z2, z1))
        if joints.type[k] == LAST:
            s, N = angle_about(z2, z1, r), scale(inverse, scale_plus(-g, z1, z2))
        if joints.type[k] == MIDDLE:
            h = cross(z1, z2)
            size = square_root(where_less(TINY, dot(h, h), dot(h, h), 1.0))
            s = angle_of(
                joints.proper[k] * g + (1.0 - joints.proper[k]) * size,
                joints.proper[k] * size + joints.sense[k] * g,
            )
            N = scale((joints.proper[k] - joints.sense[k]) / size, h)
    return s + joints.center[k], N


@lanewise
def cut_motion(work, joints, k):
    """s and ds/dt of coordinate k, the force F and the moment N of a unit force, and where they act on B."""
    a, b = joints.a[k], joints.b[k]
    R_a, R_b, w_a = work.R[a], work.R[b], work.w[a]
    x_a, x_b = times_plus(R_a, joints.pa[k], work.p[a]), times_plus(R_b, joints.pb[k], work.p[b])
    v_a, v_b = cross_plus(w_a, x_a, work.v[a]), cross_plus(work.w[b], x_b, work.v[b])
    D, w, z1 = sub(x_b, x_a), sub(work.w[b], w_a), times(R_a, joints.ua[k])
    Dd = sub(sub(v_b, v_a), cross(w_a, D))
    s, F, N = dot(z1, D), z1, scale(0.0, z1)
    rate = dot(z1, Dd)
    if joints.type[k] != ALONG:
        z2, p, r = times(R_b, joints.ub[k]), times(R_a, joints.ra[k]), times(R_b, joints.rb[k])
        s, N = turned_angle(joints, k, z1, z2, p, r)
        F, rate = scale(0.0, z1), dot(N, w)
    return s, rate, F, N, x_b


@lanewise
def cut_resistance(joints, k, s, sd, slow):
    """What spring, friction and stops do to a coordinate: the spring's part, and the rest, which is lost."""
    spring = -joints.k[k] * (s - joints.rest[k])
    dry = dry_friction(joints.coulomb[k], joints.coulomb_bias[k], sd, slow)
    loss = -(joints.viscous[k] * sd + dry)
    if joints.stopped[k] == 1:
        push = joints.stop_k[k] * (s - joints.upper[k]) + joints.stop_c[k] * sd
        pull = joints.stop_k[k] * (joints.lower[k] - s) - joints.stop_c[k] * sd
        push = where_less(joints.upper[k], s, where_less(0.0, push, push, 0.0), 0.0)
        pull = where_less(s, joints.lower[k], where_less(0.0, pull, pull, 0.0), 0.0)
        loss = loss - push + pull
    return spring, loss


@lanewise
def push_cuts(work, joints, n, slow, given):
    """Add the forces on n coordinates to the wrenches of the axes; the powers of drives and of losses."""
    driving, lost = 0.0 * work.p[WORLD][0], 0.0 * work.p[WORLD][0]
    for k in range(n):
        s, sd, F, N, x = cut_motion(work, joints, k)
        spring, loss = cut_resistance(joints, k, s, sd, slow)
        drive = limited(given[k], joints.limit[k])
        force = spring + loss + drive
        driving, lost = driving + drive * sd, lost + loss * sd
        F, N = scale(force, F), scale(force, N)
        N = cross_plus(x, F, N)
        a, b = joints.a[k], joints.b[k]
        if a != WORLD:
            work.f[a], work.n[a] = add(work.f[a], F), add(work.n[a], N)
        if b != WORLD:
            work.f[b], work.n[b] = sub(work.f[b], F), sub(work.n[b], N)
    return driving, lost
