"""One step at the level of velocities: motion, mass matrix and bias with free orientations as quaternions.

Three axes in a row that turn about one point may be one *ball*: their coordinates are a unit quaternion of
the body in the joint's frame, their rates the angular velocity in body axes, so that there is no gimbal lock
and the mass matrix is that of the axes at zero angles. All other axes are as everywhere else. Joint axes and
wrenches are in world axes about a common origin near the base, see `centred_world`.
"""

from kinetree.kernels.axes import WORLD, centred_world, inward, outward, upward
from kinetree.kernels.crba import ENTRIES
from kinetree.kernels.layout import Layout
from kinetree.kernels.number import accumulate, called, lanewise, sincos, square_root
from kinetree.kernels.vectors import (
    IDENTITY,
    ZERO3,
    ZERO6,
    column_z,
    cross,
    cross_plus,
    dot,
    dot_plus,
    inertia_times,
    inertial_force,
    inertial_moment,
    moved_inertia,
    negative,
    product,
    scale_plus,
    spin_matrix,
    times_plus,
    times_rz,
)

ALONE, BALL, INNER, CARRIER = 0, 1, 2, 3  # what an axis is: by itself, or first, second, third of a ball
JOINT = Layout(
    world=False,
    constant=True,
    role=int,
    at=int,  # place of its coordinate; of a ball's first axis that of the quaternion (w, x, y, z)
    B=9,  # of a ball's first axis: placement of the joint in its parent's frame
    C=9,  # and from the axes of the body to those of the frame of the third axis
)
MOVING = Layout(
    z=3, s=3, R=9, p=3, w=3, v=3, wd=3, a=3,
    m=1, h=3, S=6,  # mass and moments of the body on an axis
    mc=1, hc=3, Sc=6,  # of the composite body beyond it
    n=3, f=3,  # inertial wrench
)  # fmt: skip
OWN = Layout(world=False, m=1, h=3, S=6)  # mass and moments of the body on an axis, in its frame
NUMBERS = Layout(world=False, x=1)
PAIRS = ENTRIES


@lanewise
def rotation_of(w, x, y, z):
    """The rotation matrix of a unit quaternion."""
    return (
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y - w * z),
        2.0 * (x * z + w * y),
        2.0 * (x * y + w * z),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z - w * x),
        2.0 * (x * z - w * y),
        2.0 * (y * z + w * x),
        1.0 - 2.0 * (x * x + y * y),
    )


@lanewise
def place_axes(tree, joints, work, q):
    """Placement of all axes in the world, and the joint axes (angular z, linear s)."""
    work.R[WORLD], work.p[WORLD] = IDENTITY, centred_world(tree, q)
    for i in outward(tree.parent[WORLD]):
        j, at = tree.parent[i], joints.at[i]
        if joints.role[i] == ALONE:
            R = product(work.R[j], tree.R[i])
            p = times_plus(work.R[j], tree.p[i], work.p[j])
            z = column_z(R)
            if tree.revolute[i]:
                sine, cosine = sincos(q[at])
                work.z[i], work.s[i] = z, cross(p, z)
                work.R[i], work.p[i] = times_rz(R, sine, cosine), p
            else:
                work.z[i], work.s[i] = ZERO3, z
                work.R[i], work.p[i] = R, scale_plus(q[at], z, p)
        elif joints.role[i] == BALL:
            p = times_plus(work.R[j], tree.p[i], work.p[j])
            E = rotation_of(q[at], q[at + 1], q[at + 2], q[at + 3])
            R = product(product(work.R[j], joints.B[i]), E)
            x, y, z = (R[0], R[3], R[6]), (R[1], R[4], R[7]), column_z(R)
            work.z[i], work.z[i + 1], work.z[i + 2] = x, y, z
            work.s[i], work.s[i + 1], work.s[i + 2] = cross(p, x), cross(p, y), cross(p, z)
            work.R[i + 2], work.p[i + 2] = product(R, joints.C[i]), p


@lanewise
def place_bodies(tree, own, work):
    """Masses and moments of all bodies about the common origin."""
    for i in outward(tree.parent[WORLD]):
        work.m[i] = own.m[i]
        if tree.massive[i]:
            work.h[i], work.S[i] = moved_inertia(own.m[i], own.h[i], own.S[i], work.R[i], work.p[i])
        else:
            work.h[i], work.S[i] = ZERO3, ZERO6


