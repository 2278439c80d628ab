"""Questions about closed loops asked of the documents' formulations (`derivations`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.derivations import contract
from kinetree.derivations.contract import Closed, ConstraintRow, Cut
from kinetree.dynamics.by_formulation import closed_answers
from kinetree.dynamics.loads import Wrenches, with_springs
from kinetree.dynamics.loops.dynamics import broadcast
from kinetree.dynamics.loops.rows import DIRECTION, POINT, LoopRows, cut_rows
from kinetree.dynamics.loops.sensitivity import LoopInverseDerivatives, chosen_joints, refuse_dependent
from kinetree.dynamics.loops.system import constraints, loop_rows, refuse_cut_forces, refuse_open_loops
from kinetree.errors import InputError
from kinetree.model.mechanism import Mechanism

TYPES = {POINT: contract.POINT, DIRECTION: contract.DIRECTION}


def closed_of(mechanism: Mechanism) -> Closed:
    """The cut joints of a mechanism as the derivations take them."""
    rows = loop_rows(mechanism)
    cuts = []
    for k, loop in enumerate(mechanism.loops):
        found = tuple(
            ConstraintRow(TYPES.get(one.type, contract.ROD), one.e, one.f, one.constant)
            for one in cut_rows(loop)
        )
        places = [_placed(rows, k, side) for side in ("A", "B")]
        cuts.append(Cut(loop.name, int(rows.axis_A[k]), places[0], int(rows.axis_B[k]), places[1], found))
    return Closed(tuple(cuts), mechanism.driven)


def _placed(rows: LoopRows, k: int, side: str) -> Array:
    place = np.eye(4)
    place[:3, :3], place[:3, 3] = getattr(rows, f"rotation_{side}")[k], getattr(rows, f"position_{side}")[k]
    return place


def closed_by_formulation(
    formulation: str, name: str, mechanism: Mechanism, state: tuple[Any, ...], wrenches: Wrenches
) -> Any:
    """The answer of a formulation to a question, by the name of its function."""
    refuse_cut_forces(mechanism, f"formulation '{formulation}'")
    q, qd, last = broadcast(mechanism, *state[:3])
    closed = closed_of(mechanism)
    forward = name == "forward_dynamics"
    found = constraints(mechanism, q, qd, None if forward else last)
    refuse_open_loops(mechanism, found, qd, None if forward else last)
    states = [("q", q), ("qd", qd), ("tau" if forward else "qdd", last)]
    if name != "inverse_dynamics_derivatives":
        wrenches = with_springs(mechanism, q, qd, wrenches)
        return closed_answers(formulation, name, mechanism, closed, states, wrenches)[0]
    if wrenches is not None or mechanism.tree.springs is not None:
        raise InputError(
            f"formulation '{formulation}' offers no derivatives with wrenches or springs on the bodies; "
            "leave it out"
        )
    names, chosen = chosen_joints(mechanism, None)
    refuse_dependent(mechanism, found, names, chosen)
    parts = closed_answers(formulation, name, mechanism, closed, states, None, (chosen,))
    return LoopInverseDerivatives(
        names, parts[0], np.stack(parts[1:4]), parts[4], np.stack(parts[5:8]), parts[8]
    )
