"""Results as OpenSim tables, motions (.mot) and storage files (.sto), and such tables read."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import FileError, InputError, cut, listed, must_be, unknown_name
from kinetree.formats.regular_file import read_text
from kinetree.model.mechanism import Mechanism
from kinetree.result.result import Result
from kinetree.state import independent_axes

GROUND = "ground_reaction"
TO_OPENSIM = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])  # x forward, y up, z to the right


def opensim_text(result: Result, degrees: bool = False, variable: str = "q") -> str:
    r"""A table of one variable of the joints over time; its header says whether angles are in degrees.

    ``variable`` has the dimensions time and joint, such as q, qd or tau; ``degrees`` is for q and qd only.
    Blanks in names become underscores. Times must increase in OpenSim, so that of several samples at one
    time, as on both sides of an impact, only the last is written.

    >>> import kinetree as kt
    >>> from kinetree.result.build import build_result
    >>> run = build_result("simulate", kt.zoo.two_link(), {"time": [0], "q": [[1, 2]], "qd": [[0, 0]]})
    >>> opensim_text(run).splitlines()[4:8]
    ['inDegrees=no', 'endheader', 'time\tjoint1\tjoint2', '0.0\t1.0\t2.0']
    """
    choices = [name for name in result.variables if result[name].dims == ("time", "joint")]
    if variable not in choices:
        raise InputError(unknown_name("variable over time and joint", variable, choices))
    if degrees and variable not in ("q", "qd"):
        raise InputError(f"degrees are for q and qd, not for '{variable}'")
    values = np.array(result[variable].values)
    if degrees:
        values = np.where(_turning(result.mechanism), np.degrees(values), values)
    return _text(f"{result.mechanism.name} {variable}", result, values, degrees)


def ground_text(result: Result) -> str:
    """The ground's reactions on both feet as OpenSim reads external loads: force, point and torque of each.

    The result has the variable ``ground_reaction`` (time, foot, axis), where it acts (``.._point``) and,
    unless it is zero, the moment there (``.._moment``). OpenSim has x forward, y up, z to the right, where
    results have x forward, y to the left, z up. Where a foot does not touch, all its numbers are zero.
    """
    for name in (GROUND, f"{GROUND}_point"):
        if name not in result or result[name].dims != ("time", "foot", "axis"):
            raise InputError(
                f"the result has no '{name}' (time, foot, axis), which a file of ground reactions needs; it "
                f"has {listed(result.variables)}"
            )
    force, point = (np.nan_to_num(result[name].values) @ TO_OPENSIM.T for name in (GROUND, f"{GROUND}_point"))
    moment = np.zeros_like(force)
    if f"{GROUND}_moment" in result:
        moment = np.nan_to_num(result[f"{GROUND}_moment"].values) @ TO_OPENSIM.T
    names: list[str] = []
    columns: list[Array] = []
    for k, foot in enumerate(str(x) for x in result["foot"].values):
        for what, values in (("force_v", force), ("force_p", point), ("torque_", moment)):
            names += [f"{foot}_ground_{what}{axis}" for axis in "xyz"]
            columns.append(values[:, k])
    return opensim_table(
        f"{result.mechanism.name} {GROUND}", result, names, np.concatenate(columns, axis=1), False
    )


class OpenSimTable(NamedTuple):
    """A table of OpenSim: ``time`` (m,) in s, ``columns`` (m,) by name, whether angles are in ``degrees``."""

    time: Array
    columns: dict[str, Array]
    degrees: bool


def read_opensim(path: str | os.PathLike[str]) -> OpenSimTable:
    r"""The table of a motion (.mot) or storage file (.sto) of OpenSim.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "step.mot")
    >>> count = file.write_text("step\ninDegrees=yes\nendheader\ntime knee_angle_r\n0.0 10.0\n0.1 12.5\n")
    >>> table = read_opensim(file)
    >>> table.columns["knee_angle_r"].tolist(), table.degrees
    ([10.0, 12.5], True)
    """
    lines = read_text(path).splitlines()
    end = next((k for k, line in enumerate(lines) if line.strip().lower() == "endheader"), None)
    if end is None or len(lines) < end + 2:
        raise FileError(
            f"{path}: is not an OpenSim table: a line 'endheader' and names of columns are needed"
        )
    stated = dict(line.replace(" ", "").lower().split("=", 1) for line in lines[:end] if "=" in line)
    names = lines[end + 1].split()
    if not names or names[0].lower() != "time" or len(set(names)) < len(names):
        raise FileError(
            f"{path}, line {end + 2}: is not a header 'time name1 name2 ...' with different names, got "
            f"{cut(lines[end + 1])}"
        )
    rows = []
    for number, line in enumerate(lines[end + 2 :], end + 3):
        if line.strip():
            rows.append(_numbers(line.split(), len(names), f"{path}, line {number}"))
    values = np.array(rows, dtype=np.float64).reshape(-1, len(names))
    columns = {name: values[:, k] for k, name in enumerate(names) if k}
    return OpenSimTable(values[:, 0], columns, _in_degrees(lines[:end], stated))


def _in_degrees(head: list[str], stated: dict[str, str]) -> bool:
    """Whether angles are in degrees: as the header says, and always in motion files of SIMM."""
    if "indegrees" in stated:
        return stated["indegrees"] == "yes"
    words = [line.split() for line in head]
    return (
        any(x and x[0] == "datacolumns" for x in words) or "angles are in degrees" in " ".join(head).lower()
    )


def _numbers(words: list[str], count: int, where: str) -> list[float]:
    if len(words) != count:
        raise FileError(f"{where}: {count} numbers are needed, found {len(words)}")
    try:
        found = [float(word) for word in words]
    except ValueError as reason:
        raise FileError(f"{where}: must be numbers: {reason}") from None
    if not np.isfinite(found).all():
        raise FileError(must_be(f"{where}: numbers", "finite", cut(" ".join(words)), ""))
    return found


def _text(title: str, result: Result, values: Array, degrees: bool) -> str:
    return opensim_table(title, result, [str(name) for name in result["joint"].values], values, degrees)


def opensim_table(title: str, result: Result, labels: list[str], values: Array, degrees: bool) -> str:
    """Columns (m, k) over the times of a result as OpenSim reads them."""
    names = ["_".join(label.split()) for label in labels]
    twice = [name for name in names if ["time", *names].count(name) > 1]
    if twice:
        raise InputError(f"two columns of the OpenSim file would be called '{twice[0]}'; rename a joint")
    times = result.time.values
    last = np.append(np.diff(times) > 0.0, True)
    times, values = times[last], values[last]
    head = [
        " ".join(title.split()),
        "version=1",
        f"nRows={len(values)}",
        f"nColumns={1 + len(names)}",
        f"inDegrees={'yes' if degrees else 'no'}",
        "endheader",
        "\t".join(["time", *names]),
    ]
    rows = ["\t".join(repr(float(x)) for x in (t, *row)) for t, row in zip(times, values, strict=True)]
    return "\n".join([*head, *rows]) + "\n"


def _turning(mechanism: Mechanism) -> Array:
    turns: Array = mechanism.tree.turns[independent_axes(mechanism)]
    return turns
