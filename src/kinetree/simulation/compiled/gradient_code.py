"""Steps with their exact derivatives as machine code: what is smooth in them, and the laws that are active.

With w = mid - v and d = v+ - v, where mid is the speed that the bias is evaluated with again,
  2 A w = dt f(q, v),   A d = dt f(q, v) + dt (b(q, v) - b(q, mid)) + J^T lam,
and the derivatives of both are those of inverse dynamics at changes 2 w and d: P1, C1 by q and v, P2 by q
with the impulses as loads, B2 by mid. So, with W = B2 A^-1 / 2,
  A dd = (W P1 - P2) dq + (W C1 - B2 - dt D) dv + dt (1 - W) dtau + J^T dlam,
and the laws of contact give dlam (`contact_gradient`). Derivatives by q are along rates: of a ball about the
axes of its body.
"""

from __future__ import annotations

from typing import Any

from kinetree.engine.door import compiled_callback, inline, part
from kinetree.engine.lanes import fields
from kinetree.engine.lanes.objects import doubles, rows_by_pairs
from kinetree.kernels.number import LANES, square_root, where_less
from kinetree.simulation.compiled.contact_gradient import (
    along_three,
    back_along,
    clear_loads,
    contact_laws,
    joint_laws,
    lay_impulses,
)
from kinetree.simulation.compiled.coulomb import larger
from kinetree.simulation.compiled.step_code import (
    RANGE,
    account,
    begin_step,
    end_step,
    load,
    new_rates,
    servo_errors,
    unload,
    views,
)
from kinetree.simulation.compiled.step_gradient import (
    SLOPES,
    inward_three,
    motion_of,
    motion_slopes,
    outward_three,
    torque_slopes,
    turned_by,
)
from kinetree.simulation.compiled.step_memory import CAUSE, FILL, LIST, REACH, STEP, TRIPLE
from kinetree.simulation.compiled.stepping import (
    ALONE,
    BALL,
    NUMBERS,
    PAIRS,
    inward_solve,
    outward_solve,
)

UNKNOWN = 1e30  # m/s: no contact is near another state


@inline
def pull_slopes(memory, head, by_q):
    """What springs and servos add to derivatives by q."""
    tree, joints, _, _, _ = views(memory, head)
    n, dt = head.n[0], head.dt[0]
    kp, error = fields(memory, NUMBERS, LANES, head.kp[0]), fields(memory, NUMBERS, LANES, head.x[0])
    servo_errors(memory, head, error)
    for i in range(n):
        at = i * n + i
        if joints.role[i] == ALONE:
            by_q.x[at] = by_q.x[at] + dt * (kp.x[i] + tree.stiffness[i])
        elif joints.role[i] == BALL:  # of e = 2 vec(q^-1 d): de = -(w 1 - vec~) times a turn
            a, b, c = 0.5 * error.x[i], 0.5 * error.x[i + 1], 0.5 * error.x[i + 2]
            w = square_root(larger(1.0 - (a * a + b * b + c * c), 0.0))
            x, y, z = dt * kp.x[i], dt * kp.x[i + 1], dt * kp.x[i + 2]
            by_q.x[at] = by_q.x[at] + x * w
            by_q.x[at + 1] = by_q.x[at + 1] - y * c
            by_q.x[at + 2] = by_q.x[at + 2] + z * b
            by_q.x[at + n] = by_q.x[at + n] + x * c
            by_q.x[at + n + 1] = by_q.x[at + n + 1] + y * w
            by_q.x[at + n + 2] = by_q.x[at + n + 2] - z * a
            by_q.x[at + 2 * n] = by_q.x[at + 2 * n] - x * b
            by_q.x[at + 2 * n + 1] = by_q.x[at + 2 * n + 1] + y * a
            by_q.x[at + 2 * n + 2] = by_q.x[at + 2 * n + 2] + z * w


@inline
def drag_of(memory, head, tree, i):
    """What dampers, and springs at the end of the step, add to derivatives by the rate of axis i."""
    kp, kd = fields(memory, NUMBERS, LANES, head.kp[0]), fields(memory, NUMBERS, LANES, head.kd[0])
    k, c = kp.x[i] + tree.stiffness[i], kd.x[i] + tree.viscous[i]
    return head.dt[0] * (c + head.half[0] * k)


