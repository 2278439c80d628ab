"""One thread for small matrices: waking others takes longer than the work, above all on a busy machine."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy

NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads")


class _Pool(NamedTuple):
    """How many threads a library of linear algebra uses, and how to change it."""

    get: Any
    set: Any


@contextmanager
def one_thread() -> Iterator[None]:
    """NumPy's and SciPy's own OpenBLAS use one thread; other libraries are left alone.

    >>> with one_thread():
    ...     x = np.linalg.solve(np.eye(2), [1.0, 2.0])
    """
    pools = [(pool, pool.get()) for pool in thread_pools()]
    for pool, _ in pools:
        pool.set(1)
    try:
        yield
    finally:
        for pool, count in pools:
            pool.set(count)


@functools.cache
def thread_pools() -> list[_Pool]:
    """OpenBLAS as it is shipped beside NumPy and SciPy, and loaded already."""
    found = []
    for package in (np, scipy):
        home = Path(str(package.__file__)).parent
        for folder in (home.with_name(f"{home.name}.libs"), home / ".dylibs"):
            found += [pool for path in sorted(folder.glob("*openblas*")) if (pool := _pool(path)) is not None]
    return found


def _pool(path: Path) -> _Pool | None:
    try:
        library = ctypes.CDLL(str(path))
    except OSError:
        return None
    for name in NAMES:
        if hasattr(library, name.format("set")) and hasattr(library, name.format("get")):
            return _Pool(getattr(library, name.format("get")), getattr(library, name.format("set")))
    return None
