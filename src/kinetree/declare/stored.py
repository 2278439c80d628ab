"""The declarations of the package as data, so that a study is read without importing what it may name.

The file is written by ``python -m kinetree.study.declarations``; a test compares it with the code.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from kinetree.declare.declaration import NEEDED, Declaration, Parameter, Short

FILE = Path(__file__).with_name("declarations.json")


def as_text(sections: Mapping[str, Sequence[Declaration]]) -> str:
    """The declarations as JSON, a line for each parameter; what is empty is left out."""
    parts = (f'"{name}": [\n{_joined(map(_rows, rows), " ")}\n]' for name, rows in sections.items())
    return f"{{{', '.join(parts)}}}\n"


def _rows(declaration: Declaration) -> str:
    record = _filled(declaration, ("parameters", "short"))
    if declaration.short is not None:
        record["short"] = _filled(declaration.short)
    parameters = [_line(_filled(x, ("default",)) | _default(x)) for x in declaration.parameters]
    inner = f"\n{_joined(parameters, '  ')}\n " if parameters else ""
    return f'{_line(record)[:-1]}, "parameters": [{inner}]}}'


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False)


def _joined(rows: Iterable[str], indent: str) -> str:
    return ",\n".join(f"{indent}{row}" for row in rows)


def _filled(record: Any, without: tuple[str, ...] = ()) -> dict[str, Any]:
    return {key: value for key, value in asdict(record).items() if key not in without and value}


def _default(parameter: Parameter) -> dict[str, Any]:
    return {} if parameter.default is NEEDED else {"default": parameter.default}


def stored(section: str) -> tuple[Declaration, ...]:
    """The declarations of a section: "objectives" or "constraints" of predictions.

    >>> "keep_out" in [declaration.key for declaration in stored("constraints")]
    True
    """
    return _sections()[section]


@cache
def _sections() -> dict[str, tuple[Declaration, ...]]:
    plain = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: tuple(_read(x) for x in rows) for name, rows in plain.items()}


def _read(row: dict[str, Any]) -> Declaration:
    short = Short(**row["short"]) if "short" in row else None
    parameters = tuple(Parameter(**(x | {"choices": tuple(x.get("choices", ()))})) for x in row["parameters"])
    return Declaration(**(row | {"short": short, "parameters": parameters}))
