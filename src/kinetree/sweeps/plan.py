"""The plan of a sweep: the base study, the dimensions, every case by its number, and what differs."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, cut, listed, must_be, unknown_name
from kinetree.formats.held_inside import is_held_inside
from kinetree.formats.toml_writer import toml_text
from kinetree.model.mechanism import Mechanism
from kinetree.result.records import plain
from kinetree.result.zarr_store import ZarrStore
from kinetree.study.assignment import Study
from kinetree.study.mechanism import study_mechanism
from kinetree.study.sweep_tables import AxisTable, SweepTable, checked_table
from kinetree.sweeps import outcome
from kinetree.sweeps.dimensions import Column, Dimension, dimensions, kind_of, planned_count
from kinetree.sweeps.fields import check_scalable, described, goes_inside, is_body, places
from kinetree.sweeps.inputs import function_digest, named_files
from kinetree.sweeps.measures import read_measures

MOST = 1_000_000  # cases without an explicit word
MOST_LISTED = 10  # differences between two plans that are named
NOTHING = "nothing"
SHOWN = 32  # values of an axis that are written out; others are identified by a digest


@dataclass(frozen=True, eq=False)
class Plan:
    """All that the cases of a sweep share, and how they differ.

    ``table`` is the study without [sweep], or empty for a function of a ``mechanism`` (TOML).
    """

    name: str
    title: str
    sweep: SweepTable
    dims: tuple[Dimension, ...]
    table: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = Path()
    code: tuple[str, ...] = ()
    function: str = ""  # its name
    mechanism: str = ""
    lanes: bool = False
    files: Mapping[str, str] = field(default_factory=dict)  # digests of files that the study names
    body: str = ""  # fingerprint of the function

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each dimension has."""
        return tuple(dim.size for dim in self.dims)

    @property
    def count(self) -> int:
        """Number of cases."""
        return int(np.prod(self.shape, dtype=object))

    @property
    def columns(self) -> list[Column]:
        """What varies, in the order of the values of a case."""
        return [column for dim in self.dims for column in dim.columns]

    @property
    def texts(self) -> list[Any]:
        """All that may name files which a case reads: the study, values of axes, and the measure."""
        return [
            self.table,
            [x.values for x in self.columns if isinstance(x.values, list)],
            self.sweep.function,
        ]

    def values(self, case: int) -> list[Any]:
        """The values of a case, one for each column."""
        indexes = np.unravel_index(case, self.shape)
        found = []
        for dim, k in zip(self.dims, indexes, strict=True):
            for column in dim.columns:
                value = column.values[int(k)]
                found.append(value.item() if isinstance(value, np.generic) else value)
        return found

    def words(self, case: int) -> str:
        """A case in words, for people."""
        stated = zip(self.columns, self.values(case), strict=True)
        return ", ".join(f"{column.name} = {_short(value)}" for column, value in stated)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What decides about the results: equal plans have equal results."""
        said: dict[str, Any] = plain(
            {
                "study": self.table,
                "function": self.function,
                "mechanism": self.mechanism,
                "dimensions": {
                    dim.name: {
                        "size": dim.size,
                        "columns": {
                            column.name: {
                                "fields": list(column.paths),
                                "relative": column.relative,
                                "values": _stored_values(column.values),
                            }
                            for column in dim.columns
                        },
                    }
                    for dim in self.dims
                },
                "measures": self.sweep.measures,
                "measuring": self.sweep.function or "",
                "keep": self.sweep.keep,
                "lanes": self.lanes,
                "files": self.files,
                "body": self.body,
                "kinetree": outcome.version(),
            },
            "sweep",
        )
        return said

    @property
    def digest(self) -> str:
        """A fingerprint of the identity."""
        return digest(self.identity)


def digest(identity: Mapping[str, Any]) -> str:
    """A fingerprint of plain values."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def _stored_values(values: Any) -> Any:
    if len(values) <= SHOWN:
        return values.tolist() if isinstance(values, np.ndarray) else list(values)
    raw = values.tobytes() if isinstance(values, np.ndarray) else json.dumps(values, sort_keys=True).encode()
    return hashlib.sha256(raw).hexdigest()


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def input_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Which files, functions and versions two plans differ in, in words."""
    stated = []
    a, b = old.get("files", {}), new.get("files", {})
    for name in dict.fromkeys((*a, *b)):
        if a.get(name) != b.get(name):
            what = "has changed" if name in a and name in b else "is new" if name in b else "is not read now"
            stated.append(f"the file {name} {what}")
    if old.get("body") != new.get("body"):
        stated.append(f"the body of the function '{new.get('function')}' has changed, or what it refers to")
    if old.get("kinetree") != new.get("kinetree"):
        wrote = old.get("kinetree", "an earlier version")
        stated.append(f"Kinetree {wrote} wrote the store, this is {new.get('kinetree')}")
    return stated


def plan_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """In which fields two plans differ, in words."""
    a, b = dict(_leaves(old)), dict(_leaves(new))
    keys = [
        key for key in [*a, *(k for k in b if k not in a)] if a.get(key, "nothing") != b.get(key, "nothing")
    ]
    stated = [
        f"{key}: {a.get(key, 'nothing')!r} there, {b.get(key, 'nothing')!r} here"
        for key in keys[:MOST_LISTED]
    ]
    return stated + ([f"and {len(keys) - MOST_LISTED} more"] if len(keys) > MOST_LISTED else [])


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


# ---- from a study ---------------------------------------------------------------------------------------


def study_plan(study: Study, code: Collection[str] = (), most: int = MOST) -> Plan:
    """The plan of a study with a table [sweep], checked as far as that goes without running a case."""
    if study.tables.sweep is None:
        raise InputError(f"{study.origin.source}: has no table [sweep] with the axes that vary")
    with study.origin.blamed("sweep"):
        table = {key: value for key, value in study.origin.table.items() if key != "sweep"}
        mechanism = _mechanism(study)
        given: SweepTable = study.tables.sweep
        for path in (path for axis in given.axis for path in axis.field):
            _check_table(study, path)
        if _is_inside(given) or table.get("mechanism", {}).get("file") is not None:
            assert mechanism is not None
            if table["mechanism"].get("file") or table["mechanism"].get("zoo") or _means_bodies(given):
                table = described(table, mechanism)
        sweep = _expanded(given, table)
        check_count(sweep, most)
        dims = tuple(dimensions(sweep))
        _check_axes(dims, table)
        read_measures(sweep.measures)
        _check_kind(sweep)
        plan = Plan(study.name, study.title, sweep, dims, plain(table, "study"), study.folder, tuple(code))
        files = named_files(study.folder, study.origin.table, plan.texts, mechanism=mechanism)
        plan = replace(plan, files=files)
        from kinetree.sweeps.lanes import lane_refusal

        refusal = lane_refusal(plan, study)
        if sweep.lanes and refusal:
            raise InputError(f"lanes = true: {refusal}")
        return replace(plan, lanes=not refusal and sweep.lanes is not False)


def stored_plan(store: ZarrStore, code: Collection[str] = ()) -> Plan:
    """The plan of a store that was written, as far as its cases can be run again.

    A store comes with no leave to run anything: ``code`` names the files that the caller allows.
    """
    stated = store.plan()
    folder = Path(stated["folder"])
    if is_held_inside():
        inside = os.path.realpath(store.path.parent)
        if os.path.commonpath([inside, os.path.realpath(folder)]) != inside:
            raise InputError(
                f"{store.path}: names the folder {cut(str(folder))}, which is outside that of the store, "
                f"{inside}, and files outside are not allowed"
            )
    if not stated["identity"]["study"]:
        raise InputError(f"{store.path}: is a sweep over a Python function, whose cases are not studies")
    sweep = checked_table(stated["sweep"])
    check_count(sweep, max(MOST, int(np.prod(stated["shape"], dtype=object))))
    dims = tuple(dimensions(sweep))
    table, files = stated["identity"]["study"], stated["identity"].get("files", {})
    plan = Plan(stated["name"], stated["title"], sweep, dims, table, folder, tuple(code), files=files)
    for name in named_files(folder, plan.texts):
        if name not in files:
            raise InputError(f"{store.path}: does not record what the file {cut(name)} held; sweep again")
    return plan


def function_plan(
    function: Callable[..., Any], mechanism: Mechanism, sweep: SweepTable, most: int = MOST
) -> Plan:
    """The plan of a function of a mechanism; fields "mechanism. ..." change it, others are arguments."""
    table, name = described({}, mechanism), getattr(function, "__qualname__", type(function).__name__)
    sweep = _expanded(sweep, table)
    check_count(sweep, most)
    dims = tuple(dimensions(sweep))
    _check_axes(dims, table)
    _check_kind(sweep)
    text, body = toml_text(mechanism), function_digest(function)
    return Plan(name, name, sweep, dims, function=name, mechanism=text, body=body)


def _mechanism(study: Study) -> Mechanism | None:
    chosen = study.tables.mechanism
    return None if chosen is None else study_mechanism(chosen, study.origin, study.folder, study.name)


def _is_inside(sweep: SweepTable) -> bool:
    return any(goes_inside(path) for axis in sweep.axis for path in axis.field)


def _means_bodies(sweep: SweepTable) -> bool:
    return any(len(path.split(".")) == 3 for axis in sweep.axis for path in axis.field if goes_inside(path))


def _check_table(study: Study, path: str) -> None:
    """A path begins with a table that studies have."""
    from kinetree.study.tasks import known_tasks
    from kinetree.sweeps.fields import path_parts

    tables = [name for name in known_tasks()[study.task].tables if name != "sweep"]
    first, *rest = path_parts(path)
    if first not in tables:
        raise InputError(unknown_name("table", first, tables).after(f"axis '{path}': "))
    if not rest:
        raise InputError(f"axis '{path}' is a whole table; name one of its keys, such as {path}.KEY")


def _expanded(sweep: SweepTable, table: Mapping[str, Any]) -> SweepTable:
    """The sweep with an axis for every field that an axis with ``each`` means."""
    axes: list[AxisTable] = []
    for axis in sweep.axis:
        if not axis.each:
            axes.append(axis)
            continue
        if len(axis.field) != 1 or "*" not in axis.field[0]:
            raise InputError(f"axis '{axis.field[0]}': each = true needs one path with a * in it")
        for place in places(table, axis.field[0]):
            path = _path(table, place)
            named = None if axis.name is None else f"{axis.name}_{len(axes)}"
            axes.append(axis.model_copy(update={"field": [path], "each": False, "name": named}))
    return sweep.model_copy(update={"axis": axes})


def _path(table: Mapping[str, Any], place: tuple[int | str, ...]) -> str:
    """A place as a path, entries of lists by their names where they have some."""
    parts: list[str] = []
    value: Any = table
    for key in place:
        value = value[key]
        named = isinstance(key, int) and isinstance(value, Mapping) and "name" in value
        part = str(value["name"]) if named else str(key)
        parts.append(f'"{part}"' if "." in part else part)
    return ".".join(parts)


def check_count(sweep: SweepTable, most: int) -> None:
    """Raise if there are more cases than anyone has agreed to."""
    for axis in sweep.axis:
        kind_of(axis)
    count = planned_count(sweep)
    if count > most:
        raise TooManyCases(f"the sweep has {count:,} cases; more than {most:,} need --yes (in Python: most=)")


class TooManyCases(InputError):
    """More cases than are run without asking."""


def _check_axes(dims: tuple[Dimension, ...], table: Mapping[str, Any]) -> None:
    for column in (column for dim in dims for column in dim.columns):
        for path in column.paths:
            for place in places(table, path):
                if column.relative:
                    check_scalable(table, place, path)
                elif is_body(place):
                    raise InputError(
                        f"axis '{path}' is a whole body: it can be scaled (relative = true); or name one of "
                        f"its keys, such as {path}.mass"
                    )


def _check_kind(sweep: SweepTable) -> None:
    wanted = {"pareto": 2, "multi_start": 1}.get(sweep.kind)
    given = sweep.objectives
    if wanted is not None and given is not None and len(given) != wanted:
        raise InputError(f"the kind '{sweep.kind}' needs {wanted} objectives, got {listed(given)}")
    if sweep.kind == "pareto" and given is None:
        raise InputError("the kind 'pareto' needs objectives = [..., ...], the names of two measures")
    for name in given or ():
        if sweep.measures and name not in sweep.measures:
            raise InputError(unknown_name("measure", name, sweep.measures).after("sweep.objectives: "))
    for q in sweep.quantiles:
        if not 0.0 <= q <= 1.0:
            raise InputError(must_be("sweep.quantiles", "from 0 to 1", q, "g"))


def coordinate(values: Any) -> Array | np.ndarray:
    """Values of an axis as labels: numbers, or texts."""
    if isinstance(values, np.ndarray):
        return values
    return np.array([x if isinstance(x, str) else json.dumps(x) for x in values], dtype=object)
