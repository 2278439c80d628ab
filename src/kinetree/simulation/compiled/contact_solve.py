"""The impulses of a step: sweeps over contacts and rows of joints, then Newton's method on the exact law.

With A = U D U^T, z = D^1/2 U^T v and Y = D^-1/2 U^-1 J^T, speeds along a row are J v = Y . z and an impulse
lam changes z by Y lam; Y is zero but for the axes that carry the row. Newton's method on lam =
P(lam - r (u - target)) needs (1 + sum Y C Y^T) dz, which has the sparsity of the mass matrix where nothing
but the ground is touched, and is not symmetric where contacts slide.

All that is done in a lane depends on that lane alone. Contacts that are open in all lanes are skipped:
one that is open in a lane, without impulse and not approaching, stays as it is there beside others, too.
Further sweeps, which some lanes need, come in pairs, so that the order of contacts is the same in all.
"""

from __future__ import annotations

from kinetree.engine.door import inline, part
from kinetree.engine.lanes import fields
from kinetree.kernels.number import LANES, any_positive, magnitude, square_root, where_less
from kinetree.simulation.compiled.coulomb import (
    chosen,
    larger,
    law_slope,
    one_contact,
    plain_step,
    projected,
    smaller,
)
from kinetree.simulation.compiled.step_memory import (
    BOUND_ROW,
    CANDIDATE,
    CONTACT_ROW,
    FILL,
    JOINT_ROW,
    LINK,
    LIST,
    REACH,
    TRIPLE,
)
from kinetree.simulation.compiled.stepping import NUMBERS

SOFTEST, STIFFEST = 1.0, 1e6  # bounds of the stiffness of Newton's law of projection
GROWTH, SHRINK = 8.0, 0.1  # of that stiffness after steps that are taken, or not


@inline
def speed_of(links, chain, y, first, count, z):
    """Velocity of a contact along its three directions."""
    n, t, u = 0.0 * z.x[0], 0.0 * z.x[0], 0.0 * z.x[0]
    for e in range(count):
        s, w = z.x[links.axis[chain + e]], y.y[first + e]
        n, t, u = n + w[0] * s, t + w[1] * s, u + w[2] * s
    return n, t, u


@inline
def is_open(links, chain, y, first, count, z, lam, target):
    """Whether a contact is open in all lanes and stays so: no impulse, and it does not approach too fast."""
    n = lam[0]
    speed = 0.0 * target
    for e in range(count):
        speed = speed + y.y[first + e][0] * z.x[links.axis[chain + e]]
    return not any_positive(where_less(0.0, n, n, target - speed))


@inline
def act(links, chain, y, first, count, z, d):
    """z += Y d."""
    for e in range(count):
        i, w = links.axis[chain + e], y.y[first + e]
        z.x[i] = z.x[i] + w[0] * d[0] + w[1] * d[1] + w[2] * d[2]


@inline
def row_speed(links, chain, y, first, count, z):
    """Speed along a row of joints."""
    u = 0.0 * z.x[0]
    for e in range(count):
        u = u + y.x[first + e] * z.x[links.axis[chain + e]]
    return u


@inline
def row_act(links, chain, y, first, count, z, d):
    """z += y d."""
    for e in range(count):
        i = links.axis[chain + e]
        z.x[i] = z.x[i] + y.x[first + e] * d


