"""Leading axes of the arguments: broadcast against each other, laid out as rows of states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.engine.call_words import PLAIN
from kinetree.errors import InputError
from kinetree.model.tree import Tree

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
