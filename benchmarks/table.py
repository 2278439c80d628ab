"""A table of text, for the terminal and for the documentation alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NOTHING = "-"


@dataclass(frozen=True)
class Table:
    """A title, a line about it, column heads and rows."""

    title: str
    note: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
