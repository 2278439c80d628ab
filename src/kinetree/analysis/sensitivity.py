"""Exact derivatives of inverse and forward dynamics and of joint reactions, and second ones of torques."""

from __future__ import annotations

from numpy.typing import ArrayLike

from kinetree.analysis.question import Independent, closed
from kinetree.dynamics.hessian import HESSIAN
from kinetree.dynamics.hessian import TorqueHessian as TorqueHessian
from kinetree.dynamics.loads import Wrenches
from kinetree.dynamics.sensitivity import FORWARD_SLOPES, INVERSE_SLOPES, REACTION_SLOPES
from kinetree.dynamics.sensitivity import ForwardDynamicsDerivatives as ForwardDynamicsDerivatives
from kinetree.dynamics.sensitivity import InverseDynamicsDerivatives as InverseDynamicsDerivatives
from kinetree.dynamics.sensitivity import JointReactionDerivatives as JointReactionDerivatives
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism


def joint_reaction_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrenches: Wrenches = None,
    *,
    threads: int | None = None,
    independent: Independent = None,
    formulation: str | None = None,
) -> JointReactionDerivatives:
    """Joint reactions and their exact derivatives with respect to q, qd and qdd, for states (..., n_dof).

    Bodies on fixed joints are included. ``wrenches`` stay fixed in the frame they are given in. Closed form,
    O(n depth). ``formulation`` selects another derivation, without wrenches (:func:`formulations`). With
    closed loops derivatives are total, with respect to the ``independent`` joints, which the result names
    (:class:`kinetree.loops.LoopReactionDerivatives`).

    >>> import kinetree as kt
    >>> arm = kt.zoo.kuka_kr5()
    >>> d = kt.analysis.joint_reaction_derivatives(arm, [0.1] * 6, [0.2] * 6, [0.3] * 6)
    >>> d.dreaction_dq.shape
    (6, 6, 6)
    """
    expect_mechanism(mechanism)
    state = q, qd, qdd
    if mechanism.loops or independent is not None:
        return closed(
            REACTION_SLOPES, mechanism, state, wrenches, threads, formulation, independent=independent
        )
    return REACTION_SLOPES.ask(mechanism, mechanism.jointed_tree, state, wrenches, threads, formulation)


def torque_hessian(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    weight: ArrayLike,
    wrenches: Wrenches = None,
    *,
    threads: int | None = None,
    independent: Independent = None,
) -> TorqueHessian:
    """Exact gradient and Hessian of sum_i weight_i tau_i with respect to (q, qd, qdd).

    What an optimizer with exact second derivatives needs: ``weight`` (..., n_dof) are its multipliers.
    ``wrenches`` stay fixed in the frame they are given in. Closed form, O(n depth). With closed loops
    derivatives are total and by the ``independent`` joints, which the answer names
    (:class:`kinetree.loops.LoopTorqueHessian`).

    >>> import kinetree as kt
    >>> arm = kt.zoo.kuka_kr5()
    >>> kt.analysis.torque_hessian(arm, [0.1] * 6, [0.2] * 6, [0.3] * 6, weight=[1.0] * 6).full.shape
    (18, 18)
    """
    state = q, qd, qdd, weight
    try:
        if mechanism.loops or independent is not None:
            return closed(HESSIAN, mechanism, state, wrenches, threads, None, None, independent)
        return HESSIAN.ask(mechanism, mechanism.tree, state, wrenches, threads)
    except AttributeError:
        expect_mechanism(mechanism)
        raise


def inverse_dynamics_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrenches: Wrenches = None,
    *,
    threads: int | None = None,
    independent: Independent = None,
    formulation: str | None = None,
    out: InverseDynamicsDerivatives | None = None,
) -> InverseDynamicsDerivatives:
    """tau and its exact derivatives with respect to q, qd and qdd, for states (..., n_dof).

    ``wrenches`` stay fixed in the frame they are given in while q varies. Closed form in the world frame, O(n
    depth). At zero velocity Coulomb friction has no derivative and is left out. ``formulation`` selects
    another derivation, without wrenches (:func:`formulations`). ``out`` is an earlier result of the same
    shape whose arrays are reused.

    With closed loops derivatives are total, with respect to the ``independent`` joints, which the result
    names (:class:`kinetree.loops.LoopInverseDerivatives`); all other joints follow.

    >>> import kinetree as kt
    >>> arm = kt.zoo.kuka_kr5()
    >>> d = kt.inverse_dynamics_derivatives(arm, [0.1] * 6, [0.2] * 6, [0.3] * 6)
    >>> d.dtau_dq.shape
    (6, 6)
    """
    state = q, qd, qdd
    try:
        if mechanism.loops or independent is not None:
            return closed(
                INVERSE_SLOPES, mechanism, state, wrenches, threads, formulation, out, independent=independent
            )
        return INVERSE_SLOPES.ask(mechanism, mechanism.tree, state, wrenches, threads, formulation, out)
    except AttributeError:
        expect_mechanism(mechanism)
        raise


def forward_dynamics_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    wrenches: Wrenches = None,
    *,
    threads: int | None = None,
    independent: Independent = None,
    out: ForwardDynamicsDerivatives | None = None,
) -> ForwardDynamicsDerivatives:
    """qdd and its exact derivatives with respect to q, qd and tau, for states (..., n_dof).

    dqdd/dq = -M^-1 dtau/dq at the resulting acceleration, and likewise for qd; dqdd/dtau = M^-1. ``wrenches``
    stay fixed in the frame they are given in. ``out`` is an earlier result of the same shape whose arrays are
    reused. With closed loops derivatives by q and qd are total, with respect to the ``independent`` joints,
    which the result names (:class:`kinetree.loops.LoopForwardDerivatives`).

    >>> import kinetree as kt
    >>> arm = kt.zoo.kuka_kr5()
    >>> kt.forward_dynamics_derivatives(arm, [0.1] * 6, [0.2] * 6, [0.3] * 6).dqdd_dq.shape
    (6, 6)
    """
    state = q, qd, tau
    try:
        if mechanism.loops or independent is not None:
            return closed(
                FORWARD_SLOPES, mechanism, state, wrenches, threads, None, out, independent=independent
            )
        return FORWARD_SLOPES.ask(mechanism, mechanism.tree, state, wrenches, threads, None, out)
    except AttributeError:
        expect_mechanism(mechanism)
        raise
