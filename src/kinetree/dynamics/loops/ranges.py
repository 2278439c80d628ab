"""Machine code of closed loops over states, one or many: its memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import aligned
from kinetree.engine.ranges import Ranges
from kinetree.kernels.loop_table import SLOTS
from kinetree.kernels.model_table import tree_table
from kinetree.kernels.number import LANES
from kinetree.model.tree import Tree


class LoopRanges:
    """Machine code of loops with memory for it, shared by all threads.

    ``code(lanes)`` is a `range_call`; ``numbers(lanes)`` are the tables and the scratch that follow the
    workspace of the tree in its memory.
    """

    def __init__(
        self, tree: Tree, code: Callable[[int], Callable[..., bool]], numbers: Callable[[int], Array]
    ) -> None:
        self.code, self.table = code, tree_table(tree)
        self._n, self._numbers = tree.n, numbers
        self._by_lanes: dict[int, Ranges] = {}

    def fill(self, given: Sequence[Array], found: Sequence[Array], threads: int | None, mode: int) -> None:
        """Fill arrays (count, k) for the states in others (count, k); ``mode`` goes to the machine code."""
        count, arrays = len(given[0]), (*(np.ascontiguousarray(x) for x in given), *found)
        lanes, threads = (1, 1) if count < LANES else (LANES, threads)
        ranges = self._by_lanes.get(lanes)
        if ranges is None:
            new_memory = partial(self.new_memory, lanes)
            ranges = self._by_lanes[lanes] = Ranges(self.code(lanes), self.table, new_memory, lanes)
        ranges.fill(arrays, count, sum(x.size for x in arrays), threads, (self.start(lanes), mode))

    def start(self, lanes: int) -> int:
        """Where the tables begin in memory."""
        return (self._n + 1) * SLOTS.width * lanes

    def new_memory(self, lanes: int) -> Array:
        """Memory for one thread."""
        numbers, start = self._numbers(lanes), self.start(lanes)
        memory = aligned(start + len(numbers))
        memory[:start], memory[start:] = 0.0, numbers
        return memory
