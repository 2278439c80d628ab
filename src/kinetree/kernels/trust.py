"""Whether compiled answers can be trusted: finite numbers, and what the kernel itself says about them."""

from __future__ import annotations

from typing import Any

import numba

from kinetree.kernels.lanes.blocks import doubt, summed
from kinetree.kernels.lanes.number import INLINE
from kinetree.kernels.layout import Kernel
from kinetree.kernels.number import lanewise


def suspicion_of(kernel: Kernel, lanes: int) -> Any:
    """suspect(tree, work, views, plain): not zero if an output of a block of states needs a closer look.

    ``views`` are rows of lanes, ``plain`` the same memory as one row per array, where all states of the
    block follow each other.
    """
    told, inputs = kernel.suspicion or no_suspicion, kernel.inputs

    def suspect(tree, work, views, plain):
        total = summed(told(tree, work, *views[inputs:]))
        for row in plain[inputs:]:
            total += doubt(row, 0, lanes * len(row))
        return total

    def nothing_to_suspect(tree, work, views, plain):
        return 0.0

    chosen = suspect if kernel.outputs else nothing_to_suspect
    return numba.extending.register_jitable(**INLINE)(chosen)


@lanewise
def no_suspicion(tree, work, *results):
    """Of kernels that have nothing to say."""
    return 0.0
