"""A problem as a plain table: what a saved result says about what was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from kinetree.motion.problem.problem import Problem
from kinetree.motion.terms.boundary import NAMES, Boundary
from kinetree.motion.terms.contract import Constraint, Objective


def described(problem: Problem) -> dict[str, Any]:
    """Terms with their arguments, duration, splines, samples, frozen joints and loads.

    >>> import kinetree as kt
    >>> from kinetree.motion.terms import Boundary, Time
    >>> ends = [Boundary("start", [0, 0], 0.0), Boundary("end", [1, 1], 0.0)]
    >>> described(Problem(kt.zoo.two_link(), objective=Time(), constraints=ends, duration=2.0))["objective"]
    [{'term': 'Time', 'weight': 1.0}]
    """
    low, high = problem.setting.duration
    given, closure, loops = problem.arguments, problem.setting.closure, {}
    if closure is not None:
        pose = closure.guess[problem.setting.own].tolist()
        loops = {"independent": list(closure.independent_names), "guess": pose}
    return {
        "objective": [_term(term) | {"weight": term.weight} for term in problem.objective],
        "constraints": [_term(term) for term in problem.constraints],
        "duration": low if low == high else [low, high],
        "degree": problem.basis.degree,
        "breaks": problem.basis.inner.tolist(),
        "clamped": problem.basis.clamped,
        "samples": _plain(given["samples"]),
        "frozen": _plain(dict(given["frozen"] or {})),
        "loads": _plain(given["loads"] or []),
        **loops,
    }


def _term(term: Objective | Constraint) -> dict[str, Any]:
    """Name and public attributes of a term, without those that were not given."""
    stated = {name: value for name, value in vars(term).items() if not name.startswith("_")}
    if isinstance(term, Boundary):
        stated |= dict(zip(NAMES, stated.pop("given"), strict=True))
    stated.pop("weight", None)
    return {"term": type(term).__name__} | {k: _plain(v) for k, v in stated.items() if v is not None}


def _plain(value: Any) -> Any:
    """Numbers, texts, lists and tables; a function by its name, all else as it is printed."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__name__)}"
    return repr(value)
