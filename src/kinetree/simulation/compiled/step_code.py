"""Steps at the level of velocities as machine code: many states of a mechanism, four side by side.

A step of dt takes everything at mid step (Moreau 1988): q moves by half a step, there A (v+ - v) = dt f +
J^T lam with A = M + dt D + dt h K, lam the impulses of contacts and rows of joints, and q moves on by half a
step with v+. D and K are dampers and springs of joints, which act at the end of the step, h = dt / 2. The
bias is evaluated again at the speed of mid step, v + dt/2 A^-1 f, which makes the step of second order.
"""

from __future__ import annotations

from typing import Any

from kinetree.engine.door import INTEGER, compiled_callback, inline, part
from kinetree.engine.lanes import fields
from kinetree.engine.lanes.objects import doubles, rows_by_pairs
from kinetree.kernels.aba import SINGULAR as IRREGULAR
from kinetree.kernels.axes import WORLD
from kinetree.kernels.ground import (
    PLANE,
    POINT,
    REGION,
    ground_here,
    own_friction,
    place_on,
    plane_of,
    point_motion,
)
from kinetree.kernels.model_table import TREE
from kinetree.kernels.number import LANES, any_positive, magnitude, square_root, where_less
from kinetree.kernels.udu import factor
from kinetree.kernels.vectors import cross_plus, dot, sub
from kinetree.simulation.compiled.box_contacts import BOX_PAIR, SLOTS, lay_boxes
from kinetree.simulation.compiled.capsules import PAIR, pair_contact, pair_places
from kinetree.simulation.compiled.contact_solve import solve
from kinetree.simulation.compiled.coulomb import chosen, inverse_mobility, larger, smaller
from kinetree.simulation.compiled.step_memory import (
    BOUND_ROW,
    CANDIDATE,
    CAUSE,
    CONTACT_ROW,
    DEPTH,
    FILL,
    GAIN,
    JOINT_ROW,
    LINK,
    LIST,
    REACH,
    RESIDUAL,
    RUB,
    SOLVED,
    STEP,
    STEPS,
    STOP,
    TIME,
    TRIPLE,
    UNSOLVED,
    WORST,
)
from kinetree.simulation.compiled.stepping import (
    ALONE,
    BALL,
    JOINT,
    MOVING,
    NUMBERS,
    OWN,
    PAIRS,
    bias_of,
    inward_solve,
    mass_pairs,
    move,
    outward_product,
    outward_solve,
    place_axes,
    place_bodies,
)
from kinetree.simulation.compiled.terrain import planes_in_state

NEAR = 0.2  # m: spheres around bodies that are nearer than this are looked at closely
FAR = -1e30  # m/s: the target of what is too far away to touch
SINGULAR = 1e-9  # share of its trace that makes a mobility regular: planar mechanisms have none across
IMMOBILE = 1e-12  # 1/kg: what has less mobility along its normal cannot move
BLOWN, BROKEN, FLAT = 1.0, 2.0, 3.0  # causes: too fast, not a number, a joint moves no inertia
RANGE = INTEGER(*[INTEGER] * 9)
_lay_planes = planes_in_state(LANES)


@inline
def views(memory, head):
    """Tree, joints, workspace, coordinates, rates."""
    return (
        fields(memory, TREE, 1, head.tree[0]),
        fields(memory, JOINT, 1, head.joints[0]),
        fields(memory, MOVING, LANES, head.work[0]),
        fields(memory, NUMBERS, LANES, head.q[0]),
        fields(memory, NUMBERS, LANES, head.v[0]),
    )


