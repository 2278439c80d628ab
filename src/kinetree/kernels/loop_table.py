"""Closed loops as tables of constants for `kernels.loop`, and the memory that it works in.

One array holds a head, the tables and the scratch; the head says where each part begins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.kernels.layout import Layout, layout_rows

CUT = Layout(
    world=False,
    constant=True,
    axis_a=int,
    axis_b=int,
    first=int,  # of its rows with multipliers
    size=int,  # how many of them
    first_spare=int,  # of its other rows
    spares=int,
    Ra=9,  # frame A in the frame of its axis
    pa=3,
    Rb=9,
    pb=3,
)
ROW = Layout(
    world=False,
    constant=True,
    type=int,
    first=int,  # of its entries in J
    size=int,  # how many of them belong to axes
    bases=int,  # how many groups of six, which follow, belong to motions of segments
    unknown=int,  # the place of its multiplier in the order of elimination
    group=int,  # of soft rows that depend on each other; -1: not soft
    facing=int,  # 1: no constraint, but a cosine that is positive where a loop is closed the right way round
    e=3,  # in frame A
    f=3,  # in frame B
    c=1,  # cosine kept, or length of the rod
)  # rows of loops, then ties of segments, then rows without multipliers
ENTRY = Layout(
    world=False,
    constant=True,
    axis=int,  # or segment: then the six follow each other
    slot=int,
    pivot=int,  # slot of the diagonal entry of M
    sign=1,  # times the ratio of a mimic joint
)
LINK = Layout(
    world=False,
    constant=True,
    parent=int,  # in its segment
    segment=int,  # -1: on the way from the world, nothing is cut
    unknown=int,  # place of its acceleration in the order of elimination
    ratio=1,  # to that unknown; 1 unless the joint mimics another
    m=1,  # mass of all beyond in its segment
)  # of every axis
SEGMENT = Layout(
    world=False,
    constant=True,
    axis=int,  # that carries it
    place=int,  # of its 21 own entries of M among the places
    first=int,  # of its ties among the rows
    ties=int,  # how many: directions in which it can move
    m=1,
)
PLACE = Layout(world=False, constant=True, slot=int, factor=1)  # of entries of M, in the order of the kernel
PIVOT = Layout(
    world=False,
    constant=True,
    below=int,  # how many entries are below it
    multiplier=int,  # 1: of a row of a loop
    motion=int,  # 1: of an axis or of a segment's motion
    usual=1,  # its size in ordinary poses; much smaller ones tell that a singular position is near
    is_soft=int,  # 1: of a row that is redundant in turn with others
    soft=1,  # what is taken from its diagonal, else 0
)
TARGET = Layout(world=False, constant=True, slot=int)  # of the updates, in the order of the kernel
BELOW = Layout(world=False, constant=True, unknown=int)
START = Layout(world=False, constant=True, v=1)  # of redundant combinations, each with a number for every row
OWNER = Layout(world=False, constant=True, group=int)  # of redundant combinations
SLOT = Layout(world=False, A=1)
UNKNOWN = Layout(world=False, x=1, size=1, total=1)
GAP = Layout(world=False, gap=1, rate=1, bias=1)
MOTION = Layout(world=False, p=3, n=3, f=3, h=3, I=6)  # of segments
SPARE = Layout(world=False, v=1)  # redundant combinations of rows, then how each has grown

TABLES = {
    "cuts": CUT,
    "rows": ROW,
    "entries": ENTRY,
    "links": LINK,
    "segments": SEGMENT,
    "places": PLACE,
    "pivots": PIVOT,
    "targets": TARGET,
    "below": BELOW,
    "starts": START,
    "owners": OWNER,
}  # in the order in which kernels take them
SCRATCH = {"matrix": SLOT, "unknowns": UNKNOWN, "gaps": GAP, "bases": MOTION, "spares": SPARE}
COUNTS = (
    "n_cuts",
    "n_rows",
    "n_all_rows",
    "n_unknowns",
    "n_slots",
    "n_segments",
    "n_groups",
    "n_spares",
    "end",
)
LOOPS = Layout(
    world=False, constant=True, **dict.fromkeys((*COUNTS, *TABLES, *SCRATCH), int)
)  # counts, and where each part begins, from the head's own place
VERDICT = 6  # numbers that tell whether an answer can be trusted, see `kernels.loop.judge`
SLOTS = Layout(
    turn=2, z=3, s=3, h=3, I=6, n=3, f=3, R=9, p=3, w=3, v=3, wd=3, a=3
)  # workspace of axes for accelerations with loops


@dataclass(eq=False)
class LoopTables:
    """Rows of the layouts in `TABLES`, for one mechanism.

    ``n_rows`` of them have multipliers, ties of segments included; ``n_loop_rows`` are those of loops, of
    which some belong to ``n_groups`` of soft ones.
    """

    tables: dict[str, Array]
    n_rows: int
    n_loop_rows: int
    n_slots: int
    n_groups: int = 0

    def numbers(self, lanes: int) -> Array:
        """Head, tables and scratch for as many lanes in one array."""
        counts = {name: len(rows) for name, rows in self.tables.items()}
        scratch = {
            "matrix": SLOT.width * self.n_slots,
            "unknowns": UNKNOWN.width * (counts["pivots"] + 1),
            "gaps": GAP.width * counts["rows"],
            "bases": MOTION.width * counts["segments"],
            "spares": counts["starts"] + counts["owners"],
        }
        places, end = {}, LOOPS.width
        for name, rows in self.tables.items():
            places[name], end = end, end + rows.size
        for name, size in scratch.items():
            places[name], end = end, end + lanes * size
        numbers = np.zeros(end)
        numbers[: LOOPS.width] = layout_rows(
            LOOPS,
            1,
            n_cuts=counts["cuts"],
            n_rows=self.n_rows,
            n_all_rows=counts["rows"],
            n_unknowns=counts["pivots"],
            n_slots=self.n_slots,
            n_segments=counts["segments"],
            n_groups=self.n_groups,
            n_spares=counts["owners"],
            end=end,
            **places,
        )[0]
        for name, rows in self.tables.items():
            numbers[places[name] : places[name] + rows.size] = rows.ravel()
        return numbers

    @property
    def operations(self) -> int:
        """Multiply-adds of factorization and solution."""
        return len(self.tables["targets"]) + 3 * len(self.tables["below"])
