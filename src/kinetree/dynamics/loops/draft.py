"""Rows and entries of a mechanism's loops among the unknowns, as tables for compiled code."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.axis_motion import AxisMotion
from kinetree.dynamics.loops.elimination import EliminationPlan, elimination
from kinetree.dynamics.loops.rows import DIRECTION, LoopRows
from kinetree.dynamics.loops.segments import PRESENT, divided, seen_from
from kinetree.kernels.layout import layout_rows
from kinetree.kernels.loop import BASE, MOVE, TURN
from kinetree.kernels.loop_table import (
    BELOW,
    CUT,
    ENTRY,
    LINK,
    OWNER,
    PIVOT,
    PLACE,
    ROW,
    SEGMENT,
    START,
    TARGET,
    LoopTables,
)
from kinetree.model.tree import Integers, Tree

PATTERN_POSES = 4


class EntrySlots(Protocol):
    """Where entries lie: places of unknowns, slots of pairs of them, and one slot that is not read."""

    @property
    def place(self) -> Integers:
        """The place of each unknown, motions first, then rows."""

    @property
    def idle(self) -> int:
        """The slot that is not read."""

    def entry(self, i: int, j: int) -> int:
        """The slot of the entry of two unknowns."""


def random_motion(rows: LoopRows, kept: list[int]) -> tuple[list[set[int]], AxisMotion]:
    """The axes of each row's entries, and where all axes are at random poses with open loops."""
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (PATTERN_POSES, rows.tree.n))
    motion = rows.motion(q)
    row, axis, values = rows.jacobian_entries(motion, rows.cut_motion(motion))
    present: list[set[int]] = [set() for _ in range(rows.n_rows)]
    for k in np.flatnonzero(np.abs(values).max(axis=0, initial=0.0) > PRESENT):
        present[row[k]].add(int(axis[k]))
    return [present[k] for k in kept], motion


