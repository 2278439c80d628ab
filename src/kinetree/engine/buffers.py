"""Memory of large answers: fresh pages cost more than filling them, so it may wait to be used again.

Nothing waits unless that is asked for, by the variable KINETREE_KEEP_MB of the environment or by `keep`.
"""

from __future__ import annotations

import math
import os
import threading
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import aligned

KEEP_VARIABLE = "KINETREE_KEEP_MB"
LARGE = 1 << 14  # numbers; below, the allocator of the system is good enough
Waiting = tuple[Array, dict[str, Any]]  # memory and how NumPy describes it


def new_array(*shape: int) -> Array:
    """An array on a cache line, not cleared; its memory may serve again when nothing refers to it."""
    size = math.prod(shape)
    if size < LARGE or not _store.limit:
        return aligned(*shape)
    return np.asarray(_store.lend(size)).reshape(shape)


def new_result(shape: tuple[int, ...]) -> Array:
    """The same for answers, which need no cache line of their own when they are small."""
    return np.empty(shape) if math.prod(shape) < LARGE or not _store.limit else new_array(*shape)


def keep(size: float) -> None:
    """Let at most ``size`` bytes of memory wait for answers of the same size; 0 gives all back."""
    with _store.lock:
        _store.limit = size
        _store.waiting.clear()


def kept_bytes() -> int:
    """How many bytes wait to be used again."""
    with _store.lock:
        return _store.size


class _Store:
    """Memory that waits, by its size. The lock may be taken again by its thread: loans end at any moment."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.waiting: dict[int, list[Waiting]] = {}
        self.lock = threading.RLock()

    @property
    def size(self) -> int:
        """Bytes that wait."""
        return 8 * sum(size * len(arrays) for size, arrays in self.waiting.items())

    def lend(self, size: int) -> _Loan:
        """Memory for as many numbers."""
        with self.lock:
            fitting = self.waiting.get(size)
            if fitting:
                return _Loan(self, *fitting.pop())
        memory = aligned(size)
        return _Loan(self, memory, memory.__array_interface__)

    def take(self, memory: Array, interface: dict[str, Any]) -> None:
        """Let memory wait, if there is room for it."""
        with self.lock:
            if 8 * memory.size + self.size > self.limit:
                self.waiting.clear()
            if 8 * memory.size <= self.limit:
                self.waiting.setdefault(memory.size, []).append((memory, interface))


class _Loan:
    """What lends its memory to an array, which refers to it until the last view of the array is gone."""

    __slots__ = ("__array_interface__", "memory", "store")

    def __init__(self, store: _Store, memory: Array, interface: dict[str, Any]) -> None:
        self.store, self.memory, self.__array_interface__ = store, memory, interface

    def __del__(self) -> None:
        self.store.take(self.memory, self.__array_interface__)


def _limit() -> float:
    try:
        return 1e6 * float(os.environ.get(KEEP_VARIABLE, "0"))
    except ValueError:
        return 0.0


_store = _Store(_limit())
