"""From arrays with any batch axes to kernels and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError
from kinetree.kernels.layout import Kernel
from kinetree.kernels.run import run_batch, single_runner
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree


def evaluate(
    kernel: Kernel, tree: Tree, inputs: Sequence[Array], sizes: Sequence[int], threads: int | None = None
) -> list[Array]:
    """Run a kernel on inputs (..., k) with broadcast batch axes; returns outputs (..., size)."""
    if threads is not None and threads < 1:
        raise InputError(f"threads must be at least 1, got {threads}")
    batch = batch_shape(*inputs)
    count = math.prod(batch)
    rows = [
        np.ascontiguousarray(np.broadcast_to(x, (*batch, x.shape[-1]))).reshape(count, x.shape[-1])
        for x in inputs
    ]
    results = [np.zeros((count, size)) for size in sizes]
    if tree.n and count:
        run_batch(kernel, tree, rows, results, threads=threads)
    return [result.reshape((*batch, result.shape[-1])) for result in results]


def evaluate_single(
    kernel: Kernel, mechanism: Mechanism, sizes: tuple[int, ...], *inputs: Any
) -> list[Array] | None:
    """One plain state with the least overhead; None if input or answer need a closer look."""
    tree = mechanism.tree
    if type(inputs[0]) is not np.ndarray or inputs[0].ndim != 1 or tree.coupling is not None:
        return None
    try:
        run, memory = tree.memo[kernel]
    except KeyError:
        run, memory = single_runner(kernel, tree)
    results = [np.zeros(size) for size in sizes]
    try:
        good = run(memory, *inputs, *results)
    except TypeError:
        return None
    return results if good else None


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
