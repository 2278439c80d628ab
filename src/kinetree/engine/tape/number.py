"""The number that records: arithmetic with it writes a tape of operations, each of them once.

What is known is not recorded: constants are folded, products with 0 and 1 and sums with 0 dropped, signs
moved outward until a sum takes them in. Equal operations on equal numbers are one, and multiples of one
number are added as such. Otherwise sums and products are not regrouped: a tape agrees with the kernel to
rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Operation = tuple[Any, ...]  # a name and operands: numbers of earlier operations, or what stands in OPERANDS
INPUT, CONSTANT = "input", "constant"
EXACT = 1e-15  # sines of constants this close to 0 or 1 are those of right angles
OPERANDS = {
    INPUT: "the row of numbers and the place in it",
    CONSTANT: "its value",
    "add": "a, b: a + b",
    "subtract": "a, b: a - b",
    "multiply": "a, b: a b",
    "divide": "a, b: a / b",
    "negative": "a: -a",
    "sine": "a",
    "cosine": "a",
    "square_root": "a",
    "arctan": "a",
    "select": "a, b, x, y: x where a < b, else y",
}


class Tape:
    """Operations in the order in which they were recorded."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._known: dict[Operation, int] = {}

    def row(self, number: int, size: int) -> Any:
        """An input: a row of recording numbers, (size,)."""
        row = np.empty(size, object)
        row[:] = [RecordingNumber(self, self._put((INPUT, number, place))) for place in range(size)]
        return row

    def operand(self, x: Any) -> int:
        """The operation that gives a number; constants get one."""
        return x.index if isinstance(x, RecordingNumber) else self._put((CONSTANT, float(x) + 0.0))

    def record(self, name: str, *numbers: Any) -> RecordingNumber:
        """The result of an operation."""
        return RecordingNumber(self, self._put((name, *map(self.operand, numbers))))

    def reversed_known(self, a: RecordingNumber, b: RecordingNumber) -> RecordingNumber | None:
        """b - a, if it was recorded."""
        index = self._known.get(("subtract", b.index, a.index))
        return None if index is None else RecordingNumber(self, index)

    def _put(self, operation: Operation) -> int:
        index = self._known.get(operation)
        if index is None:
            index = self._known[operation] = len(self.operations)
            self.operations.append(operation)
        return index


