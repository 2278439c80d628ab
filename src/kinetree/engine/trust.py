"""Whether compiled answers can be trusted: finite numbers, and what the kernel itself says about them."""

from __future__ import annotations

from typing import Any

import numba

from kinetree.engine.lanes.blocks import doubt, excess, summed
from kinetree.engine.lanes.number import INLINE
from kinetree.kernels.layout import Kernel
from kinetree.kernels.number import lanewise


def suspicion_of(kernel: Kernel, lanes: int) -> Any:
    """suspect(tree, work, views, plain): not zero if an output of a block of states needs a closer look.

    ``views`` are rows of lanes, ``plain`` the same memory as one row per array, where all states of the
    block follow each other.
    """
    suspicion, inputs, count = kernel.suspicion or no_suspicion, kernel.inputs, kernel.inputs + kernel.outputs
    look_before, look_after = excess_of_rows(0, inputs, lanes), doubt_of_rows(inputs, count, lanes)

    def suspect(tree, work, views, plain):
        return summed(suspicion(tree, work, *views[inputs:])) + (look_before(plain) + look_after(plain))

    return numba.extending.register_jitable(**INLINE)(suspect)


def excess_of_rows(begin: int, end: int, lanes: int) -> Any:
    """look(rows): zero if the fourth power of all numbers of some of the rows is finite, else NaN.

    Of inputs: an output need not show them all, where nothing hangs on an axis; and products of larger ones
    may overflow in derivatives while the answer itself does not.
    """
    return _look(excess, begin, end, lanes)


def doubt_of_rows(begin: int, end: int, lanes: int) -> Any:
    """look(rows): zero if all numbers of some of the rows, for as many states, are finite, else NaN."""
    return _look(doubt, begin, end, lanes)


def _look(at: Any, begin: int, end: int, lanes: int) -> Any:
    def look(rows):
        total = 0.0
        for row in rows[begin:end]:
            total += at(row, 0, lanes * len(row))
        return total

    return numba.extending.register_jitable(**INLINE)(look if end > begin else lambda rows: 0.0)


@lanewise
def no_suspicion(tree, work, *results):
    """Of kernels that have nothing to say."""
    return 0.0
