"""The right-hand side of simulations as machine code with a C interface, for 1 or 4 simulations at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.engine.door import FLOAT, INTEGER, NUMBERS, carray, compiled_callback, inline
from kinetree.engine.lanes import fields, row_at
from kinetree.engine.lanes.calls import address_of, call
from kinetree.kernels import aba
from kinetree.kernels.external_load import LOAD
from kinetree.kernels.ground import FLAGS, PLANE, POINT, REGION
from kinetree.kernels.model_table import TREE
from kinetree.kernels.rates import (
    GUARDS,
    LOCK,
    bare_motion,
    bare_of_forces,
    desire,
    event_values,
    join_rates,
    joint_torques,
    move_freely,
    split_state,
    switch_modes,
    take_wrenches,
)
from kinetree.kernels.torque_law import AXIS, limited
from kinetree.simulation.compiled.component import COMPONENT, DRIVING, LOST
from kinetree.simulation.compiled.context import HEADER
from kinetree.simulation.compiled.terrain import planes_in_state

RATES = INTEGER(FLOAT, NUMBERS, NUMBERS, NUMBERS)
SAMPLE = INTEGER(FLOAT, NUMBERS, NUMBERS)
OF_COMPONENT = INTEGER(FLOAT, NUMBERS, NUMBERS, NUMBERS, NUMBERS)
LOAD_WIDTH, LOAD_FORCE = LOAD.width, LOAD.places["force"][0]  # the moment follows the force


@inline
def place_of(pointer):
    """A pointer as a number."""
    return address_of(carray(pointer, (1, 1)), 0)


@inline
def ask_laws(t, y_, context_, memory, head):
    """Let components fill the given torques; not zero if one wants to stop."""
    parts, place = fields(memory, COMPONENT, 1, head.components[0]), place_of(context_)
    for k in range(head.n_components[0]):
        if parts.law[k] != 0:
            where = (place_of(y_), place + 8 * head.given[0], place, place + 8 * parts.own[k])
            if call(parts.law[k], t, where) != 0:
                return 1
    return 0


@inline
def ask_components(t, y_, dy, context_, memory, head):
    """Let components change the torques and tell the rates of their states, at an address."""
    parts, place = fields(memory, COMPONENT, 1, head.components[0]), place_of(context_)
    for k in range(head.n_components[0]):
        if parts.rates[k] != 0:
            where = (place_of(y_), dy, place, place + 8 * parts.own[k])
            if call(parts.rates[k], t, where) != 0:
                return 1
    return 0


def forces_in_state(lanes: int, models: int = 1, move: Any = aba.biased_motion) -> Any:
    """forces(t, y, y_, context_, memory, head, work, q, qd): place, motion, forces; answers their powers."""

    def forces(t, y, y_, context_, memory, head, work, q, qd):
        split_state(head, fields(memory, AXIS, 1, head.axes[0]), y, q, qd)
        move(fields(memory, TREE, models, head.tree[0]), work, q, qd)
        applied = row_at(memory, head.applied[0], 2, lanes)
        if head.forces[0] != 0:
            call(head.forces[0], t, (place_of(y_), place_of(context_)))
        else:
            applied[0], applied[1] = 0.0 * q[0], 0.0 * q[0]
        return applied

    return inline(forces)


@inline
def take_own_torques(t, y_, context_, memory, head, given, tau):
    """The built-in law's torques into tau; torques that are given are only limited."""
    if head.law[0] != 0:
        call(head.law[0], t, (place_of(y_), place_of(context_)))
    else:
        axes = fields(memory, AXIS, 1, head.axes[0])
        for i in range(len(tau)):
            tau[i] = limited(given[i], axes.limit[i])


@inline
def nothing_more(head, tree, work, total):
    """General code finds motions from the wrenches themselves."""


@inline
def take_wrenches_if_any(head, tree, work, total):
    """Code for one mechanism knows torques alone."""
    if head.placed[0] != 0:
        take_wrenches(tree, work, total)