@inline
def load(memory, head, block):
    """A block of states into lanes: states, torques, targets, gains, friction, masses."""
    state, torque, target, gains, given = block[0], block[1], block[2], block[3], block[5]
    n, nq = head.n[0], head.nq[0]
    q, v = fields(memory, NUMBERS, LANES, head.q[0]), fields(memory, NUMBERS, LANES, head.v[0])
    tau, aim = fields(memory, NUMBERS, LANES, head.tau[0]), fields(memory, NUMBERS, LANES, head.aim[0])
    kp, kd = fields(memory, NUMBERS, LANES, head.kp[0]), fields(memory, NUMBERS, LANES, head.kd[0])
    contacts, rows = (
        fields(memory, CONTACT_ROW, LANES, head.contacts[0]),
        fields(memory, BOUND_ROW, LANES, head.rows[0]),
    )
    for i in range(nq):
        q.x[i] = state[head.state_q[0] + i]
    for i in range(n):
        v.x[i] = state[head.state_v[0] + i]
        tau.x[i], aim.x[i], kp.x[i], kd.x[i] = torque[i], target[i], gains[i], gains[n + i]
    if head.varied[0] == 1:
        own = fields(memory, OWN, LANES, head.own[0])
        for i in range(n):
            k = 10 * i
            own.m[i], own.h[i] = given[k], (given[k + 1], given[k + 2], given[k + 3])
            own.S[i] = given[k + 4], given[k + 5], given[k + 6], given[k + 7], given[k + 8], given[k + 9]
    at = head.state_l[0]
    for k in range(head.n_contacts[0]):
        contacts.lam[k] = state[at + 3 * k], state[at + 3 * k + 1], state[at + 3 * k + 2]
    for r in range(head.n_rows[0]):
        rows.lam[r] = state[head.state_row[0] + r]


@inline
def unload(memory, head, state):
    """A block of states back into the array, with the forces of the last step in the world."""
    q, v = fields(memory, NUMBERS, LANES, head.q[0]), fields(memory, NUMBERS, LANES, head.v[0])
    contacts, rows = (
        fields(memory, CONTACT_ROW, LANES, head.contacts[0]),
        fields(memory, BOUND_ROW, LANES, head.rows[0]),
    )
    for i in range(head.nq[0]):
        state[head.state_q[0] + i] = q.x[i]
    for i in range(head.n[0]):
        state[head.state_v[0] + i] = v.x[i]
    at, force, per = head.state_l[0], head.state_force[0], 1.0 / head.dt[0]
    for k in range(head.n_contacts[0]):
        lam, n, t, u = contacts.lam[k], contacts.n[k], contacts.t[k], contacts.u[k]
        touches = where_less(0.0, lam[0], per, 0.0)
        for c in range(3):
            state[at + 3 * k + c] = lam[c]
            pull = touches * (lam[0] * n[c] + lam[1] * t[c] + lam[2] * u[c])
            state[force + 3 * k + c] = where_less(0.0, lam[0], pull, 0.0)
        state[head.state_gap[0] + k] = contacts.gap[k]
    for r in range(head.n_rows[0]):
        state[head.state_row[0] + r] = rows.lam[r]


@part
def ground_contacts(memory, head, friction):
    """Place, directions and target of all points over the ground."""
    _, _, work, _, _ = views(memory, head)
    _lay_planes(memory, head, work)
    plane, points = fields(memory, PLANE, LANES, head.plane[0]), fields(memory, POINT, 1, head.points[0])
    regions, contacts = (
        fields(memory, REGION, 1, head.regions[0]),
        fields(memory, CONTACT_ROW, LANES, head.contacts[0]),
    )
    for k in range(head.n_points[0]):
        j = plane_of(head, k)
        _, r, u = point_motion(work, plane, points, k, j)
        from_plane = sub(sub(r, work.p[WORLD]), plane.origin[j])
        x, y = place_on(plane, j, from_plane)
        height, _, _, _, _, _, _, mu, _ = ground_here(regions, head.n_regions[0], x, y)
        contacts.n[k], contacts.t[k], contacts.u[k] = plane.normal[j], plane.forward[j], plane.side[j]
        contacts.place[k] = r
        contacts.gap[k] = dot(from_plane, plane.normal[j]) - height
        contacts.speed[k] = dot(u, plane.normal[j])
        contacts.mu[k] = own_friction(points, k, mu) * friction


