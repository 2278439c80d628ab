"""Machine code on disk: where it lies, under which stamp, and what becomes of it.

numba's own cache key is blind to edits in helper files and to the lane count, so each cache folder carries a
stamp of everything that shapes the code. Code of earlier versions is cleared away when it was not used for
long.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
from numba.core.caching import FunctionCache

from kinetree.kernels.notice import Notice

SOURCES = Path(__file__).parent
CACHE_VARIABLE = "KINETREE_CACHE_DIR"
FORGOTTEN = 30 * 24 * 3600.0  # seconds after which machine code that nobody loads is deleted


@contextlib.contextmanager
def cached(compiler: Any, run: Callable[..., Any], name: str, lanes: int) -> Iterator[None]:
    """Compile in here: machine code comes from the disk cache or goes there; a notice tells if it is made."""
    with Notice(name) as notice, warnings.catch_warnings():
        warnings.simplefilter("ignore", numba.NumbaPerformanceWarning)
        folder = cache_folder()
        if folder is not None and _is_writable(folder / stamp(lanes) / name):  # numba would go elsewhere
            _mark_used(folder, stamp(lanes))
            compiler._cache = _StampedCache.at(folder / stamp(lanes) / name, run)
            compiler._cache.is_missing = notice.show
        else:
            notice.show()
        yield


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

    is_missing: Callable[[], None]

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return sig, codegen.magic_tuple(), "stamped"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code on disk; None, and the index emptied, if the files are damaged."""
        found = None
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # garbage unpickles to anything
            with contextlib.suppress(OSError):
                self.flush()
        if found is None:
            self.is_missing()
        return found

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
def _mark_used(folder: Path, present: str) -> None:
    """Tell others that this stamp is in use, and clear away those that nobody used for long."""
    with contextlib.suppress(OSError):
        os.utime(folder / present)
        for other in folder.iterdir():
            is_stamp = re.fullmatch("[0-9a-f]{16}", other.name) is not None and other.is_dir()
            if is_stamp and time.time() - other.stat().st_mtime > FORGOTTEN:
                shutil.rmtree(other, ignore_errors=True)


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
