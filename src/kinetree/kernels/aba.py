"""Forward dynamics: the articulated-body algorithm (Featherstone 2008, table 7.1), in world coordinates.

A body with all that hangs on it moves under a force as f = IA a + pA: articulated inertia IA, bias force pA.
Letters are those of the book and of `derivations/plain.py`, which should be read first:

    U = IA S,   D = S^T U,   u = tau - S^T pA,   Ia = IA - U U^T / D,   qdd = (u - U^T a) / D

with the joint axis S = (z, s), motions (angular, linear), forces (n, f), and in blocks U = (Un, Uf),
IA = [[J, H], [H^T, M]], pA = (n, f). Two things differ from the table. All is in the world's axes about one
point, so nothing is transformed from body to body. And accelerations are counted from those at qdd = 0, which
the first pass finds (wd, a): pA is the force that these take, and the term Ia c of the table is zero.

What only an axis and its children need waits in a row that a last child takes over (``tree.place``).
Derivation: docs/theory/recursions.md.
"""

from kinetree.kernels.axes import (
    WORLD,
    centred_world,
    inertia,
    inward,
    outward,
    passive_torque,
    place_axis,
    turn_axes,
)
from kinetree.kernels.layout import Kernel, Layout
from kinetree.kernels.number import accumulate, again, lanewise, nothing, reread, where_less
from kinetree.kernels.vectors import (
    IDENTITY,
    ZERO3,
    ZERO6,
    ZERO9,
    add,
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
    skew_plus,
    spin_matrix,
    sub,
    sum6,
    sym_minus_outer,
    times,
    trace_minus,
    transposed_times,
)

SINGULAR = 1e-13  # a pivot this small beside the inertia that the axis moves is rounding error
SLOTS = Layout(
    turn=2, z=3, s=3, h=3, I=6, n=3, f=3, Un=3, Uf=3, inv_D=1, u=1,  # of every axis
    R=9, p=3, w=3, v=3, wd=3, a=3, J=6, H=9, M=6, dw=3, dv=3,  # in rows that axes share, one after the other
)  # fmt: skip


@lanewise
def biased_motion(tree, work, q, qd):
    """First pass, outward: motion of every axis at qdd = 0, inertia and bias force of its body."""
    bias_forces(tree, tree.axis, work, q, qd, nothing(q))


@lanewise
def bias_forces(tree, row, work, q, qd, wrench):
    """First pass with the motion of axis i in row[i] of the workspace; loads are taken off the forces."""
    turn_axes(tree, work, q)
    work.R[WORLD], work.p[WORLD] = IDENTITY, centred_world(tree, q)
    work.w[WORLD], work.v[WORLD] = ZERO3, ZERO3
    work.wd[WORLD], work.a[WORLD] = ZERO3, negative(tree.gravity[WORLD])
    for i in outward(len(q)):
        j, k = row[tree.parent[i]], row[i]
        place_axis(tree, work, i, q[i], j, k)
        z, s = reread(work.z, i), reread(work.s, i)
        w, v, wd, a = work.w[j], work.v[j], work.wd[j], work.a[j]
        wd = scale_plus(qd[i], cross(w, z), wd)
        a = scale_plus(qd[i], cross_plus(v, z, cross(w, s)), a)
        w, v = scale_plus(qd[i], z, w), scale_plus(qd[i], s, v)
        work.w[k], work.v[k], work.wd[k], work.a[k] = w, v, wd, a
        if tree.massive[i]:
            body_force(tree, work, i, again(k))
        else:
            work.n[i], work.f[i] = ZERO3, ZERO3
        if len(wrench) > 0:
            R, p = work.R[k], work.p[k]
            f, n = times(R, load3(wrench, 6 * i)), times(R, load3(wrench, 6 * i + 3))
            work.f[i] = sub(work.f[i], f)
            work.n[i] = sub(work.n[i], cross_plus(p, f, n))


@lanewise
def body_force(tree, work, i, k):
    """Inertia I of the body on axis i, and the force I a + v x* I v of its motion in row k."""
    m, h, S = inertia(tree, i)
    h, S = moved_inertia(m, h, S, work.R[k], work.p[k])
    work.h[i], work.I[i] = h, trace_minus(S)
    w, v = reread(work.w, k), reread(work.v, k)
    U, a = spin_matrix(w, reread(work.wd, k)), cross_plus(w, v, reread(work.a, k))
    work.n[i], work.f[i] = inertial_moment(h, S, U, a), inertial_force(m, h, U, a)


@lanewise
def articulate(tree, work, q, qd, tau, pivot):
    """Second pass, inward: IA and pA of every body; pivot[i] is D, also that of M = U D U^T."""
    for i in inward(len(q)):
        j, k = tree.parent[i], tree.place[i]
        if tree.beyond[i] == WORLD:
            body_inertia(tree, work, i, k)
        z, s = work.z[i], work.s[i]
        Un, Uf = inertia_times_axis(work, k, z, s)
        D = dot(z, Un) + (dot(s, Uf) + tree.armature[i])
        if len(pivot) > 0:
            pivot[i] = D
        inv_D = 1.0 / D
        n, f = work.n[i], work.f[i]
        u = tau[i] - dot(z, n) - dot(s, f)
        if tree.passive[i]:
            u = u - passive_torque(tree, i, q[i], qd[i])
        work.Un[i], work.Uf[i], work.inv_D[i], work.u[i] = Un, Uf, inv_D, u
        if j != WORLD:  # pa = pA + U u / D and Ia become part of the parent
            accumulate(work.n, j, scale_plus(u * inv_D, Un, n))
            accumulate(work.f, j, scale_plus(u * inv_D, Uf, f))
            if not tree.opens[i]:
                free_axis(work, k, Un, Uf, inv_D)
                add_inertia(work, k, tree.place[j])
            elif tree.massive[j]:
                free_axis_on_body(tree, work, k, j, Un, Uf, inv_D)
            else:
                free_axis(work, k, Un, Uf, inv_D)


