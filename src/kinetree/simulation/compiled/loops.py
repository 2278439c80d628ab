"""Closed loops as machine code: accelerations under constraints, and the projection back onto them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.engine.door import FLOAT, INTEGER, NUMBERS, carray, compiled_callback, inline
from kinetree.engine.lanes import fields, row_at
from kinetree.engine.loop_compile import loop_views
from kinetree.kernels import aba
from kinetree.kernels.layout import Layout
from kinetree.kernels.loop import accelerate_loops, factor_loops, solve
from kinetree.kernels.loop_table import LoopTables
from kinetree.kernels.model_table import TREE
from kinetree.kernels.rates import split_state
from kinetree.kernels.torque_law import AXIS
from kinetree.simulation.compiled.component import Component
from kinetree.simulation.compiled.context import HEADER
from kinetree.simulation.compiled.rates import OF_COMPONENT

LANES = 4
PASSAGE = Layout(world=False, row=int, time=1)
MOST_PASSAGES = 64  # that are remembered
NEAR = 0.05  # square root of the share of its usual size below which a pivot tells of a singular position
HEAD = Layout(
    world=False,
    constant=True,
    n_passages=int,  # singular positions that were passed
    near=int,  # 1: at one of them
    last=1,  # time of the last projection
)
PASSAGES_AT = HEAD.width  # from the head on, which follows the tables of `kernels.loop_table`
PROJECT = INTEGER(FLOAT, NUMBERS, NUMBERS)
ITERATIONS = 4  # of a projection at most
CLOSED = 1e-14  # gap (m, sine) that needs no projection


class ClosedLoops(Component):
    """Finds accelerations that keep the loops closed."""

    name = "loops"

    def __init__(self, tables: LoopTables) -> None:
        self.tables = tables

    def numbers(self, parts: Any) -> Array:
        """Tables and scratch, head and passages in one array."""
        more = np.zeros(PASSAGES_AT + PASSAGE.width * MOST_PASSAGES)
        return np.concatenate([self.tables.numbers(LANES), more])

    def address(self, function: str, lanes: int) -> int:
        """Where "motion" is."""
        return int(loop_motion(lanes).address) if function == "motion" else 0


@functools.cache
def loop_motion(lanes: int) -> Any:
    """The C callback that fills the row ``qdd`` of the context from the row ``total``."""
    see = loop_views(lanes)

    def run(t, y_, dy_, context_, own_):
        memory, own = carray(context_, (1,)), carray(own_, (1,))
        head = fields(memory, HEADER, 1, 0)
        n = head.n[0]
        tree, work = fields(memory, TREE, 1, head.tree[0]), fields(memory, aba.SLOTS, lanes, head.work[0])
        q, qd = row_at(memory, head.q[0], n, lanes), row_at(memory, head.qd[0], n, lanes)
        total, qdd = row_at(memory, head.total[0], n, lanes), row_at(memory, head.qdd[0], n, lanes)
        views = see(own, 0)
        factor_loops(tree, work, n, *views)
        accelerate_loops(tree, work, n, q, qd, total, qdd, *views)
        return 0

    return compiled_callback(run, OF_COMPONENT, f"loops-{lanes}")


@functools.cache
def loop_projection() -> Any:
    """The C callback (t, y*, context*) that closes the loops of one simulation and their rates; 1 if it
    moved.

    Steps are of least kinetic energy: M dq + J^T mu = 0, J dq = -gap; then the same for velocities.
    """
    see = loop_views(1)
    last, near, passages = (HEAD.places[name][0] for name in ("last", "near", "n_passages"))

    def factored(views, tree, work, n, q, qd):
        """Factor M and J at a place and a motion; gaps and their rates."""
        aba.biased_motion(tree, work, q, qd)
        factor_loops(tree, work, n, *views)

    def corrected(views, n, rates, change):
        """Fill the steps of all axes that make the gaps, or their rates, vanish."""
        loops, rows, links, pivots, below = views[0], views[2], views[4], views[7], views[9]
        matrix, unknowns, gaps = views[10], views[11], views[12]
        for k in range(loops.n_unknowns[0]):
            unknowns.x[k] = 0.0
        for k in range(loops.n_rows[0]):
            unknowns.x[rows.unknown[k]] = -gaps.rate[k] if rates else -gaps.gap[k]
        solve(pivots, below, matrix, unknowns, loops.n_unknowns[0])
        for i in range(n):
            change[i] = links.ratio[i] * unknowns.x[links.unknown[i]]

    def regularity(views):
        """Square root of the smallest pivot beside its usual size, and its place."""
        loops, pivots, matrix = views[0], views[7], views[10]
        least, worst = np.inf, 0
        for k in range(loops.n_unknowns[0]):
            if pivots.multiplier[k] and matrix.A[k] != 0.0:  # not dropped
                share = 1.0 / abs(matrix.A[k] * pivots.usual[k])
                if share < least:
                    least, worst = share, k
        return np.sqrt(least), worst

    prepare, correct, look = inline(factored), inline(corrected), inline(regularity)

    def run(t, y_, context_):
        memory, y = carray(context_, (1,)), carray(y_, (1,))
        head = fields(memory, HEADER, 1, 0)
        n, dof = head.n[0], head.n_dof[0]
        views = see(memory, head.motion_own[0])
        base = head.motion_own[0] + views[0].end[0]
        loops, gaps, words = views[0], views[12], memory.view(np.int64)
        tree, work = fields(memory, TREE, 1, head.tree[0]), fields(memory, aba.SLOTS, 1, head.work[0])
        q, qd = row_at(memory, head.q[0], n, 1), row_at(memory, head.qd[0], n, 1)
        change = row_at(memory, head.spare[0], n, 1)
        whole = row_at(y, 0, head.size[0], 1)
        step = t - memory[base + last]
        memory[base + last] = t
        split_state(head, fields(memory, AXIS, 1, head.axes[0]), whole, q, qd)
        prepare(views, tree, work, n, q, qd)
        found, row = look(views)
        bound = NEAR
        for half in range(1, 3):  # half a step and a step ahead
            if step > 0.0 and found < 6.0 * bound and found >= bound:
                for i in range(n):
                    change[i] = q[i] + 0.5 * half * step * qd[i]
                prepare(views, tree, work, n, change, qd)
                ahead, its = look(views)
                if ahead < bound:
                    found, row = ahead, its
        if step > 0.0 and found < bound:
            count = words[base + passages]
            if words[base + near] == 0 and count < MOST_PASSAGES:
                place = base + PASSAGES_AT + 2 * count
                words[place] = row
                memory[place + 1] = t
                words[base + passages] += 1
            words[base + near] = 1
            return 2
        words[base + near] = 0
        for _ in range(ITERATIONS):
            prepare(views, tree, work, n, q, qd)
            worst = 0.0
            for k in range(loops.n_rows[0]):
                worst = max(worst, abs(gaps.gap[k]))
            if worst < CLOSED:
                break
            correct(views, n, False, change)
            for i in range(n):
                y[i] += change[i]
            split_state(head, fields(memory, AXIS, 1, head.axes[0]), whole, q, qd)
        prepare(views, tree, work, n, q, qd)
        correct(views, n, True, change)
        for i in range(n):
            y[dof + i] += change[i]
        return 1

    return compiled_callback(run, PROJECT, "loop-projection")
