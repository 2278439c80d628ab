"""Memory: on cache lines for code in lanes, refused before any work where a result does not fit."""

from __future__ import annotations

import math
import os
import sys

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import SizeError

SMALL = 1 << 27  # numbers (1 GB); the memory for fewer is not compared with what there is
BYTES = 8  # of a number


def check_room(*shapes: tuple[int, ...], what: str = "the result") -> None:
    """Raise if arrays of these shapes need more memory than is available now.

    >>> check_room((1000, 6), (1000, 6, 6))
    """
    count = sum(math.prod(shape) for shape in shapes)
    if count < SMALL:
        return
    free = available_bytes()
    if free is not None and BYTES * count > free:
        largest = max(shapes, key=math.prod)
        raise SizeError(
            f"{what} needs {BYTES * count / 1e9:.1f} GB of memory ({' x '.join(map(str, largest))} numbers), "
            f"{free / 1e9:.1f} GB are available; ask for fewer states, motions or times at once"
        )


def available_bytes() -> int | None:
    """Memory that this process can still get, as far as the system says."""
    known = [x for x in (_of_machine(), _of_process()) if x is not None]
    return min(known) if known else None


def _of_machine() -> int | None:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return 1024 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _of_process() -> int | None:
    """What the limit of the address space leaves, if there is one."""
    if sys.platform == "win32":
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        used = 0
    return max(0, limit - used)


def aligned(*shape: int) -> Array:
    """Memory on a cache-line boundary, not cleared: kernels write before they read."""
    size = math.prod(shape)
    memory = np.empty(size + 8)
    start = (-memory.__array_interface__["data"][0] // 8) % 8
    return memory[start : start + size].reshape(shape)


def cleared(*shape: int) -> Array:
    """The same, all zero."""
    memory = aligned(*shape)
    memory[:] = 0.0
    return memory
