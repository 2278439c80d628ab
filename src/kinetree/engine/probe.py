"""Whether Python's and NumPy's objects lie in memory as direct calls read them: probed, never assumed.

The compiled side of direct calls finds an array's type, data, rank, shape, kind and flags, and the items of a
tuple, at the places that `call_words` names. Here the same places of a few objects are compared with what
Python and NumPy say themselves. If anything differs, direct calls stay off and calls take the ordinary way.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import sys
from typing import Any

import numpy as np

from kinetree.engine import call_words as at

SWITCH = "KINETREE_DIRECT"  # "0" turns direct calls off
NEW_ARRAY = 93  # PyArray_New in NumPy's table of functions
_VERSION, _ARRAY_TYPE = 0, 2  # other entries of the table
_KNOWN_VERSIONS = (0x01000009, 0x02000000)  # binary interfaces of NumPy 1 and 2
_FLOAT64 = 12  # NumPy's number of the type
_COMMON_FLAGS = 0xFFFF  # those that NumPy publishes
_POINTER_OF = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


@functools.cache
def why_not_direct() -> str | None:
    """Why direct calls cannot be used in this process; None if they can."""
    if os.environ.get(SWITCH) == "0":
        return f"{SWITCH} is 0"
    return layout_fault()


def layout_fault() -> str | None:
    """The first place that is not where direct calls would look for it; None if all are."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return "direct calls need CPython with words of 8 bytes"
    try:
        return _fault_of_headers() or _fault_of_arrays() or _fault_of_tuples() or _fault_of_functions()
    except Exception as error:  # whatever is missing, the ordinary way is there
        return f"the layout of objects cannot be looked at: {error!r}"


def numpy_function(place: int) -> int:
    """The address in an entry of NumPy's table of C functions."""
    return _numpy_table()[place] or 0


@functools.cache
def _numpy_table() -> Any:
    try:
        core = importlib.import_module("numpy._core._multiarray_umath")
    except ImportError:  # NumPy 1
        core = importlib.import_module("numpy.core._multiarray_umath")
    return ctypes.cast(_POINTER_OF(core._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))


def _word(address: int, k: int) -> int:
    return ctypes.c_int64.from_address(address + 8 * k).value


def _half_word(address: int, k: int) -> int:
    return ctypes.c_int32.from_address(address + 8 * k).value


def _fault_of_headers() -> str | None:
    for thing in (np.zeros(1), (1, 2), 1.5, np.float64, None):
        kind: Any = type(thing)
        place = at.HEAD - 1
        if not 0 <= place < kind.__basicsize__ // 8 or _word(id(thing), place) != id(kind):
            return f"the type of a {kind.__name__} is not in word {place}"
    return None


def _fault_of_arrays() -> str | None:
    last, square = np.ndarray.__basicsize__ // 8, np.arange(6.0).reshape(2, 3)
    if not max(at.DATA, at.RANK, at.SHAPE, at.SHAPE + 1, at.DTYPE, at.FLAGS) < last:
        return f"an array has only {last} words"
    single, unaligned = np.zeros((2, 1, 3), np.float32), np.frombuffer(bytes(17), np.uint8)[1:].view(float)
    for x in (square, square.T, square[:, ::2], square[1], np.array(1.0), single, unaligned):
        address, flags = id(x), x.flags.num
        if _word(address, at.DATA) != x.__array_interface__["data"][0]:
            return f"the data of an array are not in word {at.DATA}"
        if _half_word(address, at.RANK) != x.ndim:
            return f"the rank of an array is not in word {at.RANK}"
        if _word(address, at.DTYPE) != id(x.dtype):
            return f"the kind of an array is not in word {at.DTYPE}"
        if (_half_word(address, at.FLAGS) ^ flags) & _COMMON_FLAGS:
            return f"the flags of an array are not in word {at.FLAGS}"
        if (flags & at.PLAIN == at.PLAIN) != (x.flags.c_contiguous and x.flags.aligned):
            return f"the flags {at.PLAIN:#x} do not tell contiguous and aligned arrays"
        if x.ndim:
            shape, strides = _word(address, at.SHAPE), _word(address, at.SHAPE + 1)
            if shape == 0 or strides != shape + 8 * x.ndim:  # only then is it safe to follow them
                return f"the shape of an array is not in word {at.SHAPE}"
            found = tuple(_word(shape, k) for k in range(2 * x.ndim))
            if found != (*x.shape, *x.strides):
                return f"the shape of an array is not behind word {at.SHAPE}"
    return None


def _fault_of_tuples() -> str | None:
    things: tuple[object, ...] = (object(), [], 2.5)
    if at.ITEMS != tuple.__basicsize__ // 8 or not 0 < at.HEAD < at.ITEMS:
        return f"the items of a tuple do not start at word {at.ITEMS}"
    if _word(id(things), at.HEAD) != len(things):
        return f"the length of a tuple is not in word {at.HEAD}"
    if any(_word(id(things), at.ITEMS + k) != id(x) for k, x in enumerate(things)):
        return f"the items of a tuple are not at word {at.ITEMS}"
    return None


def _fault_of_functions() -> str | None:
    table = _numpy_table()
    version = ctypes.PYFUNCTYPE(ctypes.c_uint)(table[_VERSION])()
    if version not in _KNOWN_VERSIONS or table[_ARRAY_TYPE] != id(np.ndarray):
        return f"NumPy's binary interface {version:#x} is not known"
    thing = object()
    before = sys.getrefcount(thing)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    held = sys.getrefcount(thing)
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(thing))
    if (held, sys.getrefcount(thing)) != (before + 1, before):
        return "references are not counted one by one"
    word, number = ctypes.c_void_p, ctypes.c_int
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, number, word, number, word, word, number, number, word
    )(table[NEW_ARRAY])
    shape = (ctypes.c_int64 * 2)(2, 3)
    made = make(np.ndarray, 2, ctypes.addressof(shape), _FLOAT64, None, None, 0, 0, None)
    if type(made) is not np.ndarray or made.shape != (2, 3) or made.dtype != np.float64:
        return "NumPy makes other arrays than it is asked for"
    return None
