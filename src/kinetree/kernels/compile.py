"""Kernels as machine code: two shapes of each, compiled on first use and cached on disk.

``single_state`` runs one state with the lowest latency; ``many_states`` runs blocks of lanes. numba's own
cache key is blind to edits in helper files and to the lane count, so each cache folder carries a stamp of
everything that shapes the code.
"""

from __future__ import annotations

import contextlib
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
import numpy as np
from numba import types
from numba.core.caching import FunctionCache

from kinetree.algebra.arrays import Array
from kinetree.kernels.lanes import FLAGS, fields, register_all, rows, rows_in
from kinetree.kernels.layout import LANES, TREE, Kernel, aligned, n_pairs, tree_table
from kinetree.kernels.number import lanewise
from kinetree.model.tree import Tree

SOURCES = Path(__file__).parent
CACHE_VARIABLE = "KINETREE_CACHE_DIR"
_MATRIX, _VECTOR = types.Array(types.float64, 2, "C"), types.Array(types.float64, 1, "C")
_BLOCKS = types.Array(types.float64, 4, "C")
_OPTIONS = {"error_model": "numpy", "fastmath": set(FLAGS)}


@functools.cache
def many_states(kernel: Kernel, lanes: int = LANES, *, streamed: bool = False) -> Callable[..., None]:
    """run(table, memory, begin, end, arrays[, packed]) for states begin..end of arrays (batch, k).

    At least `lanes` states; the last block overlaps its predecessor when their number is no multiple.
    ``memory`` is workspace, `workspace_size` long. ``packed`` has the shape (blocks, rows, width, lanes);
    ``streamed`` writes it past the caches, for results of many megabytes.
    """
    step = _stepper(kernel, lanes, streamed)

    def run(table, memory, begin, end, arrays):
        tree = fields(table, TREE, 1, 0)
        for b in range(begin, end, lanes):
            step(tree, memory, 0, memory, 0, rows(arrays, min(b, end - lanes), lanes))

    def run_packed(table, memory, begin, end, arrays, packed):
        tree = fields(table, TREE, 1, 0)
        size = packed.shape[1] * packed.shape[2] * packed.shape[3]
        for b in range(begin, end, lanes):
            step(tree, memory, 0, packed, b // lanes * size, rows(arrays, min(b, end - lanes), lanes))

    arrays = types.UniTuple(_MATRIX, kernel.inputs + kernel.outputs)
    signature = [_MATRIX, _VECTOR, types.intp, types.intp, arrays]
    if kernel.entries is not None:
        shape = "streamed" if streamed else "packed"
        return _compiled(run_packed, [*signature, _BLOCKS], f"{kernel.name}-{shape}", lanes, nogil=True)
    return _compiled(run, signature, f"{kernel.name}-many", lanes, nogil=True)


def _stepper(kernel: Kernel, lanes: int, streamed: bool = False) -> Any:
    """One call of a kernel: its views of the memory, then its function."""
    function, slots, entries, scratch = kernel.function, kernel.slots, kernel.entries, kernel.scratch
    width = slots.width * lanes
    if entries is not None and streamed:
        entries = entries.as_streamed()

    def plain(tree, memory, start, packed, place, views):
        function(tree, fields(memory, slots, lanes, start), *views)

    def packing(tree, memory, start, packed, place, views):
        out = fields(packed, entries, lanes, place)
        function(tree, fields(memory, slots, lanes, start), out, *views)

    def packing_twice(tree, memory, start, packed, place, views):
        between = fields(memory, scratch, lanes, start + (tree.parent[-1] + 1) * width)
        out = fields(packed, entries, lanes, place)
        function(tree, fields(memory, slots, lanes, start), between, out, *views)

    chosen = plain if entries is None else packing if scratch is None else packing_twice
    return numba.extending.register_jitable(forceinline=True, **_OPTIONS)(chosen)


def workspace_size(kernel: Kernel, tree: Tree, lanes: int) -> int:
    """How many numbers of workspace one thread needs."""
    between = kernel.scratch.width * n_pairs(tree) if kernel.scratch is not None else 0
    return ((tree.n + 1) * kernel.slots.width + between) * lanes


@functools.cache
def full_matrices(kernel: Kernel, lanes: int = LANES) -> Callable[..., None]:
    """run(table, begin, end, packed, matrices): packed results of many states into (m, batch, n, n) zeros."""
    spread = _spreader(kernel, lanes)

    def run(table, begin, end, packed, matrices):
        tree, n, count = fields(table, TREE, 1, 0), table.shape[0] - 1, matrices.shape[1]
        size = packed.shape[1] * packed.shape[2] * lanes
        flat, out = packed.reshape(-1), matrices.reshape(-1)
        for b in range(begin, end):
            lane = b % lanes
            if count >= lanes and b // lanes * lanes + lanes > count:  # the last block overlaps
                lane = b - (count - lanes)
            spread(tree, n, flat, b // lanes * size + lane, out, b * n * n, count * n * n)

    signature = [_MATRIX, types.intp, types.intp, _BLOCKS, _BLOCKS]
    return _compiled(run, signature, f"{kernel.name}-full", lanes, nogil=True)


def _spreader(kernel: Kernel, lanes: int) -> Any:
    """Put the packed entries of one state into full matrices: those `stride` apart, from `place` on."""
    assert kernel.entries is not None
    width = kernel.entries.width
    targets = tuple((entry, matrix, int(transposed)) for entry, matrix, transposed in kernel.targets)

    def by_pairs(tree, n, flat, start, out, place, stride):
        k = start
        for i in range(n - 1, -1, -1):
            j = i
            while j != -1:
                for entry, matrix, transposed in targets:
                    there = j * n + i if transposed else i * n + j
                    out[place + matrix * stride + there] = flat[k + entry * lanes]
                k += width * lanes
                j = tree.parent[j]

    def by_squares(tree, n, flat, start, out, place, stride):
        for i in range(n):
            for j in range(n):
                k = start + (i * n + j) * width * lanes
                for entry, matrix, transposed in targets:
                    there = j * n + i if transposed else i * n + j
                    out[place + matrix * stride + there] = flat[k + entry * lanes]

    chosen = by_squares if kernel.square else by_pairs
    return numba.extending.register_jitable(**_OPTIONS)(chosen)


# how a tuple of inputs is passed one by one: numba unpacks arguments quicker than tuples
_SPREAD: dict[int, Callable[[Any], Any]] = {
    1: lambda on: lambda memory, a, out: on(memory, (a,), out),
    2: lambda on: lambda memory, a, b, out: on(memory, (a, b), out),
    3: lambda on: lambda memory, a, b, c, out: on(memory, (a, b, c), out),
    4: lambda on: lambda memory, a, b, c, d, out: on(memory, (a, b, c, d), out),
}


@functools.cache
def single_state(kernel: Kernel) -> Callable[..., bool]:
    """run(memory, *inputs, out) for one state; False if a size is wrong or something is not finite.

    ``memory`` holds the model table, the workspace and what is packed (`single_memory`). ``out`` takes all
    outputs, n numbers each, and then the full matrices of kernels that pack. The GIL is kept, so that threads
    may share the memory.
    """
    outputs, width, slots = kernel.outputs, TREE.width, kernel.slots
    accept = kernel.accept or _always
    step = _stepper(kernel, 1)
    spread = _spreader(kernel, 1) if kernel.entries is not None else _nowhere

    @numba.extending.register_jitable(forceinline=True, **_OPTIONS)
    def on(memory, inputs, out):
        tree = fields(memory, TREE, 1, 0)
        n = tree.parent[-1]
        doubt = 0.0
        for array in inputs:
            if array.size != n:
                return False
            for x in array:
                doubt += x - x
        if doubt != 0.0:
            return False
        results = rows_in(out, outputs, n)
        start = ((n + 1) * width + 7) // 8 * 8
        place = tree.first[-1]
        step(tree, memory, start, memory, place, rows(inputs, 0, 1) + results)
        spread(tree, n, memory, place, out, outputs * n, n * n)
        for x in out:
            doubt += x - x
        if doubt != 0.0:
            return False
        return accept(tree, fields(memory, slots, 1, start), *results)

    signature = [_VECTOR] * (kernel.inputs + 2)
    return _compiled(_SPREAD[kernel.inputs](on), signature, f"{kernel.name}-single", 1, nogil=False)


def single_memory(kernel: Kernel, tree: Tree) -> Array:
    """The model table, then the workspace, then the place of packed results, for one state."""
    table = tree_table(tree)
    start = (table.size + 7) // 8 * 8
    place = start + workspace_size(kernel, tree, 1)
    packed = kernel.entries.width * kernel.n_packed(tree) if kernel.entries is not None else 0
    memory = aligned(place + packed)
    memory[:] = 0.0
    memory[: table.size] = table.ravel()
    memory.view(np.int64)[TREE.places["first"][0]] = place
    return memory


@lanewise
def _always(tree, work, *results):
    return True


@lanewise
def _nowhere(tree, n, flat, start, out, place, stride):
    return None


def _compiled(
    run: Callable[..., Any], signature: list[Any], name: str, lanes: int, *, nogil: bool
) -> Callable[..., Any]:
    """Compile for one signature, from the disk cache if this very code is there."""
    register_all()
    dispatcher = numba.njit(nogil=nogil, **_OPTIONS)(run)
    folder = cache_folder()
    if folder is not None and _is_writable(folder / stamp(lanes) / name):  # numba would go elsewhere
        dispatcher._cache = _StampedCache.at(folder / stamp(lanes) / name, run)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", numba.NumbaPerformanceWarning)
        dispatcher.compile(tuple(signature))
    dispatcher.disable_compile()
    return dispatcher


class _StampedCache(FunctionCache):
    """numba's cache in a folder whose name already tells all that shapes the code.

    numba's own key hashes the closure of the function, which differs from process to process when functions
    are built inside functions, and does not see what they call.
    """

    @classmethod
    def at(cls, folder: Path, run: Callable[..., Any]) -> _StampedCache:
        """The cache of one compiled function in a folder of its own."""
        saved = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(folder)
        try:
            return cls(run)
        finally:
            numba.config.CACHE_DIR = saved

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return sig, codegen.magic_tuple(), "stamped"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code on disk; None, and the index emptied, if the files are damaged."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # garbage unpickles to anything
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code, if the disk takes it."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)


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
