"""Inverse dynamics: recursive Newton-Euler in the axes' own frames, joint axes on z."""

from kinetree.kernels.axes import WORLD, inertia, inward, outward, passive_torque, placement, turn_axes
from kinetree.kernels.layout import Kernel, Layout
from kinetree.kernels.number import accumulate, lanewise, nothing
from kinetree.kernels.vectors import (
    ZERO3,
    ZERO9,
    add_z,
    cross_plus,
    cross_z_plus,
    inertial_force,
    inertial_moment,
    load3,
    negative,
    spin_matrix,
    store3,
    sub,
    times,
    times_plus,
    transposed_times,
)

SLOTS = Layout(
    turn=2, R=9, f=3, n=3, p=3, w=3, wd=3, U=9, a=3
)  # the last four: of axes that wait for children


@lanewise
def rnea(tree, work, q, qd, qdd, wrench, tau, reaction):
    """tau = M(q) qdd + c(q, qd) + g(q) - J^T wrench, and what each axis transmits.

    wrench: force and moment applied to what axis i carries, in its frame at its origin: 6 numbers per axis,
    or nothing. reaction: force and moment that the parent exerts through axis i, the same way.
    """
    turn_axes(tree, work, q)
    work.w[WORLD], work.wd[WORLD], work.U[WORLD] = ZERO3, ZERO3, ZERO9
    work.a[WORLD] = negative(tree.gravity[WORLD])

    for i in outward(len(q)):  # motion, inertial force of each body
        j, k = tree.place[tree.parent[i]], tree.place[i]
        R, p = placement(tree, work, i, q[i])
        work.R[i] = R
        a = work.a[j]
        if tree.offset[i]:
            work.p[i] = p
            a = times_plus(work.U[j], p, a)
        w = transposed_times(R, work.w[j])
        wd = transposed_times(R, work.wd[j])
        a = transposed_times(R, a)
        if tree.revolute[i]:
            wd = add_z(cross_z_plus(w, qd[i], wd), qdd[i])
            w = add_z(w, qd[i])
        else:
            a = add_z(cross_z_plus(w, qd[i] + qd[i], a), qdd[i])
        work.w[k], work.wd[k], work.a[k] = w, wd, a
        if tree.spins[i]:
            U = spin_matrix(w, wd)
            work.U[k] = U
            if tree.massive[i]:
                m, h, S = inertia(tree, i)
                work.f[i] = inertial_force(m, h, U, a)
                work.n[i] = inertial_moment(h, S, U, a)
        if not tree.massive[i]:
            work.f[i], work.n[i] = ZERO3, ZERO3

    if len(wrench) > 0:
        for i in outward(len(q)):
            work.f[i] = sub(work.f[i], load3(wrench, 6 * i))
            work.n[i] = sub(work.n[i], load3(wrench, 6 * i + 3))

    for i in inward(len(q)):  # joint torque; the rest to the parent
        j = tree.parent[i]
        f, n = work.f[i], work.n[i]
        if tree.revolute[i]:
            tau[i] = n[2] + tree.armature[i] * qdd[i]
        else:
            tau[i] = f[2] + tree.armature[i] * qdd[i]
        if tree.passive[i]:
            tau[i] = tau[i] + passive_torque(tree, i, q[i], qd[i])
        if len(reaction) > 0:
            store3(reaction, 6 * i, f)
            store3(reaction, 6 * i + 3, n)
        if j != WORLD:
            R = work.R[i]
            f, n = times(R, f), times_plus(R, n, work.n[j])
            if tree.offset[i]:
                n = cross_plus(work.p[i], f, n)
            accumulate(work.f, j, f)
            work.n[j] = n


@lanewise
def rnea_unloaded(tree, work, q, qd, qdd, tau):
    """tau = M(q) qdd + c(q, qd) + g(q), without loads and without reactions."""
    rnea(tree, work, q, qd, qdd, nothing(q), tau, nothing(q))


RNEA = Kernel(rnea, SLOTS, inputs=4, outputs=2)
RNEA_UNLOADED = Kernel(rnea_unloaded, SLOTS, inputs=3, outputs=1, output_widths=(1,))
