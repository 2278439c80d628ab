"""Denavit-Hartenberg tables as CSV: a header with the names of the columns, then a row per body."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from math import radians
from typing import Any

from kinetree.errors import FileError, ModelError, listed, unknown_name
from kinetree.model.dh import from_dh
from kinetree.model.joint import PARAMETERS
from kinetree.model.mechanism import Mechanism

TEXTS = ("name", "parent", "joint", "joint_name", "sequence")
NUMBERS = ("a", "b", "d", "mass", *(key for key in PARAMETERS if key not in ("lower", "upper", "rest")))
ANGLES = ("alpha", "theta", "lower", "upper", "rest")  # also with _deg
CENTER = ("cx", "cy", "cz")
INERTIA = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
COLUMNS = (*TEXTS, *NUMBERS, *ANGLES, *(f"{key}_deg" for key in ANGLES), *CENTER, *INERTIA)


def mechanism_from_dh_csv(
    text: str,
    source: str = "text",
    convention: str = "modified",
    name: str = "mechanism",
    allow_unphysical: bool = False,
) -> Mechanism:
    r"""The mechanism of a DH table; columns are the keys of :func:`from_dh`, each may be missing.

    Lengths in m, angles in rad, or in degrees in the columns ``alpha_deg``, ``theta_deg``, ``lower_deg`` and
    ``upper_deg``. The center of mass is cx, cy, cz; the inertia about it ixx, iyy, izz, ixy, ixz, iyz.
    Empty cells take the default. Columns are separated by commas, semicolons or tabs.

    >>> mechanism_from_dh_csv("a,alpha_deg,d,mass\n0.3,90,0.4,2\n0.25,0,0,1", convention="classic")
    Mechanism('mechanism', 2 bodies, 2 degrees of freedom)
    """
    lines = text.removeprefix("\ufeff").splitlines()
    numbered = [(k, x) for k, x in enumerate(lines, start=1) if x.strip() and not x.lstrip().startswith("#")]
    if not numbered:
        raise FileError(f"{source}: is empty; a DH table needs a header such as a,alpha,d,theta,mass")
    separator = next((x for x in (";", "\t") if x in numbered[0][1]), ",")
    rows = [
        [cell.strip() for cell in row] for row in csv.reader((x for _, x in numbered), delimiter=separator)
    ]
    header = [cell.lower() for cell in rows[0]]
    _check_header(header, f"{source}, line {numbered[0][0]}")
    table = []
    for (line, _), cells in zip(numbered[1:], rows[1:], strict=True):
        where = f"{source}, line {line}"
        if len(cells) != len(header):
            raise FileError(
                f"{where}: has {len(cells)} cells, but the header {len(header)}: {listed(header)}"
            )
        table.append(_row(dict(zip(header, cells, strict=True)), where))
    if not table:
        raise FileError(f"{source}: has a header and no rows; a row is needed for every body")
    try:
        return from_dh(table, convention=convention, name=name, allow_unphysical=allow_unphysical)
    except ModelError as error:
        found = re.match(r"DH row (\d+)", str(error))
        where = f"{source}, line {numbered[int(found[1]) + 1][0]}" if found else source
        raise ModelError(f"{where}: {error}") from None


def _check_header(header: list[str], where: str) -> None:
    for column in header:
        if column not in COLUMNS:
            raise FileError(unknown_name("column", column, COLUMNS).after(f"{where}: "))
        if header.count(column) > 1 or (f"{column}_deg" in header):
            raise FileError(f"{where}: the column '{column}' is given twice")


def _row(cells: Mapping[str, str], where: str) -> dict[str, Any]:
    """The row as :func:`from_dh` takes it."""
    given = {key: cell for key, cell in cells.items() if cell}
    row: dict[str, Any] = {key: given[key] for key in TEXTS if key in given}
    row |= {key: _number(given[key], key, where) for key in (*NUMBERS, *ANGLES) if key in given}
    for key in ANGLES:
        if f"{key}_deg" in given:
            row[key] = radians(_number(given[f"{key}_deg"], f"{key}_deg", where))
    if {*CENTER} & {*given}:
        row["center"] = [_number(given.get(key, "0"), key, where) for key in CENTER]
    if {*INERTIA} & {*given}:
        row["inertia"] = [_number(given.get(key, "0"), key, where) for key in INERTIA]
    return row


def _number(text: str, key: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        hint = "; write a decimal point, not a comma" if re.fullmatch(r"[-+]?\d+,\d+", text) else ""
        raise FileError(f"{where}: {key} must be a number, got '{text}'{hint}") from None
