"""Derivatives of the bias and of inverse dynamics with balls, and of moves by a time, for one step.

As `kernels.rnea_gradient`, with joints of three axes: an axis X of a ball on a parent with the motion V has
the rates V x X when its coordinate is perturbed, and (V + V') x X when its rate is, V' the motion of the ball
itself. Perturbing one of its axes moves the other two as well. Matrices are stored column by column.
"""

from kinetree.kernels.axes import WORLD, inward, outward, upward
from kinetree.kernels.layout import Layout
from kinetree.kernels.number import accumulate, called, lanewise, sincos, square_root, where_less
from kinetree.kernels.rnea_gradient import coriolis, transposed_coriolis_times
from kinetree.kernels.vectors import (
    ZERO3,
    ZERO9,
    add,
    cross,
    cross_plus,
    dot,
    dot_plus,
    inertia_times,
    inertial_force,
    inertial_moment,
    momentum,
    negative,
    scale,
    scale_plus,
    spin_matrix,
    sub,
    times_plus,
    transposed_times,
    velocity_moment,
)
from kinetree.simulation.compiled.stepping import ALONE, BALL, CARRIER, INNER

SLOPES = Layout(
    zd=3, sd=3, zdd=3, sdd=3,  # of an axis, when its coordinate is perturbed
    ze=3, se=3,  # when its rate is
    n=3, f=3, G=9, P=3,  # inertial wrench, velocity moment, momentum of all beyond it
    N=3, F=3, T=9,  # impulses of the ground there: moment, force, and how they change as it moves
    w=3, v=3,  # its motion after the step
    wo=3, vo=3,  # and before it
)  # fmt: skip
SMALL = 0.3  # rad: below it a series is more exact


@lanewise
def perturbed_axis(work, more, i, j):
    """Rates of axis i on a parent j that moves, when the coordinate of the axis is perturbed."""
    z, s, w, v = work.z[i], work.s[i], work.w[j], work.v[j]
    zd, sd = cross(w, z), cross_plus(v, z, cross(w, s))
    more.zd[i], more.sd[i] = zd, sd
    more.zdd[i] = cross_plus(w, zd, cross(work.wd[j], z))
    more.sdd[i] = cross_plus(v, zd, cross_plus(work.a[j], z, cross_plus(work.wd[j], s, cross(w, sd))))


@lanewise
def move_joint(work, i, j, z, s, zq, sq):
    """Motion of axis i on axis j at the rate (z, s) with the acceleration (zq, sq) of the joint."""
    w, v = work.w[j], work.v[j]
    work.wd[i] = add(zq, add(cross(w, z), work.wd[j]))
    work.a[i] = add(sq, cross_plus(v, z, cross_plus(w, s, work.a[j])))
    work.w[i], work.v[i] = add(z, w), add(s, v)


@lanewise
def ball_rate(work, i, x):
    """Motion of a ball, whose first axis is i, at rates x."""
    z = scale_plus(x[i + 2], work.z[i + 2], scale_plus(x[i + 1], work.z[i + 1], scale(x[i], work.z[i])))
    s = scale_plus(x[i + 2], work.s[i + 2], scale_plus(x[i + 1], work.s[i + 1], scale(x[i], work.s[i])))
    return z, s