@part
def pair_contacts(memory, head, friction):
    """Place, directions and gap of all pairs of bodies; of those far apart in all lanes the gap alone."""
    _, _, work, _, _ = views(memory, head)
    bodies = fields(memory, PAIR, 1, head.bodies[0])
    contacts = fields(memory, CONTACT_ROW, LANES, head.contacts[0])
    for m in range(head.n_pairs[0]):
        k = head.n_points[0] + m
        places = pair_places(work, bodies, m)
        d = sub(places[0], places[2])
        apart = square_root(dot(d, d)) - bodies.bound[m]
        none = 0.0 * apart
        if any_positive(NEAR - apart):
            n, t, u, place, gap, speed = pair_contact(work, bodies, m, places)
            contacts.n[k], contacts.t[k], contacts.u[k], contacts.place[k] = n, t, u, place
            contacts.gap[k] = where_less(apart, NEAR, gap, apart)
            contacts.speed[k] = where_less(apart, NEAR, speed, none)
        else:
            contacts.gap[k], contacts.speed[k] = apart, none
            axis = none + 1.0, none, none
            contacts.n[k], contacts.t[k], contacts.u[k], contacts.place[k] = axis, axis, axis, axis
        contacts.mu[k] = none + bodies.friction[m]


@part
def box_contacts(memory, head):
    """Place, directions and gap of all contacts of boxes, and how fast they open."""
    _, _, work, _, _ = views(memory, head)
    boxes = fields(memory, BOX_PAIR, 1, head.boxes[0])
    contacts = fields(memory, CONTACT_ROW, LANES, head.contacts[0])
    lay_boxes(memory, head.work[0], head.contacts[0], boxes, head.n_boxes[0])
    for m in range(head.n_boxes[0]):
        a, b, first = boxes.a[m], boxes.b[m], boxes.slot[m]
        for k in range(first, first + (1 if boxes.round[m] == 1 else SLOTS)):
            place = contacts.place[k]
            va = cross_plus(work.w[a], place, work.v[a])
            vb = cross_plus(work.w[b], place, work.v[b])
            contacts.speed[k] = dot(sub(va, vb), contacts.n[k])


@part
def choose_contacts(memory, head, alive):
    """Which contacts any lane is near to, and what their normal velocity may be; answers how many."""
    contacts, active = (
        fields(memory, CONTACT_ROW, LANES, head.contacts[0]),
        fields(memory, LIST, 1, head.active[0]),
    )
    dt, count = head.dt[0], 0
    for k in range(head.n_contacts[0]):
        gap, speed = contacts.gap[k], contacts.speed[k]
        reach = head.margin[0] + where_less(speed, 0.0, -2.0 * dt * speed, 0.0)
        near = where_less(gap, reach, alive, 0.0)
        lam = contacts.lam[k]
        if any_positive(near):
            target = smaller(-head.slope[0] / dt * gap, head.push[0])
            if head.restitution[0] > 0.0:  # what will bounce is not braked before it hits
                fast = where_less(speed, -head.bounce[0], 1.0, 0.0)
                hits = where_less(0.0, gap + (dt - head.half[0]) * speed, 0.0, 1.0)
                target = where_less(0.0, gap, smaller(target, -gap / head.half[0]), target)
                target = chosen(fast, chosen(hits, -head.restitution[0] * speed, FAR), target)
            contacts.target[k] = chosen(near, target, FAR)
            contacts.lam[k] = chosen(near, lam[0], 0.0), chosen(near, lam[1], 0.0), chosen(near, lam[2], 0.0)
            active.k[count] = k
            count += 1
        else:
            contacts.lam[k] = 0.0 * speed, 0.0 * speed, 0.0 * speed
    return count


@inline
def mark(marks, links, start, count):
    """Mark the axes of a chain."""
    for e in range(count):
        marks.k[links.axis[start + e]] = 1


