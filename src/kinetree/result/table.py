"""A result as one table: a row for every time, a column for every number."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.errors import FileError
from kinetree.formats.files import checked_path, write_text
from kinetree.result.labelled import coordinates_of, variable_of
from kinetree.result.variables import units_along

if TYPE_CHECKING:
    from kinetree.formats.files import PathLike
    from kinetree.result.result import Result


def columns(result: Result) -> dict[str, tuple[Any, str]]:
    """Values (k,) and unit of every column, named by variable and labels with points between them.

    >>> import kinetree as kt
    >>> from kinetree.result.build import build_result
    >>> motion = {"time": [0.0], "q": [[1, 2]], "qd": [[0, 0]]}
    >>> list(columns(build_result("simulate", kt.zoo.two_link(), motion)))
    ['q.joint1', 'q.joint2', 'qd.joint1', 'qd.joint2']
    """
    found: dict[str, tuple[Any, str]] = {}
    for name in result.variables:
        if "time" in result[name].dims:
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


def frame(result: Result) -> Any:
    """The columns as a pandas DataFrame over time."""
    import pandas

    found = columns(result)
    index = pandas.Index(result.dataset["time"].values, name="time")
    table = pandas.DataFrame({name: values for name, (values, _) in found.items()}, index=index)
    table.attrs["units"] = {"time": "s"} | {name: unit for name, (_, unit) in found.items()}
    return table


def write_csv(result: Result, path: PathLike, force: bool = False) -> None:
    """The columns as a .csv file, the units in brackets after their names; what is missing is left empty."""
    place = checked_path(path)
    if place.suffix.lower() != ".csv":
        raise FileError(f"{place}: a table of a result is written to a file with the suffix .csv")
    table = frame(result)
    units = table.attrs["units"]
    named = table.rename(columns=lambda name: f"{name} [{units[name]}]" if units[name] else name)
    write_text(place, named.to_csv(index_label="time [s]", lineterminator="\n"), force)
