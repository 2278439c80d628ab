"""numba's cache on disk, made to see all that shapes the code, and code that is kept without numba."""

from __future__ import annotations

import contextlib
import pickle
import warnings
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.ccallback import CFunc
from numba.core.serialize import dumps

from kinetree.engine.disk_cache import code_folder
from kinetree.engine.keyed import content, drop, kept, loading
from kinetree.engine.notice import Notice
from kinetree.engine.pipeline import undisturbed
from kinetree.engine.stored_code import STAND_INS, address_in_process, keep

INSTRUCTIONS = frozenset(
    "aarch64 abs assume copysign ctlz ctpop cttz expect experimental fabs fma fmuladd lifetime masked "
    "prefetch sadd smax smin smul sqrt ssub uadd umax umin umul usub vector x86".split()
)  # what LLVM never makes a call of


@contextlib.contextmanager
def cached(compiler: Any, run: Callable[..., Any], name: str, lanes: int, source: str) -> Iterator[None]:
    """Compile in here: machine code comes from the disk cache or goes there; a notice says if it is made."""
    with Notice(name) as notice, warnings.catch_warnings(), undisturbed():
        warnings.simplefilter("ignore", numba.NumbaPerformanceWarning)
        folder = code_folder(name, lanes, source)
        if folder is not None:  # or else numba would go elsewhere
            compiler._cache = _StampedCache.at(folder, run)
            compiler._cache.is_missing = notice.show
            compiler._cache.is_alone = isinstance(compiler, CFunc)
        else:
            notice.show()
        yield


class _StampedCache(FunctionCache):
    """numba's cache in a folder whose name already says all that shapes the code.

    numba's own key hashes the closure of the function, which differs from process to process when functions
    are built inside functions, and does not see what they call.
    """

    @classmethod
    def at(cls, folder: Path, run: Callable[..., Any]) -> _StampedCache:
        """The cache of one compiled function in a folder of its own."""
        saved = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(folder)
        try:
            cache = cls(run)
        finally:
            numba.config.CACHE_DIR = saved
        cache.folder = folder
        cache._cache_file = _Entries(folder)
        return cache

    folder: Path
    is_alone = False
    is_missing: Callable[[], None]

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return sig, codegen.magic_tuple(), "stamped"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code on disk; None if there is none, or it is damaged."""
        found = None
        try:
            entry = self._cache_file.name(self._index_key(sig, target_context.codegen()))
            with loading(self.folder, entry):
                found = super().load_overload(sig, target_context)
        except Exception:  # of another version of numba
            with contextlib.suppress(OSError):
                self.flush()
        if found is None:
            self.is_missing()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code, if the disk takes it: alone, if it can do without numba."""
        with contextlib.suppress(OSError):
            if not self.is_alone or not _keep_alone(self.folder, data):
                super().save_overload(sig, data)


class _Entries:
    """In the place of numba's files, which are read before anything shows whether they are damaged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @staticmethod
    def name(key: Any) -> str:
        """The file of an entry."""
        return f"numba-{sha256(repr(key).encode()).hexdigest()[:16]}"

    def load(self, key: Any) -> Any:
        """What was saved under a key; None if there is nothing that can be trusted."""
        found = content(self.folder, self.name(key))
        return None if found is None else pickle.loads(found)  # only what this user has sealed

    def save(self, key: Any, data: Any) -> None:
        """Keep data under a key."""
        kept(self.folder, self.name(key), dumps(data))

    def flush(self) -> None:
        """Drop all entries."""
        for file in self.folder.glob("numba-*"):
            drop(self.folder, file.name)


def _keep_alone(folder: Path, result: Any) -> bool:
    """Keep the code of a C callback so that LLVM alone can load it; False if it cannot."""
    code = result.library.serialize_using_object_code()[2][0]
    needs = _needed(result.library._final_module)
    if needs is None:
        return False
    return keep(folder, code, result.fndesc.llvm_cfunc_wrapper_name, needs)


def _needed(module: Any) -> list[str] | None:
    """Functions that the code expects to find in the process; None if some are not there without numba."""
    declared = [x.name for x in (*module.functions, *module.global_variables) if x.is_declaration]
    parts = [name.split(".")[1] if name.startswith("llvm.") else name for name in declared]
    needs = sorted(set(parts) - INSTRUCTIONS)
    return needs if all(name in STAND_INS or address_in_process(name) for name in needs) else None
