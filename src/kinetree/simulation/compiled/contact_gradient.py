"""How rates after a step depend on what they follow from: the laws of contact on the active set.

With z = D^1/2 U^T v as in `contact_solve`, a change x of z without impulses becomes x + sum b eta, where
every law that is active is a row a . x + c eta = g. A contact that sticks has three with b = a = Y. One that
slides has a = Y_n with b = Y_n + Y_t lam_t / lam_n, since friction is mu lam_n against the motion, and across
the motion a row that gives way: the friction turns with the velocity, c = |u_t| / (mu lam_n). Rows are
eliminated one after the other; those that follow from the ones before, as of a foot that stands on many
points, are left out.
"""

from kinetree.engine.door import inline, part
from kinetree.engine.lanes import fields
from kinetree.kernels.axes import WORLD
from kinetree.kernels.ground import POINT, times_matrix
from kinetree.kernels.model_table import TREE
from kinetree.kernels.number import LANES, accumulate, any_positive, magnitude, square_root, where_less
from kinetree.kernels.vectors import (
    ZERO3,
    ZERO9,
    add,
    cross,
    cross_plus,
    dot,
    outer_plus,
    product,
    scale,
    scale_plus,
    skew_times,
    sub,
    sum9,
    times,
    times_plus,
)
from kinetree.simulation.compiled.contact_solve import row_speed, speed_of
from kinetree.simulation.compiled.coulomb import RUBS, chosen, larger, smaller
from kinetree.simulation.compiled.step_gradient import SLOPES
from kinetree.simulation.compiled.step_memory import (
    BOUND_ROW,
    CANDIDATE,
    CONTACT_ROW,
    JOINT_ROW,
    KEPT,
    LINK,
    LIST,
    RUB,
    STOP,
    TRIPLE,
)
from kinetree.simulation.compiled.stepping import ALONE, JOINT, MOVING, NUMBERS

DEPENDENT = 1e-10  # share of a mobility below which a row follows from those before it
AGREES = 1e-6  # of what a law asks for: less is an error of rounding
TINY = 1e-300


@inline
def goals(memory, head):
    """Right-hand sides of all rows, (row, axis): by coordinates and by rates."""
    return (
        fields(memory, NUMBERS, LANES, head.goal_q[0]),
        fields(memory, NUMBERS, LANES, head.goal_v[0]),
    )


@inline
def skew_of(a):
    """The matrix of a x."""
    none = 0.0 * a[0]
    return none, -a[2], a[1], a[2], none, -a[0], -a[1], a[0], none


@inline
def rolling(work, points, k, a, n, place):
    """Center c of a contact point, and M: its place moves by s + z x c + M z if its axis does by (z, s).

    That of an ellipsoid with the matrix S is -S n / r from its center, r^2 = n . S n.
    """
    if points.round[k] == 0:
        none = 0.0 * n[0]
        return place, (none, none, none, none, none, none, none, none, none)
    R = work.R[a]
    S = times_matrix(R, points.S[k])
    Sn = times(S, n)
    r = square_root(dot(n, Sn))
    center = scale_plus(1.0 / r, Sn, place)
    k = 1.0 / r
    M = sum9(skew_of(Sn), product(S, skew_of(n)), -1.0)
    return center, outer_plus(scale(k * k * k, Sn), cross(Sn, n), scale9(k, M))


@inline
def scale9(k, A):
    """k A"""
    return scale(k, A[0:3]) + scale(k, A[3:6]) + scale(k, A[6:9])


@inline
def clear_loads(tree, more):
    """No impulses on any axis."""
    for i in range(tree.parent[WORLD]):
        more.N[i], more.F[i], more.T[i] = ZERO3, ZERO3, ZERO9


