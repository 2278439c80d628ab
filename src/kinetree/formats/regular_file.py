"""Files that users or other files name: read if regular and not too large, written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path

from kinetree.errors import FileError, cut, must_be, shown

PathLike = str | os.PathLike[str]
LARGEST_FILE = 50_000_000  # bytes
_HOW = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def checked_path(path: PathLike) -> Path:
    """The path of a file, if it can be one."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise FileError(must_be("the path of a file", "a text or a Path", path))
    if not os.fspath(path) or "\0" in os.fspath(path):
        raise FileError(f"{shown(os.fspath(path))} is not a file path")
    check_name(Path(path))
    return Path(path)


def read_text(path: PathLike) -> str:
    """The text of a UTF-8 file, with or without byte order mark."""
    place = checked_path(path)
    check_readable(place)
    raw = file_content(place)
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(f"{place}: is UTF-16 text; save it as UTF-8")
    if b"\0" in raw:
        raise FileError(f"{place}: is not text: it has a zero byte at position {raw.index(0)}")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FileError(
            f"{place}, line {line}: is not UTF-8 text: byte 0x{raw[error.start]:02x}; save it as UTF-8"
        ) from None


def file_content(path: Path, largest: int = LARGEST_FILE) -> bytes:
    """The content of a regular file; the opening of a pipe does not wait, and nothing is read from it.

    What was opened is tested, so that it does not matter what the path stood for before.
    """
    check_name(path)
    check_is_file(path, "file")
    try:
        handle = os.open(path, _HOW)
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise FileError(f"{path}: is not a regular file")
            _check_size(path, found.st_size, largest)
            with open(handle, "rb", closefd=False) as file:
                return file.read(largest + 1)
        finally:
            os.close(handle)
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}") from None


def check_is_file(path: Path, what: str) -> None:
    """Whether there is a file; ``what`` says of what kind it should be."""
    if os.path.isdir(path):
        raise FileError(f"{path}: is a folder, not a {what}")
    if not os.path.lexists(path):
        raise FileError(f"{path}: no such file (looked in {os.path.abspath(path.parent)})")
    if not os.path.isfile(path):
        raise FileError(f"{path}: is not a regular file")


def check_readable(path: Path, what: str = "mechanism file") -> None:
    """Whether there is a file of a reasonable size."""
    check_name(path)
    check_is_file(path, what)
    size = os.path.getsize(path)
    if size > LARGEST_FILE:
        raise FileError(f"{path}: has {size / 1e6:.1f} MB; the largest allowed is {LARGEST_FILE / 1e6:g} MB")


def check_name(path: Path) -> None:
    """Whether the system takes a path of that length."""
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise FileError(f"{cut(str(path))}: the name is too long") from None
    except ValueError:  # characters that no name has
        raise FileError(f"{shown(str(path))} is not a file path") from None


def _check_size(path: Path, size: int, largest: int) -> None:
    if size > largest:
        raise FileError(f"{path}: has {size / 1e6:.1f} MB; the largest allowed is {largest / 1e6:g} MB")


def write_text(path: PathLike, text: str, force: bool = False) -> None:
    """Write UTF-8 text completely or not at all; an existing file is replaced only with ``force``."""
    place = checked_path(path)
    check_writable(place, force)
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FileError(f"{place}: cannot be written as UTF-8: {error}") from None
    write_bytes(place, content)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file completely or not at all, replacing one that is there.

    The content goes to a temporary file in the same folder, which then takes the place of the file.
    """
    target = Path(os.path.realpath(path))
    temporary = target.parent / f".kinetree-{secrets.token_hex(8)}.tmp"
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def check_writable(path: Path, force: bool) -> None:
    """Whether a file can be written there, before any work is done; with ``force`` in place of another."""
    if os.path.isdir(path):
        raise FileError(f"{path}: is a folder; give the path of a file")
    if os.path.exists(path) and not os.path.isfile(path):
        raise FileError(f"{path}: is no regular file and cannot be replaced")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise FileError(f"{path}: cannot be written: the folder {folder} does not exist")
    if os.path.lexists(path) and not force:
        raise FileError(f"{path}: already exists; pass force=True to replace it")
