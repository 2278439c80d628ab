"""Torques that give driven joints prescribed accelerations while the loops stay closed.

The drives are taken for constraints, E^T qdd = alpha beside J qdd + dJ/dt qd = 0, and their torques for the
multipliers: M qdd + h = E tau + J^T lambda. Other joints follow, or move as they must (collocated
linearization: Spong 1994). Open mechanisms ask `analysis.hybrid`.
"""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.inverse import bias_torque, gravity_torque, inverse_dynamics, mass_matrix
from kinetree.dynamics.checks import unchecked
from kinetree.dynamics.evaluate import same_batch
from kinetree.dynamics.loads import Wrenches
from kinetree.dynamics.loops.assembly import assemble, completed
from kinetree.dynamics.loops.coordinates import cut_torques, has_cut_drives, has_cut_forces
from kinetree.dynamics.loops.drives import compiled_drives, following_accelerations
from kinetree.dynamics.loops.dynamics import drive_map
from kinetree.dynamics.loops.linear import constrained
from kinetree.dynamics.loops.positions import loop_positions_of
from kinetree.dynamics.loops.system import constraints
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags
from kinetree.state import State

UNTURNED = 1.0  # rad or m of all joints together that turn no loop around


def tracking_torque(
    mechanism: Mechanism, q: Array, qd: Array, alpha: Array, driven: Flags, wrenches: Wrenches = None
) -> Array:
    """Torques (..., n_dof) of the ``driven`` joints that give these the accelerations alpha (..., n_dof).

    Zero elsewhere, where alpha is not looked at. The state may be off the loops by a little, as within a step
    of an integration. Of more drives than freedoms the accelerations are met in the least squares, and the
    sum of squared torques is least.
    """
    q, qd, alpha = same_batch(q, qd, alpha)
    quickly = _compiled_torque(mechanism, q, qd, alpha, driven, wrenches)
    if quickly is not None:
        return quickly
    drives = np.flatnonzero(driven)
    M, h = mass_matrix(mechanism, q), bias_torque(mechanism, q, qd, wrenches)
    unit = np.broadcast_to(np.eye(mechanism.n_dof)[drives], (*q.shape[:-1], len(drives), mechanism.n_dof))
    found = constraints(mechanism, q, qd)
    rows = np.concatenate([found.J, unit], axis=-2)
    wanted = np.concatenate([found.rate, -alpha[..., drives]], axis=-1)
    _, force = constrained(M, rows, -h[..., None], wanted[..., None])
    with unchecked():
        return drive_map(mechanism, found, force, np.ones(mechanism.n_dof), driven)[..., 0]


def _compiled_torque(
    mechanism: Mechanism, q: Array, qd: Array, alpha: Array, driven: Flags, wrenches: Wrenches
) -> Array | None:
    """Torques with as many drives as freedoms, far from singular positions; else None.

    Accelerations follow those of the drives; inverse dynamics of the tree shows what these need.
    """
    if not (driven == mechanism.driven).all() or has_cut_drives(mechanism):
        return None
    qdd = following_accelerations(mechanism, q, qd, alpha, ajar=True)
    if qdd is None:
        return None
    needed = inverse_dynamics(mechanism.opened(), q, qd, qdd, wrenches=wrenches)
    if has_cut_forces(mechanism):
        needed = needed - cut_torques(mechanism, q, qd)
    return compiled_drives(mechanism, q, qd, qdd, needed, ajar=True)


def holding_torque(mechanism: Mechanism, q: Array, driven: Flags) -> Array:
    """Torques (..., n_dof) of driven joints that hold closed loops against gravity as well as they can."""
    needed = gravity_torque(mechanism.opened(), q)
    if (driven == mechanism.driven).all() and not has_cut_drives(mechanism):
        rest = np.zeros_like(q)
        quickly = compiled_drives(mechanism, q, rest, rest, needed, ajar=True)
        if quickly is not None:
            return quickly
    on_joints = needed[..., None]
    with unchecked():
        found = constraints(mechanism, q)
        return drive_map(mechanism, found, on_joints, np.ones(mechanism.n_dof), driven)[..., 0]


def whole_motion(mechanism: Mechanism, want: State, given: Flags, near: Array) -> State:
    """A motion of the ``given`` joints (..., n_dof) completed to all, on the branch of a pose nearby."""
    chosen = np.flatnonzero(given)
    names = [mechanism.joint_names[k] for k in chosen]
    guess = np.where(given, want.q, near)
    q, good = loop_positions_of(mechanism).close(guess.reshape(-1, mechanism.n_dof), np.flatnonzero(~given))
    q = q.reshape(guess.shape)
    if not (good.all() and np.abs(q - guess).sum(axis=-1).max() < UNTURNED):
        q = assemble(mechanism, guess, hold=names)
    return completed(mechanism, q, ~given, want.qd[..., chosen], want.qdd[..., chosen], chosen)
