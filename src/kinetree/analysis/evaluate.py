"""From arrays with any batch axes to kernels and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError
from kinetree.kernels.layout import LANES, Kernel
from kinetree.kernels.run import full_matrices, run_batch, single_call
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree
from kinetree.state import coordinates


def evaluate(
    kernel: Kernel, tree: Tree, inputs: Sequence[Array], sizes: Sequence[int], threads: int | None = None
) -> list[Array]:
    """Run a kernel on inputs (..., k) with broadcast batch axes; returns outputs (..., size)."""
    results = evaluate_packed(kernel, tree, inputs, sizes, threads)[0]
    check_finite(results)
    return results


def evaluate_packed(
    kernel: Kernel, tree: Tree, inputs: Sequence[Array], sizes: Sequence[int], threads: int | None = None
) -> tuple[list[Array], Packed]:
    """The same for a kernel that packs matrices; they are unpacked when asked for."""
    _check_threads(threads)
    batch = batch_shape(*inputs)
    count = math.prod(batch)
    rows = [_plain_rows(x, batch, count) for x in inputs]
    make = np.empty if tree.n else np.zeros
    results = [make((count, size)) for size in sizes]
    blocks = run_batch(kernel, tree, rows, results, threads) if tree.n and count else None
    shaped = [result.reshape((*batch, result.shape[-1])) for result in results]
    return shaped, Packed(kernel, tree, batch, blocks, threads)


@dataclass(frozen=True, eq=False)
class Packed:
    """Tree-sparse matrices of a batch as a kernel leaves them: ``blocks`` (blocks, rows, width, lanes)."""

    kernel: Kernel
    tree: Tree
    batch: tuple[int, ...]
    blocks: Array | None
    threads: int | None

    @property
    def by_state(self) -> Array:
        """The packed numbers state by state, (count, rows, width)."""
        count = math.prod(self.batch)
        if self.blocks is None:
            rows = self.kernel.n_packed(self.tree) if self.tree.n else 0
            return np.zeros((count, rows, self.kernel.entries.width if self.kernel.entries else 0))
        n_blocks, rows, width, lanes = self.blocks.shape
        place = np.arange(count)
        if count > lanes:  # the last block overlaps its predecessor
            last = place >= (n_blocks - 1) * lanes
            place[last] += n_blocks * lanes - count
        return self.blocks.transpose(0, 3, 1, 2).reshape(n_blocks * lanes, rows, width)[place]

    @cached_property
    def matrices(self) -> Array:
        """The full matrices, (m, ..., n, n)."""
        n, count = self.tree.n, math.prod(self.batch)
        shape = (self.kernel.n_matrices, *self.batch, n, n)
        if self.blocks is None:
            return np.zeros(shape)
        return full_matrices(self.kernel, self.tree, self.blocks, count, self.threads).reshape(shape)


def evaluate_plain(
    kernel: Kernel, tree: Tree, inputs: Sequence[Any], threads: int | None = None
) -> tuple[list[Array], Packed] | None:
    """A batch of plain arrays (batch, n), unchecked but for their shape; None if they are anything else.

    For kernels whose outputs are n numbers each. NaN in the input is NaN in the output of that state, so the
    caller checks the answer and, if it is not finite, looks closer.
    """
    shape: tuple[int, ...] = inputs[0].shape if type(inputs[0]) is np.ndarray else ()
    if len(shape) != 2 or shape[1] != tree.n or shape[0] < LANES or tree.coupling is not None:
        return None
    for x in inputs:
        if type(x) is not np.ndarray or x.shape != shape or x.dtype != np.float64:
            return None
        if not (x.flags.c_contiguous and x.flags.writeable):
            return None
    _check_threads(threads)
    results = [np.empty(shape) for _ in range(kernel.outputs)]
    blocks = run_batch(kernel, tree, inputs, results, threads)
    return results, Packed(kernel, tree, shape[:1], blocks, threads)


def is_finite(result: Array) -> bool:
    """Whether all entries are finite."""
    return math.isfinite(result.sum()) or bool(np.isfinite(result).all())


def check_finite(results: Sequence[Array]) -> None:
    """Raise where an answer is not finite although the input was: the numbers are too large."""
    for result in results:
        if not is_finite(result):
            raise InputError(
                "the answer overflows: some result is not finite although all input is; "
                "the values given are too large (are they in SI units and radians?)"
            )


def _check_threads(threads: object) -> None:
    if threads is not None and (type(threads) is not int or threads < 1):
        raise InputError(f"threads must be a whole number of at least 1, got {threads!r}")


def _plain_rows(x: Array, batch: tuple[int, ...], count: int) -> Array:
    """The states one after the other, (count, k), contiguous and writable as compiled code wants them."""
    if x.shape[:-1] != batch:
        x = np.broadcast_to(x, (*batch, x.shape[-1]))
    if not (x.flags.c_contiguous and x.flags.writeable):
        x = np.array(x, order="C")
    return x.reshape(count, x.shape[-1])


def evaluate_single(kernel: Kernel, tree: Tree, *inputs: Array) -> Array | None:
    """All outputs of one state as one flat array; None if there is a batch or the answer needs a closer look.

    It leaves a function in ``tree.memo[kernel]`` that later calls may use directly on plain arrays.
    """
    if any(x.ndim != 1 for x in inputs):
        return None
    try:
        return single_call(kernel, tree)(*inputs)
    except TypeError:  # read-only or strided arrays
        return single_call(kernel, tree)(*(np.array(x) for x in inputs))


def batch_shape(*arrays: Array) -> tuple[int, ...]:
    """The common leading shape of arrays (..., k), or an error that shows all of them."""
    try:
        return np.broadcast_shapes(*(array.shape[:-1] for array in arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape[:-1]) for array in arrays)
        raise InputError(f"the batch axes of the arguments do not fit together: {shapes}") from None


def same_batch(*arrays: Array) -> tuple[Array, ...]:
    """The arrays (..., k) with their leading axes broadcast against each other."""
    batch = batch_shape(*arrays)
    return tuple(np.broadcast_to(x, (*batch, x.shape[-1])) for x in arrays)


def all_axes(tree: Tree, q: Array) -> Array:
    """Coordinates of every axis from the independent ones: the mimic joints filled in."""
    return q if tree.coupling is None else q @ tree.coupling.matrix.T + tree.coupling.offset


def all_rates(tree: Tree, qd: Array) -> Array:
    """Velocities or accelerations of every axis from the independent ones."""
    return qd if tree.coupling is None else qd @ tree.coupling.matrix.T


def axis_state(
    mechanism: Mechanism, tree: Tree, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
) -> tuple[Array, Array, Array]:
    """Checked positions, velocities and accelerations of every axis, (..., n_axes)."""
    return (
        all_axes(tree, coordinates(mechanism, q, "q")),
        all_rates(tree, coordinates(mechanism, qd, "qd")),
        all_rates(tree, coordinates(mechanism, qdd, "qdd")),
    )


def coupled(tree: Tree, matrix: Array) -> Array:
    """A matrix over all axes, (..., n, n), felt at the independent joints: G^T A G."""
    return matrix if tree.coupling is None else tree.coupling.matrix.T @ matrix @ tree.coupling.matrix


def independent(tree: Tree, tau: Array) -> Array:
    """Torques felt at the independent joints: those of their mimics included."""
    return tau if tree.coupling is None else tau @ tree.coupling.matrix
