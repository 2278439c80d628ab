"""A digest behind the last byte of a result file, tested before any library opens the file.

HDF5 reads what its own tables say and never looks behind them, so other programs open a sealed file as they
open any NetCDF-4 file. A damaged file can make HDF5's C code loop for ever; the seal is tested first. Files
without one are opened in another process, whose time and memory are limited.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from kinetree.errors import FileError

MARK = b"\nKINETREE-SHA256 "
LENGTH = len(MARK) + 64 + 1
CHUNK = 1 << 20
SECONDS = 5.0  # of the processor that opening a file without a seal may take
MEMORY = 4 << 30  # bytes of address space it may take


def sealed(content: bytes) -> bytes:
    """The content of a file with its digest behind it.

    >>> len(sealed(b"abc")) - 3 == LENGTH
    True
    """
    return content + MARK + hashlib.sha256(content).hexdigest().encode() + b"\n"


def check_seal(place: Path) -> None:
    """Raise if the file was changed after it was sealed, or cannot be opened safely without a seal."""
    try:
        size = os.path.getsize(place)
        with open(place, "rb") as file:
            file.seek(max(0, size - LENGTH))
            end = file.read(LENGTH)
            if not end.startswith(MARK):
                if MARK.strip() in end:
                    raise FileError(f"{place}: is incomplete or damaged: its checksum is missing")
                _opened_elsewhere(place)
                return
            file.seek(0)
            digest, left = hashlib.sha256(), size - LENGTH
            while left:
                chunk = file.read(min(CHUNK, left))
                digest.update(chunk)
                left -= len(chunk)
                if not chunk:
                    break
    except OSError as error:
        raise FileError(f"{place}: cannot be read: {error.strerror or error}") from None
    if digest.hexdigest().encode() != end[len(MARK) : -1]:
        raise FileError(f"{place}: was changed or damaged after it was written: its checksum does not match")


def _opened_elsewhere(place: Path) -> None:
    """Open a file in another process first: HDF5 may loop, or ask for all memory."""
    command = [sys.executable, "-I", str(Path(__file__).with_name("opened_elsewhere.py")), str(place)]
    try:
        done = subprocess.run(
            [*command, str(MEMORY), str(SECONDS)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=2.0 * SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise FileError(f"{place}: is damaged: opening it took more than {SECONDS:g} s") from None
    if done.returncode == 0:
        return
    said = " ".join(done.stdout.decode(errors="replace").split())[-200:]
    if not said:
        said = f"opening it took more than {SECONDS:g} s or {MEMORY >> 30} GB, or ended the process"
    raise FileError(f"{place}: is incomplete or damaged: {said}")