@part
def sweep(memory, head, count, n_rows, turn, live, plain):
    """One pass over all contacts and rows, each solved exactly, or where ``plain`` by a projected step."""
    links, candidates = (
        fields(memory, LINK, 1, head.links[0]),
        fields(memory, CANDIDATE, 1, head.candidates[0]),
    )
    contacts = fields(memory, CONTACT_ROW, LANES, head.contacts[0])
    y, z = fields(memory, TRIPLE, LANES, head.y[0]), fields(memory, NUMBERS, LANES, head.z[0])
    active = fields(memory, LIST, 1, head.active[0])
    mixed = any_positive(plain)
    for m in range(count):
        k = active.k[m] if turn % 2 == 0 else active.k[count - 1 - m]
        chain, first, size = candidates.start[k], candidates.first[k], candidates.length[k]
        lam, target, mu = contacts.lam[k], contacts.target[k], contacts.mu[k]
        if is_open(links, chain, y, first, size, z, lam, target):
            continue
        u, G = speed_of(links, chain, y, first, size, z), contacts.G[k]
        new = one_contact(lam, G, contacts.I[k], u, target, mu)
        if mixed:
            other = plain_step(lam, G, u, target, mu)
            new = (
                chosen(plain, other[0], new[0]),
                chosen(plain, other[1], new[1]),
                chosen(plain, other[2], new[2]),
            )
        new = chosen(live, new[0], lam[0]), chosen(live, new[1], lam[1]), chosen(live, new[2], lam[2])
        contacts.lam[k] = new
        act(links, chain, y, first, size, z, (new[0] - lam[0], new[1] - lam[1], new[2] - lam[2]))
    sweep_rows(memory, head, n_rows, live)


@inline
def sweep_rows(memory, head, n_rows, live):
    """One pass over the rows of joints."""
    links, table = fields(memory, LINK, 1, head.links[0]), fields(memory, JOINT_ROW, 1, head.joint_rows[0])
    rows, y = fields(memory, BOUND_ROW, LANES, head.rows[0]), fields(memory, NUMBERS, LANES, head.row_y[0])
    z, near = fields(memory, NUMBERS, LANES, head.z[0]), fields(memory, LIST, 1, head.near[0])
    for m in range(n_rows):
        r = near.k[m]
        chain, first, size = table.start[r], table.first[r], table.length[r]
        u, lam = row_speed(links, chain, y, first, size, z), rows.lam[r]
        new = smaller(larger(lam + (rows.target[r] - u) / rows.g[r], rows.low[r]), rows.high[r])
        new = chosen(live, new, lam)
        rows.lam[r] = new
        row_act(links, chain, y, first, size, z, new - lam)


@part
def residual(memory, head, count, n_rows):
    """How far the impulses are from the law (m/s): the largest change by a projected step, times mobility."""
    links, candidates = (
        fields(memory, LINK, 1, head.links[0]),
        fields(memory, CANDIDATE, 1, head.candidates[0]),
    )
    contacts = fields(memory, CONTACT_ROW, LANES, head.contacts[0])
    y, z = fields(memory, TRIPLE, LANES, head.y[0]), fields(memory, NUMBERS, LANES, head.z[0])
    active, near = fields(memory, LIST, 1, head.active[0]), fields(memory, LIST, 1, head.near[0])
    worst = 0.0 * z.x[0]
    for m in range(count):
        k = active.k[m]
        lam, size, target = contacts.lam[k], contacts.size[k], contacts.target[k]
        chain, first, length = candidates.start[k], candidates.first[k], candidates.length[k]
        if is_open(links, chain, y, first, length, z, lam, target):
            continue
        u = speed_of(links, chain, y, first, length, z)
        n, x, t = projected(lam, u, contacts.target[k], contacts.mu[k], size)
        a, b, c = n - lam[0], x - lam[1], t - lam[2]
        off = square_root(a * a + b * b + c * c) * size
        worst = where_less(off, worst, worst, off)
    table, rows = (
        fields(memory, JOINT_ROW, 1, head.joint_rows[0]),
        fields(memory, BOUND_ROW, LANES, head.rows[0]),
    )
    row_y = fields(memory, NUMBERS, LANES, head.row_y[0])
    for m in range(n_rows):
        r = near.k[m]
        u, lam = row_speed(links, table.start[r], row_y, table.first[r], table.length[r], z), rows.lam[r]
        new = smaller(larger(lam + (rows.target[r] - u) / rows.g[r], rows.low[r]), rows.high[r])
        off = magnitude(new - lam) * rows.g[r]
        worst = where_less(off, worst, worst, off)
    return worst


