"""The questions of kinetree itself, answered for mechanisms with closed loops.

| question | answer |
|---|---|
| inverse_dynamics | torques of the drives, zero elsewhere |
| gravity_torque | torques of the drives that hold it, zero elsewhere |
| forward_dynamics | accelerations of all joints |
| joint_reactions | of the tree's joints, with what cut joints transmit; undetermined components are NaN |
| derivatives, torque_hessian | total, by the independent joints: all others follow |
| inertia_regressor | of the drives' torques |
| floating_base_inverse_dynamics | drives' torques and the base's acceleration |

Mass matrix and bias torque are those of the tree, M qdd + h = tau + J^T lambda; poses, velocities, Jacobians,
energies and momentum do not depend on what closes the loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.derivations import contract
from kinetree.derivations.contract import Closed, ConstraintRow, Cut
from kinetree.dynamics.by_formulation import closed_answers
from kinetree.dynamics.checks import checking, given
from kinetree.dynamics.evaluate import batch_shape
from kinetree.dynamics.inverse import tree_gravity_torque
from kinetree.dynamics.loads import Wrenches, with_springs
from kinetree.dynamics.loops.acceleration import loop_accelerations
from kinetree.dynamics.loops.direct import acceleration_call, torque_call
from kinetree.dynamics.loops.dynamics import broadcast, drive_map, drive_torque
from kinetree.dynamics.loops.hessian import loop_torque_hessian
from kinetree.dynamics.loops.reactions import loop_reaction_derivatives, loop_reactions
from kinetree.dynamics.loops.rows import DIRECTION, POINT, LoopRows, cut_rows
from kinetree.dynamics.loops.sensitivity import (
    Independent,
    LoopInverseDerivatives,
    chosen_joints,
    loop_forward_dynamics_derivatives,
    loop_inverse_dynamics_derivatives,
    refuse_dependent,
)
from kinetree.dynamics.loops.system import constraints, loop_rows, refuse_cut_forces, refuse_open_loops
from kinetree.errors import InputError, KinetreeError
from kinetree.model.mechanism import Mechanism
from kinetree.state import Frame

State = tuple[Any, ...]
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


def closed_answer(
    name: str,
    mechanism: Mechanism,
    state: State,
    wrenches: Wrenches,
    threads: int | None,
    formulation: str | None,
    independent: Independent = None,
) -> Any:
    """The answer of a question, by the name of its function, for a mechanism with loops."""
    if formulation is not None:
        return closed_by_formulation(formulation, name, mechanism, state, wrenches)
    if name in _DERIVATIVES:
        return _DERIVATIVES[name](mechanism, *state, independent, wrenches, threads=threads)
    return _ANSWERS[name](mechanism, state, wrenches, threads)


def closed_call(name: str, mechanism: Mechanism) -> Callable[..., Any] | None:
    """What answers a question for single states directly, once it was answered; None if nothing does."""
    make = _CALLS.get(name)
    return None if make is None else make(mechanism)


def _refuse_cut_drives(mechanism: Mechanism, what: str, instead: str) -> None:
    """An error where drives at cut joints have no place among the torques of the tree's joints."""
    names = [loop.name for loop in mechanism.loops if any(loop.joint.driven)]
    if names:
        joints = ", ".join(f"'{name}'" for name in names)
        raise InputError(
            f"mechanism '{mechanism.name}': {what} has torques of the tree's joints only, and cut joint "
            f"{joints} has a drive, too; {instead}"
        )


def _torques(mechanism: Mechanism, state: State, wrenches: Wrenches, threads: int | None) -> Array:
    _refuse_cut_drives(
        mechanism,
        "inverse_dynamics",
        "kinetree.loops.inverse_dynamics gives torques and forces.drive, the forces of drives at cut joints",
    )

    def ask(q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        return drive_torque(mechanism, q, qd, qdd, wrenches, threads)

    return _answered(mechanism, ask, state, ("q", "qd", "qdd"))


def _accelerations(mechanism: Mechanism, state: State, wrenches: Wrenches, threads: int | None) -> Array:
    def ask(q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> Array:
        return loop_accelerations(mechanism, q, qd, tau, wrenches, threads)

    return _answered(mechanism, ask, state, ("q", "qd", "tau"))


def _answered(mechanism: Mechanism, ask: Callable[..., Array], state: State, names: tuple[str, ...]) -> Array:
    """The answer; unchecked, states that have none are answered with NaN, the others as ever."""
    if checking():
        return ask(*state)
    try:
        return ask(*state)
    except (KinetreeError, np.linalg.LinAlgError):
        values = [given(mechanism, x, what) for x, what in zip(state, names, strict=True)]
        batch = batch_shape(*values)
        rows = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in values]
        found = np.full((math.prod(batch), mechanism.n_dof), np.nan)
        for k, one in enumerate(zip(*rows, strict=True)):
            try:
                found[k] = ask(*one)
            except (KinetreeError, np.linalg.LinAlgError):
                continue
        return found.reshape(*batch, mechanism.n_dof)


_ANSWERS: dict[str, Callable[[Mechanism, State, Wrenches, int | None], Any]] = {
    "inverse_dynamics": _torques,
    "forward_dynamics": _accelerations,
}
_DERIVATIVES: dict[str, Callable[..., Any]] = {
    "inverse_dynamics_derivatives": loop_inverse_dynamics_derivatives,
    "forward_dynamics_derivatives": loop_forward_dynamics_derivatives,
    "joint_reaction_derivatives": loop_reaction_derivatives,
    "torque_hessian": loop_torque_hessian,
}
_CALLS = {"inverse_dynamics": torque_call, "forward_dynamics": acceleration_call}


def closed_gravity_torque(mechanism: Mechanism, q: ArrayLike) -> Array:
    """Torques of the drives that hold a mechanism with loops against gravity, (..., n_dof)."""
    _refuse_cut_drives(
        mechanism,
        "gravity_torque",
        "kinetree.loops.inverse_dynamics(mechanism, q, 0 q, 0 q) gives torques and forces.drive, the forces "
        "of drives at cut joints",
    )
    q = given(mechanism, q, "q")
    return by_drives(mechanism, q, tree_gravity_torque(mechanism.opened(), q)[..., None])[..., 0]


def closed_reactions(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrenches: Wrenches,
    frame: Frame,
    formulation: str | None,
) -> Array:
    """Reactions of the tree's joints with what cut joints transmit; undetermined components are NaN."""
    if formulation is not None:
        raise InputError(
            f"formulation '{formulation}' supports joint_reactions for open trees only; leave it out, or "
            f"pass mechanism.opened() for the tree without its loops"
        )
    return loop_reactions(mechanism, q, qd, qdd, wrenches, frame).wrench


def by_drives(mechanism: Mechanism, q: Array, on_joints: Array) -> Array:
    """Generalized forces (..., n_dof, k) on the tree's joints as those of the drives that do their work."""
    found = constraints(mechanism, q)
    refuse_open_loops(mechanism, found, np.zeros_like(q), None)
    by_drives: Array = drive_map(mechanism, found, on_joints, np.ones(mechanism.n_dof), mechanism.driven)
    return by_drives
