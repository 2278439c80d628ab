"""Mimic joints: from independent coordinates to those of all axes, and from forces on axes back.

With G = d q_axes / dq, which depends on q where joints follow others by functions that are no straight
lines, rates are G qd, accelerations G qdd + dG/dt qd, torques G^T tau, the mass matrix G^T M G.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.dynamics.checks import given
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Coupling, Tree


def all_axes(tree: Tree, q: Array) -> Array:
    """Coordinates of every axis from the independent ones: the mimic joints filled in."""
    return q if tree.coupling is None else tree.coupling.at(q)


def all_rates(tree: Tree, qd: Array) -> Array:
    """Velocities or accelerations of every axis from the independent ones, of linear mimics."""
    return qd if tree.coupling is None else qd @ tree.coupling.matrix.T


def on_axes(tree: Tree, q: Array, *rates: Array) -> tuple[Array, ...]:
    """Positions of every axis, then velocities and accelerations if given, from the independent ones."""
    if tree.coupling is None or tree.coupling.laws is None:
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

    Functions that are no straight lines need the positions of all ``axes`` (..., n).
    """
    if tree.coupling is None:
        return matrix
    G = axis_slopes(tree, axes)
    return np.asarray(np.swapaxes(G, -1, -2) @ matrix @ G)


def independent(tree: Tree, tau: Array, axes: Array | None = None) -> Array:
    """Torques felt at the independent joints: those of their mimics included; ``axes`` as in `coupled`."""
    if tree.coupling is None:
        return tau
    if tree.coupling.laws is None or axes is None:
        return tau @ tree.coupling.matrix
    return np.asarray((tau[..., None, :] @ axis_slopes(tree, axes))[..., 0, :])


def axis_slopes(tree: Tree, axes: Array | None) -> Array:
    """G (..., n, n_dof) of mimic joints at positions of all axes; those of linear ones need no positions."""
    coupling = tree.coupling
    assert coupling is not None
    if coupling.laws is None or axes is None:
        return coupling.matrix
    return coupling.slopes(axes[..., coupling.own_axes])


class Bends:
    """How the motion of all axes depends on a state of the coordinates, to second order, beyond G.

    With u and v the second and third derivative of each axis by its leader (L, in its columns), axes move at
    ad = G qd and add = G qdd + u qd^2. So by q, ad changes by ``rate`` = (u qd) L and add by ``acceleration``
    = (u qdd + v qd^2) L; by qd, add changes by 2 ``rate``.
    """

    def __init__(self, coupling: Coupling, q: Array, qd: Array, qdd: Array) -> None:
        leaders = coupling.leader
        self.G = coupling.slopes(q)
        self.followed = coupling.followed
        self.second, self.third, self.fourth = (coupling.derivative(q, k) for k in (2, 3, 4))
        self.leaders, self.qd, self.qdd = leaders, qd[..., leaders], qdd[..., leaders]
        self.rate = self.columns(self.second * self.qd)
        self.acceleration = self.columns(self.second * self.qdd + self.third * self.qd**2)

    def columns(self, by_axis: Array) -> Array:
        """Numbers of axes (..., n) as a matrix (..., n, n_dof), in the columns of the leaders."""
        return np.asarray(by_axis[..., None] * self.followed)

    def diagonal(self, by_axis: Array) -> Array:
        """Numbers of axes (..., n), summed by leaders, as diagonal matrices (..., n_dof, n_dof)."""
        found = by_axis @ self.followed
        return np.asarray(found[..., None] * np.eye(found.shape[-1]))

    def slopes(self, by_axes: Array) -> Array:
        """Derivatives (3, ..., k, n) of anything by a, ad, add as those by q, qd, qdd, (3, ..., k, n_dof)."""
        by_a, by_ad, by_add = by_axes
        return np.stack(
            [
                by_a @ self.G + by_ad @ self.rate + by_add @ self.acceleration,
                by_ad @ self.G + 2.0 * (by_add @ self.rate),
                by_add @ self.G,
            ]
        )


def further_terms(tree: Tree, *state: Array) -> Bends | None:
    """What further terms derivatives at independent coordinates have; nothing where G is constant."""
    if tree.coupling is None or tree.coupling.laws is None:
        return None
    q, qd, qdd = np.broadcast_arrays(*state)
    return Bends(tree.coupling, q, qd, qdd)
