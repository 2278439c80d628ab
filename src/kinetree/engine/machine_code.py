"""Functions as machine code, made for one signature on first use and kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core.ccallback import CFunc

from kinetree.engine.array_functions import load_array_functions
from kinetree.engine.lanes import FLAGS, register_all
from kinetree.engine.numba_cache import cached
from kinetree.engine.pipeline import OuterCompiler

load_array_functions()
_OPTIONS = {"error_model": "numpy", "fastmath": set(FLAGS)}


def compiled_function(function: Callable[..., Any], signature: list[Any], name: str) -> Callable[..., Any]:
    """A plain function of floats and arrays as machine code that runs without the GIL.

    It may not allocate: its arrays are not counted, which would cost more than many a short helper does.
    """
    register_all()
    dispatcher = numba.njit(nogil=True, _nrt=False, pipeline_class=OuterCompiler, **_OPTIONS)(function)
    with cached(dispatcher, function, name, 1):
        dispatcher.compile(tuple(signature))
    dispatcher.disable_compile()
    return dispatcher


def compiled_callback(
    function: Callable[..., Any], signature: Any, name: str, lanes: int = 1, *, alone: bool = False
) -> Any:
    """A function as a C callback: ``.address`` is where it starts, for as long as the object lives.

    The signature is numba's, for example ``int64(float64, CPointer(float64), CPointer(float64))``. ``alone``
    does without numba's counting of arrays, so that the code can be kept without numba.
    """
    register_all()
    kind = (signature.args, signature.return_type)
    options = {"nopython": True, "_nrt": not alone, **_OPTIONS}
    callback: Any = CFunc(function, kind, locals={}, options=options, pipeline_class=OuterCompiler)
    with cached(callback, function, name, lanes):
        callback.compile()
    return callback
