"""Two results beside each other as one, so that a report shows both."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError
from kinetree.result.build import build_result
from kinetree.result.labeled import coordinates_of, variables_of
from kinetree.result.result import Result
from kinetree.result.variables import Variable

CASE = "case"
NAMED = {CASE, "time", "joint", "body", "contact", "loop", "axis", "component"}


def pair_result(first: Result, second: Result, names: tuple[str, str] = ("first", "second")) -> Result:
    """The variables over time that two results have in common, along a new dimension, case.

    The second is taken at the times of the first, by straight lines between its samples and missing where it
    has none. Both need the same joints, and one motion each.

    >>> import kinetree as kt
    >>> slow, fast = (kt.simulate(kt.zoo.two_link(), [0, 0], [v, 0], 1.0, times=5) for v in (1.0, 2.0))
    >>> pair_result(slow, fast).q.dims
    ('case', 'time', 'joint')
    """
    joints = first.mechanism.joint_names, second.mechanism.joint_names
    if joints[0] != joints[1]:
        raise InputError(f"two results shown together need the same joints, got {joints[0]} and {joints[1]}")
    named = names if names[0] != names[1] else (f"{names[0]} (first)", f"{names[1]} (second)")
    time, other = first.time.values, second.time.values
    mine, theirs = variables_of(first.dataset), variables_of(second.dataset)
    shared: dict[str, Any] = {"time": time}
    for name, variable in mine.items():
        if name in theirs and _alike(variable, theirs[name]):
            rows = np.stack([variable.values, _at(time, other, theirs[name].values)])
            shared[name] = ((CASE, *variable.dims), rows, variable.unit, variable.long_name, True)
    if len(shared) == 1:
        raise InputError("the results have nothing over time in common")
    runs = dict(zip(named, (first, second), strict=True))
    return build_result(
        "compare",
        first.mechanism,
        shared,
        coordinates={CASE: ((CASE,), list(named), "", "case"), **_labels(first, shared)},
        settings={"task": first.task, "cases": {name: run.settings for name, run in runs.items()}},
        audit={f"{name}: {check}": x for name, run in runs.items() for check, x in run.audit.items()},
        statistics={name: run.statistics for name, run in runs.items()},
        messages=[f"{name}: {message}" for name, run in runs.items() for message in run.messages],
    )


def _alike(a: Variable, b: Variable) -> bool:
    """Numbers over time with the same dimensions, sizes and unit."""
    alike = (a.dims, a.unit, a.values.shape[1:]) == (b.dims, b.unit, b.values.shape[1:])
    return alike and a.dims[:1] == ("time",) and a.values.dtype.kind == b.values.dtype.kind == "f"


def _at(time: Array, own: Array, values: Array) -> Array:
    """Values (k, ...) at other times, NaN outside their own."""
    flat = values.reshape(len(own), -1)
    columns = [np.interp(time, own, column, left=np.nan, right=np.nan) for column in flat.T]
    return np.stack(columns, axis=1).reshape(len(time), *values.shape[1:])


def _labels(result: Result, shared: dict[str, Any]) -> dict[str, Variable]:
    """Those of dimensions that neither a mechanism nor a result names by itself."""
    used = {dim for name, entry in shared.items() if name != "time" for dim in entry[0]} - NAMED
    return {dim: label for dim, label in coordinates_of(result.dataset).items() if dim in used}