class RecordingNumber:
    """A number of a tape. Comparisons of it can be selected by, with `where_less`, but not branched on."""

    __slots__ = ("index", "tape")

    def __init__(self, tape: Tape, index: int) -> None:
        self.tape, self.index = tape, index

    @property
    def real(self) -> RecordingNumber:
        """It has no imaginary part."""
        return self

    @property
    def operation(self) -> Operation:
        """What gives the number."""
        return self.tape.operations[self.index]

    def _opposite(self) -> RecordingNumber | None:
        """The number whose negative it is, if so."""
        name, *operands = self.operation
        return RecordingNumber(self.tape, operands[0]) if name == "negative" else None

    def _multiple(self) -> tuple[float, RecordingNumber]:
        """k and x of a number k x; 1 and itself if there is no such constant."""
        name, *operands = self.operation
        if name == "multiply":
            kind, *value = self.tape.operations[operands[0]]
            if kind == CONSTANT:
                return value[0], RecordingNumber(self.tape, operands[1])
        return 1.0, self

    def _joined(self, other: RecordingNumber, sign: float) -> Any:
        """k x +- l x as one product; None if these are not multiples of the same number."""
        (k, x), (m, y) = self._multiple(), other._multiple()
        return x * (k + sign * m) if x.index == y.index else None

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, RecordingNumber):
            return self if float(other) == 0.0 else self.tape.record("add", other, self)
        a, b = self._opposite(), other._opposite()
        if a is not None:
            return -(a + b) if b is not None else other - a
        if b is not None:
            return self - b
        joined = self._joined(other, 1.0)
        if joined is not None:
            return joined
        first, second = (self, other) if self.index <= other.index else (other, self)
        return self.tape.record("add", first, second)

    def __sub__(self, other: Any) -> Any:
        if not isinstance(other, RecordingNumber):
            return self + -float(other)
        if self.index == other.index:
            return 0.0
        a, b = self._opposite(), other._opposite()
        if b is not None:
            return self + b
        if a is not None:
            return -(a + other)
        joined = self._joined(other, -1.0)
        if joined is not None:
            return joined
        known = self.tape.reversed_known(self, other)
        return -known if known is not None else self.tape.record("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        if float(other) == 0.0:
            return -self
        a = self._opposite()
        return a + other if a is not None else self.tape.record("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        a = self._opposite()
        if a is not None:
            return -(a * other)
        if not isinstance(other, RecordingNumber):
            return self._times(float(other))
        b = other._opposite()
        if b is not None:
            return -(self * b)
        first, second = (self, other) if self.index <= other.index else (other, self)
        return self.tape.record("multiply", first, second)

    def _times(self, k: float) -> Any:
        """k x of a constant k."""
        if k < 0.0:
            return -self._times(-k)
        if k == 0.0:
            return 0.0
        if k == 1.0:
            return self
        factor, x = self._multiple()
        if x is not self:
            return x._times(factor * k)
        return self.tape.record("multiply", k, self)

    def __truediv__(self, other: Any) -> Any:
        if not isinstance(other, RecordingNumber):
            return self * (1.0 / float(other))
        a, b = self._opposite(), other._opposite()
        if a is not None:
            return -(a / other)
        return -(self / b) if b is not None else self.tape.record("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        if float(other) == 0.0:
            return 0.0
        b = self._opposite()
        return -(other / b) if b is not None else self.tape.record("divide", other, self)

    def __neg__(self) -> RecordingNumber:
        a = self._opposite()
        return a if a is not None else self.tape.record("negative", self)

    def __pow__(self, exponent: int) -> Any:
        if int(exponent) != exponent or exponent < 0:
            raise TypeError(f"recording numbers have integer powers only, not {exponent}")
        power: Any = 1.0
        for _ in range(int(exponent)):
            power = self * power
        return power

    def __lt__(self, other: Any) -> Comparison:
        return Comparison(self, other)

    def __gt__(self, other: Any) -> Comparison:
        return Comparison(other, self)

    def __bool__(self) -> bool:
        raise TypeError("a kernel branches on a number, which cannot be recorded")

    def sin(self) -> Any:
        """Sine; of a sum with a constant by those of the rest, which may be known and loses no digits."""
        a = self._opposite()
        if a is not None:
            return -a.sin()
        turned = self._turned()
        if turned is None:
            return self.tape.record("sine", self)
        s, c, x = turned
        return x.cos() * s + x.sin() * c

    def cos(self) -> Any:
        """Cosine, likewise."""
        a = self._opposite()
        if a is not None:
            return a.cos()
        turned = self._turned()
        if turned is None:
            return self.tape.record("cosine", self)
        s, c, x = turned
        return x.cos() * c - x.sin() * s

    def _turned(self) -> tuple[float, float, RecordingNumber] | None:
        """Sine and cosine of k, and x, if it is k + x or k - x with a constant k."""
        name, *operands = self.operation
        if name not in ("add", "subtract"):
            return None
        kind, *value = self.tape.operations[operands[0]]
        if kind != CONSTANT:
            return None
        x = RecordingNumber(self.tape, operands[1])
        s, c = (0.0 if abs(f) < EXACT else f for f in (math.sin(value[0]), math.cos(value[0])))
        s, c = (round(f) if abs(abs(f) - 1.0) < EXACT else f for f in (s, c))
        return s, c, x if name == "add" else -x

    def sqrt(self) -> RecordingNumber:
        """Square root."""
        return self.tape.record("square_root", self)

    def arctan(self) -> RecordingNumber:
        """The angle with this tangent."""
        return self.tape.record("arctan", self)

    def sign(self) -> RecordingNumber:
        """-1, 0 or 1."""
        below = self.tape.record("select", self, 0.0, -1.0, 0.0)
        return self.tape.record("select", 0.0, self, 1.0, below)

    __radd__, __rmul__ = __add__, __mul__


class Comparison:
    """Whether a < b, for ``numpy.where``, which `where_less` calls."""

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b

    def __bool__(self) -> bool:
        raise TypeError("a kernel branches on a comparison, which cannot be recorded")

    def __array_function__(self, function: Any, types: Any, given: Any, named: Any) -> Any:
        if function is not np.where:
            return NotImplemented
        _, x, y = given
        if x is y or (
            isinstance(x, RecordingNumber) and isinstance(y, RecordingNumber) and x.index == y.index
        ):
            return x
        tape = next(n.tape for n in (self.a, self.b) if isinstance(n, RecordingNumber))
        return tape.record("select", self.a, self.b, x, y)


def recorded(function: Callable[..., Sequence[Any]], sizes: Sequence[int]) -> tuple[Tape, list[list[int]]]:
    """The tape of function(*rows), rows of so many numbers, and which operations give its arrays, flat."""
    tape = Tape()
    found = function(*(tape.row(k, size) for k, size in enumerate(sizes)))
    return tape, [[tape.operand(x) for x in np.asarray(array, object).ravel()] for array in found]