@part
def smooth_slopes(memory, head, count):
    """P1, C1, P2 and B2, at the coordinates at mid step."""
    tree, joints, work, _, v = views(memory, head)
    n, dt = head.n[0], head.dt[0]
    more = fields(memory, SLOPES, LANES, head.slopes[0])
    v_old, mid = fields(memory, NUMBERS, LANES, head.v_old[0]), fields(memory, NUMBERS, LANES, head.mid[0])
    change = fields(memory, NUMBERS, LANES, head.x[0])
    P1, C1 = (
        fields(memory, NUMBERS, LANES, head.first_q[0]),
        fields(memory, NUMBERS, LANES, head.first_v[0]),
    )
    P2, B2 = (
        fields(memory, NUMBERS, LANES, head.second_q[0]),
        fields(memory, NUMBERS, LANES, head.second_v[0]),
    )
    for i in range(n):
        change.x[i] = 2.0 * (mid.x[i] - v_old.x[i])
    motion_slopes(tree, joints, work, more, v_old, change, 1.0 / dt)
    clear_loads(tree, more)
    torque_slopes(tree, joints, work, more, dt, P1, C1)
    pull_slopes(memory, head, P1)
    for i in range(n):
        C1.x[i * n + i] = C1.x[i * n + i] + drag_of(memory, head, tree, i)
        change.x[i] = v.x[i] - v_old.x[i]
    motion_slopes(tree, joints, work, more, mid, change, 1.0 / dt)
    clear_loads(tree, more)
    if head.n_points[0] > 0:
        lay_impulses(memory, head, count)
    torque_slopes(tree, joints, work, more, dt, P2, B2)
    pull_slopes(memory, head, P2)
    motion_of(tree, joints, work, v, more.w, more.v)
    if head.restitution[0] > 0.0:
        motion_of(tree, joints, work, v_old, more.wo, more.vo)


@part
def middle_slopes(memory, head):
    """W = B2 A^-1 / 2, line by line: A is symmetric."""
    tree, _, _, _, _ = views(memory, head)
    n = head.n[0]
    B2, W = fields(memory, NUMBERS, LANES, head.second_v[0]), fields(memory, NUMBERS, LANES, head.middle[0])
    x, pairs = fields(memory, TRIPLE, LANES, head.column[0]), fields(memory, PAIRS, LANES, head.pairs[0])
    inverse_root = fields(memory, NUMBERS, LANES, head.inverse_root[0])
    for r in range(0, n, 3):
        b, c = min(r + 1, n - 1), min(r + 2, n - 1)
        for a in range(n):
            x.y[a] = 0.5 * B2.x[a * n + r], 0.5 * B2.x[a * n + b], 0.5 * B2.x[a * n + c]
        inward_three(tree, pairs, x)
        for i in range(n):
            s, t = inverse_root.x[i] * inverse_root.x[i], x.y[i]
            x.y[i] = s * t[0], s * t[1], s * t[2]
        outward_three(tree, pairs, x)
        for i in range(n):
            t = x.y[i]
            W.x[r * n + i], W.x[b * n + i], W.x[c * n + i] = t[0], t[1], t[2]


@inline
def right_hand_sides(memory, head, c):
    """Column c of the derivatives by q, v and torques, before the laws and A^-1, in ``column``."""
    tree, _, _, _, _ = views(memory, head)
    n, dt = head.n[0], head.dt[0]
    x, W = fields(memory, TRIPLE, LANES, head.column[0]), fields(memory, NUMBERS, LANES, head.middle[0])
    P1, C1 = (
        fields(memory, NUMBERS, LANES, head.first_q[0]),
        fields(memory, NUMBERS, LANES, head.first_v[0]),
    )
    P2, B2 = (
        fields(memory, NUMBERS, LANES, head.second_q[0]),
        fields(memory, NUMBERS, LANES, head.second_v[0]),
    )
    kin, near = fields(memory, FILL, 1, head.kin[0]), fields(memory, REACH, 1, head.near_kin[0])
    start, length = near.start[c], near.length[c]
    none = 0.0 * W.x[0]
    for i in range(0, n, 4):  # four lines at once: what is read of P1 and C1 serves all of them
        j, k, m = min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
        p, q, r, s, t, u, v, w = none, none, none, none, none, none, none, none
        for e in range(start, start + length):
            a = kin.axis[e]
            f, g = P1.x[c * n + a], C1.x[c * n + a]
            y = W.x[i * n + a]
            p, q = p + y * f, q + y * g
            y = W.x[j * n + a]
            r, s = r + y * f, s + y * g
            y = W.x[k * n + a]
            t, u = t + y * f, u + y * g
            y = W.x[m * n + a]
            v, w = v + y * f, w + y * g
        x.y[m], x.y[k] = (v, w, -dt * W.x[m * n + c]), (t, u, -dt * W.x[k * n + c])
        x.y[j], x.y[i] = (r, s, -dt * W.x[j * n + c]), (p, q, -dt * W.x[i * n + c])
    for e in range(start, start + length):
        a = kin.axis[e]
        t = x.y[a]
        x.y[a] = t[0] - P2.x[c * n + a], t[1] - B2.x[c * n + a], t[2]
    t = x.y[c]
    x.y[c] = t[0], t[1] - drag_of(memory, head, tree, c), t[2] + dt


