"""Exact derivatives of joint reactions."""

from __future__ import annotations

from numpy.typing import ArrayLike

from kinetree.analysis.question import Independent, closed
from kinetree.dynamics.loads import Wrenches
from kinetree.dynamics.reaction_sensitivity import REACTION_SLOPES
from kinetree.dynamics.reaction_sensitivity import JointReactionDerivatives as JointReactionDerivatives
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
