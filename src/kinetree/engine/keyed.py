"""Entries of the kernel cache under a keyed digest: nothing of a file is used before it is found unchanged.

An entry is machine code, some of it in a form that runs code when it is merely read, so that a checksum that
anyone can compute would not do. The key is a file of the cache that only its owner can read; it and the name
of the entry go into the digest (BLAKE2, RFC 7693), so that an entry of another user, machine or kernel is
none. While LLVM takes an entry in, a mark with the number of the process lies beside it: an entry that was
being loaded when its process died is dropped, for the next process would die of it, too.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import tempfile
from collections.abc import Iterator
from hashlib import blake2b
from hmac import compare_digest
from pathlib import Path

KEY, LENGTH = "key", 32  # the file with the key, and its bytes
DIGEST = 32  # bytes in front of an entry
LOADING = ".loading-"


def kept(folder: Path, file: str, content: bytes) -> bool:
    """Put an entry into its folder, whole or not at all; False if there is no key to seal it with."""
    key = _key(folder.parents[1], make=True)
    if key is None:
        return False
    handle, path = tempfile.mkstemp(dir=folder)
    try:
        with open(handle, "wb") as opened:
            opened.write(_digest(key, folder, file, content) + content)
        os.replace(path, folder / file)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise
    return True


def content(folder: Path, file: str) -> bytes | None:
    """What an entry holds; None if there is none, or it is damaged or of someone else, and then it goes."""
    try:
        whole = (folder / file).read_bytes()
    except OSError:
        return None
    key = _key(folder.parents[1])
    if key is not None and _left_by_the_dead(folder, file):
        drop(folder, file)
        return None
    inside = whole[DIGEST:]
    if key is not None and compare_digest(whole[:DIGEST], _digest(key, folder, file, inside)):
        return inside
    drop(folder, file)
    return None


def drop(folder: Path, file: str) -> None:
    """Remove an entry, if the folder permits."""
    with contextlib.suppress(OSError):
        (folder / file).unlink()


@contextlib.contextmanager
def loading(folder: Path, file: str) -> Iterator[None]:
    """In here LLVM takes an entry in; if the process dies of it, the next one will know."""
    mark = folder / f"{file}{LOADING}{os.getpid()}-{_started(os.getpid())}"
    with contextlib.suppress(OSError):
        mark.touch()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            mark.unlink()


def _left_by_the_dead(folder: Path, file: str) -> bool:
    """Whether a process died while it loaded the entry; its mark goes."""
    found = False
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(file + LOADING):
                number, _, began = name.removeprefix(file + LOADING).partition("-")
                if number.isdigit() and _is_alive(int(number), began):
                    continue
                found = True
                with contextlib.suppress(OSError):
                    (folder / name).unlink()
    return found


def _is_alive(number: int, began: str) -> bool:
    """Whether the process of that number is still the one that began then."""
    if os.name == "nt":  # where asking would end it; others are taken for dead, and compile once more
        return number == os.getpid()
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # of another user
    return _started(number) == began


def _started(number: int) -> str:
    """When a process began, in ticks since the machine did; empty where the system does not say."""
    try:
        with open(f"/proc/{number}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return ""


def _digest(key: bytes, folder: Path, file: str, inside: bytes) -> bytes:
    name = "/".join((*folder.parts[-2:], file)).encode()
    return blake2b(len(name).to_bytes(8, "big") + name + inside, key=key, digest_size=DIGEST).digest()


@functools.cache
def _known_key(folder: Path) -> list[bytes]:
    """The key of a cache folder, once it is known."""
    return []


def _key(folder: Path, *, make: bool = False) -> bytes | None:
    """The key of a cache folder; None if there is none that only its owner can read."""
    known = _known_key(folder)
    if not known:
        found = _read_key(folder) or (_new_key(folder) if make else None)
        if found is None:
            return None
        known.append(found)
    return known[0]


def _read_key(folder: Path) -> bytes | None:
    try:
        how = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        handle = os.open(folder / KEY, how)
    except OSError:
        return None
    with open(handle, "rb") as file:
        found, key = os.fstat(file.fileno()), file.read(LENGTH + 1)
    private = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
    return key if private and stat.S_ISREG(found.st_mode) and len(key) == LENGTH else None


def _new_key(folder: Path) -> bytes | None:
    """A new key; that of another process that was quicker, if there is one now. One of no use is replaced."""
    try:
        handle, path = tempfile.mkstemp(dir=folder)  # which only its owner can read
        with open(handle, "wb") as file:
            file.write(os.urandom(LENGTH))
        try:
            os.link(path, folder / KEY)  # fails if there is one
        except OSError:
            if _read_key(folder) is None:
                os.replace(path, folder / KEY)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(path)
    except OSError:
        return None
    return _read_key(folder)
