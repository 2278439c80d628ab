"""Machine code of closed loops over states, one or many: its memory, lanes and threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import aligned
from kinetree.engine.threads import THREADING_WORTH, over_threads, thread_count
from kinetree.kernels.loop_table import SLOTS
from kinetree.kernels.model_table import tree_table
from kinetree.kernels.number import LANES
from kinetree.model.tree import Tree


class LoopRanges:
    """Machine code of loops with memory for it, shared by all threads.

    ``code(lanes)`` is a `range_call`; ``numbers(lanes)`` are the tables and the scratch that follow the
    workspace of the tree in its memory. Memory that no thread uses at present waits in ``_spare``, whose
    ``append`` and ``pop`` are single steps of a list.
    """

    def __init__(
        self, tree: Tree, code: Callable[[int], Callable[..., bool]], numbers: Callable[[int], Array]
    ) -> None:
        self.code, self.table = code, tree_table(tree)
        self._n, self._numbers = tree.n, numbers
        self._spare: dict[int, list[Array]] = {1: [], LANES: []}

    def fill(self, given: Sequence[Array], found: Sequence[Array], threads: int | None, mode: int) -> None:
        """Fill arrays (count, k) for the states in others (count, k); ``mode`` goes to the machine code."""
        count, arrays = len(given[0]), (*(np.ascontiguousarray(x) for x in given), *found)
        numbers = sum(x.size for x in arrays)
        if count < LANES:
            self._range(1, arrays, mode, 0, count)
        elif threads == 1 or (threads is None and numbers < THREADING_WORTH):
            self._range(LANES, arrays, mode, 0, count)
        else:
            over_threads(
                lambda begin, end: self._range(LANES, arrays, mode, begin, end),
                count,
                LANES,
                thread_count(threads, numbers),
            )

    def start(self, lanes: int) -> int:
        """Where the tables begin in memory."""
        return (self._n + 1) * SLOTS.width * lanes

    def new_memory(self, lanes: int) -> Array:
        """Memory for one thread."""
        numbers, start = self._numbers(lanes), self.start(lanes)
        memory = aligned(start + len(numbers))
        memory[:start], memory[start:] = 0.0, numbers
        return memory

    def _range(self, lanes: int, arrays: tuple[Array, ...], mode: int, begin: int, end: int) -> bool:
        spare = self._spare[lanes]
        try:
            memory = spare.pop()
        except IndexError:
            memory = self.new_memory(lanes)
        done = self.code(lanes)(self.table, memory, begin, end, arrays, self.start(lanes), mode)
        spare.append(memory)
        return done
