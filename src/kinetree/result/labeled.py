"""Variables as an xarray Dataset, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from kinetree.result.variables import Variable, unit_in_words

Variables = dict[str, Variable]


def labeled_dataset(coordinates: Mapping[str, Variable], variables: Mapping[str, Variable]) -> Any:
    """An xarray Dataset: units and meanings are attributes, as the CF conventions name them."""
    import xarray

    def entry(variable: Variable) -> tuple[Any, ...]:
        return variable.dims, variable.values, attributes(variable, coordinates)

    return xarray.Dataset(
        {name: entry(variable) for name, variable in variables.items()},
        {name: entry(variable) for name, variable in coordinates.items()},
    )


class Unlabeled(NamedTuple):
    """Arrays of which a Dataset is made once it is wanted: labels cost more than a short simulation."""

    coordinates: Variables
    variables: Variables

    def __call__(self) -> Any:
        """The Dataset."""
        return labeled_dataset(self.coordinates, self.variables)


def attributes(variable: Variable, coordinates: Mapping[str, Variable]) -> dict[str, Any]:
    """What describes a variable, in a Dataset and in a file; texts have no unit."""
    words = unit_in_words(variable.unit, variable.dims, coordinates)
    found: dict[str, Any] = {"units": words} if variable.unit else {}
    found["long_name"] = variable.long_name
    if words != variable.unit:
        found["unit_along"] = variable.unit
    if variable.may_be_missing:
        found["may_be_missing"] = 1
    return found


def described(dims: tuple[str, ...], values: Any, attrs: Mapping[str, Any]) -> Variable:
    """The variable that has such attributes."""
    unit = str(attrs.get("unit_along", attrs.get("units", "")))
    return Variable(dims, values, unit, str(attrs.get("long_name", "")), bool(attrs.get("may_be_missing", 0)))


def coordinates_of(dataset: Any) -> Variables:
    """The labels and the units along the dimensions."""
    return {str(name): variable_of(array) for name, array in dataset.coords.items()}


def variables_of(dataset: Any) -> Variables:
    """The arrays that are no labels."""
    return {str(name): variable_of(array) for name, array in dataset.data_vars.items()}


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal in shape, kind and every bit: 0.0 is not -0.0 and a NaN is itself."""
    alike = a.shape == b.shape and a.dtype.kind == b.dtype.kind
    return alike and bool(np.array_equal(bits(a), bits(b)))


def bits(array: np.ndarray) -> np.ndarray:
    """Floats as integers of the same bits; other arrays as they are."""
    return np.array(array, order="C").view(np.int64) if array.dtype.kind == "f" else array


def variable_of(array: Any) -> Variable:
    """The variable of a DataArray."""
    values = np.asarray(array.values)
    texts = values.dtype.kind not in "fib"
    return described(tuple(array.dims), values.astype(np.str_) if texts else values, array.attrs)
