"""Running kernels: blocks of states on threads, or one state at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.kernels.buffers import new_array
from kinetree.kernels.layout import LANES, TREE, Fields, Kernel, aligned, cleared, n_pairs, tree_table
from kinetree.kernels.unpack import full_places, unpacked
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
        packed = new_array(-(-count // LANES), kernel.n_packed(tree), kernel.entries.width, LANES)
        extra = (packed,)  # type: ignore[assignment]
    size = sum(x.size for x in (*arrays, *extra))
    run = many_states(kernel, streamed=bool(extra) and size > STREAMING_WORTH and not kernel.scratch)
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


def run_full(
    kernel: Kernel,
    tree: Tree,
    inputs: Sequence[Array],
    outputs: Sequence[Array],
    full: Array,
    threads: int | None = None,
) -> None:
    """The same with what the kernel packs unpacked at once, into ``full`` (arrays, batch, entries)."""
    count, places = len(inputs[0]), full_places(kernel, tree)
    if INTERPRET or count < LANES:
        packed = run_batch(kernel, tree, inputs, outputs, threads)
        assert packed is not None
        unpack(kernel, tree, packed, full, threads)
        return
    from kinetree.kernels.compile import full_states, packed_room, workspace_size

    assert kernel.entries is not None
    table, arrays, run = tree_table(tree), (*inputs, *outputs), full_states(kernel)
    start = -(-workspace_size(kernel, tree, LANES) // 8) * 8
    room = packed_room(kernel.entries.width * kernel.n_packed(tree), LANES)
    spare: list[Array] = tree.memo.setdefault(("spare rooms", kernel), [])
    streamed = full.size > STREAMING_WORTH

    def work(begin: int, end: int) -> None:
        memory = spare.pop() if spare else cleared(start + room)
        run(table, memory, start, begin, end, arrays, places, full, streamed)
        spare.append(memory)

    over_threads(work, count, LANES, _thread_count(threads, sum(x.size for x in arrays) + full.size))


def unpack(kernel: Kernel, tree: Tree, packed: Array, full: Array, threads: int | None = None) -> None:
    """Fill the full arrays (arrays, batch, entries) from what a kernel packed."""
    places, count, lanes = full_places(kernel, tree), full.shape[1], packed.shape[3]
    if lanes == 1 or count < lanes:
        full[:] = unpacked(packed.transpose(0, 3, 1, 2).reshape(len(packed) * lanes, -1)[:count], places)
        return
    from kinetree.kernels.compile import packed_room, unpack_states

    run, streamed = unpack_states(), full.size > STREAMING_WORTH

    def work(begin: int, end: int) -> None:
        memory = cleared(packed_room(packed.shape[1] * packed.shape[2], lanes))
        run(memory, begin, end, packed, places, full, streamed)

    over_threads(work, count, lanes, _thread_count(threads, full.size))


def single_call(kernel: Kernel, tree: Tree) -> Callable[..., Array | None]:
    """A function of one state's inputs, plain arrays (n,), with the least overhead; made once per tree.

    Returns (rows, n), rows of the outputs and then of the full arrays of packing kernels, or (n,) where there
    is one row only; None where an input or the answer needs a closer look. Raises TypeError on anything but
    plain arrays.
    """
    if kernel not in tree.memo:
        tree.memo[kernel] = _new_call(kernel, tree)
    call: Callable[..., Array | None] = tree.memo[kernel]
    return call


def _new_call(kernel: Kernel, tree: Tree) -> Callable[..., Array | None]:
    if tree.coupling is not None or tree.n == 0 or INTERPRET:
        return lambda *inputs: None
    from kinetree.kernels.compile import single_memory, single_state

    run, memory, empty = single_state(kernel), single_memory(kernel, tree), np.empty
    rows = sum(kernel.output_widths or (1,) * kernel.outputs)
    if kernel.entries is not None:
        rows += full_places(kernel, tree).size // tree.n
    shape = tree.n if kernel.has_one_row else (rows, tree.n)

    def call_with_three(a: Array, b: Array, c: Array) -> Array | None:
        out = empty(shape)
        return out if run(memory, a, b, c, out) else None

    def call(*inputs: Array) -> Array | None:
        out = empty(shape)
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
    for layout in kernel.scratch:
        memory.append(Fields(layout, np.zeros((n_pairs(tree), layout.width, count))))
    packed = None
    if kernel.entries is not None:
        packed = np.zeros((kernel.n_packed(tree), kernel.entries.width, count))
        memory.append(Fields(kernel.entries, packed))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        kernel.function(Fields(TREE, tree_table(tree)), *memory, *columns, *results)
    for result, values in zip(outputs, results, strict=True):
        result[:] = values.T
    return None if packed is None else np.ascontiguousarray(packed.transpose(2, 0, 1)[..., None])


def _thread_count(threads: int | None, numbers: int) -> int:
    return threads if threads is not None else (available_cores() if numbers >= THREADING_WORTH else 1)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(available_cores(), thread_name_prefix="kinetree")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
