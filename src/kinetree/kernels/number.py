"""The opaque number that kernels compute with, and the few functions of it beyond + - * /.

A kernel never asks what a number is. In the interpreter it may be a NumPy row (one entry per state), a
complex row (derivatives by complex step), a :class:`CountingNumber` or a SymPy symbol.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])
LANEWISE: list[Callable[..., Any]] = []  # every helper and kernel, in the order of definition


def lanewise(function: Function) -> Function:
    """Mark a function as part of a kernel: only numbers, tuples of numbers and model integers inside."""
    LANEWISE.append(function)
    return function


def sincos(x):
    """Sine and cosine."""
    return np.sin(x), np.cos(x)


def sign(x):
    """-1, 0 or 1; the sign of the real part for complex numbers."""
    return x.sign() if hasattr(x, "sign") else np.sign(np.real(x))


def nothing(row):
    """An empty row of numbers like the given one, for inputs and outputs that are not wanted."""
    return row[:0]


def accumulate(field, i, value):
    """field[i] += value, number by number."""
    old = field[i]
    field[i] = (
        tuple(a + b for a, b in zip(old, value, strict=True)) if isinstance(old, tuple) else old + value
    )


class CountingNumber:
    """A float that counts the operations done with it; see :func:`count_operations`."""

    counts: dict[str, int] = dict.fromkeys(("multiplications", "additions", "divisions", "sincos"), 0)

    def __init__(self, value):
        self.value = float(value)

    def _counted(self, kind, value):
        self.counts[kind] += 1
        return CountingNumber(value)

    def __add__(self, other):
        return self._counted("additions", self.value + float(other))

    def __sub__(self, other):
        return self._counted("additions", self.value - float(other))

    def __rsub__(self, other):
        return self._counted("additions", float(other) - self.value)

    def __mul__(self, other):
        return self._counted("multiplications", self.value * float(other))

    def __truediv__(self, other):
        return self._counted("divisions", self.value / float(other))

    def __rtruediv__(self, other):
        return self._counted("divisions", float(other) / self.value)

    def __neg__(self):
        return CountingNumber(-self.value)

    def __float__(self):
        return self.value

    def sin(self):
        """Sine; counts the pair of sine and cosine."""
        return self._counted("sincos", np.sin(self.value))

    def cos(self):
        """Cosine, counted with its sine."""
        return CountingNumber(np.cos(self.value))

    def sign(self):
        """-1, 0 or 1."""
        return CountingNumber(np.sign(self.value))

    __radd__, __rmul__ = __add__, __mul__


def counting(array):
    """The array as an object array of counting numbers."""
    return np.array([CountingNumber(x) for x in np.ravel(array)], object).reshape(np.shape(array))


def count_operations(run: Callable[[], object]) -> dict[str, int]:
    """How many operations with counting numbers run() does, by kind."""
    CountingNumber.counts.update(dict.fromkeys(CountingNumber.counts, 0))
    run()
    return dict(CountingNumber.counts)
