"""Memory on cache lines, for code that reads and writes several numbers at once."""

from __future__ import annotations

import math

import numpy as np

from kinetree.algebra.arrays import Array


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