@inline
def eliminate(tree, links, place, pairs, inverse_root, column, y):
    """Y = D^-1/2 U^-1 J^T of three columns on a chain, which is closed under parents.

    place: where the chain begins, its length, and where Y does.
    """
    chain, count, first = place
    for e in range(count):
        i = links.axis[chain + e]
        c, k = column.y[i], tree.first[i] + 1
        j = tree.parent[i]
        while j != WORLD:
            for a in range(j, tree.top[j] - 1, -1):
                U, o = pairs.M[k], column.y[a]
                column.y[a] = o[0] - U * c[0], o[1] - U * c[1], o[2] - U * c[2]
                k += 1
            j = tree.parent[tree.top[j]]
        s = inverse_root.x[i]
        y.y[first + e] = c[0] * s, c[1] * s, c[2] * s


@part
def contact_rows(memory, head, count):
    """Y and the mobility of all contacts that count, and what their impulses of before do to z.

    Contacts that cannot move along their normal are left out: no impulse changes how fast they approach.
    """
    tree, _, work, _, _ = views(memory, head)
    links, candidates = (
        fields(memory, LINK, 1, head.links[0]),
        fields(memory, CANDIDATE, 1, head.candidates[0]),
    )
    contacts = fields(memory, CONTACT_ROW, LANES, head.contacts[0])
    y, z = fields(memory, TRIPLE, LANES, head.y[0]), fields(memory, NUMBERS, LANES, head.z[0])
    pairs, column = fields(memory, PAIRS, LANES, head.pairs[0]), fields(memory, TRIPLE, LANES, head.column[0])
    inverse_root = fields(memory, NUMBERS, LANES, head.inverse_root[0])
    active, marks = fields(memory, LIST, 1, head.active[0]), fields(memory, LIST, 1, head.marks[0])
    for m in range(count):
        k = active.k[m]
        chain, first, size = candidates.start[k], candidates.first[k], candidates.length[k]
        n, t, u, place, lam = contacts.n[k], contacts.t[k], contacts.u[k], contacts.place[k], contacts.lam[k]
        mark(marks, links, chain, size)
        for e in range(size):
            i, share = links.axis[chain + e], links.share[chain + e]
            w = cross_plus(work.z[i], place, work.s[i])
            column.y[i] = share * dot(w, n), share * dot(w, t), share * dot(w, u)
        eliminate(tree, links, (chain, size, first), pairs, inverse_root, column, y)
        none = 0.0 * lam[0]
        a, b, c, d, f, g = none, none, none, none, none, none
        for e in range(size):
            w = y.y[first + e]
            a, b, c = a + w[0] * w[0], b + w[0] * w[1], c + w[0] * w[2]
            d, f, g = d + w[1] * w[1], f + w[1] * w[2], g + w[2] * w[2]
        more = SINGULAR * (a + d + g)
        fixed = where_less(larger(more, none + IMMOBILE), a, 0.0, none + 1.0)
        contacts.target[k] = chosen(fixed, FAR, contacts.target[k])
        lam = chosen(fixed, 0.0, lam[0]), chosen(fixed, 0.0, lam[1]), chosen(fixed, 0.0, lam[2])
        contacts.lam[k] = lam
        for e in range(size):
            w, i = y.y[first + e], links.axis[chain + e]
            z.x[i] = z.x[i] + w[0] * lam[0] + w[1] * lam[1] + w[2] * lam[2]
        contacts.size[k] = chosen(fixed, 1.0, (a + d + g) * (1.0 / 3.0))
        a, d, g = chosen(fixed, 1.0, a), chosen(fixed, 1.0, d + more), chosen(fixed, 1.0, g + more)
        G = a, chosen(fixed, 0.0, b), chosen(fixed, 0.0, c), d, chosen(fixed, 0.0, f), g
        contacts.G[k], contacts.I[k] = G, inverse_mobility(G)


