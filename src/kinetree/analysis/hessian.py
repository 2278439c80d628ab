"""Exact first and second derivatives of a weighted sum of torques."""

from __future__ import annotations

from numpy.typing import ArrayLike

from kinetree.analysis.question import Independent, closed
from kinetree.dynamics.hessian import HESSIAN
from kinetree.dynamics.hessian import TorqueHessian as TorqueHessian
from kinetree.dynamics.loads import Wrenches
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism


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
