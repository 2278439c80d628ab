"""Settings of tasks of people: each is of the kind of its default, or what is wrong is said."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from kinetree.algebra.arrays import number
from kinetree.errors import InputError, must_be, shown

RANGE = "_range"  # of what may be sought: its least and its largest value


def check_kinds(task: Any, what: str, may_be_none: Collection[str] = ()) -> None:
    """An error where a setting is of another kind than its default: text, a number, numbers, yes and no."""
    for spec in fields(task):
        value, name, default = getattr(task, spec.name), f"{what}: {spec.name}", spec.default
        if spec.name == "strength":
            if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
                raise InputError(
                    f"{name} must map names of joints to factors, such as {{'knee': 0.8}}, got {shown(value)}"
                )
        elif value is None and (default is None or spec.name in may_be_none):
            continue
        elif spec.name.endswith(RANGE):
            _check_range(value, name)
        elif isinstance(default, tuple):
            _check_numbers(value, default, name)
        else:
            _check_one(value, default, name)


def _check_one(value: object, default: object, name: str) -> None:
    """An error where a single value is of another kind than its default."""
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise InputError(must_be(name, "true or false", value))
    elif isinstance(default, str):
        if not isinstance(value, str):
            raise InputError(must_be(name, "text", value))
    elif type(default) is int:
        if type(value) is not int:
            raise InputError(must_be(name, "an integer", value))
    elif not np.isfinite(number(value, name)):
        raise InputError(must_be(name, "finite", value))


def _check_numbers(value: object, default: tuple[float, ...], name: str) -> None:
    """An error where several numbers are not as many, or not integers where their defaults are."""
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != len(default):
        raise InputError(must_be(name, f"{len(default)} numbers", value))
    whole = all(type(x) is int for x in default)
    for x in value:
        number(x, name)
        if whole and type(x) is not int:
            raise InputError(must_be(name, "integers", value))


def _check_range(value: object, name: str) -> None:
    """An error where what is sought has no two ascending bounds."""
    ends = [number(x, name) for x in value] if isinstance(value, tuple | list) and len(value) == 2 else []
    if not ends or not np.isfinite(ends).all() or not ends[0] < ends[1]:
        raise InputError(must_be(name, "two ascending numbers, the least and the largest", value))
