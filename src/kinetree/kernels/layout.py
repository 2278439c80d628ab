"""What a kernel is, and the named fields of the memory that it works on.

``work.w[i]`` is a number or a tuple of numbers of axis i; row -1 is the world, so roots need no special case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.model.tree import Tree


@dataclass(frozen=True, eq=False)
class Kernel:
    """An algorithm: its function, its workspace, how many rows of numbers it reads and writes.

    ``function(tree, work, *scratch, [out,] *inputs, *outputs)``. ``entries`` lays out packed results: one
    row per pair of an axis and its ancestor, or, if ``square``, per entry of an n x n matrix, or in any other
    order that ``rows(tree)`` counts; ``scratch`` are packed intermediate results, by pairs. ``targets``
    say which entry goes into which full matrix, transposed or not; or ``places(tree)`` says, for
    any full arrays, which packed number each entry is (see `full_places`).

    For direct calls and single states: outputs have ``output_widths`` numbers per axis, inputs one per axis
    or, where ``input_sizes`` are not 0, as many. ``suspicion(tree, work, *outputs)`` is zero where the answer
    can be trusted.
    """

    function: Callable[..., None]
    slots: Layout
    inputs: int
    outputs: int
    entries: Layout | None = None
    scratch: tuple[Layout, ...] = ()
    targets: tuple[tuple[int, int, bool], ...] = ()
    square: bool = False
    rows: Callable[[Tree], int] | None = None
    places: Callable[[Tree], Any] | None = None
    output_widths: tuple[int, ...] | None = None
    input_sizes: tuple[int, ...] | None = None
    suspicion: Callable[..., Any] | None = None

    @property
    def name(self) -> str:
        """Name of the algorithm."""
        return self.function.__name__

    @property
    def n_matrices(self) -> int:
        """How many full matrices its packed results make."""
        return 1 + max((matrix for _, matrix, _ in self.targets), default=-1)


class Layout:
    """Named fields of one row: ``Layout(w=3, f=3, parent=int)``; row -1 (the world) exists if world.

    ``constant`` rows are never written by kernels; ``streamed`` ones are written past the caches, for
    results too large to stay in them.
    """

    def __init__(self, world=True, constant=False, streamed=False, **fields):
        self.fields, self.world, self.constant, self.streamed = fields, world, constant, streamed
        self.width = 0
        self.places: dict[str, tuple[int, int, bool]] = {}
        for name, count in fields.items():
            self.places[name] = (self.width, 1 if count is int else count, count is int)
            self.width += self.places[name][1]
        self.key = repr((world, constant, streamed, self.places))

    def as_streamed(self) -> Layout:
        """The same fields, written past the caches."""
        return Layout(self.world, self.constant, True, **self.fields)


def layout_rows(layout: Layout, count: int, **columns: Any) -> Array:
    """Rows of a layout from columns: a number for all, (count,) or (count, width); the rest is zero."""
    rows = np.zeros((count, layout.width))
    for name, values in columns.items():
        start, width, integer = layout.places[name]
        target = rows.view(np.int64) if integer else rows
        column = np.asarray(values)
        target[:, start : start + width] = column[:, None] if column.ndim == 1 and width == 1 else column
    return rows
