"""A result as plain tables, for programs that read what ``kinetree info RESULT --json`` prints."""

from __future__ import annotations

from typing import Any

from kinetree.result.records import plain_check
from kinetree.result.result import Result


def result_facts(result: Result) -> dict[str, Any]:
    """Task, model, time span (s), variables, audit, events, settings, effort, messages, versions.

    >>> import kinetree as kt
    >>> from kinetree.result.build import build_result
    >>> motion = {"time": [0.0, 0.1], "q": [[0, 0], [1, 2]], "qd": [[0, 0], [20, 40]]}
    >>> stated = result_facts(build_result("simulate", kt.zoo.two_link(), motion))
    >>> stated["task"], stated["model"], stated["variables"]["qd"]["unit"]
    ('simulate', 'two_link', 'rad/s')
    """
    time = result.dataset["time"].values
    return {
        "task": result.task,
        "model": result.mechanism.name,
        "n_dof": result.mechanism.n_dof,
        "samples": len(time),
        "start": float(time[0]),
        "end": float(time[-1]),
        "complete": result.complete,
        "passed": result.passed,
        "stop_reason": result.stop_reason,
        "variables": {name: _variable(result, name) for name in result.variables},
        "not_judged": result.not_judged,
        "audit": {name: plain_check(check) for name, check in result.audit.items()},
        "events": [event._asdict() for event in result.events],
        "settings": result.settings,
        "statistics": result.statistics,
        "messages": list(result.messages),
        "provenance": result.provenance,
    }


def _variable(result: Result, name: str) -> dict[str, Any]:
    array, units = result[name], result.units(name)
    shared = units if isinstance(units, str) else list(units) if len({*units}) > 1 else units[0]
    return {
        "dimensions": list(map(str, array.dims)),
        "shape": list(array.shape),
        "unit": shared,
        "meaning": array.attrs["long_name"],
    }
