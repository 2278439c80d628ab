"""The loops of a mechanism as a component of its simulation."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.loops.acceleration import fits_loops, refuse_singular
from kinetree.dynamics.loops.program import loop_program
from kinetree.dynamics.loops.system import CLOSED, constraints, loop_rows, refuse_open_loops
from kinetree.model.mechanism import Mechanism
from kinetree.simulation.compiled.loops import ClosedLoops

AJAR = 1e-2  # gap (m, sine) at the start, beside the size of a mechanism, that Baumgarte's method may close


def closed_loops(
    mechanism: Mechanism, baumgarte: float | None = None, *, is_led: bool = False
) -> ClosedLoops:
    """The component of a mechanism's loops, prepared at a pose at which they are closed.

    ``is_led``: whether another component finds accelerations, under prescribed ones.
    """
    found = loop_program(mechanism)
    loops = loop_rows(mechanism).loop_of_row[found.kept].tolist()
    return ClosedLoops(found.tables, found.kept.tolist(), loops, baumgarte, is_led=is_led)


def check_closed(mechanism: Mechanism, q: Array, qd: Array, baumgarte: float | None = None) -> None:
    """An error that names the loop where a state does not fit, which it need not do well with Baumgarte."""
    if not mechanism.loops or fits_loops(mechanism, q, qd):
        return
    closed = CLOSED if baumgarte is None else AJAR
    refuse_open_loops(mechanism, constraints(mechanism, q, qd), qd, None, closed)
    refuse_singular(mechanism, constraints(mechanism, np.reshape(q, (-1, mechanism.n_dof))).J, at_start=True)
