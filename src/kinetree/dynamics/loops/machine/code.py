"""The machine code of closed loops' positions: from the disk, without the compiler, or else compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from kinetree.engine.direct import range_call
from kinetree.engine.stored_code import stored_or_made


@functools.cache
def loop_positions() -> Callable[..., bool]:
    """run(table, memory, begin, end, arrays, start, what) for states begin..end of arrays (batch, n_dof).

    FOLLOW leads from poses in the first array to the independent coordinates of the second, both (batch,
    n_dof), into the third; CHAIN does the same, each from the pose before, and ends where one is not reached.
    CLOSE closes the loops by the dependent coordinates. REACH leads bodies, which the last loops tie to the
    world, to frames in the second array (batch, 12 targets). RATES takes poses, velocities and accelerations
    of which the dependent ones are filled. The fourth array (batch, 1) gets 1 where that succeeds.
    """

    def make() -> Any:
        from kinetree.dynamics.loops.machine.positions import loop_positions

        return loop_positions()

    return range_call(stored_or_made("loop-positions", 1, make, __file__))
