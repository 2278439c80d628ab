"""A kernel on batches of one size, again and again: all that a call needs is looked up once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import cleared
from kinetree.engine import run
from kinetree.engine.unpack import place_words
from kinetree.kernels.layout import Kernel
from kinetree.kernels.model_table import packed_rows, tree_table
from kinetree.kernels.number import LANES
from kinetree.model.tree import Tree


class Repeated:
    """A kernel for batches of ``count`` states of a tree; not to be shared by threads.

    Inputs are (count, k), contiguous and writable; nobody looks at their values.
    """

    def __init__(self, kernel: Kernel, tree: Tree, count: int) -> None:
        self.kernel, self.tree, self.count = kernel, tree, count
        self.shape = (0, 0, 0)
        if kernel.entries is not None:
            arrays, entries = (int(x) for x in place_words(kernel, tree)[:2])
            self.shape = (arrays, count, entries)
        numbers = self.shape[0] * count * self.shape[2]
        self.plainly = run.INTERPRET or count < LANES or numbers >= run.THREADING_WORTH

    @cached_property
    def _many(self) -> tuple[Any, Array, Array]:
        from kinetree.engine.code import many_states
        from kinetree.engine.workspace import workspace_size

        memory = cleared(workspace_size(self.kernel, self.tree, LANES))
        return many_states(self.kernel), tree_table(self.tree), memory

    @cached_property
    def _full(self) -> tuple[Any, Array, Array, int, int]:
        from kinetree.engine.code import full_states
        from kinetree.engine.workspace import packed_room, workspace_size

        kernel, tree = self.kernel, self.tree
        assert kernel.entries is not None
        start = -(-workspace_size(kernel, tree, LANES) // 8) * 8
        memory = cleared(start + packed_room(kernel.entries.width * packed_rows(kernel, tree), LANES))
        return full_states(kernel), tree_table(tree), memory, start, place_words(kernel, tree).ctypes.data

    def fill(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Fill the outputs, (count, k), of a kernel that packs nothing."""
        if self.plainly:
            run.run_batch(self.kernel, self.tree, inputs, outputs)
        else:
            call, table, memory = self._many
            call(table, memory, 0, self.count, (*inputs, *outputs))

    def arrays(self, inputs: Sequence[Array], outputs: Sequence[Array] = ()) -> Array:
        """The full arrays, (arrays, count, entries), of a kernel that packs; ``outputs`` are filled."""
        full = np.empty(self.shape)
        if self.plainly:
            run.run_full(self.kernel, self.tree, inputs, outputs, full)
        else:
            call, table, memory, start, places = self._full
            call(table, memory, 0, self.count, (*inputs, *outputs, full), start, places, False)
        return full
