"""Mimic joints: from independent coordinates to those of all axes, and from forces on axes back."""

from __future__ import annotations

from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.analysis.checks import given
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree


def all_axes(tree: Tree, q: Array) -> Array:
    """Coordinates of every axis from the independent ones: the mimic joints filled in."""
    return q if tree.coupling is None else q @ tree.coupling.matrix.T + tree.coupling.offset


def all_rates(tree: Tree, qd: Array) -> Array:
    """Velocities or accelerations of every axis from the independent ones."""
    return qd if tree.coupling is None else qd @ tree.coupling.matrix.T


def on_axes(tree: Tree, q: Array, *rates: Array) -> tuple[Array, ...]:
    """Positions and their rates of every axis from those of the independent coordinates."""
    return (all_axes(tree, q), *(all_rates(tree, x) for x in rates))


def axis_state(
    mechanism: Mechanism, tree: Tree, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
) -> tuple[Array, Array, Array]:
    """Checked positions, velocities and accelerations of every axis, (..., n_axes)."""
    return (
        all_axes(tree, given(mechanism, q, "q")),
        all_rates(tree, given(mechanism, qd, "qd")),
        all_rates(tree, given(mechanism, qdd, "qdd")),
    )


def coupled(tree: Tree, matrix: Array) -> Array:
    """A matrix over all axes, (..., n, n), felt at the independent joints: G^T A G."""
    return matrix if tree.coupling is None else tree.coupling.matrix.T @ matrix @ tree.coupling.matrix


def independent(tree: Tree, tau: Array) -> Array:
    """Torques felt at the independent joints: those of their mimics included."""
    return tau if tree.coupling is None else tau @ tree.coupling.matrix
