"""The compiled side of direct calls: Python's objects in, kernels run, an object out."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import register_jitable

from kinetree.engine.call_words import (
    BODY,
    DATA,
    DROP,
    DTYPE,
    EQUAL,
    FALSE,
    FLAGS,
    FLOAT64,
    FULL,
    HEAD,
    INPUTS,
    INTEGER,
    ITEMS,
    KEEP,
    LIMIT,
    MANY,
    MEMORY,
    MOST,
    NDARRAY,
    NEW,
    NEW_TUPLE,
    NONE,
    OUTPUTS,
    PAIR_WORDS,
    PLACES,
    PLAIN,
    RANK,
    RANK_OF_FULL,
    REFUSE,
    RESTORE,
    ROOM,
    SAVE,
    SET_ITEM,
    SHAPE,
    SHAPE_OF_FULL,
    SINGLE,
    SIZE,
    SIZES,
    START,
    TABLE,
    TOTAL,
    TRUE,
    TYPE_ERROR,
    WHY,
    WORKSPACE,
)
from kinetree.engine.lanes.number import INLINE
from kinetree.engine.lanes.objects import ask, half_word, new_array, put_word, room, word
from kinetree.engine.machine_code import compiled_callback
from kinetree.kernels.number import LANES

ENTRY = types.intp(types.intp, types.intp, types.intp)


@register_jitable(**INLINE)
def _is_plain(context, array):
    if word(array, HEAD - 1) != word(context, NDARRAY):
        return False
    return word(array, DTYPE) == word(context, FLOAT64) and half_word(array, FLAGS) & PLAIN == PLAIN


@register_jitable(**INLINE)
def _count_states(context, arguments, count):
    """How many states there are: -1 for one without a batch axis, 0 if they are not plain."""
    states = 0
    if count != word(context, INPUTS):
        return 0
    for k in range(count):
        array = word(arguments, k)
        if not _is_plain(context, array):
            return 0
        rank, shape = half_word(array, RANK), word(array, SHAPE)
        if rank != 1 and rank != 2:
            return 0
        own = -1 if rank == 1 else word(shape, 0)
        if (k > 0 and own != states) or word(shape, rank - 1) != word(context, SIZES + k):
            return 0
        states = own
    return states


@register_jitable(**INLINE)
def _can_answer(context, states):
    if states < LANES:
        return states != 0 and word(context, SINGLE) != 0
    return word(context, MANY) != 0 and states <= word(context, LIMIT)


@register_jitable(**INLINE)
def _new(context, shape, rank):
    return new_array(word(context, NEW), word(context, NDARRAY), rank, shape)


@register_jitable(**INLINE)
def _new_outputs(context, states):
    """The array of all outputs: (outputs, states, size), the first two where there is more than one."""
    shape, rank, outputs, size = room(3), 0, word(context, OUTPUTS), word(context, EQUAL)
    if size == 0:
        put_word(shape, 0, word(context, TOTAL) * max(states, 1))
        return _new(context, shape, 1)
    for length in (outputs if outputs > 1 else 0, states, size):
        if length > 0:
            put_word(shape, rank, length)
            rank += 1
    return _new(context, shape, rank)


@register_jitable(**INLINE)
def _new_full(context, states):
    """The full arrays: (arrays, states, *shape), the first two where there is more than one."""
    shape, rank, arrays = room(5), 0, word(context, FULL)
    for length in (arrays if arrays > 1 else 0, states):
        if length > 0:
            put_word(shape, rank, length)
            rank += 1
    for k in range(word(context, RANK_OF_FULL)):
        put_word(shape, rank, word(context, SHAPE_OF_FULL + k))
        rank += 1
    return _new(context, shape, rank)


@register_jitable(**INLINE)
def _tell_pairs(context, pairs, arguments, answer, full, states):
    """Address and numbers per state of inputs and outputs, of the full arrays their numbers per array."""
    inputs, outputs, count = word(context, INPUTS), word(context, OUTPUTS), max(states, 1)
    place = word(answer, DATA) if outputs > 0 else 0
    for k in range(inputs + outputs):
        size = word(context, SIZES + k)
        if k < inputs:
            put_word(pairs, 2 * k, word(word(arguments, k), DATA))
        else:
            put_word(pairs, 2 * k, place)
            place += 8 * size * count
        put_word(pairs, 2 * k + 1, size)
    if full != 0:
        entries = _size(context + 8 * SHAPE_OF_FULL, 0, word(context, RANK_OF_FULL))
        put_word(pairs, 2 * (inputs + outputs), word(full, DATA))
        put_word(pairs, 2 * (inputs + outputs) + 1, entries * count)


@register_jitable(**INLINE)
def _is_answered(context, pairs, states):
    """Run the kernel; whether the answer can be trusted."""
    if states >= LANES:
        table, workspace, size = word(context, TABLE), word(context, WORKSPACE), word(context, ROOM)
        start, places = word(context, START), word(context, PLACES)
        return ask(word(context, MANY), (table, workspace, size, 0, states, pairs, start, places, 0)) != 0
    memory, size, single = word(context, MEMORY), word(context, SIZE), word(context, SINGLE)
    arrays, last = word(context, INPUTS) + word(context, OUTPUTS), max(states, 1) - 1
    for state in range(last + 1):
        if ask(single, (memory, size, pairs)) == 0:
            return False
        if state < last:
            for k in range(arrays):
                put_word(pairs, 2 * k, word(pairs, 2 * k) + 8 * word(pairs, 2 * k + 1))
            put_word(pairs, 2 * arrays, word(pairs, 2 * arrays) + 8 * word(pairs, 2 * arrays + 1) // states)
    return True


@register_jitable(**INLINE)
def _kept(context, thing):
    """An object with one more reference, as answers need it."""
    ask(word(context, KEEP), (thing,))
    return thing


@register_jitable(**INLINE)
def _drop(context, thing):
    if thing != 0:
        ask(word(context, DROP), (thing,))


@register_jitable(**INLINE)
def _size(shape, first, rank):
    """The product of a shape from an axis on."""
    size = 1
    for k in range(first, rank):
        size *= word(shape, k)
    return size


def state_entry() -> Any:
    """(self, arguments, count) of a `StateCall`."""

    def enter(self, arguments, count):
        context = word(self, DATA)
        states = _count_states(context, arguments, count)
        if not _can_answer(context, states):
            return _kept(context, word(context, NONE))
        has_outputs, has_full = word(context, OUTPUTS) > 0, word(context, FULL) > 0
        answer = _new_outputs(context, states) if has_outputs else 0
        pairs, full = room(PAIR_WORDS), 0
        if has_outputs and answer == 0:  # no memory
            return 0
        if has_full:
            full = _new_full(context, states)
            if full == 0:
                _drop(context, answer)
                return 0
        _tell_pairs(context, pairs, arguments, answer, full, states)
        is_good = _is_answered(context, pairs, states)
        if is_good and not has_full:
            return answer
        if is_good and not has_outputs:
            return full
        both = ask(word(context, NEW_TUPLE), (2,)) if is_good else _kept(context, word(context, NONE))
        if is_good and both != 0:
            ask(word(context, SET_ITEM), (both, 0, answer))
            ask(word(context, SET_ITEM), (both, 1, full))
            return both
        _drop(context, answer)
        _drop(context, full)
        return both

    return compiled_callback(enter, ENTRY, "state-entry")


def range_entry() -> Any:
    """(self, arguments, count) of a `range_call`."""

    def enter(self, arguments, count):
        context, arrays, integer = word(self, DATA), word(arguments, 4), word(word(self, DATA), INTEGER)
        pairs, extra, how_many = room(PAIR_WORDS), room(3), word(arrays, HEAD)
        is_good = how_many <= MOST and 5 <= count <= 8
        for k in range(how_many + 2 if is_good else 0):  # the table and the memory come first
            array = word(arguments, k) if k < 2 else word(arrays, ITEMS + k - 2)
            if not _is_plain(context, array):
                is_good = False
                break
            if k >= 2:
                put_word(pairs, 2 * k - 4, word(array, DATA))
                size = _size(word(array, SHAPE), 1, half_word(array, RANK))
                put_word(pairs, 2 * k - 3, size)
        if not is_good:
            ask(word(context, REFUSE), (word(context, TYPE_ERROR), word(context, WHY)))
            return 0
        for k in range(3):
            put_word(extra, k, ask(integer, (word(arguments, 5 + k),)) if count > 5 + k else 0)
        begin, end = ask(integer, (word(arguments, 2),)), ask(integer, (word(arguments, 3),))
        table, memory = word(word(arguments, 0), DATA), word(word(arguments, 1), DATA)
        size = _size(word(word(arguments, 1), SHAPE), 0, half_word(word(arguments, 1), RANK))
        thread = ask(word(context, SAVE), ())
        words = (table, memory, size, begin, end, pairs, word(extra, 0), word(extra, 1), word(extra, 2))
        answer = ask(word(context, BODY), words)
        ask(word(context, RESTORE), (thread,))
        return _kept(context, word(context, TRUE if answer != 0 else FALSE))

    return compiled_callback(enter, ENTRY, "range-entry")
