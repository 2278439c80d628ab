"""Running kernels: blocks of states on threads, or one state at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.kernels.layout import Kernel, aligned, interpret, tree_table
from kinetree.model.tree import Tree

INTERPRET_VARIABLE = "KINETREE_INTERPRET"  # set it to run kernels in the interpreter: slow, debuggable
THREADING_WORTH = 1 << 17  # numbers to compute before a second thread pays


def run_batch(
    kernel: Kernel,
    tree: Tree,
    inputs: Sequence[Array],
    outputs: Sequence[Array],
    packed: Array | None = None,
    threads: int | None = None,
) -> None:
    """Fill outputs (batch, k) from inputs (batch, k), all C-contiguous, with at least one state."""
    if os.environ.get(INTERPRET_VARIABLE):
        return _interpreted(kernel, tree, inputs, outputs)
    from kinetree.kernels.compile import LANES, many_states

    count = len(inputs[0])
    if count < LANES:  # repeat the last state until the lanes are full
        rows = np.minimum(np.arange(LANES), count - 1)
        padded = [np.zeros((LANES, x.shape[1])) for x in outputs]
        run_batch(kernel, tree, [x[rows] for x in inputs], padded, packed, 1)
        for result, values in zip(outputs, padded, strict=True):
            result[:] = values[:count]
        return None
    run, table = many_states(kernel), tree_table(tree)
    arrays = (*inputs, *outputs)
    extra = () if packed is None else (packed,)
    size = (tree.n + 1) * kernel.slots.width * LANES
    chunks = _chunks(count, LANES, _thread_count(threads, sum(x.size for x in arrays)))

    def work(chunk: tuple[int, int]) -> None:
        run(table, aligned(size), *chunk, arrays, *extra)

    if len(chunks) == 1:
        work(chunks[0])
    else:
        list(_pool().map(work, chunks))
    return None


def single_runner(kernel: Kernel, tree: Tree) -> tuple[Any, Array]:
    """The compiled function for one state and its memory; made once per tree."""
    if kernel not in tree.memo:
        from kinetree.kernels.compile import single_state

        table = tree_table(tree)
        start = (table.size + 7) // 8 * 8
        memory = aligned(start + len(table) * kernel.slots.width)
        memory[: table.size] = table.ravel()
        tree.memo[kernel] = (single_state(kernel), memory)
    runner: tuple[Any, Array] = tree.memo[kernel]
    return runner


def available_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _interpreted(kernel: Kernel, tree: Tree, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    columns = [np.ascontiguousarray(x.T) for x in inputs]
    results = [np.zeros((x.shape[1], len(x))) for x in outputs]
    interpret(kernel.function, kernel.slots, tree_table(tree), columns, results)
    for result, values in zip(outputs, results, strict=True):
        result[:] = values.T


def _thread_count(threads: int | None, numbers: int) -> int:
    return threads if threads is not None else (available_cores() if numbers >= THREADING_WORTH else 1)


def _chunks(count: int, lanes: int, threads: int) -> list[tuple[int, int]]:
    """Ranges of states of about equal size, cut at whole blocks; none shorter than a block."""
    blocks = count // lanes
    parts = max(1, min(threads, blocks))
    cuts = [blocks * k // parts * lanes for k in range(parts)]
    return list(zip(cuts, [*cuts[1:], count], strict=True))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(available_cores(), thread_name_prefix="kinetree")
