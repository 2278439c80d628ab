"""The Jacobian of the right-hand side of a simulation as machine code with a C interface."""

from __future__ import annotations

from typing import Any

from kinetree.engine.door import carray, compiled_callback, inline, part
from kinetree.engine.lanes import fields, row_at
from kinetree.engine.lanes.calls import call
from kinetree.kernels import aba, rnea_gradient
from kinetree.kernels.external_load import LOAD, in_world
from kinetree.kernels.floating import BASE
from kinetree.kernels.force_slopes import (
    CHAIN,
    add_chain,
    add_rolling,
    contact_chain,
    given_chain,
    load_chain,
    moment_chain,
)
from kinetree.kernels.ground import CONTACT, FLAGS, PLANE, POINT, REGION, plane_of, point_motion
from kinetree.kernels.model_table import TREE
from kinetree.kernels.number import LANES, nothing
from kinetree.kernels.rates import joint_torques, move_freely
from kinetree.kernels.rates_jacobian import (
    COLUMNS,
    STRIP,
    add_lines,
    clear,
    factors,
    free_base,
    joint_slopes,
    law_slopes,
    mechanics,
    model_slopes,
    solve_matrix,
)
from kinetree.kernels.torque_law import AXIS, COMPUTED, DESIRED, NO_MODEL
from kinetree.kernels.vectors import load3, sub, transposed_times
from kinetree.simulation.compiled.component import COMPONENT
from kinetree.simulation.compiled.context import HEADER
from kinetree.simulation.compiled.rates import (
    RATES,
    ask_components,
    forces_in_state,
    place_of,
    take_own_torques,
)


@part
def _gradient(tree, work, packed, q, qd, qdd, tau):
    """Compiled once, called for the mechanism and for the law's model."""
    rnea_gradient.rnea_gradient(tree, work, packed, q, qd, qdd, tau)


@inline
def _law_slopes(memory, head, asked, packed, spare, law):
    """Slopes of the law's model before the forces that it is given; its posture stays in `asked`."""
    n, mode = head.n[0], head.mode[0]
    model, axes = fields(memory, TREE, 1, head.model[0]), fields(memory, AXIS, 1, head.axes[0])
    at_q, at_qd = row_at(memory, head.at_q[0], n, 1), row_at(memory, head.at_qd[0], n, 1)
    at_qdd = row_at(memory, head.at_qdd[0], n, 1)
    if mode == COMPUTED and head.floating[0] == 1:
        base = row_at(memory, head.base[0], BASE, 1)
        for i in range(BASE):
            at_qdd[i] = base[i]
    _gradient(model, asked, packed, at_q, at_qd, at_qdd, spare)
    clear(law, 2 * n * n)
    if mode != DESIRED:
        model_slopes(head, axes, model, packed, n, law)


@inline
def _tell(memory, head, work, asked, a, r, F, lever, chain, law):
    """The law's model opposes a force that it is given."""
    model = fields(memory, TREE, 1, head.model[0])
    moving = 0 if head.mode[0] == DESIRED else 1
    given_chain(model, work, asked, a, r, F, lever, moving, chain)
    add_chain(model, chain, a, -1.0, head.n[0], law)


@inline
def _ground_slopes(memory, head, tree, work, asked, contact, chain, A, law):
    """The forces of the ground, point by point; most points are in the air most of the time."""
    plane, points = fields(memory, PLANE, 1, head.plane[0]), fields(memory, POINT, 1, head.points[0])
    regions = fields(memory, REGION, 1, head.regions[0])
    flags = row_at(memory, head.flags[0], FLAGS * head.n_points[0], 1)
    for k in range(head.n_points[0]):
        F = load3(contact, CONTACT * k)
        if F[0] != 0.0 or F[1] != 0.0 or F[2] != 0.0:
            a = points.axis[k]
            contact_chain(head, tree, work, plane, points, regions, a, k, flags, contact, chain)
            add_chain(tree, chain, a, 1.0, head.n[0], A)
            if points.round[k] == 1:
                add_rolling(tree, chain, a, head.n[0], A)
            if len(law) > 0 and head.aware[0] == 1:
                _, r, _ = point_motion(work, plane, points, k, plane_of(head, k))
                place = transposed_times(work.R[a], sub(r, work.p[a]))
                _tell(memory, head, work, asked, a, place, F, 1, chain, law)


@inline
def _load_slopes(memory, head, tree, work, asked, chain, A, law):
    """External loads: force and moment, one after the other."""
    loads = fields(memory, LOAD, 1, head.loads[0])
    for k in range(2 * head.n_loads[0]):
        lever, k = 1 - k % 2, k // 2
        a, fixed = loads.axis[k], loads.fixed[k]
        if lever == 1:
            load_chain(tree, work, loads, a, k, chain)
            x = in_world(work.R[a], loads.force[k], fixed)
        else:
            moment_chain(tree, work, loads, a, k, chain)
            x = in_world(work.R[a], loads.moment[k], fixed)
        add_chain(tree, chain, a, 1.0, head.n[0], A)
        if len(law) > 0 and head.aware[0] == 1:
            _tell(memory, head, work, asked, a, loads.r[k], x, lever, chain, law)


