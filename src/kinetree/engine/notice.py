"""A line while machine code is made, which takes seconds to minutes but happens once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

VARIABLE = "KINETREE_NOTICE"  # 0: nothing is said of compilations
ONCE = "kinetree: compiling machine code, once for this version; the next call and the next process find it\n"
_hushed: list[None] = []  # not empty while someone else shows what is compiled
_announced: list[None] = []  # not empty once a stream that is no terminal has had the notice


class Notice:
    """What is being compiled: a line on terminals that goes when it is done; elsewhere one for all of it."""

    def __init__(self, name: str) -> None:
        self.name, self._shown = name, False

    def show(self) -> None:
        """Tell that there is no machine code yet and some is made now."""
        if _hushed or self._shown or sys.stderr is None or os.environ.get(VARIABLE) == "0":
            return
        if sys.stderr.isatty():
            self._shown = True
            sys.stderr.write(f"compiling {self.name} (once) ...")
        elif not _announced:  # notebooks, pipes, files
            _announced.append(None)
            sys.stderr.write(ONCE)
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