@part
def solve_columns(memory, head, found):
    """All derivatives of the rates after the step, by q at mid step, v and torques of one axis at a time."""
    tree, _, _, _, _ = views(memory, head)
    n = head.n[0]
    x, pairs = fields(memory, TRIPLE, LANES, head.column[0]), fields(memory, PAIRS, LANES, head.pairs[0])
    inverse_root = fields(memory, NUMBERS, LANES, head.inverse_root[0])
    answer = fields(memory, NUMBERS, LANES, head.answer[0])
    for c in range(n):
        right_hand_sides(memory, head, c)
        inward_three(tree, pairs, x)
        for i in range(n):
            s, t = inverse_root.x[i], x.y[i]
            x.y[i] = s * t[0], s * t[1], s * t[2]
        for r in range(found):
            along_three(memory, head, r, c)
        for i in range(n):
            s, t = inverse_root.x[i], x.y[i]
            x.y[i] = s * t[0], s * t[1], s * t[2]
        outward_three(tree, pairs, x)
        t = x.y[c]
        x.y[c] = t[0], t[1] + 1.0, t[2]
        for i in range(n):
            t = x.y[i]
            answer.x[c * n + i] = t[0]
            answer.x[(n + c) * n + i] = t[1]
            answer.x[(2 * n + c) * n + i] = t[2]


@part
def over_first_half(memory, head):
    """Derivatives by coordinates before the step in place of those at mid step."""
    _, joints, _, _, _ = views(memory, head)
    n, h = head.n[0], head.dt[0] - head.half[0]
    answer, v = (
        fields(memory, NUMBERS, LANES, head.answer[0]),
        fields(memory, NUMBERS, LANES, head.v_old[0]),
    )
    for i in range(n):
        at, by_v = i * n, (n + i) * n
        if joints.role[i] == ALONE:
            for r in range(n):
                answer.x[by_v + r] = answer.x[by_v + r] + h * answer.x[at + r]
        elif joints.role[i] == BALL:
            R, J = turned_by(h * v.x[i], h * v.x[i + 1], h * v.x[i + 2])
            for r in range(n):
                a, b, c = answer.x[at + r], answer.x[at + n + r], answer.x[at + 2 * n + r]
                for k in range(3):
                    p = R[k] * a + R[3 + k] * b + R[6 + k] * c
                    q = h * (J[k] * a + J[3 + k] * b + J[6 + k] * c)
                    answer.x[at + k * n + r] = p
                    answer.x[by_v + k * n + r] = answer.x[by_v + k * n + r] + q


@inline
def put(by_state, by_torque, memory, head):
    """All derivatives into arrays, line by line: those of coordinates first, then those of rates."""
    _, joints, _, _, v = views(memory, head)
    n, h, first = head.n[0], head.half[0], head.dt[0] - head.half[0]
    answer, v_old = (
        fields(memory, NUMBERS, LANES, head.answer[0]),
        fields(memory, NUMBERS, LANES, head.v_old[0]),
    )
    for r in range(n):
        up, low = r * 2 * n, (n + r) * 2 * n
        for c in range(2 * n):
            x = answer.x[c * n + r]
            by_state[low + c], by_state[up + c] = x, h * x
        up, low = r * n, (n + r) * n
        for c in range(n):
            x = answer.x[(2 * n + c) * n + r]
            by_torque[low + c], by_torque[up + c] = x, h * x
    for i in range(n):
        at = i * 2 * n + i
        if joints.role[i] == ALONE:
            by_state[at] = by_state[at] + 1.0
            by_state[at + n] = by_state[at + n] + first
        elif joints.role[i] == BALL:
            R, J = turned_by(h * v.x[i], h * v.x[i + 1], h * v.x[i + 2])
            Q, K = turned_by(first * v_old.x[i], first * v_old.x[i + 1], first * v_old.x[i + 2])
            for k in range(3):
                for c in range(3 * n):
                    e = c * n + i
                    a, b, d = answer.x[e], answer.x[e + 1], answer.x[e + 2]
                    x = h * (J[3 * k] * a + J[3 * k + 1] * b + J[3 * k + 2] * d)
                    if c < 2 * n:
                        by_state[(i + k) * 2 * n + c] = x
                    else:
                        by_torque[(i + k) * n + c - 2 * n] = x
                for m in range(3):
                    x = R[3 * k] * Q[m] + R[3 * k + 1] * Q[3 + m] + R[3 * k + 2] * Q[6 + m]
                    y = R[3 * k] * K[m] + R[3 * k + 1] * K[3 + m] + R[3 * k + 2] * K[6 + m]
                    at = (i + k) * 2 * n + i + m
                    by_state[at] = by_state[at] + x
                    by_state[at + n] = by_state[at + n] + first * y


