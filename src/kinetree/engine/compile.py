"""The shapes of kernels, compiled: C functions of words that `code` hands out.

Words are addresses, numbers of states, and *pairs* (address, numbers per state) that tell arrays.
"""

from __future__ import annotations

from typing import Any

import numba
from numba import types

from kinetree.engine.lanes import fields
from kinetree.engine.lanes.blocks import doubt, spreader
from kinetree.engine.lanes.number import INLINE
from kinetree.engine.lanes.objects import doubles, integers, rows_by_pairs, word
from kinetree.engine.machine_code import compiled_callback
from kinetree.engine.trust import doubt_of_rows, excess_of_rows, no_suspicion, suspicion_of
from kinetree.kernels.layout import Kernel
from kinetree.kernels.model_table import TREE

ENDLESS = 1 << 60  # of arrays whose size is not needed
_SINGLE, _RANGE = types.intp(*[types.intp] * 3), types.intp(*[types.intp] * 9)


def many_body(name: str, kernel: Kernel, lanes: int, streamed: bool) -> Any:
    """The code of `many_states`."""
    step, suspect, slots = _stepper(kernel, lanes, streamed), suspicion_of(kernel, lanes), kernel.slots
    count, packs = kernel.inputs + kernel.outputs, kernel.entries is not None

    def run(table, memory, size, begin, end, pairs, unused, not_used, idle):
        work, out = doubles(memory, size), doubles(word(pairs, 2 * count) if packs else memory, ENDLESS)
        tree, slot, suspicion = (
            fields(doubles(table, ENDLESS), TREE, 1, 0),
            fields(work, slots, lanes, 0),
            0.0,
        )
        block = word(pairs, 2 * count + 1) if packs else 0
        for b in range(begin, end, lanes):
            first = min(b, end - lanes)
            views = rows_by_pairs(pairs, count, first, lanes)
            step(tree, work, 0, out, b // lanes * block, views)
            suspicion += suspect(tree, slot, views, rows_by_pairs(pairs, count, first, 1))
        return 1 if suspicion == 0.0 else 0

    return compiled_callback(run, _RANGE, name, lanes)


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


def full_body(name: str, kernel: Kernel, lanes: int) -> Any:
    """The code of `full_states`."""
    step, spread, slots = _stepper(kernel, lanes), spreader(lanes), kernel.slots
    suspect, count = suspicion_of(kernel, lanes), kernel.inputs + kernel.outputs

    def run(table, memory, size, begin, end, pairs, start, places, streamed):
        work, order, full = (
            doubles(memory, size),
            integers(places, ENDLESS),
            doubles(word(pairs, 2 * count), ENDLESS),
        )
        tree, slot, suspicion = (
            fields(doubles(table, ENDLESS), TREE, 1, 0),
            fields(work, slots, lanes, 0),
            0.0,
        )
        states = word(pairs, 2 * count + 1) // order[1]
        for b in range(begin, end, lanes):
            first = min(b, end - lanes)
            views = rows_by_pairs(pairs, count, first, lanes)
            step(tree, work, 0, work, start, views)
            suspicion += suspect(tree, slot, views, rows_by_pairs(pairs, count, first, 1))
            spread(work, start, order, full, states, first, streamed != 0)
        return 1 if suspicion == 0.0 else 0

    return compiled_callback(run, _RANGE, name, lanes)


def unpack_body(lanes: int) -> Any:
    """The code of `unpack_states`."""
    spread = spreader(lanes)

    def run(unused, memory, size, begin, end, pairs, start, places, streamed):
        work, packed, block = doubles(memory, size), doubles(word(pairs, 0), ENDLESS), word(pairs, 1)
        order, full = integers(places, ENDLESS), doubles(word(pairs, 2), ENDLESS)
        states = word(pairs, 3) // order[1]
        for b in range(begin, end, lanes):
            for k in range(block):
                work[k] = packed[b // lanes * block + k]
            spread(work, start, order, full, states, min(b, states - lanes), streamed != 0)
        return 1

    return compiled_callback(run, _RANGE, "unpack", lanes)


def single_body(name: str, kernel: Kernel) -> Any:
    """The code of `single_state`."""
    slots, width, inputs, count = kernel.slots, TREE.width, kernel.inputs, kernel.inputs + kernel.outputs
    suspicion, step = kernel.suspicion or no_suspicion, _stepper(kernel, 1)
    look_before, look_after = excess_of_rows(0, inputs, 1), doubt_of_rows(inputs, count, 1)
    spread = _spread_one if kernel.entries is not None else _nowhere

    def run(address, size, pairs):
        memory, views = doubles(address, size), rows_by_pairs(pairs, count, 0, 1)
        tree = fields(memory, TREE, 1, 0)
        start, place = ((tree.parent[-1] + 1) * width + 7) // 8 * 8, tree.first[-1]
        if look_before(views) != 0.0:
            return 0
        step(tree, memory, start, memory, place, views)
        if look_after(views) != 0.0 or not spread(
            address, memory, place, tree.carries[-1], pairs + 16 * count
        ):
            return 0
        return 1 if suspicion(tree, fields(memory, slots, 1, start), *views[inputs:]) == 0.0 else 0

    return compiled_callback(run, _SINGLE, name)


@numba.extending.register_jitable(**INLINE)
def _spread_one(address, memory, place, count, pair):
    """The full arrays of one state, by the places that follow its packed numbers; whether all is finite."""
    order, out, apart = (
        integers(address + 8 * (place + count + 1), ENDLESS),
        doubles(word(pair, 0), ENDLESS),
        word(pair, 1),
    )
    arrays, entries = order[0], order[1]
    for m in range(arrays):
        for k in range(entries):
            out[m * apart + k] = memory[place + order[2 + m * entries + k]]
    return doubt(memory, place, place + count) == 0.0


@numba.extending.register_jitable(**INLINE)
def _nowhere(address, memory, place, count, pair):
    return True
