"""Derivatives of inverse dynamics in closed form, world frame, one packed row per (axis, ancestor).

Composite inertia I = (m, h, S); Coriolis operator 2B (w, v) = (E w, w x 2P) with E = 2 (tr G - G): 12 numbers
instead of 36. Perturbing q_i moves what axis i carries rigidly, and changes its velocity by Xd and its
acceleration by Xdd on top. Derivation and sources: docs/theory/rnea_gradient.md.
"""

from kinetree.kernels.axes import WORLD, inward, passive_torque, upward
from kinetree.kernels.layout import Kernel, Layout
from kinetree.kernels.motion import MOTION, join_parent, world_motion
from kinetree.kernels.number import lanewise
from kinetree.kernels.vectors import (
    cross,
    cross_plus,
    dot,
    dot_plus,
    inertia_times,
    scale,
    times_plus,
    transposed_times_plus,
    twice_trace_minus,
)

SLOTS = Layout(**MOTION)
ENTRIES = Layout(world=False, dq_up=1, dqd_up=1, dqd_low=1, dq_low=1, M=1)  # up: row j, column i
# which entry goes where in dtau/dq (0), dtau/dqd (1) and M (2), transposed or not
TARGETS = ((0, 0, True), (3, 0, False), (1, 1, True), (2, 1, False), (4, 2, False), (4, 2, True))


@lanewise
def coriolis(G, P):
    """(E, 2P) of the operator 2B, from velocity moment G and momentum P of a body."""
    return twice_trace_minus(G), scale(2.0, P)


@lanewise
def transposed_coriolis_times(E, P, w, v):
    """(2B)^T (w, v): a moment; its force is zero."""
    return transposed_times_plus(E, w, cross(P, v))


@lanewise
def rate_changes(work, a, m, h, S, E, P):
    """Wrenches by qdd_a, q_a and qd_a of a body (m, h, S, E, P) that axis a carries, seen from that body.

    (In, If) = I X;  (Qn, Qf) = I Xdd + 2B Xd;  (Vn, Vf) = 2 I Xd + 2B X
    """
    z, zd = work.z[a], work.zd[a]
    In, If = inertia_times(m, h, S, z, work.s[a])
    Qn, Qf = inertia_times(m, h, S, work.zdd[a], work.sdd[a])
    Vn, Vf = inertia_times(m, h, S, scale(2.0, zd), scale(2.0, work.sd[a]))
    Qn, Qf = times_plus(E, zd, Qn), cross_plus(zd, P, Qf)
    return In, If, Qn, Qf, times_plus(E, z, Vn), cross_plus(z, P, Vf)


@lanewise
def wrench_changes(tree, work, i, E, P):
    """Wrenches by qdd_i, q_i and qd_i of the composite body beyond axis i, seen from the world.

    As `rate_changes`, and q_i turns the composite wrench F as well: (Qn, Qf) = I Xdd + 2B Xd + X x* F
    """
    z, s, n, f = work.z[i], work.s[i], work.n[i], work.f[i]
    In, If, Qn, Qf, Vn, Vf = rate_changes(work, i, tree.subtree_m[i], work.h[i], work.S[i], E, P)
    return In, If, cross_plus(s, f, cross_plus(z, n, Qn)), cross_plus(z, f, Qf), Vn, Vf


@lanewise
def transmitted_torque(tree, work, i, q, qd, qdd):
    """Torque that axis i needs for the composite wrench beyond it."""
    tau = dot(work.z[i], work.n[i]) + dot(work.s[i], work.f[i]) + tree.armature[i] * qdd
    if tree.passive[i]:
        tau = tau + passive_torque(tree, i, q, qd)
    return tau


@lanewise
def rnea_gradient(tree, work, out, q, qd, qdd, tau):
    """tau, dtau/dq, dtau/dqd and M for every axis i and its ancestors j (i itself first), tips first.

    The places of the axes stay in the workspace, for loads that move with them.
    """
    world_motion(tree, tree.axis, work, q, qd, qdd)
    k = 0
    for i in inward(len(q)):
        join_parent(tree, work, i, tree.parent[i])
        tau[i] = transmitted_torque(tree, work, i, q[i], qd[i], qdd[i])
        E, P = coriolis(work.G[i], work.P[i])
        In, If, Qn, Qf, Vn, Vf = wrench_changes(tree, work, i, E, P)
        Bn = transposed_coriolis_times(E, P, work.z[i], work.s[i])
        twice_In, twice_If = scale(2.0, In), scale(2.0, If)
        drive, spring, damper = tree.armature[i], tree.stiffness[i], tree.viscous[i]  # on the diagonal
        j = i
        while j != WORLD:
            for a in upward(j, tree.top[j]):
                z, s, zd, sd = work.z[a], work.s[a], work.zd[a], work.sd[a]
                out.M[k] = dot_plus(z, In, dot_plus(s, If, drive))
                out.dq_up[k] = dot_plus(z, Qn, dot_plus(s, Qf, spring))
                out.dqd_up[k] = dot_plus(z, Vn, dot_plus(s, Vf, damper))
                out.dqd_low[k] = dot_plus(z, Bn, dot_plus(zd, twice_In, dot_plus(sd, twice_If, damper)))
                lifted = dot_plus(work.zdd[a], In, dot_plus(work.sdd[a], If, spring))
                out.dq_low[k] = dot_plus(zd, Bn, lifted)
                drive, spring, damper = 0.0, 0.0, 0.0
                k += 1
            j = tree.parent[tree.top[j]]


RNEA_GRADIENT = Kernel(
    rnea_gradient, SLOTS, inputs=3, outputs=1, entries=ENTRIES, targets=TARGETS, output_widths=(1,)
)