@part
def lay_impulses(memory, head, count):
    """Impulses of the ground on the axes that feel them, and how their moments change as these move."""
    work, more = fields(memory, MOVING, LANES, head.work[0]), fields(memory, SLOPES, LANES, head.slopes[0])
    points = fields(memory, POINT, 1, head.points[0])
    contacts, active = (
        fields(memory, CONTACT_ROW, LANES, head.contacts[0]),
        fields(memory, LIST, 1, head.active[0]),
    )
    for m in range(count):
        k = active.k[m]
        if k >= head.n_points[0]:
            continue
        a, lam, p = points.axis[k], contacts.lam[k], contacts.place[k]
        F = add(scale(lam[0], contacts.n[k]), add(scale(lam[1], contacts.t[k]), scale(lam[2], contacts.u[k])))
        c, M = rolling(work, points, k, a, contacts.n[k], p)
        V = outer_plus(c, F, scale9(-1.0, skew_times(F, M)))
        t = dot(c, F)
        T = V[0] - t, V[1], V[2], V[3], V[4] - t, V[5], V[6], V[7], V[8] - t
        accumulate(more.N, a, cross(p, F))
        accumulate(more.F, a, F)
        accumulate(more.T, a, T)


@inline
def before(tree, joints, i):
    """The axis that carries the joint of axis i."""
    return tree.parent[i] if joints.role[i] == ALONE else tree.parent[i - (joints.role[i] - 1)]


@inline
def place_slopes(work, i, motion, fixed, shape):
    """How the velocity of a contact's place, at rates of its axis, changes as axis i moves.

    motion: of the axis with the contact (w, v); fixed: of the axis that carries the joint of axis i; shape:
    center and M of `rolling`, and the place.
    """
    z, s, c, M, place = work.z[i], work.s[i], shape[0], shape[1], shape[2]
    dw, du = sub(motion[0], fixed[0]), sub(motion[1], fixed[1])
    dv = cross_plus(z, du, cross(s, dw))
    dp = times_plus(M, z, cross_plus(z, c, s))
    return cross_plus(motion[0], dp, cross_plus(cross(z, dw), place, dv))


@inline
def target_slopes(head, contacts, k):
    """Slopes of a contact's target by gap and by speed; how far it is (m/s) from a bend, and from a jump."""
    gap, speed, dt = contacts.gap[k], contacts.speed[k], head.dt[0]
    none = 0.0 * gap
    free = -head.slope[0] / dt * gap
    off = magnitude(free - head.push[0])
    by_gap = where_less(free, head.push[0], none - head.slope[0] / dt, none)
    by_speed, jump = none, none + 1e30
    if head.restitution[0] > 0.0:
        target = smaller(free, head.push[0])
        braked = where_less(0.0, gap, where_less(-gap / head.half[0], target, 1.0, 0.0), none)
        by_gap = chosen(braked, -1.0 / head.half[0], by_gap)
        fast = where_less(speed, -head.bounce[0], 1.0, none)
        by_gap, by_speed = chosen(fast, none, by_gap), chosen(fast, -head.restitution[0], none)
        off = chosen(larger(fast, braked), 1e30, off)
        strikes = magnitude(gap + (dt - head.half[0]) * speed) / dt
        jump = smaller(magnitude(speed + head.bounce[0]), chosen(fast, strikes, magnitude(gap) / dt))
    return by_gap, by_speed, off, jump


@inline
def law_state(contacts, k, u):
    """Whether a contact is closed, and slides, in lanes, and how far (m/s) it is from another state."""
    lam, size, mu = contacts.lam[k], contacts.size[k], contacts.mu[k]
    n = lam[0] * size - (u[0] - contacts.target[k])
    x, y = lam[1] * size - u[1], lam[2] * size - u[2]
    tangent, limit = square_root(x * x + y * y), mu * lam[0] * size
    closed = where_less(0.0, n, 1.0, 0.0)
    slides = where_less(mu, RUBS, closed, where_less(limit, tangent, closed, 0.0))
    near = magnitude(n)
    rim = where_less(mu, RUBS, 1e30, magnitude(tangent - limit))
    return closed, slides, smaller(near, where_less(0.5, closed, rim, 1e30))


