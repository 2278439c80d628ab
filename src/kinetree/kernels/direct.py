"""Built-in functions that lead straight from Python into kernels.

numba's way in looks up the type of every argument, which takes longer than a kernel needs for one state of
an arm. These functions compare a few words of each array, hand its address on, and answer None to whatever
is not plain. Two kinds: `StateCall` makes the answer's array itself, for one state or some; `range_call` runs
a range of states into arrays that exist, without the GIL.

Arrays are NumPy's C structure, which its C interface publishes: data, rank, shape, strides, base, type, flags.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types
from numba.extending import register_jitable

from kinetree.kernels.machine_code import compiled_callback
from kinetree.kernels.lanes.number import INLINE
from kinetree.kernels.lanes.objects import ask, half_word, new_array, put_word, room, word
from kinetree.kernels.layout import LANES

_HEAD = object.__basicsize__ // 8  # words that every object starts with; the last is its type
_DATA, _RANK, _SHAPE, _DTYPE, _FLAGS = _HEAD, _HEAD + 1, _HEAD + 2, _HEAD + 5, _HEAD + 6
_PLAIN = 0x0101  # contiguous in C order, aligned
_ITEMS = tuple.__basicsize__ // 8  # where a tuple's items start
_FAST_CALL = 0x0080  # METH_FASTCALL: (self, arguments, count)
_NEW_ARRAY = 93  # of NumPy's table of functions
MOST = 16  # arrays that one call takes
_PAIR_WORDS = 2 * MOST
ENTRY = types.intp(types.intp, types.intp, types.intp)

# words that both kinds of function know
_NDARRAY, _FLOAT64, _NONE, _KEEP, _DROP, _NEW, _PACK, _COMMON = range(8)
# of a StateCall: machine code is 0 until there is some; sizes and shapes fill the rest
_SINGLE, _MEMORY, _SIZE, _MANY, _TABLE, _WORKSPACE, _ROOM, _START, _PLACES = range(_COMMON, _COMMON + 9)
_LIMIT, _INPUTS, _OUTPUTS, _EQUAL, _TOTAL, _FULL, _RANK_OF_FULL, _SHAPE_OF_FULL = range(
    _PLACES + 1, _PLACES + 9
)
_SIZES = _SHAPE_OF_FULL + 3
# of a range call
_BODY, _SAVE, _RESTORE, _INTEGER, _TRUE, _FALSE, _REFUSE, _TYPE_ERROR, _WHY = range(_COMMON, _COMMON + 9)
_alive: list[Any] = []  # machine code that functions lead to
_REASON = ctypes.create_string_buffer(b"kernels take contiguous arrays of float64")


class StateCall:
    """``call(*inputs)``: the answer for one plain state (n,) or for some, (states, n); otherwise None.

    None, too, where the answer needs a closer look or machine code is not there yet. The answer is an array
    (..., size) of the outputs; (outputs, ..., size) of several; flat, one after the other, if their sizes
    differ. With full arrays it is (outputs, full), or these alone: (..., *shape) or (arrays, ..., *shape).
    """

    def __init__(
        self, inputs: Sequence[int], outputs: Sequence[int], full: int, shape: Sequence[int], limit: int
    ) -> None:
        """Sizes of all inputs and outputs; how many full arrays, of which shape; states with the GIL."""
        self._words = words = np.zeros(_SIZES + MOST, dtype=np.int64)
        words[:_COMMON] = _common_words()
        words[[_LIMIT, _INPUTS, _OUTPUTS, _TOTAL]] = limit, len(inputs), len(outputs), sum(outputs)
        words[_EQUAL] = outputs[0] if len(set(outputs)) == 1 else 0
        words[_FULL], words[_RANK_OF_FULL] = full, len(shape)
        words[_SHAPE_OF_FULL : _SHAPE_OF_FULL + len(shape)] = shape
        words[_SIZES : _SIZES + len(inputs) + len(outputs)] = *inputs, *outputs
        self._kept: list[object] = []
        self.call: Callable[..., Any] = _built_in(_state_entry(), words)

    @property
    def knows_single(self) -> bool:
        """Whether there is machine code for single states."""
        return bool(self._words[_SINGLE])

    def take_single(self, body: Any, memory: Any) -> None:
        """Let single states be answered by body(memory, size of memory, pairs)."""
        self._kept += [body, memory]
        self._words[[_MEMORY, _SIZE]] = memory.ctypes.data, memory.size
        self._words[_SINGLE] = body.address

    def take_many(self, body: Any, table: Any, workspace: Any, start: int = 0, places: int = 0) -> None:
        """Let batches be answered by a body as `range_call` wants it."""
        self._kept += [body, table, workspace]
        self._words[[_TABLE, _WORKSPACE]] = table.ctypes.data, workspace.ctypes.data
        self._words[[_ROOM, _START, _PLACES]] = workspace.size, start, places
        self._words[_MANY] = body.address


def range_call(body: Any) -> Callable[..., bool]:
    """run(table, memory, begin, end, arrays, *three words) through a body of machine code, without the GIL.

    body(table, memory, size of memory, begin, end, pairs, *three words), where pairs are addresses and
    numbers per state of all arrays; TypeError for arrays that are not plain.
    """
    api, words = ctypes.pythonapi, np.zeros(_WHY + 1, dtype=np.int64)
    words[:_COMMON] = _common_words()
    words[_BODY] = body.address
    for place, function in (
        (_SAVE, api.PyEval_SaveThread),
        (_RESTORE, api.PyEval_RestoreThread),
        (_INTEGER, api.PyLong_AsSsize_t),
        (_REFUSE, api.PyErr_SetString),
    ):
        words[place] = _address(function)
    words[_TRUE], words[_FALSE], words[_TYPE_ERROR] = id(True), id(False), id(TypeError)
    words[_WHY] = ctypes.addressof(_REASON)
    _alive.append(body)
    return _built_in(_range_entry(), words)


# ---- in compiled code -------------------------------------------------------------------------------------
@register_jitable(**INLINE)
def _is_plain(context, array):
    if word(array, _HEAD - 1) != word(context, _NDARRAY):
        return False
    return word(array, _DTYPE) == word(context, _FLOAT64) and half_word(array, _FLAGS) & _PLAIN == _PLAIN


@register_jitable(**INLINE)
def _count_states(context, arguments, count):
    """How many states there are: -1 for one without a batch axis, 0 if they are not plain."""
    states = 0
    if count != word(context, _INPUTS):
        return 0
    for k in range(count):
        array = word(arguments, k)
        if not _is_plain(context, array):
            return 0
        rank, shape = half_word(array, _RANK), word(array, _SHAPE)
        if rank != 1 and rank != 2:
            return 0
        own = -1 if rank == 1 else word(shape, 0)
        if k > 0 and own != states or word(shape, rank - 1) != word(context, _SIZES + k):
            return 0
        states = own
    return states


@register_jitable(**INLINE)
def _can_answer(context, states):
    if states < LANES:
        return states != 0 and word(context, _SINGLE) != 0
    return word(context, _MANY) != 0 and states <= word(context, _LIMIT)


@register_jitable(**INLINE)
def _new(context, shape, rank):
    return new_array(word(context, _NEW), word(context, _NDARRAY), rank, shape)


@register_jitable(**INLINE)
def _new_outputs(context, states):
    """The array of all outputs: (outputs, states, size), the first two where there is more than one."""
    shape, rank, outputs, size = room(3), 0, word(context, _OUTPUTS), word(context, _EQUAL)
    if size == 0:
        put_word(shape, 0, word(context, _TOTAL) * max(states, 1))
        return _new(context, shape, 1)
    for length in (outputs if outputs > 1 else 0, states, size):
        if length > 0:
            put_word(shape, rank, length)
            rank += 1
    return _new(context, shape, rank)


@register_jitable(**INLINE)
def _new_full(context, states):
    """The full arrays: (arrays, states, *shape), the first two where there is more than one."""
    shape, rank, arrays = room(5), 0, word(context, _FULL)
    for length in (arrays if arrays > 1 else 0, states):
        if length > 0:
            put_word(shape, rank, length)
            rank += 1
    for k in range(word(context, _RANK_OF_FULL)):
        put_word(shape, rank, word(context, _SHAPE_OF_FULL + k))
        rank += 1
    return _new(context, shape, rank)


@register_jitable(**INLINE)
def _tell_pairs(context, pairs, arguments, answer, full, states):
    """Address and numbers per state of inputs and outputs, of the full arrays their numbers per array."""
    inputs, outputs, count = word(context, _INPUTS), word(context, _OUTPUTS), max(states, 1)
    place = word(answer, _DATA) if outputs > 0 else 0
    for k in range(inputs + outputs):
        size = word(context, _SIZES + k)
        if k < inputs:
            put_word(pairs, 2 * k, word(word(arguments, k), _DATA))
        else:
            put_word(pairs, 2 * k, place)
            place += 8 * size * count
        put_word(pairs, 2 * k + 1, size)
    if full != 0:
        entries = _size(context + 8 * _SHAPE_OF_FULL, 0, word(context, _RANK_OF_FULL))
        put_word(pairs, 2 * (inputs + outputs), word(full, _DATA))
        put_word(pairs, 2 * (inputs + outputs) + 1, entries * count)


@register_jitable(**INLINE)
def _is_answered(context, pairs, states):
    """Run the kernel; whether the answer can be trusted."""
    if states >= LANES:
        table, workspace, size = word(context, _TABLE), word(context, _WORKSPACE), word(context, _ROOM)
        start, places = word(context, _START), word(context, _PLACES)
        return ask(word(context, _MANY), (table, workspace, size, 0, states, pairs, start, places, 0)) != 0
    memory, size, single = word(context, _MEMORY), word(context, _SIZE), word(context, _SINGLE)
    arrays, last = word(context, _INPUTS) + word(context, _OUTPUTS), max(states, 1) - 1
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
    ask(word(context, _KEEP), (thing,))
    return thing


@register_jitable(**INLINE)
def _drop(context, thing):
    if thing != 0:
        ask(word(context, _DROP), (thing,))


@register_jitable(**INLINE)
def _size(shape, first, rank):
    """The product of a shape from an axis on."""
    size = 1
    for k in range(first, rank):
        size *= word(shape, k)
    return size


@functools.cache
def _state_entry() -> Any:
    def enter(self, arguments, count):
        context = word(self, _DATA)
        states = _count_states(context, arguments, count)
        if not _can_answer(context, states):
            return _kept(context, word(context, _NONE))
        has_outputs, has_full = word(context, _OUTPUTS) > 0, word(context, _FULL) > 0
        answer = _new_outputs(context, states) if has_outputs else 0
        full = _new_full(context, states) if has_full else 0
        pairs, is_good = room(_PAIR_WORDS), True
        if (has_outputs and answer == 0) or (has_full and full == 0):  # no memory
            _drop(context, answer)
            _drop(context, full)
            return 0
        _tell_pairs(context, pairs, arguments, answer, full, states)
        is_good = _is_answered(context, pairs, states)
        if is_good and not has_full:
            return answer
        if is_good and not has_outputs:
            return full
        both = (
            ask(word(context, _PACK), (2, answer, full)) if is_good else _kept(context, word(context, _NONE))
        )
        _drop(context, answer)
        _drop(context, full)
        return both

    return compiled_callback(enter, ENTRY, "state-entry")


@functools.cache
def _range_entry() -> Any:
    def enter(self, arguments, count):
        context, arrays, integer = word(self, _DATA), word(arguments, 4), word(word(self, _DATA), _INTEGER)
        pairs, extra, how_many = room(_PAIR_WORDS), room(3), word(arrays, _ITEMS - 1)
        is_good = how_many <= MOST and count <= 8
        for k in range(how_many + 2 if is_good else 0):  # the table and the memory come first
            array = word(arguments, k) if k < 2 else word(arrays, _ITEMS + k - 2)
            if not _is_plain(context, array):
                is_good = False
                break
            if k >= 2:
                put_word(pairs, 2 * k - 4, word(array, _DATA))
                size = _size(word(array, _SHAPE), 1, half_word(array, _RANK))
                put_word(pairs, 2 * k - 3, size)
        if not is_good:
            ask(word(context, _REFUSE), (word(context, _TYPE_ERROR), word(context, _WHY)))
            return 0
        for k in range(3):
            put_word(extra, k, ask(integer, (word(arguments, 5 + k),)) if count > 5 + k else 0)
        begin, end = ask(integer, (word(arguments, 2),)), ask(integer, (word(arguments, 3),))
        table, memory = word(word(arguments, 0), _DATA), word(word(arguments, 1), _DATA)
        size = _size(word(word(arguments, 1), _SHAPE), 0, half_word(word(arguments, 1), _RANK))
        thread = ask(word(context, _SAVE), ())
        words = (table, memory, size, begin, end, pairs, word(extra, 0), word(extra, 1), word(extra, 2))
        answer = ask(word(context, _BODY), words)
        ask(word(context, _RESTORE), (thread,))
        return _kept(context, word(context, _TRUE if answer != 0 else _FALSE))

    return compiled_callback(enter, ENTRY, "range-entry")


# ---- from the interpreter ---------------------------------------------------------------------------------
class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@functools.cache
def _method(address: int) -> _Method:
    return _Method(b"kernel", address, _FAST_CALL, None)


def _built_in(entry: Any, words: Any) -> Callable[..., Any]:
    """A built-in function whose `self` is an array of words."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    function: Callable[..., Any] = make(ctypes.addressof(_method(entry.address)), words, None)
    return function


def _common_words() -> list[int]:
    api = ctypes.pythonapi
    keep, drop, pack = (_address(function) for function in (api.Py_IncRef, api.Py_DecRef, api.PyTuple_Pack))
    new = _numpy_function(_NEW_ARRAY)
    return [id(np.ndarray), id(np.dtype(np.float64)), id(None), keep, drop, new, pack]


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@functools.cache
def _numpy_function(place: int) -> int:
    """The address of a function of NumPy's C interface."""
    try:
        from numpy._core import _multiarray_umath as numpy_core
    except ImportError:  # NumPy 1
        from numpy.core import _multiarray_umath as numpy_core  # type: ignore[no-redef]
    table = ctypes.pythonapi.PyCapsule_GetPointer
    table.restype, table.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(table(numpy_core._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))[place] or 0
