"""Inverse and forward dynamics with closed loops: M qdd + h = tau + J^T lambda, J qdd + bias = 0.

The multipliers lambda of redundant rows are not unique; J^T lambda is. Masks tell which components of a cut
joint's wrench the equations leave undetermined ([Shah2013], sections 8.1 and 8.2; [Xiang2009], eq. 38).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.algebra.shown import Shown
from kinetree.dynamics.checks import checking, given
from kinetree.dynamics.inverse import INVERSE
from kinetree.dynamics.loads import Wrenches
from kinetree.dynamics.loops.acceleration import loop_accelerations
from kinetree.dynamics.loops.coordinates import cut_forces, cut_torques, has_cut_drives, has_cut_forces
from kinetree.dynamics.loops.drives import compiled_drives
from kinetree.dynamics.loops.linear import swapped
from kinetree.dynamics.loops.structure import independent_coordinates, regular_pose, structure
from kinetree.dynamics.loops.system import Constraints, constraints, losing, refuse_open_loops
from kinetree.errors import InputError, listed, must_be
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags, Integers
from kinetree.state import coordinates

DETERMINED = 1e-8  # what a redundant combination may change in a component that is called determined


@dataclass(frozen=True, eq=False, repr=False)
class LoopForces(Shown):
    """Forces of the loops.

    ``torque`` (..., n_dof) is J^T lambda, always unique. ``wrench`` (..., loops, 6) is the force (N) and the
    moment (N m) that body b exerts on body a at a's frame of the cut joint, in world axes; components that
    redundant constraints leave undetermined are NaN, and False in ``determined``. It contains springs,
    friction and drives of the cut joint itself, ``torque`` does not. ``drive`` (..., k) are the forces of the
    drives at cut joints, on the coordinates ``drive_names`` (:func:`kinetree.loops.cut_coordinates`).
    """

    loop_names: tuple[str, ...]
    torque: Array
    wrench: Array
    determined: Flags
    drive_names: tuple[str, ...] = ()
    drive: Array = field(default_factory=lambda: np.zeros(0))


def loop_inverse_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrenches: Wrenches = None,
    weights: ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> tuple[Array, LoopForces]:
    """Torques at the driven joints for a motion that fits the loops, zero elsewhere, and the loops' forces.

    With more drives than the motion needs, the sum of weights tau^2 is least; ``weights`` (n_dof,), 1 unless
    given. With G a basis of the velocities that the loops allow, G^T tau = G^T tau_tree. Drives at cut joints
    share the work, as ``drive`` of the forces shows.

    >>> import kinetree as kt
    >>> bar, still = kt.zoo.four_bar(), [0.0] * 3
    >>> q = kt.loops.assemble(bar, [0.0, 1.0, 4.3], hold=["crank_pivot"])
    >>> tau, forces = kt.loops.inverse_dynamics(bar, q, still, still)
    >>> tau.round(6).tolist()
    [1.957095, 0.0, 0.0]
    """
    expect_mechanism(mechanism)
    state = broadcast(mechanism, q, qd, qdd)
    work = _drive_work(mechanism, state, wrenches, threads, weights)
    found = constraints(mechanism, *state) if work.found is None else work.found
    torque = work.needed - work.tau
    if work.drive is not None:
        torque = torque - (cut_forces(mechanism, found.motion).drives @ work.drive[..., None])[..., 0]
    return work.tau, forces_of(mechanism, found, torque, work.drive)


def drive_torque(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrenches: Wrenches = None,
    threads: int | None = None,
) -> Array:
    """Torques of the drives alone, (..., n_dof)."""
    return _drive_work(mechanism, broadcast(mechanism, q, qd, qdd), wrenches, threads).tau


class DriveWork(NamedTuple):
    """What drives do in a motion: torques on joints of the tree, forces at cut joints, and what is needed."""

    tau: Array
    drive: Array | None  # None without drives at cut joints
    needed: Array  # by the tree at all joints, (..., n_dof)
    found: Constraints | None  # None where compiled code has looked at the loops


def _drive_work(
    mechanism: Mechanism,
    state: Sequence[Array],
    wrenches: Wrenches,
    threads: int | None,
    weights: ArrayLike | None = None,
) -> DriveWork:
    """The least torques of the drives: block by block where there are as many as freedoms."""
    shares, at_cuts = drive_weights(mechanism, weights), has_cut_drives(mechanism)
    needed = INVERSE.of(mechanism.opened(), *state, wrenches=wrenches, threads=threads)
    if has_cut_forces(mechanism):
        needed = needed - cut_torques(mechanism, state[0], state[1])
    if not at_cuts:
        tau = compiled_drives(mechanism, state[0], state[1], state[2], needed, threads)
        if tau is not None:
            return DriveWork(tau, None, needed, None)
    found = constraints(mechanism, *state)
    refuse_open_loops(mechanism, found, state[1], state[2])
    if at_cuts:
        return DriveWork(*_with_cut_drives(mechanism, found, needed, shares), needed, found)
    tau = drive_map(mechanism, found, needed[..., None], shares, mechanism.driven)[..., 0]
    return DriveWork(tau, None, needed, found)


def _with_cut_drives(
    mechanism: Mechanism, found: Constraints, needed: Array, weights: Array
) -> tuple[Array, Array]:
    """Torques and forces of drives, some of them at cut joints, whose columns are (ds/dq)^T, weights 1."""
    cut = cut_forces(mechanism, found.motion)
    driven, count = np.flatnonzero(mechanism.driven), cut.drives.shape[-1]
    G, n = swapped(found.spaces.free), mechanism.n_dof
    scale = np.concatenate([np.sqrt(weights[driven]), np.ones(count)])
    A, g = np.concatenate([G[..., driven], G @ cut.drives], axis=-1) / scale, G @ needed[..., None]
    x = np.linalg.pinv(A, rcond=1e-9) @ g
    left = float(np.abs(A @ x - g).max(initial=0.0))
    if checking() and left > 1e-9 * max(1.0, np.abs(g).max(initial=0.0)):
        raise InputError(_powerless(mechanism, found, driven, left))
    forces = x[..., 0] / scale
    tau = np.zeros((*g.shape[:-2], n))
    tau[..., driven] = forces[..., : len(driven)]
    return tau, forces[..., len(driven) :]


def loop_forward_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    wrenches: Wrenches = None,
) -> tuple[Array, LoopForces]:
    """Accelerations under given torques on any joint, and the loops' forces; see `loop_accelerations`.

    >>> import kinetree as kt
    >>> bar, still = kt.zoo.four_bar(), [0.0] * 3
    >>> q = kt.loops.assemble(bar, [0.0, 1.0, 4.3], hold=["crank_pivot"])
    >>> qdd, forces = kt.loops.forward_dynamics(bar, q, still, kt.gravity_torque(bar, q))
    >>> bool(abs(qdd).max() < 1e-9)
    True
    """
    expect_mechanism(mechanism)
    q, qd, tau = broadcast(mechanism, q, qd, tau)
    qdd = loop_accelerations(mechanism, q, qd, tau, wrenches)
    found = constraints(mechanism, q, qd)
    torque = INVERSE.of(mechanism.opened(), q, qd, qdd, wrenches=wrenches) - tau
    if has_cut_forces(mechanism):
        torque = torque - cut_forces(mechanism, found.motion).torque
    return qdd, forces_of(mechanism, found, torque)


def loop_forces(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike | None = None,
    *,
    tau: ArrayLike | None = None,
    wrenches: Wrenches = None,
    weights: ArrayLike | None = None,
) -> LoopForces:
    """Wrench at each cut joint, with a mask, either of a motion ``qdd`` or under torques ``tau``.

    Of a motion, the drives give what it needs (:func:`inverse_dynamics`, with its ``weights``); under torques
    it follows by itself (:func:`forward_dynamics`).

    >>> import kinetree as kt
    >>> bar, still = kt.zoo.four_bar(), [0.0] * 3
    >>> q = kt.loops.assemble(bar, [0.0, 1.0, 4.3], hold=["crank_pivot"])
    >>> forces = kt.loops.forces(bar, q, still, still)
    >>> forces.loop_names, forces.determined[0].tolist()
    (('crank_pin',), [True, True, False, False, False, True])
    """
    expect_mechanism(mechanism)
    if (qdd is None) == (tau is None):
        raise InputError("give either the accelerations qdd of a motion or the torques tau, not both")
    if tau is None:
        assert qdd is not None
        return loop_inverse_dynamics(mechanism, q, qd, qdd, wrenches, weights)[1]
    if weights is not None:
        raise InputError(
            "weights distribute the torques of a motion among drives; with given torques tau "
            "they have no effect"
        )
    return loop_forward_dynamics(mechanism, q, qd, tau, wrenches)[1]


def drive_map(
    mechanism: Mechanism, found: Constraints, on_joints: Array, weights: Array, driven: Flags
) -> Array:
    """Forces of the drives (..., n_dof, k) that do the work of generalized forces on the tree's joints.

    G^T tau = G^T f for all velocities G that the loops allow, with the least sum of weights tau^2.
    """
    drives = np.flatnonzero(driven)
    G = swapped(found.spaces.free)
    A, g = G[..., drives] / np.sqrt(weights[drives]), G @ on_joints
    x = np.linalg.pinv(A, rcond=1e-9) @ g
    if checking():
        left = np.abs(A @ x - g).max(initial=0.0)
        if left > 1e-9 * max(1.0, np.abs(g).max(initial=0.0)):
            raise InputError(_powerless(mechanism, found, drives, float(left)))
    tau = np.zeros((*g.shape[:-2], mechanism.n_dof, g.shape[-1]))
    tau[..., drives, :] = x / np.sqrt(weights[drives])[:, None]
    return tau


def _powerless(mechanism: Mechanism, found: Constraints, drives: Integers, left: float) -> str:
    """Why the drives cannot produce a motion."""
    start = f"mechanism '{mechanism.name}'"
    if not len(drives):
        return (
            f"{start}: no joint is driven, so nothing can produce this motion, which needs {left:.3g} N m or "
            "N of generalized force; declare driven joints, or use the open tree, mechanism.opened()"
        )
    names = listed(mechanism.joint_names[k] for k in drives)
    message = (
        f"{start}: the driven joints ({names}) cannot produce this motion; {left:.3g} N m or N of "
        "generalized force is left over. "
    )
    usual = structure(mechanism)
    if found.spaces.rank < usual.rank:
        regular = regular_pose(mechanism).J
        J = found.J.reshape(-1, *found.J.shape[-2:])[0]
        ranks = f"({found.spaces.rank} instead of {usual.rank})"
        return f"{message}The position is singular: {losing(found.rows, J, regular)} loses rank {ranks}"
    if len(drives) < usual.mobility:
        return f"{message}Its mobility is {usual.mobility}: declare more joints as driven"
    J = found.J.reshape(-1, *found.J.shape[-2:])[0]
    other = independent_coordinates(J, J.shape[1] - found.spaces.rank, ~mechanism.driven)
    return (
        f"{message}It can move without moving any of them in this position; drive other joints, such as "
        f"{listed(mechanism.joint_names[k] for k in other)}"
    )


def multipliers(found: Constraints, torque: Array) -> Array:
    """Multipliers (..., rows, 1) of least norm with J^T lambda = torque."""
    least: Array = found.least @ torque[..., None]
    return least


def cut_determined(found: Constraints) -> Flags:
    """(..., loops, 6): components of the cut joints' wrenches that redundant rows do not change."""
    rows, redundant = found.rows, found.spaces.redundant
    loose = np.zeros((*found.gap.shape[:-1], len(rows.loops), 6))
    for k in range(redundant.shape[-1]):
        loose = np.maximum(loose, np.abs(rows.wrenches_on_A(found.cut, redundant[..., k])))
    return loose < DETERMINED


