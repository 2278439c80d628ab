"""Closed loops as machine code: views of their tables in memory, and accelerations of many states."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from kinetree.engine.direct import range_call
from kinetree.engine.stored_code import stored_or_made
from kinetree.kernels.number import LANES


@functools.cache
def loop_states(lanes: int = LANES) -> Callable[..., bool]:
    """run(table, memory, begin, end, arrays, start, closing) for states begin..end of arrays (batch, k).

    ``arrays`` are q, qd, tau (batch, n), loads (batch, 6 n or 0), and what is filled: qdd (batch, n),
    multipliers and pivots of rows, and the numbers of `kernels.loop.judge`. ``memory`` is workspace up to
    ``start``, then `LoopTables.numbers`. At least `lanes` states; the last block overlaps its predecessor
    when their number is no multiple. ``closing`` 1: steps that close the loops in place of qdd.
    """

    def make() -> Any:
        from kinetree.engine.loop_compile import loop_body

        return loop_body(lanes)

    return range_call(stored_or_made("loop-states", lanes, make))
