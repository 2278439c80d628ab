"""Kernels on arrays with any batch axes, whose values have been checked: as rows of states and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import check_room
from kinetree.dynamics.checks import check_finite, check_threads
from kinetree.engine.buffers import new_array, new_result
from kinetree.engine.call_words import PLAIN
from kinetree.engine.run import prepared
from kinetree.errors import InputError
from kinetree.kernels.layout import Kernel
from kinetree.model.tree import Tree

Explain = Callable[[list[Array]], None]
_FLOAT = np.dtype(np.float64)


def batch_shape(*arrays: Array) -> tuple[int, ...]:
    """The common leading shape of arrays (..., k), or an error that shows all of them."""
    first = arrays[0].shape[:-1]
    if all(array.shape[:-1] == first for array in arrays):
        return first
    try:
        return np.broadcast_shapes(*(array.shape[:-1] for array in arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape[:-1]) for array in arrays)
        raise InputError(f"the batch axes of the arguments do not fit together: {shapes}") from None


def same_batch(*arrays: Array) -> tuple[Array, ...]:
    """The arrays (..., k) with their leading axes broadcast against each other."""
    batch = batch_shape(*arrays)
    return tuple(np.broadcast_to(x, (*batch, x.shape[-1])) for x in arrays)


def plain_rows(x: Array, batch: tuple[int, ...], count: int) -> Array:
    """The states one after the other, (count, k), plain as compiled code wants them."""
    if x.shape[:-1] != batch:
        x = np.broadcast_to(x, (*batch, x.shape[-1]))
    if type(x) is not np.ndarray or x.dtype is not _FLOAT or x.flags.num & PLAIN != PLAIN:
        x = np.array(x, dtype=np.float64, order="C")
    return x.reshape(count, x.shape[-1])


def is_plain(tree: Tree, inputs: Sequence[Any]) -> bool:
    """Whether inputs are plain arrays (batch, n), such as compiled code takes without a look at the values.

    For kernels whose inputs are n numbers each. Compiled code shows whether the answer, and what it came
    from, can be trusted; if not, the caller looks closer.
    """
    shape: tuple[int, ...] = inputs[0].shape if type(inputs[0]) is np.ndarray else ()
    if len(shape) != 2 or shape[1] != tree.n or not tree.n or not shape[0] or tree.coupling is not None:
        return False
    for x in inputs:
        if type(x) is not np.ndarray or x.shape != shape or x.dtype is not _FLOAT:
            return False
        if x.flags.num & PLAIN != PLAIN:
            return False
    return True


def evaluate(
    kernel: Kernel,
    tree: Tree,
    inputs: Sequence[Array],
    sizes: Sequence[int],
    threads: int | None = None,
    explain: Explain | None = None,
) -> list[Array]:
    """Outputs (..., size) of a kernel that packs nothing on inputs (..., k) with broadcast batch axes.

    Raises where an answer overflows, but lets ``explain(outputs)`` say first why it cannot be trusted.
    """
    if kernel.output_widths is not None:
        single = one_state(kernel, tree, inputs)
        if single is not None:
            return np.split(single.ravel(), np.cumsum(sizes[:-1]))
    return _evaluate(kernel, tree, inputs, sizes, threads, explain)[0]


def evaluate_full(
    kernel: Kernel,
    tree: Tree,
    inputs: Sequence[Array],
    sizes: Sequence[int],
    threads: int | None = None,
    explain: Explain | None = None,
) -> tuple[list[Array], Array]:
    """The answer of a kernel that packs, as full arrays (m, ..., entries)."""
    outputs, full = _evaluate(kernel, tree, inputs, sizes, threads, explain)
    assert full is not None
    return outputs, full


def _evaluate(
    kernel: Kernel,
    tree: Tree,
    inputs: Sequence[Array],
    sizes: Sequence[int],
    threads: int | None,
    explain: Explain | None,
) -> tuple[list[Array], Array | None]:
    check_threads(threads)
    batch = batch_shape(*inputs)
    count, ready = math.prod(batch), prepared(kernel, tree)
    copied = [(count, x.shape[-1]) for x in inputs if x.shape[:-1] != batch]
    packed = [] if kernel.entries is None else [(ready.arrays, count, ready.entries)]
    check_room(*copied, *((count, size) for size in sizes), *packed)
    rows = [plain_rows(x, batch, count) for x in inputs]
    is_empty = not (tree.n and count)
    outputs = [np.zeros((count, size)) if is_empty else new_result((count, size)) for size in sizes]
    full = None if kernel.entries is None else new_array(ready.arrays, count, ready.entries)
    trusted = is_empty or ready.fill(rows, outputs, full, threads)
    shaped = [x.reshape((*batch, x.shape[-1])) for x in outputs]
    if not trusted:
        if explain is not None:
            explain(shaped)
        check_finite(outputs if full is None else [*outputs, full])
    return shaped, None if full is None else full.reshape(len(full), *batch, full.shape[-1])


def one_state(kernel: Kernel, tree: Tree, inputs: Sequence[Array]) -> Any:
    """What a direct call answers for one state; None for a batch, or if the answer needs a closer look."""
    if any(x.ndim != 1 for x in inputs):
        return None
    ready = prepared(kernel, tree)
    answer = ready.single(*inputs)
    if answer is None and any(not x.flags.c_contiguous for x in inputs):
        answer = ready.single(*(np.array(x) for x in inputs))
    return answer


def as_matrices(arrays: Array, n: int) -> Array:
    """Full arrays (m, ..., n n) as matrices (m, ..., n, n)."""
    return arrays.reshape(*arrays.shape[:-1], n, n)
