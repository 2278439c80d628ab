"""First and second derivatives of y . tau, for a weight vector y, in closed form.

The weights act like joint speeds: body i has the virtual motion D = sum y_j X_j over its ancestors, and
y . tau is the virtual power of the inertial wrenches. With the composite virtual momentum (Ln, Lf) = sum I D,
K = sum 2 integral of v x D dm and the composite wrench F, the gradient is

    d/dq_i = Xy . F + Xdd . L + zd . K,   d/dqd_i = z . K + 2 Xd . L,   d/dqdd_i = X . L

with Xy = D_parent x X = (zy, sy). Perturbing q_i moves all this rigidly and adds Xy, Xd and Xdd to virtual
motion, velocity and acceleration, which gives every second derivative as a few dot products per pair of an
axis and its ancestor: O(1) each. Derivation and sources: docs/theory/rnea_hessian.md.
"""

from kinetree.kernels.axes import WORLD, inward, outward, passive_torque, upward
from kinetree.kernels.layout import Kernel, Layout
from kinetree.kernels.motion import MOTION, join_parent, world_motion
from kinetree.kernels.number import accumulate, lanewise
from kinetree.kernels.rnea_gradient import coriolis, transposed_coriolis_times, wrench_changes
from kinetree.kernels.vectors import (
    ZERO3,
    ZERO9,
    cross,
    cross_plus,
    dot,
    dot_plus,
    inertia_times,
    negative,
    scale_plus,
    sub,
    velocity_moment,
)

SLOTS = Layout(**MOTION, yw=3, yv=3, zy=3, sy=3, Ln=3, Lf=3, K=3, Gy=9)
# entry of the pair (i, ancestor j): up has q_j with the rate of i, low has q_i with the rate of j
ENTRIES = Layout(world=False, q_q=1, q_qd_up=1, q_qd_low=1, qd_qd=1, q_qdd_up=1, q_qdd_low=1)

# which entry goes where in q-q (0), q-qd (1), qd-qd (2) and q-qdd (3), transposed or not
TARGETS = (
    (0, 0, False),
    (0, 0, True),
    (1, 1, True),
    (2, 1, False),
    (3, 2, False),
    (3, 2, True),
    (4, 3, True),
    (5, 3, False),
)


@lanewise
def virtual_motion(tree, work, y):
    """Outward pass after `world_motion`: virtual motion of every axis, virtual momenta of what it carries."""
    work.yw[WORLD], work.yv[WORLD] = ZERO3, ZERO3
    for i in outward(len(y)):
        j = tree.parent[i]
        z, s, yw, yv = work.z[i], work.s[i], work.yw[j], work.yv[j]
        work.zy[i], work.sy[i] = cross(yw, z), cross_plus(yv, z, cross(yw, s))
        yw, yv = scale_plus(y[i], z, yw), scale_plus(y[i], s, yv)
        work.yw[i], work.yv[i] = yw, yv
        if tree.massive[i]:
            h, S = work.h[i], work.S[i]
            work.Ln[i], work.Lf[i] = inertia_times(tree.m[i], h, S, yw, yv)
            work.Gy[i] = velocity_moment(h, S, yw, yv)
            E, P = coriolis(work.G[i], work.P[i])
            work.K[i] = transposed_coriolis_times(E, P, yw, yv)
        else:
            work.Ln[i], work.Lf[i], work.Gy[i], work.K[i] = ZERO3, ZERO3, ZERO9, ZERO3


@lanewise
def join_virtual(work, i, j):
    """Inward step for the virtual momenta."""
    if j != WORLD:
        accumulate(work.Ln, j, work.Ln[i])
        accumulate(work.Lf, j, work.Lf[i])
        accumulate(work.Gy, j, work.Gy[i])
        accumulate(work.K, j, work.K[i])


