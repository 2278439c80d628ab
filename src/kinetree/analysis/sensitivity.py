"""Exact derivatives of inverse and forward dynamics."""

from __future__ import annotations

from numpy.typing import ArrayLike

from kinetree.analysis.question import Independent, closed
from kinetree.dynamics.loads import Wrenches
from kinetree.dynamics.sensitivity import (
    FORWARD_SLOPES,
    INVERSE_SLOPES,
)
from kinetree.dynamics.sensitivity import ForwardDynamicsDerivatives as ForwardDynamicsDerivatives
from kinetree.dynamics.sensitivity import InverseDynamicsDerivatives as InverseDynamicsDerivatives
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism


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
