"""Functions as machine code, made for one signature on first use and kept on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.ccallback import CFunc

from kinetree.engine.array_functions import load_array_functions
from kinetree.engine.lanes import FLAGS, register_all
from kinetree.engine.lanes.number import PART
from kinetree.engine.lanes.objects import arguments_of
from kinetree.engine.numba_cache import cached
from kinetree.engine.pipeline import OuterCompiler
from kinetree.engine.stored_code import stored_or_made
from kinetree.engine.word_call import ArrayKind

load_array_functions()
_OPTIONS = {"error_model": "numpy", "fastmath": set(FLAGS)}


def compiled_function(function: Callable[..., Any], signature: list[Any], name: str) -> Callable[..., Any]:
    """A plain function of floats and arrays as machine code that runs without the GIL.

    It may not allocate: its arrays are not counted, which would cost more than many a short helper does.
    """
    register_all()
    dispatcher = numba.njit(nogil=True, _nrt=False, pipeline_class=OuterCompiler, **_OPTIONS)(function)
    with cached(dispatcher, function, name, 1, function.__code__.co_filename):
        dispatcher.compile(tuple(signature))
    dispatcher.disable_compile()
    return dispatcher


def compiled_callback(
    function: Callable[..., Any], signature: Any, name: str, lanes: int = 1, source: str | None = None
) -> Any:
    """A function as a C callback: ``.address`` is where it starts, for as long as the object lives.

    The signature is numba's, for example ``int64(float64, CPointer(float64), CPointer(float64))``. It does
    without numba's counting of arrays, so that the code is kept for processes that have not imported numba.
    ``source`` is the file that it comes from, if that is not the function's.
    """
    place = source or function.__code__.co_filename
    kind = (signature.args, signature.return_type)

    def make() -> Any:
        register_all()
        options = {"nopython": True, "_nrt": False, **_OPTIONS}
        callback: Any = CFunc(function, kind, locals={}, options=options, pipeline_class=OuterCompiler)
        with cached(callback, function, name, lanes, place):
            callback.compile()
        return callback

    return stored_or_made(name, lanes, make, place)


def compiled_words(function: Callable[..., int], kinds: Sequence[ArrayKind], integers: int, name: str) -> Any:
    """A function of arrays and then integers, which answers an integer, as the body of a `WordCall`."""
    arrays = [types.Array(numba.from_dtype(np.dtype(kind.element)), kind.rank, "C") for kind in kinds]
    arguments = arguments_of([*arrays, *[types.intp] * integers])
    inner = numba.extending.register_jitable(**{**PART, "_nrt": False})(function)

    def run(words):
        return inner(*arguments(words))

    return compiled_callback(run, types.intp(types.intp), name, source=function.__code__.co_filename)
