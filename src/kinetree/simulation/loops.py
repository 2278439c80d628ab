"""The loops of a mechanism as a component of its simulation."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.loops.acceleration import fits_loops
from kinetree.analysis.loops.program import loop_program
from kinetree.analysis.loops.structure import assembled_poses
from kinetree.analysis.loops.system import CLOSED, constraints, loop_rows, losing, rank_of, refuse_open_loops
from kinetree.errors import SingularityError
from kinetree.model.mechanism import Mechanism
from kinetree.simulation.compiled.loops import ClosedLoops

AJAR = 1e-2  # gap (m, sine) at the start, beside the size of a mechanism, that Baumgarte's method may close


def closed_loops(mechanism: Mechanism, baumgarte: float | None = None) -> ClosedLoops:
    """The component of a mechanism's loops, prepared at a pose at which they are closed."""
    found = loop_program(mechanism)
    loops = loop_rows(mechanism).loop_of_row[found.kept].tolist()
    return ClosedLoops(found.tables, found.kept.tolist(), loops, baumgarte)


def check_closed(mechanism: Mechanism, q: Array, qd: Array, baumgarte: float | None = None) -> None:
    """An error that names the loop where a state does not fit, which it need not do well with Baumgarte."""
    if not mechanism.loops or fits_loops(mechanism, q, qd):
        return
    closed = CLOSED if baumgarte is None else AJAR
    refuse_open_loops(mechanism, constraints(mechanism, q, qd), qd, None, closed)
    for one in np.reshape(q, (-1, mechanism.n_dof)):
        _refuse_singular_start(mechanism, constraints(mechanism, one).J)


def _refuse_singular_start(mechanism: Mechanism, J: Array) -> None:
    """An error that names the loop where the start leaves it open which way the motion goes."""
    rank = rank_of(J)
    if rank < loop_program(mechanism).rank:
        regular = constraints(mechanism, assembled_poses(mechanism, 1)[0])
        raise SingularityError(
            f"{losing(regular.rows, J, regular.J)} is in a singular position at the start: {rank} instead of "
            f"{loop_program(mechanism).rank} constraints are independent, so the motion may go on along "
            "several branches; start a little beside it"
        )
