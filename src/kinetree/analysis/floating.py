"""Floating bases: the joints are driven, the base is not ([Shah2013], section 7.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers
from kinetree.analysis.checks import checking, given
from kinetree.analysis.hybrid import hybrid_dynamics
from kinetree.analysis.loads import Wrenches
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
        from kinetree.analysis.loops.verbs import closed_floating_inverse

        return closed_floating_inverse(mechanism, q, qd, joints, wrenches)
    qdd = np.concatenate([np.zeros((*joints.shape[:-1], BASE)), joints], axis=-1)
    found = hybrid_dynamics(mechanism, q, qd, qdd, prescribed=mechanism.joint_names[BASE:], wrenches=wrenches)
    return found.qdd[..., :BASE], found.tau[..., BASE:]
