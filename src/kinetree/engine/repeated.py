"""A kernel on batches of one size, again and again: all that a call needs is looked up once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.engine import run
from kinetree.engine.threads import THREADING_WORTH
from kinetree.kernels.layout import Kernel
from kinetree.model.tree import Tree


class Repeated:
    """A kernel for batches of ``count`` states of a tree.

    Inputs are (count, k), contiguous and writable; their values are not checked.
    """

    def __init__(self, kernel: Kernel, tree: Tree, count: int) -> None:
        self._prepared = run.prepared(kernel, tree)
        self.shape = (self._prepared.arrays, count, self._prepared.entries)
        self._threads = 1 if self.shape[0] * count * self.shape[2] < THREADING_WORTH else None

    def fill(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Fill the outputs, (count, k), of a kernel that packs nothing."""
        self._prepared.fill(inputs, outputs, None, self._threads)

    def arrays(self, inputs: Sequence[Array], outputs: Sequence[Array] = ()) -> Array:
        """The full arrays, (arrays, count, entries), of a kernel that packs; ``outputs`` are filled."""
        full = np.empty(self.shape)
        self._prepared.fill(inputs, outputs, full, self._threads)
        return full