@part
def joint_rows(memory, head, alive):
    """Rows of limits that are near, of dry friction, of equations between axes; answers how many."""
    tree, joints, _, q, v = views(memory, head)
    links, table = fields(memory, LINK, 1, head.links[0]), fields(memory, JOINT_ROW, 1, head.joint_rows[0])
    rows, y = fields(memory, BOUND_ROW, LANES, head.rows[0]), fields(memory, NUMBERS, LANES, head.row_y[0])
    z, near = fields(memory, NUMBERS, LANES, head.z[0]), fields(memory, LIST, 1, head.near[0])
    pairs, x = fields(memory, PAIRS, LANES, head.pairs[0]), fields(memory, NUMBERS, LANES, head.x[0])
    inverse_root = fields(memory, NUMBERS, LANES, head.inverse_root[0])
    marks, dt, found = fields(memory, LIST, 1, head.marks[0]), head.dt[0], 0
    for r in range(head.n_rows[0]):
        i, start, size, first = table.axis[r], table.start[r], table.length[r], table.first[r]
        none, lam = 0.0 * rows.lam[r], rows.lam[r]
        sign = none + 1.0
        if table.kind[r] == STOP:
            below, above = q.x[joints.at[i]] - table.low[r], table.high[r] - q.x[joints.at[i]]
            sign = where_less(above, below, none - 1.0, 1.0)
            gap = smaller(below, above)
            touches = where_less(gap, head.margin[0] + 2.0 * dt * magnitude(v.x[i]), alive, 0.0)
            if not any_positive(touches):
                rows.lam[r] = none
                continue
            lam = where_less(0.5, touches, where_less(0.0, lam * sign, lam * sign, 0.0), 0.0)
            target = smaller(-head.slope[0] / dt * gap, head.turn_push[0])
            rows.target[r] = chosen(touches, target, FAR)
            rows.low[r], rows.high[r] = none, none + 1e300
        elif table.kind[r] == RUB:
            rows.target[r] = none
            rows.low[r], rows.high[r] = none - dt * table.low[r], none + dt * table.high[r]
        else:
            off = none - table.offset[r]
            for e in range(size):
                off = off + links.share[start + e] * q.x[joints.at[links.axis[start + e]]]
            rows.target[r] = -head.slope[0] / dt * off
            rows.low[r], rows.high[r] = none - 1e300, none + 1e300
        mark(marks, links, start, size)
        for e in range(size):
            x.x[links.axis[start + e]] = links.share[start + e] * sign
        g = none
        for e in range(size):
            a = links.axis[start + e]
            c, k = x.x[a], tree.first[a] + 1
            j = tree.parent[a]
            while j != WORLD:
                for b in range(j, tree.top[j] - 1, -1):
                    x.x[b] = x.x[b] - pairs.M[k] * c
                    k += 1
                j = tree.parent[tree.top[j]]
            c = c * inverse_root.x[a]
            y.x[first + e] = c
            g = g + c * c
        rows.g[r], rows.sign[r], rows.lam[r] = g, sign, lam
        for e in range(size):
            a = links.axis[start + e]
            z.x[a] = z.x[a] + y.x[first + e] * lam
        near.k[found] = r
        found += 1
    return found


@inline
def touched_axes(memory, head):
    """The axes that contacts and rows act on, tips first; answers how many."""
    marks, touched = fields(memory, LIST, 1, head.marks[0]), fields(memory, LIST, 1, head.touched[0])
    fill, reach = fields(memory, FILL, 1, head.fill[0]), fields(memory, REACH, 1, head.reach[0])
    count = 0
    for m in range(head.n[0]):
        i = head.n[0] - 1 - m
        if marks.k[i] == 1:
            for e in range(reach.length[i]):
                marks.k[fill.axis[reach.start[i] + e]] = 1
            touched.k[count] = i
            count += 1
    return count


