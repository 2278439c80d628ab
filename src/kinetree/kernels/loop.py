"""Closed loops in the world frame: rows of constraints, and the elimination that gives accelerations.

M qdd + h = tau + J^T lambda, J qdd + b = 0. Each row of a cut joint is the wrench (N, F at the world's
origin) that its unit multiplier puts on body B, and the opposite on A; J_kj = z_j . N_k + s_j . F_k for axes
that move B and not A, with the other sign for those that move A and not B. Rows are fixed in frame A
(`dynamics.loops.rows` has the same in NumPy).

Long chains are divided into segments, so that the cost grows with their length and not with its cube: what an
axis carries gets six unknowns of its own (turning about a point p and moving of p, counted from the motion at
qdd = 0), and six rows that tie these to the axes before. All axes beyond belong to the segment, and half of
the inertia of the body on the axis, without which M were singular; M has entries for pairs of the same
segment only. Directions in which the segment never moves are left out: their entries
go to a slot that is not read.

The matrix [[M, J^T], [J, 0]] is factored as L D L^T in an order found once for each mechanism
(`dynamics.loops.elimination`); its entries lie in slots, diagonal ones first, then the one that is not
read, then column by column. The unknowns are qdd (and motions of segments) and -lambda. Tables:
`kernels.loop_table`.

Where rows are redundant, but not the same ones in every pose (Bricard's and Bennett's loops, parallelograms
with several cranks), no choice of rows serves everywhere. All of them are kept then and are soft: e D is
taken from their diagonals, with e small and D their usual size, so that S + e D, S = J M^-1 J^T, is positive
definite and its factors are stable in any order. As many combinations v of rows as there are redundant ones
are found by inverse iteration, S v = s D v with the smallest s, and taken out of right sides and multipliers;
they do not depend on the directions that rows have in a cut joint, and change smoothly also beside poses with
closed loops, where they constrain what the others do not. What e has changed is mended by repeating

    [[M, J^T], [J, -e D]] dx = r,   r <- (0, -e D dy),   x <- x + dx

which converges by e / (e + s) in the direction of s (Carpentier, Budhiraja and Mansard 2021).
"""

