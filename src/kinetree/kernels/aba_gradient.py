"""Derivatives of forward dynamics: -M^-1 times those of inverse dynamics at the resulting acceleration.

M = U D U^T with U_ji = X_j . K_i for axis i and its ancestor j, where K = (Un, Uf) / D comes from articulated
bodies (`aba`). The derivative of the torque of axis i by a coordinate c between it and the base is a product
w_i . m_c of nine numbers each,

    w = (Bn, In, If),   m = (zd, zdd, sdd) by q_c,   m = (z, 2 zd, 2 sd) by qd_c,

so U^-1 is applied to the factors w once, for all c, and T_c (6 x 9), the sum of K_i w_i^T over all i from c
on, is all that the ancestors of c need of them. U^-T then fills the columns. Derivation and sources:
docs/theory/aba_gradient.md.
"""

from kinetree.kernels.aba import SLOTS as ABA_SLOTS
from kinetree.kernels.aba import aba, irregular_pivots
from kinetree.kernels.axes import WORLD, inward, outward, upward
from kinetree.kernels.crba import ENTRIES as FACTORS
from kinetree.kernels.layout import Kernel, Layout
from kinetree.kernels.motion import MOTION, join_parent, world_motion
from kinetree.kernels.number import accumulate, lanewise, nothing, reread
from kinetree.kernels.rnea_gradient import (
    coriolis,
    transmitted_torque,
    transposed_coriolis_times,
    wrench_changes,
)
from kinetree.kernels.vectors import (
    ZERO9,
    dot,
    dot_plus,
    negative,
    outer_plus,
    scale,
    scale_plus,
    sub,
    times_plus,
    transposed_times,
)

# T by blocks of 3 x 3: rows n, f of K; columns b, i, f of w = (Bn, In, If)
SLOTS = Layout(**{**ABA_SLOTS.fields, **MOTION, "Tnb": 9, "Tni": 9, "Tnf": 9, "Tfb": 9, "Tfi": 9, "Tff": 9})
# of full n x n matrices, column by column: dqdd/dq, dqdd/dqd, dqdd/dtau, solved for side by side
ENTRIES = Layout(world=False, x=3)


