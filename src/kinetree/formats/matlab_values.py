"""Values of a MATLAB file that only assigns numbers: read as arithmetic, nothing in it is executed.

Understood are assignments of numbers, matrices and arithmetic to names and to elements, with a few functions.
Loops, branches and calls of other functions are not; their lines are listed, and what depends on them has no
value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from kinetree.algebra.arrays import Array

LARGEST = 10_000  # elements of a matrix
DEEPEST = 50  # brackets in each other
TOKEN = re.compile(
    r"(?P<number>(\d+\.?\d*|\.\d+)([eEdD][-+]?\d+)?)|(?P<name>[A-Za-z]\w*)|(?P<sign>\.[*/^']|.)"
)
BLOCKS = ("for", "while", "if", "switch", "try", "parfor")
IDLE = ("function", "end", "return", "clear", "clc", "close", "global", "format", "hold", "disp")
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("sqrt", "sin", "cos", "tan", "exp", "abs")},
    **{name: getattr(np, f"arc{name[1:]}") for name in ("asin", "acos", "atan")},
    "atan2": np.arctan2,
    "deg2rad": np.radians,
    "sum": lambda x: x.sum(axis=1 if len(x) == 1 else 0),
    "max": lambda x: x.max(),
    "min": lambda x: x.min(),
    "length": lambda x: max(x.shape),
    "numel": np.size,
}
FILLED = ("zeros", "ones", "eye")


class Unread(NamedTuple):
    """A line that has no value: its number, its text, and why."""

    line: int
    text: str
    why: str


class NoValueError(Exception):
    """A statement that is no arithmetic with known names."""


def matlab_values(text: str, known: Mapping[str, Any] | None = None) -> tuple[dict[str, Array], list[Unread]]:
    """The values of all names, each a matrix, and the lines without value; ``known`` are names from before.

    >>> values, unread = matlab_values("a = [1, 2*3]; b(2) = sum(a)/2; c = f(a) % a call")
    >>> values["b"].tolist(), [x.why for x in unread]
    ([[0.0, 3.5]], ["'f' is unknown"])
    """
    values = {name: _matrix(x) for name, x in (known or {}).items()}
    unread, depth = [], 0
    for line, statement in _statements(text):
        word = re.match(r"[A-Za-z]\w*", statement)
        if word and word[0] in BLOCKS:
            depth += 1
            unread.append(Unread(line, statement, f"'{word[0]}' is not followed"))
        elif word and word[0] in IDLE:
            depth -= word[0] == "end" and depth > 0
        elif not depth:
            try:
                _assign(statement, values)
            except NoValueError as error:
                unread.append(Unread(line, statement, str(error)))
    return values, unread


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """The statements without comments, with the numbers of their lines; a matrix may go over several."""
    text = re.sub(r"\.\.\.[^\n]*\n", " ", re.sub(r"%[^\n]*", "", text.replace("\r\n", "\n")))
    text = re.sub(r"\bfunction\b[^=()]*(=\s*)?\w*\s*(\([^)]*\))?", lambda m: "\n" * m[0].count("\n"), text)
    start, brackets = 0, 0
    for k, letter in enumerate(text + "\n"):
        brackets = max(0, brackets + (letter in "[(") - (letter in "])"))
        if (letter in ";,\n" and not brackets) or k == len(text):
            statement = text[start:k].strip()
            if statement:
                lead = len(text[start:k]) - len(text[start:k].lstrip())
                yield text.count("\n", 0, start + lead) + 1, statement
            start = k + 1


def _assign(statement: str, values: dict[str, Array]) -> None:
    """Carry out name = expression, or name(indices) = expression."""
    match = re.match(r"([A-Za-z]\w*)\s*(\(([^()]*)\))?\s*=(?!=)(.*)", statement, re.DOTALL)
    if match is None:
        raise NoValueError("is no assignment")
    name, element, index, right = match[1], match[2], match[3], match[4]
    value = _Reader(right, values).all()
    if element is None:
        values[name] = value
        return
    places = [_Reader(x, values).all().ravel() for x in index.split(",")]
    rows, columns = ([np.ones(1), *places] if len(places) == 1 else places)[:2]
    old = values.get(name, np.zeros((0, 0)))
    if len(places) == 1 and old.shape[1] == 1 and len(old) > 1:
        rows, columns = columns, rows
    i, j = _index(rows), _index(columns)
    if max(i.max(), j.max()) >= LARGEST:
        raise NoValueError(f"has an index beyond {LARGEST}")
    new = np.zeros((max(old.shape[0], i.max() + 1), max(old.shape[1], j.max() + 1)))
    new[: old.shape[0], : old.shape[1]] = old
    try:
        new[np.ix_(i, j)] = value
    except ValueError:
        raise NoValueError("assigns a matrix of another size") from None
    values[name] = new


def _index(places: Array) -> Any:
    if not len(places) or (places < 1).any() or (places != np.round(places)).any():
        raise NoValueError("has an index that is no integer of at least 1")
    return places.astype(int) - 1


def _matrix(value: Any) -> Array:
    found = np.atleast_2d(np.asarray(value, dtype=np.float64))
    if found.size > LARGEST:
        raise NoValueError(f"makes more than {LARGEST} numbers")
    return found


def _filled(name: str, given: Sequence[Array]) -> Array:
    """zeros(n), ones(n, m) or eye(n)."""
    if any(x.size != 1 for x in given) or len(given) > 2:
        raise NoValueError(f"calls '{name}' with other sizes than one or two numbers")
    rows, columns = float(given[0].item()), float(given[-1].item())
    if not (0 <= rows and 0 <= columns and rows * columns <= LARGEST):
        raise NoValueError(f"makes more than {LARGEST} numbers")
    value = (
        np.eye(int(rows), int(columns))
        if name == "eye"
        else np.full((int(rows), int(columns)), name == "ones")
    )
    return _matrix(value)


class _Reader:
    """Recursive descent through an expression."""

    def __init__(self, text: str, values: Mapping[str, Array]) -> None:
        self.tokens = list(_tokens(text))
        self.values, self.at, self.depth, self.in_matrix = values, 0, 0, False

    def all(self) -> Array:
        """The value of the whole text."""
        if not self.tokens:
            raise NoValueError("assigns nothing")
        with np.errstate(all="ignore"):
            found = self.range()
        if self.at < len(self.tokens):
            self.fail()
        if not np.isfinite(found).all():
            raise NoValueError("is not finite")
        return found

    def fail(self) -> NoReturn:
        token = self.tokens[self.at].text if self.at < len(self.tokens) else "the end"
        raise NoValueError(f"is not understood at '{token}'")

    def take(self, *texts: str) -> str | None:
        """The next token if it is one of these."""
        if self.at < len(self.tokens) and self.tokens[self.at].text in texts:
            self.at += 1
            return self.tokens[self.at - 1].text
        return None

    def range(self) -> Array:
        """first:last, or a sum."""
        ends = [self.sum()]
        while self.take(":"):
            ends.append(self.sum())
        if len(ends) == 1:
            return ends[0]
        first, step, last = (
            float(x.ravel()[0]) for x in (ends[0], ends[1] if len(ends) > 2 else np.ones(1), ends[-1])
        )
        if step == 0.0 or not abs((last - first) / step) < LARGEST:
            raise NoValueError(f"makes more than {LARGEST} numbers")
        return _matrix(first + step * np.arange(int(np.floor((last - first) / step + 1e-9)) + 1))

    def sum(self) -> Array:
        value = self.product()
        while not self.separates() and (sign := self.take("+", "-")):
            other = self.product()
            value = self.both(value, other, np.add if sign == "+" else np.subtract)
        return value

    def product(self) -> Array:
        value = self.power()
        while sign := self.take("*", "/", ".*", "./"):
            other = self.power()
            if sign == "*" and value.size > 1 and other.size > 1:
                if value.shape[1] != len(other):
                    raise NoValueError("multiplies matrices that do not fit")
                value = value @ other
            else:
                value = self.both(value, other, np.multiply if "*" in sign else np.divide)
        return value

    def power(self) -> Array:
        if sign := self.take("+", "-"):
            self.deepen(1)
            value = self.power()
            self.deepen(-1)
            return -value if sign == "-" else value
        value = self.atom()
        while sign := self.take("^", ".^", "'", ".'"):
            value = value.T if "'" in sign else self.both(value, self.power(), np.power)
        return value

    def both(self, a: Array, b: Array, function: Callable[..., Any]) -> Array:
        try:
            return _matrix(function(a, b))
        except ValueError:
            raise NoValueError("combines matrices that do not fit") from None

    def separates(self) -> bool:
        """Whether a sign begins a new element of a matrix: [1 -2]."""
        if not self.in_matrix or self.at + 1 >= len(self.tokens):
            return False
        token, after = self.tokens[self.at], self.tokens[self.at + 1]
        return token.text in "+-" and token.spaced and not after.spaced

    def atom(self) -> Array:
        if self.at >= len(self.tokens):
            self.fail()
        token = self.tokens[self.at]
        self.at += 1
        if token.kind == "number":
            return _matrix(float(token.text.replace("d", "e").replace("D", "e")))
        if token.kind == "name":
            return self.named(token.text)
        if token.text == "(":
            return self.inside("range", ")")
        if token.text == "[":
            return self.inside("rows", "]")
        self.at -= 1
        self.fail()

    def inside(self, what: str, end: str) -> Array:
        """What brackets hold: matrices are separated by spaces, too."""
        before, self.in_matrix = self.in_matrix, what == "rows"
        self.deepen(1)
        found: Array = getattr(self, what)()
        self.deepen(-1)
        self.in_matrix = before
        if not self.take(end):
            self.fail()
        return found

    def deepen(self, by: int) -> None:
        """Count brackets in each other."""
        self.depth += by
        if self.depth > DEEPEST:
            raise NoValueError(f"has more than {DEEPEST} brackets in each other")

    def rows(self) -> Array:
        rows: list[list[Array]] = [[]]
        while self.at < len(self.tokens) and self.tokens[self.at].text != "]":
            if self.take(";", "\n"):
                rows.append([])
            elif not self.take(","):
                rows[-1].append(self.range())
        try:
            return _matrix(np.vstack([np.hstack(row) for row in rows if row] or [np.zeros((0, 0))]))
        except ValueError:
            raise NoValueError("has rows of different lengths") from None

    def named(self, name: str) -> Array:
        """A constant, an element or value of a name, or a function's value."""
        given = self.arguments() if self.at < len(self.tokens) and self.tokens[self.at].text == "(" else None
        if name in self.values:
            return self.values[name] if given is None else self.element(self.values[name], given)
        if name == "pi" and given is None:
            return _matrix(np.pi)
        if name in FILLED and given:
            return _filled(name, given)
        if name in FUNCTIONS and given:
            try:
                return _matrix(FUNCTIONS[name](*given))
            except (TypeError, ValueError):
                raise NoValueError(f"calls '{name}' with other arguments") from None
        raise NoValueError(f"'{name}' is unknown")

    def arguments(self) -> list[Array]:
        self.at += 1
        before, self.in_matrix = self.in_matrix, False
        self.deepen(1)
        found = [] if self.at < len(self.tokens) and self.tokens[self.at].text == ")" else [self.range()]
        while self.take(","):
            found.append(self.range())
        self.deepen(-1)
        self.in_matrix = before
        if not self.take(")"):
            self.fail()
        return found

    def element(self, matrix: Array, places: list[Array]) -> Array:
        """Elements of a matrix, by one index or two."""
        indices = [_index(x.ravel()) for x in places]
        try:
            if len(indices) == 1:
                found = matrix.ravel(order="F")[indices[0]]
                return _matrix(found if len(matrix) == 1 else found[:, None])
            return _matrix(matrix[np.ix_(*indices)])
        except IndexError:
            raise NoValueError("has an index beyond the end") from None


class _Token(NamedTuple):
    kind: str
    text: str
    spaced: bool  # whether a space is before it


def _tokens(text: str) -> Iterator[_Token]:
    spaced = False
    for match in TOKEN.finditer(text):
        token = match[0]
        if token in " \t":
            spaced = True
            continue
        yield _Token(match.lastgroup or "sign", token, spaced)
        spaced = False
