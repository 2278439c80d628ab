"""Closed loops as machine code: accelerations under constraints, and the projection back onto them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.engine.door import FLOAT, INTEGER, NUMBERS, carray, compiled_callback, inline
from kinetree.engine.lanes import fields, row_at
from kinetree.kernels import aba
from kinetree.kernels.coupled import composite_bodies
from kinetree.kernels.layout import Layout
from kinetree.kernels.loop import (
    BELOW,
    CUT,
    ENTRY,
    GAP,
    PIVOT,
    PLACE,
    ROW,
    SLOT,
    UNKNOWN,
    UPDATE,
    axis_forces,
    clear,
    constrain,
    eliminate,
    mass_entries,
    solve,
)
from kinetree.kernels.model_table import TREE
from kinetree.kernels.rates import split_state
from kinetree.kernels.torque_law import AXIS
from kinetree.simulation.compiled.component import Component
from kinetree.simulation.compiled.context import HEADER, layout_rows
from kinetree.simulation.compiled.rates import OF_COMPONENT

LANES = 4
TABLES = {
    "cuts": CUT,
    "rows": ROW,
    "entries": ENTRY,
    "places": PLACE,
    "pivots": PIVOT,
    "updates": UPDATE,
    "below": BELOW,
}
PASSAGE = Layout(world=False, row=int, time=1)
MOST_PASSAGES = 64  # that are remembered
NEAR = 0.05  # square root of the share of its usual size below which a pivot tells of a singular position
SCRATCH = {"matrix": SLOT, "unknowns": UNKNOWN, "gaps": GAP, "passages": PASSAGE}
LOOPS = Layout(
    world=False,
    constant=True,
    n_cuts=int,
    n_rows=int,
    n_unknowns=int,
    n_slots=int,
    n_passages=int,  # singular positions that were passed
    near=int,  # 1: at one of them
    last=1,  # time of the last projection
    **dict.fromkeys((*TABLES, *SCRATCH), int),  # where each part begins, from the component's own numbers
)
PROJECT = INTEGER(FLOAT, NUMBERS, NUMBERS)
ITERATIONS = 4  # of a projection at most
CLOSED = 1e-14  # gap (m, sine) that needs no projection


class ClosedLoops(Component):
    """Finds accelerations that keep the loops closed."""

    name = "loops"

    def __init__(self, tables: dict[str, Array], n_slots: int) -> None:
        """``tables`` are rows of the layouts in `TABLES`."""
        self.tables, self.n_slots = tables, n_slots

    def numbers(self, parts: Any) -> Array:
        """Head, tables and scratch in one array."""
        counts = {name: len(rows) for name, rows in self.tables.items()}
        scratch = {
            "matrix": LANES * self.n_slots,
            "unknowns": LANES * UNKNOWN.width * counts["pivots"],
            "gaps": LANES * GAP.width * counts["rows"],
            "passages": PASSAGE.width * MOST_PASSAGES,
        }
        places, end = {}, LOOPS.width
        for name, size in [(name, rows.size) for name, rows in self.tables.items()] + list(scratch.items()):
            places[name], end = end, end + size
        numbers = np.zeros(end)
        head = layout_rows(
            LOOPS,
            1,
            n_cuts=counts["cuts"],
            n_rows=counts["rows"],
            n_unknowns=counts["pivots"],
            n_slots=self.n_slots,
            **places,
        )
        numbers[: LOOPS.width] = head[0]
        for name, rows in self.tables.items():
            numbers[places[name] : places[name] + rows.size] = rows.ravel()
        return numbers

    def address(self, function: str, lanes: int) -> int:
        """Where "motion" is."""
        return int(loop_motion(lanes).address) if function == "motion" else 0


def factored(lanes: int) -> Any:
    """prepare(own, base, tree, work, n): M and J at the present place and motion, factored; gaps and their
    rates.
    """

    def prepare(own, base, tree, work, n):
        head = fields(own, LOOPS, 1, base)
        matrix = fields(own, SLOT, lanes, base + head.matrix[0])
        unknowns = fields(own, UNKNOWN, lanes, base + head.unknowns[0])
        gaps = fields(own, GAP, lanes, base + head.gaps[0])
        clear(matrix, head.n_slots[0])
        composite_bodies(tree, work, n)
        mass_entries(tree, fields(own, PLACE, 1, base + head.places[0]), work, matrix, n)
        cuts, rows = fields(own, CUT, 1, base + head.cuts[0]), fields(own, ROW, 1, base + head.rows[0])
        constrain(
            cuts,
            rows,
            fields(own, ENTRY, 1, base + head.entries[0]),
            work,
            matrix,
            unknowns,
            gaps,
            head.n_cuts[0],
        )
        pivots, updates = (
            fields(own, PIVOT, 1, base + head.pivots[0]),
            fields(own, UPDATE, 1, base + head.updates[0]),
        )
        eliminate(pivots, updates, matrix, unknowns, head.n_unknowns[0])

    return inline(prepare)


def solution(lanes: int) -> Any:
    """finish(own, base, tree, n, values): solve for the right side, and read the unknowns of axes."""

    def finish(own, base, tree, n, values):
        head = fields(own, LOOPS, 1, base)
        pivots, below = (
            fields(own, PIVOT, 1, base + head.pivots[0]),
            fields(own, BELOW, 1, base + head.below[0]),
        )
        matrix = fields(own, SLOT, lanes, base + head.matrix[0])
        unknowns = fields(own, UNKNOWN, lanes, base + head.unknowns[0])
        solve(pivots, below, matrix, unknowns, head.n_unknowns[0])
        places, k = fields(own, PLACE, 1, base + head.places[0]), 0
        for i in range(n):
            values[i] = unknowns.x[places.slot[k]]
            j = i
            while j != -1:
                k += 1
                j = tree.parent[j]

    return inline(finish)


@functools.cache
def loop_motion(lanes: int) -> Any:
    """The C callback that fills the row ``qdd`` of the context from the row ``total``."""
    prepare, finish = factored(lanes), solution(lanes)

    def run(t, y_, dy_, context_, own_):
        memory, own = carray(context_, (1,)), carray(own_, (1,))
        base = 0
        head, loops = fields(memory, HEADER, 1, 0), fields(own, LOOPS, 1, base)
        n = head.n[0]
        tree, work = fields(memory, TREE, 1, head.tree[0]), fields(memory, aba.SLOTS, lanes, head.work[0])
        total, qdd = row_at(memory, head.total[0], n, lanes), row_at(memory, head.qdd[0], n, lanes)
        prepare(own, base, tree, work, n)
        places, rows = (
            fields(own, PLACE, 1, base + loops.places[0]),
            fields(own, ROW, 1, base + loops.rows[0]),
        )
        unknowns = fields(own, UNKNOWN, lanes, base + loops.unknowns[0])
        gaps = fields(own, GAP, lanes, base + loops.gaps[0])
        axis_forces(tree, places, work, unknowns, n, total)
        for k in range(loops.n_rows[0]):
            unknowns.x[rows.unknown[k]] = -gaps.bias[k]
        finish(own, base, tree, n, qdd)
        return 0

    return compiled_callback(run, OF_COMPONENT, f"loops-{lanes}")


@functools.cache
def loop_projection() -> Any:
    """The C callback (t, y*, context*) that closes the loops of one simulation and their rates; 1 if it
    moved.

    Steps are of least kinetic energy: M dq + J^T mu = 0, J dq = -gap; then the same for velocities.
    """
    prepare, finish = factored(1), solution(1)
    last, near, passages = (LOOPS.places[name][0] for name in ("last", "near", "n_passages"))

    def corrected(own, base, tree, n, rates, change):
        """Fill the steps of all axes that make the gaps, or their rates, vanish."""
        loops = fields(own, LOOPS, 1, base)
        rows, unknowns = (
            fields(own, ROW, 1, base + loops.rows[0]),
            fields(own, UNKNOWN, 1, base + loops.unknowns[0]),
        )
        gaps = fields(own, GAP, 1, base + loops.gaps[0])
        for k in range(loops.n_unknowns[0]):
            unknowns.x[k] = 0.0
        for k in range(loops.n_rows[0]):
            unknowns.x[rows.unknown[k]] = -gaps.rate[k] if rates else -gaps.gap[k]
        finish(own, base, tree, n, change)

    correct = inline(corrected)

    def regularity(own, base):
        """Square root of the smallest pivot beside its usual size, and its place."""
        loops = fields(own, LOOPS, 1, base)
        pivots = fields(own, PIVOT, 1, base + loops.pivots[0])
        matrix = fields(own, SLOT, 1, base + loops.matrix[0])
        least, worst = np.inf, 0
        for k in range(loops.n_unknowns[0]):
            if pivots.multiplier[k] and matrix.A[k] != 0.0:  # not dropped
                share = 1.0 / abs(matrix.A[k] * pivots.usual[k])
                if share < least:
                    least, worst = share, k
        return np.sqrt(least), worst

    look = inline(regularity)

    def run(t, y_, context_):
        memory, y = carray(context_, (1,)), carray(y_, (1,))
        head = fields(memory, HEADER, 1, 0)
        n, dof = head.n[0], head.n_dof[0]
        own, base = memory, head.motion_own[0]
        loops = fields(own, LOOPS, 1, base)
        words = memory.view(np.int64)
        gaps = fields(own, GAP, 1, base + loops.gaps[0])
        tree, work = fields(memory, TREE, 1, head.tree[0]), fields(memory, aba.SLOTS, 1, head.work[0])
        q, qd = row_at(memory, head.q[0], n, 1), row_at(memory, head.qd[0], n, 1)
        change = row_at(memory, head.spare[0], n, 1)
        whole = row_at(y, 0, head.size[0], 1)
        step = t - memory[base + last]
        memory[base + last] = t
        split_state(head, fields(memory, AXIS, 1, head.axes[0]), whole, q, qd)
        aba.biased_motion(tree, work, q, qd)
        prepare(own, base, tree, work, n)
        found, row = look(own, base)
        bound = NEAR
        for half in range(1, 3):  # half a step and a step ahead
            if step > 0.0 and found < 6.0 * bound and found >= bound:
                for i in range(n):
                    change[i] = q[i] + 0.5 * half * step * qd[i]
                aba.biased_motion(tree, work, change, qd)
                prepare(own, base, tree, work, n)
                ahead, its = look(own, base)
                if ahead < bound:
                    found, row = ahead, its
        if step > 0.0 and found < bound:
            count = words[base + passages]
            if words[base + near] == 0 and count < MOST_PASSAGES:
                place = base + loops.passages[0] + 2 * count
                words[place] = row
                memory[place + 1] = t
                words[base + passages] += 1
            words[base + near] = 1
            return 2
        words[base + near] = 0
        for _ in range(ITERATIONS):
            aba.biased_motion(tree, work, q, qd)
            prepare(own, base, tree, work, n)
            worst = 0.0
            for k in range(loops.n_rows[0]):
                worst = max(worst, abs(gaps.gap[k]))
            if worst < CLOSED:
                break
            correct(own, base, tree, n, False, change)
            for i in range(n):
                y[i] += change[i]
            split_state(head, fields(memory, AXIS, 1, head.axes[0]), whole, q, qd)
        aba.biased_motion(tree, work, q, qd)
        prepare(own, base, tree, work, n)
        correct(own, base, tree, n, True, change)
        for i in range(n):
            y[dof + i] += change[i]
        return 1

    return compiled_callback(run, PROJECT, "loop-projection")
