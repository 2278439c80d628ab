"""Hybrid dynamics: accelerations known of some joints, torques of the others; what is the rest?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.algebra.rotation import GIMBAL_LOCK
from kinetree.algebra.shown import Shown
from kinetree.analysis.forward import forward_dynamics
from kinetree.analysis.inverse import inverse_dynamics, mass_matrix
from kinetree.analysis.sensitivity import inverse_dynamics_derivatives
from kinetree.dynamics.checks import check_finite, checking, given
from kinetree.dynamics.evaluate import evaluate, same_batch
from kinetree.dynamics.forward import solved
from kinetree.dynamics.loads import Wrenches, axis_loads, body_loads, with_springs
from kinetree.errors import InputError, SingularityError, must_be, unknown_name
from kinetree.kernels.aba import SINGULAR
from kinetree.kernels.floating import BASE, FLOATING_INVERSE
from kinetree.kernels.tree_columns import gross_inertia
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS, Integers
from kinetree.state import fitting, state_name

Prescribed = Sequence[str] | None  # names of joints; the driven ones if None


def base_is_alone(mechanism: Mechanism) -> bool:
    """Whether all bodies hang on the first joint and nothing but inertia acts on its axes.

    >>> import kinetree as kt
    >>> base_is_alone(kt.zoo.quadruped())
    True
    """
    tree = mechanism.tree
    alone = tree.coupling is None and int((tree.parent == WORLD_AXIS).sum()) == 1
    return alone and not (tree.passive[:BASE].any() or tree.armature[:BASE].any())


def freed(mechanism: Mechanism, q: Array, qd: Array, qdd: Array, wrenches: Wrenches) -> tuple[Array, Array]:
    """Base acceleration (..., 6) and torques (..., n_dof) in O(n): the composite body accelerates as if free.

    ``qdd`` (..., n_dof) are zero for the base, whose torques come out zero.
    """
    tree = mechanism.tree
    load = axis_loads(tree, body_loads(mechanism, q, with_springs(mechanism, q, qd, wrenches)))
    smallest = np.array([SINGULAR * gross_inertia(tree)[BASE - 1] ** 3, SINGULAR, GIMBAL_LOCK])

    def check(found: list[Array]) -> None:
        if checking() and not (np.abs(found[2]) > smallest).all():
            raise SingularityError(undefined_base(mechanism))

    found = evaluate(FLOATING_INVERSE, tree, [q, qd, qdd, load], [BASE, tree.n, 3], explain=check)
    check(found)
    return found[0], found[1]


def undefined_base(mechanism: Mechanism) -> str:
    """Why a floating base has no acceleration in a state."""
    return (
        f"the acceleration of the base of '{mechanism.name}' is not defined in this state: its composite "
        f"inertia is singular, or its Euler angles (sequence {mechanism.links[0].joint.sequence}) are in "
        "gimbal lock"
    )


@dataclass(frozen=True, eq=False, repr=False)
class HybridDynamics(Shown):
    """Accelerations ``qdd`` and torques ``tau`` of all joints, (..., n_dof): those given and those found."""

    qdd: Array
    tau: Array


@dataclass(frozen=True, eq=False, repr=False)
class HybridDynamicsDerivatives(Shown):
    """Accelerations, torques and derivatives, numerator first: ``dtau_dq[..., i, k]`` = d tau_i / d q_k.

    All are (..., n_dof, n_dof) and total. By ``qdd`` are columns of prescribed joints, by ``tau`` those of
    the others; the remaining columns are zero, for what is found cannot be chosen. Rows of what was given are
    zero, or one where a quantity stands for itself. With closed loops, derivatives by q and qd have columns
    for the ``independent`` joints, (..., n_dof, mobility), which all others follow.
    """

    independent: tuple[str, ...]
    qdd: Array
    tau: Array
    dqdd_dq: Array
    dqdd_dqd: Array
    dqdd_dqdd: Array
    dqdd_dtau: Array
    dtau_dq: Array
    dtau_dqd: Array
    dtau_dqdd: Array
    dtau_dtau: Array
    _matrices = ("dqdd_dq", "dqdd_dqd", "dtau_dq", "dtau_dqd")


def hybrid_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    prescribed: Prescribed = None,
    wrenches: Wrenches = None,
    threads: int | None = None,
) -> HybridDynamics:
    """All accelerations and torques, (..., n_dof) each, if some joints move as prescribed.

    ``qdd`` is used for the ``prescribed`` joints, ``tau`` for the others; other entries are ignored, and None
    is zero. With f for the free and p for the prescribed joints, M_ff qdd_f = tau_f - h_f - M_fp qdd_p; then
    tau_p follows (Featherstone 2008, section 9.2). All joints prescribed is inverse dynamics, none is forward
    dynamics. ``prescribed`` names degrees of freedom or whole joints; by default all driven ones, so a
    floating base and joints without drives move freely. ``wrenches`` act on the bodies. With closed loops the
    state must close them; if more joints are prescribed than the loops leave free, accelerations must also
    close them, and the sum of squared torques of these joints is least.

    >>> import kinetree as kt
    >>> arm, still = kt.zoo.gripper(), [0.0] * 4
    >>> both = kt.analysis.hybrid_dynamics(arm, still, still, prescribed=["joint1"])
    >>> both.qdd.round(2).tolist(), both.tau.round(4).tolist()
    ([0.0, -252.26, 336.34, -294.3], [0.2768, 0.0, 0.0, 0.0])
    """
    expect_mechanism(mechanism)
    known = prescribed_joints(mechanism, prescribed)
    free = np.setdiff1d(np.arange(mechanism.n_dof), known)
    q, qd = given(mechanism, q, "q"), given(mechanism, qd, "qd")
    a, tau = _part(mechanism, qdd, "qdd", known), _part(mechanism, tau, "tau", free)
    if mechanism.loops:
        from kinetree.dynamics.loops.hybrid import closed_hybrid

        return HybridDynamics(*closed_hybrid(mechanism, q, qd, a, tau, known, wrenches))
    if not len(free):
        tau = inverse_dynamics(mechanism, q, qd, a, wrenches, threads=threads)
        return HybridDynamics(np.array(np.broadcast_to(a, tau.shape)), tau)
    if not len(known):
        a = forward_dynamics(mechanism, q, qd, tau, wrenches, threads=threads)
        return HybridDynamics(a, np.array(np.broadcast_to(tau, a.shape)))
    if _is_base(mechanism, free) and base_is_alone(mechanism) and not tau.any():
        base, tau = freed(mechanism, q, qd, a, wrenches)
        tau = np.array(tau)
        tau[..., :BASE] = 0.0
        a = np.array(np.broadcast_to(a, tau.shape))
        a[..., :BASE] = base
        return HybridDynamics(a, tau)
    return HybridDynamics(*_partitioned(mechanism, q, qd, a, tau, known, free, wrenches, threads))


def hybrid_dynamics_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    prescribed: Prescribed = None,
    wrenches: Wrenches = None,
    threads: int | None = None,
) -> HybridDynamicsDerivatives:
    """Hybrid dynamics with exact derivatives with respect to q, qd and the given parts of qdd and tau.

    They follow from those of inverse dynamics at the answer of :func:`hybrid_dynamics`: M_ff dqdd_f = dtau_f
    - M_fp dqdd_p - (dtau/dq)_f dq - (dtau/dqd)_f dqd, and dtau_p from its rows. ``wrenches`` stay fixed in
    the frame they are given in.

    >>> import kinetree as kt
    >>> robot, rest = kt.zoo.quadruped(), [0.0] * 18
    >>> kt.analysis.hybrid_dynamics_derivatives(robot, rest, rest).dtau_dq.shape
    (18, 18)
    """
    expect_mechanism(mechanism)
    known = prescribed_joints(mechanism, prescribed)
    both = hybrid_dynamics(
        mechanism, q, qd, qdd, tau, prescribed=prescribed, wrenches=wrenches, threads=threads
    )
    if mechanism.loops:
        from kinetree.dynamics.loops.hybrid import closed_hybrid_derivatives

        slopes, names = closed_hybrid_derivatives(mechanism, q, qd, both.tau, known, wrenches)
        return HybridDynamicsDerivatives(names, both.qdd, both.tau, *slopes)
    d = inverse_dynamics_derivatives(mechanism, q, qd, both.qdd, wrenches, threads=threads)
    M, n, is_known = d.dtau_dqdd, mechanism.n_dof, np.zeros(mechanism.n_dof, dtype=bool)
    is_known[known] = True
    unit, free = np.eye(n), np.flatnonzero(~is_known)
    inverse = np.zeros_like(M)  # M_ff^-1, zero elsewhere
    inverse[..., free[:, None], free] = solved(M[..., free[:, None], free], np.eye(len(free)))
    by_qdd = np.where(is_known, unit - inverse @ M, 0.0)  # d qdd / d qdd_p
    rows = is_known[:, None]
    by_q, by_qd = (-inverse @ x for x in (d.dtau_dq, d.dtau_dqd))
    found: list[Array] = [
        *(by_q, by_qd, by_qdd, inverse),
        *(np.where(rows, x + M @ y, 0.0) for x, y in ((d.dtau_dq, by_q), (d.dtau_dqd, by_qd))),
        np.where(rows, M @ by_qdd, 0.0),
        np.where(rows, M @ inverse, np.where(is_known, 0.0, unit)),
    ]
    return HybridDynamicsDerivatives(mechanism.joint_names, both.qdd, both.tau, *found)


def prescribed_joints(mechanism: Mechanism, prescribed: Prescribed) -> Integers:
    """Places (k,) in q of prescribed joints, ascending; without names those that are driven.

    >>> import kinetree as kt
    >>> prescribed_joints(kt.zoo.gripper(), ["joint3", "joint1"]).tolist()
    [0, 2]
    """
    if prescribed is None:
        return np.flatnonzero(mechanism.actuated)
    if isinstance(prescribed, str) or not isinstance(prescribed, Sequence | np.ndarray):
        raise InputError(must_be("prescribed", "a list of names of joints", prescribed))
    parts = {x.joint.name: x.joint.dof_names for x in mechanism.links if x.joint.mimic is None}
    chosen: set[int] = set()
    for name in prescribed:
        if not isinstance(name, str) or (name not in mechanism.joint_names and name not in parts):
            known = dict.fromkeys((*mechanism.joint_names, *parts))
            raise InputError(unknown_name("joint", name, known).after("prescribed: "))
        chosen |= {mechanism.joint_index(x) for x in parts.get(name, (name,))}
    return np.array(sorted(chosen), dtype=np.int64)


def _part(mechanism: Mechanism, values: ArrayLike | None, what: str, chosen: Integers) -> Array:
    """Chosen entries of values (..., n_dof), zero elsewhere; only they must be finite."""
    if values is None:
        return np.zeros(mechanism.n_dof)
    array = fitting(mechanism, values, what)
    part = np.zeros(array.shape)
    part[..., chosen] = array[..., chosen]
    return given(mechanism, part, what)


def _is_base(mechanism: Mechanism, free: Integers) -> bool:
    """Whether the free joints are the six of a floating base."""
    return mechanism.links[0].joint.is_free and free.tolist() == list(range(BASE))


def _partitioned(
    mechanism: Mechanism,
    q: Array,
    qd: Array,
    qdd: Array,
    tau: Array,
    known: Integers,
    free: Integers,
    wrenches: Wrenches,
    threads: int | None,
) -> tuple[Array, Array]:
    """From the mass matrix, with b = M_p qdd_p + h: M_ff qdd_f = tau_f - b_f, tau_p = b_p + M_pf qdd_f."""
    b = inverse_dynamics(mechanism, q, qd, qdd, wrenches, threads=threads)
    M = mass_matrix(mechanism, q, threads=threads)
    M_f = M[..., :, free]
    M_ff = np.ascontiguousarray(M_f[..., free, :])
    if checking():
        _check_regular(mechanism, M_ff, free)
    found = solved(M_ff, (tau - b)[..., free, None])
    all_tau = b + (M_f @ found)[..., 0]
    all_tau, tau, qdd, found = same_batch(all_tau, tau, qdd, found[..., 0])
    check_finite([all_tau])
    accelerations, torques = np.array(qdd), np.array(all_tau)
    accelerations[..., free], torques[..., free] = found, tau[..., free]
    return accelerations, torques


def _check_regular(mechanism: Mechanism, M: Array, free: Integers) -> None:
    """Raise where M_ff (..., k, k) has a pivot of rounding size relative to the inertia that it moves."""
    tree = mechanism.tree
    gross = gross_inertia(tree)
    gross = gross if tree.coupling is None else gross @ (tree.coupling.linear**2 + tree.coupling.followed)
    scale = 1.0 / np.sqrt(np.where(gross > 0.0, gross, 1.0))[free]
    unit = M * (scale[:, None] * scale)
    try:
        pivots = np.diagonal(np.linalg.cholesky(unit), axis1=-2, axis2=-1) ** 2
        if (pivots > SINGULAR).all():
            return
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(unit)
    worst = np.unravel_index(int(np.argmin(values[..., 0])), values.shape[:-1])
    if values[worst][0] > SINGULAR:
        return
    if _is_base(mechanism, free):
        raise SingularityError(undefined_base(mechanism))
    joint = mechanism.joint_names[free[int(np.argmax(np.abs(vectors[worst][:, 0])))]]
    raise SingularityError(
        f"singular mass matrix of the joints that are not prescribed: joint '{joint}' moves no inertia in "
        f"{state_name(tuple(int(k) for k in worst))}; prescribe it, give the bodies beyond it mass and "
        "extent, or the joint an armature, and keep Euler-angle joints away from gimbal lock"
    )
