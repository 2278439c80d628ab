"""Entries of vectors and matrices, of which some are known to be 0, 1 or -1 whatever the state is.

The documents count no multiplication by a zero or a one that the structure of the equations puts there
([Shah2013], appendix A). Here such an entry is one of the three objects ``ZERO``, ``ONE`` and ``MINUS_ONE``,
and no arithmetic is done with it. So the formulas are written out in full, as in the book, and cost what it
says. A state that happens to be zero is an ordinary number: the cost never depends on values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]  # of any kind: float, complex, counting, symbolic


class Entry:
    """A number, or one of the three constants that cost nothing."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __add__(self, other: Entry) -> Entry:
        if self is ZERO:
            return other
        return self if other is ZERO else Entry(self.value + other.value)

    def __sub__(self, other: Entry) -> Entry:
        if self is ZERO or self is other:
            return ZERO if self is other else -other
        return self if other is ZERO else Entry(self.value - other.value)

    def __mul__(self, other: Entry) -> Entry:
        for a, b in ((self, other), (other, self)):
            if a is ZERO or a is ONE:
                return ZERO if a is ZERO else b
            if a is MINUS_ONE:
                return -b
        return Entry(self.value * other.value)

    def __truediv__(self, other: Entry) -> Entry:
        if self is ZERO or self is other:
            return ZERO if self is ZERO else ONE
        if other is ONE or other is MINUS_ONE:
            return self if other is ONE else -self
        return Entry(self.value / other.value)

    def __neg__(self) -> Entry:
        if self is ZERO:
            return ZERO
        if self is ONE or self is MINUS_ONE:
            return MINUS_ONE if self is ONE else ONE
        return Entry(-self.value)

    def __repr__(self) -> str:
        return f"Entry({self.value!r})"


ZERO, ONE, MINUS_ONE = Entry(0.0), Entry(1.0), Entry(-1.0)
CONSTANTS = {0.0: ZERO, 1.0: ONE, -1.0: MINUS_ONE}

Vector = tuple[Entry, Entry, Entry]
Matrix = tuple[Vector, Vector, Vector]
NULL: Vector = (ZERO, ZERO, ZERO)


def constant(value: float) -> Entry:
    """A number of the model: 0, 1 and -1 are part of its structure."""
    return CONSTANTS.get(float(value)) or Entry(float(value))


def constants(values: Iterable[float]) -> Any:
    """Numbers of the model."""
    return tuple(constant(x) for x in values)


def variables(values: Any, n: int) -> list[Entry]:
    """Numbers of a state; None stands for zeros that are known beforehand."""
    return [ZERO] * n if values is None else [Entry(x) for x in np.asarray(values).tolist()]


def numbers(entries: Sequence[Entry], *like: Any) -> Numbers:
    """The entries as an array of the kind of number that the given arrays have."""
    result = np.empty(len(entries), np.result_type(np.float64, *(np.asarray(x) for x in like)))
    for k, entry in enumerate(entries):
        result[k] = entry.value
    return result


# ---- vectors ------------------------------------------------------------------------------------------
def add(a: Vector, b: Vector) -> Vector:
    """Sum, at most 0M3A."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def sub(a: Vector, b: Vector) -> Vector:
    """Difference, at most 0M3A."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def scale(x: Entry, a: Vector) -> Vector:
    """Multiple, at most 3M0A."""
    return x * a[0], x * a[1], x * a[2]


def negative(a: Vector) -> Vector:
    """The opposite vector; signs cost nothing."""
    return -a[0], -a[1], -a[2]


def dot(a: Vector, b: Vector) -> Entry:
    """Scalar product, at most 3M2A."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """Vector product, at most 6M3A."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def times(A: Matrix, x: Vector) -> Vector:
    """Matrix times vector, at most 9M6A."""
    return dot(A[0], x), dot(A[1], x), dot(A[2], x)


def plus(A: Matrix, B: Matrix) -> Matrix:
    """Sum of two matrices, at most 0M9A."""
    return add(A[0], B[0]), add(A[1], B[1]), add(A[2], B[2])


def symmetric(A: Matrix) -> Matrix:
    """A matrix of which only the entries on and above the diagonal are given."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = A
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def plus_symmetric(A: Matrix, B: Matrix) -> Matrix:
    """Sum of two symmetric matrices, at most 0M6A."""
    return symmetric(
        (
            add(A[0], B[0]),
            (ZERO, A[1][1] + B[1][1], A[1][2] + B[1][2]),
            (ZERO, ZERO, A[2][2] + B[2][2]),
        )
    )


def is_null(a: Vector) -> bool:
    """Whether a vector is known to be zero."""
    return a[0] is ZERO and a[1] is ZERO and a[2] is ZERO


def cross_matrix(a: Vector) -> Matrix:
    """The tensor a x 1 of [Shah2013], eq. 5.3."""
    x, y, z = a
    return (ZERO, -z, y), (z, ZERO, -x), (-y, x, ZERO)
