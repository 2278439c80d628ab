"""Closed loops in the world frame: rows of constraints, and the elimination that gives accelerations.

M qdd + h = tau + J^T lambda, J qdd + b = 0. Each row of a cut joint is the wrench (N, F at the world's
origin) that its unit multiplier puts on body B, and the opposite on A; J_kj = z_j . N_k + s_j . F_k for axes
that move B and not A, with the other sign for those that move A and not B. Rows are fixed in frame A
(`analysis.loops.rows` has the same in NumPy).

The matrix [[M, J^T], [J, 0]] is factored as L D L^T in an order found once for each mechanism
(`analysis.loops.elimination`); its entries lie in slots, diagonal ones first, and the updates that
elimination makes are a list of triples of slots. The unknowns are qdd and -lambda.
"""

from kinetree.kernels.axes import WORLD, inward, outward
from kinetree.kernels.layout import Layout
from kinetree.kernels.number import lanewise, where_less
from kinetree.kernels.vectors import (
    add,
    cross,
    cross_plus,
    dot,
    dot_plus,
    full,
    scale,
    sub,
    times,
    times_plus,
)

POINT, DIRECTION, ROD = range(3)  # types of rows, as in `analysis.loops.rows`
DROPPED = 1e-11  # pivots of multipliers below this share of J M^-1 J^T's diagonal belong to redundant rows

CUT = Layout(
    world=False,
    constant=True,
    axis_a=int,
    axis_b=int,
    first=int,  # of its rows
    size=int,  # how many of them
    Ra=9,  # frame A in the frame of its axis
    pa=3,
    Rb=9,
    pb=3,
)
ROW = Layout(
    world=False,
    constant=True,
    type=int,
    first=int,  # of its entries in J
    size=int,  # how many of them
    unknown=int,  # the place of its multiplier in the order of elimination
    e=3,  # in frame A
    f=3,  # in frame B
    c=1,  # cosine kept, or length of the rod
)
ENTRY = Layout(world=False, constant=True, axis=int, slot=int, pivot=int, sign=1)  # pivot: slot of M_ii
PLACE = Layout(
    world=False, constant=True, slot=int
)  # of M_ij, for each axis i all its ancestors j, itself first
PIVOT = Layout(
    world=False,
    constant=True,
    first_update=int,
    updates=int,
    first_below=int,
    below=int,
    multiplier=int,  # 1: of a row, 0: of an axis
    usual=1,  # its size in ordinary poses; much smaller ones tell that a singular position is near
)
UPDATE = Layout(world=False, constant=True, target=int, left=int, right=int)
BELOW = Layout(world=False, constant=True, unknown=int, slot=int)
SLOT = Layout(world=False, A=1)
UNKNOWN = Layout(world=False, x=1, size=1)
GAP = Layout(world=False, gap=1, rate=1, bias=1)


@lanewise
def clear(matrix, n_slots):
    """All slots to zero: elimination fills some that neither M nor J has."""
    for k in range(n_slots):
        matrix.A[k] = 0.0


@lanewise
def mass_entries(tree, places, work, matrix, n):
    """M into its slots, after `coupled.composite_bodies`."""
    k = 0
    for i in outward(n):
        z, s, h = work.z[i], work.s[i], work.h[i]
        L = add(times(full(work.I[i]), z), cross(h, s))  # momentum of all beyond for unit speed of the axis
        P = cross_plus(z, h, scale(tree.subtree_m[i], s))
        drive = tree.armature[i]
        j = i
        while j != WORLD:
            matrix.A[places.slot[k]] = dot_plus(work.z[j], L, dot_plus(work.s[j], P, drive))
            drive = 0.0
            k += 1
            j = tree.parent[j]


@lanewise
def axis_forces(tree, places, work, unknowns, n, total):
    """The right side tau - h of every axis."""
    k = 0
    for i in outward(n):
        rest = total[i] - dot(work.z[i], work.n[i]) - dot(work.s[i], work.f[i])
        unknowns.x[places.slot[k]] = rest
        j = i
        while j != WORLD:
            k += 1
            j = tree.parent[j]