@inline
def keep(memory, head, n, count, n_rows):
    """Remember impulses and z."""
    contacts, rows = (
        fields(memory, CONTACT_ROW, LANES, head.contacts[0]),
        fields(memory, BOUND_ROW, LANES, head.rows[0]),
    )
    z, old = fields(memory, NUMBERS, LANES, head.z[0]), fields(memory, NUMBERS, LANES, head.z_old[0])
    active, near = fields(memory, LIST, 1, head.active[0]), fields(memory, LIST, 1, head.near[0])
    for i in range(n):
        old.x[i] = z.x[i]
    for m in range(count):
        contacts.old[active.k[m]] = contacts.lam[active.k[m]]
    for m in range(n_rows):
        rows.old[near.k[m]] = rows.lam[near.k[m]]


@inline
def go_back(memory, head, n, count, n_rows, better):
    """Impulses and z as remembered, but where they have become better."""
    contacts, rows = (
        fields(memory, CONTACT_ROW, LANES, head.contacts[0]),
        fields(memory, BOUND_ROW, LANES, head.rows[0]),
    )
    z, old = fields(memory, NUMBERS, LANES, head.z[0]), fields(memory, NUMBERS, LANES, head.z_old[0])
    active, near = fields(memory, LIST, 1, head.active[0]), fields(memory, LIST, 1, head.near[0])
    for i in range(n):
        z.x[i] = chosen(better, z.x[i], old.x[i])
    for m in range(count):
        k = active.k[m]
        lam, o = contacts.lam[k], contacts.old[k]
        contacts.lam[k] = (
            chosen(better, lam[0], o[0]),
            chosen(better, lam[1], o[1]),
            chosen(better, lam[2], o[2]),
        )
    for m in range(n_rows):
        r = near.k[m]
        rows.lam[r] = chosen(better, rows.lam[r], rows.old[r])


@inline
def newton_rows(memory, head, n_rows, stiffness):
    """What rows of joints add to the system."""
    n, links = head.n[0], fields(memory, LINK, 1, head.links[0])
    z, near = fields(memory, NUMBERS, LANES, head.z[0]), fields(memory, LIST, 1, head.near[0])
    H, b = fields(memory, NUMBERS, LANES, head.H[0]), fields(memory, NUMBERS, LANES, head.b[0])
    table, rows = (
        fields(memory, JOINT_ROW, 1, head.joint_rows[0]),
        fields(memory, BOUND_ROW, LANES, head.rows[0]),
    )
    row_y = fields(memory, NUMBERS, LANES, head.row_y[0])
    for m in range(n_rows):
        k = near.k[m]
        chain, first, size = table.start[k], table.first[k], table.length[k]
        r = stiffness / rows.g[k]
        free = rows.lam[k] + r * (rows.target[k] - row_speed(links, chain, row_y, first, size, z))
        new = smaller(larger(free, rows.low[k]), rows.high[k])
        inside = where_less(free, rows.high[k], where_less(rows.low[k], free, r, 0.0), 0.0)
        rows.d[k], rows.C[k] = new - rows.lam[k], inside
        row_act(links, chain, row_y, first, size, b, rows.d[k])
        for e in range(size):
            i, w = links.axis[chain + e] * n, row_y.x[first + e] * inside
            for a in range(size):
                at = i + links.axis[chain + a]
                H.x[at] = H.x[at] + w * row_y.x[first + a]


