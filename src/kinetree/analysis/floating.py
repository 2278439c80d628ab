"""Floating bases: the joints are driven, the base is not (004, section 7.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers
from kinetree.analysis.evaluate import batch_shape
from kinetree.analysis.inverse import inverse_dynamics, mass_matrix
from kinetree.analysis.loads import Wrenches
from kinetree.errors import InputError, SingularityError
from kinetree.model.mechanism import Mechanism
from kinetree.state import coordinates

BASE_DOF = 6


def floating_base_inverse_dynamics(
    mechanism: Mechanism, q: ArrayLike, qd: ArrayLike, qdd_joints: ArrayLike, wrenches: Wrenches = None
) -> tuple[Array, Array]:
    """Base acceleration (..., 6) and joint torques (..., n_dof - 6) of a motion given in the joints.

    The base is not driven, so its acceleration follows from its six equations, M_00 qdd_0 = -h_0 with
    h_0 the base's share at qdd_0 = 0; then the joint torques follow (004, section 7.1.1). The first link
    must hang on a free joint; qdd_0 are second derivatives of its coordinates.

    >>> import kinetree as kt, numpy as np
    >>> robot = kt.zoo.quadruped()
    >>> rest = np.zeros(robot.n_dof)
    >>> base, tau = kt.floating_base_inverse_dynamics(robot, rest, rest, np.zeros(12))
    >>> (base.round(9) + 0.0).tolist()
    [0.0, 0.0, -9.81, 0.0, 0.0, 0.0]
    """
    first = mechanism.links[0].joint
    if first.kind != "free":
        raise InputError(
            f"'{mechanism.name}' has no floating base: its joint '{first.name}' is {first.kind}, not free"
        )
    q, qd = coordinates(mechanism, q, "q"), coordinates(mechanism, qd, "qd")
    n_joints = mechanism.n_dof - BASE_DOF
    given = finite(numbers(qdd_joints, "qdd_joints"), "qdd_joints")
    if given.ndim == 0 or given.shape[-1] != n_joints:
        raise InputError(f"qdd_joints must have shape (..., {n_joints}), got shape {given.shape}")
    batch = batch_shape(q, qd, given)
    qdd = np.zeros((*batch, mechanism.n_dof))
    qdd[..., BASE_DOF:] = given
    h_0 = inverse_dynamics(mechanism, q, qd, qdd, wrenches)[..., :BASE_DOF]
    M_00 = mass_matrix(mechanism, q)[..., :BASE_DOF, :BASE_DOF]
    qdd_0 = -_solved(mechanism, M_00, h_0)
    qdd = np.concatenate(_same_batch(qdd_0, qdd[..., BASE_DOF:]), axis=-1)
    tau = inverse_dynamics(mechanism, q, qd, qdd, wrenches)
    return qdd_0, tau[..., BASE_DOF:]


def _solved(mechanism: Mechanism, M_00: Array, h_0: Array) -> Array:
    scale = np.sqrt(np.abs(np.diagonal(M_00, axis1=-2, axis2=-1)))
    unit = M_00 / (scale[..., :, None] * scale[..., None, :] + np.finfo(float).tiny)
    if np.any(np.linalg.cond(unit) > 1e14):
        raise SingularityError(
            f"the base of '{mechanism.name}' cannot move freely in this state: its composite inertia is "
            f"singular, or its Euler angles (sequence {mechanism.links[0].joint.sequence}) are in gimbal lock"
        )
    return np.asarray(np.linalg.solve(M_00, h_0[..., None])[..., 0], dtype=np.float64)


def _same_batch(a: Array, b: Array) -> tuple[Array, Array]:
    batch = batch_shape(a, b)
    return np.broadcast_to(a, (*batch, a.shape[-1])), np.broadcast_to(b, (*batch, b.shape[-1]))
