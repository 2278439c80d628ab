"""What forces does this motion need? Inverse dynamics, its parts, and joint reactions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.analysis.by_formulation import answer, answers
from kinetree.analysis.evaluate import (
    all_axes,
    as_matrices,
    axis_state,
    check_threads,
    checked_out,
    copied,
    coupled,
    evaluate,
    evaluate_full,
    evaluate_plain,
    evaluate_plain_full,
    evaluate_single,
    given,
    independent,
)
from kinetree.analysis.kinematics import axis_motion
from kinetree.analysis.loads import Wrenches, axis_loads, body_loads
from kinetree.errors import InputError, unknown_name
from kinetree.kernels.crba import CRBA
from kinetree.kernels.rnea import RNEA, RNEA_UNLOADED
from kinetree.model.mechanism import Mechanism, check_open
from kinetree.state import FRAMES, Frame


def inverse_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrenches: Wrenches = None,
    *,
    threads: int | None = None,
    formulation: str | None = None,
    out: Array | None = None,
) -> Array:
    """Joint torques (N m) and forces (N) of a motion, (..., n_dof): tau = M qdd + c + g + passive - J^T w.

    ``q``, ``qd``, ``qdd`` (..., n_dof); ``wrenches`` act on the bodies (see :class:`Wrench`). Springs,
    friction and armature of the joints are part of the answer. Recursive Newton-Euler, O(n). ``threads`` for
    large batches; by default all cores. ``formulation`` asks another derivation (:func:`derivations`).
    ``out``, float64 and contiguous, takes the answer in place of a new array.

    >>> import kinetree as kt
    >>> kt.inverse_dynamics(kt.zoo.gripper(), [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]).round(4).tolist()
    [0.932, 0.1962, 0.0491, 0.0491]
    """
    tree = mechanism.tree
    check_threads(threads)
    if wrenches is None and formulation is None and out is None:
        try:  # plain states, seen before: straight to the compiled code, which checks them
            tau = tree.memo[RNEA_UNLOADED](q, qd, qdd)
            if tau is not None:
                return tau  # type: ignore[no-any-return]
        except KeyError:
            pass
    check_open(mechanism, "inverse_dynamics")
    if out is not None:
        if wrenches is None and formulation is None:
            batch = evaluate_plain(RNEA_UNLOADED, tree, (q, qd, qdd), threads, out)
            if batch is not None:
                return batch
        tau = inverse_dynamics(mechanism, q, qd, qdd, wrenches, threads=threads, formulation=formulation)
        return copied(out, tau, (q, qd, qdd))
    if formulation is not None:
        states = [("q", q), ("qd", qd), ("qdd", qdd)]
        return answer(formulation, "inverse_dynamics", mechanism, states, wrenches)
    if wrenches is None:
        batch = evaluate_plain(RNEA_UNLOADED, tree, (q, qd, qdd), threads)
        if batch is not None:
            return batch
    q, qd, qdd = axis_state(mechanism, tree, q, qd, qdd)
    if wrenches is None:
        single = evaluate_single(RNEA_UNLOADED, tree, q, qd, qdd)
        if single is not None:
            return single  # type: ignore[no-any-return]
        (tau,) = evaluate(RNEA_UNLOADED, tree, [q, qd, qdd], [tree.n], threads)
    else:
        load = axis_loads(tree, body_loads(mechanism, q, wrenches))
        tau, _ = evaluate(RNEA, tree, [q, qd, qdd, load], [tree.n, 0], threads)
    return independent(tree, tau)


def bias_torque(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    wrenches: Wrenches = None,
    *,
    formulation: str | None = None,
) -> Array:
    """h (..., n_dof) in tau = M qdd + h: Coriolis, centrifugal, gravity, friction, springs, loads.

    >>> import kinetree as kt
    >>> kt.bias_torque(kt.zoo.gripper(), [0, 0, 0, 0], [1, 0, 0, 0]).round(4).tolist()
    [0.932, 0.1962, 0.0491, 0.0491]
    """
    check_open(mechanism, "bias_torque")
    if formulation is not None:
        return answer(formulation, "bias_torque", mechanism, [("q", q), ("qd", qd)], wrenches)
    return inverse_dynamics(mechanism, q, qd, np.zeros(mechanism.n_dof), wrenches)


def gravity_torque(mechanism: Mechanism, q: ArrayLike) -> Array:
    """g (..., n_dof): torques that hold the mechanism still against gravity alone, without joint springs.

    >>> import kinetree as kt
    >>> kt.gravity_torque(kt.zoo.two_link_point_masses(), [0, 0]).shape
    (2,)
    """
    check_open(mechanism, "gravity_torque")
    tree = mechanism.tree
    rest = np.zeros(tree.n)
    q = all_axes(tree, given(mechanism, q, "q"))
    (tau,) = evaluate(RNEA_UNLOADED, tree, [q, rest, rest], [tree.n])
    return independent(tree, tau - tree.stiffness * (q - tree.rest))


def mass_matrix(
    mechanism: Mechanism,
    q: ArrayLike,
    *,
    threads: int | None = None,
    formulation: str | None = None,
    out: Array | None = None,
) -> Array:
    """M(q) (..., n_dof, n_dof), armature included; symmetric, zero between different branches.

    ``out``, float64 and contiguous, takes the answer in place of a new array.

    >>> import kinetree as kt
    >>> kt.mass_matrix(kt.zoo.two_link_point_masses(), [0, 0]).round(9).tolist()
    [[5.0, 2.0], [2.0, 1.0]]
    """
    tree = mechanism.tree
    check_threads(threads)
    if formulation is None and out is None:
        try:  # a few plain states, seen before: straight to the compiled code, which checks them
            M = tree.memo[CRBA](q)
            if M is not None:
                return M  # type: ignore[no-any-return]
        except KeyError:
            pass
    check_open(mechanism, "mass_matrix")
    if formulation is not None:
        M = answer(formulation, "mass_matrix", mechanism, [("q", q)])
        return M if out is None else copied(out, M, [q])
    plain = evaluate_plain_full(CRBA, tree, (q,), threads) if out is None else None
    if plain is not None:
        return plain[1].reshape(-1, tree.n, tree.n)
    q = all_axes(tree, given(mechanism, q, "q"))
    single = evaluate_single(CRBA, tree, q)
    if single is not None:
        return single if out is None else copied(out, single, [q])
    if tree.coupling is not None:
        M = coupled(tree, as_matrices(evaluate_full(CRBA, tree, [q], [], threads)[1], tree.n)[0])
        return M if out is None else copied(out, M, [q])
    if out is None:
        return evaluate_full(CRBA, tree, [q], [], threads)[1].reshape(*q.shape, tree.n)
    evaluate_full(CRBA, tree, [q], [], threads, checked_out(out, (*q.shape, tree.n), [q]))
    return out


def joint_reactions(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrenches: Wrenches = None,
    frame: Frame = "body",
    *,
    formulation: str | None = None,
) -> Array:
    """Wrench that each body's parent exerts on it through the joint, (..., n_bodies, 6): force, moment.

    About the body's origin (where its joint sits), in body axes or, with ``frame="world"``, in world axes.
    It contains what the drive gives; its component along the joint axis is the joint torque less armature,
    friction and spring. Bodies on fixed joints have their weld's wrench.

    >>> import kinetree as kt
    >>> still = [0, 0, 0, 0]
    >>> kt.joint_reactions(kt.zoo.gripper(), still, still, still)[0].round(3).tolist()
    [0.0, 9.81, 0.0, 0.0, 0.0, 0.932]
    """
    check_open(mechanism, "joint_reactions")
    if frame not in FRAMES:
        raise InputError(unknown_name("frame", frame, FRAMES))
    tree = mechanism.jointed_tree
    if formulation is None:
        moving, _, _ = axis_state(mechanism, mechanism.tree, q, qd, qdd)
        load = axis_loads(tree, body_loads(mechanism, moving, wrenches))
        q, qd, qdd = axis_state(mechanism, tree, q, qd, qdd)
        _, reaction = evaluate(RNEA, tree, [q, qd, qdd, load], [tree.n, 6 * tree.n])
    else:
        states = [("q", q), ("qd", qd), ("qdd", qdd)]
        (reaction,) = answers(formulation, "joint_reactions", mechanism, tree, states, wrenches)
        q, qd, qdd = axis_state(mechanism, tree, q, qd, qdd)
    batch = reaction.shape[:-1] if formulation is None else reaction.shape[:-2]
    on_axes = reaction.reshape((*batch, tree.n, 2, 3))[..., tree.body_axis, :, :]
    if frame == "body":
        axes = tree.body_rotation.transpose(0, 2, 1)
    else:
        axes = axis_motion(tree, q, qd, qdd).rotation[..., tree.body_axis, :, :]
    turned = (axes[..., None, :, :] @ on_axes[..., None])[..., 0]
    return turned.reshape((*turned.shape[:-2], 6))
