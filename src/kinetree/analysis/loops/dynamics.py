"""Inverse and forward dynamics with closed loops: M qdd + h = tau + J^T lambda, J qdd + bias = 0.

The multipliers lambda of redundant rows are not unique; J^T lambda is. Masks tell which components of a cut
joint's wrench the equations leave undetermined (004, sections 8.1 and 8.2; 001, eq. 38).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.analysis.inverse import bias_torque, inverse_dynamics, mass_matrix
from kinetree.analysis.loops.linear import constrained, swapped
from kinetree.analysis.loops.system import Constraints, constraints, refuse_open_loops, spaces
from kinetree.errors import InputError, listed
from kinetree.model.body import WORLD
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags
from kinetree.state import Wrench, coordinates

DETERMINED = 1e-8  # what a redundant combination may change in a component that is called determined


@dataclass(frozen=True, eq=False)
class LoopForces:
    """Forces of the loops.

    ``torque`` (..., n_dof) is J^T lambda, always unique. ``wrench`` (..., loops, 6) is the force (N) and the
    moment (N m) that body b exerts on body a at a's frame of the cut joint, in world axes; components that
    redundant constraints leave undetermined are NaN, and False in ``determined``.
    """

    loop_names: tuple[str, ...]
    torque: Array
    wrench: Array
    determined: Flags


def loop_inverse_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrenches: Sequence[Wrench] | None = None,
    weights: ArrayLike | None = None,
) -> tuple[Array, LoopForces]:
    """Torques at the driven joints for a motion that fits the loops, zero elsewhere, and the loops' forces.

    With more drives than the motion needs, the sum of weights tau^2 is least; ``weights`` (n_dof,), 1 unless
    given. With G a basis of the velocities that the loops allow, G^T tau = G^T tau_tree.
    """
    q, qd, qdd = broadcast(mechanism, q, qd, qdd)
    found = constraints(mechanism, q, qd, qdd)
    refuse_open_loops(mechanism, found, qd, qdd)
    tau_tree = inverse_dynamics(mechanism.opened(), q, qd, qdd, wrenches=wrenches)
    tau = _drive_torque(mechanism, found, tau_tree, drive_weights(mechanism, weights))
    return tau, _forces(found, tau_tree - tau)


def loop_forward_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    wrenches: Sequence[Wrench] | None = None,
) -> tuple[Array, LoopForces]:
    """Accelerations under given torques on any joint, and the loops' forces; see `constrained`."""
    q, qd, tau = broadcast(mechanism, q, qd, tau)
    found = constraints(mechanism, q, qd)
    refuse_open_loops(mechanism, found, qd, None)
    tree = mechanism.opened()
    right = tau - bias_torque(tree, q, qd, wrenches=wrenches)
    qdd, torque = constrained(mass_matrix(tree, q), found.J, right[..., None], found.rate[..., None])
    return qdd[..., 0], _forces(found, torque[..., 0])


def cut_loads(mechanism: Mechanism, found: Constraints, wrench: Array) -> list[Wrench]:
    """The wrenches of the cut joints as loads on both bodies of each loop."""
    loads = []
    for k, loop in enumerate(mechanism.loops):
        F, N = wrench[..., k, :3], wrench[..., k, 3:]
        if loop.body_a != WORLD:
            loads.append(Wrench(loop.body_a, F, N, loop.placement_a.position))
        if loop.body_b != WORLD:
            N = -N + np.cross(found.cut.D[..., k, :], F)
            loads.append(Wrench(loop.body_b, -F, N, loop.placement_b.position))
    return loads


def _drive_torque(mechanism: Mechanism, found: Constraints, tau_tree: Array, weights: Array) -> Array:
    """The torques of the drives that do the work of ``tau_tree`` on all velocities that the loops allow."""
    driven = np.flatnonzero(mechanism.driven)
    G = swapped(spaces(found.J).free)
    A, g = G[..., driven] / np.sqrt(weights[driven]), G @ tau_tree[..., None]
    x = np.linalg.pinv(A, rcond=1e-9) @ g
    left = np.abs(A @ x - g).max(initial=0.0)
    if left > 1e-9 * max(1.0, np.abs(g).max(initial=0.0)):
        names = [mechanism.joint_names[k] for k in driven]
        raise InputError(
            f"mechanism '{mechanism.name}': the driven joints ({listed(names)}) cannot produce this motion; "
            f"{left:.3g} N m or N of generalized force is left over. Declare more joints as driven"
        )
    tau = np.zeros_like(tau_tree)
    tau[..., driven] = x[..., 0] / np.sqrt(weights[driven])
    return tau


def multipliers(found: Constraints, torque: Array) -> Array:
    """Multipliers (..., rows, 1) of least norm with J^T lambda = torque."""
    s = spaces(found.J)
    least: Array = s.U @ ((swapped(s.V) @ torque[..., None]) / s.s[..., None])
    return least


def _forces(found: Constraints, torque: Array) -> LoopForces:
    """Multipliers of least norm with J^T lambda = torque, as wrenches with a mask."""
    s = spaces(found.J)
    rows, names = found.rows, tuple(loop.name for loop in found.rows.loops)
    wrench = rows.wrenches_on_A(found.cut, multipliers(found, torque)[..., 0])
    loose = np.zeros(wrench.shape)
    for k in range(s.redundant.shape[-1]):
        loose = np.maximum(loose, np.abs(rows.wrenches_on_A(found.cut, s.redundant[..., k])))
    determined = loose < DETERMINED
    return LoopForces(names, torque, np.where(determined, wrench, np.nan), determined)


def broadcast(mechanism: Mechanism, *values: ArrayLike) -> list[Array]:
    """Positions, velocities and accelerations or torques as arrays of one shape (..., n_dof)."""
    names = ("q", "qd", "qdd or tau")
    arrays = [coordinates(mechanism, x, name) for x, name in zip(values, names, strict=True)]
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
        raise InputError(f"weights must be {mechanism.n_dof} positive numbers, got {found.tolist()}")
    return found