@inline
def servo_errors(memory, head, error):
    """From the coordinates to the targets of servos; of a ball twice the vector part of the quaternion.

    A ball's target are the three last numbers of a unit quaternion whose first is not negative.
    """
    _, joints, _, q, _ = views(memory, head)
    aim = fields(memory, NUMBERS, LANES, head.aim[0])
    for i in range(head.n[0]):
        at = joints.at[i]
        if joints.role[i] == ALONE:
            error.x[i] = aim.x[i] - q.x[at]
        elif joints.role[i] == BALL:
            w, x, y, z = q.x[at], q.x[at + 1], q.x[at + 2], q.x[at + 3]
            a, b, c = aim.x[i], aim.x[i + 1], aim.x[i + 2]
            d = square_root(larger(1.0 - (a * a + b * b + c * c), 0.0))
            turn = where_less(w * d + x * a + y * b + z * c, 0.0, -2.0, 2.0)
            error.x[i] = turn * (w * a - x * d - y * c + z * b)
            error.x[i + 1] = turn * (w * b + x * c - y * d - z * a)
            error.x[i + 2] = turn * (w * c - x * b + y * a - z * d)


@part
def factored(memory, head):
    """A = U D U^T; answers 0, or in lanes where an axis moves no inertia 1 + the number of this axis."""
    tree, _, work, _, v = views(memory, head)
    n, dt, half = head.n[0], head.dt[0], head.half[0]
    pairs = fields(memory, PAIRS, LANES, head.pairs[0])
    kp, kd = fields(memory, NUMBERS, LANES, head.kp[0]), fields(memory, NUMBERS, LANES, head.kd[0])
    mass_pairs(tree, work, pairs)
    for i in range(n):
        k, c = kp.x[i] + tree.stiffness[i], kd.x[i] + tree.viscous[i]
        at = tree.first[i]
        pairs.M[at] = pairs.M[at] + dt * (c + half * k)
    factor(tree, n, pairs)
    flat = 0.0 * v.x[0]
    for i in range(n):
        flat = where_less(IRREGULAR * tree.gross[i], pairs.M[tree.first[i]], flat, i + 1.0)
    return flat


@part
def free_motion(memory, head):
    """z = D^1/2 U^T v + D^-1/2 U^-1 dt f, in ``z``; answers where an axis moves no inertia."""
    tree, joints, work, q, v = views(memory, head)
    n, dt, half = head.n[0], head.dt[0], head.half[0]
    pairs, bias = fields(memory, PAIRS, LANES, head.pairs[0]), fields(memory, NUMBERS, LANES, head.bias[0])
    tau = fields(memory, NUMBERS, LANES, head.tau[0])
    kp, kd = fields(memory, NUMBERS, LANES, head.kp[0]), fields(memory, NUMBERS, LANES, head.kd[0])
    x, mid = fields(memory, NUMBERS, LANES, head.x[0]), fields(memory, NUMBERS, LANES, head.mid[0])
    z, later = fields(memory, NUMBERS, LANES, head.z[0]), fields(memory, NUMBERS, LANES, head.bias_mid[0])
    root = fields(memory, NUMBERS, LANES, head.root[0])
    inverse_root = fields(memory, NUMBERS, LANES, head.inverse_root[0])
    flat = factored(memory, head)
    servo_errors(memory, head, later)
    for i in range(n):
        place = q.x[joints.at[i]]
        k, c = kp.x[i] + tree.stiffness[i], kd.x[i] + tree.viscous[i]
        pull = kp.x[i] * later.x[i] + tree.stiffness[i] * (tree.rest[i] - place)
        x.x[i] = dt * (tau.x[i] - bias.x[i] + pull - (half * k + c) * v.x[i])
    for i in range(n):
        D = pairs.M[tree.first[i]]
        root.x[i] = square_root(D)
        inverse_root.x[i] = 1.0 / root.x[i]
    if head.midpoint[0] == 1:
        for i in range(n):
            mid.x[i] = x.x[i]
        inward_solve(tree, pairs, mid)
        for i in range(n):
            mid.x[i] = mid.x[i] * inverse_root.x[i] * inverse_root.x[i]
        outward_solve(tree, pairs, mid)
        for i in range(n):
            mid.x[i] = v.x[i] + 0.5 * mid.x[i]
        bias_of(tree, joints, work, mid, later)
        for i in range(n):
            x.x[i] = x.x[i] + dt * (bias.x[i] - later.x[i])
    inward_solve(tree, pairs, x)
    outward_product(tree, pairs, v, z)
    for i in range(n):
        z.x[i] = root.x[i] * z.x[i] + inverse_root.x[i] * x.x[i]
    return flat


