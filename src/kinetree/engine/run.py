"""Running kernels: blocks of states on threads, or one state at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import aligned, cleared
from kinetree.engine.buffers import new_array
from kinetree.engine.fields import Fields
from kinetree.engine.unpack import full_places, place_words, unpacked
from kinetree.kernels.layout import Kernel
from kinetree.kernels.model_table import TREE, n_pairs, packed_rows, tree_table
from kinetree.kernels.number import LANES
from kinetree.model.tree import Tree

if TYPE_CHECKING:
    from kinetree.engine.direct import StateCall

Answer = TypeVar("Answer")
INTERPRET = bool(os.environ.get("KINETREE_INTERPRET"))  # run kernels in the interpreter: slow, debuggable
THREADING_WORTH = 1 << 17  # numbers to move before a second thread pays
HAS_GIL: bool = getattr(sys, "_is_gil_enabled", lambda: True)()  # direct calls share memory and rely on it
RANGES = 8  # that large batches are cut into, for each thread
WITH_GIL = 1 << 15  # numbers of an answer for which the GIL is not given away
STREAMING_WORTH = 1 << 20  # packed numbers that no cache holds


def run_plain(
    kernel: Kernel, tree: Tree, inputs: Sequence[Array], outputs: Sequence[Array], threads: int | None = None
) -> bool:
    """Fill outputs (batch, k) from inputs (batch, k) for a kernel that packs nothing, at least LANES states.

    All are plain: C-contiguous, aligned, float64; TypeError if one is not. Answers whether all outputs can
    be trusted.
    """
    if INTERPRET:
        _interpreted(kernel, tree, inputs, outputs)
        return all(bool(np.isfinite(x).all()) for x in (*inputs, *outputs))
    try:
        run, table, room, spare = tree.memo["many", kernel]
    except KeyError:
        run, table, room, spare = tree.memo["many", kernel] = _many(kernel, tree)
    arrays, count = (*inputs, *outputs), len(inputs[0])
    if threads == 1 or (threads is None and count * tree.n < THREADING_WORTH // len(arrays)):
        memory = spare.pop() if spare else aligned(room)
        trusted: bool = run(table, memory, 0, count, arrays)
        spare.append(memory)
        return trusted

    def work(begin: int, end: int) -> bool:
        memory = spare.pop() if spare else aligned(room)
        trusted: bool = run(table, memory, begin, end, arrays)
        spare.append(memory)
        return trusted

    return all(over_threads(work, count, LANES, _thread_count(threads, sum(x.size for x in arrays))))


def _many(kernel: Kernel, tree: Tree) -> tuple[Callable[..., bool], Array, int, list[Array]]:
    """What running a kernel on many states of a tree takes, and workspaces that no thread uses at present."""
    from kinetree.engine.code import many_code, many_states
    from kinetree.engine.workspace import workspace_size

    table, room, ways_in = tree_table(tree), workspace_size(kernel, tree, LANES), _ways_in(kernel, tree)
    if ways_in is not None:
        ways_in.take_many(many_code(kernel), table, aligned(room))
    return many_states(kernel), table, room, []


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
    count = len(inputs[0])
    if count < LANES:  # repeat the last state until the lanes are full
        rows = np.minimum(np.arange(LANES), count - 1)
        padded = [np.zeros((LANES, x.shape[1])) for x in outputs]
        packed = run_batch(kernel, tree, [x[rows] for x in inputs], padded, 1)
        for result, values in zip(outputs, padded, strict=True):
            result[:] = values[:count]
        return packed
    if kernel.entries is None:
        run_plain(kernel, tree, inputs, outputs, threads)
        return None
    from kinetree.engine.code import many_states
    from kinetree.engine.workspace import workspace_size

    packed = new_array(-(-count // LANES), packed_rows(kernel, tree), kernel.entries.width, LANES)
    table, arrays = tree_table(tree), (*inputs, *outputs, packed)
    size = sum(x.size for x in arrays)
    run = many_states(kernel, streamed=size > STREAMING_WORTH and not kernel.scratch)
    spare: list[Array] = tree.memo.setdefault(("spare workspaces", kernel), [])

    def work(begin: int, end: int) -> None:
        memory = spare.pop() if spare else aligned(workspace_size(kernel, tree, LANES))
        run(table, memory, begin, end, arrays)
        spare.append(memory)

    over_threads(work, count, LANES, _thread_count(threads, size))
    return packed


def run_full(
    kernel: Kernel,
    tree: Tree,
    inputs: Sequence[Array],
    outputs: Sequence[Array],
    full: Array,
    threads: int | None = None,
) -> bool:
    """The same with what the kernel packs unpacked at once, into ``full`` (arrays, batch, entries).

    Answers whether all outputs and all that is packed can be trusted.
    """
    count = len(inputs[0])
    if INTERPRET or count < LANES:
        packed = run_batch(kernel, tree, inputs, outputs, threads)
        assert packed is not None
        unpack(kernel, tree, packed, full, threads)
        return all(bool(np.isfinite(x).all()) for x in (*inputs, *outputs, full))
    try:
        run, table, start, room, places, spare = tree.memo["full", kernel]
    except KeyError:
        run, table, start, room, places, spare = tree.memo["full", kernel] = _full(kernel, tree)
    arrays, streamed = (*inputs, *outputs, full), full.size > STREAMING_WORTH

    def work(begin: int, end: int) -> bool:
        memory = spare.pop() if spare else cleared(room)
        trusted: bool = run(table, memory, begin, end, arrays, start, places, streamed)
        spare.append(memory)
        return trusted

    if threads == 1 or (threads is None and full.size < THREADING_WORTH // 2):
        return work(0, count)
    return all(over_threads(work, count, LANES, _thread_count(threads, sum(x.size for x in arrays))))


def _full(kernel: Kernel, tree: Tree) -> tuple[Callable[..., bool], Array, int, int, int, list[Array]]:
    """What unpacking at once takes, and memory that no thread uses at present."""
    from kinetree.engine.code import full_code, full_states
    from kinetree.engine.workspace import packed_room, workspace_size

    assert kernel.entries is not None
    start = -(-workspace_size(kernel, tree, LANES) // 8) * 8
    room = start + packed_room(kernel.entries.width * packed_rows(kernel, tree), LANES)
    table, places, ways_in = tree_table(tree), place_words(kernel, tree).ctypes.data, _ways_in(kernel, tree)
    if ways_in is not None:
        ways_in.take_many(full_code(kernel), table, cleared(room), start, places)
    return full_states(kernel), table, start, room, places, []


def unpack(kernel: Kernel, tree: Tree, packed: Array, full: Array, threads: int | None = None) -> None:
    """Fill the full arrays (arrays, batch, entries) from what a kernel packed."""
    count, lanes = full.shape[1], packed.shape[3]
    if lanes == 1 or count < lanes:
        by_state = packed.transpose(0, 3, 1, 2).reshape(len(packed) * lanes, -1)[:count]
        full[:] = unpacked(by_state, full_places(kernel, tree))
        return
    from kinetree.engine.code import unpack_states
    from kinetree.engine.workspace import packed_room

    run, streamed, places = unpack_states(), full.size > STREAMING_WORTH, place_words(kernel, tree)

    def work(begin: int, end: int) -> None:
        memory = cleared(packed_room(packed.shape[1] * packed.shape[2], lanes))
        run(memory, memory, begin, end, (packed, full), 0, places.ctypes.data, streamed)

    over_threads(work, count, lanes, _thread_count(threads, full.size))


def single_call(kernel: Kernel, tree: Tree) -> Callable[..., Any]:
    """A function of one state's inputs, plain arrays (n,), with the least overhead; made once per tree.

    Answers as `StateCall` tells; None where an input is not plain, or the answer needs a closer look. It
    takes a few states (batch, n) as well, and more once `run_plain` or `run_full` was asked.
    ``tree.memo[kernel]`` is the same function.
    """
    ways_in = _ways_in(kernel, tree)
    if ways_in is None:
        return _no_answer
    if not ways_in.knows_single:
        from kinetree.engine.code import single_state
        from kinetree.engine.workspace import single_memory

        ways_in.take_single(single_state(kernel), single_memory(kernel, tree))
    return ways_in.call


def _no_answer(*inputs: object) -> None:
    """What cannot be asked directly."""


def _ways_in(kernel: Kernel, tree: Tree) -> StateCall | None:
    """How Python gets into a kernel directly, made once per tree; None if it does not."""
    key = "ways into", kernel
    if key not in tree.memo:
        if (
            kernel.output_widths is None
            or tree.coupling is not None
            or tree.n == 0
            or INTERPRET
            or not HAS_GIL
        ):
            tree.memo[kernel] = _no_answer
            tree.memo[key] = None
        else:  # of several threads that come here at once, one is first
            tree.memo[kernel] = tree.memo.setdefault(key, _new_way(kernel, tree)).call
    found: StateCall | None = tree.memo[key]
    return found


def _new_way(kernel: Kernel, tree: Tree) -> StateCall:
    from kinetree.engine.direct import StateCall

    n, arrays, entries = tree.n, 0, 0
    if kernel.entries is not None:
        arrays, entries = place_words(kernel, tree)[:2].tolist()
    inputs = [size or n for size in kernel.input_sizes or (0,) * kernel.inputs]
    outputs = [width * n for width in kernel.output_widths or ()]
    shape = (n, n) if kernel.targets else (entries // (6 * n), 6, n)  # matrices, or wrenches of bodies
    limit = WITH_GIL // (sum(outputs) + arrays * entries)
    return StateCall(inputs, outputs, arrays, shape if arrays else (), limit)


def over_threads(work: Callable[[int, int], Answer], count: int, lanes: int, threads: int) -> list[Answer]:
    """Answers of work(begin, end) for ranges of states, cut at whole blocks, none shorter than a block.

    Each thread takes one range after the other, so that none waits long for a slower one.
    """
    blocks = count // lanes
    threads = max(1, min(threads, blocks))
    if threads == 1:
        return [work(0, count)]
    parts = min(blocks, RANGES * threads)
    cuts = [blocks * k // parts * lanes for k in range(parts)]
    waiting = zip(cuts, [*cuts[1:], count], strict=True)

    def some(_: int) -> list[Answer]:
        return [work(begin, end) for begin, end in waiting]

    try:
        found = _pool().map(some, range(threads))
    except RuntimeError:  # the interpreter is about to end and starts no threads any more
        return [work(0, count)]
    return [answer for answers in found for answer in answers]


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
        packed = np.zeros((packed_rows(kernel, tree), kernel.entries.width, count))
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
