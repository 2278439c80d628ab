"""Inverse dynamics with closed loops by compiled code: the blocks of a mechanism as tables, for many states.

For mechanisms with as many drives as freedoms; all others, and states near singular positions, are left to
singular values (`dynamics.loops.dynamics`).
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.coupling import on_axes
from kinetree.dynamics.loops.draft import Draft, random_motion
from kinetree.dynamics.loops.machine.blocks import BLOCK, INVERSE, JUDGED, MEMBER, SPAN, TERM, loop_drives
from kinetree.dynamics.loops.ranges import LoopRanges
from kinetree.dynamics.loops.structure import Blocks, block_form
from kinetree.dynamics.loops.system import CLOSED, constraints, loop_rows, size_of
from kinetree.errors import InputError
from kinetree.kernels.layout import layout_rows
from kinetree.kernels.loop_table import GAP, SLOT, UNKNOWN
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Integers, Tree

REGULAR = 1e-4  # smallest number on a diagonal of R, relative to the largest in J, that keeps digits
LARGEST = 60  # equations of one block: its cost grows with their cube


class DriveAnswer(NamedTuple):
    """Forces of the drives, or accelerations, (count, n_dof); how far to trust each (count, JUDGED)."""

    found: Array
    verdict: Array


class LoopDrives:
    """The blocks of a mechanism in memory of compiled code, shared by all threads."""

    def __init__(self, mechanism: Mechanism, form: Blocks) -> None:
        self.n_dof = mechanism.n_dof
        self._tables, self._sizes = _tables(mechanism, form)
        self.ranges = LoopRanges(mechanism.tree, loop_drives, self._numbers)

    def forces(
        self, q: Array, qd: Array, qdd: Array, needed: Array, threads: int | None = None
    ) -> DriveAnswer:
        """Forces of the drives that do the work of ``needed`` ones, (count, n_dof); q and qd of all axes."""
        return self._filled((q, qd, np.empty((len(q), 0)), qdd, needed), 0, threads)

    def following(self, q: Array, qd: Array, given: Array, threads: int | None = None) -> DriveAnswer:
        """Accelerations (count, n_dof) that follow those of the drives in ``given``."""
        return self._filled((q, qd, np.empty((len(q), 0)), np.zeros_like(given), given), 1, threads)

    def _filled(self, given: tuple[Array, ...], following: int, threads: int | None) -> DriveAnswer:
        count = len(given[0])
        found = DriveAnswer(np.empty((count, self.n_dof)), np.empty((count, JUDGED)))
        self.ranges.fill(given, found, threads, following)
        return found

    def _numbers(self, lanes: int) -> Array:
        """Head, tables and scratch for as many lanes in one array."""
        end, places = INVERSE.width, dict[str, int]()
        for name, rows in self._tables.items():
            places[name], end = end, end + rows.size
        for name, layout in (("matrix", SLOT), ("unknowns", UNKNOWN), ("gaps", GAP)):
            places[name], end = end, end + lanes * layout.width * self._sizes[name]
        numbers = np.zeros(end)
        counts = {f"n_{name}": self._sizes[name] for name in ("cuts", "rows", "all_rows", "slots", "blocks")}
        numbers[: INVERSE.width] = layout_rows(INVERSE, 1, **counts, **places)[0]
        for name, rows in self._tables.items():
            numbers[places[name] : places[name] + rows.size] = rows.ravel()
        return numbers


class _Slots:
    """Slots of J: entries within blocks column by column, the others behind; see `draft.Places`."""

    idle = 0

    def __init__(self, n_motions: int, blocks: list[tuple[Integers, Integers]], n_rows: int) -> None:
        self.n_motions = n_motions
        self.place = np.concatenate([np.zeros(n_motions, dtype=np.int64), np.arange(n_rows)])
        self.inner: dict[tuple[int, int], int] = {}
        self.outer: dict[tuple[int, int], int] = {}
        self.first, self.end = list[int](), 1
        for equations, rows in blocks:
            self.first.append(self.end)
            for c, row in enumerate(rows.tolist()):
                for r, at in enumerate(equations.tolist()):
                    self.inner[row, at] = self.end + c * len(equations) + r
            self.end += len(equations) ** 2

    def entry(self, i: int, j: int) -> int:
        """The slot of the entry of a row, which comes after all motions, and a coordinate."""
        key = i - self.n_motions, j
        if key in self.inner:
            return self.inner[key]
        if key not in self.outer:
            self.outer[key] = self.end
            self.end += 1
        return self.outer[key]


def _tables(mechanism: Mechanism, form: Blocks) -> tuple[dict[str, Array], dict[str, int]]:
    """The tables of `machine.blocks`, and how many of each there are."""
    rows, kept, count = loop_rows(mechanism), form.kept.tolist(), len(form.drives)
    draft = Draft(rows, kept, *random_motion(rows, kept))
    blocks = [
        (block.equations, block.unknowns - count) for block in form.blocks if (block.unknowns >= count).all()
    ]
    slots = _Slots(draft.n_motions, blocks, len(kept))
    row_table, entries = draft.row_tables(slots)
    outer = dict(slots.outer)
    spans, terms = list[tuple[int, int, int]](), list[tuple[int, int]]()
    for k in range(len(kept)):
        coordinates = {int(draft.unknown_of_axis[j]) for j in draft.entries[k][0]}
        inner = sorted(at for at in coordinates if (k, at) in slots.inner)
        rest = sorted(at for at in coordinates if (k, at) in outer)
        spans.append((len(terms), len(inner) + len(rest), len(inner)))
        terms += [(slots.inner[k, at], at) for at in inner] + [(outer[k, at], at) for at in rest]
    sizes = np.array([len(equations) for equations, _ in blocks], dtype=np.int64)
    before = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    start, squares = slots.end, np.concatenate([[0], np.cumsum(sizes**2)[:-1]])
    vectors = start + int((sizes**2).sum())
    members = [pair for equations, own in blocks for pair in zip(equations, own, strict=True)]
    equation, row = (np.array(x, dtype=np.int64) for x in zip(*members, strict=True))
    first, size, within = (np.array(x, dtype=np.int64) for x in zip(*spans, strict=True))
    slot, coordinate = (np.array(x, dtype=np.int64) for x in zip(*terms, strict=True))
    tables = {
        "cuts": draft.cut_table(len(kept)),
        "rows": row_table,
        "entries": entries,
        "blocks": layout_rows(
            BLOCK,
            len(blocks),
            size=sizes,
            first=before,
            A=np.array(slots.first, dtype=np.int64),
            R=start + squares,
            b=vectors + 2 * before,
            y=vectors + 2 * before + sizes,
        ),
        "members": layout_rows(MEMBER, len(members), equation=equation, row=row),
        "spans": layout_rows(SPAN, len(kept), first=first, size=size, inner=within),
        "terms": layout_rows(TERM, len(terms), slot=slot, coordinate=coordinate),
    }
    n_slots = vectors + 2 * int(sizes.sum())
    return tables, {
        "cuts": len(rows.loops),
        "rows": len(kept),
        "all_rows": len(row_table),
        "slots": n_slots,
        "blocks": len(blocks),
        "matrix": n_slots,
        "unknowns": len(kept) + 1,
        "gaps": len(row_table),
    }


_known: WeakKeyDictionary[Tree, LoopDrives | None] = WeakKeyDictionary()


def loop_drives_of(mechanism: Mechanism, q: Array) -> LoopDrives | None:
    """The blocks of a mechanism, prepared once at a closed pose q (n_dof,); None where they do not serve."""
    if mechanism.tree not in _known:
        _known[mechanism.tree] = _prepared(mechanism, q)
    return _known[mechanism.tree]


def known_drives(mechanism: Mechanism) -> LoopDrives | None:
    """The blocks of a mechanism, if they are prepared and serve."""
    return _known.get(mechanism.tree)


def _prepared(mechanism: Mechanism, q: Array) -> LoopDrives | None:
    J = constraints(mechanism, q).J
    try:
        form = block_form(mechanism, J)
    except InputError:
        return None
    if not len(form.kept) or max(len(block.equations) for block in form.blocks) > LARGEST:
        return None
    return LoopDrives(mechanism, form)


def compiled_drives(
    mechanism: Mechanism,
    q: Array,
    qd: Array,
    qdd: Array,
    needed: Array,
    threads: int | None = None,
    *,
    ajar: bool = False,
) -> Array | None:
    """Forces of the drives (..., n_dof) for what the tree needs, or None if a closer look is necessary.

    All arrays (..., n_dof). None where drives are more or fewer than freedoms, a state does not fit the
    loops, unless it may be ``ajar``, or is near a singular position.
    """
    drives = _ready(mechanism, q)
    if drives is None:
        return None
    state, n = on_axes(mechanism.tree, q, qd), mechanism.n_dof
    rows = [np.broadcast_to(x, (*q.shape[:-1], x.shape[-1])).reshape(-1, x.shape[-1]) for x in state]
    found = drives.forces(rows[0], rows[1], qdd.reshape(-1, n), needed.reshape(-1, n), threads)
    good = _is_good(mechanism, found, None if ajar else (float(np.abs(qd).max()), float(np.abs(qdd).max())))
    return found.found.reshape(q.shape) if good else None


def following_accelerations(
    mechanism: Mechanism, q: Array, qd: Array, given: Array, *, ajar: bool = False
) -> Array | None:
    """Accelerations (..., n_dof) that keep the loops closed with those of the drives given, or None."""
    drives = _ready(mechanism, q)
    if drives is None:
        return None
    rows = [x.reshape(-1, x.shape[-1]) for x in on_axes(mechanism.tree, q, qd)]
    found = drives.following(rows[0], rows[1], given.reshape(-1, mechanism.n_dof))
    good = _is_good(mechanism, found, None if ajar else (float(np.abs(qd).max()), np.inf))
    return found.found.reshape(q.shape) if good else None


def _ready(mechanism: Mechanism, q: Array) -> LoopDrives | None:
    """The blocks, if there are states and all numbers are finite."""
    if not q.size or not np.isfinite(q).all():
        return None
    return loop_drives_of(mechanism, q.reshape(-1, mechanism.n_dof)[0])


def _is_good(mechanism: Mechanism, found: DriveAnswer, motion: tuple[float, float] | None) -> bool:
    """Whether all states are in regular positions and fit the loops; see `drive_bounds`.

    ``motion``: the largest speed and acceleration; None asks for regular positions alone.
    """
    if motion is None:
        return bool((found.verdict[:, 3:] <= (0.0, -(REGULAR**2))).all()) and bool(
            np.isfinite(found.found).all()
        )
    most = drive_bounds(mechanism, *motion)
    return bool((found.verdict <= most).all()) and bool(np.isfinite(found.found).all())


def drive_bounds(mechanism: Mechanism, speed: float, bend: float) -> tuple[float, ...]:
    """Bounds of the numbers of `judge_blocks` for the largest speed and acceleration.

    As those of `refuse_open_loops`.
    """
    close = CLOSED * size_of(mechanism)
    return close, close * (1.0 + speed), close * (1.0 + bend + speed**2), 0.0, -(REGULAR**2)
