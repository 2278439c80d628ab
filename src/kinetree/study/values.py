"""The values a study file may hold beside those of mechanism files; each type carries its check and schema.

A check returns the value, or raises a ValueError that continues the sentence "study.duration ...".
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Annotated, Any

from pydantic import Field, PlainValidator, WithJsonSchema, create_model

from kinetree.declare import Declaration, Parameter, stored
from kinetree.errors import unknown_name
from kinetree.formats.file_values import ANGLE, NUMBER, Matrix, Number, Vector, as_list, as_number
from kinetree.formats.schema_parts import Table
from kinetree.motion.options import TEXT, Search

RATES = ("position", "velocity", "acceleration")
PerJoint = float | list[float] | dict[str, float]


def as_positive(value: object) -> float:
    """A number above zero."""
    x = as_number(value)
    if x <= 0.0:
        raise ValueError(f"must be a number > 0, got {x:g}")
    return x


def as_not_negative(value: object) -> float:
    """A number of at least zero."""
    x = as_number(value)
    if x < 0.0:
        raise ValueError(f"must be a number >= 0, got {x:g}")
    return x


def as_allowed(value: object) -> float | bool:
    """A number above zero, or false: anything is allowed."""
    return False if value is False else as_positive(value)


def as_whole(value: object, least: int = 1) -> int:
    """An integer."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"must be an integer of at least {least}, got {reprlib.repr(value)}")
    return value


def as_choice(value: object, kind: str, choices: Callable[[], Iterable[str]]) -> str:
    """One of some names; the nearest one is suggested."""
    names = list(choices())
    if not isinstance(value, str) or value not in names:
        raise ValueError(unknown_name(kind, value, names).after(f"must be a known {kind}: "))
    return value


def as_per_joint(value: object, angle: bool = False, infinite: bool = False) -> PerJoint:
    """One number for all joints, a list of them, or a table by joint name."""
    read = partial(as_number, angle=angle, infinite=infinite)
    if isinstance(value, Mapping):
        return {str(joint): read(x) for joint, x in value.items()}
    if isinstance(value, list | tuple):
        return [read(x) for x in value]
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        wanted = "a number, a list of numbers or a table such as { joint1 = 0.5 }"
        raise ValueError(f"must be {wanted}, got {reprlib.repr(value)}")
    return read(value)


def as_limits(value: object) -> PerJoint | str:
    """Largest torques, or the word for those of the mechanism."""
    if isinstance(value, str):
        return as_choice(value, "limit", lambda: ("model",))
    return as_per_joint(value, infinite=True)


def as_rows(value: object) -> list[list[float]]:
    """A list of lists of numbers."""
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(f"must be a list of rows, each a list of numbers, got {reprlib.repr(value)}")
    return [as_list(row) for row in value]


def as_orientation(value: object) -> str | list[float] | list[list[float]]:
    """A word, roll, pitch and yaw (rad or text such as "90 deg"), or rows of them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and isinstance(value[0], list):
        return [as_list(row, length=3, angle=True) for row in value]
    return as_list(value, length=3, angle=True)


def as_vector_or_rows(value: object) -> list[float] | list[list[float]]:
    """Three numbers, or a list of such rows."""
    if isinstance(value, list | tuple) and value and isinstance(value[0], list | tuple):
        return [as_list(row, length=3) for row in value]
    return as_list(value, length=3)


def as_course(value: object, angle: bool = False) -> float | list[list[float]]:
    """A number, or rows (time, value)."""
    if not isinstance(value, list | tuple):
        return as_number(value, angle=angle)
    if not value or not all(isinstance(row, list | tuple) and len(row) == 2 for row in value):
        raise ValueError(f"must be a number or rows [time, value], got {reprlib.repr(value)}")
    return [[as_number(t), as_number(x, angle=angle)] for t, x in value]


def as_names(value: object) -> list[str]:
    """A list of texts; one text counts as such a list."""
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not all(isinstance(x, str) for x in given):
        raise ValueError(f"must be a list of names, got {reprlib.repr(value)}")
    return list(given)


def as_ends(value: object) -> list[float]:
    """From where to where; infinite ends are allowed."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError(f"must be [from, to], got {reprlib.repr(value)}")
    return [as_number(x, infinite=True) for x in value]


def as_place(value: object, names: tuple[str, ...]) -> str | float | list[float]:
    """A named place, or values of s."""
    if isinstance(value, str):
        return as_choice(value, "place", lambda: names)
    return as_list(value) if isinstance(value, list | tuple) else as_number(value)