@inline
def probed(memory, head, row, c):
    """The right-hand side of a row in a direction of all coordinates, as good as any other; and its scale."""
    n, goals = head.n[0], fields(memory, NUMBERS, LANES, head.goal_q[0])
    total, scale = 0.0 * c, 0.0 * c
    for i in range(n):
        g = (1.0 + 0.37 * ((5 * i) % 7)) * goals.x[row * n + i]
        total, scale = total + g, scale + magnitude(g)
    return total, scale


@inline
def put_row(memory, head, found, place, active, size, compliance):
    """A row whose test vector is in ``test`` and whose force is in ``x``: kept if it says something new.

    Answers how many rows there are, and 1 in lanes where it follows from those before, but contradicts them:
    the state of contacts depends on the direction there.
    """
    n = head.n[0]
    kept, test = fields(memory, KEPT, 1, head.kept[0]), fields(memory, NUMBERS, LANES, head.test[0])
    links, x = fields(memory, LINK, 1, head.links[0]), fields(memory, NUMBERS, LANES, head.x[0])
    force, inverse = (
        fields(memory, NUMBERS, LANES, head.force[0]),
        fields(memory, NUMBERS, LANES, head.inverse[0]),
    )
    firm, probe = fields(memory, NUMBERS, LANES, head.firm[0]), fields(memory, NUMBERS, LANES, head.b[0])
    touched, counts = fields(memory, LIST, 1, head.touched[0]), fields(memory, LIST, 1, head.counts[0])
    chain, length, first = place
    kept.start[found], kept.length[found], kept.first[found] = chain, length, first
    for r in range(found):
        along(memory, head, r, 0.0 * size, 1.0)
    for r in range(found):  # once more, against rounding errors, but for those that give way
        along(memory, head, r, 0.0 * size, firm.x[r])
    pivot, off = compliance, 0.0 * size
    for e in range(length):
        i = links.axis[chain + e]
        pivot, off = pivot + test.x[first + e] * x.x[i], off - test.x[first + e] * probe.x[i]
    good = where_less(DEPENDENT * size, magnitude(pivot), active, 0.0)
    g, scale = probed(memory, head, found, size)
    off = off + g
    contradicts = where_less(AGREES * scale, magnitude(off), active - good, 0.0)
    if not any_positive(good):
        return found, contradicts
    firm.x[found] = where_less(0.0, compliance, 0.0, 1.0)
    inverse.x[found] = where_less(0.5, good, 1.0 / where_less(0.5, good, pivot, 1.0), 0.0)
    for m in range(counts.k[0]):
        i = touched.k[m]
        force.x[found * n + i] = x.x[i]
        probe.x[i] = probe.x[i] + x.x[i] * (off * inverse.x[found])
    return found + 1, contradicts


@inline
def along(memory, head, r, g, share):
    """Make x obey row r, whose right-hand side is g, to that share."""
    n = head.n[0]
    kept, test = fields(memory, KEPT, 1, head.kept[0]), fields(memory, NUMBERS, LANES, head.test[0])
    links, x = fields(memory, LINK, 1, head.links[0]), fields(memory, NUMBERS, LANES, head.x[0])
    force, inverse = (
        fields(memory, NUMBERS, LANES, head.force[0]),
        fields(memory, NUMBERS, LANES, head.inverse[0]),
    )
    touched, counts = fields(memory, LIST, 1, head.touched[0]), fields(memory, LIST, 1, head.counts[0])
    chain, first = kept.start[r], kept.first[r]
    for e in range(kept.length[r]):
        g = g - test.x[first + e] * x.x[links.axis[chain + e]]
    eta = g * (share * inverse.x[r])
    for m in range(counts.k[0]):
        i = touched.k[m]
        x.x[i] = x.x[i] + eta * force.x[r * n + i]


