"""Torque tables in CSV files."""

from __future__ import annotations

import csv
import math
import os

from kinetree.errors import FileError

Line = tuple[int, list[str]]


def read_torque_file(path: str | os.PathLike[str]) -> tuple[list[float], list[list[float]], list[str]]:
    """Times (k,), torques (k, n) and names of the joints; errors name file and line."""
    file = os.fspath(path)
    (number, header), *rows = _lines(file)
    where = f"{file}, line {number}"
    if header[0] != "time":
        raise FileError(f"{where}: the first column must be 'time', got '{header[0]}'")
    joints = header[1:]
    for k, name in enumerate(joints):
        if not name or name in joints[:k]:
            raise FileError(f"{where}: column {k + 2} needs the name of a joint of its own, got '{name}'")
    if not joints or not rows:
        raise FileError(
            f"{where}: a torque table needs a joint's column and a row of numbers after this line"
        )
    times: list[float] = []
    values: list[list[float]] = []
    for line, cells in rows:
        t, *torques = _numbers(f"{file}, line {line}", header, cells)
        if times and t < times[-1]:
            raise FileError(f"{file}, line {line}: time must ascend, got {t:g} after {times[-1]:g}")
        times.append(t)
        values.append(torques)
    return times, values, joints


def _lines(file: str) -> list[Line]:
    """Number and cells of all lines that say something."""
    try:
        with open(file, encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(text, skipinitialspace=True)
            lines = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as reason:
        raise FileError(f"cannot read '{file}': {reason}") from None
    told = [(line, cells) for line, cells in lines if any(cells) and not cells[0].startswith("#")]
    if not told:
        raise FileError(
            f"'{file}' is empty; a torque table has a header 'time, joint1, ...' and rows of numbers"
        )
    return told


def _numbers(where: str, header: list[str], cells: list[str]) -> list[float]:
    if len(cells) != len(header):
        raise FileError(f"{where}: {len(header)} numbers are needed, found {len(cells)}")
    values = []
    for title, cell in zip(header, cells, strict=True):
        try:
            value = float(cell)
        except ValueError:
            raise FileError(f"{where}: {title} must be a number, got '{cell}'") from None
        if not math.isfinite(value):
            raise FileError(f"{where}: {title} must be finite, got '{cell}'")
        values.append(value)
    return values
