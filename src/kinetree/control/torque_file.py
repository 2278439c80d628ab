"""Torque tables in CSV files."""

from __future__ import annotations

import os

from kinetree.errors import FileError
from kinetree.formats.regular_file import checked_path
from kinetree.trajectories.csv_table import read_lines, row_of_numbers


def read_torque_file(path: str | os.PathLike[str]) -> tuple[list[float], list[list[float]], list[str]]:
    """Times (k,), torques (k, n) and names of the joints; errors name file and line."""
    file = os.fspath(checked_path(path))
    (number, header), *rows = read_lines(file, "a torque table")
    where = f"{file}, line {number}"
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
        t, *torques = row_of_numbers(f"{file}, line {line}", header, cells)
        if times and t < times[-1]:
            raise FileError(f"{file}, line {line}: time must ascend, got {t:g} after {times[-1]:g}")
        times.append(t)
        values.append(torques)
    return times, values, joints
