"""A line on the terminal while machine code is made, which takes seconds but happens once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

_hushed: list[None] = []  # not empty while someone else shows what is compiled


class Notice:
    """What is being compiled; the line goes when it is done. Nothing is shown but on a terminal."""

    def __init__(self, name: str) -> None:
        self.name, self._shown = name, False

    def show(self) -> None:
        """Tell that there is no machine code yet and some is made now."""
        if not _hushed and not self._shown and sys.stderr.isatty():
            self._shown = True
            sys.stderr.write(f"compiling {self.name} (once) ...")
            sys.stderr.flush()

    def __enter__(self) -> Notice:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextmanager
def hushed() -> Iterator[None]:
    """No notices meanwhile."""
    _hushed.append(None)
    try:
        yield
    finally:
        _hushed.pop()
