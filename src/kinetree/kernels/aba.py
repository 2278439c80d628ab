"""Forward dynamics: articulated-body algorithm in the world frame.

Bias accelerations (those at qdd = 0) are taken out first, so the inward pass needs no Ia c.
Joint axis (z, s); articulated inertia [[J, H], [H^T, M]]; motion (angular, linear), wrench (n, f).
"""

from kinetree.kernels.layout import (
    WORLD,
    Kernel,
    Layout,
    centred_world,
    inertia,
    inward,
    outward,
    passive_torque,
    world_placement,
)
from kinetree.kernels.number import accumulate, lanewise, nothing
from kinetree.kernels.vectors import (
    IDENTITY,
    ZERO3,
    ZERO6,
    ZERO9,
    cross,
    cross_plus,
    dot,
    full,
    inertial_force,
    inertial_moment,
    load3,
    minus_outer,
    moved_inertia,
    negative,
    scale,
    scale_plus,
    skew,
    spin_matrix,
    sub,
    sym_minus_outer,
    times,
    times_plus,
    trace_minus,
    transposed_times_plus,
)

SINGULAR = 1e-13  # a pivot this small beside the inertia that the axis moves is rounding error
SLOTS = Layout(
    R=9, p=3, w=3, v=3, wd=3, a=3, z=3, s=3, J=6, H=9, M=6, n=3, f=3, Un=3, Uf=3, inv_D=1, u=1, dw=3, dv=3
)


@lanewise
def biased_motion(tree, work, q, qd):
    """Outward: motion of every axis at qdd = 0, the inertia that it carries and its wrench."""
    work.R[WORLD], work.p[WORLD] = IDENTITY, centred_world(tree, q)
    work.w[WORLD], work.v[WORLD] = ZERO3, ZERO3
    work.wd[WORLD], work.a[WORLD] = ZERO3, negative(tree.gravity[WORLD])
    for i in outward(len(q)):
        j = tree.parent[i]
        R, p, z, s = world_placement(tree, i, q[i], work.R[j], work.p[j])
        work.R[i], work.p[i], work.z[i], work.s[i] = R, p, z, s
        w, v = work.w[j], work.v[j]
        wd = scale_plus(qd[i], cross(w, z), work.wd[j])
        a = scale_plus(qd[i], cross_plus(v, z, cross(w, s)), work.a[j])
        w, v = scale_plus(qd[i], z, w), scale_plus(qd[i], s, v)
        work.w[i], work.v[i], work.wd[i], work.a[i] = w, v, wd, a
        if tree.massive[i]:
            m, h, S = inertia(tree, i)
            h, S = moved_inertia(m, h, S, R, p)
            work.J[i], work.H[i], work.M[i] = trace_minus(S), skew(h), (m, 0.0, 0.0, m, 0.0, m)
            U, a = spin_matrix(w, wd), cross_plus(w, v, a)
            work.n[i], work.f[i] = inertial_moment(h, S, U, a), inertial_force(m, h, U, a)
        else:
            work.J[i], work.H[i], work.M[i], work.n[i], work.f[i] = ZERO6, ZERO9, ZERO6, ZERO3, ZERO3


@lanewise
def articulate(tree, work, q, qd, tau, pivot):
    """Inward: articulated inertias and bias wrenches, and the pivots D of M = U D U^T."""
    for i in inward(len(q)):
        j = tree.parent[i]
        z, s = work.z[i], work.s[i]
        J, H, M, n, f = work.J[i], work.H[i], work.M[i], work.n[i], work.f[i]
        Un = times_plus(full(J), z, times(H, s))
        Uf = transposed_times_plus(H, z, times(full(M), s))
        D = dot(z, Un) + dot(s, Uf) + tree.armature[i]
        if len(pivot) > 0:
            pivot[i] = D
        inv_D = 1.0 / D
        u = tau[i] - dot(z, n) - dot(s, f)
        if tree.passive[i]:
            u = u - passive_torque(tree, i, q[i], qd[i])
        work.Un[i], work.Uf[i], work.inv_D[i], work.u[i] = Un, Uf, inv_D, u
        if j != WORLD:
            accumulate(work.n, j, scale_plus(u * inv_D, Un, n))
            accumulate(work.f, j, scale_plus(u * inv_D, Uf, f))
            Kn, Kf = scale(inv_D, Un), scale(inv_D, Uf)
            accumulate(work.J, j, sym_minus_outer(J, Kn, Un))
            accumulate(work.H, j, minus_outer(H, Kn, Uf))
            accumulate(work.M, j, sym_minus_outer(M, Kf, Uf))


@lanewise
def accelerate(tree, work, qdd):
    """Outward: accelerations beyond the bias."""
    work.dw[WORLD], work.dv[WORLD] = ZERO3, ZERO3
    for i in outward(len(qdd)):
        j = tree.parent[i]
        dw, dv = work.dw[j], work.dv[j]
        x = (work.u[i] - dot(work.Un[i], dw) - dot(work.Uf[i], dv)) * work.inv_D[i]
        work.dw[i], work.dv[i] = scale_plus(x, work.z[i], dw), scale_plus(x, work.s[i], dv)
        qdd[i] = x


@lanewise
def aba(tree, work, q, qd, tau, wrench, qdd, pivot):
    """qdd = M(q)^-1 (tau - c(q, qd) - g(q) + J^T wrench), and the pivots D of M = U D U^T.

    wrench: force and moment applied to what axis i carries, in its frame at its origin: 6 numbers per axis,
    or nothing.
    """
    biased_motion(tree, work, q, qd)
    if len(wrench) > 0:
        for i in outward(len(q)):
            R = work.R[i]
            f, n = times(R, load3(wrench, 6 * i)), times(R, load3(wrench, 6 * i + 3))
            work.f[i] = sub(work.f[i], f)
            work.n[i] = sub(work.n[i], cross_plus(work.p[i], f, n))
    articulate(tree, work, q, qd, tau, pivot)
    accelerate(tree, work, qdd)


@lanewise
def aba_unloaded(tree, work, q, qd, tau, qdd, pivot):
    """qdd = M(q)^-1 (tau - c(q, qd) - g(q)), without loads."""
    aba(tree, work, q, qd, tau, nothing(q), qdd, pivot)


@lanewise
def aba_alone(tree, work, q, qd, tau, qdd):
    """The same without telling the pivots."""
    aba(tree, work, q, qd, tau, nothing(q), qdd, nothing(q))


@lanewise
def has_regular_pivots(tree, work, qdd):
    """Whether every pivot is above the rounding errors of the inertia that its axis moves."""
    regular = True
    for i in outward(len(qdd)):
        regular = regular and 0.0 < work.inv_D[i] and work.inv_D[i] * (SINGULAR * tree.gross[i]) < 1.0
    return regular


ABA = Kernel(aba, SLOTS, inputs=4, outputs=2)
ABA_UNLOADED = Kernel(aba_unloaded, SLOTS, inputs=3, outputs=2)
ABA_ALONE = Kernel(aba_alone, SLOTS, inputs=3, outputs=1, accept=has_regular_pivots)