@lanewise
def constrain(cuts, rows, entries, work, matrix, unknowns, gaps, n_cuts):
    """Gaps, their rates and their accelerations at qdd = 0, and J into its slots after `mass_entries`."""
    for c in range(n_cuts):
        a, b = cuts.axis_a[c], cuts.axis_b[c]
        R_a, R_b, w_a, w_b = work.R[a], work.R[b], work.w[a], work.w[b]
        x_a, x_b = times_plus(R_a, cuts.pa[c], work.p[a]), times_plus(R_b, cuts.pb[c], work.p[b])
        v_a, v_b = cross_plus(w_a, x_a, work.v[a]), cross_plus(w_b, x_b, work.v[b])
        a_a = cross_plus(w_a, v_a, cross_plus(work.wd[a], x_a, work.a[a]))
        a_b = cross_plus(w_b, v_b, cross_plus(work.wd[b], x_b, work.a[b]))
        D, w = sub(x_b, x_a), sub(w_b, w_a)
        Dv = sub(sub(v_b, v_a), cross(w_a, D))
        Da = sub(sub(a_b, a_a), cross(work.wd[a], D))
        Da = sub(sub(Da, cross(w_a, cross(w_a, D))), scale(2.0, cross(w_a, Dv)))
        wd = sub(sub(work.wd[b], work.wd[a]), cross(w_a, w_b))
        for k in range(cuts.first[c], cuts.first[c] + cuts.size[c]):
            e, f = times(R_a, times(cuts.Ra[c], rows.e[k])), times(R_b, times(cuts.Rb[c], rows.f[k]))
            F, N = e, cross(f, e)
            gap, rate = dot(e, D), dot(e, Dv)
            bias = dot(e, Da)
            if rows.type[k] == DIRECTION:
                gap, rate = dot(e, f) - rows.c[k], dot(N, w)
                bias = dot(N, wd) + dot(e, cross(w, cross(w, f)))
                F = scale(0.0, e)
            if rows.type[k] == POINT:
                N = cross(x_b, F)
            if rows.type[k] == ROD:
                F = scale(1.0 / rows.c[k], D)
                N = cross(x_b, F)
                gap, rate = 0.5 * (dot(F, D) - rows.c[k]), dot(F, Dv)
                bias = dot(F, Da) + dot(Dv, Dv) / rows.c[k]
            gaps.gap[k], gaps.rate[k], gaps.bias[k] = gap, rate, bias
            size = 0.0 * gap
            for m in range(rows.first[k], rows.first[k] + rows.size[k]):
                i = entries.axis[m]
                J = entries.sign[m] * dot_plus(work.z[i], N, dot(work.s[i], F))
                matrix.A[entries.slot[m]] = J
                size = size + J * J / matrix.A[entries.pivot[m]]
            unknowns.size[rows.unknown[k]] = size


@lanewise
def eliminate(pivots, updates, matrix, unknowns, n_unknowns):
    """L D L^T in place, with the inverse of D on the diagonal; pivots of redundant rows are dropped."""
    for k in range(n_unknowns):
        pivot = matrix.A[k]
        inverse = 1.0 / pivot
        if pivots.multiplier[k]:
            inverse = where_less(-pivot, DROPPED * unknowns.size[k], 0.0 * pivot, inverse)
        matrix.A[k] = inverse
        for m in range(pivots.first_update[k], pivots.first_update[k] + pivots.updates[k]):
            t = updates.target[m]
            left, right = matrix.A[updates.left[m]], matrix.A[updates.right[m]]
            matrix.A[t] = matrix.A[t] - left * right * inverse


@lanewise
def solve(pivots, below, matrix, unknowns, n_unknowns):
    """The solution in place of the right side, after `eliminate`."""
    for k in range(n_unknowns):
        x = unknowns.x[k] * matrix.A[k]
        for m in range(pivots.first_below[k], pivots.first_below[k] + pivots.below[k]):
            i = below.unknown[m]
            unknowns.x[i] = unknowns.x[i] - matrix.A[below.slot[m]] * x
    for k in inward(n_unknowns):
        x = unknowns.x[k]
        for m in range(pivots.first_below[k], pivots.first_below[k] + pivots.below[k]):
            x = x - matrix.A[below.slot[m]] * unknowns.x[below.unknown[m]]
        unknowns.x[k] = x * matrix.A[k]
