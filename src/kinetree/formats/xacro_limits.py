"""How much the macros of a file may compute: faults without a place, and the budget of one expansion."""

from __future__ import annotations

from kinetree.errors import shown

STEPS = 3_000_000  # operations of one expansion; a large robot needs some ten thousand
ELEMENTS = 200_000  # XML elements of the result
CHARACTERS = 50_000_000  # characters of the result, and of all files that are read for it
LONGEST_TEXT = 200_000  # characters of one value
MOST_ITEMS = 100_000  # items of one list or dictionary, those inside it counted
MOST_BITS = 4096  # of an integer

Value = object


class Fault(Exception):
    """What is wrong with an expression; callers that know file and line make a FileError of it."""


class Budget:
    """What is left of the operations, elements and characters of one expansion."""

    def __init__(self) -> None:
        self.steps, self.elements, self.characters, self.read = STEPS, ELEMENTS, CHARACTERS, CHARACTERS

    def step(self, count: int = 1) -> None:
        """Account for operations."""
        self.steps -= count
        if self.steps < 0:
            raise Fault(f"more than {STEPS} operations are needed; do macros call each other without end?")

    def element(self) -> None:
        """Account for an element of the result."""
        self.elements -= 1
        if self.elements < 0:
            raise Fault(f"the result has more than {ELEMENTS} elements")

    def text(self, text: str) -> str:
        """Account for a text of the result."""
        self.characters -= len(text)
        if self.characters < 0:
            raise Fault(f"the result has more than {CHARACTERS} characters")
        return text

    def bytes(self, count: int) -> None:
        """Account for a file that is read."""
        self.read -= count
        if self.read < 0:
            raise Fault(f"the files have more than {CHARACTERS} bytes in all")

    def value(self, value: Value) -> Value:
        """Account for a value; one that is too large is a fault."""
        if isinstance(value, str):
            if len(value) > LONGEST_TEXT:
                raise Fault(f"a text of {len(value)} characters; the longest allowed has {LONGEST_TEXT}")
            self.step(len(value) // 16)
        elif isinstance(value, int):
            if value.bit_length() > MOST_BITS:
                raise Fault(f"an integer of {value.bit_length()} bits; the largest allowed has {MOST_BITS}")
        elif isinstance(value, list | tuple | dict):
            self.step(weight(value) // 4)
        elif isinstance(value, complex):
            raise Fault(f"complex numbers are not supported, got {shown(value)}")
        return value


def weight(value: Value) -> int:
    """The number of items of a list or dictionary, those inside it and characters of texts counted."""
    total, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting.extend(item.keys())
            waiting.extend(item.values())
        elif isinstance(item, list | tuple):
            waiting.extend(item)
        elif isinstance(item, str):
            total += len(item) // 8
        total += 1
        if total + len(waiting) > MOST_ITEMS:
            raise Fault(f"a list or dictionary of more than {MOST_ITEMS} items")
    return total
