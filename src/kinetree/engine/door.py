"""The one door to the compiler: types, decorators and the two ways to make machine code.

Other rooms write compiled code with the names below and import neither numba nor LLVM. A function that is
called by compiled code is marked ``inline`` (its code is copied into the caller), ``part`` (it is called),
``helper`` (it is called, and arrays are not counted) or ``in_any_order`` (a helper whose sums may be taken in
any order, as vectors). ``compiled_function`` makes a function for Python, ``compiled_callback`` one with a C
interface, ``compiled_words`` the body of a `WordCall`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import from_dtype, types
from numba.extending import register_jitable

from kinetree.engine.lanes.number import FLAGS, INLINE, PART
from kinetree.engine.lanes.objects import carray
from kinetree.engine.machine_code import compiled_callback, compiled_function, compiled_words

__all__ = [
    "BOOLEAN", "COMPLEX", "FLOAT", "INTEGER", "NUMBERS", "array_type", "carray", "compiled_callback",
    "compiled_function", "compiled_words", "helper", "in_any_order", "inline", "part", "record_array",
    "tuple_type",
]  # fmt: skip

FLOAT, COMPLEX, INTEGER, BOOLEAN = types.float64, types.complex128, types.int64, types.boolean
NUMBERS = types.CPointer(FLOAT)  # the address of floats; ``carray(pointer, shape)`` sees them as an array

_UNCOUNTED = {
    **PART,
    "_nrt": False,
}  # nothing is allocated: counting references costs more than a short helper
inline = register_jitable(**INLINE)
part = register_jitable(**PART)
helper = register_jitable(**_UNCOUNTED)
in_any_order = register_jitable(**{**_UNCOUNTED, "fastmath": {*FLAGS, "reassoc"}})


def array_type(kind: Any, rank: int, order: str = "C", *, readonly: bool = False) -> Any:
    """The type of arrays with that many axes; order "C" is contiguous, "A" has any strides."""
    return types.Array(kind, rank, order, readonly=readonly)


def record_array(dtype: np.dtype[Any]) -> Any:
    """The type of a contiguous array of records."""
    return types.Array(from_dtype(dtype), 1, "C")


def tuple_type(kind: Any, count: int) -> Any:
    """The type of a tuple of equal kinds."""
    return types.UniTuple(kind, count)
