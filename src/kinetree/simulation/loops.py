"""The loops of a mechanism as a component of its simulation."""

from __future__ import annotations

from kinetree.algebra.arrays import Array
from kinetree.analysis.loops.program import loop_program
from kinetree.analysis.loops.system import constraints, loop_rows, refuse_open_loops
from kinetree.model.mechanism import Mechanism
from kinetree.simulation.compiled.loops import ClosedLoops


def closed_loops(mechanism: Mechanism) -> ClosedLoops:
    """The component of a mechanism's loops, prepared at a pose at which they are closed."""
    found = loop_program(mechanism)
    loops = loop_rows(mechanism).loop_of_row[found.kept].tolist()
    return ClosedLoops(found.tables, found.kept.tolist(), loops)


def check_closed(mechanism: Mechanism, q: Array, qd: Array) -> None:
    """An error that names the loop where a state does not fit."""
    if mechanism.loops:
        refuse_open_loops(mechanism, constraints(mechanism, q, qd), qd, None)
