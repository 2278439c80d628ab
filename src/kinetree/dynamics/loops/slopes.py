"""Slopes of the loops' rows along directions of motion, exact to rounding; see `axis_slopes`."""

from __future__ import annotations

from dataclasses import dataclass

from kinetree.algebra.arrays import Array
from kinetree.dynamics.axis_slopes import STEP, Direction, moved
from kinetree.dynamics.loops.rows import LoopRows


@dataclass(frozen=True, eq=False)
class RowSlopes:
    """Along k directions: of J, (..., k, rows, axes), and of the second rate of the gaps, (..., k, rows)."""

    J: Array
    second_rate: Array


def row_slopes(rows: LoopRows, q: Array, qd: Array, qdd: Array, along: Direction) -> RowSlopes:
    """Slopes of the rows at a state (..., axes)."""
    motion = moved(rows.tree, rows.motion(q, qd, qdd), qd, qdd, along)
    cut = rows.cut_motion(motion)
    return RowSlopes(rows.jacobian(motion, cut).imag / STEP, rows.second_rate(cut).imag / STEP)