@called
def motion_slopes(tree, joints, work, more, v, change, rate):
    """Motion of all axes at rates v that change by ``change`` in a time 1 / rate, with perturbed axes."""
    work.w[WORLD], work.v[WORLD] = ZERO3, ZERO3
    work.wd[WORLD], work.a[WORLD] = ZERO3, negative(tree.gravity[WORLD])
    for i in outward(tree.parent[WORLD]):
        j = tree.parent[i]
        if joints.role[i] == ALONE:
            perturbed_axis(work, more, i, j)
            more.ze[i], more.se[i] = scale(2.0, more.zd[i]), scale(2.0, more.sd[i])
            z, s, x, y = work.z[i], work.s[i], v.x[i], rate * change.x[i]
            move_joint(work, i, j, scale(x, z), scale(x, s), scale(y, z), scale(y, s))
        elif joints.role[i] == BALL:
            z, s = ball_rate(work, i, v.x)
            zq, sq = ball_rate(work, i, change.x)
            move_joint(work, i + 2, j, z, s, scale(rate, zq), scale(rate, sq))
            w, u = work.w[i + 2], work.v[i + 2]
            for k in range(i, i + 3):
                perturbed_axis(work, more, k, j)
                more.ze[k] = cross_plus(w, work.z[k], more.zd[k])
                more.se[k] = cross_plus(u, work.z[k], cross_plus(w, work.s[k], more.sd[k]))
        if tree.massive[i]:
            m, h, S, w, u = work.m[i], work.h[i], work.S[i], work.w[i], work.v[i]
            U, a = spin_matrix(w, work.wd[i]), cross_plus(w, u, work.a[i])
            more.f[i], more.n[i] = inertial_force(m, h, U, a), inertial_moment(h, S, U, a)
            more.G[i], more.P[i] = velocity_moment(h, S, w, u), momentum(m, h, w, u)
        else:
            more.f[i], more.n[i], more.G[i], more.P[i] = ZERO3, ZERO3, ZERO9, ZERO3


@called
def motion_of(tree, joints, work, v, w_out, v_out):
    """The motion of all axes at rates v into two fields."""
    w_out[WORLD], v_out[WORLD] = ZERO3, ZERO3
    for i in outward(tree.parent[WORLD]):
        j = tree.parent[i]
        if joints.role[i] == ALONE:
            w_out[i] = scale_plus(v.x[i], work.z[i], w_out[j])
            v_out[i] = scale_plus(v.x[i], work.s[i], v_out[j])
        elif joints.role[i] == BALL:
            z, s = ball_rate(work, i, v.x)
            for k in range(i, i + 3):
                w_out[k], v_out[k] = add(z, w_out[j]), add(s, v_out[j])


@lanewise
def join_slopes(more, i, j):
    """What is beyond axis i is also beyond its parent."""
    if j != WORLD:
        accumulate(more.n, j, more.n[i])
        accumulate(more.f, j, more.f[i])
        accumulate(more.G, j, more.G[i])
        accumulate(more.P, j, more.P[i])
        accumulate(more.N, j, more.N[i])
        accumulate(more.F, j, more.F[i])
        accumulate(more.T, j, more.T[i])


@called
def torque_slopes(tree, joints, work, more, dt, by_q, by_v):
    """dt d(tau)/dq - d(J^T lam)/dq and dt d(tau)/dv of all axes and their ancestors, in square matrices."""
    n = tree.parent[WORLD]
    for i in inward(n):
        join_slopes(more, i, tree.parent[i])
        E, P = coriolis(more.G[i], more.P[i])
        m, h, S = work.mc[i], work.hc[i], work.Sc[i]
        z, s, zd = work.z[i], work.s[i], more.zd[i]
        N, F, T = more.N[i], more.F[i], more.T[i]
        In, If = inertia_times(m, h, S, z, s)
        Qn, Qf = inertia_times(m, h, S, more.zdd[i], more.sdd[i])
        Vn, Vf = inertia_times(m, h, S, more.ze[i], more.se[i])
        Vn, Vf = times_plus(E, z, Vn), cross_plus(z, P, Vf)
        tn, tf = cross_plus(s, more.f[i], cross(z, more.n[i])), cross(z, more.f[i])
        Qn, Qf = add(times_plus(E, zd, Qn), tn), add(cross_plus(zd, P, Qf), tf)
        Bn = transposed_coriolis_times(E, P, z, s)
        Qn, Qf = sub(scale(dt, Qn), times_plus(T, z, cross(s, F))), scale(dt, Qf)
        Cn = sub(cross_plus(N, z, cross(F, s)), transposed_times(T, z))
        j = i
        while j != WORLD:
            for a in upward(j, tree.top[j]):
                za, sa, low = work.z[a], work.s[a], dot(more.ze[a], In) + dot(more.se[a], If)
                by_q.x[i * n + a] = dot_plus(za, Qn, dot(sa, Qf))
                by_v.x[i * n + a] = dt * dot_plus(za, Vn, dot(sa, Vf))
                by_v.x[a * n + i] = dt * dot_plus(za, Bn, low)
                low = dot_plus(more.zd[a], Bn, dot_plus(more.zdd[a], In, dot(more.sdd[a], If)))
                by_q.x[a * n + i] = dt * low + dot(za, Cn)
            j = tree.parent[tree.top[j]]
        if (
            joints.role[i] == INNER or joints.role[i] == CARRIER
        ):  # what moves with i does not feel the wrench turn
            tn = sub(scale(dt, tn), cross_plus(z, N, cross(s, F)))
            tf = sub(scale(dt, tf), cross(z, F))
            for a in range(i - (joints.role[i] - 1), i):
                old = by_q.x[i * n + a]
                by_q.x[i * n + a] = old - dot_plus(work.z[a], tn, dot(work.s[a], tf))