@inline
def active_laws(memory, head, counts):
    """The smooth part of a step and the laws that are active; how many rows these have, and the margin."""
    count, n_rows, n_touched = counts
    fields(memory, LIST, 1, head.counts[0]).k[0] = n_touched
    smooth_slopes(memory, head, count)
    probe, v = fields(memory, NUMBERS, LANES, head.b[0]), fields(memory, NUMBERS, LANES, head.v[0])
    none = 0.0 * v.x[0]
    for i in range(head.n[0]):
        probe.x[i] = none
    margin, found = none + UNKNOWN, 0
    for m in range(count):
        found, margin = contact_laws(memory, head, m, found, margin)
    if n_rows > 0:
        found, margin = joint_laws(memory, head, n_rows, found, margin)
    return found, margin


@part
def step_slopes(memory, head, counts):
    """Derivatives of the rates after a step, in ``answer``; answers the margin (m/s) of contacts."""
    found, margin = active_laws(memory, head, counts)
    middle_slopes(memory, head)
    solve_columns(memory, head, found)
    over_first_half(memory, head)
    return margin


@inline
def through_last_half(memory, head, seeds, x, by_q):
    """Slopes by the rates after the step in ``x``, and by the coordinates at mid step in ``by_q``."""
    _, joints, _, _, v = views(memory, head)
    n, h = head.n[0], head.half[0]
    for i in range(n):
        if joints.role[i] == ALONE:
            by_q.x[i], x.x[i] = seeds[i], seeds[n + i] + h * seeds[i]
        elif joints.role[i] == BALL:
            R, J = turned_by(h * v.x[i], h * v.x[i + 1], h * v.x[i + 2])
            a, b, c = seeds[i], seeds[i + 1], seeds[i + 2]
            for k in range(3):
                by_q.x[i + k] = R[k] * a + R[3 + k] * b + R[6 + k] * c
                x.x[i + k] = seeds[n + i + k] + h * (J[k] * a + J[3 + k] * b + J[6 + k] * c)


@inline
def through_first_half(memory, head, out, by_q):
    """Slopes by the coordinates before the step from those at mid step, and what rates do to these."""
    _, joints, _, _, _ = views(memory, head)
    n, h = head.n[0], head.dt[0] - head.half[0]
    v = fields(memory, NUMBERS, LANES, head.v_old[0])
    for i in range(n):
        if joints.role[i] == ALONE:
            out[i] = by_q.x[i]
            out[n + i] = out[n + i] + h * by_q.x[i]
        elif joints.role[i] == BALL:
            R, J = turned_by(h * v.x[i], h * v.x[i + 1], h * v.x[i + 2])
            a, b, c = by_q.x[i], by_q.x[i + 1], by_q.x[i + 2]
            for k in range(3):
                out[i + k] = R[k] * a + R[3 + k] * b + R[6 + k] * c
                out[n + i + k] = out[n + i + k] + h * (J[k] * a + J[3 + k] * b + J[6 + k] * c)


@inline
def add_transposed(memory, head, A, x, share, y):
    """y += share A^T x, of a matrix with the sparsity of the tree."""
    n = head.n[0]
    kin, near = fields(memory, FILL, 1, head.kin[0]), fields(memory, REACH, 1, head.near_kin[0])
    for c in range(n):
        total = 0.0 * y.x[c]
        for e in range(near.start[c], near.start[c] + near.length[c]):
            a = kin.axis[e]
            total = total + A.x[c * n + a] * x.x[a]
        y.x[c] = y.x[c] + share * total


