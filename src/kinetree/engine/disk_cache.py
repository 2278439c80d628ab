"""Machine code on disk: where it lies, under which stamp, and what becomes of it.

numba's own cache key is blind to edits in helper files and to the lane count, so each cache folder carries a
stamp of everything that shapes the code. Code of earlier versions is cleared away when it was not used for
long.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import time
import warnings
from pathlib import Path

import llvmlite.binding
import platformdirs

PACKAGE = Path(__file__).parents[1]
SHARED = ("engine", "kernels")  # rooms whose sources shape all machine code
CACHE_VARIABLE = "KINETREE_CACHE_DIR"
HARMLESS = ("NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER", "NUMBA_CACHE_DIR")  # settings that shape no code
FORGOTTEN = 30 * 24 * 3600.0  # seconds after which machine code that nobody loads is deleted


def code_folder(name: str, lanes: int, source: str | None = None) -> Path | None:
    """Where machine code of that name lies; None if nothing can be written there.

    ``source`` is the file that the code comes from, if it is not one of the shared rooms.
    """
    folder, present = cache_folder(), stamp(lanes, _room(source))
    if folder is None or not _is_writable(folder / present / name):
        return None
    _mark_used(folder, present)
    return folder / present / name


def _room(source: str | None) -> str:
    """The folder of a source file, if the package has it and it is not shared by all: "integrate"."""
    if source is None or not Path(source).is_relative_to(PACKAGE):
        return ""
    room = Path(source).parent.relative_to(PACKAGE)
    return "" if room.parts[0] in SHARED else room.as_posix()


@functools.cache
def stamp(lanes: int, room: str = "") -> str:
    """What shapes the machine code: sources, lanes, numba and its settings, LLVM, Python, the processor.

    The sources are those of the shared rooms and of the folder that the code comes from, which may import
    nothing else that is compiled (a test sees to it).
    """
    cpu = (llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features().flatten())
    versions = (_numba_version(), llvmlite.__version__, sys.version_info[:2])
    build = (object.__basicsize__, tuple.__basicsize__, getattr(sys, "abiflags", ""))
    names = sorted(name for name in os.environ if name.startswith("NUMBA_") and name not in HARMLESS)
    settings = [(name, os.environ[name]) for name in names]
    key = hashlib.sha256(repr((lanes, versions, build, cpu, settings)).encode())
    for name in (*SHARED, *([room] if room else [])):
        for file in sorted((PACKAGE / name).rglob("*.py")):
            key.update(file.name.encode() + file.read_bytes())
    return key.hexdigest()[:16]


def _numba_version() -> bytes:
    """What numba says of itself, without importing it, which takes a third of a second."""
    package = importlib.util.find_spec("numba")
    return Path(str(package.origin)).with_name("_version.py").read_bytes() if package else b""


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
    wanted, temporary = first_choice(), Path(tempfile.gettempdir()) / f"kinetree-{_user()}"
    candidates = [wanted, *([] if wanted == _user_cache() else [_user_cache()]), temporary]
    for k, folder in enumerate(candidates):
        if _is_writable(folder) and (folder != temporary or _is_mine(folder)):
            if k > 0:
                _warn(f"cannot write to the kernel cache '{candidates[0]}'; using '{folder}' instead")
            return folder
    _warn(f"no kernel cache can be written (tried {', '.join(map(str, candidates))}); kernels stay in memory")
    return None


def first_choice() -> Path:
    """Where machine code should lie: the user's choice, or the user's cache."""
    wanted = os.environ.get(CACHE_VARIABLE)
    return Path(wanted) if wanted else _user_cache()


def _user_cache() -> Path:
    return platformdirs.user_cache_path("kinetree", appauthor=False)


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _is_mine(folder: Path) -> bool:
    """Whether nobody else can put machine code there: its name in the shared folder is easily guessed."""
    found = folder.stat()
    return not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)


def _warn(message: str) -> None:
    warnings.warn(f"{message}; set {CACHE_VARIABLE} to a folder of your own", RuntimeWarning, stacklevel=2)
