"""The functions, constants and methods that expressions of xacro files may call; no others exist there."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kinetree.errors import shown, unknown_name
from kinetree.formats.xacro_limits import LONGEST_TEXT, MOST_ITEMS, Fault, Value

MOST_ARGUMENTS = 50
MOST_PLACES = 400  # of round(): more than any number has
LARGEST_COUNT = 500  # of factorial(), comb() and perm()
SEPARATORS = ",; "


@dataclass(frozen=True, eq=False)
class XacroFunction:
    """A function by its name, with the keywords it takes."""

    name: str
    call: Callable[..., Any]
    keywords: tuple[str, ...] = ()
    any_keyword: bool = False

    def __call__(self, values: list[Value], named: Mapping[str, Value]) -> Value:
        """The value for arguments; Python's own complaints become faults."""
        if len(values) + len(named) > MOST_ARGUMENTS:
            raise Fault(f"{self.name}() has more than {MOST_ARGUMENTS} arguments")
        for key in named:
            if not self.any_keyword and key not in self.keywords:
                raise Fault(f"{self.name}() does not take the keyword '{key}'")
        for value in (*values, *named.values()):
            if isinstance(value, XacroFunction | Namespace) and self.name not in ("map", "isinstance"):
                raise Fault(f"{self.name}() of {value} is not supported")
        return self.call(*values, **named)

    def __str__(self) -> str:
        return f"the function {self.name}"


@dataclass(frozen=True, eq=False)
class Namespace:
    """Names behind a name and a dot, such as math.pi."""

    name: str
    members: Mapping[str, Value]

    def member(self, name: str) -> Value:
        """What a name means here."""
        if name not in self.members:
            raise Fault(unknown_name(f"name in {self.name}", name, self.members))
        return self.members[name]

    def __str__(self) -> str:
        return f"the namespace {self.name}"


def _sequence(value: Value, what: str) -> list[Any]:
    """The items of a list, tuple, range, dictionary or text."""
    if not isinstance(value, list | tuple | range | dict | str):
        raise Fault(f"{what} needs a list, got {shown(value)}")
    if len(value) > MOST_ITEMS:
        raise Fault(f"{what}: {len(value)} items; the most allowed are {MOST_ITEMS}")
    return list(value)


def _range(*bounds: Any) -> range:
    found = range(*bounds)
    try:
        size = len(found)
    except OverflowError:
        size = MOST_ITEMS + 1
    if size > MOST_ITEMS:
        raise Fault(f"range() of more than {MOST_ITEMS} numbers")
    return found


def _sum(values: Value, start: Any = 0) -> Any:
    found = _sequence(values, "sum()")
    if not all(isinstance(x, int | float) for x in (*found, start)):
        raise Fault("sum() adds numbers only")
    return sum(found, start)


def _round(value: Any, ndigits: Any = None) -> Any:
    if ndigits is not None and (not isinstance(ndigits, int) or abs(ndigits) > MOST_PLACES):
        raise Fault(f"round() to {shown(ndigits)} places; allowed: -{MOST_PLACES} to {MOST_PLACES}")
    return round(value, ndigits)


def _sorted(values: Value, reverse: Value = False) -> list[Any]:
    return sorted(_sequence(values, "sorted()"), reverse=bool(reverse))


def _counted(function: Callable[..., int]) -> Callable[..., int]:
    """A function whose value grows fast, for small integers only."""

    def small(*counts: Any) -> int:
        for count in counts:
            if not isinstance(count, int) or abs(count) > LARGEST_COUNT:
                raise Fault(f"{function.__name__}() of {shown(count)}; the largest is {LARGEST_COUNT}")
        return function(*counts)

    return small


def _map(function: Value, *lists: Value) -> list[Any]:
    if not isinstance(function, XacroFunction) or function.name in ("map", "load_yaml"):
        raise Fault(f"map() needs a function such as float, got {shown(function)}")
    rows = zip(*(_sequence(x, "map()") for x in lists), strict=False)
    return [function(list(row), {}) for row in rows]


def _dict(*given: Value, **named: Any) -> dict[Any, Any]:
    pairs = [x if isinstance(x, dict) else _sequence(x, "dict()") for x in given]
    return dict(*pairs, **named)


