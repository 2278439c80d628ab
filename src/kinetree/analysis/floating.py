"""Floating bases: the joints are driven, the base is not ([Shah2013], section 7.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers
from kinetree.analysis.hybrid import hybrid_dynamics
from kinetree.dynamics.checks import checking, given
from kinetree.dynamics.loads import Wrenches
from kinetree.errors import InputError
from kinetree.kernels.floating import BASE
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism


def floating_base_inverse_dynamics(
    mechanism: Mechanism, q: ArrayLike, qd: ArrayLike, qdd_joints: ArrayLike, wrenches: Wrenches = None
) -> tuple[Array, Array]:
    """Base acceleration (..., 6) and joint torques (..., n_dof - 6) of a motion given in the joints.

    The base is not driven, so its acceleration follows from its six equations, M_00 qdd_0 = -h_0 with
    h_0 the base's share at qdd_0 = 0; then the joint torques follow ([Shah2013], section 7.1.1). The first
    link must hang on a free joint; qdd_0 are second derivatives of its coordinates. Loops may close between
    bodies that it carries: torques are then those of the driven joints, zero elsewhere. This is the case of
    :func:`hybrid_dynamics` in which all joints but the base are prescribed.

    >>> import kinetree as kt, numpy as np
    >>> robot = kt.zoo.quadruped()
    >>> rest = np.zeros(robot.n_dof)
    >>> base, tau = kt.analysis.floating_base_inverse_dynamics(robot, rest, rest, np.zeros(12))
    >>> (base.round(9) + 0.0).tolist()
    [0.0, 0.0, -9.81, 0.0, 0.0, 0.0]
    """
    expect_mechanism(mechanism)
    first = mechanism.links[0].joint
    if not first.is_free:
        raise InputError(
            f"'{mechanism.name}' has no floating base: its joint '{first.name}' is {first.kind}, not free"
        )
    q, qd = given(mechanism, q, "q"), given(mechanism, qd, "qd")
    n_joints = mechanism.n_dof - BASE
    joints = numbers(qdd_joints, "qdd_joints")
    if checking():
        finite(joints, "qdd_joints")
    if joints.ndim == 0 or joints.shape[-1] != n_joints:
        raise InputError(f"qdd_joints must have shape (..., {n_joints}), got shape {joints.shape}")
    if mechanism.loops:
        return _with_loops(mechanism, q, qd, joints, wrenches)
    qdd = np.concatenate([np.zeros((*joints.shape[:-1], BASE)), joints], axis=-1)
    found = hybrid_dynamics(mechanism, q, qd, qdd, prescribed=mechanism.joint_names[BASE:], wrenches=wrenches)
    return found.qdd[..., :BASE], found.tau[..., BASE:]


def _with_loops(
    mechanism: Mechanism, q: ArrayLike, qd: ArrayLike, joints: ArrayLike, wrenches: Wrenches
) -> tuple[Array, Array]:
    """Base acceleration and torques of the drives of a floating mechanism whose loops ride on it."""
    from kinetree.dynamics.loops.dynamics import drive_map
    from kinetree.dynamics.loops.system import constraints, refuse_open_loops

    q, qd = given(mechanism, q, "q"), given(mechanism, qd, "qd")
    found = constraints(mechanism, q, qd)
    size = max(1.0, float(np.abs(found.J).max(initial=0.0)))
    tied = np.argwhere(np.abs(found.J[..., :BASE]) > 1e-9 * size)
    if len(tied):
        loop = found.rows.loops[found.rows.loop_of_row[tied[0][-2]]].name
        raise InputError(
            f"mechanism '{mechanism.name}': loop '{loop}' connects the floating base, so it is not free to "
            f"accelerate; use inverse_dynamics with the accelerations of all joints"
        )
    base, tau = floating_base_inverse_dynamics(mechanism.opened(), q, qd, joints, wrenches)
    joints = np.asarray(joints, dtype=np.float64)
    joints = np.broadcast_to(joints, (*base.shape[:-1], joints.shape[-1]))
    qdd = np.concatenate([base, joints], axis=-1)
    q, qd = np.broadcast_to(q, qdd.shape), np.broadcast_to(qd, qdd.shape)
    found = constraints(mechanism, q, qd, qdd)
    refuse_open_loops(mechanism, found, qd, qdd)
    driven = mechanism.driven.copy()
    driven[:BASE] = False
    tau_tree = np.concatenate([np.zeros_like(base), tau], axis=-1)
    by_drives = drive_map(mechanism, found, tau_tree[..., None], np.ones(mechanism.n_dof), driven)
    return base, by_drives[..., BASE:, 0]
