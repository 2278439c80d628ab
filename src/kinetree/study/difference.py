"""How far two results are apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, listed, unknown_name
from kinetree.result.result import Result
from kinetree.result.table import columns


class Difference(NamedTuple):
    """The largest difference of a variable, beside its largest value; when (s) and in which column."""

    variable: str
    difference: float
    size: float
    unit: str
    time: float
    place: str


def difference_rows(a: Result, b: Result, names: Sequence[str] | None = None) -> list[Difference]:
    """The largest difference of every variable over time that both results have, at the times of the first.

    The second is taken between its samples (:meth:`Result.at`), as far as both last.

    >>> from kinetree.study.run import run
    >>> fall = run("gripper_free_fall", study={"duration": 0.1})
    >>> difference_rows(fall, fall, ["q"])[0].difference
    0.0
    """
    mine, theirs = columns(a), columns(b)
    t = a.time.values
    begin, end = (pick(x.time.values[k] for x in (a, b)) for pick, k in ((max, 0), (min, -1)))
    here = (begin <= t) & (t <= end)
    if here.any() and not np.array_equal(t, b.time.values):  # which may have jumps
        theirs = columns(b.at(t[here]))
    shared = [name for name in mine if name in theirs and mine[name][0].dtype.kind == "f"]
    for name in names or ():
        if not any(column.partition(".")[0] == name for column in shared):
            known = dict.fromkeys(column.partition(".")[0] for column in shared)
            raise InputError(unknown_name("variable of both results", name, known))
    if not shared or not here.any():
        raise InputError(f"the results have nothing in common: {listed(mine)} and {listed(theirs)}")
    found: dict[str, Difference] = {}
    for column in shared:
        variable = column.partition(".")[0]
        if names and variable not in names:
            continue
        values, unit = mine[column]
        row = _largest(values[here], theirs[column][0])
        if row is None:
            continue
        k, apart, size = row
        before = found.get(variable)
        largest = size if before is None else max(size, before.size)
        if before is None or apart > before.difference:
            place = column.removeprefix(variable).removeprefix(".")
            before = Difference(variable, apart, size, unit, float(t[here][k]), place)
        found[variable] = before._replace(size=largest)
    return list(found.values())


def difference_notes(a: Result, b: Result, labels: tuple[str, str] = ("first", "second")) -> list[str]:
    """What is to be known beside the figures: other mechanisms, other durations.

    >>> from kinetree.study.run import run
    >>> long, short = (run("gripper_free_fall", study={"duration": T}) for T in (0.2, 0.1))
    >>> difference_notes(long, short)
    ["compared until 0.1 s, where 'second' ends"]
    """
    notes = []
    if a.mechanism.name != b.mechanism.name or a.mechanism.joint_names != b.mechanism.joint_names:
        notes.append(f"the mechanisms differ: {a.mechanism.name} and {b.mechanism.name}")
    ends = [float(x.time.values[-1]) for x in (a, b)]
    if abs(ends[0] - ends[1]) > 1e-9 * max(ends):
        notes.append(f"compared until {min(ends):g} s, where '{labels[int(np.argmin(ends))]}' ends")
    return notes


def _largest(x: Array, other: Array) -> tuple[int, float, float] | None:
    """Index and size of the largest difference, and the largest value; None if all is missing."""
    apart = np.abs(x - other)
    if np.isnan(apart).all():
        return None
    k = int(np.nanargmax(apart))
    return k, float(apart[k]), float(np.nanmax(np.abs(x)))
