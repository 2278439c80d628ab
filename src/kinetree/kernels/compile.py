"""Kernels as machine code: two shapes of each, compiled on first use and cached on disk.

``single_state`` runs one state with the lowest latency; ``many_states`` runs blocks of lanes. numba's own
cache key is blind to edits in helper files and to the lane count, so each cache folder carries a stamp of
everything that shapes the code.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
from numba import types

from kinetree.kernels.lanes import FLAGS, fields, register_all, rows
from kinetree.kernels.layout import TREE, Kernel
from kinetree.kernels.number import lanewise

LANES = 4
SOURCES = Path(__file__).parent
CACHE_VARIABLE = "KINETREE_CACHE_DIR"
_MATRIX, _VECTOR = types.Array(types.float64, 2, "C"), types.Array(types.float64, 1, "C")
_BLOCKS = types.Array(types.float64, 4, "C")
_OPTIONS = {"error_model": "numpy", "fastmath": set(FLAGS)}


@functools.cache
def many_states(kernel: Kernel, lanes: int = LANES) -> Callable[..., None]:
    """run(table, scratch, begin, end, arrays[, packed]) for states begin..end of arrays (batch, k).

    At least `lanes` states; the last block overlaps its predecessor when their number is no multiple.
    """
    function, slots, entries = kernel.function, kernel.slots, kernel.entries

    def run(table, scratch, begin, end, arrays):
        tree, work = fields(table, TREE, 1, 0), fields(scratch, slots, lanes, 0)
        for b in range(begin, end, lanes):
            function(tree, work, *rows(arrays, min(b, end - lanes), lanes))

    def run_packed(table, scratch, begin, end, arrays, packed):
        tree, work = fields(table, TREE, 1, 0), fields(scratch, slots, lanes, 0)
        size = packed.shape[1] * packed.shape[2] * packed.shape[3]
        for b in range(begin, end, lanes):
            out = fields(packed, entries, lanes, b // lanes * size)
            function(tree, work, out, *rows(arrays, min(b, end - lanes), lanes))

    arrays = types.UniTuple(_MATRIX, kernel.inputs + kernel.outputs)
    signature = [_MATRIX, _VECTOR, types.intp, types.intp, arrays]
    if entries is not None:
        return _compiled(run_packed, [*signature, _BLOCKS], kernel, lanes, nogil=True)
    return _compiled(run, signature, kernel, lanes, nogil=True)


# how a tuple of arrays is passed one by one: numba unpacks arguments quicker than tuples
_SPREAD: dict[int, Callable[[Any], Any]] = {
    2: lambda on: lambda memory, a, b: on(memory, (a, b)),
    3: lambda on: lambda memory, a, b, c: on(memory, (a, b, c)),
    4: lambda on: lambda memory, a, b, c, d: on(memory, (a, b, c, d)),
    5: lambda on: lambda memory, a, b, c, d, e: on(memory, (a, b, c, d, e)),
    6: lambda on: lambda memory, a, b, c, d, e, f: on(memory, (a, b, c, d, e, f)),
}


@functools.cache
def single_state(kernel: Kernel) -> Callable[..., bool]:
    """run(memory, *arrays) for one state; False if an input has a wrong size or is not finite.

    ``memory`` holds the model table, then the workspace. The GIL is kept, so that threads may share it.
    """
    function, slots, inputs = kernel.function, kernel.slots, kernel.inputs
    width, accept = TREE.width, kernel.accept or _always

    @numba.extending.register_jitable(forceinline=True, **_OPTIONS)
    def on(memory, arrays):
        tree = fields(memory, TREE, 1, 0)
        n = tree.parent[-1]
        doubt = 0.0
        for array in arrays[:inputs]:
            if array.size != n:
                return False
            for x in array:
                doubt += x - x
        if doubt != 0.0:
            return False
        work = fields(memory, slots, 1, ((n + 1) * width + 7) // 8 * 8)
        views = rows(arrays, 0, 1)
        function(tree, work, *views)
        return accept(tree, *views)

    count = kernel.inputs + kernel.outputs
    return _compiled(_SPREAD[count](on), [_VECTOR] * (count + 1), kernel, 1, nogil=False)


@lanewise
def _always(tree, *views):
    return True


def _compiled(
    run: Callable[..., Any], signature: list[Any], kernel: Kernel, lanes: int, *, nogil: bool
) -> Callable[..., Any]:
    """Compile for one signature, from the disk cache if this very code is there."""
    register_all()
    folder = cache_folder()
    saved = numba.config.CACHE_DIR
    if folder is not None:
        shape = f"{kernel.name}-{lanes}-{'many' if nogil else 'single'}"
        numba.config.CACHE_DIR = str(folder / stamp(lanes) / shape)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", numba.NumbaPerformanceWarning)
            decorate = numba.njit(tuple(signature), cache=folder is not None, nogil=nogil, **_OPTIONS)
            compiled: Callable[..., Any] = decorate(run)
            return compiled
    finally:
        numba.config.CACHE_DIR = saved


@functools.cache
def stamp(lanes: int) -> str:
    """What shapes the machine code: sources, lanes, numba, LLVM, Python and the processor."""
    cpu = (llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features().flatten())
    versions = (numba.__version__, llvmlite.__version__, sys.version_info[:2])
    key = hashlib.sha256(repr((lanes, versions, cpu, os.environ.get("NUMBA_CPU_NAME"))).encode())
    for file in sorted(SOURCES.rglob("*.py")):
        key.update(file.name.encode() + file.read_bytes())
    return key.hexdigest()[:16]


@functools.cache
def cache_folder() -> Path | None:
    """The first folder that can be written: the user's choice, the user's cache, the temporary folder."""
    wanted = os.environ.get(CACHE_VARIABLE)
    candidates = [Path(wanted)] if wanted else []
    candidates += [_user_cache() / "kinetree", Path(tempfile.gettempdir()) / f"kinetree-{_user()}"]
    for k, folder in enumerate(candidates):
        if _is_writable(folder):
            if k > 0:
                _warn(f"cannot write to the kernel cache '{candidates[0]}'; using '{folder}' instead")
            return folder
    _warn(f"no kernel cache can be written (tried {', '.join(map(str, candidates))}); kernels stay in memory")
    return None


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _warn(message: str) -> None:
    warnings.warn(f"{message}; set {CACHE_VARIABLE} to a folder of your own", RuntimeWarning, stacklevel=2)