@part
def smooth_back(memory, head, by_q, out):
    """Slopes by coordinates, rates and torques from those ``x`` by the right-hand side A dd is equal to."""
    tree, _, _, _, _ = views(memory, head)
    n, dt = head.n[0], head.dt[0]
    x, s = fields(memory, NUMBERS, LANES, head.x[0]), fields(memory, NUMBERS, LANES, head.mid[0])
    by_v = fields(memory, NUMBERS, LANES, head.bias[0])
    inverse_root = fields(memory, NUMBERS, LANES, head.inverse_root[0])
    P1, C1 = (
        fields(memory, NUMBERS, LANES, head.first_q[0]),
        fields(memory, NUMBERS, LANES, head.first_v[0]),
    )
    P2, B2 = (
        fields(memory, NUMBERS, LANES, head.second_q[0]),
        fields(memory, NUMBERS, LANES, head.second_v[0]),
    )
    pairs = fields(memory, PAIRS, LANES, head.pairs[0])
    none = 0.0 * x.x[0]
    for i in range(n):
        s.x[i] = none
    add_transposed(memory, head, B2, x, 1.0, s)
    for i in range(n):
        by_v.x[i] = by_v.x[i] - s.x[i] - drag_of(memory, head, tree, i) * x.x[i]
    inward_solve(tree, pairs, s)
    for i in range(n):
        s.x[i] = 0.5 * s.x[i] * inverse_root.x[i] * inverse_root.x[i]
    outward_solve(tree, pairs, s)
    add_transposed(memory, head, P2, x, -1.0, by_q)
    add_transposed(memory, head, P1, s, 1.0, by_q)
    add_transposed(memory, head, C1, s, 1.0, by_v)
    for i in range(n):
        out[n + i], out[2 * n + i] = by_v.x[i], dt * (x.x[i] - s.x[i])


@part
def pull_back(memory, head, counts, seeds, out):
    """Slopes of a function by the state before a step and torques, from those by the state after it.

    Answers the margin (m/s) of contacts.
    """
    tree, _, _, _, _ = views(memory, head)
    n = head.n[0]
    x, by_q = fields(memory, NUMBERS, LANES, head.x[0]), fields(memory, NUMBERS, LANES, head.bias_mid[0])
    by_v = fields(memory, NUMBERS, LANES, head.bias[0])
    inverse_root = fields(memory, NUMBERS, LANES, head.inverse_root[0])
    pairs = fields(memory, PAIRS, LANES, head.pairs[0])
    found, margin = active_laws(memory, head, counts)
    through_last_half(memory, head, seeds, x, by_q)
    for i in range(n):
        by_v.x[i] = x.x[i]
    inward_solve(tree, pairs, x)
    for i in range(n):
        x.x[i] = x.x[i] * inverse_root.x[i]
    for r in range(found - 1, -1, -1):
        back_along(memory, head, r, by_q, by_v)
    for i in range(n):
        x.x[i] = x.x[i] * inverse_root.x[i]
    outward_solve(tree, pairs, x)
    smooth_back(memory, head, by_q, out)
    through_first_half(memory, head, out, by_q)
    return margin


def step_derivatives() -> Any:
    """The code of `code.step_derivatives`."""
    lanes = LANES

    def run(table, memory_, size, begin, end, pairs_, backward, idle, more):
        memory = doubles(memory_, size)
        head = fields(memory, STEP, 1, 0)
        at = head.state_audit[0]
        for b in range(begin, end, lanes):
            rows = rows_by_pairs(pairs_, 9, b, lanes)
            state, friction = rows[0], rows[4][0]
            load(memory, head, rows)
            alive = where_less(0.5, state[at + CAUSE], 0.0, 0.0 * friction + 1.0)
            begin_step(memory, head)
            found, counts = new_rates(memory, head, friction, alive)
            if backward == 1:
                rows[6][0] = pull_back(memory, head, counts, rows[7], rows[8])
            else:
                rows[6][0] = step_slopes(memory, head, counts)
                put(rows[7], rows[8], memory, head)
            end_step(memory, head)
            account(memory, head, state, alive, found)
            unload(memory, head, state)
        return 1

    return compiled_callback(run, RANGE, "step-derivatives", lanes)
