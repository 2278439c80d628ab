"""Memory of large answers, used again: fresh pages cost more than filling them."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import aligned

KEEP_VARIABLE = "KINETREE_KEEP_MB"
LARGE = 1 << 14  # numbers; below, the allocator of the system is good enough
Waiting = tuple[Array, dict[str, Any]]  # memory and how NumPy tells of it
waiting: dict[int, list[Waiting]] = {}  # by its size, for whoever asks next


def new_array(*shape: int) -> Array:
    """An array on a cache line, not cleared; once nothing refers to it any more, its memory may serve again.

    Only for an array of the same size; at most KINETREE_KEEP_MB megabytes (256 by default) wait for that.
    """
    size = math.prod(shape)
    if size < LARGE:
        return aligned(*shape)
    try:
        loan = _Loan(*waiting[size].pop())
    except (KeyError, IndexError):
        memory = aligned(size)
        loan = _Loan(memory, memory.__array_interface__)
    return np.asarray(loan).reshape(shape)


def new_result(shape: tuple[int, ...]) -> Array:
    """The same for answers, which need no cache line of their own when they are small."""
    return np.empty(shape) if math.prod(shape) < LARGE else new_array(*shape)


def release() -> None:
    """Give all waiting memory back to the system."""
    waiting.clear()


def _limit() -> float:
    try:
        return 1e6 * float(os.environ.get(KEEP_VARIABLE, "256"))
    except ValueError:
        return 0.0


class _Loan:
    """What lends its memory to an array, which refers to it until the last view of the array is gone."""

    __slots__ = ("__array_interface__", "memory")

    def __init__(self, memory: Array, interface: dict[str, Any]) -> None:
        self.memory, self.__array_interface__ = memory, interface

    def __del__(self, waiting: dict[int, list[Waiting]] = waiting, limit: float = _limit()) -> None:
        size = self.memory.size
        if 8 * (size + sum(other * len(arrays) for other, arrays in list(waiting.items()))) > limit:
            waiting.clear()
        if 8 * size <= limit:
            waiting.setdefault(size, []).append((self.memory, self.__array_interface__))