def _isinstance(value: Value, kinds: Value) -> bool:
    wanted = kinds if isinstance(kinds, tuple) else (kinds,)
    types = {"str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict, "tuple": tuple}
    names = [x.name if isinstance(x, XacroFunction) else "" for x in wanted]
    if not all(name in types for name in names):
        raise Fault(f"isinstance() knows the types {', '.join(types)}")
    return isinstance(value, tuple(types[name] for name in names))


def _tokens(text: Any, sep: Any = SEPARATORS, skip_empty: Any = True) -> list[str]:
    if not isinstance(text, str) or not isinstance(sep, str):
        raise Fault(f"tokenize() needs a text, got {shown(text)}")
    found = re.split("[" + re.escape(sep) + "]", text) if sep else [text]
    return [x for x in found if x] if skip_empty else found


def _fatal(*said: Value) -> None:
    raise Fault(" ".join(map(str, said)))


def _of(**functions: Callable[..., Any]) -> dict[str, Value]:
    return {name: XacroFunction(name, function) for name, function in functions.items()}


_COMMON: dict[str, Value] = {
    **_of(
        len=len, str=lambda x="": str(x), float=float, int=int, bool=bool, min=min, max=max, map=_map,
        list=lambda x=(): _sequence(x, "list()"), range=_range,
    ),
    "dict": XacroFunction("dict", _dict, any_keyword=True),
    "round": XacroFunction("round", _round, ("ndigits",)),
    "sorted": XacroFunction("sorted", _sorted, ("reverse",)),
    "True": True,
    "False": False,
}  # fmt: skip
_PYTHON: dict[str, Value] = {
    **_COMMON,
    **_of(
        abs=abs, divmod=divmod, ord=ord, repr=repr, sum=_sum, isinstance=_isinstance,
        all=lambda x: all(_sequence(x, "all()")),
        any=lambda x: any(_sequence(x, "any()")),
        tuple=lambda x=(): tuple(_sequence(x, "tuple()")),
        reversed=lambda x: _sequence(x, "reversed()")[::-1],
        enumerate=lambda x, start=0: list(enumerate(_sequence(x, "enumerate()"), start)),
        zip=lambda *x: list(zip(*(_sequence(y, "zip()") for y in x), strict=False)),
    ),
}  # fmt: skip
_PLAIN_MATH = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh degrees dist erf erfc exp exp2 "
    "expm1 fabs floor fmod frexp fsum gamma gcd hypot isclose isfinite isinf isnan isqrt lcm ldexp lgamma "
    "log log10 log1p log2 modf nextafter pow radians remainder sin sinh sqrt tan tanh trunc ulp"
).split()
_MATH: dict[str, Value] = {
    **_of(**{name: getattr(math, name) for name in _PLAIN_MATH}),
    **_of(**{name: _counted(getattr(math, name)) for name in ("factorial", "comb", "perm")}),
    **{name: getattr(math, name) for name in ("pi", "e", "tau", "inf", "nan")},
}
TEXT_TOOLS: dict[str, Value] = {
    "dotify": XacroFunction("dotify", lambda x: _dict(x)),
    "tokenize": XacroFunction("tokenize", _tokens, ("sep", "skip_empty")),
    "fatal": XacroFunction("fatal", _fatal),
}
GLOBALS: dict[str, Value] = {
    **_MATH, **_COMMON, "dotify": TEXT_TOOLS["dotify"],
    "math": Namespace("math", _MATH), "python": Namespace("python", _PYTHON),
}  # fmt: skip


def _replaced(text: str, old: str, new: str, count: int = -1) -> str:
    if len(text) + (text.count(old) if count < 0 else count) * len(new) > LONGEST_TEXT:
        raise Fault(f"replace() gives more than {LONGEST_TEXT} characters")
    return text.replace(old, new, count)


def _joined(text: str, items: Any) -> str:
    found = _sequence(items, "join()")
    if len(found) * len(text) > LONGEST_TEXT:
        raise Fault(f"join() gives more than {LONGEST_TEXT} characters")
    return text.join(found)


_PLAIN_METHODS = (
    "capitalize count endswith find index isalnum isalpha isdecimal isdigit islower isnumeric isupper lower "
    "lstrip rfind rindex rsplit rstrip split splitlines startswith strip swapcase title upper"
).split()
_TEXT_METHODS: dict[str, Callable[..., Any]] = {
    **{name: getattr(str, name) for name in _PLAIN_METHODS},
    "replace": _replaced,
    "join": _joined,
}
_LIST_METHODS: dict[str, Callable[..., Any]] = {
    "index": lambda items, x: items.index(x),
    "count": lambda items, x: items.count(x),
}
_DICT_METHODS: dict[str, Callable[..., Any]] = {
    "get": lambda table, key, default=None: table.get(key, default),
    "keys": lambda table: list(table),
    "values": lambda table: list(table.values()),
    "items": lambda table: list(table.items()),
}


def member(owner: Value, name: str) -> Value:
    """What stands behind a dot: a name of a namespace, a method, or the item of a dictionary."""
    if isinstance(owner, Namespace):
        return owner.member(name)
    methods: Mapping[str, Callable[..., Any]] = {}
    if isinstance(owner, str):
        methods = _TEXT_METHODS
    elif isinstance(owner, list | tuple):
        methods = _LIST_METHODS
    elif isinstance(owner, dict):
        methods = _DICT_METHODS
    if name in methods:
        method = methods[name]
        return XacroFunction(name, lambda *x: method(owner, *x))
    if isinstance(owner, dict):
        if name in owner:
            return owner[name]
        raise Fault(unknown_name("key", name, owner))
    kind = type(owner).__name__
    raise Fault(
        unknown_name(f"method of {kind}", name, methods)
        if methods
        else f"'.{name}' of a {kind} is not supported"
    )