@part
def look(memory, head, friction):
    """Place, motion, bias and contacts of a block of states."""
    tree, joints, work, q, v = views(memory, head)
    bias = fields(memory, NUMBERS, LANES, head.bias[0])
    place_axes(tree, joints, work, q.x)
    place_bodies(tree, fields(memory, OWN, LANES, head.own[0]), work)
    bias_of(tree, joints, work, v, bias)
    if head.n_points[0] > 0:
        ground_contacts(memory, head, friction)
    if head.n_pairs[0] > 0:
        pair_contacts(memory, head, friction)
    if head.n_boxes[0] > 0:
        box_contacts(memory, head)


@part
def new_rates(memory, head, friction, alive):
    """The rates after a step, from those before it and the coordinates at mid step.

    Answers the residual, the depth, the energy that contacts added, and the axis that moves no inertia; then
    how many contacts, rows of joints and axes that these act on there are.
    """
    tree, _, _, _, v = views(memory, head)
    n = head.n[0]
    z, z_free = fields(memory, NUMBERS, LANES, head.z[0]), fields(memory, NUMBERS, LANES, head.z_free[0])
    pairs = fields(memory, PAIRS, LANES, head.pairs[0])
    inverse_root = fields(memory, NUMBERS, LANES, head.inverse_root[0])
    contacts, marks = (
        fields(memory, CONTACT_ROW, LANES, head.contacts[0]),
        fields(memory, LIST, 1, head.marks[0]),
    )
    look(memory, head, friction)
    flat = free_motion(memory, head)
    for i in range(n):
        z_free.x[i] = z.x[i]
        marks.k[i] = 0
    count = choose_contacts(memory, head, alive)
    contact_rows(memory, head, count)
    n_rows = joint_rows(memory, head, alive)
    none, n_touched = 0.0 * alive, 0
    off, deep, gain = none, none, none
    if count + n_rows > 0:
        n_touched = touched_axes(memory, head)
        off = solve(memory, head, count, n_rows, n_touched, alive)
        active = fields(memory, LIST, 1, head.active[0])
        for m in range(count):
            gap = contacts.gap[active.k[m]]
            deep = where_less(deep, -gap, -gap, deep)
        for i in range(n):
            gain = gain + 0.5 * (z.x[i] - z_free.x[i]) * (z.x[i] + z_free.x[i])
    for i in range(n):
        v.x[i] = inverse_root.x[i] * z.x[i]
    outward_solve(tree, pairs, v)
    return (off, deep, gain, flat), (count, n_rows, n_touched)


@inline
def begin_step(memory, head):
    """Remember the state, and go to the coordinates at mid step."""
    tree, joints, _, q, v = views(memory, head)
    q_old = fields(memory, NUMBERS, LANES, head.q_old[0])
    v_old = fields(memory, NUMBERS, LANES, head.v_old[0])
    for i in range(head.nq[0]):
        q_old.x[i] = q.x[i]
    for i in range(head.n[0]):
        v_old.x[i] = v.x[i]
    if head.midpoint[0] == 1:
        move(tree, joints, q.x, v, head.dt[0] - head.half[0])


@inline
def end_step(memory, head):
    """Go on from the coordinates at mid step."""
    tree, joints, _, q, v = views(memory, head)
    table, rows = (
        fields(memory, JOINT_ROW, 1, head.joint_rows[0]),
        fields(memory, BOUND_ROW, LANES, head.rows[0]),
    )
    for r in range(head.n_rows[0]):
        if table.kind[r] == STOP:  # the sign of an impulse of a limit says which one it is
            rows.lam[r] = rows.lam[r] * rows.sign[r]
    move(tree, joints, q.x, v, head.half[0])


