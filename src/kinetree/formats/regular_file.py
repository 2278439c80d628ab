"""Opening files that users or other files name: regular files of a reasonable size, no pipes or devices."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from kinetree.errors import FileError, cut, shown

LARGEST_FILE = 50_000_000  # bytes
_HOW = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


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
