"""What was recorded, without what no result needs: to be evaluated, counted, or written as code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.engine.tape.number import CONSTANT, INPUT, Operation, recorded

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "negative": np.negative,
    "sine": np.sin,
    "cosine": np.cos,
    "square_root": np.sqrt,
    "arctan": np.arctan,
    "select": lambda a, b, x, y: np.where(a < b, x, y),
}


@dataclass(frozen=True, eq=False)
class Recording:
    """Operations in order, and the numbers of those that give each output.

    ``sizes``: how many numbers each input row has. Operands are numbers of earlier operations, but for
    inputs (row, place) and constants (value).
    """

    sizes: tuple[int, ...]
    operations: tuple[Operation, ...]
    outputs: tuple[tuple[int, ...], ...]

    def counts(self) -> dict[str, int]:
        """How many operations of each kind; constants and inputs are not counted."""
        found: dict[str, int] = {}
        for name, *_ in self.operations:
            if name not in (INPUT, CONSTANT):
                found[name] = found.get(name, 0) + 1
        return found

    def evaluate(self, *rows: Any, kind: Any = np.float64) -> list[Array]:
        """The outputs (..., size) for inputs (..., size), in the interpreter, in numbers of a kind."""
        values: list[Any] = []
        inputs = [np.asarray(row, dtype=kind) for row in rows]
        for name, *operands in self.operations:
            if name == INPUT:
                values.append(inputs[operands[0]][..., operands[1]])
            elif name == CONSTANT:
                values.append(kind(operands[0]))
            else:
                values.append(_FUNCTIONS[name](*(values[k] for k in operands)))
        batch = np.broadcast_shapes(*(row.shape[:-1] for row in inputs))
        found = []
        for output in self.outputs:
            result = np.empty((*batch, len(output)), kind)
            for place, k in enumerate(output):
                result[..., place] = values[k]
            found.append(result)
        return found


def record(function: Callable[..., Sequence[Any]], sizes: Sequence[int]) -> Recording:
    """What function(*rows) does with rows of so many numbers, and its arrays as outputs.

    >>> found = record(lambda x: [[x[0] * 2.0 + x[1] * 0.0, 1.0 * x[0]]], [2])
    >>> found.counts(), [float(x) for x in found.evaluate([3.0, 1.0])[0]]
    ({'multiply': 1}, [6.0, 3.0])
    """
    tape, outputs = recorded(function, sizes)
    needed = _needed(tape.operations, (k for output in outputs for k in output))
    place = {old: new for new, old in enumerate(needed)}
    operations = tuple(_moved(tape.operations[k], place) for k in needed)
    return Recording(tuple(sizes), operations, tuple(tuple(place[k] for k in x) for x in outputs))


def shortest(functions: Sequence[Callable[..., Sequence[Any]]], sizes: Sequence[int]) -> Recording:
    """Of functions with the same answer the recording with the fewest operations."""
    return min((record(function, sizes) for function in functions), key=lambda x: sum(x.counts().values()))


def _needed(operations: Sequence[Operation], wanted: Iterable[int]) -> list[int]:
    """The operations that the wanted ones depend on, in order."""
    found: set[int] = set()
    waiting = list(wanted)
    while waiting:
        k = waiting.pop()
        if k not in found:
            found.add(k)
            name, *operands = operations[k]
            if name not in (INPUT, CONSTANT):
                waiting += operands
    return sorted(found)


def _moved(operation: Operation, place: dict[int, int]) -> Operation:
    name, *operands = operation
    return operation if name in (INPUT, CONSTANT) else (name, *(place[k] for k in operands))
