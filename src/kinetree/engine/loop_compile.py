"""The kernels of closed loops, compiled: C functions of words that `loop_code` hands out."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import register_jitable

from kinetree.engine.lanes import fields
from kinetree.engine.lanes.number import INLINE
from kinetree.engine.lanes.objects import doubles, rows_by_pairs
from kinetree.engine.machine_code import compiled_callback
from kinetree.kernels.aba import bias_forces
from kinetree.kernels.loop import accelerate_loops, close_loops, closure, factor_loops, judge, multipliers_of
from kinetree.kernels.loop_table import (
    BELOW,
    CUT,
    ENTRY,
    GAP,
    LINK,
    LOOPS,
    MOTION,
    OWNER,
    PIVOT,
    PLACE,
    ROW,
    SEGMENT,
    SLOT,
    SLOTS,
    SPARE,
    START,
    TARGET,
    UNKNOWN,
)
from kinetree.kernels.model_table import TREE

ENDLESS = 1 << 60  # of arrays whose size is not needed
_RANGE = types.intp(*[types.intp] * 9)


def loop_views(lanes: int) -> Any:
    """views(own, base): the head, the tables and the scratch of loops, as the kernels take them."""

    def views(own, base):
        loops = fields(own, LOOPS, 1, base)
        return (
            loops,
            fields(own, CUT, 1, base + loops.cuts[0]),
            fields(own, ROW, 1, base + loops.rows[0]),
            fields(own, ENTRY, 1, base + loops.entries[0]),
            fields(own, LINK, 1, base + loops.links[0]),
            fields(own, SEGMENT, 1, base + loops.segments[0]),
            fields(own, PLACE, 1, base + loops.places[0]),
            fields(own, PIVOT, 1, base + loops.pivots[0]),
            fields(own, TARGET, 1, base + loops.targets[0]),
            fields(own, BELOW, 1, base + loops.below[0]),
            fields(own, START, 1, base + loops.starts[0]),
            fields(own, OWNER, 1, base + loops.owners[0]),
            fields(own, SLOT, lanes, base + loops.matrix[0]),
            fields(own, UNKNOWN, lanes, base + loops.unknowns[0]),
            fields(own, GAP, lanes, base + loops.gaps[0]),
            fields(own, MOTION, lanes, base + loops.bases[0]),
            fields(own, SPARE, lanes, base + loops.spares[0]),
        )

    return register_jitable(**INLINE)(views)


def loop_body(lanes: int) -> Any:
    """The code of `loop_states`."""
    see = loop_views(lanes)

    def run(table, memory, size, begin, end, pairs, start, closing, idle):
        own = doubles(memory, size)
        tree, work = fields(doubles(table, ENDLESS), TREE, 1, 0), fields(own, SLOTS, lanes, 0)
        n, views = tree.parent[-1], see(own, start)
        loops, cuts, rows, pivots = views[0], views[1], views[2], views[7]
        owners, matrix, unknowns, gaps, spares = views[11], views[12], views[13], views[14], views[16]
        for b in range(begin, end, lanes):
            first = min(b, end - lanes)
            q, qd, tau, wrench, qdd, multiplier, pivot, verdict = rows_by_pairs(pairs, 8, first, lanes)
            bias_forces(tree, tree.axis, work, q, qd, wrench)
            factor_loops(tree, work, n, *views)
            if closing != 0:
                close_loops(n, qdd, *views)
            else:
                accelerate_loops(tree, work, n, q, qd, tau, qdd, *views)
            closure(cuts, rows, work, gaps, loops.n_cuts[0])
            multipliers_of(rows, matrix, unknowns, multiplier, pivot)
            judge(loops, rows, pivots, owners, matrix, unknowns, gaps, spares, verdict)
        return 1

    return compiled_callback(run, _RANGE, "loop-states", lanes)
