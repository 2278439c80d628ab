"""The right-hand side of a simulation: from time and state to forces, powers and rates.

A state has positions, velocities, states of components, integrals of errors, and the work of actuators,
ground, joint losses and external loads; the header says where the last two are. The rows q, qd, qdd and tau
have a number for every axis, those of mimic joints among them.
"""

from kinetree.kernels.aba import accelerate, articulate
from kinetree.kernels.axes import WORLD, centred_world, inward, outward, place_axis, turn_axes
from kinetree.kernels.coupled import law_at
from kinetree.kernels.external_load import apply_loads, tell_force, tell_load
from kinetree.kernels.ground import (
    CONTACT,
    FAR,
    FLAGS,
    plane_of,
    point_guards,
    point_motion,
    switch_point,
    touch_ground,
)
from kinetree.kernels.layout import Layout
from kinetree.kernels.number import accumulate, lanewise, nothing, sincos, where_less
from kinetree.kernels.piecewise import polynomials_at
from kinetree.kernels.torque_law import (
    COMPUTED,
    DESIRED,
    END,
    NO_MODEL,
    beyond_limits,
    joint_torque,
    limited,
    model_torque,
)
from kinetree.kernels.vectors import IDENTITY, ZERO3, dot, load3, scale_plus

LOCK = Layout(world=False, constant=True, axis=int, symmetric=int)  # middle axes of Euler-angle joints
GUARDS = FLAGS  # events of each contact point: see `kernels.ground.point_guards`


@lanewise
def split_state(head, axes, y, q, qd):
    """Positions and velocities of all axes out of a state; mimic joints follow functions of q_leader."""
    n, n_dof = len(q), head.n_dof[0]
    if n_dof == n:
        for i in range(n):
            q[i], qd[i] = y[i], y[n + i]
    else:
        for i in range(n):
            k = axes.dof[i]
            q[i] = axes.shift[i] + axes.ratio[i] * y[k]
            qd[i] = axes.ratio[i] * y[n_dof + k]
            if axes.piece[i] != END:
                value, slope, _bend = law_at(axes, i, y[k])
                q[i], qd[i] = value, slope * y[n_dof + k]
            a = axes.more[i]
            while a != END:
                q[i] = q[i] + axes.ratio[a] * y[axes.dof[a]]
                qd[i] = qd[i] + axes.ratio[a] * y[n_dof + axes.dof[a]]
                a = axes.more[a]


@lanewise
def bare_motion(tree, work, q, qd):
    """Places and velocities of all axes."""
    turn_axes(tree, work, q)
    work.R[WORLD], work.p[WORLD] = IDENTITY, centred_world(tree, q)
    work.w[WORLD], work.v[WORLD] = ZERO3, ZERO3
    for i in outward(len(q)):
        j = tree.parent[i]
        place_axis(tree, work, i, q[i], j, i)
        work.w[i] = scale_plus(qd[i], work.z[i], work.w[j])
        work.v[i] = scale_plus(qd[i], work.s[i], work.v[j])


@lanewise
def bare_of_forces(tree, work, q, qd):
    """Places and velocities of all axes, with no wrench on any of them yet."""
    bare_motion(tree, work, q, qd)
    for i in outward(len(q)):
        work.n[i], work.f[i] = ZERO3, ZERO3


@lanewise
def take_wrenches(tree, work, total):
    """Torques that do what the wrenches of the axes do, tau = J^T w; the axes carry minus what acts."""
    for i in inward(len(total)):
        n, f = work.n[i], work.f[i]
        total[i] = total[i] - dot(work.z[i], n) - dot(work.s[i], f)
        if tree.parent[i] != WORLD:
            accumulate(work.n, tree.parent[i], n)
            accumulate(work.f, tree.parent[i], f)


@lanewise
def apply_forces(head, work, plane, points, regions, loads, flags, contact):
    """Ground and loads into the wrenches of the axes; the power of each."""
    ground = touch_ground(head, work, plane, points, regions, flags, contact)
    return ground, apply_loads(work, loads, head.n_loads[0])


@lanewise
def tell_forces(head, work, plane, points, loads, contact, wrench):
    """The same forces as the model of a control law reads them, in the frames of the axes."""
    for k in range(head.n_points[0]):
        a, r, _ = point_motion(work, plane, points, k, plane_of(head, k))
        tell_force(wrench, work, a, r, load3(contact, CONTACT * k))
    for k in range(head.n_loads[0]):
        tell_load(wrench, work, loads, k)


@lanewise
def desire(head, memory, t, want, want_d, want_dd):
    """The desired motion at time t."""
    n = len(want)
    if head.desired_count[0] > 0:
        count, order = head.desired_count[0], head.desired_order[0]
        polynomials_at(memory, head.desired[0], count, order, n, t, want, want_d, want_dd)


@lanewise
def servo(head, axes, y, q, qd, want, want_d, want_dd, out):
    """kp e + kd ed + ki (integral of e): torques, or added accelerations ([Shah2013], 9.11)."""
    n = len(q)
    for i in range(n):
        x = 0.0 * q[i]
        if axes.actuated[i] == 1 and head.desired_count[0] > 0:
            x = axes.kp[i] * (want[i] - q[i]) + axes.kd[i] * (want_d[i] - qd[i])
            if head.integrating[0] == 1:
                x = x + axes.ki[i] * y[head.integral[0] + i]
            if head.mode[0] == COMPUTED:
                x = x + want_dd[i]
        out[i] = x


