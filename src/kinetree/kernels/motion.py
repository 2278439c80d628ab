"""What the world-frame kernels share: motion of all axes, and composite bodies' momenta and wrenches.

Joint axis X = (z, s), its rates Xd = v x X = (zd, sd) and Xdd = a x X + v x Xd = (zdd, sdd), with v and a of
the parent. Per body: first and second moment (h, S), inertial wrench (n, f), velocity moment
G = integral of v r^T dm and momentum P = integral of v dm.
"""

from kinetree.kernels.layout import WORLD, centred_world, inertia, outward, world_placement
from kinetree.kernels.number import accumulate, lanewise
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
    "R": 9,
    "p": 3,
    "w": 3,
    "v": 3,
    "wd": 3,
    "a": 3,
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
}  # the fields that a workspace needs for these functions


@lanewise
def world_motion(tree, work, q, qd, qdd):
    """Outward pass: place and motion of every axis, moments and wrench of what it carries."""
    work.R[WORLD], work.p[WORLD] = IDENTITY, centred_world(tree, q)
    work.w[WORLD], work.v[WORLD] = ZERO3, ZERO3
    work.wd[WORLD], work.a[WORLD] = ZERO3, negative(tree.gravity[WORLD])
    for i in outward(len(q)):
        j = tree.parent[i]
        R, p, z, s = world_placement(tree, i, q[i], work.R[j], work.p[j])
        work.R[i], work.p[i], work.z[i], work.s[i] = R, p, z, s
        w, v, wd, a = work.w[j], work.v[j], work.wd[j], work.a[j]
        zd, sd = cross(w, z), cross_plus(v, z, cross(w, s))
        work.zd[i], work.sd[i] = zd, sd
        work.zdd[i] = cross_plus(w, zd, cross(wd, z))
        work.sdd[i] = cross_plus(v, zd, cross_plus(a, z, cross_plus(wd, s, cross(w, sd))))
        wd = scale_plus(qdd[i], z, scale_plus(qd[i], zd, wd))
        a = scale_plus(qdd[i], s, scale_plus(qd[i], sd, a))
        w, v = scale_plus(qd[i], z, w), scale_plus(qd[i], s, v)
        work.w[i], work.v[i], work.wd[i], work.a[i] = w, v, wd, a
        if tree.massive[i]:
            m, h, S = inertia(tree, i)
            h, S = moved_inertia(m, h, S, R, p)
            U, a = spin_matrix(w, wd), cross_plus(w, v, a)
            work.h[i], work.S[i] = h, S
            work.n[i], work.f[i] = inertial_moment(h, S, U, a), inertial_force(m, h, U, a)
            work.G[i], work.P[i] = velocity_moment(h, S, w, v), momentum(m, h, w, v)
        else:
            work.h[i], work.S[i], work.n[i], work.f[i] = ZERO3, ZERO6, ZERO3, ZERO3
            work.G[i], work.P[i] = ZERO9, ZERO3


@lanewise
def join_parent(work, i, j):
    """Inward step: the composite body i becomes part of its parent's."""
    if j != WORLD:
        accumulate(work.h, j, work.h[i])
        accumulate(work.S, j, work.S[i])
        accumulate(work.n, j, work.n[i])
        accumulate(work.f, j, work.f[i])
        accumulate(work.G, j, work.G[i])
        accumulate(work.P, j, work.P[i])
