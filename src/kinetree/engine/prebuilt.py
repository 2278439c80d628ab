"""Machine code that comes with the package: release wheels have it, source trees do not.

It is made for all x86 processors of level x86-64-v3 (AVX2 and fused multiply-add, since 2013), and used where
the cache has none for the very processor at hand. It needs nothing of numba, so numba's version does not
matter. Sources, lanes and, for functions that read Python's objects, their layout must be those that it was
made of, or else code is compiled as if there were none. ``KINETREE_PREBUILT=0`` has the same effect.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator
from typing import Any

import llvmlite.binding

from kinetree.engine.disk_cache import PACKAGE, object_layout, sources

SWITCH = "KINETREE_PREBUILT"  # "0" leaves the code that comes with the package alone
FOLDER, INDEX = PACKAGE / "prebuilt", "index.json"
PROCESSOR = "x86-64-v3"
FEATURES = (
    "sse3 ssse3 sse4.1 sse4.2 popcnt cx16 sahf avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave"
).split()  # of that level, in LLVM's words
OF_OBJECTS = ("state-entry", "range-entry")  # functions that read Python's objects
_ignored: list[None] = []  # not empty while code is made for the processor at hand


def prebuilt(name: str, lanes: int, room: str) -> bytes | None:
    """The entry of that name as `stored_code` keeps it; None if there is none that fits."""
    if _ignored:
        return None
    found = _entries().get(name)
    if not isinstance(found, dict) or found.get("stamp") != stamp(name, lanes, room):
        return None
    try:
        content = (FOLDER / name).read_bytes()
    except OSError:
        return None
    return content if digest(content) == found.get("digest") else None


@contextlib.contextmanager
def ignored() -> Iterator[None]:
    """In here code that is not in the cache is compiled for the processor at hand."""
    _ignored.append(None)
    try:
        yield
    finally:
        _ignored.pop()


def stamp(name: str, lanes: int, room: str) -> str:
    """What an entry was made of: sources, lanes, and the layout of objects if it reads any."""
    layout = object_layout() if name in OF_OBJECTS else ()
    return digest(repr((lanes, layout, sources(room))).encode())


def digest(content: bytes) -> str:
    """A checksum, which finds damage."""
    return hashlib.sha256(content).hexdigest()[:32]


def system() -> str:
    """For what kind of system code is, such as "linux-x86_64"."""
    return f"{sys.platform}-{platform.machine().lower()}"


@functools.cache
def _entries() -> dict[str, Any]:
    """Stamp and checksum of each entry; nothing if they are not for this machine."""
    if os.environ.get(SWITCH) == "0":
        return {}
    try:
        index = json.loads((FOLDER / INDEX).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(index, dict) or not isinstance(index.get("entries"), dict):
        return {}
    if index.get("system") != system() or index.get("processor") != PROCESSOR or not _has_features():
        return {}
    found: dict[str, Any] = index["entries"]
    return found


def _has_features() -> bool:
    present = llvmlite.binding.get_host_cpu_features()
    return all(present.get(feature, False) for feature in FEATURES)
