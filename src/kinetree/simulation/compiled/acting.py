"""What acts on a simulated mechanism beside its joints: ground and loads, and the built-in law.

Each is a C callback of its own, which right-hand sides call by its address if there is something to do, so
that nothing is compiled that a simulation does not need.
"""

from __future__ import annotations

from typing import Any

from kinetree.engine.door import carray, compiled_callback, inline
from kinetree.engine.lanes import fields, row_at
from kinetree.kernels import aba, floating, rnea
from kinetree.kernels.external_load import LOAD
from kinetree.kernels.ground import CONTACT, FLAGS, PLANE, POINT, REGION
from kinetree.kernels.model_table import TREE
from kinetree.kernels.piecewise import polynomials_at
from kinetree.kernels.rates import (
    apply_forces,
    asked_state,
    desire,
    model_part,
    servo,
    sum_torque,
    tell_forces,
)
from kinetree.kernels.torque_law import AXIS
from kinetree.simulation.compiled.context import FORCE_AND_MOMENT, HEADER
from kinetree.simulation.compiled.rates import SAMPLE
from kinetree.simulation.compiled.terrain import planes_in_state

LOAD_WIDTH, LOAD_FORCE = LOAD.width, LOAD.places["force"][0]  # the moment follows the force


def law_in_state(lanes: int) -> Any:
    """law(t, y, memory, head, work, q, qd, contact, tau): the torque law in one state."""

    def law(t, y, memory, head, work, q, qd, contact, tau):
        n = head.n[0]
        axes = fields(memory, AXIS, 1, head.axes[0])
        want = row_at(memory, head.want[0], n, lanes)
        want_d = row_at(memory, head.want_d[0], n, lanes)
        want_dd = row_at(memory, head.want_dd[0], n, lanes)
        feedback = row_at(memory, head.feedback[0], n, lanes)
        modelled = row_at(memory, head.modelled[0], n, lanes)
        desire(head, memory, t, want, want_d, want_dd)
        servo(head, axes, y, q, qd, want, want_d, want_dd, feedback)
        if head.mode[0] != 0:
            at_q = row_at(memory, head.at_q[0], n, lanes)
            at_qd = row_at(memory, head.at_qd[0], n, lanes)
            at_qdd = row_at(memory, head.at_qdd[0], n, lanes)
            wrench = row_at(memory, head.wrench[0], 6 * n, lanes)
            for i in range(6 * n):
                wrench[i] = 0.0 * q[0]
            if head.aware[0] == 1:
                points = fields(memory, POINT, 1, head.points[0])
                loads = fields(memory, LOAD, 1, head.loads[0])
                plane = fields(memory, PLANE, lanes, head.plane[0])
                tell_forces(head, work, plane, points, loads, contact, wrench)
            asked_state(head, q, qd, feedback, want, want_d, want_dd, at_q, at_qd, at_qdd)
            model = fields(memory, TREE, 1, head.model[0])
            law_work = fields(memory, rnea.SLOTS, lanes, head.law_work[0])
            base_work = fields(memory, floating.SLOTS, lanes, head.base_work[0])
            base, check = row_at(memory, head.base[0], 6, lanes), row_at(memory, head.check[0], 3, lanes)
            model_part(head, model, law_work, base_work, at_q, at_qd, at_qdd, wrench, base, check, modelled)
        given, spare = row_at(memory, head.given[0], n, lanes), row_at(memory, head.spare[0], n, lanes)
        sum_torque(head, axes, memory, t, given, feedback, modelled, spare, tau)

    return inline(law)


@inline
def move_loads(t, memory, head):
    """Forces and moments at a time into the rows of loads that vary."""
    count = head.n_loads[0]
    width, place = FORCE_AND_MOMENT * count, head.load_now[0]
    now, rate = row_at(memory, place, width, 1), row_at(memory, place + width, width, 1)
    rate2 = row_at(memory, place + 2 * width, width, 1)
    pieces, order = head.moving_count[0], head.moving_order[0]
    polynomials_at(memory, head.moving[0], pieces, order, width, t, now, rate, rate2)
    for k in range(count):
        first = head.loads[0] + k * LOAD_WIDTH + LOAD_FORCE
        for i in range(FORCE_AND_MOMENT):
            memory[first + i] = now[FORCE_AND_MOMENT * k + i]


def forces(lanes: int) -> Any:
    """The callback of `kinetree.simulation.compiled.code.forces`."""
    lay_planes = planes_in_state(lanes)

    def run(t, y_, context_):
        memory = carray(context_, (1,))
        head = fields(memory, HEADER, 1, 0)
        work = fields(memory, aba.SLOTS, lanes, head.work[0])
        contact = row_at(memory, head.contact[0], CONTACT * head.n_points[0], lanes)
        lay_planes(memory, head, work)
        plane = fields(memory, PLANE, lanes, head.plane[0])
        points = fields(memory, POINT, 1, head.points[0])
        regions = fields(memory, REGION, 1, head.regions[0])
        if head.moving_count[0] > 0:
            move_loads(t, memory, head)
        loads = fields(memory, LOAD, 1, head.loads[0])
        flags = row_at(memory, head.flags[0], FLAGS * head.n_points[0], 1)
        ground, external = apply_forces(head, work, plane, points, regions, loads, flags, contact)
        applied = row_at(memory, head.applied[0], 2, lanes)
        applied[0], applied[1] = ground, external
        return 0

    return compiled_callback(run, SAMPLE, f"forces-{lanes}")


def law(lanes: int) -> Any:
    """The callback of `kinetree.simulation.compiled.code.law`."""
    take = law_in_state(lanes)

    def run(t, y_, context_):
        memory = carray(context_, (1,))
        head = fields(memory, HEADER, 1, 0)
        n = head.n[0]
        y = row_at(carray(y_, (1,)), 0, head.size[0], lanes)
        work = fields(memory, aba.SLOTS, lanes, head.work[0])
        q, qd = row_at(memory, head.q[0], n, lanes), row_at(memory, head.qd[0], n, lanes)
        contact = row_at(memory, head.contact[0], CONTACT * head.n_points[0], lanes)
        take(t, y, memory, head, work, q, qd, contact, row_at(memory, head.tau[0], n, lanes))
        return 0

    return compiled_callback(run, SAMPLE, f"law-{lanes}")
