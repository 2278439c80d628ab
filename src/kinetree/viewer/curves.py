"""What of a result can be plotted over time, in groups of curves that share a unit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.report.panel import is_missing, is_zero, missing_note, zero_note
from kinetree.result.result import Result
from kinetree.result.table import columns_of

FIRST = ("q", "tau", "kinetic_energy", "qd")


class ShownCurve(NamedTuple):
    """Values (k,) over the result's time, with a name."""

    label: str
    values: Array


def curve_groups(result: Result) -> dict[str, list[ShownCurve]]:
    """Curves by title: the variable, the label of what it belongs to if it has several, and the unit.

    Groups that are zero throughout are among them; see :func:`split_zero`.

    >>> import kinetree as kt
    >>> fall = kt.simulate(kt.zoo.gripper(), [-1, 0, 0, 0], duration=0.1, times=3)
    >>> list(curve_groups(fall))[:3]
    ['q [rad]', 'tau [N m]', 'kinetic_energy [J]']
    """
    names = [name for name in result.variables if "time" in result[name].dims]
    names = [name for name in names if result[name].dtype.kind in "fib"]
    names.sort(key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))
    groups: dict[str, list[ShownCurve]] = {}
    for name in names:
        for owner, label, values, unit in _labeled(result, name):
            title = f"{name} {owner}".strip() + (f" [{unit}]" if unit not in ("", "1") else "")
            groups.setdefault(title, []).append(ShownCurve(label, values))
    return groups


def split_zero(groups: dict[str, list[ShownCurve]]) -> tuple[dict[str, list[ShownCurve]], str]:
    """The groups that are worth a look, all if none is, and a note on those left out.

    Left out is what is zero throughout, and what nothing determines.
    """
    gone = [title for title, curves in groups.items() if is_zero(curves)]
    if len(gone) == len(groups):
        return groups, ""
    missing = [title for title in gone if is_missing(groups[title])]
    notes = missing_note(missing), zero_note(title for title in gone if title not in missing)
    kept = {title: curves for title, curves in groups.items() if title not in gone}
    return kept, ". ".join(note for note in notes if note)


def telling(groups: dict[str, list[ShownCurve]], most: int = 2) -> list[str]:
    """The titles of the groups to show at first: the largest one of each variable."""
    best: dict[str, str] = {}
    for title, curves in groups.items():
        name = title.split()[0]
        if name not in best or len(curves) > len(groups[best[name]]):
            best[name] = title
    return list(best.values())[:most]


def _labeled(result: Result, name: str) -> list[tuple[str, str, Array, str]]:
    """Owner, label, values and unit of every column; the owner is the first of several labels."""
    array = result[name]
    dims = [str(dim) for dim in array.dims if dim != "time"]
    labels = [[str(x) for x in array[dim].values.tolist()] for dim in dims]
    found = []
    shape = [len(x) for x in labels]
    for place, (values, unit) in zip(np.ndindex(*shape), columns_of(name, array).values(), strict=True):
        path = [labels[k][j] for k, j in enumerate(place)]
        owner = path[0] if len(path) > 1 else ""
        label = " ".join(path[1:] if len(path) > 1 else path) or name
        found.append((owner, label, np.asarray(values, dtype=np.float64), unit))
    return found
