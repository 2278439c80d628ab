"""Exact derivatives of joint reactions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.analysis.evaluate import (
    Packed,
    axis_state,
    check_finite,
    evaluate_packed,
    same_batch,
)
from kinetree.analysis.inverse import joint_reactions
from kinetree.analysis.loads import Wrenches, load_moments
from kinetree.kernels.load_reaction import LOAD_REACTION
from kinetree.kernels.reaction_gradient import REACTION_GRADIENT, reaction_places
from kinetree.model.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class JointReactionDerivatives:
    """Joint reactions and their derivatives, numerator first.

    ``reaction`` (..., n_bodies, 6): force and moment that the parent exerts on each body, about its origin
    in body axes. ``dreaction_dq``, ``dreaction_dqd``, ``dreaction_dqdd``, each (..., n_bodies, 6, n_dof): of
    these components. ``packed`` holds them tree-sparse; the full arrays are made when first asked for.
    """

    reaction: Array
    packed: Packed
    loads: Packed | None = None

    @property
    def dreaction_dq(self) -> Array:
        """Derivatives with respect to positions."""
        return self._full[0]

    @property
    def dreaction_dqd(self) -> Array:
        """Derivatives with respect to velocities."""
        return self._full[1]

    @property
    def dreaction_dqdd(self) -> Array:
        """Derivatives with respect to accelerations."""
        return self._full[2]

    @cached_property
    def _full(self) -> tuple[Array, ...]:
        tree = self.packed.tree
        reaction_axis, coordinate = np.array(reaction_places(tree)).T
        body = np.full(tree.n, -1)
        body[tree.body_axis] = np.arange(tree.n_bodies)
        values = self.packed.by_state
        if self.loads is not None:
            values = values.copy()
            values[..., :6] += self.loads.by_state
        full = np.zeros((len(values), tree.n_bodies, tree.n, 18))
        full[:, body[reaction_axis], coordinate] = values
        full = full.reshape((*self.packed.batch, tree.n_bodies, tree.n, 3, 6))
        parts = (np.swapaxes(full[..., k, :], -1, -2) for k in range(3))
        return tuple(x if tree.coupling is None else x @ tree.coupling.matrix for x in parts)


def joint_reaction_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrenches: Wrenches = None,
    *,
    threads: int | None = None,
) -> JointReactionDerivatives:
    """Joint reactions and their exact derivatives with respect to q, qd and qdd, for states (..., n_dof).

    Bodies on fixed joints are included. ``wrenches`` stay fixed in the frame they are given in. Closed form,
    O(n depth).

    >>> import kinetree as kt
    >>> arm = kt.zoo.kuka_kr5()
    >>> d = kt.joint_reaction_derivatives(arm, [0.1] * 6, [0.2] * 6, [0.3] * 6)
    >>> d.dreaction_dq.shape
    (6, 6, 6)
    """
    tree, given = mechanism.jointed_tree, (q, qd, qdd)
    q, qd, qdd = axis_state(mechanism, tree, q, qd, qdd)
    loads = None
    if wrenches is not None:
        moments = load_moments(mechanism, tree, wrenches)
        q, qd, qdd, moments = same_batch(q, qd, qdd, moments)
        _, loads = evaluate_packed(LOAD_REACTION, tree, [q, moments], [], threads)
    (reaction,), packed = evaluate_packed(REACTION_GRADIENT, tree, [q, qd, qdd], [6 * tree.n], threads)
    check_finite([reaction])
    if wrenches is None:
        on_axes = reaction.reshape((*reaction.shape[:-1], tree.n, 6))
        return JointReactionDerivatives(on_axes[..., tree.body_axis, :], packed)
    return JointReactionDerivatives(joint_reactions(mechanism, *given, wrenches), packed, loads)
