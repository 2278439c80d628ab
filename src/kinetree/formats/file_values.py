"""The values a mechanism file may hold: numbers, angles, vectors, matrices; each with its check.

A check returns the value, or raises a ValueError that continues the sentence "mass ...": must be what, got
what. The types made of them at the end carry the check and the JSON schema of the value.
"""

from __future__ import annotations

import math
import re
import reprlib
from functools import partial
from typing import Annotated, Any

from pydantic import PlainValidator, WithJsonSchema

from kinetree.errors import unknown_name

DEGREES = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*(?:deg|°)\s*")
LARGEST = 2**1023  # integers above have no float


class Degrees(float):
    """An angle that was written in degrees, already converted to rad; it remembers that it is no length."""


def as_number(value: object, infinite: bool = False, angle: bool = False) -> float:
    """A finite number; on request also an infinite one, or an angle such as "90 deg" in rad."""
    if angle and isinstance(value, str) and (match := DEGREES.fullmatch(value)):
        return Degrees(as_number(math.radians(float(match[1]))))
    if isinstance(value, bool) or not isinstance(value, int | float):
        wanted = 'a number or an angle such as "90 deg"' if angle else "a number"
        raise ValueError(f"must be {wanted}, got {reprlib.repr(value)}")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ValueError(f"must be a number of at most {float(LARGEST):.3g}, got a larger integer")
    if math.isnan(value) or (math.isinf(value) and not infinite):
        raise ValueError(f"must be a finite number, got {value}")
    return float(value)


def as_list(value: object, length: int | None = None, angle: bool = False) -> list[float]:
    """A list of numbers."""
    given = _items(value)
    if given is None or (length is not None and len(given) != length):
        count = "" if given is None else f"{len(given)}: "
        wanted = "a list of numbers" if length is None else f"a list of {length} numbers"
        raise ValueError(f"must be {wanted}, got {count}{reprlib.repr(value)}")
    return [as_number(x, angle=angle) for x in given]


def as_one_or_many(value: object, infinite: bool = False, angle: bool = False) -> float | list[float]:
    """One number, or a list of them: one per degree of freedom."""
    given = _items(value)
    if given is None:
        return as_number(value, infinite, angle)
    return [as_number(x, infinite, angle) for x in given]


def as_ends(value: object) -> list[float]:
    """Two numbers, from where to where, either of them perhaps infinite."""
    given = _items(value)
    if given is None or len(given) != 2:
        raise ValueError(f"must be a list of 2 numbers, got {reprlib.repr(value)}")
    return [as_number(x, infinite=True) for x in given]


def as_matrix(value: object) -> list[list[float]]:
    """Three rows of three numbers."""
    rows = _items(value)
    if rows is None or len(rows) != 3:
        raise ValueError(f"must be 3 rows of 3 numbers, got {reprlib.repr(value)}")
    return [as_list(row, 3) for row in rows]


def as_moment(value: object) -> list[float] | list[list[float]]:
    """Three numbers (the diagonal), or a matrix, also from its six numbers xx, yy, zz, xy, xz, yz."""
    given = _items(value) or []
    if len(given) == 6:
        xx, yy, zz, xy, xz, yz = as_list(value, 6)
        return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    if len(given) != 3:
        wanted = "3 numbers (its diagonal), 6 numbers [xx, yy, zz, xy, xz, yz] or 3 rows of 3 numbers"
        raise ValueError(f"must be {wanted}, got {reprlib.repr(value)}")
    return as_list(value, 3) if _items(given[0]) is None else as_matrix(value)


def as_axis(value: object) -> str | list[float]:
    """An axis by name or as a direction."""
    if isinstance(value, str):
        if value.lower().removeprefix("+") not in AXIS_NAMES:
            raise ValueError(unknown_name("axis", value, AXIS_NAMES).after("must be a direction: "))
        return value
    if _items(value) is None:
        raise ValueError(f'must be an axis such as "y" or 3 numbers, got {reprlib.repr(value)}')
    return as_list(value, 3)


def as_name_or_index(value: object) -> str | int:
    """An earlier entry by name or by its index."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"must be a name or an index, got {reprlib.repr(value)}")
    return value


def _items(value: object) -> list[object] | None:
    return list(value) if isinstance(value, list | tuple) else None


# ---- the types: check and JSON schema together ----------------------------------------------------------

AXIS_NAMES = ["x", "y", "z", "-x", "-y", "-z"]
NUMBER: dict[str, Any] = {"type": "number"}
DEGREE_TEXT = {"type": "string", "pattern": r"^\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*(deg|°)\s*$"}
ANGLE: dict[str, Any] = {"anyOf": [NUMBER, DEGREE_TEXT]}


def _list_of(items: dict[str, Any], length: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": length, "maxItems": length}


def _one_or_many(items: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [items, {"type": "array", "items": items}]}


_VECTOR = _list_of(NUMBER, 3)
_MATRIX = _list_of(_VECTOR, 3)
_AXIS = {"anyOf": [{"type": "string", "enum": AXIS_NAMES}, _VECTOR]}

Number = Annotated[float, PlainValidator(as_number), WithJsonSchema(NUMBER)]
Angle = Annotated[float, PlainValidator(partial(as_number, angle=True)), WithJsonSchema(ANGLE)]
Vector = Annotated[list[float], PlainValidator(partial(as_list, length=3)), WithJsonSchema(_VECTOR)]
Angles = Annotated[
    list[float],
    PlainValidator(partial(as_list, length=3, angle=True)),
    WithJsonSchema(_list_of(ANGLE, 3)),
]
Matrix = Annotated[list[list[float]], PlainValidator(as_matrix), WithJsonSchema(_MATRIX)]
Ends = Annotated[list[float], PlainValidator(as_ends), WithJsonSchema(_list_of(NUMBER, 2))]
Size = Annotated[
    list[float], PlainValidator(as_list), WithJsonSchema({"type": "array", "items": NUMBER, "minItems": 1})
]
Color = Annotated[
    list[float], PlainValidator(partial(as_list, length=4)), WithJsonSchema(_list_of(NUMBER, 4))
]
Axis = Annotated[str | list[float], PlainValidator(as_axis), WithJsonSchema(_AXIS)]
Moment = Annotated[
    list[float] | list[list[float]],
    PlainValidator(as_moment),
    WithJsonSchema({"anyOf": [_VECTOR, _list_of(NUMBER, 6), _MATRIX]}),
]
NameOrIndex = Annotated[
    str | int,
    PlainValidator(as_name_or_index),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0}]}),
]
PerAxis = Annotated[float | list[float], PlainValidator(as_one_or_many), WithJsonSchema(_one_or_many(NUMBER))]
Position = Annotated[
    float | list[float],
    PlainValidator(partial(as_one_or_many, angle=True)),
    WithJsonSchema(_one_or_many(ANGLE)),
]
Limit = Annotated[
    float | list[float],
    PlainValidator(partial(as_one_or_many, infinite=True)),
    WithJsonSchema(_one_or_many(NUMBER)),
]
PositionLimit = Annotated[
    float | list[float],
    PlainValidator(partial(as_one_or_many, infinite=True, angle=True)),
    WithJsonSchema(_one_or_many(ANGLE)),
]
