"""Mimic joints: from independent coordinates to those of all axes, and from forces on axes back.

With G = d q_axes / dq, which depends on q where joints follow others by polynomials, rates are G qd,
accelerations G qdd + dG/dt qd, torques G^T tau, the mass matrix G^T M G.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.dynamics.checks import given
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree


def all_axes(tree: Tree, q: Array) -> Array:
    """Coordinates of every axis from the independent ones: the mimic joints filled in."""
    return q if tree.coupling is None else tree.coupling.at(q)


def all_rates(tree: Tree, qd: Array) -> Array:
    """Velocities or accelerations of every axis from the independent ones, of linear mimics."""
    return qd if tree.coupling is None else qd @ tree.coupling.matrix.T


def on_axes(tree: Tree, q: Array, *rates: Array) -> tuple[Array, ...]:
    """Positions of every axis, then velocities and accelerations if given, from the independent ones."""
    if tree.coupling is None or tree.coupling.higher is None:
        return (all_axes(tree, q), *(all_rates(tree, x) for x in rates))
    G = tree.coupling.slopes(q)
    found = [(G @ x[..., None])[..., 0] for x in rates]
    if len(found) == 2:
        found[1] = found[1] + tree.coupling.bends(q, rates[0])
    return (all_axes(tree, q), *np.broadcast_arrays(*found)) if found else (all_axes(tree, q),)


def axis_state(
    mechanism: Mechanism, tree: Tree, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
) -> tuple[Array, Array, Array]:
    """Checked positions, velocities and accelerations of every axis, (..., n_axes)."""
    state = [given(mechanism, x, name) for x, name in ((q, "q"), (qd, "qd"), (qdd, "qdd"))]
    at, rates, second = on_axes(tree, *state)
    return at, rates, second


def coupled(tree: Tree, matrix: Array, axes: Array | None = None) -> Array:
    """A matrix over all axes, (..., n, n), felt at the independent joints: G^T A G.

    Polynomials need the positions of all ``axes`` (..., n).
    """
    if tree.coupling is None:
        return matrix
    G = axis_slopes(tree, axes)
    return np.asarray(np.swapaxes(G, -1, -2) @ matrix @ G)


def independent(tree: Tree, tau: Array, axes: Array | None = None) -> Array:
    """Torques felt at the independent joints: those of their mimics included; ``axes`` as in `coupled`."""
    if tree.coupling is None:
        return tau
    if tree.coupling.higher is None or axes is None:
        return tau @ tree.coupling.matrix
    return np.asarray((tau[..., None, :] @ axis_slopes(tree, axes))[..., 0, :])


def axis_slopes(tree: Tree, axes: Array | None) -> Array:
    """G (..., n, n_dof) of mimic joints at positions of all axes; those of linear ones need no positions."""
    coupling = tree.coupling
    assert coupling is not None
    if coupling.higher is None or axes is None:
        return coupling.matrix
    return coupling.slopes(axes[..., coupling.own_axes])
