"""Accelerations with closed loops by compiled code, over the axes of a tree, for one state or many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import aligned
from kinetree.engine.loop_code import loop_states
from kinetree.engine.threads import THREADING_WORTH, over_threads, thread_count
from kinetree.kernels.loop_table import SLOTS, VERDICT, LoopTables
from kinetree.kernels.model_table import tree_table
from kinetree.kernels.number import LANES
from kinetree.model.tree import Tree


class LoopAnswer(NamedTuple):
    """What compiled code finds for states (count, ...).

    Accelerations of axes; multipliers and pivots (0: dropped) of the rows in use, in the order of the tables;
    how far each can be trusted, `kernels.loop.judge`.
    """

    qdd: Array
    multiplier: Array
    pivot: Array
    verdict: Array


class LoopStates:
    """The tables of a mechanism's loops in memory of compiled code, shared by all threads.

    Memory that no thread uses at present waits in ``_spare``, whose ``append`` and ``pop`` are single steps
    of a list.
    """

    def __init__(self, tree: Tree, tables: LoopTables) -> None:
        self.tree, self.tables = tree, tables
        self._table = tree_table(tree)
        self._spare: dict[int, list[Array]] = {1: [], LANES: []}

    def answer(
        self, q: Array, qd: Array, tau: Array, loads: Array | None = None, threads: int | None = None
    ) -> LoopAnswer:
        """Accelerations under torques on all axes, (count, axes) each; ``loads`` (count, 6 axes)."""
        return self._filled((q, qd, tau), loads, threads, 0)

    def steps(self, q: Array) -> LoopAnswer:
        """Steps of all axes towards positions (count, axes) with closed loops, in place of accelerations."""
        rest = np.zeros_like(q)
        return self._filled((q, rest, rest), None, 1, 1)

    def _filled(
        self, state: tuple[Array, Array, Array], loads: Array | None, threads: int | None, closing: int
    ) -> LoopAnswer:
        count, n_rows = len(state[0]), self.tables.n_loop_rows
        sizes = self.tree.n, n_rows, n_rows, VERDICT
        found = LoopAnswer(*(np.empty((count, size)) for size in sizes))
        loads = np.empty((count, 0)) if loads is None else loads
        arrays = tuple(np.ascontiguousarray(x) for x in (*state, loads)) + tuple(found)
        if count < LANES:
            self._range(1, arrays, closing, 0, count)
            return found
        numbers = count * sum(sizes)
        if threads == 1 or (threads is None and numbers < THREADING_WORTH):
            self._range(LANES, arrays, closing, 0, count)
        else:
            over_threads(
                lambda begin, end: self._range(LANES, arrays, closing, begin, end),
                count,
                LANES,
                thread_count(threads, numbers),
            )
        return found

    def _range(self, lanes: int, arrays: tuple[Array, ...], closing: int, begin: int, end: int) -> bool:
        spare = self._spare[lanes]
        try:
            memory = spare.pop()
        except IndexError:
            memory = self._new_memory(lanes)
        trusted = loop_states(lanes)(self._table, memory, begin, end, arrays, self._start(lanes), closing)
        spare.append(memory)
        return trusted

    def _start(self, lanes: int) -> int:
        return (self.tree.n + 1) * SLOTS.width * lanes

    def _new_memory(self, lanes: int) -> Array:
        numbers, start = self.tables.numbers(lanes), self._start(lanes)
        memory = aligned(start + len(numbers))
        memory[:start], memory[start:] = 0.0, numbers
        return memory
