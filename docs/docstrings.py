"""Docstrings as Markdown: examples become blocks of code, roles names, citations links."""

from __future__ import annotations

import re
from typing import Any

from griffe import Attribute, ExprCall, ExprKeyword, ExprLambda, Extension, Object

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
