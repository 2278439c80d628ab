"""Calls from Python of machine code that takes arrays of several kinds, without numba.

The C function takes the address of words: address and shape of each array, and integers as they are.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

_BODY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)  # ctypes lets go of the GIL


class ArrayKind(NamedTuple):
    """Contiguous arrays of an element type and a rank."""

    element: Any
    rank: int


class WordCall:
    """``call(*arrays, *integers)``: the integer that the machine code answers; TypeError for other arrays."""

    def __init__(self, body: Any, kinds: Sequence[ArrayKind], integers: int) -> None:
        """``body`` has the ``address``; arrays come first, and then as many integers."""
        self._body, self._run = body, _BODY(body.address)
        self._kinds, self._integers = (
            [ArrayKind(np.dtype(kind.element), kind.rank) for kind in kinds],
            integers,
        )

    def __call__(self, *arguments: Any) -> int:
        """Look at the arrays and run."""
        count = len(self._kinds)
        return self.bound(*arguments[:count])(*arguments[count:])

    def bound(self, *arrays: Any) -> Callable[..., int]:
        """call(*integers): the arrays are looked at once, and live as long as the call."""
        words = np.zeros(sum(1 + kind.rank for kind in self._kinds) + self._integers, np.int64)
        place = 0
        for k, (array, kind) in enumerate(zip(arrays, self._kinds, strict=True)):
            if not _fits(array, kind):
                raise TypeError(f"argument {k} is not a contiguous array of {kind.element}, rank {kind.rank}")
            words[place : place + 1 + kind.rank] = array.ctypes.data, *array.shape
            place += 1 + kind.rank
        run, start, kept = self._run, words.ctypes.data, (self._body, words, arrays)

        def call(*integers: int) -> int:
            kept[1][place:] = integers
            return run(start)

        return call


def _fits(array: Any, kind: ArrayKind) -> bool:
    plain = type(array) is np.ndarray and array.flags.c_contiguous and array.flags.aligned
    return plain and array.flags.writeable and array.dtype == kind.element and array.ndim == kind.rank