@lanewise
def turned_by(a, b, c):
    """How turns before a rotation by the vector (a, b, c), and changes of it, turn what comes after it.

    With the rotation R = exp((a, b, c)~), R^T and J = 1 - (1 - cos x) / x^2 r~ + (x - sin x) / x^3 r~ r~.
    """
    square = a * a + b * b + c * c
    angle = square_root(square + 1e-300)
    half, _ = sincos(0.5 * angle)
    sine, _ = sincos(angle)
    h = 2.0 * half / angle
    k = 0.5 * h * h  # (1 - cos x) / x^2
    series = 1.0 / 6.0 - square * (1.0 / 120.0 - square * (1.0 / 5040.0 - square * (1.0 / 362880.0)))
    g = where_less(angle, SMALL, series, (angle - sine) / (angle * square + 1e-300))
    f = sine / angle
    xx, yy, zz, xy, xz, yz = a * a, b * b, c * c, a * b, a * c, b * c
    R = (
        1.0 - k * (yy + zz), k * xy + f * c, k * xz - f * b,
        k * xy - f * c, 1.0 - k * (xx + zz), k * yz + f * a,
        k * xz + f * b, k * yz - f * a, 1.0 - k * (xx + yy),
    )  # fmt: skip
    J = (
        1.0 - g * (yy + zz), g * xy + k * c, g * xz - k * b,
        g * xy - k * c, 1.0 - g * (xx + zz), g * yz + k * a,
        g * xz + k * b, g * yz - k * a, 1.0 - g * (xx + yy),
    )  # fmt: skip
    return R, J


@called
def inward_three(tree, pairs, x):
    """Replace three columns x by U^-1 x, with M = U D U^T factored in ``pairs``."""
    for i in inward(tree.parent[WORLD]):
        known, k = x.y[i], tree.first[i] + 1
        j = tree.parent[i]
        while j != WORLD:
            for a in upward(j, tree.top[j]):
                U, y = pairs.M[k], x.y[a]
                x.y[a] = y[0] - U * known[0], y[1] - U * known[1], y[2] - U * known[2]
                k += 1
            j = tree.parent[tree.top[j]]


@called
def outward_three(tree, pairs, x):
    """Replace three columns x by U^-T x."""
    for i in outward(tree.parent[WORLD]):
        found, k = x.y[i], tree.first[i] + 1
        b, c, d = found[0], found[1], found[2]
        j = tree.parent[i]
        while j != WORLD:
            for a in upward(j, tree.top[j]):
                U, y = pairs.M[k], x.y[a]
                b, c, d = b - U * y[0], c - U * y[1], d - U * y[2]
                k += 1
            j = tree.parent[tree.top[j]]
        x.y[i] = b, c, d
