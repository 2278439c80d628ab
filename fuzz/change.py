"""Small changes to texts, tables and numbers: what damaged, hasty and hostile inputs look like."""

from __future__ import annotations

from typing import Any

import numpy as np

Rng = np.random.Generator
NUMBERS: tuple[Any, ...] = (
    0, -0.0, 1, -1, 1e-300, 1e300, -1e300, 1e-12, 1e6, 5e5, float("nan"), float("inf"), -float("inf"),
    2**63, 10**400, 0.5, 3.141592653589793,
)  # fmt: skip
TEXTS = (
    "", " ", "x" * 500, "\u202e", "joint1", "link1", "world", "../../etc/passwd", "/dev/zero", "nan", "1e999",
    "[[",     "\U0001f916", "a\nb", "true", "0x10", "revolute", "free", "<!--", "&amp;", "%s", "{}",
)  # fmt: skip
OTHERS: tuple[Any, ...] = (None, True, False, [], {}, [[]], {"a": {"b": []}}, (), b"bytes")


def number(rng: Rng) -> Any:
    """A number that may be strange."""
    kind = rng.integers(3)
    if kind == 0:
        return NUMBERS[rng.integers(len(NUMBERS))]
    return float(rng.standard_normal() * 10.0 ** rng.integers(-3, 4))


def anything(rng: Rng) -> Any:
    """A value of any kind."""
    pick = rng.integers(6)
    if pick < 3:
        return number(rng)
    if pick == 3:
        return TEXTS[rng.integers(len(TEXTS))]
    if pick == 4:
        return OTHERS[rng.integers(len(OTHERS))]
    return [number(rng) for _ in range(rng.integers(5))]


def changed_text(rng: Rng, text: str, times: int = 3) -> str:
    """A text with some lines, words or letters removed, doubled, moved or replaced."""
    for _ in range(int(rng.integers(1, times + 1))):
        lines = text.split("\n")
        k, other = int(rng.integers(len(lines))), int(rng.integers(len(lines)))
        kind = rng.integers(7)
        if kind == 0:
            del lines[k]
        elif kind == 1:
            lines.insert(k, lines[other])
        elif kind == 2:
            lines[k], lines[other] = lines[other], lines[k]
        elif kind == 3 and lines[k]:
            at = int(rng.integers(len(lines[k])))
            lines[k] = lines[k][:at] + chr(int(rng.integers(32, 127))) + lines[k][at + 1 :]
        elif kind == 4 and lines[k]:
            at = int(rng.integers(len(lines[k])))
            lines[k] = lines[k][:at]
        elif kind == 5:
            words = lines[k].split(" ")
            words[int(rng.integers(len(words)))] = str(anything(rng))
            lines[k] = " ".join(words)
        else:
            lines[k] = with_other_numbers(rng, lines[k])
        text = "\n".join(lines)
    return text


def with_other_numbers(rng: Rng, line: str) -> str:
    """A line of which one number is another."""
    places = [k for k, letter in enumerate(line) if letter.isdigit()]
    if not places:
        return line
    at = places[int(rng.integers(len(places)))]
    end = at
    while end < len(line) and (line[end].isdigit() or line[end] in ".e-+"):
        end += 1
    return f"{line[:at]}{number(rng)!r}{line[end:]}"


def changed_table(rng: Rng, table: Any, depth: int = 0) -> Any:
    """A copy of nested tables and lists with one value, key or entry changed."""
    if isinstance(table, dict) and table and (depth < 4 or rng.integers(2)):
        copy, keys = dict(table), list(table)
        key = keys[int(rng.integers(len(keys)))]
        kind = rng.integers(6)
        if kind == 0:
            del copy[key]
        elif kind == 1:
            copy[TEXTS[int(rng.integers(len(TEXTS)))]] = anything(rng)
        elif kind == 2:
            copy[key] = anything(rng)
        else:
            copy[key] = changed_table(rng, copy[key], depth + 1)
        return copy
    if isinstance(table, list) and table:
        copy_of_list, k = list(table), int(rng.integers(len(table)))
        kind = rng.integers(5)
        if kind == 0:
            del copy_of_list[k]
        elif kind == 1:
            copy_of_list.insert(k, copy_of_list[int(rng.integers(len(table)))])
        else:
            copy_of_list[k] = changed_table(rng, copy_of_list[k], depth + 1)
        return copy_of_list
    if isinstance(table, int | float) and not isinstance(table, bool) and rng.integers(3):
        small = abs(table) < 1e300  # larger integers have no float
        return table * float(rng.uniform(-2, 3)) if small and rng.integers(2) else number(rng)
    return anything(rng)


def changed_bytes(rng: Rng, content: bytes) -> bytes:
    """Bytes with flips, cuts, holes or copies."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        if not data:
            break
        at, length = int(rng.integers(len(data))), int(rng.integers(1, 64))
        kind = rng.integers(6)
        if kind < 3:
            data[at] ^= 1 << int(rng.integers(8))
        elif kind == 3:
            data[at : at + length] = bytes(min(length, len(data) - at))
        elif kind == 4:
            del data[at : (at + length if rng.integers(4) else len(data))]
        else:
            other = int(rng.integers(len(data)))
            data[at : at + length] = data[other : other + length]
    return bytes(data)
