"""A long recording cut into pieces that compilers can swallow, with memory for what goes from one to another.

The time of a compiler grows faster than the text of one function. A piece is a run of operations; numbers
that later pieces need go to slots of a workspace, which are free again after their last use.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

from kinetree.engine.tape.number import CONSTANT, INPUT
from kinetree.engine.tape.recording import Recording


@dataclass(frozen=True)
class TapePiece:
    """Operations begin..end; which earlier ones it reads from which slots, and which it leaves there.

    ``results`` are the (output, place, operation) that are known at its end and were not before.
    """

    begin: int
    end: int
    loads: tuple[tuple[int, int], ...]
    stores: tuple[tuple[int, int], ...]
    results: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Pieces:
    """All pieces in order, and how many slots they need."""

    pieces: tuple[TapePiece, ...]
    slots: int


def in_pieces(recording: Recording, largest: int) -> Pieces:
    """Pieces of about equal length, none with more than so many operations.

    Inputs and constants are not carried: every piece reads those that it needs.
    """
    operations = recording.operations
    total = max(1, len(operations))
    count = -(-total // largest)
    bounds = [total * k // count for k in range(count + 1)]
    piece_of = [0] * len(operations)
    for piece in range(count):
        for k in range(bounds[piece], min(bounds[piece + 1], len(operations))):
            piece_of[k] = piece
    readers = _later_readers(recording, piece_of)
    last = {k: max(found) for k, found in readers.items()}
    slot_of: dict[int, int] = {}
    free: list[int] = []
    used, pieces = 0, []
    results = _results(recording, piece_of)
    ending: dict[int, list[int]] = {}
    for k, piece in last.items():
        ending.setdefault(piece, []).append(k)
    for piece in range(count):
        begin, end = bounds[piece], min(bounds[piece + 1], len(operations))
        loads = tuple((k, slot_of[k]) for k in sorted(slot_of) if piece in readers[k])
        for k in ending.get(piece, ()):  # after it has read them, their slots can be written
            heappush(free, slot_of[k])
        stores = []
        for k in range(begin, end):
            if k in last:
                slot_of[k] = heappop(free) if free else used
                used = max(used, slot_of[k] + 1)
                stores.append((k, slot_of[k]))
        for k in ending.get(piece, ()):
            del slot_of[k]
        pieces.append(TapePiece(begin, end, loads, tuple(stores), tuple(results.get(piece, ()))))
    return Pieces(tuple(pieces), used)


def _later_readers(recording: Recording, piece_of: list[int]) -> dict[int, set[int]]:
    """For each operation that pieces after its own need: these pieces."""
    found: dict[int, set[int]] = {}
    for k, (name, *operands) in enumerate(recording.operations):
        if name in (INPUT, CONSTANT):
            continue
        for operand in operands:
            kind = recording.operations[operand][0]
            if kind not in (INPUT, CONSTANT) and piece_of[operand] != piece_of[k]:
                found.setdefault(operand, set()).add(piece_of[k])
    return found


def _results(recording: Recording, piece_of: list[int]) -> dict[int, list[tuple[int, int, int]]]:
    """By piece, the (output, place, operation) that it gives; constants and inputs by the first one."""
    found: dict[int, list[tuple[int, int, int]]] = {}
    for output, numbers in enumerate(recording.outputs):
        for place, k in enumerate(numbers):
            carried = recording.operations[k][0] not in (INPUT, CONSTANT)
            found.setdefault(piece_of[k] if carried else 0, []).append((output, place, k))
    return found
