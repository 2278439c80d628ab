"""Smooth functions of one coordinate as tables of a TOML file, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kinetree.algebra.smooth_functions import (
    Composed,
    CubicSpline,
    PiecewiseLinear,
    Polynomial,
    Scaled,
    SmoothFunction,
)
from kinetree.errors import FileError, unknown_name
from kinetree.formats.schema_parts import FUNCTIONS, SmoothFunctionTable


def function_of(table: SmoothFunctionTable) -> SmoothFunction:
    """The function that a table describes.

    >>> function_of(SmoothFunctionTable(kind="polynomial", coefficients=[0.0, 2.0])).at(3.0).tolist()
    6.0
    """
    if table.kind not in FUNCTIONS:
        raise FileError(unknown_name("kind of function", table.kind, FUNCTIONS))
    needed = FUNCTIONS[table.kind]
    allowed = (*needed, "kind", *(["ends"] if table.kind == "cubic_spline" else []))
    for key in needed:
        if getattr(table, key) is None:
            raise FileError(f"a function of kind '{table.kind}' needs {key}")
    for key, value in table:
        if value is not None and key not in allowed:
            raise FileError(f"a function of kind '{table.kind}' has no {key}")
    made: Mapping[str, Callable[[], SmoothFunction]] = {
        "polynomial": lambda: Polynomial(tuple(table.coefficients or ())),
        "cubic_spline": lambda: CubicSpline(
            tuple(table.x or ()), tuple(table.y or ()), table.ends or "cubic"
        ),
        "piecewise_linear": lambda: PiecewiseLinear(tuple(table.x or ()), tuple(table.y or ())),
        "scaled": lambda: Scaled(_inner(table.function), float(table.factor or 0.0)),
        "composed": lambda: Composed(_inner(table.outer), _inner(table.inner)),
    }
    return made[table.kind]()


def function_table(function: SmoothFunction) -> dict[str, Any]:
    """The table from which :func:`function_of` makes an equal function.

    >>> function_table(Polynomial((1.0, 2.0)))
    {'kind': 'polynomial', 'coefficients': [1.0, 2.0]}
    """
    match function:
        case Polynomial():
            return {"kind": "polynomial", "coefficients": list(function.coefficients)}
        case CubicSpline():
            ends = {} if function.ends == "cubic" else {"ends": function.ends}
            return {"kind": "cubic_spline", "x": list(function.x), "y": list(function.y), **ends}
        case PiecewiseLinear():
            return {"kind": "piecewise_linear", "x": list(function.x), "y": list(function.y)}
        case Scaled():
            return {
                "kind": "scaled",
                "factor": function.factor,
                "function": function_table(function.function),
            }
        case Composed():
            return {
                "kind": "composed",
                "outer": function_table(function.outer),
                "inner": function_table(function.inner),
            }
    raise FileError(
        f"a function of type {type(function).__name__} cannot be written to a file; known are polynomials, "
        "splines, lines, scaled and composed ones"
    )


def _inner(table: SmoothFunctionTable | None) -> SmoothFunction:
    assert table is not None
    return function_of(table)
