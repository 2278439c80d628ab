"""Fields of a study by path: found, with the nearest names if they are not there, set and scaled.

A path is written as keys of TOML files are, ``predict.torque_weight`` or ``initial.q."base.z"``. In lists it
goes on with the name or number of an entry, or with ``*`` for all of them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from kinetree.errors import InputError, unknown_name
from kinetree.formats.toml_writer import toml_text
from kinetree.model.mechanism import Mechanism

PART = re.compile(r'"([^"]*)"|([^.\s"]+)')
INSIDE = ("body", "loop", "contact", "spring")  # parts of a mechanism that a study can describe
BODY = ("mechanism", "body")
OF_MASS = ("mass", "inertia")
Place = tuple[int | str, ...]


def path_parts(path: str) -> tuple[str, ...]:
    """The parts of a path.

    >>> path_parts('initial.q."base.z"')
    ('initial', 'q', 'base.z')
    """
    parts = [quoted or plain for quoted, plain in PART.findall(path)]
    if not parts or PART.sub("", path).replace(".", "").strip():
        raise InputError(f"the path of a field is written as predict.torque_weight, got '{path}'")
    return tuple(parts)


def short_name(path: str) -> str:
    """The end of a path as a name for an axis, without entries of lists and *.

    >>> short_name("mechanism.body.link1.mass"), short_name("walk.speed"), short_name("mechanism.body.link1")
    ('link1_mass', 'speed', 'link1')
    """
    parts = path_parts(path)
    kept = parts[2:] if parts[:2] == BODY else parts[1:] if len(parts) > 1 else parts
    words = [re.sub(r"\W+", "_", part).strip("_") for part in kept]
    return "_".join(word for word in words if word) or "field"


def described(table: Mapping[str, Any], mechanism: Mechanism) -> dict[str, Any]:
    """The study's table with its mechanism described in it, so that its parts can be changed by path."""
    return {**table, "mechanism": tomllib.loads(toml_text(mechanism))}


def goes_inside(path: str) -> bool:
    """Whether a path leads to a part of a mechanism."""
    parts = path_parts(path)
    return parts[0] == "mechanism" and len(parts) > 1 and parts[1] in INSIDE


def places(table: Mapping[str, Any], path: str) -> list[Place]:
    """Where a path leads to in a table; several places if it has a *.

    >>> places({"ground": {"region": [{"height": 0.0}, {"height": 0.1}]}}, "ground.region.*.height")
    [('ground', 'region', 0, 'height'), ('ground', 'region', 1, 'height')]
    """
    found: list[tuple[Place, Any]] = [((), table)]
    for part in path_parts(path):
        found = [((*place, key), inner) for place, value in found for key, inner in _into(value, part, path)]
    return [place for place, _ in found]


def _into(value: Any, part: str, path: str) -> list[tuple[int | str, Any]]:
    """Keys and values of one part of a path."""
    if isinstance(value, Mapping) or value is None:
        known = {} if value is None else value
        if part == "*":
            return list(known.items())
        return [(part, known.get(part))]  # keys that the study leaves open are judged when it is read
    if not isinstance(value, list):
        raise InputError(f"axis '{path}': '{part}' leads into {value!r}, which has no parts")
    names = [str(x["name"]) for x in value if isinstance(x, Mapping) and "name" in x]
    if part == "*":
        return list(enumerate(value))
    if part in names:
        return [(k, x) for k, x in enumerate(value) if x.get("name") == part]
    if part.isdecimal() and int(part) < len(value):
        return [(int(part), value[int(part)])]
    allowed = names or [str(k) for k in range(len(value))]
    raise InputError(unknown_name("entry", part, allowed).after(f"axis '{path}': "))


def value_at(table: Mapping[str, Any], place: Place) -> Any:
    """What stands at a place, or None."""
    value: Any = table
    for key in place:
        if value is None or (isinstance(value, Mapping) and key not in value):
            return None
        value = value[key]
    return value


def set_at(table: dict[str, Any], place: Place, value: Any) -> None:
    """Put a value into a table, which is changed; tables on the way are made."""
    inner: Any = table
    for key in place[:-1]:
        if isinstance(inner, dict) and inner.get(key) is None:
            inner[key] = {}
        inner = inner[key]
    inner[place[-1]] = value


def is_body(place: Place) -> bool:
    """Whether a place is a whole body, which stands for its mass with its inertia."""
    return place[:2] == BODY and len(place) == 3


def scale_at(table: dict[str, Any], place: Place, factor: float) -> None:
    """Multiply what stands at a place: a number, numbers, or the mass and inertia of a body."""
    if is_body(place):
        for key in OF_MASS:
            if value_at(table, (*place, key)) is not None:
                scale_at(table, (*place, key), factor)
        return
    set_at(table, place, scaled(value_at(table, place), factor))


def scaled(value: Any, factor: float) -> Any:
    """A number or numbers times a factor."""
    if isinstance(value, Mapping):
        return {key: scaled(x, factor) for key, x in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [scaled(x, factor) for x in value]
    return value * factor


def check_scalable(table: Mapping[str, Any], place: Place, path: str) -> None:
    """Raise unless there is a number, or numbers, to be multiplied."""
    value = value_at(table, place)
    if is_body(place) and isinstance(value, Mapping) and "mass" in value:
        return
    if not _is_numeric(value):
        raise InputError(
            f"axis '{path}' is relative, and the study has no number there to be multiplied, but {value!r}"
        )


def _is_numeric(value: Any) -> bool:
    if isinstance(value, Mapping):
        return bool(value) and all(map(_is_numeric, value.values()))
    if isinstance(value, list | tuple):
        return bool(value) and all(map(_is_numeric, value))
    return isinstance(value, int | float) and not isinstance(value, bool)