@inline
def along_three(memory, head, r, c):
    """Make the columns of axis c in ``column`` obey row r, with its right-hand sides by q, v and torques."""
    n = head.n[0]
    kept, test = fields(memory, KEPT, 1, head.kept[0]), fields(memory, NUMBERS, LANES, head.test[0])
    links, x = fields(memory, LINK, 1, head.links[0]), fields(memory, TRIPLE, LANES, head.column[0])
    force, inverse = (
        fields(memory, NUMBERS, LANES, head.force[0]),
        fields(memory, NUMBERS, LANES, head.inverse[0]),
    )
    touched, counts = fields(memory, LIST, 1, head.touched[0]), fields(memory, LIST, 1, head.counts[0])
    by_q, by_v = goals(memory, head)
    chain, first, share = kept.start[r], kept.first[r], inverse.x[r]
    p, q, t = by_q.x[r * n + c], by_v.x[r * n + c], 0.0 * share
    for e in range(kept.length[r]):
        w, y = test.x[first + e], x.y[links.axis[chain + e]]
        p, q, t = p - w * y[0], q - w * y[1], t - w * y[2]
    p, q, t = p * share, q * share, t * share
    for m in range(counts.k[0]):
        i = touched.k[m]
        f, y = force.x[r * n + i], x.y[i]
        x.y[i] = y[0] + f * p, y[1] + f * q, y[2] + f * t


@inline
def back_along(memory, head, r, to_q, to_v):
    """The transpose of `along`: from slopes by x after it to those before it and by its goal's origins."""
    n = head.n[0]
    kept, test = fields(memory, KEPT, 1, head.kept[0]), fields(memory, NUMBERS, LANES, head.test[0])
    links, x = fields(memory, LINK, 1, head.links[0]), fields(memory, NUMBERS, LANES, head.x[0])
    force, inverse = (
        fields(memory, NUMBERS, LANES, head.force[0]),
        fields(memory, NUMBERS, LANES, head.inverse[0]),
    )
    touched, counts = fields(memory, LIST, 1, head.touched[0]), fields(memory, LIST, 1, head.counts[0])
    by_q, by_v = goals(memory, head)
    chain, first = kept.start[r], kept.first[r]
    total = 0.0 * x.x[0]
    for m in range(counts.k[0]):
        i = touched.k[m]
        total = total + force.x[r * n + i] * x.x[i]
    total = total * inverse.x[r]
    for e in range(kept.length[r]):
        i = links.axis[chain + e]
        x.x[i] = x.x[i] - test.x[first + e] * total
        to_q.x[i] = to_q.x[i] + by_q.x[r * n + i] * total
        to_v.x[i] = to_v.x[i] + by_v.x[r * n + i] * total


@inline
def clear_row(memory, head, row):
    """Nothing on the right-hand sides of a row, and no force."""
    n = head.n[0]
    by_q, by_v = (
        fields(memory, NUMBERS, LANES, head.goal_q[0]),
        fields(memory, NUMBERS, LANES, head.goal_v[0]),
    )
    x, z = fields(memory, NUMBERS, LANES, head.x[0]), fields(memory, NUMBERS, LANES, head.z[0])
    none = 0.0 * z.x[0]
    for i in range(n):
        by_q.x[row * n + i], by_v.x[row * n + i], x.x[i] = none, none, none


