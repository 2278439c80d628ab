"""Accelerations with closed loops by compiled code, over the axes of a tree, for one state or many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.loops.ranges import LoopRanges
from kinetree.engine.loop_code import loop_states
from kinetree.kernels.loop_table import VERDICT, LoopTables
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
    """The tables of a mechanism's loops in memory of compiled code, shared by all threads."""

    def __init__(self, tree: Tree, tables: LoopTables) -> None:
        self.tree, self.tables = tree, tables
        self.ranges = LoopRanges(tree, loop_states, tables.numbers)

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Numbers of a state in the arrays of a `LoopAnswer`."""
        return self.tree.n, self.tables.n_loop_rows, self.tables.n_loop_rows, VERDICT

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
        count = len(state[0])
        found = LoopAnswer(*(np.empty((count, size)) for size in self.sizes))
        loads = np.empty((count, 0)) if loads is None else loads
        self.ranges.fill((*state, loads), found, threads, closing)
        return found
