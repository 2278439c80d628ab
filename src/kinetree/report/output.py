"""Files that a report leaves behind: written completely or not at all, never over others unless forced."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from kinetree.errors import FileError, listed
from kinetree.formats.regular_file import check_name, write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = (".png", ".pdf", ".svg", ".jpg")
DPI = 110
PROBE = bytes(4096)  # what must fit where a file is to be written


def check_output(paths: Iterable[Path], force: bool = False) -> None:
    """Raise before any work is done if one of the files could not be written or would be replaced."""
    for path in paths:
        check_name(path)
        if path.is_dir():
            raise FileError(f"{path}: is a folder; give the path of a file")
        if path.exists() and not force:
            raise FileError(f"{path}: already exists; use --force to replace it")
        if path.exists() and not path.is_file():
            raise FileError(f"{path}: is no regular file and cannot be replaced")
        folder = path.parent
        if folder.exists() and not folder.is_dir():
            raise FileError(f"{path}: cannot be written: {folder} is not a folder")
        _check_room(path)


def _check_room(path: Path) -> None:
    """Raise if the folder of the file, or the one in which that would be made, takes no files."""
    folder = Path(os.path.realpath(path)).parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not os.access(folder, os.W_OK):
        raise FileError(f"{path}: cannot be written: no permission to write in {folder}")
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(PROBE)
            file.flush()
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror or error}") from None


def check_picture(path: Path) -> None:
    """Raise if the suffix names no format of pictures."""
    if path.suffix.lower() not in PICTURES:
        shown = f"the suffix '{path.suffix}'" if path.suffix else "no suffix"
        raise FileError(f"{path}: has {shown}; a picture can be written as {listed(PICTURES)}")


def picture_bytes(figure: Figure, suffix: str = ".png", dots: int = DPI) -> bytes:
    """The figure in the format of a suffix, at so many dots per inch; the same bytes in every run."""
    buffer = BytesIO()
    moments = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    figure.savefig(buffer, format=suffix.lower()[1:], dpi=dots, metadata=moments.get(suffix.lower()))
    return buffer.getvalue()


def write_file(path: Path, content: bytes) -> None:
    """Write a file completely or not at all; folders on the way are made, and stay only with the file."""
    missing = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    try:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{path}: cannot be written: {error.strerror or error}") from None
        write_bytes(path, content)
    except FileError:
        with contextlib.suppress(OSError):
            for folder in missing:
                folder.rmdir()
        raise


def write_or_keep(path: Path, content: bytes) -> None:
    """Write a file that took long to compute; if that fails it is kept among the temporary files.

    The error then says where.
    """
    try:
        write_file(path, content)
    except FileError as error:
        refuge = Path(tempfile.gettempdir(), f"kinetree-{secrets.token_hex(4)}", path.name)
        try:
            write_file(refuge, content)
        except FileError:
            raise FileError(f"{error}; it could not be saved in {refuge.parent.parent}") from None
        raise FileError(f"{error}; it is saved as {refuge}") from None
