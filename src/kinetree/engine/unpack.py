"""Which packed number each entry of the full arrays is."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.kernels.layout import Kernel
from kinetree.model.kept import once_per_tree
from kinetree.model.tree import Tree


def place_words(kernel: Kernel, tree: Tree) -> Any:
    """How many full arrays there are, how many entries each has, and the packed number of each entry.

    One past the last packed number stands for zero. Made once per tree and never replaced: machine code
    keeps its address only.
    """
    known = _known_places(tree)
    found = known.get(kernel)
    if found is None:
        places = (kernel.places or _by_targets(kernel))(tree)
        found = known.setdefault(kernel, np.concatenate([places.shape, places.ravel()], dtype=np.int64))
    return found


@once_per_tree
def _known_places(tree: Tree) -> dict[Kernel, Any]:
    return {}


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