from kinetree.kernels.axes import WORLD, inward, outward, passive_torque
from kinetree.kernels.coupled import composite_bodies
from kinetree.kernels.number import accumulate, called, lanewise, where_less
from kinetree.kernels.vectors import (
    ZERO3,
    ZERO6,
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

POINT, DIRECTION, ROD, TURN, MOVE = range(5)  # types of rows, as in `dynamics.loops.rows`, and of ties
DROPPED = 1e-11  # pivots of multipliers below this share of J M^-1 J^T's diagonal belong to redundant rows
UNIT_X, UNIT_Y, UNIT_Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
BASE = 6  # unknowns of a segment
REFINEMENTS = 2  # of a solution with soft rows
INVERSE_STEPS = 3  # of the iteration for redundant combinations


@lanewise
def clear(matrix, unknowns, n_slots, n_unknowns):
    """All slots to zero: elimination fills some that neither M nor J has."""
    for k in range(n_slots):
        matrix.A[k] = 0.0
    for k in range(n_unknowns):
        unknowns.x[k] = 0.0


@lanewise
def gather(tree, links, segments, work, bases, n, c):
    """Sum inertias and bias wrenches of all beyond each axis into its own, within one of ``c`` segments."""
    if c == 0:
        composite_bodies(tree, work, n)
    else:
        for i in outward(n):
            if not tree.massive[i]:
                work.h[i], work.I[i] = ZERO3, ZERO6
        for k in range(c):
            i = segments.axis[k]
            bases.p[k] = work.p[i]
            S = work.I[i]
            work.h[i] = scale(0.5, work.h[i])
            work.I[i] = 0.5 * S[0], 0.5 * S[1], 0.5 * S[2], 0.5 * S[3], 0.5 * S[4], 0.5 * S[5]
            bases.n[k], bases.f[k], bases.h[k], bases.I[k] = ZERO3, ZERO3, work.h[i], work.I[i]
        for i in inward(n):
            j, k = links.parent[i], links.segment[i]
            if j != WORLD:
                accumulate(work.n, j, work.n[i])
                accumulate(work.f, j, work.f[i])
                accumulate(work.h, j, work.h[i])
                accumulate(work.I, j, work.I[i])
            elif k != WORLD:
                accumulate(bases.n, k, work.n[i])
                accumulate(bases.f, k, work.f[i])
                accumulate(bases.h, k, work.h[i])
                accumulate(bases.I, k, work.I[i])


@lanewise
def mass_entries(tree, links, places, work, bases, matrix, n):
    """M into its slots, after `gather`: for each axis itself, its ancestors and the motion of its segment."""
    k = 0
    for i in outward(n):
        z, s, h = work.z[i], work.s[i], work.h[i]
        L = add(times(full(work.I[i]), z), cross(h, s))  # momentum of all beyond for unit speed of the axis
        P = cross_plus(z, h, scale(links.m[i], s))
        drive = tree.armature[i]
        j = i
        while j != WORLD:
            t = places.slot[k]
            M = dot_plus(work.z[j], L, dot_plus(work.s[j], P, drive))
            matrix.A[t] = matrix.A[t] + places.factor[k] * M
            drive = 0.0
            k += 1
            j = links.parent[j]
        if links.segment[i] != WORLD:
            base_entries(places, matrix, k, bases.p[links.segment[i]], L, P, 0)
            k += BASE


@lanewise
def base_entries(places, matrix, k, p, L, P, first):
    """Entries of a momentum with the turnings about p and the motions of p, from the ``first`` of the six."""
    T = sub(L, cross(p, P))
    base_entry(places, matrix, k, 0 - first, T[0])
    base_entry(places, matrix, k, 1 - first, T[1])
    base_entry(places, matrix, k, 2 - first, T[2])
    base_entry(places, matrix, k, 3 - first, P[0])
    base_entry(places, matrix, k, 4 - first, P[1])
    base_entry(places, matrix, k, 5 - first, P[2])


@lanewise
def base_entry(places, matrix, k, i, value):
    """Add an entry unless it lies above the diagonal."""
    if i >= 0:
        t = places.slot[k + i]
        matrix.A[t] = matrix.A[t] + places.factor[k + i] * value


@lanewise
def segment_entries(segments, places, bases, matrix, n_segments):
    """M of each segment's own motion: its inertia as a rigid body about p."""
    for c in range(n_segments):
        p, h, m, k = bases.p[c], bases.h[c], segments.m[c], segments.place[c]
        L, P = turned(bases.I[c], h, m, UNIT_X, cross(p, UNIT_X))
        base_entries(places, matrix, k, p, L, P, 0)
        L, P = turned(bases.I[c], h, m, UNIT_Y, cross(p, UNIT_Y))
        base_entries(places, matrix, k + 6, p, L, P, 1)
        L, P = turned(bases.I[c], h, m, UNIT_Z, cross(p, UNIT_Z))
        base_entries(places, matrix, k + 11, p, L, P, 2)
        base_entries(places, matrix, k + 15, p, cross(h, UNIT_X), scale(m, UNIT_X), 3)
        base_entries(places, matrix, k + 18, p, cross(h, UNIT_Y), scale(m, UNIT_Y), 4)
        base_entries(places, matrix, k + 20, p, cross(h, UNIT_Z), scale(m, UNIT_Z), 5)


@lanewise
def turned(S, h, m, z, s):
    """Momentum (angular, linear) of a body that turns about the axis (z, s)."""
    return add(times(full(S), z), cross(h, s)), cross_plus(z, h, scale(m, s))


@lanewise
def note_diagonal(pivots, matrix, unknowns, n):
    """Remember the diagonal of M before it is eliminated."""
    for k in range(n):
        if pivots.motion[k]:
            unknowns.size[k] = matrix.A[k]


@lanewise
def axis_forces(tree, links, segments, places, work, bases, unknowns, n, n_segments, q, qd, total):
    """The right side tau - h of every axis, and of every segment."""
    for i in outward(n):
        rest = total[i] - dot(work.z[i], work.n[i]) - dot(work.s[i], work.f[i])
        if tree.passive[i]:
            rest = rest - passive_torque(tree, i, q[i], qd[i])
        k = links.unknown[i]
        unknowns.x[k] = unknowns.x[k] + links.ratio[i] * rest
    for c in range(n_segments):
        k, f = segments.place[c], bases.f[c]
        T = sub(bases.n[c], cross(bases.p[c], f))
        unknowns.x[places.slot[k]] = -T[0]
        unknowns.x[places.slot[k + 6]] = -T[1]
        unknowns.x[places.slot[k + 11]] = -T[2]
        unknowns.x[places.slot[k + 15]] = -f[0]
        unknowns.x[places.slot[k + 18]] = -f[1]
        unknowns.x[places.slot[k + 20]] = -f[2]


@lanewise
def constrain(cuts, rows, entries, work, bases, matrix, unknowns, gaps, n_cuts):
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
            put_row(rows, entries, work, bases, matrix, unknowns, k, N, F)


@lanewise
def put_row(rows, entries, work, bases, matrix, unknowns, k, N, F):
    """A row of J into its slots, and the diagonal of J diag(M)^-1 J^T."""
    size = 0.0 * N[0]
    for m in range(rows.first[k], rows.first[k] + rows.size[k]):
        i, t = entries.axis[m], entries.slot[m]
        J = entries.sign[m] * dot_plus(work.z[i], N, dot(work.s[i], F))
        matrix.A[t] = matrix.A[t] + J
        size = size + J * J / matrix.A[entries.pivot[m]]
    for b in range(rows.bases[k]):
        m = rows.first[k] + rows.size[k] + BASE * b
        T = sub(N, cross(bases.p[entries.axis[m]], F))
        size = size + put_entry(entries, matrix, m, T[0]) + put_entry(entries, matrix, m + 1, T[1])
        size = size + put_entry(entries, matrix, m + 2, T[2]) + put_entry(entries, matrix, m + 3, F[0])
        size = size + put_entry(entries, matrix, m + 4, F[1]) + put_entry(entries, matrix, m + 5, F[2])
    unknowns.size[rows.unknown[k]] = size


@lanewise
def put_entry(entries, matrix, i, value):
    """An entry of J into its slot; its share of the diagonal of J diag(M)^-1 J^T."""
    J, t = entries.sign[i] * value, entries.slot[i]
    matrix.A[t] = matrix.A[t] + J
    return J * J / matrix.A[entries.pivot[i]]


@lanewise
def tie(segments, rows, entries, work, bases, matrix, unknowns, gaps, n_segments):
    """Rows that make each segment's own motion that of the axis which carries it."""
    for c in range(n_segments):
        for k in range(segments.first[c], segments.first[c] + segments.ties[c]):
            N, F = rows.e[k], ZERO3
            if rows.type[k] == MOVE:
                F = rows.e[k]
                N = cross(bases.p[c], F)
            gaps.gap[k], gaps.rate[k], gaps.bias[k] = 0.0, 0.0, 0.0
            put_row(rows, entries, work, bases, matrix, unknowns, k, N, F)


@lanewise
def closure(cuts, rows, work, gaps, n_cuts):
    """Gaps and rates of the rows that no multiplier belongs to."""
    for c in range(n_cuts):
        a, b = cuts.axis_a[c], cuts.axis_b[c]
        R_a, R_b, w_a, w_b = work.R[a], work.R[b], work.w[a], work.w[b]
        x_a, x_b = times_plus(R_a, cuts.pa[c], work.p[a]), times_plus(R_b, cuts.pb[c], work.p[b])
        v_a, v_b = cross_plus(w_a, x_a, work.v[a]), cross_plus(w_b, x_b, work.v[b])
        D, w = sub(x_b, x_a), sub(w_b, w_a)
        Dv = sub(sub(v_b, v_a), cross(w_a, D))
        for k in range(cuts.first_spare[c], cuts.first_spare[c] + cuts.spares[c]):
            e, f = times(R_a, times(cuts.Ra[c], rows.e[k])), times(R_b, times(cuts.Rb[c], rows.f[k]))
            gap, rate = dot(e, D), dot(e, Dv)
            if rows.type[k] == DIRECTION:
                gap, rate = dot(e, f) - rows.c[k], dot(cross(f, e), w)
            if rows.type[k] == ROD:
                gap = 0.5 * (dot(D, D) / rows.c[k] - rows.c[k])
                rate = dot(D, Dv) / rows.c[k]
            gaps.gap[k], gaps.rate[k] = gap, rate


@lanewise
def eliminate(pivots, targets, matrix, unknowns, n):
    """L D L^T in place, with the inverse of D on the diagonal; pivots of redundant rows are dropped.

    Those of soft rows are never: a small number is taken from them.
    """
    m, first = 0, n + 1
    for k in range(n):
        pivot = matrix.A[k]
        inverse = 1.0 / (pivot - pivots.soft[k])
        if pivots.multiplier[k] and not pivots.is_soft[k]:
            inverse = where_less(-pivot, DROPPED * unknowns.size[k], 0.0 * pivot, inverse)
        matrix.A[k] = inverse
        for i in range(first, first + pivots.below[k]):
            x = matrix.A[i] * inverse
            for j in range(first, i + 1):
                t = targets.slot[m]
                matrix.A[t] = matrix.A[t] - x * matrix.A[j]
                m += 1
        first += pivots.below[k]


@lanewise
def solve(loops, rows, pivots, below, matrix, unknowns, spares):
    """The solution in place of the right side, after `eliminate`."""
    if loops.n_spares[0] > 0:
        refine(loops, rows, pivots, below, matrix, unknowns, spares)
    else:
        substitute(pivots, below, matrix, unknowns, loops.n_unknowns[0])


@called
def refine(loops, rows, pivots, below, matrix, unknowns, spares):
    """The solution with soft rows in place of the right side, after `find_spares`."""
    n, count = loops.n_unknowns[0], loops.n_spares[0]
    for k in range(n):
        unknowns.total[k] = 0.0 * matrix.A[0]
    for step in range(REFINEMENTS + 1):
        if step > 0:
            for k in range(n):
                unknowns.x[k] = -pivots.soft[k] * unknowns.x[k]
        for j in range(count):
            take_out(loops, rows, pivots, unknowns, spares, j, 1)
        substitute(pivots, below, matrix, unknowns, n)
        for j in range(count):
            take_out(loops, rows, pivots, unknowns, spares, j, 0)
        for k in range(n):
            unknowns.total[k] = unknowns.total[k] + unknowns.x[k]
    for k in range(n):
        unknowns.x[k] = unknowns.total[k]


@called
def take_out(loops, rows, pivots, unknowns, spares, j, is_force):
    """Take a redundant combination of rows out of x: of multipliers, or of right sides (``is_force``)."""
    n_rows, part, size = loops.n_rows[0], 0.0 * unknowns.x[0], 0.0 * unknowns.x[0]
    for k in range(n_rows):
        c, v = rows.unknown[k], spares.v[j * n_rows + k]
        if pivots.is_soft[c]:
            weighed = pivots.soft[c] * v
            size = size + weighed * v
            part = part + (v if is_force else weighed) * unknowns.x[c]
    share = part / size
    for k in range(n_rows):
        c, v = rows.unknown[k], spares.v[j * n_rows + k]
        if pivots.is_soft[c]:
            unknowns.x[c] = unknowns.x[c] - share * (pivots.soft[c] * v if is_force else v)


@called
def find_spares(loops, rows, pivots, below, starts, matrix, unknowns, spares):
    """Redundant combinations of soft rows by inverse iteration, and their growth e / (e + s)."""
    n, n_rows, count = loops.n_unknowns[0], loops.n_rows[0], loops.n_spares[0]
    for j in range(count):
        for k in range(n_rows):
            spares.v[j * n_rows + k] = starts.v[j * n_rows + k] + 0.0 * matrix.A[0]
        for _ in range(INVERSE_STEPS):
            for k in range(n):
                unknowns.x[k] = 0.0 * matrix.A[0]
            size = 0.0 * matrix.A[0]
            for k in range(n_rows):
                c, v = rows.unknown[k], spares.v[j * n_rows + k]
                unknowns.x[c] = -pivots.soft[c] * v
                size = size + pivots.soft[c] * v * v
            substitute(pivots, below, matrix, unknowns, n)
            for i in range(j):
                take_out(loops, rows, pivots, unknowns, spares, i, 0)
            grown = 0.0 * matrix.A[0]
            for k in range(n_rows):
                c = rows.unknown[k]
                if pivots.is_soft[c]:
                    grown = grown + pivots.soft[c] * spares.v[j * n_rows + k] * unknowns.x[c]
                    spares.v[j * n_rows + k] = unknowns.x[c]
            spares.v[count * n_rows + j] = grown / size
    for k in range(n):
        unknowns.x[k] = 0.0 * matrix.A[0]


@lanewise
def substitute(pivots, below, matrix, unknowns, n_unknowns):
    """The solution with the factors of `eliminate` in place of the right side."""
    i, after = 0, n_unknowns + 1
    for k in range(n_unknowns):
        x = unknowns.x[k] * matrix.A[k]
        for _ in range(pivots.below[k]):
            j = below.unknown[i]
            unknowns.x[j] = unknowns.x[j] - matrix.A[after + i] * x
            i += 1
    for k in inward(n_unknowns):
        x = unknowns.x[k]
        for _ in range(pivots.below[k]):
            i -= 1
            x = x - matrix.A[after + i] * unknowns.x[below.unknown[i]]
        unknowns.x[k] = x * matrix.A[k]


@lanewise
def factor_loops(
    tree, work, n, loops, cuts, rows, entries, links, segments, places, pivots, targets, below,
    starts, owners, matrix, unknowns, gaps, bases, spares,
):  # fmt: skip
    """M and J at the present place and motion, factored; gaps, their rates and biases.

    After a first pass of `aba.bias_forces` whose motions lie in the rows of their axes.
    """
    n_unknowns, n_segments = loops.n_unknowns[0], loops.n_segments[0]
    clear(matrix, unknowns, loops.n_slots[0], n_unknowns)
    gather(tree, links, segments, work, bases, n, n_segments)
    mass_entries(tree, links, places, work, bases, matrix, n)
    segment_entries(segments, places, bases, matrix, n_segments)
    note_diagonal(pivots, matrix, unknowns, n_unknowns)
    constrain(cuts, rows, entries, work, bases, matrix, unknowns, gaps, loops.n_cuts[0])
    tie(segments, rows, entries, work, bases, matrix, unknowns, gaps, n_segments)
    eliminate(pivots, targets, matrix, unknowns, n_unknowns)
    if loops.n_spares[0] > 0:
        find_spares(loops, rows, pivots, below, starts, matrix, unknowns, spares)


@lanewise
def accelerate_loops(
    tree, work, n, q, qd, total, qdd, loops, cuts, rows, entries, links, segments, places, pivots, targets,
    below, starts, owners, matrix, unknowns, gaps, bases, spares,
):  # fmt: skip
    """Accelerations qdd of all axes under the torques `total`, after `factor_loops`."""
    axis_forces(
        tree, links, segments, places, work, bases, unknowns, n, loops.n_segments[0], q, qd, total
    )  # fmt: skip
    for k in range(loops.n_rows[0]):
        unknowns.x[rows.unknown[k]] = -gaps.bias[k]
    solve(loops, rows, pivots, below, matrix, unknowns, spares)
    for i in outward(n):
        qdd[i] = links.ratio[i] * unknowns.x[links.unknown[i]]


@lanewise
def close_loops(
    n, change, loops, cuts, rows, entries, links, segments, places, pivots, targets, below, starts, owners,
    matrix, unknowns, gaps, bases, spares,
):  # fmt: skip
    """Steps of all axes, of least kinetic energy, that make the gaps vanish: M dq + J^T mu = 0, J dq = -gap.

    After `factor_loops`.
    """
    for k in range(loops.n_unknowns[0]):
        unknowns.x[k] = 0.0
    for k in range(loops.n_rows[0]):
        unknowns.x[rows.unknown[k]] = -gaps.gap[k]
    solve(loops, rows, pivots, below, matrix, unknowns, spares)
    for i in outward(n):
        change[i] = links.ratio[i] * unknowns.x[links.unknown[i]]


@lanewise
def multipliers_of(rows, matrix, unknowns, multiplier, pivot):
    """Multipliers and pivots (0: dropped) of rows of loops in use."""
    for k in range(len(multiplier)):
        c = rows.unknown[k]
        multiplier[k] = -unknowns.x[c]
        inverse = matrix.A[c]
        pivot[k] = where_less(inverse, 0.0, -1.0 / inverse, 0.0 * inverse)


@lanewise
def larger(a, b):
    """The larger of two numbers; b where a is none."""
    return where_less(b, a, a, b)


@lanewise
def size_of(x):
    """|x|."""
    return where_less(x, 0.0, -x, x)


@called
def share_of_group(loops, rows, pivots, owners, matrix, spares, group):
    """The product of the pivots of a group of soft rows beside their usual sizes, without redundant ones.

    It is the product of the s of all combinations that are not redundant, which does not depend on the
    directions that rows have in a cut joint.
    """
    share, n_rows = 0.0 * matrix.A[0] + 1.0, loops.n_rows[0]
    for k in range(n_rows):
        if rows.group[k] == group:
            c = rows.unknown[k]
            share = share * (-1.0 / (matrix.A[c] * pivots.usual[c]))
    for j in range(loops.n_spares[0]):
        if owners.group[j] == group:
            share = share * spares.v[loops.n_spares[0] * n_rows + j]
    return share


@lanewise
def judge(loops, rows, pivots, owners, matrix, unknowns, gaps, spares, verdict):
    """How far an answer can be trusted; the smaller the numbers, the better.

    Largest gap and rate of all rows; minus the smallest cosine between frames that face each other; minus
    the smallest pivot of a row, or product of those of a group, beside its usual size; how many were dropped;
    minus the smallest pivot of a motion beside its entry of M.
    """
    n, k = loops.n_unknowns[0], loops.n_all_rows[0]
    zero = 0.0 * matrix.A[0]
    gap, rate, facing, share, dropped, least = zero, zero, zero - 1.0, zero - 1.0, zero, zero - 1.0
    for i in range(k):
        if rows.facing[i]:
            facing = larger(-gaps.gap[i], facing)
        else:
            gap, rate = larger(size_of(gaps.gap[i]), gap), larger(size_of(gaps.rate[i]), rate)
    for i in range(n):
        inverse = matrix.A[i]
        if pivots.motion[i]:
            least = larger(-1.0 / (inverse * unknowns.size[i]), least)
        if pivots.multiplier[i] and not pivots.is_soft[i]:
            found = 1.0 / (inverse * pivots.usual[i])
            share = where_less(inverse, 0.0, larger(found, share), share)
            dropped = dropped + where_less(inverse, 0.0, zero, 1.0)
    for group in range(loops.n_groups[0]):
        share = larger(-share_of_group(loops, rows, pivots, owners, matrix, spares, group), share)
    verdict[0], verdict[1], verdict[2] = gap, rate, facing
    verdict[3], verdict[4], verdict[5] = share, dropped, least
