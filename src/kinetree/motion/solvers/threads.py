"""One thread for small matrices: waking others takes longer than the work, above all on a busy machine."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import scipy.linalg  # noqa: F401  (its library of linear algebra must be loaded before it can be found)
from threadpoolctl import LibController, ThreadpoolController

_lock = Lock()
_lowered: list[tuple[LibController, int]] = []  # libraries, and their threads before the first solve
_under_way = 0


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra of NumPy and SciPy uses one thread.

    The number of threads belongs to the whole process. Where solves overlap in several threads, the first
    lowers it and the last to end restores what was before.

    >>> import numpy as np
    >>> with one_thread():
    ...     x = np.linalg.solve(np.eye(2), [1.0, 2.0])
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _under_way
    with _lock:
        if _under_way == 0:
            for library in libraries():
                before = library.num_threads
                if set_threads(library, 1) != before:
                    _lowered.append((library, before))
        _under_way += 1


def _leave() -> None:
    global _under_way
    with _lock:
        _under_way -= 1
        if _under_way == 0:
            for library, before in _lowered:
                set_threads(library, before)
            _lowered.clear()


def set_threads(library: LibController, count: int) -> int:
    """Set the number of threads of a library and return what it is then.

    Since version 3.8 threadpoolctl lets only one Python thread set the number, until that one releases it:
    the first and the last of overlapping solves are different threads, so it is released at once. Where
    another thread keeps it, the number stays as it is.
    """
    library.set_num_threads(count)
    release = getattr(library, "clear_controlling_thread", None)
    if release is not None:
        release()
    now: int = library.num_threads
    return now


@functools.cache
def libraries() -> list[LibController]:
    """The loaded libraries of linear algebra, looked for once as that takes milliseconds."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)
