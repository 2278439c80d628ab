"""Kernels as machine code: two shapes of each, compiled on first use and cached on disk.

``single_state`` runs one state with the lowest latency; ``many_states`` runs blocks of lanes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.ccallback import CFunc

from kinetree.algebra.arrays import Array
from kinetree.kernels.array_functions import load_array_functions
from kinetree.kernels.disk_cache import cached
from kinetree.kernels.lanes import FLAGS, fields, register_all, row_at, rows
from kinetree.kernels.lanes.blocks import CHUNK, doubt, spreader
from kinetree.kernels.lanes.number import INLINE, PART
from kinetree.kernels.layout import LANES, TREE, Kernel, aligned, n_pairs, tree_table
from kinetree.kernels.trust import no_suspicion, suspicion_of
from kinetree.kernels.unpack import full_places
from kinetree.model.tree import Tree

load_array_functions()
_MATRIX, _VECTOR = types.Array(types.float64, 2, "C"), types.Array(types.float64, 1, "C")
_BLOCKS = types.Array(types.float64, 4, "C")
_PLACES, _FULL = types.Array(types.int64, 2, "C"), types.Array(types.float64, 3, "C")
_OPTIONS = {"error_model": "numpy", "fastmath": set(FLAGS)}


@functools.cache
def many_states(kernel: Kernel, lanes: int = LANES, *, streamed: bool = False) -> Callable[..., bool]:
    """run(table, memory, begin, end, arrays[, packed]) for states begin..end of arrays (batch, k).

    Answers whether all outputs can be trusted. At least `lanes` states; the last block overlaps its
    predecessor when their number is no multiple.
    ``memory`` is workspace, `workspace_size` long. ``packed`` has the shape (blocks, rows, width, lanes);
    ``streamed`` writes it past the caches, for results of many megabytes.
    """
    step, suspect, slots = _stepper(kernel, lanes, streamed), suspicion_of(kernel, lanes), kernel.slots

    def run(table, memory, begin, end, arrays):
        tree, work, suspicion = fields(table, TREE, 1, 0), fields(memory, slots, lanes, 0), 0.0
        for b in range(begin, end, lanes):
            first = min(b, end - lanes)
            views = rows(arrays, first, lanes)
            step(tree, memory, 0, memory, 0, views)
            suspicion += suspect(tree, work, views, rows(arrays, first, 1))
        return suspicion == 0.0

    def run_packed(table, memory, begin, end, arrays, packed):
        tree, work, suspicion = fields(table, TREE, 1, 0), fields(memory, slots, lanes, 0), 0.0
        size = packed.shape[1] * packed.shape[2] * packed.shape[3]
        for b in range(begin, end, lanes):
            first = min(b, end - lanes)
            views = rows(arrays, first, lanes)
            step(tree, memory, 0, packed, b // lanes * size, views)
            suspicion += suspect(tree, work, views, rows(arrays, first, 1))
        return suspicion == 0.0

    arrays = types.UniTuple(_MATRIX, kernel.inputs + kernel.outputs)
    signature = [_MATRIX, _VECTOR, types.intp, types.intp, arrays]
    if kernel.entries is not None:
        shape = "streamed" if streamed else "packed"
        return _compiled(run_packed, [*signature, _BLOCKS], f"{kernel.name}-{shape}", lanes, nogil=True)
    return _compiled(run, signature, f"{kernel.name}-many", lanes, nogil=True)


def _stepper(kernel: Kernel, lanes: int, streamed: bool = False) -> Any:
    """One call of a kernel: its views of the memory, then its function."""
    function, slots, entries, between = kernel.function, kernel.slots, kernel.entries, kernel.scratch
    width, skip = slots.width * lanes, between[0].width * lanes if between else 0
    if entries is not None and streamed:
        entries = entries.as_streamed()

    def plain(tree, memory, start, packed, place, views):
        function(tree, fields(memory, slots, lanes, start), *views)

    def packing(tree, memory, start, packed, place, views):
        out = fields(packed, entries, lanes, place)
        function(tree, fields(memory, slots, lanes, start), out, *views)

    def packing_twice(tree, memory, start, packed, place, views):
        first = fields(memory, between[0], lanes, start + (tree.parent[-1] + 1) * width)
        out = fields(packed, entries, lanes, place)
        function(tree, fields(memory, slots, lanes, start), first, out, *views)

    def packing_thrice(tree, memory, start, packed, place, views):
        begin = start + (tree.parent[-1] + 1) * width
        first = fields(memory, between[0], lanes, begin)
        pairs = tree.first[0] + 1  # the only one of the first axis comes last
        second = fields(memory, between[1], lanes, begin + pairs * skip)
        out = fields(packed, entries, lanes, place)
        function(tree, fields(memory, slots, lanes, start), first, second, out, *views)

    chosen = plain if entries is None else (packing, packing_twice, packing_thrice)[len(between)]
    return numba.extending.register_jitable(**INLINE)(chosen)


def workspace_size(kernel: Kernel, tree: Tree, lanes: int) -> int:
    """How many numbers of workspace one thread needs."""
    between = sum(layout.width for layout in kernel.scratch) * n_pairs(tree)
    return ((tree.n + 1) * kernel.slots.width + between) * lanes


@functools.cache
def full_states(kernel: Kernel, lanes: int = LANES) -> Callable[..., bool]:
    """run(table, memory, start, begin, end, arrays, places, full, streamed): unpacked block by block.

    ``memory`` is workspace up to ``start``, then room for one packed block (`packed_room`) that never leaves
    the caches; ``places`` and ``full`` as `spreader` wants them.
    """
    step, spread, slots = _stepper(kernel, lanes), spreader(lanes), kernel.slots
    suspect = suspicion_of(kernel, lanes)

    def run(table, memory, start, begin, end, arrays, places, full, streamed):
        tree, work, suspicion = fields(table, TREE, 1, 0), fields(memory, slots, lanes, 0), 0.0
        for b in range(begin, end, lanes):
            first = min(b, end - lanes)
            views = rows(arrays, first, lanes)
            step(tree, memory, 0, memory, start, views)
            suspicion += suspect(tree, work, views, rows(arrays, first, 1))
            spread(memory, start, places, full, first, streamed)
        return suspicion == 0.0

    arrays = types.UniTuple(_MATRIX, kernel.inputs + kernel.outputs)
    signature = [_MATRIX, _VECTOR, types.intp, types.intp, types.intp, arrays, _PLACES, _FULL, types.boolean]
    return _compiled(run, signature, f"{kernel.name}-full", lanes, nogil=True)


@functools.cache
def unpack_states(lanes: int = LANES) -> Callable[..., None]:
    """run(memory, begin, end, packed, places, full, streamed): full arrays from packed ones of any kernel.

    ``memory`` has room for one packed block (`packed_room`).
    """
    spread = spreader(lanes)

    def run(memory, begin, end, packed, places, full, streamed):
        size, flat = packed.shape[1] * packed.shape[2] * lanes, packed.reshape(-1)
        for b in range(begin, end, lanes):
            for k in range(size):
                memory[k] = flat[b // lanes * size + k]
            spread(memory, 0, places, full, min(b, full.shape[1] - lanes), streamed)

    signature = [_VECTOR, types.intp, types.intp, _BLOCKS, _PLACES, _FULL, types.boolean]
    return _compiled(run, signature, "unpack", lanes, nogil=True)


def packed_room(numbers: int, lanes: int) -> int:
    """Numbers of memory for as many packed ones, one that stays zero, and the chunks of `spreader`."""
    return lanes * (numbers + 1 + CHUNK)


# how a tuple of inputs is passed one by one: numba unpacks arguments quicker than tuples
_SPREAD: dict[int, Callable[[Any], Any]] = {
    1: lambda on: lambda memory, a, out: on(memory, (a,), out),
    2: lambda on: lambda memory, a, b, out: on(memory, (a, b), out),
    3: lambda on: lambda memory, a, b, c, out: on(memory, (a, b, c), out),
    4: lambda on: lambda memory, a, b, c, d, out: on(memory, (a, b, c, d), out),
}


@functools.cache
def single_state(kernel: Kernel) -> Callable[..., bool]:
    """run(memory, *inputs, out) for one state; False if a size is wrong or something is not finite.

    ``memory`` holds the model table, the workspace and what is packed (`single_memory`). ``out`` takes all
    outputs and then the full arrays of kernels that pack, row by row of n numbers: (rows, n), or (n,) for one
    row. The GIL is kept, so that threads may share the memory.
    """
    slots, width, sizes = kernel.slots, TREE.width, kernel.input_sizes or (0,) * kernel.inputs
    suspicion, step = kernel.suspicion or no_suspicion, _stepper(kernel, 1)
    results_in = _result_rows(kernel.output_widths or (1,) * kernel.outputs)
    spread = _spread_one if kernel.entries is not None else _nowhere

    @numba.extending.register_jitable(**INLINE)
    def on(memory, inputs, out):
        tree = fields(memory, TREE, 1, 0)
        n = tree.parent[-1]
        for array, size in zip(inputs, sizes):  # noqa: B905  (numba knows no strict)
            if array.size != (size or n) or doubt(array, 0, array.size) != 0.0:
                return False
        start, place, flat = ((n + 1) * width + 7) // 8 * 8, tree.first[-1], out.reshape(-1)
        results, end = results_in(flat, 0, n)
        step(tree, memory, start, memory, place, rows(inputs, 0, 1) + results)
        if doubt(flat, 0, end) != 0.0 or not spread(memory, place, tree.carries[-1], flat, end):
            return False
        return suspicion(tree, fields(memory, slots, 1, start), *results) == 0.0

    out = _VECTOR if kernel.has_one_row else _MATRIX
    signature = [*[_VECTOR] * (kernel.inputs + 1), out]
    return _compiled(_SPREAD[kernel.inputs](on), signature, f"{kernel.name}-single", 1, nogil=False)


def _result_rows(widths: tuple[int, ...]) -> Any:
    """rows_in(flat, start, n): a row of width * n numbers for each width, and where they end."""
    if not widths:
        return numba.extending.register_jitable(lambda flat, start, n: ((), start))
    width, rest = widths[0], _result_rows(widths[1:])

    def rows_in(flat, start, n):
        others, end = rest(flat, start + width * n, n)
        return (row_at(flat, start, width * n, 1), *others), end

    return numba.extending.register_jitable(**INLINE)(rows_in)


@numba.extending.register_jitable(**PART)
def _spread_one(memory, place, count, out, start):
    """The full arrays of one state, from `start` on, by the places that follow its packed numbers."""
    order = memory[place + count + 1 :].view(np.int64)
    for k in range(order.size):
        out[start + k] = memory[place + order[k]]
    return doubt(memory, place, place + count) == 0.0


@numba.extending.register_jitable(**PART)
def _nowhere(memory, place, count, out, start):
    return True


def single_memory(kernel: Kernel, tree: Tree) -> Array:
    """The model table, then the workspace, the packed results, a zero and their places, for one state."""
    table = tree_table(tree)
    start = (table.size + 7) // 8 * 8
    place = start + workspace_size(kernel, tree, 1)
    packed, order = 0, np.zeros(0, dtype=np.int64)
    if kernel.entries is not None:
        packed, order = kernel.entries.width * kernel.n_packed(tree), full_places(kernel, tree).ravel()
    memory = aligned(place + packed + 1 + order.size)
    memory[:] = 0.0
    memory[: table.size] = table.ravel()
    integers = memory.view(np.int64)
    integers[TREE.places["first"][0]], integers[TREE.places["carries"][0]] = place, packed
    integers[place + packed + 1 :] = order
    return memory


def _compiled(
    run: Callable[..., Any], signature: list[Any], name: str, lanes: int, *, nogil: bool, **more: bool
) -> Callable[..., Any]:
    """Compile for one signature, from the disk cache if this very code is there."""
    register_all()
    dispatcher = numba.njit(nogil=nogil, **more, **_OPTIONS)(run)
    with cached(dispatcher, run, name, lanes):
        dispatcher.compile(tuple(signature))
    dispatcher.disable_compile()
    return dispatcher


def compiled_function(function: Callable[..., Any], signature: list[Any], name: str) -> Callable[..., Any]:
    """A plain function of floats and arrays as machine code that runs without the GIL.

    It may not allocate: its arrays are not counted, which would cost more than many a short helper does.
    """
    return _compiled(function, signature, name, 1, nogil=True, _nrt=False)


def compiled_callback(function: Callable[..., Any], signature: Any, name: str) -> Any:
    """A function as a C callback: ``.address`` is where it starts, for as long as the object lives.

    The signature is numba's, for example ``int64(float64, CPointer(float64), CPointer(float64))``.
    """
    register_all()
    kind = (signature.args, signature.return_type)
    callback: Any = CFunc(function, kind, locals={}, options={"nopython": True, **_OPTIONS})
    with cached(callback, function, name, 1):
        callback.compile()
    return callback
