"""Making a result out of arrays: known names bring their dimensions and units, all is checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import finite, number, numbers
from kinetree.errors import InputError, expect, listed, must_be, shown, unknown_name
from kinetree.model.expected import expect_mechanism
from kinetree.model.kept import once_per_tree
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree
from kinetree.result.labeled import Unlabeled, Variables
from kinetree.result.records import Check, Event, checked_events, plain, provenance, unicode
from kinetree.result.result import EVENT, Result, event_variables
from kinetree.result.variables import KNOWN, REQUIRED, Variable, mechanism_coordinates

Given = ArrayLike | Variable | tuple[Any, ...]
TAKEN = frozenset((*Result.__dataclass_fields__, *event_variables(())))  # names that every result has


def build_result(
    task: str,
    mechanism: Mechanism,
    variables: Mapping[str, Given],
    *,
    coordinates: Mapping[str, Given] | None = None,
    settings: Mapping[str, Any] | None = None,
    audit: Mapping[str, Check] | None = None,
    events: Iterable[Event | tuple[float, str, str]] = (),
    statistics: Mapping[str, Any] | None = None,
    messages: Sequence[str] = (),
    stopped_at: float | None = None,
    stop_reason: str | None = None,
    seconds: float | None = None,
    not_judged: Mapping[str, str] | None = None,
) -> Result:
    """The result of a task, checked: shapes, names, numbers that are finite.

    The variable "time" (k,) in s is needed and never decreases. A variable is an array if its name is known
    (``KNOWN`` in :mod:`kinetree.result.variables`), else a :class:`Variable` or (dims, values, unit,
    long_name). Dimensions beyond time, joint, body, contact, loop, axis and component need labels among the
    ``coordinates``. Counts and truth values have the unit "1", texts "". ``seconds`` is the time that the
    work took; it goes to the provenance. ``not_judged``: verdicts that there are none of, and why.

    >>> import kinetree as kt
    >>> still = {"time": [0.0], "q": [[0.1, 0.2]], "qd": [[0, 0]]}
    >>> still["height"] = (("time",), [1.5], "m", "height of the hand")
    >>> build_result("simulate", kt.zoo.two_link(), still).height.attrs["units"]
    'm'
    """
    expect_mechanism(mechanism)
    expect(variables, Mapping, "variables", "arrays by their names")
    happened = checked_events(events)
    check_required(unicode(task, "task"), variables)
    stated = {name: _variable(name, given) for name, given in variables.items() if name != "time"}
    labels = _labels(mechanism, variables["time"], coordinates or {}, stated, len(happened))
    sizes = {name: len(label.values) for name, label in labels.items() if label.dims == (name,)}
    arrays = {name: _checked(name, variable, sizes, labels) for name, variable in stated.items()}
    if happened:
        arrays |= {
            name: Variable((EVENT,), _read_only(values), unit, meaning)
            for name, (values, unit, meaning) in event_variables(happened).items()
        }
    return Result(
        Unlabeled(labels, arrays),  # type: ignore[arg-type]
        mechanism,
        task,
        plain(settings or {}, "settings"),
        _checked_audit(audit or {}),
        plain(statistics or {}, "statistics"),
        tuple(unicode(message, f"message {k}") for k, message in enumerate(messages)),
        provenance(seconds),
        *_stop(stopped_at, stop_reason),
        {unicode(x, "not_judged"): unicode(y, f"not_judged: {x}") for x, y in (not_judged or {}).items()},
    )


def check_required(task: str, variables: Mapping[str, object]) -> None:
    """Raise if a variable that every result of the task has is not there."""
    for name in ("time", *REQUIRED.get(task, ())):
        if name not in variables:
            raise InputError(f"a {task} result needs the variable '{name}', got {listed(variables)}")


def _variable(name: str, given: Any) -> Variable:
    """The given array with dimensions, unit and meaning; names may not hide what a Result has."""
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
        raise InputError(must_be("the name of a variable", "a word such as 'q' or 'kinetic_energy'", name))
    if hasattr(Result, name) or name in TAKEN:
        raise InputError(f"a variable cannot be called '{name}': every Result has something of that name")
    if isinstance(given, tuple) and len(given) in (4, 5) and _are_names(given[0]):
        dims = (given[0],) if isinstance(given[0], str) else tuple(given[0])
        unit, meaning = unicode(given[2], f"unit of '{name}'"), unicode(given[3], f"meaning of '{name}'")
        return Variable(dims, given[1], unit, meaning, len(given) == 5 and bool(given[4]))
    if name not in KNOWN:
        hint = unknown_name("variable", name, KNOWN)
        raise InputError(f"{hint} Others are given as (dims, values, unit, long_name).")
    known = KNOWN[name]
    return Variable(known.dims, given, known.unit, known.long_name, known.may_be_missing)


def _are_names(dims: object) -> bool:
    return isinstance(dims, str) or (
        isinstance(dims, tuple | list) and all(isinstance(dim, str) for dim in dims)
    )


def _labels(
    mechanism: Mechanism, time: Any, more: Mapping[str, Given], variables: Variables, n_events: int
) -> Variables:
    """The labels of all dimensions that occur."""
    t = finite(numbers(time, "time"), "time")
    if t.ndim != 1 or not len(t):
        raise InputError(f"time must be a vector of at least one number, got shape {t.shape}")
    back = t[1:] < t[:-1]
    if back.any():
        k = int(np.argmax(back))
        raise InputError(f"time must not decrease, got {t[k]:g} s and then {t[k + 1]:g} s at index {k + 1}")
    dims = {dim for x in variables.values() for dim in x.dims}
    own = {name: label for name, label in _mechanism_labels(mechanism).items() if label.dims[0] in dims}
    labels = {"time": Variable(("time",), _read_only(t), "s", "time"), **own}
    for name, given in more.items():
        if name in labels or name in variables:
            raise InputError(f"coordinate '{name}' is there already")
        labels[name] = _variable(name, given)
    if n_events:
        labels[EVENT] = Variable((EVENT,), np.arange(n_events), "1", "index of the event")
    known = {"time", *own}
    return {
        name: label if name in known else _label_checked(name, label, labels)
        for name, label in labels.items()
    }


def _mechanism_labels(mechanism: Mechanism) -> Variables:
    """The labels of all dimensions that a mechanism names, checked; made once."""
    made = _known_labels(mechanism.tree)
    if not made:
        labels = mechanism_coordinates(mechanism)
        made.update({name: _label_checked(name, label, labels) for name, label in labels.items()})
    return made


@once_per_tree
def _known_labels(tree: Tree) -> Variables:
    """Where the labels of a mechanism are kept once they are made."""
    return {}


def _label_checked(name: str, label: Variable, labels: Variables) -> Variable:
    """The label with a read-only array that is as long as its dimension."""
    if len(label.dims) != 1 or label.dims[0] not in labels:
        hint = f"allowed: {listed(x for x in labels if labels[x].dims == (x,))}"
        raise InputError(f"coordinate '{name}' must have one dimension, got ({listed(label.dims)}); {hint}")
    size = len(np.atleast_1d(labels[label.dims[0]].values))
    return label._replace(values=_values(name, label, labels, (size,)))


def _checked(name: str, variable: Variable, sizes: Mapping[str, int], labels: Variables) -> Variable:
    """The variable with a read-only array of its shape; an error names the joint, ... of a bad entry."""
    if name in labels:
        raise InputError(f"variable '{name}' has the name of a coordinate")
    for dim in variable.dims:
        if dim not in sizes:
            raise InputError(unknown_name("dimension", dim, sizes).after(f"variable '{name}': "))
    shape = tuple([sizes[dim] for dim in variable.dims])
    return variable._replace(values=_values(name, variable, labels, shape))


def _values(name: str, variable: Variable, labels: Variables, shape: tuple[int, ...]) -> np.ndarray:
    """A read-only array of the shape: floats, finite unless entries may be missing, or of other kinds."""
    array = _read_only(_typed(name, variable))
    if array.shape != shape:
        meant = ", ".join(f"{n} {dim}" for n, dim in zip(shape, variable.dims, strict=True))
        raise InputError(f"'{name}' must have shape {shape} ({meant}), got shape {array.shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        _check_missing(name, variable, labels, array)
    return array


def _typed(name: str, variable: Variable) -> np.ndarray:
    """The values as an array of floats, integers, truth values or texts."""
    array = np.asarray(variable.values)
    if type(variable.values) is np.ndarray and array.dtype == np.float64:
        return array
    kind = array.dtype.kind
    if kind == "U" or (kind == "O" and all(isinstance(x, str) for x in array.flat)):
        for text in array.flat:
            unicode(str(text), f"an entry of '{name}'")
        array = array.astype(np.str_)
        if variable.unit:
            raise InputError(f"'{name}' must be numbers, got texts; texts have the unit ''")
    elif kind in "iu" and variable.unit == "1":
        array = array.astype(np.int64)
    elif kind != "b" or variable.unit != "1":
        array = numbers(variable.values, f"'{name}'")
    return array


def _check_missing(name: str, variable: Variable, labels: Variables, array: np.ndarray) -> None:
    """Raise unless the entries that are not finite are missing, and may be."""
    if not variable.may_be_missing:
        place = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        where = ", ".join(_label(labels, dim, k) for dim, k in zip(variable.dims, place, strict=True))
        raise InputError(f"'{name}' must be finite, got {array[place]} at {where or 'its only entry'}")
    if np.isinf(array).any():
        raise InputError(f"'{name}' may have missing entries (NaN) but not infinite ones")


def _label(labels: Variables, dim: str, k: int) -> str:
    if dim not in labels:
        return f"index {k}"
    return f"{dim} {labels[dim].values[k]:g} s" if dim == "time" else f"{dim} '{labels[dim].values[k]}'"


def _read_only(values: np.ndarray) -> np.ndarray:
    copy = np.array(values)
    copy.setflags(write=False)
    return copy


def _checked_audit(audit: Mapping[str, Check]) -> dict[str, Check]:
    for name, check in audit.items():
        unicode(name, "the name of a check")
        if not isinstance(check, Check):
            raise InputError(must_be(f"check '{name}' of the audit", "a Check", check))
    return dict(audit)


def _stop(stopped_at: float | None, reason: str | None) -> tuple[float | None, str | None]:
    if stopped_at is None and reason is None:
        return None, None
    if stopped_at is None or not reason:
        raise InputError(
            f"a result that ended early needs stopped_at and stop_reason, "
            f"got {shown(stopped_at)} and {reason!r}"
        )
    return number(stopped_at, "stopped_at"), unicode(reason, "stop_reason")
