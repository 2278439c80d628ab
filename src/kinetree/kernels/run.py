"""Running kernels: blocks of states on threads, or one state at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.kernels.layout import LANES, TREE, Fields, Kernel, aligned, n_pairs, tree_table
from kinetree.model.tree import Tree

INTERPRET = bool(os.environ.get("KINETREE_INTERPRET"))  # run kernels in the interpreter: slow, debuggable
THREADING_WORTH = 1 << 17  # numbers to move before a second thread pays
STREAMING_WORTH = 1 << 20  # packed numbers that no cache holds


def run_batch(
    kernel: Kernel,
    tree: Tree,
    inputs: Sequence[Array],
    outputs: Sequence[Array],
    threads: int | None = None,
) -> Array | None:
    """Fill outputs (batch, k) from inputs (batch, k), all C-contiguous, with at least one state.

    Returns what the kernel packs, (blocks, rows, width, lanes), or None.
    """
    if INTERPRET:
        return _interpreted(kernel, tree, inputs, outputs)
    from kinetree.kernels.compile import many_states, workspace_size

    count = len(inputs[0])
    if count < LANES:  # repeat the last state until the lanes are full
        rows = np.minimum(np.arange(LANES), count - 1)
        padded = [np.zeros((LANES, x.shape[1])) for x in outputs]
        packed = run_batch(kernel, tree, [x[rows] for x in inputs], padded, 1)
        for result, values in zip(outputs, padded, strict=True):
            result[:] = values[:count]
        return packed
    table, arrays, extra = tree_table(tree), (*inputs, *outputs), ()
    if kernel.entries is not None:
        packed = aligned(-(-count // LANES), kernel.n_packed(tree), kernel.entries.width, LANES)
        extra = (packed,)  # type: ignore[assignment]
    size = sum(x.size for x in (*arrays, *extra))
    run = many_states(kernel, streamed=bool(extra) and size > STREAMING_WORTH and kernel.scratch is None)
    spare = _spare_workspaces(kernel, tree)

    def work(begin: int, end: int) -> None:
        memory = spare.pop() if spare else aligned(workspace_size(kernel, tree, LANES))
        run(table, memory, begin, end, arrays, *extra)
        spare.append(memory)

    over_threads(work, count, LANES, _thread_count(threads, size))
    return extra[0] if extra else None


def _spare_workspaces(kernel: Kernel, tree: Tree) -> list[Array]:
    """Workspaces that no thread uses at the moment."""
    spare: list[Array] = tree.memo.setdefault(("spare workspaces", kernel), [])
    return spare


def full_matrices(kernel: Kernel, tree: Tree, packed: Array, count: int, threads: int | None = None) -> Array:
    """The full matrices (m, batch, n, n) of what a kernel packed for `count` states."""
    matrices = np.zeros((kernel.n_matrices, count, tree.n, tree.n))
    if packed.shape[3] != 1:
        from kinetree.kernels import compile as compiled

        run, table = compiled.full_matrices(kernel), tree_table(tree)
        over_threads(
            lambda begin, end: run(table, begin, end, packed, matrices),
            count,
            packed.shape[3],
            _thread_count(threads, matrices.size),
        )
        return matrices
    rows, columns = _places(kernel, tree)
    for entry, matrix, transposed in kernel.targets:
        i, j = (columns, rows) if transposed else (rows, columns)
        matrices[matrix][:, i, j] = packed[:, :, entry, 0]
    return matrices


def single_call(kernel: Kernel, tree: Tree) -> Callable[..., Array | None]:
    """A function of one state's inputs, plain arrays (n,), with the least overhead; made once per tree.

    Returns the outputs, and then the full matrices of packing kernels, as one flat array; None where an input
    or the answer needs a closer look. Raises TypeError on anything but plain arrays.
    """
    if kernel not in tree.memo:
        tree.memo[kernel] = _new_call(kernel, tree)
    call: Callable[..., Array | None] = tree.memo[kernel]
    return call


def _new_call(kernel: Kernel, tree: Tree) -> Callable[..., Array | None]:
    if tree.coupling is not None or tree.n == 0 or INTERPRET:
        return lambda *inputs: None
    from kinetree.kernels.compile import single_memory, single_state

    run, memory, zeros = single_state(kernel), single_memory(kernel, tree), np.zeros
    size = kernel.outputs * tree.n + kernel.n_matrices * tree.n**2

    def call_with_three(a: Array, b: Array, c: Array) -> Array | None:
        out = zeros(size)
        return out if run(memory, a, b, c, out) else None

    def call(*inputs: Array) -> Array | None:
        out = zeros(size)
        return out if run(memory, *inputs, out) else None

    return call_with_three if kernel.inputs == 3 else call  # packing arguments costs a tenth of it all


def over_threads(work: Callable[[int, int], object], count: int, lanes: int, threads: int) -> None:
    """Call work(begin, end) for ranges of states, cut at whole blocks, none shorter than a block."""
    blocks = count // lanes
    parts = max(1, min(threads, blocks))
    cuts = [blocks * k // parts * lanes for k in range(parts)]
    if parts == 1:
        work(0, count)
    else:
        list(_pool().map(work, cuts, [*cuts[1:], count]))


def available_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _interpreted(
    kernel: Kernel, tree: Tree, inputs: Sequence[Array], outputs: Sequence[Array]
) -> Array | None:
    """The same in the interpreter; each state is a block of its own."""
    count = len(inputs[0])
    columns = [np.ascontiguousarray(x.T) for x in inputs]
    results = [np.zeros((x.shape[1], count)) for x in outputs]
    memory = [Fields(kernel.slots, np.zeros((tree.n + 1, kernel.slots.width, count)))]
    if kernel.scratch is not None:
        memory.append(Fields(kernel.scratch, np.zeros((n_pairs(tree), kernel.scratch.width, count))))
    packed = None
    if kernel.entries is not None:
        packed = np.zeros((kernel.n_packed(tree), kernel.entries.width, count))
        memory.append(Fields(kernel.entries, packed))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        kernel.function(Fields(TREE, tree_table(tree)), *memory, *columns, *results)
    for result, values in zip(outputs, results, strict=True):
        result[:] = values.T
    return None if packed is None else np.ascontiguousarray(packed.transpose(2, 0, 1)[..., None])


def _places(kernel: Kernel, tree: Tree) -> tuple[Any, Any]:
    """Row and column of each packed row."""
    if kernel.square:
        return np.divmod(np.arange(tree.n**2), tree.n)
    pairs = [(i, j) for i in range(tree.n - 1, -1, -1) for j in _upward(tree, i)]
    rows, columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return rows, columns


def _upward(tree: Tree, i: int) -> list[int]:
    """The axis and its ancestors."""
    path = []
    while i >= 0:
        path.append(i)
        i = int(tree.parent[i])
    return path


def _thread_count(threads: int | None, numbers: int) -> int:
    return threads if threads is not None else (available_cores() if numbers >= THREADING_WORTH else 1)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(available_cores(), thread_name_prefix="kinetree")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
