"""What other packages derive from a tree and keep with it: made once, dropped when a tree is pickled."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from kinetree.model.tree import Tree

Value = TypeVar("Value")


class Kept:
    """The one place of a tree for what is derived from it.

    ``calls`` are functions that lead straight from Python into machine code, by the question that they
    answer (`dynamics.question`); ``aimed`` are the same tree for questions about one body, by its number
    (`kernels.model_table`); ``values`` are those of functions marked with `once_per_tree`.
    """

    __slots__ = ("aimed", "calls", "values")

    def __init__(self) -> None:
        self.calls: dict[object, Callable[..., Any]] = {}
        self.aimed: dict[int, Tree] = {}
        self.values: dict[Callable[..., Any], Any] = {}

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        """A pickled tree leaves behind what will be derived again."""
        return Kept, ()


def once_per_tree(make: Callable[[Tree], Value]) -> Callable[[Tree], Value]:
    """A function of a tree whose value is made once for each tree and kept with it.

    Several threads may come here at once: all get the value of the one that is first, since ``setdefault``
    is a single step of the dictionary, with the GIL or without.
    """

    @wraps(make)
    def kept(tree: Tree) -> Value:
        values = tree.kept.values
        try:
            value: Value = values[make]
        except KeyError:
            value = values.setdefault(make, make(tree))
        return value

    return kept
