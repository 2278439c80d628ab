"""Marker files of motion analysis (.trc): a table of positions over time, with units in its header."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.capture.trial import LENGTHS, Trial, unit_length
from kinetree.errors import FileError, cut
from kinetree.formats.regular_file import check_writable, read_text, write_text

ROUNDED = 1.1e-3  # s: times of files have three digits
GAPS = ("", "nan", "na", "none", "-")


def read_trc(path: Path) -> Trial:
    """The trial of a file; coordinates that are missing, or not all three there, are gaps."""
    lines = read_text(path).splitlines()
    if len(lines) < 6 or not lines[0].lower().startswith("pathfiletype"):
        raise FileError(f"{path}: is not a marker file: its first line must begin with 'PathFileType'")
    keys, values = lines[1].split(), lines[2].split()
    head = dict(zip((x.lower() for x in keys), values, strict=False))
    if "units" not in head:
        raise FileError(f"{path}, line 2: the header names no 'Units'")
    scale = unit_length(head["units"], f"{path}, line 3")
    first = lines[3].split("\t")
    if len(first) < 3 or first[0].strip().lower() != "frame#":
        raise FileError(f"{path}, line 4: must begin with 'Frame#' and 'Time', got {cut(lines[3])}")
    names = [x.strip() for x in first[2:] if x.strip()]
    if not names:
        raise FileError(f"{path}, line 4: names no markers")
    rows = [
        _row(line, len(names), f"{path}, line {number}")
        for number, line in enumerate(lines[5:], 6)
        if line.strip()
    ]
    if not rows:
        raise FileError(f"{path}: has no frames after its header")
    table = np.array(rows)
    positions = scale * table[:, 1:].reshape(len(table), len(names), 3)
    positions[np.isnan(positions).any(axis=-1)] = np.nan
    time = _regular(table[:, 0], head.get("datarate", ""))
    return Trial(tuple(names), time, positions, source=str(path), units=head["units"])


def _regular(time: Array, rate: str) -> Array:
    """Times by the rate of the frames, if those of the file are the same but for their rounding."""
    try:
        step = 1.0 / float(rate)
    except (ValueError, ZeroDivisionError):
        return time
    exact = time[0] + step * np.arange(len(time))
    return exact if np.abs(time - exact).max() < min(ROUNDED, 0.5 * step) else time


def _row(line: str, markers: int, where: str) -> list[float]:
    """Time and coordinates of a frame."""
    words = line.split("\t") if "\t" in line else line.split()
    words = [x.strip() for x in words][: 2 + 3 * markers]
    words += [""] * (2 + 3 * markers - len(words))
    try:
        time = float(words[1])
        found = [np.nan if x.lower() in GAPS else float(x) for x in words[2:]]
    except ValueError as reason:
        raise FileError(f"{where}: must be numbers: {reason}") from None
    if not np.isfinite(time):
        raise FileError(f"{where}: the time must be a number, got '{cut(words[1])}'")
    return [time, *found]


def write_trc(trial: Trial, path: Path, units: str, force: bool) -> None:
    """Write a trial; markers that were not seen stay empty."""
    check_writable(path, force)
    rate, count = f"{trial.rate:.6g}", len(trial.time)
    numbered = [f"{x}{k}" for k in range(1, len(trial.markers) + 1) for x in "XYZ"]
    lines = [
        f"PathFileType\t4\t(X/Y/Z)\t{path.name}",
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames",
        f"{rate}\t{rate}\t{count}\t{len(trial.markers)}\t{units}\t{rate}\t1\t{count}",
        "Frame#\tTime\t" + "\t\t\t".join(trial.markers) + "\t\t",
        "\t\t" + "\t".join(numbered),
        "",
    ]
    table = (trial.positions / LENGTHS[units]).reshape(count, -1)
    for k, (time, row) in enumerate(zip(trial.time, table, strict=True), 1):
        words = ["" if np.isnan(x) else f"{x:.9g}" for x in row]
        lines.append("\t".join([str(k), repr(float(time)), *words]))
    write_text(path, "\n".join(lines) + "\n", force)
