"""Floating bases: the joints are driven, the base is not ([Shah2013], section 7.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers
from kinetree.algebra.rotation import GIMBAL_LOCK
from kinetree.analysis.batches import same_batch
from kinetree.analysis.checks import checking, given
from kinetree.analysis.evaluate import evaluate
from kinetree.analysis.forward import solved
from kinetree.analysis.inverse import inverse_dynamics, mass_matrix
from kinetree.analysis.loads import Wrenches, axis_loads, body_loads, with_springs
from kinetree.errors import InputError, SingularityError
from kinetree.kernels.aba import SINGULAR
from kinetree.kernels.floating import BASE, FLOATING_INVERSE
from kinetree.kernels.tree_columns import gross_inertia
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS


def floating_base_inverse_dynamics(
    mechanism: Mechanism, q: ArrayLike, qd: ArrayLike, qdd_joints: ArrayLike, wrenches: Wrenches = None
) -> tuple[Array, Array]:
    """Base acceleration (..., 6) and joint torques (..., n_dof - 6) of a motion given in the joints.

    The base is not driven, so its acceleration follows from its six equations, M_00 qdd_0 = -h_0 with
    h_0 the base's share at qdd_0 = 0; then the joint torques follow ([Shah2013], section 7.1.1). The first
    link must hang on a free joint; qdd_0 are second derivatives of its coordinates. Loops may close between
    bodies that it carries: torques are then those of the driven joints, zero elsewhere.

    >>> import kinetree as kt, numpy as np
    >>> robot = kt.zoo.quadruped()
    >>> rest = np.zeros(robot.n_dof)
    >>> base, tau = kt.floating_base_inverse_dynamics(robot, rest, rest, np.zeros(12))
    >>> (base.round(9) + 0.0).tolist()
    [0.0, 0.0, -9.81, 0.0, 0.0, 0.0]
    """
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
    if base_is_alone(mechanism):
        base, tau = _freed(mechanism, q, qd, qdd, wrenches)
    else:
        base, tau = _solved(mechanism, q, qd, qdd, wrenches)
    return base, tau[..., BASE:]


def base_is_alone(mechanism: Mechanism) -> bool:
    """Whether all bodies hang on the first joint and nothing but inertia acts on its axes.

    >>> import kinetree as kt
    >>> base_is_alone(kt.zoo.quadruped())
    True
    """
    tree = mechanism.tree
    alone = tree.coupling is None and int((tree.parent == WORLD_AXIS).sum()) == 1
    return alone and not (tree.passive[:BASE].any() or tree.armature[:BASE].any())


def _freed(mechanism: Mechanism, q: Array, qd: Array, qdd: Array, wrenches: Wrenches) -> tuple[Array, Array]:
    """In O(n): the composite body accelerates as if free."""
    tree = mechanism.tree
    load = axis_loads(tree, body_loads(mechanism, q, with_springs(mechanism, q, qd, wrenches)))
    smallest = np.array([SINGULAR * gross_inertia(tree)[BASE - 1] ** 3, SINGULAR, GIMBAL_LOCK])

    def check(found: list[Array]) -> None:
        if checking() and not (np.abs(found[2]) > smallest).all():
            raise SingularityError(_undefined(mechanism))

    found = evaluate(FLOATING_INVERSE, tree, [q, qd, qdd, load], [BASE, tree.n, 3], explain=check)
    check(found)
    return found[0], found[1]


def _solved(mechanism: Mechanism, q: Array, qd: Array, qdd: Array, wrenches: Wrenches) -> tuple[Array, Array]:
    """From the mass matrix: M_00 qdd_0 = -h_0."""
    h_0 = inverse_dynamics(mechanism, q, qd, qdd, wrenches)[..., :BASE]
    M_00 = mass_matrix(mechanism, q)[..., :BASE, :BASE]
    scale = np.sqrt(np.abs(np.diagonal(M_00, axis1=-2, axis2=-1)))
    unit = M_00 / (scale[..., :, None] * scale[..., None, :] + np.finfo(float).tiny)
    if checking() and np.any(np.linalg.cond(unit) > 1.0 / SINGULAR):
        raise SingularityError(_undefined(mechanism))
    base, qdd = same_batch(-solved(M_00, h_0[..., None])[..., 0], qdd)
    qdd = np.concatenate([base, qdd[..., BASE:]], axis=-1)
    return base, inverse_dynamics(mechanism, q, qd, qdd, wrenches)


def _undefined(mechanism: Mechanism) -> str:
    return (
        f"the acceleration of the base of '{mechanism.name}' is not defined in this state: its composite "
        f"inertia is singular, or its Euler angles (sequence {mechanism.links[0].joint.sequence}) are in "
        "gimbal lock"
    )