@lanewise
def asked_state(head, q, qd, feedback, want, want_d, want_dd, at_q, at_qd, at_qdd):
    """The state that the law's model is asked about: the present, the desired one, or the present at rest."""
    mode = head.mode[0]
    for i in range(len(q)):
        if mode == DESIRED:
            at_q[i], at_qd[i], at_qdd[i] = want[i], want_d[i], want_dd[i]
        elif mode == COMPUTED:
            at_q[i], at_qd[i], at_qdd[i] = q[i], qd[i], feedback[i]
        else:
            at_q[i], at_qd[i], at_qdd[i] = q[i], 0.0 * q[i], 0.0 * q[i]


@lanewise
def sum_torque(head, axes, memory, t, given, feedback, modelled, spare, tau):
    """All parts of the law, within the limits of the actuators."""
    mode, n = head.mode[0], len(tau)
    if head.table_count[0] > 0:
        count, order = head.table_count[0], head.table_order[0]
        polynomials_at(memory, head.table[0], count, order, n, t, tau, spare, spare)
    for i in range(n):
        x = given[i]
        if head.table_count[0] > 0:
            x = x + tau[i]
        if axes.actuated[i] == 1:
            if mode != COMPUTED:
                x = x + feedback[i]
            if mode != NO_MODEL:
                x = x + modelled[i]
        tau[i] = limited(x, axes.limit[i])


@lanewise
def model_part(head, model, law_work, base_work, at_q, at_qd, at_qdd, wrench, base, check, modelled):
    """The law's model-based torques."""
    if head.mode[0] != NO_MODEL:
        floating = head.floating[0] == 1 and head.mode[0] == COMPUTED
        model_torque(model, law_work, base_work, floating, at_q, at_qd, at_qdd, wrench, base, check, modelled)


@lanewise
def joint_torques(head, tree, axes, q, qd, tau, stops, total):
    """All torques together; the power of the law, and what joints lose."""
    power, lost = 0.0 * q[0], 0.0 * q[0]
    for i in range(len(q)):
        x = tau[i]
        power = power + x * qd[i]
        if axes.passive[i] == 1:
            above, below = beyond_limits(head, axes, i, q[i], stops)
            spring, loss = joint_torque(tree, axes, i, q[i], qd[i], head.slow[0], above, below)
            x, lost = x + spring + loss, lost + loss * qd[i]
        total[i] = x
    return power, lost


@lanewise
def move_freely(tree, work, q, qd, total, qdd):
    """Accelerations of a tree whose axes move independently of each other."""
    articulate(tree, work, q, qd, total, nothing(q))
    accelerate(tree, work, qdd)


@lanewise
def join_rates(head, axes, q, qd, qdd, tau, want, powers, dy):
    """The rates of a state; integrals of errors stand still while their actuator is at its limit."""
    n, n_dof, place = len(q), head.n_dof[0], head.integral[0]
    for i in range(n):
        if n_dof == n:
            dy[i], dy[n + i] = qd[i], qdd[i]
        elif axes.leads[i] == 1:
            k = axes.dof[i]
            dy[k], dy[n_dof + k] = qd[i], qdd[i]
    if head.integrating[0] == 1:
        for i in range(n):
            e, most = want[i] - q[i], axes.limit[i]
            blocked = where_less(tau[i], most, where_less(-most, tau[i], 0.0, -e), e)
            dy[place + i] = where_less(0.0, blocked, 0.0, e) * axes.actuated[i]
    place = head.energy[0]
    dy[place], dy[place + 1], dy[place + 2], dy[place + 3] = powers[0], powers[1], powers[2], powers[3]


@lanewise
def event_values(head, axes, work, plane, points, regions, locks, q, flags, g):
    """Guards of the contact points, room to the limits of every axis, distance from gimbal lock."""
    place, n = GUARDS * head.n_points[0], len(q)
    for k in range(head.n_points[0]):
        point_guards(head, work, plane, points, regions, k, flags, g)
    for i in range(n):
        if axes.bounded[i] == 1:
            g[place + i], g[place + n + i] = axes.upper[i] - q[i], q[i] - axes.lower[i]
        else:
            g[place + i], g[place + n + i] = FAR + 0.0 * q[i], FAR + 0.0 * q[i]
    for k in range(head.n_locks[0]):
        s, c = sincos(q[locks.axis[k]])
        x = c
        if locks.symmetric[k] == 1:
            x = s
        g[place + 2 * n + k] = x * x - head.lock_margin[0]


@lanewise
def switch_modes(head, axes, work, plane, points, regions, q, signal, flags, stops):
    """What the next steps hold of points and stops; see `kernels.ground.switch_point`."""
    place, n = GUARDS * head.n_points[0], len(q)
    for k in range(head.n_points[0]):
        switch_point(head, work, plane, points, regions, k, signal, flags)
    for i in range(n):
        above, below = signal[place + i], signal[place + n + i]
        signal[place + i], signal[place + n + i] = 0.0, 0.0
        if axes.stopped[i] == 1:
            up, low = axes.upper[i], axes.lower[i]
            stops[2 * i] = switched(stops[2 * i], above, where_less(up, q[i], 1.0, 0.0))
            stops[2 * i + 1] = switched(stops[2 * i + 1], below, where_less(q[i], low, 1.0, 0.0))
            signal[place + i], signal[place + n + i] = 1.0 - 2.0 * stops[2 * i], 1.0 - 2.0 * stops[2 * i + 1]
    for k in range(head.n_locks[0]):
        signal[place + 2 * n + k] = 0.0


@lanewise
def switched(flag, signal, reset):
    """The flag after a signal: 0 nothing, 1 the event occurred, 2 set it from the state."""
    return where_less(1.5, signal, reset, where_less(0.5, signal, 1.0 - flag, flag))