@part
def contact_laws(memory, head, m, found, margin):
    """The rows of one contact; answers how many rows there are now, and the margin."""
    k, n = fields(memory, LIST, 1, head.active[0]).k[m], head.n[0]
    tree, joints = fields(memory, TREE, 1, head.tree[0]), fields(memory, JOINT, 1, head.joints[0])
    work, more = fields(memory, MOVING, LANES, head.work[0]), fields(memory, SLOPES, LANES, head.slopes[0])
    points, links = fields(memory, POINT, 1, head.points[0]), fields(memory, LINK, 1, head.links[0])
    contacts, candidates = (
        fields(memory, CONTACT_ROW, LANES, head.contacts[0]),
        fields(memory, CANDIDATE, 1, head.candidates[0]),
    )
    y, z = fields(memory, TRIPLE, LANES, head.y[0]), fields(memory, NUMBERS, LANES, head.z[0])
    by_q, by_v = (
        fields(memory, NUMBERS, LANES, head.goal_q[0]),
        fields(memory, NUMBERS, LANES, head.goal_v[0]),
    )
    x, test = fields(memory, NUMBERS, LANES, head.x[0]), fields(memory, NUMBERS, LANES, head.test[0])
    chain, first, length = candidates.start[k], candidates.first[k], candidates.length[k]
    u = speed_of(links, chain, y, first, length, z)
    closed, slides, near = law_state(contacts, k, u)
    here, lam, size, mu = 3 * first, contacts.lam[k], contacts.size[k], contacts.mu[k]
    fixed = where_less(contacts.target[k], -1e29, 1.0, 0.0)
    by_gap, by_speed, off, jump = target_slopes(head, contacts, k)
    margin = smaller(margin, smaller(jump, where_less(0.5, fixed, 1e30, near)))
    if not any_positive(closed):
        return found, margin
    margin = smaller(margin, where_less(0.5, closed, off, 1e30))
    drag = square_root(lam[1] * lam[1] + lam[2] * lam[2])
    rubs = where_less(TINY, drag, slides, 0.0)
    per = 1.0 / where_less(0.5, rubs, drag, 1.0)
    push = where_less(0.5, rubs, 1.0 / where_less(0.5, closed, lam[0] + TINY, 1.0), 0.0)
    ct, cu = chosen(rubs, -lam[2] * per, 1.0), chosen(rubs, lam[1] * per, 0.0)  # across the motion
    sticks = where_less(0.5, slides, 0.0, closed)
    slip = square_root(u[1] * u[1] + u[2] * u[2])
    for d in range(3):
        clear_row(memory, head, found + d)
    a = points.axis[k]
    n_, t_, u_, place = contacts.n[k], contacts.t[k], contacts.u[k], contacts.place[k]
    c, M = rolling(work, points, k, a, n_, place)
    shape = (c, M, place)
    for e in range(length):
        i = links.axis[chain + e]
        w = cross_plus(work.z[i], place, work.s[i])
        j = before(tree, joints, i)
        change = place_slopes(work, i, (more.w[a], more.v[a]), (more.w[j], more.v[j]), shape)
        old = 0.0 * size
        if head.restitution[0] > 0.0:
            before_it = place_slopes(work, i, (more.wo[a], more.vo[a]), (more.wo[j], more.vo[j]), shape)
            old = dot(before_it, n_)
        J, Jt, Ju = dot(w, n_), dot(w, t_), dot(w, u_)
        Dt, Du = dot(change, t_), dot(change, u_)
        by_q.x[found * n + i] = by_gap * J + by_speed * old - dot(change, n_)
        by_v.x[found * n + i] = by_speed * J - J
        by_q.x[found * n + n + i] = -(ct * Dt + cu * Du)
        by_v.x[found * n + n + i] = -(ct * Jt + cu * Ju)
        by_q.x[found * n + 2 * n + i] = -Du
        by_v.x[found * n + 2 * n + i] = -Ju
        w = y.y[first + e]
        test.x[here + e] = w[0]
        x.x[i] = w[0] + push * (lam[1] * w[1] + lam[2] * w[2])
    none = 0.0 * size
    rows, worse = put_row(memory, head, found, (chain, length, here), closed, size, none)
    bad = worse
    soft = where_less(0.5, rubs, slip / where_less(0.5, rubs, mu * lam[0], 1.0), 0.0)
    here = here + length
    held = larger(sticks, rubs)
    rows, worse = second_law(memory, head, (rows, found + 1), (k, here), held, (ct, cu), soft)
    bad = larger(bad, worse)
    here = here + length
    rows, worse = second_law(memory, head, (rows, found + 2), (k, here), sticks, (none, none + 1.0), none)
    return rows, where_less(0.5, larger(bad, worse), 0.0, margin)