@inline
def _component_slopes(t, y_, J_, context_, memory, head):
    """Let components turn slopes of the law's torques into those of what they make of them."""
    parts, place = fields(memory, COMPONENT, 1, head.components[0]), place_of(context_)
    for k in range(head.n_components[0]):
        if parts.slopes[k] != 0:
            where = (place_of(y_), place_of(J_), place, place + 8 * parts.own[k])
            if call(parts.slopes[k], t, where) != 0:
                return 1
    return 0


def jacobian() -> Any:
    """The callback (t, y*, J*, context*) that fills J (n + more, 2 n + more), the slopes of ``rates(1)``.

    The first n lines are those of qdd, the others those of the states of components, by positions,
    velocities and these states. For one simulation whose context is ``stiff``; else it answers 1. The slopes
    are exact, at kinks those of one side; slopes by the integrals of errors are left out. A model that a law
    believes must have the parents of the mechanism.

    While components are asked, the first n lines are the slopes of the torques ``tau``, not yet of qdd.
    """
    forces = forces_in_state(1)

    def run(t, y_, J_, context_):
        memory = carray(context_, (1,))
        head = fields(memory, HEADER, 1, 0)
        n, more = head.n[0], head.more[0]
        width = 2 * n + more
        if head.slope_pairs[0] == head.slope_chain[0]:  # no room between them
            return 1
        y = row_at(carray(y_, (1,)), 0, head.size[0], 1)
        J = row_at(carray(J_, (1,)), 0, (n + more) * width, 1)
        A = J if more == 0 else row_at(memory, head.slope_free[0], 2 * n * n, 1)
        tree, axes = fields(memory, TREE, 1, head.tree[0]), fields(memory, AXIS, 1, head.axes[0])
        work = fields(memory, aba.SLOTS, 1, head.work[0])
        q, qd = row_at(memory, head.q[0], n, 1), row_at(memory, head.qd[0], n, 1)
        contact = row_at(memory, head.contact[0], CONTACT * head.n_points[0], 1)
        tau, qdd = row_at(memory, head.tau[0], n, 1), row_at(memory, head.qdd[0], n, 1)
        total, held = row_at(memory, head.total[0], n, 1), row_at(memory, head.held[0], n, 1)
        forces(t, y, y_, context_, memory, head, work, q, qd)
        if head.sampled[0] == 1:
            for i in range(n):
                tau[i] = held[i]
        else:
            take_own_torques(t, y_, context_, memory, head, row_at(memory, head.given[0], n, 1), tau)
        command = row_at(memory, head.command[0], n, 1)
        for i in range(n):
            command[i] = tau[i]
        if head.n_components[0] > 0:
            dy = place_of(context_) + 8 * head.slope_rates[0]
            if ask_components(t, y_, dy, context_, memory, head) != 0:
                return 1
        stops = row_at(memory, head.stops[0], 2 * n, 1)
        joint_torques(head, tree, axes, q, qd, tau, stops, total)
        move_freely(tree, work, q, qd, total, qdd)

        motion = fields(memory, rnea_gradient.SLOTS, 1, head.slope_work[0])
        packed = fields(memory, rnea_gradient.ENTRIES, 1, head.slope_pairs[0])
        chain = fields(memory, CHAIN, 1, head.slope_chain[0])
        law = nothing(A)
        _gradient(tree, motion, packed, q, qd, qdd, total)
        clear(A, 2 * n * n)
        mechanics(tree, packed, n, A)
        if head.mode[0] != NO_MODEL and head.sampled[0] == 0:
            law = row_at(memory, head.slope_law[0], 2 * n * n, 1)
            _law_slopes(memory, head, motion, packed, total, law)
        _ground_slopes(memory, head, tree, work, motion, contact, chain, A, law)
        _load_slopes(memory, head, tree, work, motion, chain, A, law)
        if len(law) > 0 and head.mode[0] == COMPUTED and head.floating[0] == 1:
            model = fields(memory, TREE, 1, head.model[0])
            free_base(model, packed, n, row_at(memory, head.slope_chain[0], BASE * BASE, 1), law)
        joint_slopes(head, tree, axes, q, qd, stops, A)
        if more > 0:
            clear(J, (n + more) * width)
        law_slopes(head, axes, command, law, n, width, J)
        if head.n_components[0] > 0 and _component_slopes(t, y_, J_, context_, memory, head) != 0:
            return 1
        if more > 0:
            add_lines(A, n, width, J)
        factors(tree, work, n, packed)
        strip = fields(memory, STRIP, LANES, head.slope_work[0])
        numbers = row_at(memory, head.slope_work[0], n * COLUMNS, 1)
        solve_matrix(tree, work, n, width, packed, strip, numbers, J)
        return 0

    return compiled_callback(run, RATES, "jacobian")
