"""Inverse dynamics of a floating base: the base acceleration follows from the motion of the joints.

Accelerating the base adds one rigid field A to the acceleration of every body. The composite body must be
free of other forces, I A = -F, which gives A; then the joint torques follow ([Shah2013], section 7.1.1).
"""

from kinetree.kernels.axes import inward, outward, passive_torque
from kinetree.kernels.layout import Kernel, Layout
from kinetree.kernels.motion import MOTION, join_parent, world_motion
from kinetree.kernels.number import lanewise
from kinetree.kernels.vectors import (
    add,
    cross,
    cross_plus,
    dot,
    inertia_times,
    load3,
    negative,
    scale,
    sub,
    times,
    trace_minus,
)

SLOTS = Layout(**MOTION)
BASE = 6  # axes 0 to 2 slide, 3 to 5 turn about one point


@lanewise
def columns_solved(a, b, c, x):
    """(u, v, w) with u a + v b + w c = x, and the determinant."""
    bc = cross(b, c)
    det = dot(a, bc)
    return (dot(x, bc) / det, dot(x, cross(c, a)) / det, dot(x, cross(a, b)) / det), det


@lanewise
def freed_acceleration(m, h, S, n, f):
    """A = -I^-1 F of a rigid body with mass m, moments h and S and wrench (n, f): angular, linear."""
    c = scale(1.0 / m, h)
    J = trace_minus(S)
    cc = dot(c, c)
    xx, yy, zz = J[0] - m * (cc - c[0] * c[0]), J[3] - m * (cc - c[1] * c[1]), J[5] - m * (cc - c[2] * c[2])
    xy, xz, yz = J[1] + m * c[0] * c[1], J[2] + m * c[0] * c[2], J[4] + m * c[1] * c[2]
    moment = negative(sub(n, cross(c, f)))
    A, det = columns_solved((xx, xy, xz), (xy, yy, yz), (xz, yz, zz), moment)
    return A, sub(scale(-1.0 / m, f), cross(A, c)), det


@lanewise
def floating_inverse(tree, work, q, qd, qdd, wrench, base, tau, check):
    """Base acceleration (6) and all torques; qdd must be zero for the base, whose torques come out zero.

    wrench: as in inverse dynamics, or nothing. check: determinants of the composite rotational inertia, of
    the prismatic and of the revolute axes, each zero where the base's acceleration is not defined.
    """
    world_motion(tree, tree.axis, work, q, qd, qdd)
    if len(wrench) > 0:
        for i in outward(len(q)):
            R = work.R[i]
            f, n = times(R, load3(wrench, 6 * i)), times(R, load3(wrench, 6 * i + 3))
            work.f[i] = sub(work.f[i], f)
            work.n[i] = sub(work.n[i], cross_plus(work.p[i], f, n))
    for i in inward(len(q)):
        join_parent(tree, work, i, tree.parent[i])
    aw, av, inertial = freed_acceleration(tree.subtree_m[0], work.h[0], work.S[0], work.n[0], work.f[0])
    turning, turn_det = columns_solved(work.z[3], work.z[4], work.z[5], aw)
    sliding, slide_det = columns_solved(work.s[0], work.s[1], work.s[2], cross_plus(aw, work.p[5], av))
    base[0], base[1], base[2] = sliding[0], sliding[1], sliding[2]
    base[3], base[4], base[5] = turning[0], turning[1], turning[2]
    check[0], check[1], check[2] = inertial, slide_det, turn_det
    for i in outward(len(q)):
        n, f = inertia_times(tree.subtree_m[i], work.h[i], work.S[i], aw, av)
        n, f = add(work.n[i], n), add(work.f[i], f)
        tau[i] = dot(work.z[i], n) + dot(work.s[i], f) + tree.armature[i] * qdd[i]
        if tree.passive[i]:
            tau[i] = tau[i] + passive_torque(tree, i, q[i], qd[i])


FLOATING_INVERSE = Kernel(floating_inverse, SLOTS, inputs=4, outputs=3)
