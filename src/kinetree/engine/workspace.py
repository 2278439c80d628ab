"""Memory that kernels work in: how much of it, and what it holds from the beginning."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import aligned
from kinetree.engine.unpack import place_words
from kinetree.kernels.layout import Kernel
from kinetree.kernels.model_table import TREE, n_pairs, packed_rows, tree_table
from kinetree.model.tree import Tree

BLOCK = 4  # numbers per vector of plain rows, as integrators have them
CHUNK = 128  # entries of each state that are transposed at once on their way past the caches
LINE = 8  # numbers of a cache line
ROW = CHUNK + LINE  # a chunk, and before it what did not fill a line


def workspace_size(kernel: Kernel, tree: Tree, lanes: int) -> int:
    """How many numbers of workspace one thread needs."""
    between = sum(layout.width for layout in kernel.scratch) * n_pairs(tree)
    return ((tree.n + 1) * kernel.slots.width + between) * lanes


def packed_room(numbers: int, lanes: int) -> int:
    """Numbers of memory for as many packed ones, one that stays zero, and the chunks of `spreader`."""
    return lanes * (numbers + 1 + ROW)


def single_memory(kernel: Kernel, tree: Tree) -> Array:
    """The model table, then the workspace, the packed results, a zero and their places, for one state."""
    table = tree_table(tree)
    start = (table.size + 7) // 8 * 8
    place = start + workspace_size(kernel, tree, 1)
    packed, order = 0, np.zeros(0, dtype=np.int64)
    if kernel.entries is not None:
        packed, order = kernel.entries.width * packed_rows(kernel, tree), place_words(kernel, tree)
    memory = aligned(place + packed + 1 + order.size)
    memory[:] = 0.0
    memory[: table.size] = table.ravel()
    integers = memory.view(np.int64)
    integers[TREE.places["first"][0]], integers[TREE.places["carries"][0]] = place, packed
    integers[place + packed + 1 :] = order
    return memory
