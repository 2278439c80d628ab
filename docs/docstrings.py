"""Docstrings as Markdown: examples become blocks of code, roles names, citations links."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from griffe import (
    Attribute,
    Expr,
    ExprCall,
    ExprKeyword,
    ExprLambda,
    ExprName,
    ExprSubscript,
    ExprTuple,
    Extension,
    Function,
    Module,
    Object,
)

ROLE = re.compile(r":(?:class|func|meth|mod|attr|data):`~?\.?(?P<name>[^`]+)`")
CITED = re.compile(r"(?<!\[)\[(?P<key>Barman2020|Xiang2009|Mohan2007|NCTU|Shah2013)\](?![\[(\]])")
DIRECTIVE = re.compile(r"\s*#\s*doctest:.*$", re.M)


class PlainDocstrings(Extension):
    """Changes what mkdocstrings reads, before it is drawn."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite the docstring of everything that is found."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)

    def on_attribute_instance(self, *, attr: Attribute, **_: Any) -> None:
        """Show the default of a field that a lambda makes as what it makes."""
        value = attr.value
        if isinstance(value, ExprCall) and len(value.arguments) == 1:
            (given,) = value.arguments
            if isinstance(given, ExprKeyword) and given.name == "default_factory":
                attr.value = given.value.body if isinstance(given.value, ExprLambda) else value

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Show parameters that are declared for study files with their types alone."""
        declared: dict[str, Expr] = {}
        for obj in _all_within(pkg):
            if isinstance(obj, Attribute) and (plain := _declared_type(obj.value)) is not None:
                declared[obj.path] = plain
        for obj in _all_within(pkg):
            for part in [obj] if isinstance(obj, Attribute) else getattr(obj, "parameters", ()):
                part.annotation = plain_type(part.annotation, declared)


def _all_within(obj: Object) -> Iterator[Object]:
    """Everything that a package, module or class defines."""
    for member in obj.members.values():
        if not member.is_alias:
            yield member
            yield from () if isinstance(member, Function) else _all_within(member)


def plain_type(annotation: Any, declared: Mapping[str, Expr]) -> Any:
    """The type of a parameter without its declaration; ``declared`` has types by the paths of their names."""
    if isinstance(annotation, ExprName):
        return declared.get(annotation.canonical_path, annotation)
    plain = _declared_type(annotation)
    return annotation if plain is None else plain


def _declared_type(value: Any) -> Any:
    """The type within ``Annotated[type, Parameter(...)]``, None for anything else."""
    if not isinstance(value, ExprSubscript) or getattr(value.left, "name", "") != "Annotated":
        return None
    return value.slice.elements[0] if isinstance(value.slice, ExprTuple) else None


def as_markdown(text: str) -> str:
    r"""The text of a docstring with its examples fenced and its roles as plain names.

    >>> as_markdown("Sums, as :func:`kinetree.run`.\n\n>>> 1 + 1\n2")
    'Sums, as `kinetree.run`.\n\n```pycon\n>>> 1 + 1\n2\n```'
    """
    text = ROLE.sub(lambda found: f"`{found['name']}`", text)
    done: list[str] = []
    inside = False
    for line in text.split("\n"):
        if not inside and line.startswith(">>>"):
            done.append("```pycon")
            inside = True
        elif inside and not line.strip():
            done.append("```")
            inside = False
        done.append(DIRECTIVE.sub("", line) if inside else CITED.sub(_link, line))
    return "\n".join([*done, "```"] if inside else done)


def _link(found: re.Match[str]) -> str:
    """A key of the bibliography, whose page is found by its heading."""
    return f"[{found[0]}][{found['key'].lower()}]"
