"""Joints that follow others in closed loops, by compiled code: positions on a branch, and their rates."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import aligned
from kinetree.dynamics.loops.draft import Draft, random_motion
from kinetree.dynamics.loops.machine.code import loop_positions
from kinetree.dynamics.loops.machine.position_tables import (
    AXIS,
    CHAIN,
    CLOSE,
    DEPENDENT,
    FOLLOW,
    POSITIONS,
    RATES,
    REACH,
    TIE,
)
from kinetree.dynamics.loops.system import loop_rows, size_of
from kinetree.engine.ranges import Ranges
from kinetree.kernels.layout import layout_rows
from kinetree.kernels.loop_table import GAP, SLOTS, UNKNOWN
from kinetree.kernels.model_table import tree_table
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags, Integers, Tree

CLOSED = 1e-10  # gap (m, sine) of a closed loop relative to the mechanism's size


class LoopPositions:
    """The loops of a mechanism in memory of compiled code, shared by all threads.

    ``dependent`` are numbers of coordinates that follow from all others, as many as the loops have rank.
    Every answer says which states were reached; those that were not, next to singular positions for example,
    need a closer look.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self._tables, self._start = _tables(mechanism), (mechanism.tree.n + 1) * SLOTS.width
        self._ranges = Ranges(loop_positions(), tree_table(mechanism.tree), self._new_memory, 1)

    def follow(self, start: Array, wanted: Array, dependent: Integers) -> tuple[Array, Flags]:
        """Poses (m, n_dof) at wanted coordinates on the branch of closed poses ``start``, (m, n_dof) each."""
        return self._answer(FOLLOW, start, wanted, dependent)

    def chain(self, start: Array, wanted: Array, dependent: Integers) -> tuple[Array, int]:
        """Poses (m, n_dof) one after the other from a closed one (n_dof,), and how many there are."""
        found, good = self._answer(CHAIN, np.broadcast_to(start, wanted.shape), wanted, dependent)
        return found, len(good) if good.all() else int(np.argmin(good))

    def close(self, q: Array, dependent: Integers) -> tuple[Array, Flags]:
        """Poses (m, n_dof) with closed loops near rough ones, where Newton's iteration converges."""
        return self._answer(CLOSE, q, q, dependent)

    def reach(self, start: Array, frames: Array, dependent: Integers) -> tuple[Array, Flags]:
        """Poses (m, n_dof) on the branch of ``start`` with bodies at frames (m, targets, 12) in the world.

        As many last loops tie these to the world; a frame is a rotation matrix, row by row, and a position.
        """
        found = np.empty_like(start)
        flat = frames.reshape(len(frames), -1)
        return found, self._filled(REACH, (start, flat, found), dependent, frames.shape[1])

    def rates(self, q: Array, qd: Array, qdd: Array, dependent: Integers) -> tuple[Array, Array, Flags]:
        """Velocities and accelerations (m, n_dof) at closed poses; the dependent ones given are not read."""
        qd, qdd = np.array(qd), np.array(qdd)
        good = self._filled(RATES, (q, qd, qdd), dependent)
        return qd, qdd, good

    def _answer(self, what: int, start: Array, wanted: Array, dependent: Integers) -> tuple[Array, Flags]:
        found = np.empty_like(wanted)
        return found, self._filled(what, (start, np.array(wanted), found), dependent)

    def _filled(self, what: int, arrays: tuple[Array, ...], dependent: Integers, n_targets: int = 0) -> Flags:
        verdict = np.zeros((len(arrays[0]), 1))
        memory = self._ranges.take()
        words = memory[self._start :].view(np.int64)
        words[POSITIONS.places["n_dependent"][0]] = len(dependent)
        words[POSITIONS.places["n_targets"][0]] = n_targets
        first = int(words[POSITIONS.places["dependents"][0]])
        words[first : first + len(dependent)] = dependent
        given = (*(np.ascontiguousarray(x) for x in arrays), verdict)
        self._ranges.run(self._ranges.table, memory, 0, len(verdict), given, self._start, what)
        self._ranges.give(memory)
        reached: Flags = verdict[:, 0] == 1.0
        return reached

    def _new_memory(self) -> Array:
        tree, n, rows = self.mechanism.tree, self.mechanism.n_dof, len(self._tables["rows"])
        sizes = {
            "matrix": 1 + tree.n * rows,
            "unknowns": UNKNOWN.width,
            "gaps": GAP.width * rows,
            "axes": tree.n,
            "rates": tree.n,
            "J": n * rows,
            "before": n * rows,
            "Q": n * rows,
            "R": n * n,
            "b": rows,
            "x": n,
            "q": n,
            "first": n,
        }
        places, end = dict[str, int](), POSITIONS.width
        for name, table in self._tables.items():
            places[name], end = end, end + table.size
        for name, size in sizes.items():
            places[name], end = end, end + size
        memory = aligned(self._start + end)
        memory[:] = 0.0
        memory[self._start : self._start + POSITIONS.width] = layout_rows(
            POSITIONS,
            1,
            closed=CLOSED * size_of(self.mechanism),
            n_cuts=len(self.mechanism.loops),
            n_rows=rows,
            n_axes=tree.n,
            n_dof=n,
            n_ties=len(self._tables["ties"]),
            **places,
        )[0]
        for name, table in self._tables.items():
            first = self._start + places[name]
            memory[first : first + table.size] = table.ravel()
        return memory


class _Slots:
    """Slots of J over all axes, column by column, after one that holds 1; see `draft.Places`."""

    idle = 0

    def __init__(self, n_axes: int, n_rows: int) -> None:
        self.n_axes, self.n_rows = n_axes, n_rows
        self.place = np.zeros(n_axes + n_rows, dtype=np.int64)

    def entry(self, i: int, j: int) -> int:
        """The slot of the entry of a row, which comes after all axes, and an axis."""
        return 1 + j * self.n_rows + i - self.n_axes


def _tables(mechanism: Mechanism) -> dict[str, Array]:
    """The tables of `machine.positions`; mimic joints are axes like all others in those of the loops."""
    tree, rows = mechanism.tree, copy(loop_rows(mechanism))
    rows.tree = replace(tree, coupling=None)
    every = list(range(rows.n_rows))
    draft = Draft(rows, every, *random_motion(rows, every))
    row_table, entries = draft.row_tables(_Slots(tree.n, rows.n_rows))
    matrix, offset = np.eye(tree.n), np.zeros(tree.n)
    if tree.coupling is not None:
        matrix, offset = tree.coupling.matrix, tree.coupling.offset
    axis, coordinate = np.nonzero(matrix)
    return {
        "cuts": draft.cut_table(rows.n_rows),
        "rows": row_table[: rows.n_rows],
        "entries": entries,
        "ties": layout_rows(
            TIE, len(axis), axis=axis, coordinate=coordinate, factor=matrix[axis, coordinate]
        ),
        "offsets": layout_rows(AXIS, tree.n, offset=offset),
        "dependents": layout_rows(DEPENDENT, mechanism.n_dof),
    }


_known: WeakKeyDictionary[Tree, LoopPositions] = WeakKeyDictionary()


def loop_positions_of(mechanism: Mechanism) -> LoopPositions:
    """The loops of a mechanism for compiled code, prepared once."""
    if mechanism.tree not in _known:
        _known[mechanism.tree] = LoopPositions(mechanism)
    return _known[mechanism.tree]
