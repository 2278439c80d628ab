"""Expressions of xacro files, evaluated by walking their syntax tree: nothing is executed.

What is not listed here does not exist: no attributes but those of :mod:`kinetree.formats.xacro_functions`, no
lambda, no assignment. Sizes of values and the number of operations are limited.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from kinetree.errors import KinetreeError, cut, shown, unknown_name
from kinetree.formats.xacro_functions import GLOBALS, XacroFunction, member
from kinetree.formats.xacro_limits import LONGEST_TEXT, MOST_BITS, MOST_ITEMS, Budget, Fault, Value

LONGEST, SHORT = 20_000, 200  # characters of an expression, and of one whose tree is kept
Lookup = Callable[[str], Value]
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.RShift: operator.rshift,
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Not: operator.not_, ast.Invert: operator.inv,
}  # fmt: skip
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,  # codespell:ignore notin
}  # fmt: skip
_PYTHON_FAULTS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError)
_CONSTRUCTS = {
    ast.Lambda: "lambda", ast.Starred: "*", ast.JoinedStr: "an f-string", ast.NamedExpr: "an assignment (:=)",
    ast.Await: "await", ast.Yield: "yield", ast.YieldFrom: "yield", ast.Set: "a set",
    ast.SetComp: "a set comprehension", ast.MatMult: "@",
}  # fmt: skip


def evaluate(text: str, lookup: Lookup, budget: Budget) -> Value:
    """The value of an expression; ``lookup`` gives the values of names and raises KeyError for others."""
    try:
        return _Walk(lookup, budget).value(_tree(text.strip()))
    except KinetreeError:
        raise
    except _PYTHON_FAULTS as reason:
        raise Fault(cut(str(reason)) or type(reason).__name__) from None


def _tree(text: str) -> ast.expr:
    if len(text) > LONGEST:
        raise Fault(f"an expression of {len(text)} characters; the longest allowed has {LONGEST}")
    return _repeated(text) if len(text) < SHORT else _parsed(text)


def _parsed(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of backslashes in texts
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError) as reason:
        raise Fault(f"is not an expression: {getattr(reason, 'msg', reason)}") from None
    except (RecursionError, MemoryError):
        raise Fault("is nested too deeply") from None


_repeated = lru_cache(maxsize=500)(_parsed)  # macros evaluate the same short expressions again and again


class _Walk:
    """Evaluates syntax trees with the names of one scope."""

    def __init__(self, lookup: Lookup, budget: Budget, local: dict[str, Value] | None = None) -> None:
        self.lookup, self.budget, self.local = lookup, budget, local or {}

    def value(self, node: ast.expr) -> Any:
        self.budget.step()
        visit = getattr(self, f"_{type(node).__name__}", None)
        if visit is None:
            name = _CONSTRUCTS.get(type(node), type(node).__name__)
            raise Fault(f"{name} is not supported in expressions of xacro files")
        return self.budget.value(visit(node))

    def _Constant(self, node: ast.Constant) -> Value:
        if node.value is None or isinstance(node.value, int | float | str):
            return node.value
        raise Fault(f"{shown(node.value)} is not supported in expressions of xacro files")

    def _Name(self, node: ast.Name) -> Value:
        if node.id in self.local:
            return self.local[node.id]
        if node.id.startswith("__"):
            raise Fault(f"the name '{node.id}' is not allowed")
        try:
            return self.lookup(node.id)
        except KeyError:
            if node.id in GLOBALS:
                return GLOBALS[node.id]
            raise Fault(f"'{node.id}' is not defined") from None

    def _Attribute(self, node: ast.Attribute) -> Value:
        if node.attr.startswith("_"):
            raise Fault(f"the name '{node.attr}' is not allowed")
        owner = self.value(node.value)
        found = getattr(owner, "namespace_member", None)
        return found(node.attr) if found is not None else member(owner, node.attr)

    def _Call(self, node: ast.Call) -> Value:
        function = self.value(node.func)
        if not isinstance(function, XacroFunction):
            raise Fault(f"{shown(function)} is not a function")
        named = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise Fault("** is not supported in expressions of xacro files")
            named[keyword.arg] = self.value(keyword.value)
        values = [self.value(x) for x in node.args]
        for value in values:
            if isinstance(value, list | tuple | range | dict):
                self.budget.step(len(value))
        return function(values, named)

    def _UnaryOp(self, node: ast.UnaryOp) -> Value:
        return _UNARY[type(node.op)](self.value(node.operand))

    def _BinOp(self, node: ast.BinOp) -> Value:
        a, b = self.value(node.left), self.value(node.right)
        kind = type(node.op)
        if kind is ast.Mult:
            return _product(a, b)
        if kind is ast.Pow:
            return _power(a, b)
        if kind is ast.Mod:
            return _remainder(a, b)
        if kind is ast.LShift:
            if not isinstance(b, int) or b > MOST_BITS:
                raise Fault(f"a shift by {shown(b)} bits; the most allowed are {MOST_BITS}")
            return a << b
        if kind not in _BINARY:
            raise Fault(f"{_CONSTRUCTS.get(kind, kind.__name__)} is not supported")
        return _BINARY[kind](a, b)

    def _BoolOp(self, node: ast.BoolOp) -> Value:
        stop = isinstance(node.op, ast.Or)
        found: Value = None
        for x in node.values:
            found = self.value(x)
            if bool(found) is stop:
                break
        return found

    def _Compare(self, node: ast.Compare) -> Value:
        left, result = self.value(node.left), True
        for kind, x in zip(node.ops, node.comparators, strict=True):
            right = self.value(x)
            if not isinstance(left, _PLAIN) or not isinstance(right, _PLAIN):
                raise Fault(f"{shown(left)} and {shown(right)} cannot be compared")
            result = bool(_COMPARED[type(kind)](left, right))
            if not result:
                return False
            left = right
        return result

    def _IfExp(self, node: ast.IfExp) -> Value:
        return self.value(node.body if self.value(node.test) else node.orelse)

    def _List(self, node: ast.List) -> Value:
        return [self.value(x) for x in node.elts]

    def _Tuple(self, node: ast.Tuple) -> Value:
        return tuple(self.value(x) for x in node.elts)

    def _Dict(self, node: ast.Dict) -> Value:
        if any(x is None for x in node.keys):
            raise Fault("** is not supported in expressions of xacro files")
        return {self.value(key): self.value(x) for key, x in zip(node.keys, node.values, strict=True) if key}

    def _Subscript(self, node: ast.Subscript) -> Value:
        owner = self.value(node.value)
        if not isinstance(owner, str | list | tuple | dict | range):
            raise Fault(f"{shown(owner)} has no items")
        index = self.value(node.slice)
        if isinstance(owner, dict) and not isinstance(index, slice) and index not in owner:
            raise Fault(unknown_name("key", index, owner))
        return owner[index]

    def _Slice(self, node: ast.Slice) -> Value:
        return slice(*(None if x is None else self.value(x) for x in (node.lower, node.upper, node.step)))

    def _ListComp(self, node: ast.ListComp) -> Value:
        return [inner.value(node.elt) for inner in self._rows(node.generators)]

    def _GeneratorExp(self, node: ast.GeneratorExp) -> Value:
        return [inner.value(node.elt) for inner in self._rows(node.generators)]

    def _DictComp(self, node: ast.DictComp) -> Value:
        return {inner.value(node.key): inner.value(node.value) for inner in self._rows(node.generators)}

    def _rows(self, generators: list[ast.comprehension]) -> Iterator[_Walk]:
        """The scopes of a comprehension, one after the other."""
        first, *rest = generators
        items = self.value(first.iter)
        if not isinstance(items, str | list | tuple | dict | range):
            raise Fault(f"{shown(items)} has no items")
        for item in items:
            inner = _Walk(self.lookup, self.budget, {**self.local, **_assigned(first.target, item)})
            if all(inner.value(x) for x in first.ifs):
                yield from inner._rows(rest) if rest else (inner,)


_PLAIN = (str, int, float, list, tuple, dict, range, type(None))


def _assigned(target: ast.expr, item: Any) -> dict[str, Value]:
    """The names of a comprehension with their values."""
    if isinstance(target, ast.Name):
        return {target.id: item}
    if not isinstance(target, ast.Tuple) or not all(isinstance(x, ast.Name) for x in target.elts):
        raise Fault("comprehensions may assign to names only")
    if not isinstance(item, str | list | tuple) or len(item) != len(target.elts):
        raise Fault(f"{shown(item)} has not {len(target.elts)} items")
    return {name.id: x for name, x in zip(target.elts, item, strict=True) if isinstance(name, ast.Name)}


def _product(a: Any, b: Any) -> Any:
    for items, count in ((a, b), (b, a)):
        if isinstance(items, str | list | tuple) and isinstance(count, int):
            most = LONGEST_TEXT if isinstance(items, str) else MOST_ITEMS
            if len(items) * count > most:
                raise Fault(f"{len(items)} items times {shown(count)}; the most allowed are {most}")
    return a * b


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and abs(a) > 1 and a.bit_length() * abs(b) > 2 * MOST_BITS:
        raise Fault(f"{shown(a)} to the power {shown(b)}: more than {MOST_BITS} bits")
    return a**b


def _remainder(a: Any, b: Any) -> Any:
    if not isinstance(a, str):
        return a % b
    values = b if isinstance(b, tuple) else (b,)
    if not all(isinstance(x, _PLAIN) for x in values):
        raise Fault(f"{shown(a)} cannot show what is not a number, text, list or dictionary")
    if re.search(r"\*|\d{4}", a) or a.count("%") * (1000 + len(str(b))) > 10 * LONGEST_TEXT:
        raise Fault(f"the format {shown(a)} is too wide")
    return a % b
