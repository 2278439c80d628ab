"""What differs between two results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.errors import InputError, shown
from kinetree.formats.toml_writer import toml_text
from kinetree.result.labeled import bits, coordinates_of, same_bits, variables_of
from kinetree.result.records import json_text, plain, plain_check
from kinetree.result.variables import Variable

if TYPE_CHECKING:
    from kinetree.result.result import Result

HEADINGS = ("task", "settings", "statistics", "messages", "stopped_at", "stop_reason", "not_judged")


def differences(a: Result, b: Result) -> list[str]:
    """What is not the same, in words; empty if two results are equal to the last bit."""
    for other in (a, b):
        if not hasattr(other, "dataset"):
            raise InputError(f"a Result can be compared with another Result only, got {shown(other)}")
    return list(_differences(a, b))


def _differences(a: Result, b: Result) -> Iterator[str]:
    for name in HEADINGS:
        if json_text(plain(getattr(a, name), name)) != json_text(plain(getattr(b, name), name)):
            yield f"{name}: {getattr(a, name)!r} and {getattr(b, name)!r}"
    if a.mechanism is not b.mechanism and toml_text(a.mechanism) != toml_text(b.mechanism):
        yield f"mechanism: {a.mechanism!r} and {b.mechanism!r}"
    audits = [{name: plain_check(check) for name, check in x.audit.items()} for x in (a, b)]
    if json_text(audits[0]) != json_text(audits[1]):
        yield f"audit: {a.audit!r} and {b.audit!r}"
    for read in (coordinates_of, variables_of):
        yield from _array_differences(read(a.dataset), read(b.dataset))


def _array_differences(a: dict[str, Variable], b: dict[str, Variable]) -> Iterator[str]:
    for name in [*a, *(name for name in b if name not in a)]:
        if name not in a or name not in b:
            yield f"{name}: only in the {'first' if name in a else 'second'}"
        elif a[name]._replace(values=None) != b[name]._replace(values=None):
            yield f"{name}: {_description(a[name])} and {_description(b[name])}"
        elif not same_bits(a[name].values, b[name].values):
            yield f"{name}: {_first_difference(a[name].values, b[name].values)}"


def _description(variable: Variable) -> str:
    missing = ", may be missing" if variable.may_be_missing else ""
    return f"{variable.long_name} ({', '.join(variable.dims)}) in '{variable.unit}'{missing}"


def _first_difference(a: Any, b: Any) -> str:
    if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
        return f"shape {a.shape} of {a.dtype} and {b.shape} of {b.dtype}"
    places = np.argwhere(bits(a) != bits(b))
    first = tuple(int(k) for k in places[0])
    return f"{a[first]!s} and {b[first]!s} at {first}, {len(places)} of {a.size} differ"
