"""Watches what this process does while a file is read: programs that start, files outside a folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fuzz.runner import WrongAnswerError

PROGRAMS = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.fork",
    "subprocess.Popen",
    "socket.connect",
)
_watched: list[str] = []
_seen: list[str] = []


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if not _watched:
        return
    if event in PROGRAMS:
        _seen.append(f"{event} {arguments!r:.200}")
    elif event == "open" and isinstance(arguments[0], str | bytes):
        path = os.path.realpath(os.fsdecode(arguments[0]))
        if any(path == x or path.startswith(x + os.sep) for x in _watched):
            _seen.append(f"open {path}")


@contextmanager
def watched(*forbidden: Path) -> Iterator[None]:
    """In here no program may start, and no file below the forbidden ones may be opened."""
    if _hear not in _installed:
        sys.addaudithook(_hear)
        _installed.append(_hear)
    _seen.clear()
    _watched[:] = [os.path.realpath(x) for x in forbidden]
    try:
        yield
    finally:
        _watched.clear()
    if _seen:
        raise WrongAnswerError(f"the file made the process do: {'; '.join(_seen[:3])}")


_installed: list[object] = []
