"""Machine code over ranges of states: memory for each thread, and how states are shared among threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from kinetree.algebra.arrays import Array
from kinetree.engine.threads import THREADING_WORTH, over_threads, thread_count


class Ranges:
    """Machine code ``run(table, memory, begin, end, arrays, ...)`` on blocks of ``lanes`` states.

    It answers whether what it wrote can be trusted. Memory that no thread uses at present waits in
    ``_spare``, whose ``append`` and ``pop`` are single steps of a list, with the GIL or without.
    """

    def __init__(
        self, run: Callable[..., bool], table: Array, new_memory: Callable[[], Array], lanes: int
    ) -> None:
        self.run, self.table, self.new_memory, self.lanes = run, table, new_memory, lanes
        self._spare: list[Array] = []

    def fill(
        self, arrays: Sequence[Array], count: int, numbers: int, threads: int | None, extra: Sequence[int]
    ) -> bool:
        """Run all states of arrays (count, k) that hold so many ``numbers``, at least as many as lanes."""
        if threads == 1 or (threads is None and numbers < THREADING_WORTH):
            return self.part(arrays, extra, 0, count)
        work = partial(self.part, arrays, extra)
        return all(over_threads(work, count, self.lanes, thread_count(threads, numbers)))

    def part(self, arrays: Sequence[Array], extra: Sequence[int], begin: int, end: int) -> bool:
        """Run a range of states in memory that no other thread uses."""
        memory = self.take()
        trusted = self.run(self.table, memory, begin, end, arrays, *extra)
        self.give(memory)
        return trusted

    def take(self) -> Array:
        """Memory for one thread, to be given back."""
        try:
            return self._spare.pop()
        except IndexError:
            return self.new_memory()

    def give(self, memory: Array) -> None:
        """Give memory back for others."""
        self._spare.append(memory)
