"""From arrays with any batch axes to kernels and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError
from kinetree.kernels.layout import Layout, interpret, tree_table
from kinetree.model.tree import Tree


def evaluate(
    kernel: Callable[..., Any], slots: Layout, tree: Tree, inputs: Sequence[Array], sizes: Sequence[int]
) -> list[Array]:
    """Run a kernel on inputs (..., k) with broadcast batch axes; returns outputs (..., size)."""
    batch = batch_shape(*inputs)
    count = math.prod(batch)
    columns = [
        np.ascontiguousarray(np.broadcast_to(x, (*batch, x.shape[-1])).reshape(count, x.shape[-1]).T)
        for x in inputs
    ]
    results = [np.zeros((size, count)) for size in sizes]
    if tree.n and count:
        interpret(kernel, slots, tree_table(tree), columns, results)
    return [result.T.reshape((*batch, len(result))) for result in results]


def batch_shape(*arrays: Array) -> tuple[int, ...]:
    """The common leading shape of arrays (..., k), or an error that shows all of them."""
    try:
        return np.broadcast_shapes(*(array.shape[:-1] for array in arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape[:-1]) for array in arrays)
        raise InputError(f"the batch axes of the arguments do not fit together: {shapes}") from None


def all_axes(tree: Tree, q: Array) -> Array:
    """Coordinates of every axis from the independent ones: the mimic joints filled in."""
    return q if tree.coupling is None else q @ tree.coupling.matrix.T + tree.coupling.offset


def all_rates(tree: Tree, qd: Array) -> Array:
    """Velocities or accelerations of every axis from the independent ones."""
    return qd if tree.coupling is None else qd @ tree.coupling.matrix.T


def independent(tree: Tree, tau: Array) -> Array:
    """Torques felt at the independent joints: those of their mimics included."""
    return tau if tree.coupling is None else tau @ tree.coupling.matrix
