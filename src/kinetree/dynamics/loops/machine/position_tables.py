"""What the machine code of joints that follow others reads: its tables, and where the code is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from kinetree.engine.direct import range_call
from kinetree.engine.stored_code import stored_or_made
from kinetree.kernels.layout import Layout
from kinetree.kernels.loop_table import CUT, ENTRY, ROW

FOLLOW, CHAIN, CLOSE, RATES, REACH = range(5)  # what `loop_positions` does
TIE = Layout(world=False, constant=True, axis=int, coordinate=int, factor=1)  # q_axes = factors q + offset
AXIS = Layout(world=False, constant=True, offset=1)
DEPENDENT = Layout(world=False, constant=True, coordinate=int)
TABLES = {"cuts": CUT, "rows": ROW, "entries": ENTRY, "ties": TIE, "offsets": AXIS, "dependents": DEPENDENT}
SCRATCH = ("matrix", "unknowns", "gaps", "axes", "rates", "J", "before", "Q", "R", "b", "x", "q", "first")
COUNTS = ("n_cuts", "n_rows", "n_axes", "n_dof", "n_ties", "n_dependent", "n_targets")
POSITIONS = Layout(
    world=False, constant=True, closed=1, **dict.fromkeys((*COUNTS, *TABLES, *SCRATCH), int)
)  # the largest gap of closed loops, counts, and where each part begins, from the head's own place


@functools.cache
def loop_positions() -> Callable[..., bool]:
    """run(table, memory, begin, end, arrays, start, what) for states begin..end of arrays (batch, n_dof).

    FOLLOW leads from poses in the first array to the independent coordinates of the second, both (batch,
    n_dof), into the third; CHAIN does the same, each from the pose before, and ends where one is not reached.
    CLOSE closes the loops by the dependent coordinates. REACH leads bodies, which the last loops tie to the
    world, to frames in the second array (batch, 12 targets). RATES takes poses, velocities and accelerations
    of which the dependent ones are filled. The fourth array (batch, 1) gets 1 where that succeeds.
    """

    def make() -> Any:
        from kinetree.dynamics.loops.machine.positions import loop_positions

        return loop_positions()

    return range_call(stored_or_made("loop-positions", 1, make, __file__))
