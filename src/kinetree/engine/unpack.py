"""Which packed number each entry of the full arrays is."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.kernels.layout import Kernel
from kinetree.model.tree import Tree


def full_places(kernel: Kernel, tree: Tree) -> Any:
    """(arrays, entries): the packed number of each entry, all rows one after the other.

    One past the last packed number stands for zero.
    """
    words = place_words(kernel, tree)
    return words[2:].reshape(words[0], words[1])


def place_words(kernel: Kernel, tree: Tree) -> Any:
    """How many full arrays there are, how many entries each has, and their places; made once per tree."""
    key = "places of", kernel
    if key not in tree.memo:
        places = (kernel.places or _by_targets(kernel))(tree)
        words = np.concatenate([places.shape, places.ravel()], dtype=np.int64)
        return tree.memo.setdefault(key, words)  # others keep its address only: it is never replaced
    return tree.memo[key]


def _by_targets(kernel: Kernel) -> Any:
    """The places of n x n matrices."""

    def places(tree: Tree) -> Any:
        assert kernel.entries is not None
        rows, columns = _row_and_column(kernel, tree)
        width, n = kernel.entries.width, tree.n
        order = np.full((kernel.n_matrices, n, n), len(rows) * width)
        for entry, matrix, transposed in kernel.targets:
            i, j = (columns, rows) if transposed else (rows, columns)
            order[matrix, i, j] = np.arange(len(rows)) * width + entry
        return order.reshape(kernel.n_matrices, n * n)

    return places


def unpacked(packed: Array, places: Any) -> Array:
    """Full arrays (arrays, states, entries) from packed numbers (states, numbers), in NumPy."""
    return np.moveaxis(np.append(packed, np.zeros((len(packed), 1)), axis=1)[:, places], 1, 0)


def _row_and_column(kernel: Kernel, tree: Tree) -> tuple[Any, Any]:
    """Row and column of each packed row."""
    if kernel.square:
        return np.divmod(np.arange(tree.n**2), tree.n)
    pairs = [(i, j) for i in range(tree.n - 1, -1, -1) for j in _upward(tree, i)]
    rows, columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return rows, columns


def _upward(tree: Tree, i: int) -> list[int]:
    """The axis and its ancestors."""
    path = []
    while i >= 0:
        path.append(i)
        i = int(tree.parent[i])
    return path