def forces_of(
    mechanism: Mechanism,
    found: Constraints,
    torque: Array,
    drive: Array | None = None,
    pushed: Array | None = None,
) -> LoopForces:
    """Multipliers of least norm with J^T lambda = torque, as wrenches with a mask.

    ``drive`` (..., d) are forces of drives at cut joints, or ``pushed`` (..., k) all forces there.
    """
    rows, names = found.rows, tuple(loop.name for loop in found.rows.loops)
    wrench = rows.wrenches_on_A(found.cut, multipliers(found, torque)[..., 0])
    determined = cut_determined(found)
    if pushed is None and not (has_cut_forces(mechanism) or has_cut_drives(mechanism)):
        return LoopForces(names, torque, np.where(determined, wrench, np.nan), determined)
    cut = cut_forces(mechanism, found.motion)
    wrench = wrench + cut.wrench(found.cut.D, drive, pushed)
    drive_names = tuple(name for name, flag in zip(cut.table.names, cut.table.driven, strict=True) if flag)
    drive = np.zeros((*torque.shape[:-1], len(drive_names))) if drive is None else drive
    return LoopForces(names, torque, np.where(determined, wrench, np.nan), determined, drive_names, drive)


def broadcast(mechanism: Mechanism, *values: ArrayLike) -> list[Array]:
    """Positions, velocities and accelerations or torques as arrays of one shape (..., n_dof)."""
    names = ("q", "qd", "qdd or tau")
    arrays = [given(mechanism, x, name) for x, name in zip(values, names, strict=True)]
    try:
        return [np.array(x) for x in np.broadcast_arrays(*arrays)]
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in zip(names, arrays, strict=True))
        raise InputError(f"the batch axes do not fit each other: {shapes}") from None


def drive_weights(mechanism: Mechanism, weights: ArrayLike | None) -> Array:
    """Weights of the squared torques, (n_dof,), positive."""
    if weights is None:
        return np.ones(mechanism.n_dof)
    found = coordinates(mechanism, weights, "weights")
    if found.ndim != 1 or not (found > 0.0).all():
        raise InputError(must_be("weights", f"{mechanism.n_dof} positive numbers", found.tolist()))
    return found
