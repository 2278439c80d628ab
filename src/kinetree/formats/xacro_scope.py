"""Properties of xacro files: scopes inside each other, values that are evaluated when they are first used."""

from __future__ import annotations

import keyword
from collections.abc import Callable
from dataclasses import dataclass, field

from kinetree.formats.xacro_functions import GLOBALS
from kinetree.formats.xacro_limits import Fault, Value
from kinetree.formats.xml_file import Element


@dataclass
class Lazy:
    """A text that is evaluated when the property is first used; ``evaluate`` knows its scope and place."""

    evaluate: Callable[[], Value]
    is_running: bool = False


@dataclass(eq=False)
class Macro:
    """The body of a macro, and its parameters in order with their defaults."""

    body: Element
    parameters: list[MacroParameter]


@dataclass(frozen=True)
class MacroParameter:
    """A parameter of a macro: ``*name`` is a block, ``**name`` the content of one.

    ``forwards``: the default is the property of that name where the macro is called, else ``default``.
    """

    name: str
    default: str | None = None
    forwards: bool = False

    @property
    def has_default(self) -> bool:
        """Whether a call may leave it out."""
        return self.forwards or self.default is not None

    @property
    def is_block(self) -> bool:
        """Whether it stands for elements."""
        return self.name.startswith("*")


@dataclass(eq=False)
class MacroScope:
    """Properties and macros by name; those of ``parent`` are seen, too.

    A namespace is the scope of a file that is included under a name: its macros see no others.
    """

    parent: MacroScope | None = None
    is_namespace: bool = False
    properties: dict[str, Value] = field(default_factory=dict)
    macros: dict[str, Macro] = field(default_factory=dict)
    namespaces: dict[str, MacroScope] = field(default_factory=dict)

    @property
    def top(self) -> MacroScope:
        """The outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    @property
    def caller(self) -> MacroScope:
        """The scope around this one; from a macro, namespaces are left, too."""
        scope = self.parent or self
        while not self.is_namespace and scope.is_namespace and scope.parent is not None:
            scope = scope.parent
        return scope

    def owner(self, name: str) -> MacroScope | None:
        """The nearest scope that has a property."""
        scope: MacroScope | None = self
        while scope is not None and name not in scope.properties:
            scope = scope.parent
        return scope

    def knows(self, name: str) -> bool:
        """Whether a name has a meaning here."""
        return self.owner(name) is not None or name in GLOBALS

    def value(self, name: str) -> Value:
        """The value of a property or namespace; KeyError if there is none."""
        scope = self.owner(name)
        if scope is None:
            return self._namespace(name)
        found = scope.properties[name]
        if isinstance(found, Lazy):
            if found.is_running:
                raise Fault(f"property '{name}' is defined by itself")
            found.is_running = True
            try:
                scope.properties[name] = literal(found.evaluate())
            finally:
                found.is_running = False
            return scope.properties[name]
        return found

    def namespace_member(self, name: str) -> Value:
        """A property of a namespace, as in ``name.property``."""
        try:
            return self.value(name)
        except KeyError:
            raise Fault(f"the namespace has no property '{name}'") from None

    def remove(self, name: str) -> None:
        """Remove a property from all scopes."""
        scope: MacroScope | None = self
        while scope is not None:
            scope.properties.pop(name, None)
            scope = scope.parent

    def macro(self, name: str) -> tuple[MacroScope, Macro] | None:
        """A macro and the scope that its body sees: that of the call, or the namespace that it is in."""
        found = self._macro(name)
        if found is not None:
            return self, found
        *names, last = name.split(".")
        scope = self
        for x in names:
            try:
                scope = scope._namespace(x)
            except KeyError:
                return None
        found = scope._macro(last) if names else None
        return None if found is None else (scope, found)

    def _macro(self, name: str) -> Macro | None:
        scope: MacroScope | None = self
        while scope is not None:
            if name in scope.macros:
                return scope.macros[name]
            scope = None if scope.is_namespace else scope.parent
        return None

    def _namespace(self, name: str) -> MacroScope:
        scope: MacroScope | None = self
        while scope is not None:
            if name in scope.namespaces:
                return scope.namespaces[name]
            scope = scope.parent
        raise KeyError(name)


def literal(value: Value) -> Value:
    """A text as the number or truth value that it shows, or without the quotes around it.

    >>> literal("1"), literal("2.5"), literal("true"), literal("'3'"), literal("1_0")
    (1, 2.5, True, '3', '1_0')
    """
    if not isinstance(value, str):
        return value
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1]
    if "_" in value:
        return value
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return {"true": True, "True": True, "false": False, "False": False}.get(value, value)


def truth(value: Value, written: str) -> bool:
    """The truth value of a condition."""
    if not isinstance(value, str):
        return bool(value)
    if value in ("true", "True", "false", "False"):
        return value in ("true", "True")
    try:
        return bool(int(value))
    except ValueError:
        raise Fault(f"the condition '{written}' is '{value}'; allowed: true, false and numbers") from None


def check_identifier(name: str) -> None:
    """A name that expressions can use."""
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("__"):
        raise Fault(f"'{name}' cannot be the name of a property; names have letters, digits and '_'")
