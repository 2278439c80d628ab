"""Measured walking from a table of the user, to compare predictions with."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np

from kinetree.algebra.arrays import Array, frozen
from kinetree.errors import FileError, KinetreeWarning, listed
from kinetree.gait_data.curves import ALL, CurveKind
from kinetree.gait_data.cycle import stance_share
from kinetree.gait_data.measured import Measured
from kinetree.trajectories.csv_table import read_lines, row_of_numbers

PERCENT = "percent"
HEADER = f"{PERCENT}, knee_flexion, knee_flexion_sd, ..."


def read_measured_walking(path: str | os.PathLike[str]) -> Measured:
    r"""Measured walking in a CSV file, over one gait cycle from heel strike to heel strike of the same foot.

    The header is ``percent`` (0 to 100) and names of curves (``kt.gait_analysis.CURVES``) in their units,
    such as ``knee_flexion`` (degrees) or ``force_vertical`` (body weights). A column ``knee_flexion_sd`` has
    the standard deviation between people; without it nothing is compared with the deviation. Values are
    interpolated at each percent; the end of stance follows from ``force_vertical``.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "knee.csv"
    ...     _ = file.write_text("percent,knee_flexion\n0,5\n15,20\n40,5\n72,65\n100,5\n")
    ...     data = read_measured_walking(file)
    >>> data.name, data.mean["knee_flexion"].shape, float(data.mean["knee_flexion"][56])
    ('knee', (101,), 35.0)
    """
    name = os.fspath(path)
    (_, header), *rows = read_lines(name, "measured walking", HEADER)
    if len(set(header)) < len(header):
        twice = next(title for title in header if header.count(title) > 1)
        raise FileError(f"{name}: two columns are called '{twice}'")
    table = np.array([row_of_numbers(f"{name}, line {line}", header, cells) for line, cells in rows])
    percent = _checked_percent(name, table, [line for line, _ in rows])
    columns = {
        title: frozen(np.interp(np.arange(101.0), percent, table[:, k])) for k, title in enumerate(header)
    }
    titles = {key: titles for key, kind in ALL.items() if (titles := _titles(key, kind, columns))}
    if not titles:
        raise FileError(f"{name}: no column has the name of a curve; known are {', '.join(ALL)}")
    used = {PERCENT, *(title for pair in titles.values() for title in pair)}
    if ignored := [title for title in header if title not in used]:
        warnings.warn(
            f"{name}: ignored columns {listed(ignored)}; curves are {', '.join(ALL)}, each with _sd",
            KinetreeWarning,
            stacklevel=2,
        )
    mean = {key: columns[pair[0]] for key, pair in titles.items()}
    sd = {key: columns.get(pair[1], frozen(np.full(101, np.nan))) for key, pair in titles.items()}
    for key, values in sd.items():
        if (values < 0.0).any():
            raise FileError(f"{name}: {titles[key][1]} must not be negative, got {values.min():g}")
    stance = stance_share(mean["force_vertical"]) if "force_vertical" in mean else float("nan")
    return Measured(
        Path(name).stem, f"measured walking in {Path(name).name}", frozen(np.arange(101.0)), mean, sd,
        stance, float("nan"), (),
    )  # fmt: skip


def _titles(key: str, kind: CurveKind, columns: dict[str, Array]) -> tuple[str, str] | None:
    """The titles of the mean and the deviation of a curve: its own name, or that of the included data."""
    for mean, sd in ((key, f"{key}_sd"), (f"{kind.column}_mean", f"{kind.column}_sd")):
        if mean in columns:
            return mean, sd
    return None


def _checked_percent(name: str, table: Array, lines: list[int]) -> Array:
    """The first column, which rises from 0 to 100."""
    if len(table) < 3:
        raise FileError(f"{name}: a gait cycle needs at least 3 rows of numbers, got {len(table)}")
    percent = table[:, 0]
    if late := np.flatnonzero(np.diff(percent) <= 0.0).tolist():
        k = late[0] + 1
        raise FileError(
            f"{name}, line {lines[k]}: {PERCENT} must increase, got {percent[k]:g} after {percent[k - 1]:g}"
        )
    if percent[0] != 0.0 or percent[-1] != 100.0:
        raise FileError(f"{name}: {PERCENT} must go from 0 to 100, got {percent[0]:g} to {percent[-1]:g}")
    return percent
