"""Kernels as machine code: the shapes of each, compiled on first use and cached on disk.

``single_state`` runs one state with the lowest latency; ``many_states`` runs blocks of lanes, ``full_states``
unpacks them too. All are C functions of words: addresses, numbers of states, and *pairs* (address, numbers
per state) that tell arrays; `direct` leads to them from Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types

from kinetree.algebra.arrays import Array
from kinetree.kernels.direct import range_call
from kinetree.kernels.lanes import fields
from kinetree.kernels.lanes.blocks import CHUNK, doubt, spreader
from kinetree.kernels.lanes.number import INLINE, PART
from kinetree.kernels.lanes.objects import doubles, fetch_states, integers, rows_by_pairs, word
from kinetree.kernels.layout import LANES, TREE, Kernel, aligned, n_pairs, tree_table
from kinetree.kernels.machine_code import compiled_callback
from kinetree.kernels.trust import doubt_of_rows, no_suspicion, suspicion_of
from kinetree.kernels.unpack import place_words
from kinetree.model.tree import Tree

_SINGLE, _RANGE = types.intp(*[types.intp] * 3), types.intp(*[types.intp] * 9)


@functools.cache
def many_states(kernel: Kernel, lanes: int = LANES, *, streamed: bool = False) -> Callable[..., bool]:
    """run(table, memory, begin, end, arrays) for states begin..end of arrays (batch, k).

    Answers whether all outputs can be trusted. At least `lanes` states; the last block overlaps its
    predecessor when their number is no multiple.
    ``memory`` is workspace, `workspace_size` long. Of kernels that pack, the last of the arrays is
    (blocks, rows, width, lanes); ``streamed`` writes it past the caches, for results of many megabytes.
    """
    return range_call(many_body(kernel, lanes, streamed=streamed))


@functools.cache
def many_body(kernel: Kernel, lanes: int = LANES, *, streamed: bool = False) -> Any:
    """The machine code of `many_states`."""
    step, suspect, slots = _stepper(kernel, lanes, streamed), suspicion_of(kernel, lanes), kernel.slots
    count, packs = kernel.inputs + kernel.outputs, kernel.entries is not None

    def run(table, memory, size, begin, end, pairs, unused, not_used, idle):
        work, out = doubles(memory, size), doubles(word(pairs, 2 * count) if packs else memory, size)
        tree, slot, suspicion = fields(doubles(table, 0), TREE, 1, 0), fields(work, slots, lanes, 0), 0.0
        block = word(pairs, 2 * count + 1) if packs else 0
        for b in range(begin, end, lanes):
            first = min(b, end - lanes)
            fetch_states(pairs, count, first + lanes, lanes)
            views = rows_by_pairs(pairs, count, first, lanes)
            step(tree, work, 0, out, b // lanes * block, views)
            suspicion += suspect(tree, slot, views, rows_by_pairs(pairs, count, first, 1))
        return 1 if suspicion == 0.0 else 0

    shape = "many" if not packs else "streamed" if streamed else "packed"
    return compiled_callback(run, _RANGE, f"{kernel.name}-{shape}", lanes)


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
    """run(table, memory, begin, end, arrays, start, places, streamed): unpacked block by block.

    ``memory`` is workspace up to ``start``, then room for one packed block (`packed_room`) that never leaves
    the caches. The last of the arrays is the full one, (arrays, states, entries); ``places`` is the address
    of `place_words`.
    """
    return range_call(full_body(kernel, lanes))


@functools.cache
def full_body(kernel: Kernel, lanes: int = LANES) -> Any:
    """The machine code of `full_states`."""
    step, spread, slots = _stepper(kernel, lanes), spreader(lanes), kernel.slots
    suspect, count = suspicion_of(kernel, lanes), kernel.inputs + kernel.outputs

    def run(table, memory, size, begin, end, pairs, start, places, streamed):
        work, order, full = doubles(memory, size), integers(places, 0), doubles(word(pairs, 2 * count), 0)
        tree, slot, suspicion = fields(doubles(table, 0), TREE, 1, 0), fields(work, slots, lanes, 0), 0.0
        states = word(pairs, 2 * count + 1) // order[1]
        for b in range(begin, end, lanes):
            first = min(b, end - lanes)
            fetch_states(pairs, count, first + lanes, lanes)
            views = rows_by_pairs(pairs, count, first, lanes)
            step(tree, work, 0, work, start, views)
            suspicion += suspect(tree, slot, views, rows_by_pairs(pairs, count, first, 1))
            spread(work, start, order, full, states, first, streamed != 0)
        return 1 if suspicion == 0.0 else 0

    return compiled_callback(run, _RANGE, f"{kernel.name}-full", lanes)


@functools.cache
def unpack_states(lanes: int = LANES) -> Callable[..., bool]:
    """run(memory, memory, begin, end, (packed, full), 0, places, streamed): full arrays from packed ones.

    ``memory`` has room for one packed block (`packed_room`); the rest as `full_states` wants it.
    """
    spread = spreader(lanes)

    def run(unused, memory, size, begin, end, pairs, start, places, streamed):
        work, packed, block = doubles(memory, size), doubles(word(pairs, 0), 0), word(pairs, 1)
        order, full = integers(places, 0), doubles(word(pairs, 2), 0)
        states = word(pairs, 3) // order[1]
        for b in range(begin, end, lanes):
            for k in range(block):
                work[k] = packed[b // lanes * block + k]
            spread(work, start, order, full, states, min(b, states - lanes), streamed != 0)
        return 1

    return range_call(compiled_callback(run, _RANGE, "unpack", lanes))


def packed_room(numbers: int, lanes: int) -> int:
    """Numbers of memory for as many packed ones, one that stays zero, and the chunks of `spreader`."""
    return lanes * (numbers + 1 + CHUNK)


@functools.cache
def single_state(kernel: Kernel) -> Any:
    """Machine code (memory, size, pairs) for one state; 0 if something is not finite.

    ``memory`` holds the model table, the workspace and what is packed (`single_memory`). Pairs tell inputs,
    outputs and, of kernels that pack, the full arrays. The GIL is kept, so that threads may share the memory.
    """
    slots, width, inputs, count = kernel.slots, TREE.width, kernel.inputs, kernel.inputs + kernel.outputs
    suspicion, step = kernel.suspicion or no_suspicion, _stepper(kernel, 1)
    look_before, look_after = doubt_of_rows(0, inputs, 1), doubt_of_rows(inputs, count, 1)
    spread = _spread_one if kernel.entries is not None else _nowhere

    def run(address, size, pairs):
        memory, views = doubles(address, size), rows_by_pairs(pairs, count, 0, 1)
        tree = fields(memory, TREE, 1, 0)
        start, place = ((tree.parent[-1] + 1) * width + 7) // 8 * 8, tree.first[-1]
        if look_before(views) != 0.0:
            return 0
        step(tree, memory, start, memory, place, views)
        if look_after(views) != 0.0 or not spread(memory, place, tree.carries[-1], pairs + 16 * count):
            return 0
        return 1 if suspicion(tree, fields(memory, slots, 1, start), *views[inputs:]) == 0.0 else 0

    return compiled_callback(run, _SINGLE, f"{kernel.name}-single")


@numba.extending.register_jitable(**PART)
def _spread_one(memory, place, count, pair):
    """The full arrays of one state, by the places that follow its packed numbers; whether all is finite."""
    order, out, apart = memory[place + count + 1 :].view(np.int64), doubles(word(pair, 0), 0), word(pair, 1)
    arrays, entries = order[0], order[1]
    for m in range(arrays):
        for k in range(entries):
            out[m * apart + k] = memory[place + order[2 + m * entries + k]]
    return doubt(memory, place, place + count) == 0.0


@numba.extending.register_jitable(**PART)
def _nowhere(memory, place, count, pair):
    return True


def single_memory(kernel: Kernel, tree: Tree) -> Array:
    """The model table, then the workspace, the packed results, a zero and their places, for one state."""
    table = tree_table(tree)
    start = (table.size + 7) // 8 * 8
    place = start + workspace_size(kernel, tree, 1)
    packed, order = 0, np.zeros(0, dtype=np.int64)
    if kernel.entries is not None:
        packed, order = kernel.entries.width * kernel.n_packed(tree), place_words(kernel, tree)
    memory = aligned(place + packed + 1 + order.size)
    memory[:] = 0.0
    memory[: table.size] = table.ravel()
    integers = memory.view(np.int64)
    integers[TREE.places["first"][0]], integers[TREE.places["carries"][0]] = place, packed
    integers[place + packed + 1 :] = order
    return memory
