"""What the world-frame kernels share: motion of all axes, and composite bodies' momenta and wrenches.

Joint axis X = (z, s), its rates Xd = v x X = (zd, sd) and Xdd = a x X + v x Xd = (zdd, sdd), with v and a of
the parent. Per body: first and second moment (h, S), inertial wrench (n, f), velocity moment
G = integral of v r^T dm and momentum P = integral of v dm.
"""

from kinetree.kernels.axes import WORLD, centred_world, inertia, outward, place_axis, turn_axes
from kinetree.kernels.number import accumulate, again, lanewise, reread
from kinetree.kernels.vectors import (
    IDENTITY,
    ZERO3,
    ZERO6,
    ZERO9,
    cross,
    cross_plus,
    inertial_force,
    inertial_moment,
    momentum,
    moved_inertia,
    negative,
    scale_plus,
    spin_matrix,
    velocity_moment,
)

MOTION = {
    "turn": 2,
    "z": 3,
    "s": 3,
    "zd": 3,
    "sd": 3,
    "zdd": 3,
    "sdd": 3,
    "h": 3,
    "S": 6,
    "n": 3,
    "f": 3,
    "G": 9,
    "P": 3,
    "R": 9,
    "p": 3,
    "w": 3,
    "v": 3,
    "wd": 3,
    "a": 3,
}  # the fields that a workspace needs for these functions


@lanewise
def world_motion(tree, row, work, q, qd, qdd):
    """Outward pass: place and motion of axis i in row[i] of the workspace, moments and wrench of its body.

    Where only the children need place and motion, few rows will do: ``tree.place``; else ``tree.axis``.
    """
    turn_axes(tree, work, q)
    work.R[WORLD], work.p[WORLD] = IDENTITY, centred_world(tree, q)
    work.w[WORLD], work.v[WORLD] = ZERO3, ZERO3
    work.wd[WORLD], work.a[WORLD] = ZERO3, negative(tree.gravity[WORLD])
    for i in outward(len(q)):
        j, k = row[tree.parent[i]], row[i]
        place_axis(tree, work, i, q[i], j, k)
        move_axis(work, again(i), qd[i], qdd[i], j, k)
        if tree.massive[i]:
            body_wrench(tree, work, i, again(k))
        else:
            work.n[i], work.f[i] = ZERO3, ZERO3
            if tree.beyond[i] == WORLD:
                work.h[i], work.S[i], work.G[i], work.P[i] = ZERO3, ZERO6, ZERO9, ZERO3


@lanewise
def move_axis(work, i, qd, qdd, j, k):
    """Rates of axis i, and motion from row j to row k of the workspace."""
    z, s, w, v, wd, a = work.z[i], work.s[i], work.w[j], work.v[j], work.wd[j], work.a[j]
    zd, sd = cross(w, z), cross_plus(v, z, cross(w, s))
    work.zd[i], work.sd[i] = zd, sd
    work.zdd[i] = cross_plus(w, zd, cross(wd, z))
    work.sdd[i] = cross_plus(v, zd, cross_plus(a, z, cross_plus(wd, s, cross(w, sd))))
    work.wd[k] = scale_plus(qdd, z, scale_plus(qd, zd, wd))
    work.a[k] = scale_plus(qdd, s, scale_plus(qd, sd, a))
    work.w[k], work.v[k] = scale_plus(qd, z, w), scale_plus(qd, s, v)


@lanewise
def body_wrench(tree, work, i, k):
    """Moments, wrench and momenta of the body on axis i, which moves as row k says."""
    m, h, S = inertia(tree, i)
    h, S = moved_inertia(m, h, S, work.R[k], work.p[k])
    work.h[i], work.S[i] = h, S
    w, v = reread(work.w, k), reread(work.v, k)
    U, a = spin_matrix(w, reread(work.wd, k)), cross_plus(w, v, reread(work.a, k))
    work.n[i], work.f[i] = inertial_moment(h, S, U, a), inertial_force(m, h, U, a)
    h, w, v = reread(work.h, i), reread(work.w, k), reread(work.v, k)
    work.G[i], work.P[i] = velocity_moment(h, reread(work.S, i), w, v), momentum(m, h, w, v)


@lanewise
def join_parent(tree, work, i, j):
    """Inward step: the composite body i becomes part of its parent's, all of it if that is empty so far."""
    if j != WORLD:
        accumulate(work.n, j, work.n[i])
        accumulate(work.f, j, work.f[i])
        if tree.opens[i] and not tree.massive[j]:
            work.h[j], work.S[j], work.G[j], work.P[j] = work.h[i], work.S[i], work.G[i], work.P[i]
        else:
            accumulate(work.h, j, work.h[i])
            accumulate(work.S, j, work.S[i])
            accumulate(work.G, j, work.G[i])
            accumulate(work.P, j, work.P[i])