@lanewise
def aba_gradient(tree, work, packed, out, q, qd, tau, qdd, pivot, torque):
    """qdd, dqdd/dq = -M^-1 dtau/dq, dqdd/dqd = -M^-1 dtau/dqd and dqdd/dtau = M^-1; torque repeats tau."""
    n = len(q)
    aba(tree, work, q, qd, tau, nothing(q), qdd, pivot)
    world_motion(tree, tree.place, work, q, qd, qdd)
    zero = 0.0 * q[0]
    for k in range(n * n):
        out.x[k] = (zero, zero, zero)
    for i in inward(n):
        join_parent(tree, work, i, tree.parent[i])
        torque[i] = transmitted_torque(tree, work, i, q[i], qd[i], qdd[i])
        eliminate(tree, work, n, packed, out, i)
    for c in range(n // 4):
        substitute_four(tree, n, packed, out, 4 * c)
    for c in range(n - n % 4, n):
        substitute(tree, n, packed, out, c)


@lanewise
def eliminate(tree, work, n, packed, out, i):
    """-D^-1 U^-1 dtau: row i up to the diagonal, and column i above it."""
    E, P = coriolis(work.G[i], work.P[i])
    In, If, Qn, Qf, Vn, Vf = wrench_changes(tree, work, i, E, P)
    Bn = transposed_coriolis_times(E, P, work.z[i], work.s[i])
    k, inv_D, stiffness, viscous = tree.place[i], work.inv_D[i], tree.stiffness[i], tree.viscous[i]
    if tree.beyond[i] == WORLD:
        work.Tnb[k], work.Tni[k], work.Tnf[k] = ZERO9, ZERO9, ZERO9
        work.Tfb[k], work.Tfi[k], work.Tff[k] = ZERO9, ZERO9, ZERO9
    z, s, zd, sd, zdd, sdd = work.z[i], work.s[i], work.zd[i], work.sd[i], work.zdd[i], work.sdd[i]
    Kn, Kf = scale(inv_D, work.Un[i]), scale(inv_D, work.Uf[i])
    wb = eliminated(work.Tnb, work.Tfb, k, z, s, Bn, Kn, Kf)
    wi = eliminated(work.Tni, work.Tfi, k, z, s, In, Kn, Kf)
    wf = eliminated(work.Tnf, work.Tff, k, z, s, If, Kn, Kf)
    by_q = dot_plus(zd, wb, dot_plus(zdd, wi, dot_plus(sdd, wf, stiffness)))
    by_qd = 2.0 * dot_plus(zd, wi, dot(sd, wf)) + dot_plus(z, wb, viscous)
    out.x[i * n + i] = -inv_D * by_q, -inv_D * by_qd, inv_D
    fill_row(tree, work, n, packed, out, i, Kn, Kf, scale(-inv_D, wb), scale(-inv_D, wi), scale(-inv_D, wf))
    # T m - Q and T m - V: what elimination of all axes from i on leaves of the wrenches by q_i and qd_i
    Qn, Qf = scale_plus(stiffness, Kn, negative(Qn)), scale_plus(stiffness, Kf, negative(Qf))
    Vn, Vf = scale_plus(viscous, Kn, negative(Vn)), scale_plus(viscous, Kf, negative(Vf))
    Qn, Qf, Vn, Vf = add_products(
        work.Tnb, work.Tfb, k, reread(work.zd, i), reread(work.z, i), Qn, Qf, Vn, Vf
    )
    twice_zd, twice_sd = scale(2.0, reread(work.zd, i)), scale(2.0, reread(work.sd, i))
    Qn, Qf, Vn, Vf = add_products(work.Tni, work.Tfi, k, reread(work.zdd, i), twice_zd, Qn, Qf, Vn, Vf)
    Qn, Qf, Vn, Vf = add_products(work.Tnf, work.Tff, k, reread(work.sdd, i), twice_sd, Qn, Qf, Vn, Vf)
    fill_column(tree, work, n, out, i, Qn, Qf, Vn, Vf, negative(Kn), negative(Kf))
    j = tree.parent[i]
    if j != WORLD and not tree.opens[i]:
        add_factors(work, k, tree.place[j])


@lanewise
def add_products(Tn, Tf, k, a, b, Qn, Qf, Vn, Vf):
    """Q + T a and V + T b for one block column of T, in row k."""
    A = reread(Tn, k)
    Qn, Vn = times_plus(A, a, Qn), times_plus(A, b, Vn)
    A = reread(Tf, k)
    return Qn, times_plus(A, a, Qf), Vn, times_plus(A, b, Vf)


@lanewise
def eliminated(Tn, Tf, k, z, s, w, Kn, Kf):
    """A third of w after the elimination of all axes beyond, w - T^T X; T takes up K w^T."""
    w = sub(w, transposed_times(reread(Tn, k), z))
    w = sub(w, transposed_times(reread(Tf, k), s))
    Tn[k] = outer_plus(Kn, w, reread(Tn, k))
    Tf[k] = outer_plus(Kf, w, reread(Tf, k))
    return w


@lanewise
def add_factors(work, k, parent):
    """Add T in row k to that in the row of the parent."""
    accumulate(work.Tnb, parent, work.Tnb[k])
    accumulate(work.Tni, parent, work.Tni[k])
    accumulate(work.Tnf, parent, work.Tnf[k])
    accumulate(work.Tfb, parent, work.Tfb[k])
    accumulate(work.Tfi, parent, work.Tfi[k])
    accumulate(work.Tff, parent, work.Tff[k])


@lanewise
def fill_row(tree, work, n, packed, out, i, Kn, Kf, wb, wi, wf):
    """U of axis i and its ancestors, and its row w . m by their coordinates and speeds."""
    zero, k = 0.0 * wb[0], tree.first[i] + 1
    twice_wi, twice_wf = scale(2.0, wi), scale(2.0, wf)
    j = tree.parent[i]
    while j != WORLD:
        for a in upward(j, tree.top[j]):
            packed.M[k] = dot_plus(work.z[a], Kn, dot(work.s[a], Kf))
            by_q = dot_plus(work.zd[a], wb, dot_plus(work.zdd[a], wi, dot(work.sdd[a], wf)))
            by_qd = dot_plus(work.z[a], wb, dot_plus(work.zd[a], twice_wi, dot(work.sd[a], twice_wf)))
            out.x[a * n + i] = (by_q, by_qd, zero)
            k += 1
        j = tree.parent[tree.top[j]]


@lanewise
def fill_column(tree, work, n, out, i, Qn, Qf, Vn, Vf, Kn, Kf):
    """Rows of the ancestors by q_i, qd_i, tau_i: axis a takes x = X . W / D of a wrench W, leaves W - x U."""
    j = tree.parent[i]
    while j != WORLD:
        for a in upward(j, tree.top[j]):
            z, s, inv_D = work.z[a], work.s[a], work.inv_D[a]
            x = inv_D * dot_plus(z, Qn, dot(s, Qf))
            y = inv_D * dot_plus(z, Vn, dot(s, Vf))
            w = inv_D * dot_plus(z, Kn, dot(s, Kf))
            out.x[i * n + a] = (x, y, w)
            Un, Uf = work.Un[a], work.Uf[a]
            Qn, Qf = scale_plus(-x, Un, Qn), scale_plus(-x, Uf, Qf)
            Vn, Vf = scale_plus(-y, Un, Vn), scale_plus(-y, Uf, Vf)
            Kn, Kf = scale_plus(-w, Un, Kn), scale_plus(-w, Uf, Kf)
        j = tree.parent[tree.top[j]]


@lanewise
def substitute(tree, n, packed, out, c):
    """x <- U^-T x for the columns of axis c."""
    for i in outward(n):
        x, k = out.x[c * n + i], tree.first[i] + 1
        j = tree.parent[i]
        while j != WORLD:
            for a in upward(j, tree.top[j]):
                x = scale_plus(-packed.M[k], out.x[c * n + a], x)
                k += 1
            j = tree.parent[tree.top[j]]
        out.x[c * n + i] = x


@lanewise
def substitute_four(tree, n, packed, out, c):
    """The same for four axes from c on: the way to the root and every number of U serve all of them."""
    i0, i1, i2, i3 = c * n, (c + 1) * n, (c + 2) * n, (c + 3) * n
    for i in outward(n):
        a, b, x, y, k = out.x[i0 + i], out.x[i1 + i], out.x[i2 + i], out.x[i3 + i], tree.first[i] + 1
        j = tree.parent[i]
        while j != WORLD:
            for above in upward(j, tree.top[j]):
                U = -packed.M[k]
                a, b = scale_plus(U, out.x[i0 + above], a), scale_plus(U, out.x[i1 + above], b)
                x, y = scale_plus(U, out.x[i2 + above], x), scale_plus(U, out.x[i3 + above], y)
                k += 1
            j = tree.parent[tree.top[j]]
        out.x[i0 + i], out.x[i1 + i], out.x[i2 + i], out.x[i3 + i] = a, b, x, y


@lanewise
def irregular_factors(tree, work, qdd, pivot, torque):
    """How many pivots are not above rounding errors."""
    return irregular_pivots(tree, work, qdd)


ABA_GRADIENT = Kernel(
    aba_gradient,
    SLOTS,
    inputs=3,
    outputs=3,
    entries=ENTRIES,
    scratch=(FACTORS,),
    targets=((0, 0, True), (1, 1, True), (2, 2, True)),
    square=True,
    output_widths=(1, 1, 1),
    suspicion=irregular_factors,
)