@lanewise
def store_gradient(tree, work, i, q, qd, qdd, y, value, dq, dqd, dqdd):
    """Torque of axis i and the derivatives of y . tau with respect to its coordinate and rates."""
    z, s, n, f, Ln, Lf = work.z[i], work.s[i], work.n[i], work.f[i], work.Ln[i], work.Lf[i]
    value[i] = dot(z, n) + dot(s, f) + tree.armature[i] * qdd[i]
    virtual = dot_plus(work.zy[i], n, dot(work.sy[i], f))
    dq[i] = dot_plus(work.zdd[i], Ln, dot_plus(work.sdd[i], Lf, dot_plus(work.zd[i], work.K[i], virtual)))
    dqd[i] = dot_plus(z, work.K[i], 2.0 * dot_plus(work.zd[i], Ln, dot(work.sd[i], Lf)))
    dqdd[i] = dot_plus(z, Ln, dot(s, Lf)) + tree.armature[i] * y[i]
    if tree.passive[i]:
        value[i] = value[i] + passive_torque(tree, i, q[i], qd[i])
        dq[i] = dq[i] + tree.stiffness[i] * y[i]
        dqd[i] = dqd[i] + tree.viscous[i] * y[i]


@lanewise
def rnea_adjoint(tree, work, q, qd, qdd, y, tau, dq, dqd, dqdd):
    """tau and the gradient of y . tau with respect to q, qd, qdd, in O(n)."""
    world_motion(tree, tree.place, work, q, qd, qdd)
    virtual_motion(tree, work, y)
    for i in inward(len(q)):
        join_parent(tree, work, i, tree.parent[i])
        join_virtual(work, i, tree.parent[i])
        store_gradient(tree, work, i, q, qd, qdd, y, tau, dq, dqd, dqdd)


@lanewise
def rnea_hessian(tree, work, out, q, qd, qdd, y, tau, dq, dqd, dqdd):
    """tau, gradient and Hessian of y . tau, packed for every axis i and its ancestors j (i itself first)."""
    world_motion(tree, tree.place, work, q, qd, qdd)
    virtual_motion(tree, work, y)
    k = 0
    for i in inward(len(q)):
        j = tree.parent[i]
        join_parent(tree, work, i, j)
        join_virtual(work, i, j)
        store_gradient(tree, work, i, q, qd, qdd, y, tau, dq, dqd, dqdd)
        z, s, zy, sy = work.z[i], work.s[i], work.zy[i], work.sy[i]
        E, P = coriolis(work.G[i], work.P[i])
        Ey, Py = coriolis(work.Gy[i], work.Lf[i])
        In, If, Qn, Qf, Vn, Vf = wrench_changes(tree, work, i, E, P)
        # changes of the virtual momentum with q_i, of K with q_i and with qd_i
        dLn, dLf = inertia_times(tree.subtree_m[i], work.h[i], work.S[i], zy, sy)
        dLn = cross_plus(s, work.Lf[i], cross_plus(z, work.Ln[i], dLn))
        dLf = cross_plus(z, work.Lf[i], dLf)
        K_qd = negative(transposed_coriolis_times(Ey, Py, z, s))
        K_q = cross_plus(z, work.K[i], transposed_coriolis_times(E, P, zy, sy))
        K_q = sub(K_q, transposed_coriolis_times(Ey, Py, work.zd[i], work.sd[i]))
        j = i
        while j != WORLD:
            for a in upward(j, tree.top[j]):
                z, s, zd, sd, zy, sy = work.z[a], work.s[a], work.zd[a], work.sd[a], work.zy[a], work.sy[a]
                bend = dot_plus(work.zdd[a], dLn, dot_plus(work.sdd[a], dLf, dot(zd, K_q)))
                out.q_q[k] = dot_plus(zy, Qn, dot_plus(sy, Qf, bend))
                out.q_qd_up[k] = dot_plus(zy, Vn, dot_plus(sy, Vf, dot(zd, K_qd)))
                out.q_qd_low[k] = dot_plus(z, K_q, 2.0 * dot_plus(zd, dLn, dot(sd, dLf)))
                out.qd_qd[k] = dot(z, K_qd)
                out.q_qdd_up[k] = dot_plus(zy, In, dot(sy, If))
                out.q_qdd_low[k] = dot_plus(z, dLn, dot(s, dLf))
                k += 1
            j = tree.parent[tree.top[j]]


RNEA_ADJOINT = Kernel(rnea_adjoint, SLOTS, inputs=4, outputs=4, output_widths=(1, 1, 1, 1))
RNEA_HESSIAN = Kernel(
    rnea_hessian, SLOTS, inputs=4, outputs=4, entries=ENTRIES, targets=TARGETS, output_widths=(1, 1, 1, 1)
)