@called
def bias_of(tree, joints, work, v, bias):
    """What the rates v ask of the drives without acceleration, gravity included: c(q, v) + g(q).

    A joint with the motion J on a parent with the motion V adds V x J to the acceleration, whatever it is.
    """
    work.w[WORLD], work.v[WORLD] = ZERO3, ZERO3
    work.wd[WORLD], work.a[WORLD] = ZERO3, negative(tree.gravity[WORLD])
    for i in outward(tree.parent[WORLD]):
        j = tree.parent[i]
        if joints.role[i] == ALONE:
            add_motion(work, i, j, v.x[i], work.z[i], work.s[i])
        elif joints.role[i] == BALL:
            z = scale_plus(v.x[i + 2], work.z[i + 2], scale_plus(v.x[i + 1], work.z[i + 1], ZERO3))
            s = scale_plus(v.x[i + 2], work.s[i + 2], scale_plus(v.x[i + 1], work.s[i + 1], ZERO3))
            z, s = scale_plus(v.x[i], work.z[i], z), scale_plus(v.x[i], work.s[i], s)
            add_motion(work, i + 2, j, 1.0, z, s)
        if tree.massive[i]:
            w, u, h = work.w[i], work.v[i], work.h[i]
            U, a = spin_matrix(w, work.wd[i]), cross_plus(w, u, work.a[i])
            work.f[i], work.n[i] = inertial_force(work.m[i], h, U, a), inertial_moment(h, work.S[i], U, a)
        else:
            work.f[i], work.n[i] = ZERO3, ZERO3
    for i in inward(tree.parent[WORLD]):
        j, n, f = tree.parent[i], work.n[i], work.f[i]
        bias.x[i] = dot_plus(work.z[i], n, dot(work.s[i], f))
        if j != WORLD:
            accumulate(work.n, j, n)
            accumulate(work.f, j, f)


@lanewise
def add_motion(work, i, j, rate, z, s):
    """Velocity and acceleration of axis i, which moves at a rate along (z, s), from those of axis j."""
    w, v = work.w[j], work.v[j]
    zd, sd = cross(w, z), cross_plus(v, z, cross(w, s))
    work.wd[i], work.a[i] = scale_plus(rate, zd, work.wd[j]), scale_plus(rate, sd, work.a[j])
    work.w[i], work.v[i] = scale_plus(rate, z, w), scale_plus(rate, s, v)


@called
def mass_pairs(tree, work, out):
    """M(q) for every axis and its ancestors, tips first, as `crba` packs it."""
    n = tree.parent[WORLD]
    for i in outward(n):
        work.mc[i], work.hc[i], work.Sc[i] = work.m[i], work.h[i], work.S[i]
    k = 0
    for i in inward(n):
        j = tree.parent[i]
        h, S = work.hc[i], work.Sc[i]
        if j != WORLD:
            accumulate(work.mc, j, work.mc[i])
            accumulate(work.hc, j, h)
            accumulate(work.Sc, j, S)
        L, P = inertia_times(work.mc[i], h, S, work.z[i], work.s[i])
        drive = tree.armature[i]
        j = i
        while j != WORLD:
            for a in upward(j, tree.top[j]):
                out.M[k] = dot_plus(work.z[a], L, dot_plus(work.s[a], P, drive))
                drive = 0.0
                k += 1
            j = tree.parent[tree.top[j]]


@lanewise
def move(tree, joints, q, v, dt):
    """q after a time dt at the rates v; quaternions turn by the exponential and keep their unit length."""
    for i in outward(tree.parent[WORLD]):
        at = joints.at[i]
        if joints.role[i] == ALONE:
            q[at] = q[at] + dt * v.x[i]
        elif joints.role[i] == BALL:
            a, b, c = (0.5 * dt) * v.x[i], (0.5 * dt) * v.x[i + 1], (0.5 * dt) * v.x[i + 2]
            angle = square_root(a * a + b * b + c * c + 1e-300)
            sine, cosine = sincos(angle)
            k = sine / angle
            a, b, c = k * a, k * b, k * c
            w, x, y, z = q[at], q[at + 1], q[at + 2], q[at + 3]
            nw, nx = w * cosine - x * a - y * b - z * c, w * a + x * cosine + y * c - z * b
            ny, nz = w * b + y * cosine + z * a - x * c, w * c + z * cosine + x * b - y * a
            k = 1.5 - 0.5 * (nw * nw + nx * nx + ny * ny + nz * nz)
            q[at], q[at + 1], q[at + 2], q[at + 3] = nw * k, nx * k, ny * k, nz * k


@lanewise
def inward_solve(tree, pairs, x):
    """Replace x by U^-1 x, with M = U D U^T factored in ``pairs``."""
    for i in inward(tree.parent[WORLD]):
        known, k = x.x[i], tree.first[i] + 1
        j = tree.parent[i]
        while j != WORLD:
            for a in upward(j, tree.top[j]):
                x.x[a] = x.x[a] - pairs.M[k] * known
                k += 1
            j = tree.parent[tree.top[j]]


@lanewise
def outward_solve(tree, pairs, x):
    """Replace x by U^-T x."""
    for i in outward(tree.parent[WORLD]):
        found, k = x.x[i], tree.first[i] + 1
        j = tree.parent[i]
        while j != WORLD:
            for a in upward(j, tree.top[j]):
                found = found - pairs.M[k] * x.x[a]
                k += 1
            j = tree.parent[tree.top[j]]
        x.x[i] = found


@lanewise
def outward_product(tree, pairs, x, y):
    """y = U^T x."""
    for i in outward(tree.parent[WORLD]):
        total, k = x.x[i], tree.first[i] + 1
        j = tree.parent[i]
        while j != WORLD:
            for a in upward(j, tree.top[j]):
                total = total + pairs.M[k] * x.x[a]
                k += 1
            j = tree.parent[tree.top[j]]
        y.x[i] = total
