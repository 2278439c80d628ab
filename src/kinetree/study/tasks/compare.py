"""Comparison: the same task in several cases, beside each other."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field, PlainValidator, WithJsonSchema

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, SimulationError, listed
from kinetree.formats.schema_parts import Table
from kinetree.result.labeled import variables_of
from kinetree.result.result import Result
from kinetree.study.assignment import Assignment
from kinetree.study.origin import StudyOrigin
from kinetree.study.tasks import Task, Work, known_tasks

FEWEST = 2


def _case(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
        raise ValueError(
            f'must be a table with a name and the keys that differ, such as controller.kind = "pd", '
            f"got {reprlib.repr(value)}"
        )
    return dict(value)


_SCHEMA = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
Case = Annotated[dict[str, Any], PlainValidator(_case), WithJsonSchema(_SCHEMA)]


class CompareTable(Table):
    """Cases of one task; each has a name, and tables of a study with the keys that differ."""

    task: str = Field(description="The task of all cases, such as control.")
    case: list[Case] = Field(description="The cases, each a [[compare.case]].")


def prepare(work: Assignment) -> Work:
    """Prepare every case as a study of its own."""
    table: CompareTable = work.tables.compare
    names = [case["name"] for case in table.case]
    if len(names) < FEWEST or len(set(names)) < len(names):
        raise InputError(
            f"{work.origin.where(('compare',))}: [compare] needs at least {FEWEST} cases with different "
            f"names, got {listed(names)}"
        )
    if table.task == TASK.name or table.task not in known_tasks():
        others = listed(name for name in known_tasks() if name != TASK.name)
        where = work.origin.where(("compare", "task"))
        raise InputError(f"{where}: compare.task must be one of {others}; got '{table.task}'")
    works = {name: _prepared(work, k) for k, name in enumerate(names)}

    def run() -> Result:
        results, messages = {}, []
        for k, (name, prepared) in enumerate(works.items()):
            try:
                results[name] = prepared()
            except SimulationError as error:
                if error.result is None:
                    raise
                results[name] = error.result
                messages.append(f"case '{name}': {error}")
            except KeyboardInterrupt:
                if not results:
                    raise
                return _beside(results, table.task, [*messages, f"interrupted in case '{name}'"], True)
            if work.progress is not None:
                work.progress((k + 1) / len(works))
            if not results[name].complete and results[name].stop_reason == "interrupted":
                break
        return _beside(results, table.task, messages)

    return run


def _prepared(work: Assignment, k: int) -> Work:
    """The work of one case; complaints lead to the lines of the case."""
    from kinetree.study.file import merged, study_of_table

    table: CompareTable = work.tables.compare
    case = {key: value for key, value in table.case[k].items() if key != "name"}
    base = {key: value for key, value in work.origin.table.items() if key != TASK.name}
    head = {**base["study"], "task": table.task}
    here = ("compare", "case", k)
    lines = dict(work.origin.key_lines)
    lines |= {path[3:]: n for path, n in work.origin.key_lines.items() if path[:3] == here and len(path) > 3}
    origin = StudyOrigin(work.origin.source, merged({**base, "study": head}, case), {}, lines, {})
    name = table.case[k]["name"]
    study = study_of_table(f"{work.study.name}, case '{name}'", origin, work.study.folder, {})
    return known_tasks()[table.task].prepare(Assignment(study, work.code))


def _beside(results: dict[str, Result], task: str, messages: list[str], interrupted: bool = False) -> Result:
    """All variables over time that the cases have in common, one case after the other."""
    from kinetree.result.build import build_result

    first = next(iter(results.values()))
    time = max((result.time.values for result in results.values()), key=len)
    _check_alike(results, first)
    found = {name: variables_of(result.dataset) for name, result in results.items()}
    shared: dict[str, Any] = {"time": time}
    for name, one in found[next(iter(found))].items():
        if (
            one.dims[:1] != ("time",)
            or one.values.dtype.kind != "f"
            or not all(name in x for x in found.values())
        ):
            continue
        rows = [_on(time, results[case].time.values, x[name].values) for case, x in found.items()]
        shared[name] = (("case", *one.dims), np.stack(rows), one.unit, one.long_name, True)
    return build_result(
        TASK.name,
        first.mechanism,
        shared,
        coordinates={"case": (("case",), list(results), "", "case"), **_labels(first, shared)},
        settings={"task": task, "cases": {name: result.settings for name, result in results.items()}},
        audit={f"{case}: {name}": x for case, run in results.items() for name, x in run.audit.items()},
        statistics={
            "largest_difference_from_first": _differences(shared, list(results)),
            **{name: result.statistics for name, result in results.items()},
        },
        not_judged={f"{case}: {x}": y for case, run in results.items() for x, y in run.not_judged.items()},
        messages=[*messages, *(f"{name}: {x}" for name, run in results.items() for x in run.messages)],
        seconds=sum(float(result.provenance.get("seconds", 0.0)) for result in results.values()),
        **_stop(results, interrupted),
    )


def _check_alike(results: dict[str, Result], first: Result) -> None:
    for name, result in results.items():
        if result.mechanism.joint_names != first.mechanism.joint_names:
            raise InputError(f"case '{name}' has other joints than the first and cannot be compared with it")


def _on(time: Array, own: Array, values: Array) -> Array:
    """Values at the times that a case has, NaN at the others."""
    spread = np.full((len(time), *values.shape[1:]), np.nan)
    same = min(len(time), len(own))
    same = same if np.array_equal(time[:same], own[:same]) else same - 1
    if same < 1 or not np.array_equal(time[:same], own[:same]):
        raise InputError(
            "the cases have different times and cannot be compared; give all of them the same [output] times"
        )
    spread[:same] = values[:same]
    return spread


def _labels(first: Result, shared: dict[str, Any]) -> dict[str, Any]:
    """Labels of dimensions that no mechanism names."""
    known = {"time", "case", "joint", "body", "contact", "loop", "axis", "component"}
    dims = {dim for name, x in shared.items() if name != "time" for dim in x[0]} - known
    return {dim: ((dim,), first[dim].values, "", dim) for dim in sorted(dims)}


def _differences(shared: dict[str, Any], names: list[str]) -> dict[str, dict[str, float]]:
    """For each further case the largest difference of positions and torques from the first."""
    found: dict[str, dict[str, float]] = {}
    for k, case in enumerate(names[1:], start=1):
        pairs = {
            name: np.abs(shared[name][1][k] - shared[name][1][0]) for name in ("q", "tau") if name in shared
        }
        found[case] = {name: float(np.nanmax(x)) for name, x in pairs.items()}
    return found


def _stop(results: dict[str, Result], interrupted: bool) -> dict[str, Any]:
    """Why the comparison is not complete, if it is not."""
    if interrupted:
        *_, last = results.values()
        return {"stopped_at": float(last.time.values[-1]), "stop_reason": "interrupted"}
    for name, result in results.items():
        if not result.complete and result.stop_reason == "interrupted":
            return {"stopped_at": result.stopped_at, "stop_reason": result.stop_reason}
        if not result.complete:
            return {"stopped_at": result.stopped_at, "stop_reason": f"case '{name}': {result.stop_reason}"}
    return {}


TASK = Task(
    "compare",
    "the same task in several cases",
    prepare,
    needs=("mechanism", "compare"),
    uses=(
        *("trajectory", "initial", "torque", "controller", "ground", "load", "event", "stops", "integrator"),
        *("verdicts", "control", "predict", "stability", "inverse", "hybrid"),
    ),
    settings=CompareTable,
)
