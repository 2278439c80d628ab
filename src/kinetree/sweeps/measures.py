"""Numbers of a case: what is made of its result, by a few words such as "peak tau" or "last q joint1"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, listed, must_be, unknown_name
from kinetree.result.result import Result

TIME, INSTANT, ROLLOUT = "time", "instant", "rollout"
EFFORT = "effort"  # also summed over joints
GRAMMAR = re.compile(
    r"\s*(?:(?P<reduction>\w+)\s+)?(?P<variable>\w+)(?P<labels>(?:\s+[^\s<>]+)*?)"
    r"(?:\s*(?P<sense>[<>])\s*(?P<bound>\S+))?\s*"
)
USUAL = {  # of a task, as far as its result has them
    "predict": {"duration": "duration", "objective": "objective", "iterations": "iterations"},
    "walk": {"duration": "duration", "objective": "objective", "iterations": "iterations"},
    "simulate": {"last_q": "last q", "peak_qd": "peak qd"},
    "control": {"largest_error": "largest_error", "peak_tau": "peak tau"},
    "simulate_batch": {"last_q": "last q", "peak_qd": "peak qd"},
    "inverse": {"peak_tau": "peak tau", "rms_tau": "rms tau"},
}


class MeasureError(InputError):
    """A measure that results do not have: a mistake in the sweep, not of a case."""


def _mean(x: Array, t: Array) -> Array:
    span = t[..., -1] - t[..., 0]
    return _integral(x, t) / span if np.all(span > 0.0) else x.mean(axis=0)


def _integral(x: Array, t: Array) -> Array:
    widths = np.diff(t).reshape(-1, *(1 for _ in x.shape[1:]))
    return np.asarray((0.5 * widths * (x[1:] + x[:-1])).sum(axis=0))


REDUCTIONS: dict[str, tuple[Callable[[Array, Array], Array], str, str]] = {  # of (time, ...), unit, meaning
    "peak": (lambda x, t: np.abs(x).max(axis=0), "{}", "largest magnitude of"),
    "max": (lambda x, t: x.max(axis=0), "{}", "largest"),
    "min": (lambda x, t: x.min(axis=0), "{}", "smallest"),
    "mean": (_mean, "{}", "mean of"),
    "rms": (lambda x, t: np.sqrt(_mean(x**2, t)), "{}", "root mean square of"),
    "first": (lambda x, t: x[0], "{}", "first"),
    "last": (lambda x, t: x[-1], "{}", "last"),
    "range": (lambda x, t: x.max(axis=0) - x.min(axis=0), "{}", "range of"),
    "integral": (_integral, "{} s", "integral over time of"),
    EFFORT: (lambda x, t: _integral(x**2, t), "({})^2 s", "integral over time of the sum of squares of"),
}


class Value(NamedTuple):
    """A number or numbers of a case, with their dimensions, unit and meaning."""

    dims: tuple[str, ...]
    values: Array
    unit: str
    meaning: str


@dataclass(frozen=True)
class Measure:
    """One number, or one for each joint, of a result."""

    name: str
    reduction: str | None
    variable: str
    labels: tuple[str, ...] = ()
    sense: str | None = None
    bound: float = 0.0

    def of(self, result: Result) -> Value:
        """What it is for a result."""
        found = self._statistic(result) if self.reduction is None else self._reduced(result)
        if self.sense is None:
            return found
        above = found.values > self.bound if self.sense == ">" else found.values < self.bound
        meaning = f"whether {found.meaning} is {'above' if self.sense == '>' else 'below'} {self.bound:g}"
        return Value(found.dims, above.astype(np.float64), "1", meaning)

    def _statistic(self, result: Result) -> Value:
        known = {k: x for k, x in result.statistics.items() if _is_number(x)}
        if self.variable in result.variables:
            raise MeasureError(
                f"measure '{self.name}': '{self.variable}' is an array over time; reduce it to a number, "
                f"such as 'peak {self.variable}'; allowed: {listed(REDUCTIONS)}"
            )
        if self.variable not in known:
            raise MeasureError(unknown_name("number", self.variable, known).after(f"measure '{self.name}': "))
        unit = "s" if self.variable == "duration" else "1"
        return Value((), np.asarray(float(known[self.variable])), unit, self.variable.replace("_", " "))

    def _reduced(self, result: Result) -> Value:
        over_time = [name for name in result.variables if TIME in result[name].dims]
        if self.variable not in over_time:
            raise MeasureError(
                unknown_name("variable", self.variable, over_time).after(f"measure '{self.name}': ")
            )
        array = result[self.variable]
        leading = [ROLLOUT] if ROLLOUT in array.dims else []  # a batch of motions
        array = array.transpose(TIME, *leading, ...)
        for label in self.labels:
            dims = [d for d in array.dims[1:] if d in array.coords and label in array[d].values.tolist()]
            if not dims:
                known = [str(x) for d in array.dims[1:] if d in array.coords for x in array[d].values]
                raise MeasureError(unknown_name("label", label, known).after(f"measure '{self.name}': "))
            array = array.sel({dims[0]: label})
        reduce, unit, meaning = REDUCTIONS[str(self.reduction)]
        values = np.asarray(reduce(np.asarray(array.values, dtype=np.float64), result.time.values))
        dims_left = tuple(map(str, array.dims[1:]))
        if self.reduction == EFFORT:
            values = values.sum(axis=tuple(range(len(leading), values.ndim)))
            dims_left = tuple(leading)
        of = " ".join((self.variable, *self.labels))
        return Value(dims_left, values, unit.format(_unit_of(array)), f"{meaning} {of}")


def _unit_of(array: Any) -> str:
    """The unit of an array, or units where what was chosen of it has several: "N or N m"."""
    unit = str(array.attrs.get("unit_along", array.attrs.get("units", "")))
    for name in array.coords:
        if f"{{{name}}}" in unit:
            each = np.atleast_1d(array[name].values).tolist()
            return " or ".join(dict.fromkeys(unit.replace(f"{{{name}}}", str(x)) for x in each))
    return unit


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_measures(texts: Mapping[str, str]) -> list[Measure]:
    """Measures out of their words.

    >>> read_measures({"up": "min q base.z > 0.3"})[0].labels
    ('base.z',)
    """
    return [_read(name, text) for name, text in texts.items()]


def _read(name: str, text: str) -> Measure:
    match = GRAMMAR.fullmatch(text)
    if not name.isidentifier() or match is None:
        raise InputError(
            f"measure {name} = '{text}': write REDUCTION VARIABLE [LABEL] [> NUMBER], such as 'peak tau "
            "joint1', or the name of a number of the result, such as 'duration'"
        )
    reduction, variable = match["reduction"], match["variable"]
    labels = tuple(match["labels"].split())
    if reduction is not None and reduction not in REDUCTIONS:
        raise InputError(
            unknown_name("reduction", reduction, REDUCTIONS).after(f"measure {name} = '{text}': ")
        )
    bound = 0.0
    if match["bound"] is not None:
        try:
            bound = float(match["bound"])
        except ValueError:
            raise InputError(
                f"measure {name} = '{text}': must compare with a number, got '{match['bound']}'"
            ) from None
    return Measure(name, reduction, variable, labels, match["sense"], bound)


def usual_measures(result: Result) -> list[Measure]:
    """What shows most about a task, as far as there is such a thing in its result."""
    wanted = USUAL.get(result.task, {})
    if not wanted:
        wanted = {
            name: name for name, x in result.statistics.items() if _is_number(x) and name.isidentifier()
        }
    known = {*result.variables, *result.statistics}
    return [measure for measure in read_measures(wanted) if measure.variable in known]


def values_of(result: Result, measures: list[Measure], keep: Iterable[str]) -> dict[str, Value]:
    """All that is stored of a result: measures, and variables that are kept whole, over instants."""
    found = {measure.name: measure.of(result) for measure in measures or usual_measures(result)}
    kept = list(keep)
    for name in [*kept, *([TIME] if kept else [])]:
        if name != TIME and name not in result.variables:
            raise MeasureError(unknown_name("variable", name, result.variables).after("sweep.keep: "))
        array = result[name]
        dims = tuple(INSTANT if dim == TIME else str(dim) for dim in array.dims)
        units = "s" if name == TIME else result.units(name)
        unit = units if isinstance(units, str) else " or ".join(dict.fromkeys(units))
        meaning = str(array.attrs.get("long_name", name))
        found[name] = Value(dims, np.asarray(array.values, dtype=np.float64), unit, meaning)
    return found


def labels_of(result: Result, values: Mapping[str, Value]) -> dict[str, list[str]]:
    """Labels of the dimensions that the values have, such as names of joints."""
    several = {dim for value in values.values() for dim in value.dims}
    dims = several - {INSTANT, ROLLOUT}
    return {dim: [str(x) for x in result[dim].values] for dim in dims if dim in result}


def returned_values(given: Any, name: str = "value") -> dict[str, Value]:
    """What a function of the user returned: a number, an array, or several by name."""
    several = given if isinstance(given, Mapping) else {name: given}
    found = {}
    for key, x in several.items():
        if not isinstance(key, str) or not key.isidentifier():
            raise MeasureError(
                f"a function of a sweep must return numbers by names such as 'cost', got {key!r}"
            )
        try:
            values = np.array(x, dtype=np.float64)
        except (TypeError, ValueError):
            raise MeasureError(f"a function of a sweep returns numbers, got {key} = {x!r}") from None
        if not np.isfinite(values).all():
            raise InputError(must_be(f"'{key}'", "finite", values, ""))
        found[key] = Value(tuple(f"{key}_{k}" for k in range(values.ndim)), values, "", key.replace("_", " "))
    return found
