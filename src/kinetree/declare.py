"""Declarations in signatures: what each parameter means, its unit, and what it may be.

A class or function whose arguments users may also give in a study file is marked by :func:`declare`, and
each of its parameters is annotated by a :class:`Parameter`. Names and defaults are those of the signature.
Tables of study files with their checks, the JSON schema for editors and lists of the documentation follow.
They are made of a data file, so that a study is read without importing what it may name; ``python
docs/make_lists.py`` writes it, and a test compares it with the code.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

FILE: Final = Path(__file__).with_name("declarations.json")
NEEDED: Final = ...  # the default of a parameter that has none
DECLARED_UNIT: Final = "unit of the declaration"  # unit of parameters whose signature several classes share
MARK: Final = "__declaration__"
PLAIN: Final = {str: "text", bool: "flag", int: "whole", float: "number"}
Thing = TypeVar("Thing", bound=Callable[..., Any])


@dataclass(frozen=True)
class Parameter:
    """One parameter: its meaning ``text``, and the ``kind`` of value that a file may have for it.

    Kinds are those of `study.values.KINDS`; for text, flags, integers and numbers they follow from the type.
    For one of several ``choices`` the kind is the noun of error messages, by default the parameter's name.
    ``default_text`` states the default in words; that of a number or a text is stated without it. Name and
    default come from the signature.
    """

    text: str
    unit: str = ""
    kind: str = ""
    default_text: str = ""
    choices: tuple[str, ...] = ()
    name: str = ""
    default: Any = NEEDED

    @property
    def description(self) -> str:
        """Meaning, unit and default in one sentence.

        >>> Parameter("Radius", "m", "positive", default=0.5).description
        'Radius (m); default 0.5.'
        """
        unit = f" ({self.unit})" if self.unit else ""
        default = self.default_text or self._default_as_text()
        return f"{self.text}{unit}{default and '; '}{default}."

    def _default_as_text(self) -> str:
        """The default in words if it is a number or a text."""
        if isinstance(self.default, str):
            return f'default "{self.default}"'
        numeric = isinstance(self.default, int | float) and not isinstance(self.default, bool)
        return f"default {self.default:g}" if numeric else ""


@dataclass(frozen=True)
class Short:
    """One key that stands for a whole term: ``key = value`` in [predict], as in ``velocity_limits = 4.0``.

    ``kind`` "flag" makes a term without arguments, others give its first parameter; "model" is none.
    ``of_model`` names a kind of limits of mechanisms: where a joint has one, the term is there without being
    asked for, unless the study says otherwise.
    """

    key: str
    kind: str
    text: str
    of_model: str = ""


@dataclass(frozen=True)
class Declaration:
    """A class or function by its ``name``, with its ``key`` in a study file and its parameters."""

    key: str
    text: str
    name: str = ""
    unit: str = ""
    short: Short | None = None
    partly: bool = False
    parameters: tuple[Parameter, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether it needs no arguments."""
        return all(parameter.default is not NEEDED for parameter in self.parameters)


def declare(
    key: str, text: str, *, unit: str = "", short: Short | None = None, partly: bool = False
) -> Callable[[Thing], Thing]:
    """Mark a class or function that study files name by ``key``; ``text`` is one line about it.

    ``unit`` is that of the parameters with `DECLARED_UNIT`. ``partly``: study files have only the parameters
    that are annotated by a :class:`Parameter`.

    >>> from typing import Annotated
    >>> @declare("ball", "a ball")
    ... def ball(radius: Annotated[float, Parameter("Radius", "m", "positive")] = 0.1) -> None: ...
    >>> declaration_of(ball).parameters[0].description
    'Radius (m); default 0.1.'
    """

    def mark(thing: Thing) -> Thing:
        setattr(thing, MARK, Declaration(key, text, thing.__name__, unit, short, partly))
        return thing

    return mark


def is_declared(thing: object) -> bool:
    """Whether a class or function is marked itself, not only a class that it derives from."""
    return MARK in getattr(thing, "__dict__", {})


def declaration_of(thing: Callable[..., Any]) -> Declaration:
    """The declaration of a marked class or function with the parameters of its signature."""
    mark: Declaration = getattr(thing, MARK)
    function = thing.__init__ if isinstance(thing, type) else thing  # type: ignore[misc]
    if function is object.__init__:
        return mark
    hints = get_type_hints(function, include_extras=True)
    arguments = [x for x in _arguments(thing) if not mark.partly or _given(hints[x.name])]
    parameters = [_parameter(mark, x, hints[x.name]) for x in arguments]
    return replace(mark, parameters=tuple(parameters))


def _arguments(thing: Callable[..., Any]) -> list[inspect.Parameter]:
    """The arguments of a signature; the default of those that a factory of a dataclass makes is None."""
    made = {x.name for x in fields(thing) if x.default_factory is not MISSING} if is_dataclass(thing) else ()
    arguments = inspect.signature(thing).parameters.values()
    return [x.replace(default=None) if x.name in made else x for x in arguments]


def _given(hint: Any) -> list[Parameter]:
    """The parameters that a type is annotated by."""
    return [x for x in getattr(hint, "__metadata__", ()) if isinstance(x, Parameter)]


def _parameter(mark: Declaration, argument: inspect.Parameter, hint: Any) -> Parameter:
    """What a signature says of one parameter."""
    annotated = _given(hint)
    if len(annotated) != 1:
        raise TypeError(
            f"{mark.name}: annotate '{argument.name}' with one Parameter(...), got {len(annotated)}"
        )
    (given,) = annotated
    default = NEEDED if argument.default is argument.empty else as_data(argument.default)
    return replace(
        given,
        name=argument.name,
        default=default,
        default_text="" if default is NEEDED else given.default_text,
        unit=mark.unit if given.unit == DECLARED_UNIT else given.unit,
        kind=given.kind or (argument.name if given.choices else _plain_kind(mark, argument.name, hint)),
    )


def _plain_kind(mark: Declaration, name: str, hint: Any) -> str:
    """The kind that follows from a type: that of the type without None."""
    base = get_args(hint)[0]
    types = [x for x in get_args(base) if x is not type(None)] if _is_union(base) else [base]
    if len(types) != 1 or types[0] not in PLAIN:
        raise TypeError(f"{mark.name}: Parameter of '{name}' needs a kind, as its type is {base}")
    return PLAIN[types[0]]


def _is_union(kind: Any) -> bool:
    return get_origin(kind) is Union or type(kind).__name__ == "UnionType"


def as_data(value: Any) -> Any:
    """A default as a file would say it: lists instead of tuples and arrays."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return [as_data(x) for x in value] if isinstance(value, tuple | list) else value


# ---- as data ----------------------------------------------------------------------------------------------


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
