"""Declarations in signatures: what each parameter means, its unit, and what it may be.

A class or function whose arguments users may also give in a study file is marked by :func:`declare`, and
each of its parameters is annotated by a :class:`Parameter`. Names and defaults are those of the signature.
Tables of study files with their checks, the JSON schema for editors and lists of the documentation follow.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

NEEDED: Final = ...  # the default of a parameter that has none
DECLARED_UNIT: Final = "unit of the declaration"  # unit of parameters whose signature several classes share
MARK: Final = "__declaration__"
PLAIN: Final = {str: "text", bool: "flag", int: "whole", float: "number"}
Thing = TypeVar("Thing", bound=Callable[..., Any])


@dataclass(frozen=True)
class Parameter:
    """One parameter: its meaning ``text``, and the ``kind`` of value that a file may have for it.

    Kinds are those of `study.prediction_tables.KINDS`; for text, flags, integers and numbers they follow from
    the type. ``default_text`` states the default in words; that of a number or a text is stated without it.
    ``choices`` are the names that are allowed. Name and default come from the signature.
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
    parameters: tuple[Parameter, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether it needs no arguments."""
        return all(parameter.default is not NEEDED for parameter in self.parameters)


def declare(key: str, text: str, *, unit: str = "", short: Short | None = None) -> Callable[[Thing], Thing]:
    """Mark a class or function that study files name by ``key``; ``text`` is one line about it.

    ``unit`` is that of the parameters with `DECLARED_UNIT`.

    >>> @declare("ball", "a ball")
    ... def ball(radius: Annotated[float, Parameter("Radius", "m", "positive")] = 0.1) -> None: ...
    >>> declaration_of(ball).parameters[0].description
    'Radius (m); default 0.1.'
    """

    def mark(thing: Thing) -> Thing:
        setattr(thing, MARK, Declaration(key, text, thing.__name__, unit, short))
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
    arguments = inspect.signature(thing).parameters.values()
    return replace(mark, parameters=tuple(_parameter(mark, x, hints[x.name]) for x in arguments))


def _parameter(mark: Declaration, argument: inspect.Parameter, hint: Any) -> Parameter:
    """What a signature says of one parameter."""
    annotated = [x for x in _metadata(hint) if isinstance(x, Parameter)]
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
        kind=given.kind or ("choice" if given.choices else _plain_kind(mark, argument.name, hint)),
    )


def _metadata(hint: Any) -> tuple[Any, ...]:
    return hint.__metadata__ if get_origin(hint) is Annotated else ()


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