@part
def newton_system(memory, head, count, n_rows, n_touched, stiffness):
    """1 + sum Y C Y^T on the axes that are touched, and the right-hand side."""
    n = head.n[0]
    links, candidates = (
        fields(memory, LINK, 1, head.links[0]),
        fields(memory, CANDIDATE, 1, head.candidates[0]),
    )
    contacts = fields(memory, CONTACT_ROW, LANES, head.contacts[0])
    y, z = fields(memory, TRIPLE, LANES, head.y[0]), fields(memory, NUMBERS, LANES, head.z[0])
    H, b = fields(memory, NUMBERS, LANES, head.H[0]), fields(memory, NUMBERS, LANES, head.b[0])
    active = fields(memory, LIST, 1, head.active[0])
    pushed = fields(memory, LIST, 1, head.pushed[0])
    touched, column = fields(memory, LIST, 1, head.touched[0]), fields(memory, TRIPLE, LANES, head.column[0])
    fill, reach = fields(memory, FILL, 1, head.fill[0]), fields(memory, REACH, 1, head.reach[0])
    none = 0.0 * z.x[0]
    for m in range(n_touched):
        i = touched.k[m]
        for e in range(reach.length[i]):
            a = fill.axis[reach.start[i] + e]
            H.x[i * n + a], H.x[a * n + i] = none, none
        H.x[i * n + i], b.x[i] = none + 1.0, none
    for m in range(count):
        k = active.k[m]
        chain, first, size = candidates.start[k], candidates.first[k], candidates.length[k]
        lam, target = contacts.lam[k], contacts.target[k]
        pushed.k[m] = 1
        if is_open(links, chain, y, first, size, z, lam, target):
            pushed.k[m] = 0
            continue
        u = speed_of(links, chain, y, first, size, z)
        r = stiffness / contacts.size[k]
        d, C = law_slope(contacts.lam[k], u, contacts.target[k], contacts.mu[k], r)
        contacts.d[k], contacts.C[k] = d, C
        act(links, chain, y, first, size, b, d)
        for e in range(size):
            w = y.y[first + e]
            column.y[e] = (
                C[0] * w[0],
                C[1] * w[0] + C[3] * w[1] + C[4] * w[2],
                C[2] * w[0] + C[4] * w[1] + C[5] * w[2],
            )
        for e in range(size):
            i, w = links.axis[chain + e] * n, y.y[first + e]
            for a in range(size):
                c, at = column.y[a], i + links.axis[chain + a]
                H.x[at] = H.x[at] + w[0] * c[0] + w[1] * c[1] + w[2] * c[2]
    newton_rows(memory, head, n_rows, stiffness)


@part
def newton_solve(memory, head, n_touched):
    """b <- H^-1 b, from the tips inward and back."""
    n = head.n[0]
    H, b = fields(memory, NUMBERS, LANES, head.H[0]), fields(memory, NUMBERS, LANES, head.b[0])
    touched, fill = fields(memory, LIST, 1, head.touched[0]), fields(memory, FILL, 1, head.fill[0])
    reach = fields(memory, REACH, 1, head.reach[0])
    for m in range(n_touched):
        i = touched.k[m]
        start, size = reach.start[i], reach.length[i]
        D = 1.0 / H.x[i * n + i]
        H.x[i * n + i] = D
        for e in range(size):
            a = fill.axis[start + e]
            U = H.x[a * n + i] * D
            b.x[a] = b.x[a] - U * b.x[i]
            for c in range(size):
                at = fill.axis[start + c]
                H.x[a * n + at] = H.x[a * n + at] - U * H.x[i * n + at]
    for m in range(n_touched):
        i = touched.k[n_touched - 1 - m]
        x = b.x[i]
        for e in range(reach.length[i]):
            a = fill.axis[reach.start[i] + e]
            x = x - H.x[i * n + a] * b.x[a]
        b.x[i] = x * H.x[i * n + i]


