"""Files that a report leaves behind: written completely or not at all, and never over others unasked."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from kinetree.errors import FileError, listed
from kinetree.model.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = (".png", ".pdf", ".svg", ".jpg")
DPI = 110


def check_output(paths: Iterable[Path], force: bool = False) -> None:
    """Raise before any work is done if one of the files could not be written or would be replaced."""
    for path in paths:
        if path.is_dir():
            raise FileError(f"{path}: is a folder; give the path of a file")
        if path.exists() and not force:
            raise FileError(f"{path}: exists already; use --force to replace it")
        folder = path.parent
        if folder.exists() and not folder.is_dir():
            raise FileError(f"{path}: cannot be written: {folder} is no folder")


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
    """Write a file completely or not at all; folders on the way are made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror or error}") from None
    write_bytes(path, content)
