"""A result as one table: a row for every time, a column for every number."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.errors import FileError, InputError, unknown_name
from kinetree.formats.regular_file import checked_path, write_text
from kinetree.result.labeled import coordinates_of, variable_of
from kinetree.result.variables import units_along

if TYPE_CHECKING:
    from kinetree.formats.regular_file import PathLike
    from kinetree.result.result import Result


def columns(result: Result, variables: Sequence[str] | None = None) -> dict[str, tuple[Any, str]]:
    """Values (k,) and unit of every column, named by variable and labels with points between them.

    ``variables``: only those of some; each must be over time.

    >>> import kinetree as kt
    >>> from kinetree.result.build import build_result
    >>> motion = {"time": [0.0], "q": [[1, 2]], "qd": [[0, 0]]}
    >>> list(columns(build_result("simulate", kt.zoo.two_link(), motion)))
    ['q.joint1', 'q.joint2', 'qd.joint1', 'qd.joint2']
    """
    over_time = [name for name in result.variables if "time" in result[name].dims]
    for name in variables or ():
        if name not in over_time:
            raise InputError(unknown_name(f"variable over time of the {result.task} result", name, over_time))
    found: dict[str, tuple[Any, str]] = {}
    for name in over_time if variables is None else variables:
        found |= columns_of(name, result[name])
    return found


def columns_of(name: str, array: Any) -> dict[str, tuple[Any, str]]:
    """Those of one variable, given as a DataArray; time comes first wherever it stood."""
    coordinates, variable = coordinates_of(array), variable_of(array)
    at, shape = variable.dims.index("time"), variable.values.shape
    units = units_along(variable.unit, variable.dims, coordinates)
    units = np.broadcast_to(units, [1 if k == at else n for k, n in enumerate(shape)])
    values, units = np.moveaxis(variable.values, at, 0), np.moveaxis(units, at, 0)
    labels = [coordinates[dim].values.tolist() for dim in variable.dims if dim != "time"]
    found = {}
    for place, path in zip(np.ndindex(values.shape[1:]), product(*labels), strict=True):
        column = ".".join([name, *(str(label) for label in path)])
        found[column] = (values[(slice(None), *place)], str(units[(0, *place)]))
    return found


def frame(result: Result, variables: Sequence[str] | None = None) -> Any:
    """The columns as a pandas DataFrame over time."""
    import pandas

    found = columns(result, variables)
    index = pandas.Index(result.dataset["time"].values, name="time")
    table = pandas.DataFrame({name: values for name, (values, _) in found.items()}, index=index)
    table.attrs["units"] = {"time": "s"} | {name: unit for name, (_, unit) in found.items()}
    return table


def write_csv(
    result: Result, path: PathLike, force: bool = False, variables: Sequence[str] | None = None
) -> None:
    """The columns as a .csv file, the units in brackets after their names; what is missing is left empty."""
    place = _checked(path, ".csv")
    table = frame(result, variables)
    units = table.attrs["units"]
    named = table.rename(columns=lambda name: f"{name} [{units[name]}]" if units[name] else name)
    write_text(place, named.to_csv(index_label="time [s]", lineterminator="\n"), force)


def write_json(
    result: Result, path: PathLike, force: bool = False, variables: Sequence[str] | None = None
) -> None:
    """The columns as a .json file, with their units; what is missing is null."""
    place = _checked(path, ".json")
    found = columns(result, variables)
    numbers = {"time": result.dataset["time"].values} | {name: values for name, (values, _) in found.items()}
    lists = {name: [None if x != x else x for x in values.tolist()] for name, values in numbers.items()}
    units = {"time": "s"} | {name: unit for name, (_, unit) in found.items()}
    head = {"task": result.task, "mechanism": result.mechanism.name}
    write_text(place, json.dumps({**head, "units": units, "columns": lists}, allow_nan=False) + "\n", force)


def _checked(path: PathLike, suffix: str) -> Path:
    place = checked_path(path)
    if place.suffix.lower() != suffix:
        raise FileError(f"{place}: a table of a result is written to a file with the suffix {suffix}")
    return place