def forces_if_any(lanes: int) -> Any:
    """What `forces_in_state` makes, with axes placed only where something acts on them."""
    placed = forces_in_state(lanes, 1, bare_of_forces)

    def forces(t, y, y_, context_, memory, head, work, q, qd):
        if head.placed[0] != 0:
            return placed(t, y, y_, context_, memory, head, work, q, qd)
        split_state(head, fields(memory, AXIS, 1, head.axes[0]), y, q, qd)
        applied = row_at(memory, head.applied[0], 2, lanes)
        applied[0], applied[1] = 0.0 * q[0], 0.0 * q[0]
        return applied

    return inline(forces)


def rates(lanes: int, models: int = 1) -> Any:
    """The C callback (t, y*, dy*, context*) with the rates of `lanes` states, one after the other.

    All states are of one mechanism, or, if there are as many ``models``, each of its own.
    """
    run = _rates(lanes, models, forces_in_state(lanes, models), nothing_more)
    return compiled_callback(run, RATES, _named("rates", lanes, models))


def made_rates(lanes: int) -> Any:
    """The C callback of `rates` for mechanisms whose accelerations are found by code made for them."""
    run = _rates(lanes, 1, forces_if_any(lanes), take_wrenches_if_any)
    return compiled_callback(run, RATES, _named("made-rates", lanes, 1))


def _rates(lanes: int, models: int, forces: Any, finish: Any) -> Any:
    def run(t, y_, dy_, context_):
        memory = carray(context_, (1,))
        head = fields(memory, HEADER, 1, 0)
        n, size = head.n[0], head.size[0]
        y, dy = row_at(carray(y_, (1,)), 0, size, lanes), row_at(carray(dy_, (1,)), 0, size, lanes)
        work = fields(memory, aba.SLOTS, lanes, head.work[0])
        q, qd = row_at(memory, head.q[0], n, lanes), row_at(memory, head.qd[0], n, lanes)
        applied = forces(t, y, y_, context_, memory, head, work, q, qd)
        tau, want = row_at(memory, head.tau[0], n, lanes), row_at(memory, head.want[0], n, lanes)
        if head.sampled[0] == 1:
            held = row_at(memory, head.held[0], n, lanes)
            for i in range(n):
                tau[i] = held[i]
            if head.integrating[0] == 1:  # the integrals go on between sampling instants
                want_d = row_at(memory, head.want_d[0], n, lanes)
                desire(head, memory, t, want, want_d, row_at(memory, head.want_dd[0], n, lanes))
        else:
            if ask_laws(t, y_, context_, memory, head) != 0:
                return 1
            take_own_torques(t, y_, context_, memory, head, row_at(memory, head.given[0], n, lanes), tau)
        command = tau
        if head.n_components[0] > 0:
            command = row_at(memory, head.command[0], n, lanes)
            for i in range(n):
                command[i] = tau[i]
            powers = row_at(memory, head.powers[0], 2, lanes)
            powers[DRIVING], powers[LOST] = 0.0 * q[0], 0.0 * q[0]
            if ask_components(t, y_, place_of(dy_), context_, memory, head) != 0:
                return 1
        tree, axes = fields(memory, TREE, models, head.tree[0]), fields(memory, AXIS, 1, head.axes[0])
        total, qdd = row_at(memory, head.total[0], n, lanes), row_at(memory, head.qdd[0], n, lanes)
        stops = row_at(memory, head.stops[0], 2 * n, 1)
        actuator, lost = joint_torques(head, tree, axes, q, qd, tau, stops, total)
        if head.n_components[0] > 0:
            powers = row_at(memory, head.powers[0], 2, lanes)
            actuator, lost = actuator + powers[DRIVING], lost + powers[LOST]
        if head.motion[0] == 0:
            move_freely(tree, work, q, qd, total, qdd)
        else:
            finish(head, tree, work, total)
            place = place_of(context_)
            own = place + 8 * head.motion_own[0]
            if call(head.motion[0], t, (place_of(y_), place_of(dy_), place, own)) != 0:
                return 1
        join_rates(head, axes, q, qd, qdd, command, want, (actuator, applied[0], lost, applied[1]), dy)
        return 0

    return run


def _named(name: str, lanes: int, models: int) -> str:
    return f"{name}-{lanes}" + (f"-{models}" if models > 1 else "")


