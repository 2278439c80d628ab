"""Accelerations with closed loops, by the compiled elimination of `dynamics.loops.program`.

Where its pivots tell that a position is nearly singular, rows are redundant that usually are not, or a state
does not fit the loops, the answer comes from singular values (`dynamics.loops.linear`), or is refused there.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.dynamics.checks import checking, given, is_finite
from kinetree.dynamics.coupling import on_axes
from kinetree.dynamics.evaluate import batch_shape, plain_rows
from kinetree.dynamics.forward import FORWARD
from kinetree.dynamics.inverse import MASS_MATRIX, tree_bias_torque
from kinetree.dynamics.loads import Wrenches, axis_loads, body_loads
from kinetree.dynamics.loops.coordinates import cut_axis_torques, cut_forces, has_cut_forces
from kinetree.dynamics.loops.linear import constrained
from kinetree.dynamics.loops.program import LoopProgram, loop_program
from kinetree.dynamics.loops.structure import regular_pose
from kinetree.dynamics.loops.system import (
    CLOSED,
    RANK,
    constraints,
    loop_rows,
    losing,
    refuse_open_loops,
    size_of,
)
from kinetree.dynamics.springs import spring_torques
from kinetree.errors import SingularityError
from kinetree.kernels.aba import SINGULAR
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags
from kinetree.state import independent_axes, state_name

REGULAR = 1e-9  # share of its usual size above which pivots of rows lose no digits that count
REFINED = 1e-4  # the same of the product of pivots of soft rows, from which on refinements converge


def loop_accelerations(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    wrenches: Wrenches = None,
    threads: int | None = None,
) -> Array:
    """Accelerations (..., n_dof) under torques on any joint, with the loops kept closed.

    M qdd + h = tau + J^T lambda, J qdd + dJ/dt qd = 0, in an order of elimination that is found once for each
    mechanism.
    """
    state = tuple(given(mechanism, x, name) for x, name in ((q, "q"), (qd, "qd"), (tau, "tau")))
    batch = batch_shape(*state)
    tree, program = mechanism.tree, loop_program(mechanism)
    moving, force = state[:2], state[2]
    if tree.coupling is not None:
        moving = on_axes(tree, *moving)
        force = np.zeros((*state[2].shape[:-1], tree.n))
        force[..., independent_axes(mechanism)] = state[2]
    if tree.springs is not None:
        force = force + spring_torques(tree, moving[0], moving[1])
    if has_cut_forces(mechanism):
        force = force + cut_axis_torques(mechanism, moving[0], moving[1])
    loads = None
    if wrenches is not None:
        loads = axis_loads(tree, body_loads(mechanism, moving[0], wrenches))
        batch = batch_shape(*state, loads)
    count = math.prod(batch)
    rows = [plain_rows(x, batch, count) for x in (*moving, force)]
    if count == 0:
        return np.zeros((*batch, mechanism.n_dof))
    more = None if loads is None else plain_rows(loads, batch, count)
    found = program.states.answer(rows[0], rows[1], rows[2], more, threads)
    qdd = found.qdd if tree.coupling is None else found.qdd[:, independent_axes(mechanism)]
    qdd = qdd.reshape(*batch, mechanism.n_dof)
    if not checking():
        return qdd
    fits, regular = bounds(mechanism, program, float(np.abs(rows[1]).max()))
    good = found.verdict <= (*fits, *regular)
    if good.all() and is_finite(qdd):
        return qdd
    return _closely(mechanism, state, wrenches, qdd, good[:, len(fits) :].all(axis=1).reshape(batch))


def fits_loops(mechanism: Mechanism, q: Array, qd: Array) -> bool:
    """Whether states (..., n_dof) fit the loops and are far from singular; a closer look may find more."""
    tree, program = mechanism.tree, loop_program(mechanism)
    rows = [x.reshape(-1, tree.n) for x in on_axes(tree, *np.broadcast_arrays(q, qd))]
    fits, regular = bounds(mechanism, program, float(np.abs(rows[1]).max()))
    verdict = program.states.answer(rows[0], rows[1], np.zeros_like(rows[1])).verdict
    return bool((verdict <= (*fits, *regular)).all())


def bounds(mechanism: Mechanism, program: LoopProgram, speed: float) -> tuple[tuple[float, ...], ...]:
    """Bounds of the numbers of `kernels.loop.judge`: of a state that fits the loops, and of a regular one.

    ``speed`` is the largest of the axes.
    """
    close = CLOSED * size_of(mechanism)
    fits = (close, close * (1.0 + speed), 0.0)
    share = REFINED if program.tables.n_groups else REGULAR
    return fits, (-share, float(program.tables.n_loop_rows - program.rank), -SINGULAR)


def _closely(
    mechanism: Mechanism, state: tuple[Array, ...], wrenches: Wrenches, qdd: Array, regular: Flags
) -> Array:
    """Refuse states that do not fit, and answer nearly singular ones by singular values."""
    q, qd, tau = (np.broadcast_to(x, qdd.shape) for x in state)
    found = constraints(mechanism, q, qd)
    refuse_open_loops(mechanism, found, qd, None)
    if regular.all():
        return qdd
    tree, h = mechanism.opened(), tree_bias_torque(mechanism.opened(), q, qd, wrenches)
    FORWARD.of(tree, q[~regular], qd[~regular], tau[~regular])  # names a joint that moves no inertia
    refuse_singular(mechanism, found.J)
    if has_cut_forces(mechanism):
        h = h - cut_forces(mechanism, found.motion).torque
    M, right = MASS_MATRIX.of(tree, q), tau - h
    some, bias = found.J[~regular], found.rate[~regular][..., None]
    exact, _ = constrained(M[~regular], some, right[~regular][..., None], bias)
    qdd = np.array(qdd)
    qdd[~regular] = exact[..., 0]
    return qdd


def refuse_singular(mechanism: Mechanism, J: Array, at_start: bool = False) -> None:
    """An error that names the loop where states leave it open along which branch a motion goes on.

    ``J`` (..., rows, n_dof) of the loops: where it has less than its usual rank, other motions than the usual
    ones keep the loops closed at first, and which of them is a motion indeed is not in the equations.
    """
    usual = loop_program(mechanism).rank
    sizes = np.linalg.svd(J, compute_uv=False)
    ranks = (sizes > RANK * sizes[..., :1]).sum(axis=-1)
    if (ranks >= usual).all():
        return
    place = tuple(int(k) for k in np.argwhere(ranks < usual)[0])
    regular = regular_pose(mechanism)
    where, begin = ("at the start", "start") if at_start else (f"in {state_name(place)}", "ask")
    loop = losing(loop_rows(mechanism), J[place], regular.J)
    raise SingularityError(
        f"{loop} is in a singular position {where}: {ranks[place]} "
        f"instead of {usual} constraints are independent, so the motion may continue on several branches; "
        f"{begin} slightly away from it"
    )