@part
def newton_apply(memory, head, count, n_rows):
    """Impulses and z after a step of Newton's method, with impulses within the law's bounds."""
    links, candidates = (
        fields(memory, LINK, 1, head.links[0]),
        fields(memory, CANDIDATE, 1, head.candidates[0]),
    )
    contacts = fields(memory, CONTACT_ROW, LANES, head.contacts[0])
    y, z = fields(memory, TRIPLE, LANES, head.y[0]), fields(memory, NUMBERS, LANES, head.z[0])
    b, pushed = fields(memory, NUMBERS, LANES, head.b[0]), fields(memory, LIST, 1, head.pushed[0])
    active, near = fields(memory, LIST, 1, head.active[0]), fields(memory, LIST, 1, head.near[0])
    for m in range(count):
        k = active.k[m]
        if pushed.k[m] == 0:
            continue
        chain, first, size = candidates.start[k], candidates.first[k], candidates.length[k]
        s = speed_of(links, chain, y, first, size, b)
        lam, d, C = contacts.lam[k], contacts.d[k], contacts.C[k]
        n = larger(lam[0] + d[0] - C[0] * s[0], 0.0)
        t = lam[1] + d[1] - C[1] * s[0] - C[3] * s[1] - C[4] * s[2]
        u = lam[2] + d[2] - C[2] * s[0] - C[4] * s[1] - C[5] * s[2]
        f = smaller(contacts.mu[k] * n / (square_root(t * t + u * u) + 1e-300), 1.0)
        t, u = t * f, u * f
        contacts.lam[k] = n, t, u
        act(links, chain, y, first, size, z, (n - lam[0], t - lam[1], u - lam[2]))
    table, rows = (
        fields(memory, JOINT_ROW, 1, head.joint_rows[0]),
        fields(memory, BOUND_ROW, LANES, head.rows[0]),
    )
    row_y = fields(memory, NUMBERS, LANES, head.row_y[0])
    for m in range(n_rows):
        k = near.k[m]
        chain, first, size = table.start[k], table.first[k], table.length[k]
        s, lam = row_speed(links, chain, row_y, first, size, b), rows.lam[k]
        new = smaller(larger(lam + rows.d[k] - rows.C[k] * s, rows.low[k]), rows.high[k])
        rows.lam[k] = new
        row_act(links, chain, row_y, first, size, z, new - lam)


@part
def newton_cycle(memory, head, counts, turn, live, off, stiffness):
    """A step of Newton's method and two sweeps, where they make the residual smaller; it, and where."""
    count, n_rows, n_touched = counts
    keep(memory, head, head.n[0], count, n_rows)
    newton_system(memory, head, count, n_rows, n_touched, stiffness)
    newton_solve(memory, head, n_touched)
    newton_apply(memory, head, count, n_rows)
    for k in range(2):
        sweep(memory, head, count, n_rows, turn + k, live, 0.0 * live)
    now = residual(memory, head, count, n_rows)
    better = where_less(now, off, live, 0.0)
    go_back(memory, head, head.n[0], count, n_rows, better)
    return chosen(better, now, off), better


@part
def solve(memory, head, count, n_rows, n_touched, alive):
    """Find the impulses; answers the residual (m/s).

    The first cycles go on to the tolerance. States that are still off by more than ``loose`` get further
    ones, with ever more sweeps of projected steps, which find a way out where exact ones are caught.
    """
    turn, late, none, counts = 0, head.late[0], 0.0 * alive, (count, n_rows, n_touched)
    live, stiffness = alive, none + head.stiffness[0]
    for _ in range(head.sweeps[0]):
        sweep(memory, head, count, n_rows, turn, live, none)
        turn += 1
    off = residual(memory, head, count, n_rows)
    for cycle in range(head.cycles[0]):
        live = where_less(head.tolerance[0] if cycle < late else head.loose[0], off, live, 0.0)
        if not any_positive(live):
            break
        off, better = newton_cycle(memory, head, counts, turn, live, off, stiffness)
        stiffness = chosen(better, smaller(GROWTH * stiffness, STIFFEST), larger(SHRINK * stiffness, SOFTEST))
        failed = where_less(head.tolerance[0], off, live - better, 0.0)
        if cycle >= late:
            failed = where_less(head.loose[0], off, live, 0.0)
        if any_positive(failed):
            plain, sweeps = none, 2
            if cycle >= late:
                sweeps = 2 * (cycle - late + 2)
                if cycle % 4 != 0:
                    plain = failed
            for _ in range(sweeps):
                sweep(memory, head, count, n_rows, turn, failed, plain)
                turn += 1
            off = chosen(failed, residual(memory, head, count, n_rows), off)
    return off