@part
def second_law(memory, head, rows, place, active, direction, compliance):
    """A row of a contact along a direction of its surface; answers what `put_row` does.

    rows: how many, and where the right-hand sides of this one are.
    """
    links, candidates = (
        fields(memory, LINK, 1, head.links[0]),
        fields(memory, CANDIDATE, 1, head.candidates[0]),
    )
    y, n = fields(memory, TRIPLE, LANES, head.y[0]), head.n[0]
    x, test = fields(memory, NUMBERS, LANES, head.x[0]), fields(memory, NUMBERS, LANES, head.test[0])
    by_q, by_v = (
        fields(memory, NUMBERS, LANES, head.goal_q[0]),
        fields(memory, NUMBERS, LANES, head.goal_v[0]),
    )
    k, here = place
    found, source = rows
    if not any_positive(active):
        return found, 0.0 * active
    chain, first, length = candidates.start[k], candidates.first[k], candidates.length[k]
    size = fields(memory, CONTACT_ROW, LANES, head.contacts[0]).size[k]
    for i in range(n):
        x.x[i] = 0.0 * size
        by_q.x[found * n + i], by_v.x[found * n + i] = by_q.x[source * n + i], by_v.x[source * n + i]
    for e in range(length):
        w = y.y[first + e]
        s = direction[0] * w[1] + direction[1] * w[2]
        test.x[here + e] = s
        x.x[links.axis[chain + e]] = s
    return put_row(memory, head, found, (chain, length, here), active, size, compliance)


@part
def joint_laws(memory, head, n_rows, found, margin):
    """The rows of joints; answers how many rows there are now, and the margin."""
    links, table = fields(memory, LINK, 1, head.links[0]), fields(memory, JOINT_ROW, 1, head.joint_rows[0])
    rows, y = fields(memory, BOUND_ROW, LANES, head.rows[0]), fields(memory, NUMBERS, LANES, head.row_y[0])
    z, near = fields(memory, NUMBERS, LANES, head.z[0]), fields(memory, LIST, 1, head.near[0])
    by_q, by_v = (
        fields(memory, NUMBERS, LANES, head.goal_q[0]),
        fields(memory, NUMBERS, LANES, head.goal_v[0]),
    )
    x, test = fields(memory, NUMBERS, LANES, head.x[0]), fields(memory, NUMBERS, LANES, head.test[0])
    q, joints = fields(memory, NUMBERS, LANES, head.q[0]), fields(memory, JOINT, 1, head.joints[0])
    n, here = head.n[0], 3 * head.n_triples[0]
    for m in range(n_rows):
        r = near.k[m]
        chain, first, size = table.start[r], table.first[r], table.length[r]
        u, lam, g, target = row_speed(links, chain, y, first, size, z), rows.lam[r], rows.g[r], rows.target[r]
        free = lam * g - (u - target)
        low, high = rows.low[r] * g, rows.high[r] * g
        active = where_less(low, free, where_less(free, high, 1.0, 0.0), 0.0)
        margin = smaller(margin, smaller(magnitude(free - low), magnitude(high - free)))
        if not any_positive(active):
            continue
        slope = 0.0 * g
        if table.kind[r] == STOP:  # its target is -slope / dt of the gap, or a bound
            axis = q.x[joints.at[table.axis[r]]]
            gap = smaller(axis - table.low[r], table.high[r] - axis)
            slope = where_less(target, head.turn_push[0], -head.slope[0] / head.dt[0], slope)
            off = magnitude(-head.slope[0] / head.dt[0] * gap - head.turn_push[0])
            margin = smaller(margin, where_less(0.5, active, off, 1e30))
        elif table.kind[r] != RUB:
            slope = slope - head.slope[0] / head.dt[0]
        clear_row(memory, head, found)
        for e in range(size):
            i, s = links.axis[chain + e], links.share[chain + e] * rows.sign[r]
            by_q.x[found * n + i], by_v.x[found * n + i] = slope * s, -s
            test.x[here + first + e], x.x[i] = y.x[first + e], y.x[first + e]
        found, worse = put_row(memory, head, found, (chain, size, here + first), active, g, 0.0 * g)
        margin = where_less(0.5, worse, 0.0, margin)
    return found, margin
