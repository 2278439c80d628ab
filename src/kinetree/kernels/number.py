"""The opaque number that kernels compute with, and the few functions of it beyond + - * /.

A kernel never asks what a number is. In the interpreter it may be a NumPy row (one entry per state), a
complex row (derivatives by complex step), a :class:`DualNumber` (derivatives in many directions at once), a
:class:`CountingNumber` or a SymPy expression.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])
LANES = 4  # states that one number stands for in compiled code
LANEWISE: list[Callable[..., Any]] = []  # every helper and kernel, in the order of definition
CALLED: set[Callable[..., Any]] = (
    set()
)  # those of them that compiled code calls; all others become part of it


def lanewise(function: Function) -> Function:
    """Mark a function as part of a kernel: only numbers, tuples of numbers and model integers inside."""
    LANEWISE.append(function)
    return function


def called(function: Function) -> Function:
    """Mark a function as `lanewise`, to be compiled once and called: for what is long and rarely needed."""
    CALLED.add(function)
    return lanewise(function)


def sincos(x):
    """Sine and cosine."""
    functions = _sympy() if _is_symbolic(x) else np
    return functions.sin(x), functions.cos(x)


def sign(x):
    """-1, 0 or 1; the sign of the real part for complex numbers."""
    if _is_symbolic(x):
        return _sympy().sign(x)
    return x.sign() if hasattr(x, "sign") else np.sign(np.real(x))


def where_less(a, b, x, y):
    """x where a < b, else y."""
    return np.where(np.real(a) < np.real(b), x, y)


def arctan(x):
    """The angle whose tangent is x."""
    return np.arctan(x)


def square_root(x):
    """The square root of a positive number."""
    return np.sqrt(x)


def magnitude(x):
    """|x| of a real number."""
    return np.abs(x)


def any_positive(x):
    """Whether a number is positive in any of the states that it stands for: what loops may end by."""
    return bool(np.any(np.asarray(x) > 0.0))


def nothing(row):
    """An empty row of numbers like the given one, for inputs and outputs that are not wanted."""
    return row[:0]


def accumulate(field, i, value):
    """field[i] += value, number by number."""
    old = field[i]
    field[i] = (
        tuple(a + b for a, b in zip(old, value, strict=True)) if isinstance(old, tuple) else old + value
    )


def again(i):
    """The same row number, which the compiler takes for another one.

    A hint for registers, without any meaning for the result: a processor has sixteen, an articulated inertia
    alone has 21 numbers. What the compiler has read from row i and cannot keep in registers, it writes to the
    stack, although it stands in row i already. Row again(i) it reads from there. See `reread`.
    """
    return i


@lanewise
def reread(field, i):
    """field[i], read from memory even where the compiler has read it before; see `again`."""
    return field[again(i)]


def _is_symbolic(x):
    """Whether a number is a SymPy expression."""
    return hasattr(x, "free_symbols")


def _sympy():
    import sympy

    return sympy


class DualNumber:
    """value + derivative e with e^2 = 0: a number and its slope along a direction, exact to rounding.

    Both parts may be NumPy rows that broadcast: values (batch, 1) with derivatives (batch, directions) carry
    many directions at once, and complex rows give second derivatives by complex step. See :func:`duals`.
    """

    __array_priority__ = 1.0  # rows leave arithmetic with dual numbers to them

    def __init__(self, value, derivative=0.0):
        self.value, self.derivative = value, derivative

    def __add__(self, other):
        value, derivative = _dual_parts(other)
        return DualNumber(self.value + value, self.derivative + derivative)

    def __sub__(self, other):
        value, derivative = _dual_parts(other)
        return DualNumber(self.value - value, self.derivative - derivative)

    def __rsub__(self, other):
        return DualNumber(other - self.value, -self.derivative)

    def __mul__(self, other):
        value, derivative = _dual_parts(other)
        return DualNumber(self.value * value, self.derivative * value + self.value * derivative)

    def __truediv__(self, other):
        value, derivative = _dual_parts(other)
        quotient = self.value / value
        return DualNumber(quotient, (self.derivative - quotient * derivative) / value)

    def __rtruediv__(self, other):
        quotient = other / self.value
        return DualNumber(quotient, -quotient * self.derivative / self.value)

    def __neg__(self):
        return DualNumber(-self.value, -self.derivative)

    def sin(self):
        """Sine."""
        return DualNumber(np.sin(self.value), np.cos(self.value) * self.derivative)

    def cos(self):
        """Cosine."""
        return DualNumber(np.cos(self.value), -np.sin(self.value) * self.derivative)

    def sign(self):
        """-1, 0 or 1; it has no slope."""
        return DualNumber(np.sign(np.real(self.value)))

    __radd__, __rmul__ = __add__, __mul__


def _dual_parts(x):
    return (x.value, x.derivative) if isinstance(x, DualNumber) else (x, 0.0)


def duals(values, derivatives):
    """Dual numbers from values and derivatives (k, ...): an object array (k,)."""
    numbers = np.empty(len(values), object)
    numbers[:] = [DualNumber(x, dx) for x, dx in zip(values, derivatives, strict=True)]
    return numbers


def dual_parts(numbers):
    """Values and derivatives (k, ...) of an object array of dual numbers; constants have no slope."""
    parts = np.broadcast_arrays(*(part for x in numbers for part in _dual_parts(x)))
    return np.array(parts[0::2]), np.array(parts[1::2])


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
