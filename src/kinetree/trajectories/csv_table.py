"""CSV files with a header of names and rows of numbers; errors name the file and the line."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from kinetree.errors import FileError, cut, must_be
from kinetree.formats.regular_file import check_readable

Line = tuple[int, list[str]]


def read_lines(file: str, what: str, header: str = "time, joint1, ...") -> list[Line]:
    """Number and cells of all lines that say something, the header first; ``what`` the file should hold.

    Empty lines and lines that start with # are ignored.
    """
    check_readable(Path(file), "table of numbers")
    try:
        with open(file, encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(text, skipinitialspace=True)
            lines = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as reason:
        raise FileError(f"cannot read '{file}': {reason}") from None
    stated = [(line, cells) for line, cells in lines if any(cells) and not cells[0].startswith("#")]
    if not stated:
        raise FileError(f"'{file}' is empty; {what} has a header '{header}' and rows of numbers")
    number, titles = stated[0]
    if titles[0] != header.split(",")[0]:
        opensim = Path(file).suffix.lower() in (".mot", ".sto")
        hint = "; kinetree.gait_analysis.read_opensim reads files of OpenSim" if opensim else ""
        raise FileError(f"{file}, line {number}: is not a header '{header}', which {what} needs{hint}")
    return stated


def row_of_numbers(where: str, header: list[str], cells: list[str]) -> list[float]:
    """The cells of a line as finite numbers, one for each title of the header."""
    if len(cells) != len(header):
        raise FileError(f"{where}: {len(header)} numbers are needed, found {len(cells)}")
    values = []
    for title, cell in zip(header, cells, strict=True):
        try:
            value = float(cell)
        except ValueError:
            raise FileError(must_be(f"{where}: {cut(title)}", "a number", cell)) from None
        if not math.isfinite(value):
            raise FileError(f"{where}: {cut(title)} must be finite, got '{cell}'")
        values.append(value)
    return values
