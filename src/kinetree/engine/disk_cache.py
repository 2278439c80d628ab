"""Machine code on disk: where it lies, under which stamp, and what becomes of it.

numba's own cache key is blind to edits in helper files and to the lane count, so each cache folder carries a
stamp of everything that shapes the code. Code of earlier versions is cleared away when it was not used for
long. A folder is used only if no one but its owner, or root, can put anything there.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import os
import re
import shutil
import stat
import sys
import tempfile
import time
import warnings
from pathlib import Path

import llvmlite.binding
import platformdirs

PACKAGE = Path(__file__).parents[1]
SHARED = ("engine", "kernels")  # rooms whose sources shape all machine code
KEEPERS = tuple(  # which only keep it, or hand it out
    f"{name}.py"
    for name in (
        *("companion", "disk_cache", "interpret", "keyed", "notice", "numba_cache", "prebuilt"),
        *("specialized", "stored_code"),
    )
)
APART = "engine/tape"  # a shared room whose sources shape only what is made there
CACHE_VARIABLE = "KINETREE_CACHE_DIR"
HARMLESS = ("NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER", "NUMBA_CACHE_DIR")  # settings that shape no code
FORGOTTEN = 30 * 24 * 3600.0  # seconds after which machine code that no one loads is deleted


def code_folder(name: str, lanes: int, source: str | None = None) -> Path | None:
    """Where machine code of that name lies; None if nothing can be written there.

    ``source`` is the file that the code comes from, if it is not one of the shared rooms.
    """
    folder, present = cache_folder(), stamp(lanes, room_of(source))
    if folder is None or not _is_writable(folder / present / name):
        return None
    _mark_used(folder, present)
    return folder / present / name


def room_of(source: str | None) -> str:
    """The folder of a source file, if the package has it and it is not shared by all: "integrate"."""
    if source is None or not Path(source).is_relative_to(PACKAGE):
        return ""
    room = Path(source).parent.relative_to(PACKAGE)
    is_shared = not room.parts or (room.parts[0] in SHARED and room.as_posix() != APART)
    return "" if is_shared else room.as_posix()


@functools.cache
def stamp(lanes: int, room: str = "") -> str:
    """What shapes the machine code: sources, lanes, numba and its settings, LLVM, Python, the processor.

    The sources are those of the shared rooms and of the folder that the code comes from, which may import
    nothing else that is compiled (a test sees to it).
    """
    cpu = (llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features().flatten())
    versions = (_numba_version(), llvmlite.__version__, sys.version_info[:2])
    names = sorted(name for name in os.environ if name.startswith("NUMBA_") and name not in HARMLESS)
    settings = [(name, os.environ[name]) for name in names]
    key = repr((lanes, versions, object_layout(), cpu, settings, sources(room)))
    return hashlib.sha256(key.encode()).hexdigest()[:16]


@functools.cache
def sources(room: str = "") -> str:
    """A digest of all sources that shape the machine code of a room."""
    key = hashlib.sha256()
    for name in (*SHARED, *([room] if room else [])):
        for file in sorted((PACKAGE / name).rglob("*.py")):
            if name == "engine" and (file.name in KEEPERS or file.is_relative_to(PACKAGE / APART)):
                continue
            key.update(file.name.encode() + file.read_bytes())
    return key.hexdigest()


def object_layout() -> tuple[int, int, str]:
    """How long the heads of Python's objects are, and the build of Python."""
    return object.__basicsize__, tuple.__basicsize__, getattr(sys, "abiflags", "")


def _numba_version() -> bytes:
    """What numba says of itself, without importing it, which takes a third of a second."""
    package = importlib.util.find_spec("numba")
    return Path(str(package.origin)).with_name("_version.py").read_bytes() if package else b""


