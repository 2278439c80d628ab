"""A second process that compiles what will be needed next, while this one compiles what is needed now.

The first simulation needs a right-hand side and a method of integration, each of which takes seconds: two
cores do both at once. The process is a new interpreter that only compiles pieces, named by importable
functions, into the disk cache; whoever needs one of them waits for it, or compiles it if the process failed.
It ends with its work, with its parent, or by Ctrl-C. There is none on a single core, in worker processes,
where the cache cannot be written, or if ``KINETREE_COMPANION`` is 0.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import pickle
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kinetree.engine.disk_cache import CACHE_VARIABLE, PACKAGE, code_folder, is_private, room_of
from kinetree.engine.notice import VARIABLE as NOTICE
from kinetree.engine.prebuilt import prebuilt

SWITCH = "KINETREE_COMPANION"  # "0": everything is compiled in this process
FILE = "code"  # of an entry of the cache
MODULE = "kinetree.engine.companion"


class CodePiece(NamedTuple):
    """Machine code of a name in the cache, and the importable function that makes it.

    ``source`` is a file of the folder that it comes from, as for `stored_or_made`.
    """

    name: str
    lanes: int
    source: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()

    @property
    def is_there(self) -> bool:
        """Whether it is in the cache, or comes with the package."""
        room = room_of(self.source)
        folder = code_folder(self.name, self.lanes, self.source)
        return prebuilt(self.name, self.lanes, room) is not None or (
            folder is not None and (folder / FILE).is_file()
        )


class _Companion:
    """The process, names of what it has not reported yet, and what this one does instead of waiting."""

    def __init__(
        self, pieces: Sequence[CodePiece], folder: Path, besides: Sequence[Callable[[], object]]
    ) -> None:
        self._lock, self._owner = threading.Lock(), os.getpid()
        self._waiting, self._besides = [piece.name for piece in pieces], list(besides)
        path = os.pathsep.join([str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        settings = {CACHE_VARIABLE: str(folder), NOTICE: "0", SWITCH: "0", "PYTHONPATH": path}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,  # what has been read is what has been used: see `_is_silent`
            env={**os.environ, **settings},
        )
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            pickle.dump([piece[3:] + piece[:1] for piece in pieces], self._process.stdin)
            self._process.stdin.flush()  # it stays open: its end is the end of this process
        atexit.register(self.stop)

    def wait(self, name: str) -> bool:
        """Until a piece is in the cache; False if it was not asked for, or the process has ended without."""
        if os.getpid() != self._owner:
            return False
        with self._lock:
            while name in self._waiting:
                if self._besides and self._is_silent():
                    self._besides.pop(0)()
                    continue
                line = self._process.stdout.readline().decode() if self._process.stdout is not None else ""
                if not line:
                    self._waiting.clear()
                    self.stop()
                    return False
                with contextlib.suppress(ValueError):
                    self._waiting.remove(line.strip())
                if line.strip() == name:
                    return True
        return False

    def _is_silent(self) -> bool:
        """Whether there is nothing to read; where that cannot be asked, there may be something."""
        try:
            return (
                self._process.stdout is not None and not select.select([self._process.stdout], [], [], 0)[0]
            )
        except (OSError, ValueError):  # Windows knows it of sockets only
            return False

    def stop(self) -> None:
        """End the process, if it has not ended."""
        if os.getpid() != self._owner:
            return
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


_companions: list[_Companion] = []
_asked: set[tuple[str, ...]] = set()  # pieces that have been looked for; once is enough


def compile_ahead(
    now: Sequence[CodePiece],
    meanwhile: Sequence[CodePiece],
    besides: Sequence[Callable[[], object]] = (),
) -> None:
    """Start a second process for the missing pieces of ``meanwhile``, if one of ``now`` is missing, too.

    While this process would wait for it, it calls ``besides``, which compile what is needed later.
    """
    names = tuple(piece.name for piece in (*now, *meanwhile))
    if names in _asked:
        return
    _asked.add(names)
    if not meanwhile or not _may_help() or all(piece.is_there for piece in now):
        return
    missing = [piece for piece in meanwhile if not piece.is_there]
    folder = code_folder(missing[0].name, missing[0].lanes, missing[0].source) if missing else None
    if folder is not None and is_private(folder.parents[1]):
        with contextlib.suppress(OSError):
            _companions.append(_Companion(missing, folder.parents[1], besides))


def compiled_meanwhile(name: str) -> bool:
    """Whether a second process has put that machine code into the cache; waits if it is about to."""
    return any([companion.wait(name) for companion in _companions])


def _may_help() -> bool:
    """Whether there is a core to spare, an interpreter to start, and no one else who uses the cores."""
    if os.environ.get(SWITCH) == "0" or multiprocessing.parent_process() is not None or _companions:
        return False
    name, is_frozen = Path(sys.executable or "").stem.lower(), getattr(sys, "frozen", False)
    is_python = name.startswith("python") and not is_frozen
    return is_python and _cores() > 1 and "PYTEST_XDIST_WORKER" not in os.environ


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _work() -> None:
    """Compile what the parent asks for, one piece after the other, and name each that is done."""
    pieces = pickle.load(sys.stdin.buffer)  # from the parent alone
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for function, arguments, name in pieces:
        function(*arguments)
        print(name, flush=True)


def _end_with_parent() -> None:
    """The other end of the pipe is open as long as the parent lives."""
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        _work()
