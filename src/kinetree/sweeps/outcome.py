"""What is handed to workers and comes back from them: orders of cases, and how cases ended."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kinetree.result.records import provenance
from kinetree.sweeps.measures import Value

ERROR, TIMEOUT = "error", "timeout"
LONGEST = 500  # characters of a message that are kept


class CaseOutcome(NamedTuple):
    """How a case ended, and its numbers by name."""

    case: int
    status: str
    message: str
    values: dict[str, Value]
    labels: dict[str, list[str]]
    seconds: float


class Refused(NamedTuple):
    """What a worker says that may not work for this sweep, or a mistake that all cases share."""

    message: str


class Order(NamedTuple):
    """Cases for a worker: what they share as text, their numbers, and their values."""

    version: str
    text: str
    function: bytes
    cases: tuple[int, ...]
    values: tuple[list[Any], ...]
    timeout: float | None = None


@cache
def version() -> str:
    """The version of Kinetree, with a digest of its sources: equal ones give equal bits."""
    package, key = Path(__file__).parents[1], hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        key.update(file.relative_to(package).as_posix().encode() + file.read_bytes())
    return f"{provenance()['kinetree']} ({key.hexdigest()[:12]})"


def cut(text: str) -> str:
    """A message that is not too long to be kept."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