class Draft:
    """Unknowns, entries and places of a mechanism's loops, for one division into segments."""

    def __init__(
        self, rows: LoopRows, kept: list[int], present: list[set[int]], motion: AxisMotion, depth: int = 0
    ) -> None:
        self.rows, self.kept, self.present, self.motion = rows, kept, present, motion
        self.segments = divided(rows, depth, motion)
        self.unknown_of_axis, self.ratio = unknowns_of_axes(rows.tree)
        n = rows.tree.n_dof
        self.base: list[list[int]] = []  # unknowns of each segment's motion, -1 where it cannot move
        for moves in self.segments.moves:
            self.base.append([])
            for can in moves:
                self.base[-1].append(n if can else -1)
                n += int(can)
        self.n_motions = n
        self.ties = [(k, c) for k, moves in enumerate(self.segments.moves) for c in range(BASE) if moves[c]]
        self.n_unknowns = n + len(kept) + len(self.ties)
        self.entries = [self._loop_entries(k) for k in range(len(kept))]
        self.entries += [self._tie_entries(k, c) for k, c in self.ties]
        self._find_spares()

    # ---- entries of rows: axes with signs, then segments with the directions that count ----------------
    def _loop_entries(self, k: int) -> tuple[dict[int, float], dict[int, tuple[float, list[int]]]]:
        loop = self.rows.loop_of_row[self.kept[k]]
        axes: dict[int, float] = {}
        bases: dict[int, tuple[float, list[int]]] = {}
        for axis, sign in ((int(self.rows.axis_B[loop]), 1.0), (int(self.rows.axis_A[loop]), -1.0)):
            path, segment = self.segments.path(axis)
            for j in path:
                axes[j] = axes.get(j, 0.0) + sign
            if segment >= 0:
                before = bases.get(segment, (0.0, []))[0]
                bases[segment] = (before + sign, self._moving(segment))
        axes = {j: sign * self.ratio[j] for j, sign in axes.items() if sign and j in self.present[k]}
        return axes, {g: found for g, found in bases.items() if found[0]}

    def _tie_entries(self, k: int, c: int) -> tuple[dict[int, float], dict[int, tuple[float, list[int]]]]:
        axis = int(self.segments.axis[k])
        path, above = self.segments.path(axis)
        felt = np.abs(seen_from(self.rows.tree, self.motion, axis)[..., c]).max(axis=0) > PRESENT
        bases = {k: (1.0, [c])}
        if above >= 0:
            turns = [d for d in range(3) if c >= 3 and d != c - 3]
            bases[above] = (-1.0, [d for d in (*turns, c) if self.segments.moves[above, d]])
        return {j: -1.0 for j in path if felt[j]}, bases

    def _moving(self, segment: int) -> list[int]:
        return [int(c) for c in np.flatnonzero(self.segments.moves[segment])]

    def _find_spares(self) -> None:
        """Rows without multipliers, by cut: those of the loops, then cosines between frames."""
        rows, kept = self.rows, set(self.kept)
        self.is_facing: list[bool] = []
        columns: list[tuple[int, Array, Array, float]] = []
        self.first_spare, self.spares = [], []
        for c, loop in enumerate(rows.loops):
            self.first_spare.append(len(columns))
            for row in np.flatnonzero(rows.loop_of_row == c).tolist():
                if row not in kept:
                    self.is_facing.append(False)
                    columns.append((int(rows.type[row]), rows.e[row], rows.f[row], float(rows.constant[row])))
            turning = [a for a, turn in zip(loop.joint.axes, loop.joint.turns, strict=True) if turn]
            axes = list(np.eye(3)) if not turning else turning if len(turning) == 1 else []
            for axis in axes if loop.length is None else []:
                self.is_facing.append(True)
                columns.append((DIRECTION, np.asarray(axis), np.asarray(axis), 0.0))
            self.spares.append(len(columns) - self.first_spare[-1])
        self.spare_columns = columns

    # ---- pattern and tables ------------------------------------------------------------------------------
    def pattern(self) -> list[set[int]]:
        """Which unknowns share an entry: motions, then rows."""
        found: list[set[int]] = [{i} for i in range(self.n_unknowns)]

        def share(i: int, j: int) -> None:
            found[i].add(j)
            found[j].add(i)

        for i in range(self.rows.tree.n):
            path, segment = self.segments.path(i)
            for j in path:
                share(self.unknown_of_axis[i], self.unknown_of_axis[j])
            for base in self.base[segment] if segment >= 0 else []:
                if base >= 0:
                    share(self.unknown_of_axis[i], base)
        for bases in self.base:
            for a in bases:
                for b in bases:
                    if a >= 0 and b >= 0:
                        share(a, b)
        for k, (axes, segments) in enumerate(self.entries):
            row = self.n_motions + k
            for j in axes:
                share(row, self.unknown_of_axis[j])
            for g, (_, directions) in segments.items():
                for c in directions:
                    share(row, self.base[g][c])
        return found

    def tables(self) -> LoopTables:
        """Rows of the layouts of `kernels.loop_table`."""
        program, rows, n_loop = elimination(self.pattern(), self.n_motions), self.rows, len(self.kept)
        row_columns, entries = self.row_tables(program)
        places, first_own = self._places(program)
        is_loop = np.zeros(self.n_unknowns, dtype=np.int64)
        is_loop[program.place[self.n_motions : self.n_motions + n_loop]] = 1
        is_motion = np.zeros(self.n_unknowns, dtype=np.int64)
        is_motion[program.place[: self.n_motions]] = 1
        after = n_loop + len(self.ties)
        owner = np.array([k for k, _ in self.ties], dtype=np.int64)
        mass = self._masses()
        tables = {
            "cuts": self.cut_table(after),
            "rows": row_columns,
            "entries": entries,
            "links": layout_rows(
                LINK,
                rows.tree.n,
                parent=self.segments.parent,
                segment=self.segments.segment,
                unknown=program.place[self.unknown_of_axis],
                ratio=self.ratio,
                m=mass[0],
            ),
            "segments": layout_rows(
                SEGMENT,
                self.segments.count,
                axis=self.segments.axis,
                place=first_own,
                first=n_loop + np.searchsorted(owner, np.arange(self.segments.count)),
                ties=self.segments.moves.sum(axis=1),
                m=mass[1],
            ),
            "places": places,
            "pivots": layout_rows(
                PIVOT,
                self.n_unknowns,
                below=program.counts,
                multiplier=is_loop,
                motion=is_motion,
                usual=1.0,
                soft=0.0,
            ),
            "targets": layout_rows(TARGET, len(program.targets), slot=program.targets),
            "below": layout_rows(BELOW, len(program.below), unknown=program.below),
            "starts": layout_rows(START, 0),
            "owners": layout_rows(OWNER, 0),
        }
        return LoopTables(tables, after, n_loop, program.n_slots)

    def cut_table(self, after: int) -> Array:
        """The table of cut joints; rows without multipliers come ``after`` so many others."""
        rows, cuts = self.rows, range(len(self.rows.loops))
        loop_of = rows.loop_of_row[self.kept]
        return layout_rows(
            CUT,
            len(rows.loops),
            axis_a=rows.axis_A,
            axis_b=rows.axis_B,
            first=np.array([int((loop_of < c).sum()) for c in cuts]),
            size=np.array([int((loop_of == c).sum()) for c in cuts]),
            first_spare=after + np.array(self.first_spare),
            spares=np.array(self.spares),
            Ra=rows.rotation_A.reshape(-1, 9),
            pa=rows.position_A,
            Rb=rows.rotation_B.reshape(-1, 9),
            pb=rows.position_B,
        )

    def row_tables(self, program: EntrySlots) -> tuple[Array, Array]:
        """The tables of rows and of their entries."""
        rows, entries = self.rows, list[tuple[int, int, int, float]]()
        first, size, groups = [], [], []
        for k, (axes, segments) in enumerate(self.entries):
            row = self.n_motions + k
            first.append(len(entries))
            size.append(len(axes))
            groups.append(len(segments))
            for j, sign in sorted(axes.items()):
                u = int(self.unknown_of_axis[j])
                entries.append((j, program.entry(row, u), int(program.place[u]), sign))
            for g, (sign, directions) in sorted(segments.items()):
                for c, u in enumerate(self.base[g]):
                    if c in directions:
                        entries.append((g, program.entry(row, u), int(program.place[u]), sign))
                    else:
                        entries.append((g, program.idle, 0, 0.0))
        unit, count = np.eye(3), len(self.entries)
        tied = [(TURN if c < 3 else MOVE, unit[c % 3], unit[c % 3], 0.0) for _, c in self.ties]
        columns = [(int(rows.type[r]), rows.e[r], rows.f[r], float(rows.constant[r])) for r in self.kept]
        every = columns + tied + self.spare_columns
        idle = len(every) - count
        kinds, e, f, constant = (np.array(x) for x in zip(*every, strict=True))
        table = layout_rows(
            ROW,
            len(every),
            type=kinds,
            first=np.array(first + [0] * idle),
            size=np.array(size + [0] * idle),
            bases=np.array(groups + [0] * idle),
            unknown=np.concatenate([program.place[self.n_motions :], np.zeros(idle, dtype=np.int64)]),
            group=-1,
            facing=np.array([0] * count + [int(x) for x in self.is_facing]),
            e=e,
            f=f,
            c=constant,
        )
        entries = entries or [(0, program.idle, 0, 0.0)]  # loops between bodies that are welded together
        axis, slot, pivot, sign_ = (np.array(x) for x in zip(*entries, strict=True))
        return table, layout_rows(ENTRY, len(entries), axis=axis, slot=slot, pivot=pivot, sign=sign_)

    def _places(self, program: EliminationPlan) -> tuple[Array, Integers]:
        """Slots of M in the order of the kernel, and where those of the segments' own motions begin."""
        slots, factors = list[int](), list[float]()

        def put(i: int, j: int, factor: float) -> None:
            is_idle = i < 0 or j < 0
            slots.append(program.idle if is_idle else program.entry(i, j))
            factors.append(0.0 if is_idle else factor)

        for i in range(self.rows.tree.n):
            path, segment = self.segments.path(i)
            u = int(self.unknown_of_axis[i])
            for j in path:
                v = int(self.unknown_of_axis[j])
                both = 2.0 if u == v and i != j else 1.0
                put(u, v, both * self.ratio[i] * self.ratio[j])
            for base in self.base[segment] if segment >= 0 else []:
                put(u, base, self.ratio[i])
        first = []
        for bases in self.base:
            first.append(len(slots))
            for a in range(BASE):
                for b in range(a, BASE):
                    put(bases[a], bases[b], 1.0)
        table = layout_rows(PLACE, len(slots), slot=np.array(slots), factor=np.array(factors))
        return table, np.array(first, dtype=np.int64)

    def _masses(self) -> tuple[Array, Array]:
        """Masses of all beyond each axis in its segment, and of each segment."""
        tree = self.rows.tree
        mass = np.array(tree.mass)
        mass[self.segments.axis] *= 0.5
        total = mass[self.segments.axis]
        for i in range(tree.n - 1, -1, -1):
            up, segment = int(self.segments.parent[i]), int(self.segments.segment[i])
            if up >= 0:
                mass[up] += mass[i]
            elif segment >= 0:
                total[segment] += mass[i]
        return mass, total


def unknowns_of_axes(tree: Tree) -> tuple[Integers, Array]:
    """The coordinate that each axis is or follows, and the ratio."""
    if tree.coupling is None:
        return np.arange(tree.n), np.ones(tree.n)
    leader = np.argmax(np.abs(tree.coupling.matrix), axis=1)
    return leader, np.asarray(tree.coupling.matrix[np.arange(tree.n), leader], dtype=np.float64)