@lanewise
def body_inertia(tree, work, i, k):
    """IA = I of the body at a tip, into row k."""
    if tree.massive[i]:
        m = tree.m[i]
        work.J[k], work.H[k], work.M[k] = work.I[i], skew(work.h[i]), (m, 0.0, 0.0, m, 0.0, m)
    else:
        work.J[k], work.H[k], work.M[k] = ZERO6, ZERO9, ZERO6


@lanewise
def inertia_times_axis(work, k, z, s):
    """U = IA S = (J z + H s, H^T z + M s) for IA in row k: the force that unit acceleration takes."""
    Jz, H = times(full(work.J[k]), z), reread(work.H, k)
    Hs, Hz = times(H, s), transposed_times(H, z)
    return add(Jz, Hs), add(Hz, times(full(reread(work.M, k)), s))


@lanewise
def free_axis(work, k, Un, Uf, inv_D):
    """Ia = IA - U U^T / D in row k: what is left of the inertia when the axis is free to move."""
    Kn, Kf = scale(inv_D, Un), scale(inv_D, Uf)
    work.J[k] = sym_minus_outer(reread(work.J, k), Kn, Un)
    work.H[k] = minus_outer(reread(work.H, k), Kn, Uf)
    work.M[k] = sym_minus_outer(reread(work.M, k), Kf, Uf)


@lanewise
def free_axis_on_body(tree, work, k, j, Un, Uf, inv_D):
    """Ia + I with the body of axis j, in row k: the last child leaves its row to its parent."""
    Kn, Kf, m = scale(inv_D, Un), scale(inv_D, Uf), tree.m[j]
    work.J[k] = sum6(work.I[j], sym_minus_outer(reread(work.J, k), Kn, Un))
    work.H[k] = skew_plus(work.h[j], minus_outer(reread(work.H, k), Kn, Uf))
    M = sym_minus_outer(reread(work.M, k), Kf, Uf)
    work.M[k] = M[0] + m, M[1], M[2], M[3] + m, M[4], M[5] + m


@lanewise
def add_inertia(work, k, parent):
    """Add the articulated inertia in row k to that in the row of the parent."""
    accumulate(work.J, parent, work.J[k])
    accumulate(work.H, parent, work.H[k])
    accumulate(work.M, parent, work.M[k])


@lanewise
def accelerate(tree, work, qdd):
    """Third pass, outward: qdd = (u - U^T a) / D, with a counted from the accelerations at qdd = 0."""
    work.dw[WORLD], work.dv[WORLD] = ZERO3, ZERO3
    for i in outward(len(qdd)):
        j, k = tree.place[tree.parent[i]], tree.place[i]
        dw, dv = work.dw[j], work.dv[j]
        x = (work.u[i] - dot(work.Un[i], dw) - dot(work.Uf[i], dv)) * work.inv_D[i]
        work.dw[k], work.dv[k] = scale_plus(x, work.z[i], dw), scale_plus(x, work.s[i], dv)
        qdd[i] = x


@lanewise
def aba(tree, work, q, qd, tau, wrench, qdd, pivot):
    """qdd = M(q)^-1 (tau - c(q, qd) - g(q) + J^T wrench), and the pivots D of M = U D U^T.

    wrench: force and moment applied to what axis i carries, in its frame at its origin: 6 numbers per axis,
    or nothing.
    """
    bias_forces(tree, tree.place, work, q, qd, wrench)
    articulate(tree, work, q, qd, tau, pivot)
    accelerate(tree, work, qdd)


@lanewise
def aba_unloaded(tree, work, q, qd, tau, qdd, pivot):
    """qdd = M(q)^-1 (tau - c(q, qd) - g(q)), without loads."""
    aba(tree, work, q, qd, tau, nothing(q), qdd, pivot)


@lanewise
def aba_alone(tree, work, q, qd, tau, qdd):
    """qdd = M(q)^-1 (tau - c(q, qd) - g(q)) alone, without the pivots."""
    aba(tree, work, q, qd, tau, nothing(q), qdd, nothing(q))


@lanewise
def irregular_pivots(tree, work, qdd):
    """How many pivots are not above the rounding errors of the inertia that their axis moves."""
    count = 0.0 * work.inv_D[0]
    for i in outward(len(qdd)):
        inv_D = work.inv_D[i]
        small = where_less(inv_D * (SINGULAR * tree.gross[i]), 1.0, 0.0, 1.0)
        count = count + where_less(0.0, inv_D, small, 1.0)
    return count


ABA = Kernel(aba, SLOTS, inputs=4, outputs=2)
ABA_UNLOADED = Kernel(aba_unloaded, SLOTS, inputs=3, outputs=2, output_widths=(1, 1))
ABA_ALONE = Kernel(aba_alone, SLOTS, inputs=3, outputs=1, output_widths=(1,), suspicion=irregular_pivots)
