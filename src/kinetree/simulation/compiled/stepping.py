"""Steps at the level of velocities as machine code: many states of a mechanism, four side by side.

A step of dt takes everything at mid step (Moreau 1988): q moves by half a step, there A (v+ - v) = dt f +
J^T lam with A = M + dt D + dt h K, lam the impulses of contacts and rows of joints, and q moves on by half a
step with v+. D and K are dampers and springs of joints, which act at the end of the step, h = dt / 2. The
bias is evaluated again at the speed of mid step, v + dt/2 A^-1 f, which makes the step of second order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.engine.direct import range_call
from kinetree.engine.stored_code import stored_or_made
from kinetree.kernels.number import LANES


@functools.cache
def step_states() -> Callable[..., bool]:
    """run(unused, memory, begin, end, arrays, times) for states begin..end, both multiples of `LANES`.

    ``memory`` is that of `step_memory.STEP`; the arrays are states, torques (batch, n), targets (batch, n),
    gains (batch, 2 n) and factors of friction (batch, 1). With times = 0 states are looked at:
    gaps are found, and the cause is the number of an axis that moves no inertia, counted from 1, or 0.
    """

    def make() -> Any:
        from kinetree.simulation.compiled.step_code import step_body

        return step_body()

    return range_call(stored_or_made("step-states", LANES, make, __file__))


def unused() -> Any:
    """The table that the call does not need."""
    return np.zeros(1)