def sample(lanes: int, models: int = 1) -> Any:
    """The C callback (t, y*, context*) that takes the law's torques, holds them and logs them."""
    forces = forces_in_state(lanes, models)

    def run(t, y_, context_):
        memory = carray(context_, (1,))
        head = fields(memory, HEADER, 1, 0)
        n, size = head.n[0], head.size[0]
        y = row_at(carray(y_, (1,)), 0, size, lanes)
        work = fields(memory, aba.SLOTS, lanes, head.work[0])
        q, qd = row_at(memory, head.q[0], n, lanes), row_at(memory, head.qd[0], n, lanes)
        forces(t, y, y_, context_, memory, head, work, q, qd)
        held, tau = row_at(memory, head.held[0], n, lanes), row_at(memory, head.tau[0], n, lanes)
        if ask_laws(t, y_, context_, memory, head) != 0:
            return 1
        take_own_torques(t, y_, context_, memory, head, row_at(memory, head.given[0], n, lanes), tau)
        for i in range(n):
            held[i] = tau[i]
        instant = int(t / head.period[0] + 0.5)
        if 0 <= instant < head.n_log[0]:
            log = row_at(memory, head.log[0] + instant * lanes * n, n, lanes)
            for i in range(n):
                log[i] = held[i]
        return 0

    return compiled_callback(run, SAMPLE, _named("sample", lanes, models))


def surroundings() -> Any:
    """look(memory, head, y): places and velocities in a state, and what events are about."""
    lay_planes = planes_in_state(1)

    def look(memory, head, y):
        n = head.n[0]
        work = fields(memory, aba.SLOTS, 1, head.work[0])
        q, qd = row_at(memory, head.q[0], n, 1), row_at(memory, head.qd[0], n, 1)
        axes, plane = fields(memory, AXIS, 1, head.axes[0]), fields(memory, PLANE, 1, head.plane[0])
        split_state(head, axes, y, q, qd)
        bare_motion(fields(memory, TREE, 1, head.tree[0]), work, q, qd)
        lay_planes(memory, head, work)
        points, regions = fields(memory, POINT, 1, head.points[0]), fields(memory, REGION, 1, head.regions[0])
        flags = row_at(memory, head.flags[0], FLAGS * head.n_points[0], 1)
        return axes, work, plane, points, regions, q, flags

    return inline(look)


def events() -> Any:
    """The C callback (t, y*, g*, context*) with the values of `kernels.rates.event_values`."""
    look = surroundings()

    def run(t, y_, g_, context_):
        memory = carray(context_, (1,))
        head = fields(memory, HEADER, 1, 0)
        count = GUARDS * head.n_points[0] + 2 * head.n[0] + head.n_locks[0]
        y, g = row_at(carray(y_, (1,)), 0, head.size[0], 1), row_at(carray(g_, (1,)), 0, count, 1)
        axes, work, plane, points, regions, q, flags = look(memory, head, y)
        locks = fields(memory, LOCK, 1, head.locks[0])
        event_values(head, axes, work, plane, points, regions, locks, q, flags, g)
        parts, place = fields(memory, COMPONENT, 1, head.components[0]), place_of(context_)
        for k in range(head.n_components[0]):
            if parts.events[k] != 0:
                where = (place_of(y_), place_of(g_) + 8 * count, place, place + 8 * parts.own[k])
                if call(parts.events[k], t, where) != 0:
                    return 1
                count += parts.n_events[k]
        return 0

    return compiled_callback(run, RATES, "events")


def switch() -> Any:
    """The C callback (t, y*, signals*, context*) of `kernels.rates.switch_modes`; modes are held after it."""
    look, holding = surroundings(), HEADER.places["holding"][0]

    def run(t, y_, signals_, context_):
        memory = carray(context_, (1,))
        head = fields(memory, HEADER, 1, 0)
        count = GUARDS * head.n_points[0] + 2 * head.n[0] + head.n_locks[0]
        y, signals = (
            row_at(carray(y_, (1,)), 0, head.size[0], 1),
            row_at(carray(signals_, (1,)), 0, count, 1),
        )
        axes, work, plane, points, regions, q, flags = look(memory, head, y)
        stops = row_at(memory, head.stops[0], 2 * head.n[0], 1)
        switch_modes(head, axes, work, plane, points, regions, q, signals, flags, stops)
        memory.view(np.int64)[holding] = 1
        return 0

    return compiled_callback(run, RATES, "switch")
