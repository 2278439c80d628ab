"""Answers of several arrays that print short: names and shapes instead of all numbers."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from inspect import get_annotations
from typing import Any, ClassVar

import numpy as np

from kinetree.doors import upstairs


class Shown:
    """An answer that prints the names and shapes of its arrays; in a notebook as a table.

    Public attributes that are arrays, numbers or names are shown, in the order in which the class has them.
    Notebooks also draw the ``_matrices`` of a class, arrays whose last ``_core`` axes are those of a matrix.
    Data classes that inherit from it are made with ``repr=False``.
    """

    __slots__ = ()
    _matrices: ClassVar[tuple[str, ...]] = ()
    _core: ClassVar[int] = 2

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(' '.join(row) for row in self._rows())})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in self._rows()
        )
        if self._matrices:
            return str(upstairs("matrices_html")(self, f"<table>{rows}</table>", self._matrices, self._core))
        return f"<div><b>{escape(type(self).__name__)}</b><table>{rows}</table></div>"

    def _rows(self) -> Iterator[tuple[str, str]]:
        for name in _attributes(type(self)):
            text = _short(getattr(self, name))
            if text:
                yield name, text


def _attributes(kind: type) -> dict[str, None]:
    """Public fields, slots and properties of a class and its bases, the bases' first."""
    found: dict[str, None] = {}
    for one in reversed(kind.__mro__[:-1]):
        slots = one.__dict__.get("__slots__", ())
        fields = get_annotations(one)
        properties = (name for name, value in vars(one).items() if isinstance(value, property))
        found |= dict.fromkeys((*fields, *((slots,) if isinstance(slots, str) else slots), *properties))
    return {name: None for name in found if not name.startswith("_")}


def _short(value: Any) -> str:
    """A value in a few characters; nothing for what is neither an array, a number nor names."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return _short(value.item())
    if isinstance(value, np.ndarray):
        return f"({', '.join(map(str, value.shape))}{',' if value.ndim == 1 else ''})"
    if isinstance(value, bool | int | float | np.generic):
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    if isinstance(value, tuple) and value and all(isinstance(x, str) for x in value):
        return f"{len(value)} names" if len(value) > 3 else " ".join(value)
    return ""