@inline
def judged(memory, head, alive, flat):
    """1 in lanes that have not blown up, and the cause in those that have."""
    v = fields(memory, NUMBERS, LANES, head.v[0])
    fast, broken = 0.0 * alive, 0.0 * alive
    for i in range(head.n[0]):
        size = magnitude(v.x[i])
        fast = where_less(head.fastest[0], size, 1.0, fast)
        broken = where_less(size, 1e300, broken, 1.0)
    cause = where_less(0.5, broken, BROKEN, where_less(0.5, fast, BLOWN, 0.0))
    cause = where_less(0.5, flat, FLAT, cause)
    return where_less(0.5, cause, 0.0, alive), cause


@inline
def restore(memory, head, fine):
    """Lanes that are not fine go back to the state before the step."""
    q, v = fields(memory, NUMBERS, LANES, head.q[0]), fields(memory, NUMBERS, LANES, head.v[0])
    q_old = fields(memory, NUMBERS, LANES, head.q_old[0])
    v_old = fields(memory, NUMBERS, LANES, head.v_old[0])
    contacts, rows = (
        fields(memory, CONTACT_ROW, LANES, head.contacts[0]),
        fields(memory, BOUND_ROW, LANES, head.rows[0]),
    )
    for i in range(head.nq[0]):
        q.x[i] = chosen(fine, q.x[i], q_old.x[i])
    for i in range(head.n[0]):
        v.x[i] = chosen(fine, v.x[i], v_old.x[i])
    for k in range(head.n_contacts[0]):
        lam = contacts.lam[k]
        contacts.lam[k] = chosen(fine, lam[0], 0.0), chosen(fine, lam[1], 0.0), chosen(fine, lam[2], 0.0)
    for r in range(head.n_rows[0]):
        rows.lam[r] = chosen(fine, rows.lam[r], 0.0)


@inline
def account(memory, head, state, alive, found):
    """Judge a step and put what it was like into the audit; blown states go back."""
    off, deep, gain, flat = found
    at = head.state_audit[0]
    fine, cause = judged(memory, head, alive, flat)
    restore(memory, head, fine)
    state[at + CAUSE] = where_less(0.5, alive, cause, state[at + CAUSE])
    state[at + TIME] = state[at + TIME] + fine * head.dt[0]
    state[at + STEPS] = state[at + STEPS] + fine
    unsolved = where_less(SOLVED, off, fine, 0.0)
    state[at + UNSOLVED] = state[at + UNSOLVED] + unsolved
    state[at + RESIDUAL] = chosen(fine, off, state[at + RESIDUAL])
    state[at + WORST] = chosen(fine, larger(off, state[at + WORST]), state[at + WORST])
    state[at + DEPTH] = chosen(fine, larger(deep, state[at + DEPTH]), state[at + DEPTH])
    state[at + GAIN] = chosen(fine, larger(gain, state[at + GAIN]), state[at + GAIN])


def step_states() -> Any:
    """The code of `code.step_states`."""
    lanes = LANES

    def run(table, memory_, size, begin, end, pairs_, times, unused, idle):
        memory = doubles(memory_, size)
        head = fields(memory, STEP, 1, 0)
        at = head.state_audit[0]
        for b in range(begin, end, lanes):
            rows = rows_by_pairs(pairs_, 6, b, lanes)
            state, friction = rows[0], rows[4][0]
            load(memory, head, rows)
            if times == 0:
                look(memory, head, friction)
                state[at + CAUSE] = factored(memory, head)
            for _ in range(times):
                alive = where_less(0.5, state[at + CAUSE], 0.0, 0.0 * friction + 1.0)
                if not any_positive(alive):
                    break
                begin_step(memory, head)
                found, _ = new_rates(memory, head, friction, alive)
                end_step(memory, head)
                account(memory, head, state, alive, found)
            unload(memory, head, state)
        return 1

    return compiled_callback(run, RANGE, "step-states", lanes)
