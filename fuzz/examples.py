"""The examples of the documentation with one argument replaced by something else."""

from __future__ import annotations

import ast
import builtins
import doctest
import inspect
import os
import sys
import traceback
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from fuzz.runner import ACCEPTED, REFUSED, Fuzzer

SLOW = ("gaits.", "walking.", "lifting.", "sweep", "predict", "motion.", "check_derivatives", "view")
FOREIGN = ("np", "pathlib", "tempfile", "math", "Figure")  # not ours to judge
UNKNOWN = "unheard_of"  # a keyword that no function has
ANSWERS = ("ContactReading", "GaitCycle", "Mimic", "AddedSamples", "State")  # made by the library, or numbers


def _values() -> tuple[Any, ...]:
    return (
        None, "text", "", "x" * 1000, 3, 0, -1.5, True, 10**400, 1j, float("nan"), float("inf"), 1e300, [],
        {}, {"a"}, range(3), b"x", (None, None), [["a"]], [{}], {"nope": 1.0}, {1: 2}, [np.nan] * 2,
        [1e300, -1e300], object(), np.zeros(0), np.zeros((2, 3, 4)), np.full(6, np.nan), Path("nope.xyz"),
        (lambda *given: None), kt.Mechanism, kt.zoo.gripper(),
    )  # fmt: skip


def _owners(module: Any = kt, name: str = "kt", seen: set[int] | None = None) -> Iterator[tuple[str, Any]]:
    """Every public function, class and method, by its name."""
    seen = set() if seen is None else seen
    for key in dir(module):
        value = None if key.startswith("_") else getattr(module, key)
        if value is None or id(value) in seen:
            continue
        seen.add(id(value))
        if inspect.ismodule(value):
            if value.__name__.startswith("kinetree"):
                yield from _owners(value, f"{name}.{key}", seen)
        elif callable(value):
            yield f"{name}.{key}", value
            if inspect.isclass(value):
                for method, found in vars(value).items():
                    if not method.startswith("_") and (
                        inspect.isfunction(found) or hasattr(found, "__func__")
                    ):
                        yield f"{name}.{key}.{method}", getattr(found, "__func__", found)


@cache
def examples() -> tuple[tuple[str, str, int, Any], ...]:
    """Module, program, number of the call in it and argument that can be replaced; None for a new keyword."""
    found, sources = [], set()
    for name, owner in _owners():
        parts = doctest.DocTestParser().get_examples(inspect.getdoc(owner) or "")
        source = "".join(part.source for part in parts)
        if not source or source in sources or any(word in name for word in SLOW):
            continue
        sources.add(source)
        for k, call in enumerate(_calls(ast.parse(source))):
            root = ast.unparse(call.func).partition("(")[0].partition("[")[0]
            ours = root.split(".")[0] not in (*FOREIGN, *dir(builtins), *ANSWERS)
            if not ours or (root.count(".") and not root.startswith("kt.")):
                continue
            places = [n for n, given in enumerate(call.args) if not isinstance(given, ast.Starred)]
            names = [word.arg for word in call.keywords if word.arg]
            found += [(owner.__module__, source, k, place) for place in (*places, *names, None)]
    return tuple(found)


def _calls(program: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(program) if isinstance(node, ast.Call)]


def replaced(source: str, k: int, place: Any) -> ast.Module:
    """The program with one argument of its k-th call replaced by the name ``given``."""
    program = ast.parse(source)
    call, given = _calls(program)[k], ast.Name("given", ast.Load())
    if place is None:
        call.keywords.append(ast.keyword(UNKNOWN, given))
    elif isinstance(place, int):
        call.args[place] = given
    else:
        next(word for word in call.keywords if word.arg == place).value = given
    return ast.fix_missing_locations(program)


def one(rng: np.random.Generator, folder: Path) -> str:
    """An example goes on, or the library says what is wrong; errors of its own lines do not count."""
    module, source, k, place = examples()[int(rng.integers(len(examples())))]
    values = _values()
    names = {**vars(sys.modules[module]), "given": values[int(rng.integers(len(values)))]}
    try:
        exec(compile(replaced(source, k, place), "<example>", "exec"), names)
    except kt.KinetreeError:
        return REFUSED
    except Exception as error:
        if place is None and isinstance(error, TypeError):
            return REFUSED  # as Python refuses keywords
        ours = os.path.dirname(kt.__file__)
        if any(frame.filename.startswith(ours) for frame in traceback.extract_tb(error.__traceback__)):
            raise
        return REFUSED
    return ACCEPTED


EXAMPLES = (
    Fuzzer(
        "examples", "examples of the documentation with other arguments", one, lambda: examples() and None
    ),
)