@functools.cache
def _mark_used(folder: Path, present: str) -> None:
    """Tell others that this stamp is in use, and clear away those that no one used for long."""
    with contextlib.suppress(OSError):
        os.utime(folder / present)
        for other in folder.iterdir():
            is_stamp = re.fullmatch("[0-9a-f]{16}", other.name) is not None and other.is_dir()
            if is_stamp and time.time() - other.stat().st_mtime > FORGOTTEN:
                shutil.rmtree(other, ignore_errors=True)


@functools.cache
def cache_folder() -> Path | None:
    """The first folder that is private and can be written: the user's choice or cache, or a temporary one."""
    wanted, temporary = first_choice(), Path(tempfile.gettempdir()) / f"kinetree-{_user()}"
    candidates, reasons = list(dict.fromkeys((wanted, _user_cache(), temporary))), list[str]()
    for folder in candidates:
        reason = _why_not(folder)
        if not reason:
            if reasons:
                _warn(f"the kernel cache '{wanted}' is not used: {reasons[0]}; using '{folder}' instead")
            return folder
        reasons.append(reason)
    tried = "; ".join(f"'{folder}': {reason}" for folder, reason in zip(candidates, reasons, strict=True))
    _warn(f"no kernel cache can be written ({tried}); kernels stay in memory")
    return None


def _why_not(folder: Path) -> str:
    """Nothing, or why a folder cannot be used; it is made if it is not there."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        return f"it cannot be made ({error.strerror})"
    return why_not_private(folder) or ("" if _is_writable(folder) else "it cannot be written")


def first_choice() -> Path:
    """Where machine code should lie: the user's choice, or the user's cache."""
    wanted = os.environ.get(CACHE_VARIABLE)
    return Path(os.path.abspath(wanted)) if wanted else _user_cache()


def _user_cache() -> Path:
    """The user's cache, wherever the process runs: folders that do not begin at the root are ignored."""
    found = platformdirs.user_cache_path("kinetree", appauthor=False)
    wanted = os.environ.get("XDG_CACHE_HOME") or ""
    if found.is_absolute() and (os.path.isabs(wanted) or not wanted):
        return found
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        import pwd

        home = pwd.getpwuid(os.getuid()).pw_dir
    return Path(home, ".cache", "kinetree")


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@functools.cache
def is_private(folder: Path) -> bool:
    """Whether no one but the user and root can put machine code into a folder that is there."""
    return not why_not_private(folder)


def why_not_private(folder: Path) -> str:
    """Nothing, or who else could put machine code there: every step of the way is looked at, links as such.

    Folders on the way belong to the user or to root and cannot be written by others, unless they are sticky
    as /tmp is; the folder itself cannot be written by anyone else.
    """
    if not hasattr(os, "getuid"):
        return ""
    mine = (0, os.getuid())
    try:
        way = Path(os.path.abspath(folder))
        for place in dict.fromkeys((*_steps(way), *_steps(way.resolve()))):
            found = place.lstat()
            if found.st_uid not in mine:
                return f"'{place}' belongs to another user ({found.st_uid})"
            if stat.S_ISLNK(found.st_mode):
                continue
            open_to_others = found.st_mode & 0o002 or (found.st_mode & 0o020 and not _own_group(found.st_gid))
            sticky = found.st_mode & stat.S_ISVTX and place not in (way, way.resolve())
            if open_to_others and not sticky:
                return f"others may write to '{place}'"
    except OSError as error:
        return f"it cannot be looked at ({error.strerror})"
    return ""


def _steps(place: Path) -> list[Path]:
    """All folders on the way to a place, from the root, and the place."""
    return [*reversed(place.parents), place]


def _own_group(number: int) -> bool:
    """Whether a group is that of the user alone, as many systems give to each."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.getuid()), grp.getgrgid(number)
    except KeyError:
        return False
    return number == user.pw_gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def _warn(message: str) -> None:
    warnings.warn(f"{message}; set {CACHE_VARIABLE} to a folder of your own", RuntimeWarning, stacklevel=2)
