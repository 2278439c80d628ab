"""Tree-sparse answers as kernels leave them: for benchmarks and tests; public answers are full arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.checks import check_threads
from kinetree.dynamics.evaluate import as_matrices, batch_shape, plain_rows
from kinetree.engine.buffers import new_array, new_result
from kinetree.engine.run import prepared
from kinetree.kernels.layout import Kernel
from kinetree.kernels.model_table import packed_rows
from kinetree.model.tree import Tree


def evaluate_packed(
    kernel: Kernel, tree: Tree, inputs: Sequence[Array], sizes: Sequence[int], threads: int | None = None
) -> tuple[list[Array], Packed]:
    """Outputs (..., size) of a kernel on inputs (..., k), and what it packs."""
    check_threads(threads)
    batch = batch_shape(*inputs)
    count = math.prod(batch)
    rows = [plain_rows(x, batch, count) for x in inputs]
    results = [new_result((count, size)) for size in sizes]
    blocks = prepared(kernel, tree).pack(rows, results, threads) if tree.n and count else None
    shaped = [result.reshape((*batch, result.shape[-1])) for result in results]
    return shaped, Packed(kernel, tree, batch, blocks, threads)


@dataclass(frozen=True, eq=False)
class Packed:
    """Tree-sparse matrices of a batch as a kernel leaves them: ``blocks`` (blocks, rows, width, lanes)."""

    kernel: Kernel
    tree: Tree
    batch: tuple[int, ...]
    blocks: Array | None
    threads: int | None

    @property
    def by_state(self) -> Array:
        """The packed numbers state by state, (count, rows, width)."""
        count = math.prod(self.batch)
        if self.blocks is None:
            rows = packed_rows(self.kernel, self.tree) if self.tree.n else 0
            return np.zeros((count, rows, self.kernel.entries.width if self.kernel.entries else 0))
        n_blocks, rows, width, lanes = self.blocks.shape
        place = np.arange(count)
        if count > lanes:  # the last block overlaps its predecessor
            last = place >= (n_blocks - 1) * lanes
            place[last] += n_blocks * lanes - count
        return self.blocks.transpose(0, 3, 1, 2).reshape(n_blocks * lanes, rows, width)[place]

    @cached_property
    def arrays(self) -> Array:
        """The full arrays, (m, ..., entries)."""
        ready = prepared(self.kernel, self.tree)
        full = new_array(ready.arrays, math.prod(self.batch), ready.entries)
        if self.blocks is None:
            full[:] = 0.0
        else:
            ready.unpack(self.blocks, full, self.threads)
        return full.reshape(len(full), *self.batch, full.shape[-1])

    @property
    def matrices(self) -> Array:
        """The full matrices, (m, ..., n, n), of kernels that pack matrices."""
        return as_matrices(self.arrays, self.tree.n)