def as_rates(value: object) -> int | list[str]:
    """How many of position, velocity and acceleration, or names of them."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple):
        raise ValueError(f"must be 1, 2 or 3, or names such as ['velocity'], got {reprlib.repr(value)}")
    return [as_choice(x, "quantity", lambda: RATES) for x in names]


def as_corner(value: object) -> list[float]:
    """Three numbers, infinite ones where a direction is open."""
    if not isinstance(value, list | tuple) or len(value) != 3:
        raise ValueError(f"must be a list of 3 numbers, got {reprlib.repr(value)}")
    return [as_number(x, infinite=True) for x in value]


def as_partners(value: object) -> dict[str, str]:
    """A table from names to names."""
    if not isinstance(value, Mapping) or not all(isinstance(x, str) for x in value.values()):
        raise ValueError(f"must be a table of names such as {{ hip1 = 'hip2' }}, got {reprlib.repr(value)}")
    return {str(name): other for name, other in value.items()}


def as_coefficients(value: object) -> dict[str, float | list[float]]:
    """A table from names to numbers or lists of numbers."""
    if not isinstance(value, Mapping):
        raise ValueError(f"must be a table from names to numbers, got {reprlib.repr(value)}")
    return {
        str(name): as_list(x) if isinstance(x, list | tuple) else as_number(x) for name, x in value.items()
    }


def as_corners(value: object) -> list[float] | list[list[float]]:
    """Two numbers, or such a row for each of several instants."""
    if isinstance(value, list | tuple) and value and isinstance(value[0], list | tuple):
        return [as_list(row) for row in value]
    return as_list(value)


def as_rows_or_file(value: object) -> str | list[list[float]]:
    """Rows of numbers, or the name of a file that has them."""
    return value if isinstance(value, str) else as_rows(value)


def as_number_or_numbers(value: object) -> float | list[float]:
    """A number or several, infinite ones where there is no bound."""
    if isinstance(value, list | tuple):
        return [as_number(x, infinite=True) for x in value]
    return as_number(value, infinite=True)


def as_part(value: object) -> float | None:
    """A part between 0 and 1, None for false."""
    if value is False or value is None:
        return None
    part = as_number(value)
    if not 0.0 < part < 1.0:
        raise ValueError(f"must lie between 0 and 1, or be false, got {part}")
    return part


def as_sign(value: object) -> int:
    """1 or -1."""
    if isinstance(value, bool) or value not in (1, -1):
        raise ValueError(f"must be 1 or -1, got {reprlib.repr(value)}")
    return int(value)


def choice(kind: str, choices: Callable[[], Iterable[str]]) -> Any:
    """The type of a name out of some, which are asked for when they are needed."""
    schema = {"type": "string", "enum": list(choices())}
    return Annotated[
        str, PlainValidator(partial(as_choice, kind=kind, choices=choices)), WithJsonSchema(schema)
    ]


def _per_joint_schema(items: dict[str, Any]) -> dict[str, Any]:
    by_name = {"type": "object", "additionalProperties": items}
    return {"anyOf": [items, {"type": "array", "items": items}, by_name]}


_LIST: dict[str, Any] = {"type": "array", "items": NUMBER}
_VECTOR: dict[str, Any] = {"type": "array", "items": NUMBER, "minItems": 3, "maxItems": 3}
_NAMES: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
GAINS = _per_joint_schema(NUMBER)
POSITIONS = _per_joint_schema(ANGLE)

Positive = Annotated[
    float, PlainValidator(as_positive), WithJsonSchema({"type": "number", "exclusiveMinimum": 0})
]
NotNegative = Annotated[
    float, PlainValidator(as_not_negative), WithJsonSchema({"type": "number", "minimum": 0})
]
Allowed = Annotated[
    float | bool,
    PlainValidator(as_allowed),
    WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"const": False}]}),
]
Whole = Annotated[int, PlainValidator(as_whole), WithJsonSchema({"type": "integer", "minimum": 1})]
Seed = Annotated[
    int, PlainValidator(partial(as_whole, least=0)), WithJsonSchema({"type": "integer", "minimum": 0})
]
Numbers = Annotated[list[float], PlainValidator(as_list), WithJsonSchema(_LIST)]
Rows = Annotated[
    list[list[float]], PlainValidator(as_rows), WithJsonSchema({"type": "array", "items": _LIST})
]
VectorOrRows = Annotated[
    list[float] | list[list[float]],
    PlainValidator(as_vector_or_rows),
    WithJsonSchema({"anyOf": [_VECTOR, {"type": "array", "items": _VECTOR}]}),
]
Course = Annotated[
    float | list[list[float]],
    PlainValidator(as_course),
    WithJsonSchema({"anyOf": [NUMBER, {"type": "array", "items": _LIST}]}),
]
AngleCourse = Annotated[
    float | list[list[float]],
    PlainValidator(partial(as_course, angle=True)),
    WithJsonSchema({"anyOf": [ANGLE, {"type": "array", "items": {"type": "array", "items": ANGLE}}]}),
]
Orientation = Annotated[
    str | list[float] | list[list[float]],
    PlainValidator(as_orientation),
    WithJsonSchema({"anyOf": [{"type": "string"}, _VECTOR, {"type": "array", "items": _VECTOR}]}),
]
Names = Annotated[
    list[str], PlainValidator(as_names), WithJsonSchema({"anyOf": [{"type": "string"}, _NAMES]})
]
Gains = Annotated[PerJoint, PlainValidator(as_per_joint), WithJsonSchema(GAINS)]
Positions = Annotated[PerJoint, PlainValidator(partial(as_per_joint, angle=True)), WithJsonSchema(POSITIONS)]
Limits = Annotated[
    PerJoint | str,
    PlainValidator(as_limits),
    WithJsonSchema({"anyOf": [{"type": "string", "enum": ["model"]}, *GAINS["anyOf"]]}),
]
Ends = Annotated[
    list[float],
    PlainValidator(as_ends),
    WithJsonSchema({"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}),
]


# ---- by declaration ---------------------------------------------------------------------------------------


def _checked_by(check: Callable[..., Any], schema: dict[str, Any]) -> Any:
    return Annotated[Any, PlainValidator(check), WithJsonSchema(schema)]


_S: dict[str, Any] = {"type": "number", "minimum": 0, "maximum": 1}
_NUMBERS: dict[str, Any] = {"anyOf": [NUMBER, _LIST]}
_RATE: dict[str, Any] = {"type": "string", "enum": list(RATES)}


def _place(names: tuple[str, ...]) -> Any:
    schema = {"anyOf": [{"type": "string", "enum": list(names)}, _S, {"type": "array", "items": _S}]}
    return _checked_by(partial(as_place, names=names), schema)


Part = _checked_by(as_part, {"anyOf": [_S, {"const": False}]})
KINDS: dict[str, Any] = {
    "text": str,
    "flag": bool,
    "number": Number,
    "positive": Positive,
    "whole": Whole,
    "sign": _checked_by(as_sign, {"type": "integer", "enum": [1, -1]}),
    "numbers": Numbers,
    "rows": Rows,
    "rows_or_file": _checked_by(
        as_rows_or_file, {"anyOf": [{"type": "string"}, {"type": "array", "items": _LIST}]}
    ),
    "number_or_numbers": _checked_by(as_number_or_numbers, _NUMBERS),
    "function": str,
    "vector": Vector,
    "corner": _checked_by(as_corner, {"type": "array", "items": NUMBER, "minItems": 3, "maxItems": 3}),
    "matrix": Matrix,
    "names": Names,
    "partners": _checked_by(as_partners, {"type": "object", "additionalProperties": {"type": "string"}}),
    "gains": Gains,
    "positions": Positions,
    "bounds": _checked_by(partial(as_per_joint, infinite=True), GAINS),
    "position_bounds": _checked_by(partial(as_per_joint, angle=True, infinite=True), POSITIONS),
    "limits": Limits,
    "coefficients": _checked_by(as_coefficients, {"type": "object", "additionalProperties": _NUMBERS}),
    "corners": _checked_by(as_corners, {"anyOf": [_LIST, {"type": "array", "items": _LIST}]}),
    "rates": _checked_by(
        as_rates,
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": 3},
                {"type": "array", "items": _RATE},
                _RATE,
            ]
        },
    ),
}


def fields_of(declaration: Declaration) -> dict[str, Any]:
    """A field of a table for each parameter, with the check and the JSON schema of its kind."""
    return {x.name: (_kind(x), Field(_default(x), description=x.description)) for x in declaration.parameters}


def _kind(parameter: Parameter) -> Any:
    if parameter.kind == "place":
        kind = _place(parameter.choices)
    elif parameter.choices:
        kind = choice(parameter.kind, lambda: parameter.choices)
    else:
        kind = KINDS[parameter.kind]
    return kind | None if parameter.default is None else kind


def _default(parameter: Parameter) -> Any:
    """The default; of several points, one is a list of points."""
    value = parameter.default
    return [value] if parameter.kind == "rows" and isinstance(value, list) else value


def search_table(usual: Search, solvers: Sequence[str], names: Sequence[str]) -> Any:
    """A table of options of a search, with the usual ones of a task as defaults."""
    kinds = {
        "solver": choice("solver", lambda: solvers), "starts": Whole, "seed": Seed, "tolerance": Positive,
        "max_iterations": Whole, "time_limit": Positive | None, "between": Part,
    }  # fmt: skip
    texts = {x.name: x.metadata[TEXT].replace("None adds", "false adds") for x in fields(Search)}
    texts["solver"] = f"One of {', '.join(solvers)}."
    own: dict[str, Any] = {
        name: (kinds[name], Field(getattr(usual, name), description=texts[name])) for name in names
    }
    about = "How a motion is sought."
    return create_model("SearchTable", __base__=Table, __module__=__name__, __doc__=about, **own)


def declared_table(key: str) -> Any:
    """The table of a task as its class declares it."""
    (declaration,) = [x for x in stored("tasks") if x.key == key]
    name, about = f"{declaration.name}Settings", f"{declaration.text[0].upper()}{declaration.text[1:]}."
    return create_model(name, __base__=Table, __module__=__name__, __doc__=about, **fields_of(declaration))
