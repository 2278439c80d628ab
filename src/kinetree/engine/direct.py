"""Built-in functions that lead straight from Python into kernels.

numba's way in looks up the type of every argument, which takes longer than a kernel needs for one state of
an arm. These functions compare a few words of each array, hand its address on, and answer None to whatever
is not plain. Two kinds: `StateCall` makes the answer's array itself, for one state or some; `range_call` runs
a range of states into arrays that exist, without the GIL.

Objects are read by address, so `probe` looks first whether they lie as expected. If not, or if the variable
KINETREE_DIRECT is 0, a `StateCall` answers None to everything and a `range_call` goes through ctypes: slower,
the same numbers.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinetree.engine import call_words as at
from kinetree.engine.probe import NEW_ARRAY, numpy_function, why_not_direct
from kinetree.engine.stored_code import stored_or_made

_FAST_CALL = 0x0080  # METH_FASTCALL: (self, arguments, count)
_REFUSAL = "kernels take contiguous arrays of float64"
_REASON = ctypes.create_string_buffer(_REFUSAL.encode())
_NEW_FUNCTION = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)
_RANGE_BODY = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 9)  # ctypes lets go of the GIL


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
        self._words = words = np.zeros(at.SIZES + at.MOST, dtype=np.int64)
        self._kept: list[object] = []
        self._is_off = why_not_direct() is not None
        if self._is_off:
            self.call: Callable[..., Any] = _no_answer
            return
        words[: at.COMMON] = _common_words()
        words[[at.LIMIT, at.INPUTS, at.OUTPUTS, at.TOTAL]] = limit, len(inputs), len(outputs), sum(outputs)
        words[at.EQUAL] = outputs[0] if len(set(outputs)) == 1 else 0
        words[at.FULL], words[at.RANK_OF_FULL] = full, len(shape)
        words[at.SHAPE_OF_FULL : at.SHAPE_OF_FULL + len(shape)] = shape
        words[at.SIZES : at.SIZES + len(inputs) + len(outputs)] = *inputs, *outputs
        self.call = _built_in(_state_entry(), words, self._kept)

    @property
    def knows_single(self) -> bool:
        """Whether machine code for single states is there, or would never be asked."""
        return self._is_off or bool(self._words[at.SINGLE])

    @property
    def knows_many(self) -> bool:
        """Whether machine code for batches is there, or would never be asked."""
        return self._is_off or bool(self._words[at.MANY])

    def take_single(self, body: Any, memory: Any) -> None:
        """Let single states be answered by body(memory, size of memory, pairs)."""
        self._kept += [body, memory]
        self._words[[at.MEMORY, at.SIZE]] = memory.ctypes.data, memory.size
        self._words[at.SINGLE] = body.address

    def take_many(self, body: Any, table: Any, workspace: Any, start: int = 0, places: int = 0) -> None:
        """Let batches be answered by a body as `range_call` wants it."""
        self._kept += [body, table, workspace]
        self._words[[at.TABLE, at.WORKSPACE]] = table.ctypes.data, workspace.ctypes.data
        self._words[[at.ROOM, at.START, at.PLACES]] = workspace.size, start, places
        self._words[at.MANY] = body.address


def range_call(body: Any) -> Callable[..., bool]:
    """run(table, memory, begin, end, arrays, *three words) through a body of machine code, without the GIL.

    body(table, memory, size of memory, begin, end, pairs, *three words), where pairs are addresses and
    numbers per state of all arrays; TypeError for arrays that are not plain.
    """
    if why_not_direct() is not None:
        return _ordinary_range_call(body)
    api, words = ctypes.pythonapi, np.zeros(at.WHY + 1, dtype=np.int64)
    words[: at.COMMON] = _common_words()
    words[at.BODY] = body.address
    for place, function in (
        (at.SAVE, api.PyEval_SaveThread),
        (at.RESTORE, api.PyEval_RestoreThread),
        (at.INTEGER, api.PyLong_AsSsize_t),
        (at.REFUSE, api.PyErr_SetString),
    ):
        words[place] = _address(function)
    words[at.TRUE], words[at.FALSE], words[at.TYPE_ERROR] = id(True), id(False), id(TypeError)
    words[at.WHY] = ctypes.addressof(_REASON)
    return _built_in(_range_entry(), words, [body])


def _no_answer(*inputs: object) -> None:
    """What a `StateCall` says where direct calls are off."""


def _ordinary_range_call(body: Any) -> Callable[..., bool]:
    """A `range_call` by ctypes, which asks Python and NumPy for all it needs to know."""
    function = _RANGE_BODY(body.address)

    def run(table: Any, memory: Any, begin: int, end: int, arrays: tuple[Any, ...], *words: int) -> bool:
        if len(arrays) > at.MOST or len(words) > 3 or not all(map(_is_plain, (table, memory, *arrays))):
            raise TypeError(_REFUSAL)
        pairs = np.array([(x.ctypes.data, math.prod(x.shape[1:])) for x in arrays], dtype=np.int64)
        extra = (*map(int, words), 0, 0, 0)[:3]
        places = table.ctypes.data, memory.ctypes.data, memory.size
        return bool(function(*places, begin, end, pairs.ctypes.data, *extra))

    run.body = body  # type: ignore[attr-defined]  # lives as long as it may be called
    return run


def _is_plain(x: Any) -> bool:
    return type(x) is np.ndarray and x.dtype == np.float64 and x.flags.c_contiguous and x.flags.aligned


@functools.cache
def _state_entry() -> Any:
    def make() -> Any:
        from kinetree.engine.direct_code import state_entry

        return state_entry()

    return stored_or_made("state-entry", 1, make)


@functools.cache
def _range_entry() -> Any:
    def make() -> Any:
        from kinetree.engine.direct_code import range_entry

        return range_entry()

    return stored_or_made("range-entry", 1, make)


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@functools.cache
def _method(entry: Any) -> _Method:
    """How Python calls machine code, which lives as long."""
    return _Method(b"kernel", entry.address, _FAST_CALL, None)


def _built_in(entry: Any, words: Any, kept: list[Any]) -> Callable[..., Any]:
    """A built-in function whose `self` is an array of words, and which keeps alive what they point to."""
    function: Callable[..., Any] = _NEW_FUNCTION(ctypes.addressof(_method(entry)), words, kept)
    return function


def _common_words() -> list[int]:
    api = ctypes.pythonapi
    functions = (api.Py_IncRef, api.Py_DecRef, api.PyTuple_New, api.PyTuple_SetItem)
    known = [id(np.ndarray), id(np.dtype(np.float64)), id(None), numpy_function(NEW_ARRAY)]
    return [*known, *(_address(function) for function in functions)]


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
