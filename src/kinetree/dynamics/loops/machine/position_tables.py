"""What the machine code of joints that follow others does, and the tables that it reads."""

from __future__ import annotations

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
