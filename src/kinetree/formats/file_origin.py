"""Where in a file something is, and what is wrong there, in words for its author."""

from __future__ import annotations

import re
import reprlib
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from kinetree.errors import FileError, KinetreeError, ModelError, unknown_name
from kinetree.model import zoo
from kinetree.model.mechanism import Mechanism

Place = tuple[int | str, ...]  # keys and indices from the top of the file, as pydantic gives them
MUSCULAR = ("muscle", "wrap", "marker")
ARRAYS = {
    key: tuple(key.split("."))
    for key in (
        "body",
        "joint",
        "loop",
        "contact",
        "spring",
        "frame",
        "actuator",
        "state",
        "include",
        "dh.row",
        *MUSCULAR,
    )
}
MENTIONED = re.compile(
    r"(?P<key>body|joint|loop|spring|contact point|frame|actuator|state|muscle|wrap|marker) '(?P<name>.*?)'"
    r"|DH row (?P<row>\d+)"
    r"|more than one (?P<repeated>[a-z ]+) is called '(?P<twice>.*)'; |cycle: (?P<first>.*?) -> "
)
DECIMAL_COMMA = re.compile(r"= *[-+]?\d+,\d+ *(#.*)?$")
LONGEST_LABEL = 100  # characters of a name that messages call a part by
MOST_ERRORS = 8  # shown at once
SYNTAX_HINTS = {
    "Cannot overwrite a value": "a key is given twice",
    "Cannot declare": "a table is given twice",
    "Cannot mutate immutable": "a { } table is complete and cannot be extended",
}
UNCLOSED = (
    "a { } table ends on the line it starts on; a longer one is written as [body.joint], a line per key"
)


def zoo_alone(name: str) -> Mechanism:
    """A mechanism of the zoo: what a text without a folder can include."""
    if name not in zoo.ZOO:
        raise FileError(
            f"mechanism: {unknown_name('mechanism of the zoo', name, zoo.ZOO)} A text that is no file "
            "includes no files."
        )
    return zoo.by_name(name)


@dataclass(frozen=True)
class Origin:
    """The source's name, and the lines of its [[body]], [[loop]], [[contact]] and [[dh.row]] headers.

    ``included`` reads a mechanism that it includes, by path or name.
    """

    source: str
    table: Mapping[str, Any]
    lines: Mapping[str, Sequence[int]] = field(default_factory=dict)
    included: Callable[[str], Mechanism] = field(default=zoo_alone, kw_only=True)

    @classmethod
    def of_text(cls, text: str, source: str, included: Callable[[str], Mechanism] = zoo_alone) -> Origin:
        """Parse TOML text; broken text is a FileError with line and column."""
        try:
            table = tomllib.loads(text.removesuffix("\n") + "\n")
        except tomllib.TOMLDecodeError as error:
            raise FileError(_syntax_error(str(error), text, source)) from None
        except (ValueError, RecursionError) as error:
            fault = "is too deeply nested" if isinstance(error, RecursionError) else "holds too long a number"
            raise FileError(f"{source}: cannot be read: it {fault}") from None
        lines = {key: _header_lines(text, key) for key in ARRAYS}
        return cls(source, table, lines, included=included)

    def where(self, place: Place) -> str:
        """The source, the line and the name of the body, loop, ... that the place is in."""
        for key, path in ARRAYS.items():
            if place[: len(path)] == path and len(place) > len(path):
                index = int(place[len(path)])
                return f"{self._line(key, index)}: {self.label(key, index)}"
        return self.source

    def entries(self, key: str) -> Sequence[Any]:
        """The tables of an array of the file, e.g. of [[body]]."""
        entries: Any = self.table
        for part in ARRAYS[key]:
            entries = entries.get(part, {})
        return entries if isinstance(entries, list | tuple) else ()

    def _line(self, key: str, index: int) -> str:
        lines = self.lines.get(key, ())
        return f"{self.source}, line {lines[index]}" if len(lines) == len(self.entries(key)) else self.source

    def label(self, key: str, index: int) -> str:
        """How messages call one of them: by its name, or by its number."""
        entry = self.entries(key)[index]
        name = entry.get("name") if isinstance(entry, Mapping) else None
        usable = isinstance(name, str) and name.isprintable() and len(name) <= LONGEST_LABEL
        return f"{key} '{name}'" if usable else f"{key}[{index}]"

    @contextmanager
    def blamed(self, *place: int | str) -> Iterator[None]:
        """Model errors raised inside name the source and the place."""
        try:
            yield
        except KinetreeError as error:
            said = str(error)
            where = self.where(place) if place else self._where_of(said)
            start, _, label = where.rpartition(": ")
            repeated = place and re.match(rf"{re.escape(label)}[: ]", said)
            raise ModelError(f"{start if repeated else where}: {said}") from None

    def _where_of(self, said: str) -> str:
        """The source, with the line of the body, loop, contact point or row that a message names first."""
        found = MENTIONED.search(said)
        if found is None:
            return self.source
        if found["row"]:
            return self._line("dh.row", int(found["row"]))
        kind = found["repeated"] or found["key"] or "body"
        name = found["twice"] or found["name"] or found["first"]
        places = self.places(kind.removesuffix(" point"), name)
        return self._line(*places[-1 if found["repeated"] else 0]) if places else self.source

    def places(self, kind: str, name: str) -> Sequence[tuple[str, int]]:
        """Where a body, joint, loop or contact of this name is described: the array and the index in it."""
        return self._places.get((kind, name), ())

    @cached_property
    def _places(self) -> dict[tuple[str, str], list[tuple[str, int]]]:
        found: dict[tuple[str, str], list[tuple[str, int]]] = {}
        for key in ARRAYS:
            for index, entry in enumerate(self.entries(key)):
                for kind, name in _names(key, index, entry) if isinstance(entry, Mapping) else ():
                    if isinstance(name, str):
                        found.setdefault((kind, name), []).append((key, index))
        return found

    def explained(self, error: ValidationError, model: type[BaseModel]) -> FileError:
        """The schema's complaints in our words, one per line."""
        texts = [f"{self.where(x['loc'])}: {complaint(x, model)}" for x in error.errors(include_url=False)]
        more = [f"... and {len(texts) - MOST_ERRORS} more"] if len(texts) > MOST_ERRORS else []
        return FileError("\n".join([*texts[:MOST_ERRORS], *more]))


def _names(key: str, index: int, entry: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """The kinds and names of what an entry of an array describes; a joint without a name gets its body's."""
    if key in ("joint", "loop", "contact", "spring", "frame", "actuator", "state", *MUSCULAR):
        yield key, entry.get("name")
    if key == "loop":
        yield "joint", entry.get("name")
    if key == "body":
        joint, name = entry.get("joint"), entry.get("name")
        given = joint.get("name") if isinstance(joint, Mapping) else None
        yield "body", name
        if joint is not None:
            yield "joint", f"{name}_joint" if given is None else given
    if key == "dh.row":
        yield "body", entry.get("name", f"link{index + 1}")
        yield "joint", entry.get("joint_name", f"joint{index + 1}")


def dotted(place: Place) -> str:
    """The place as it is written in messages: body[2].joint.axis."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            key = part if re.fullmatch(r"[\w-]+", part) else repr(part)
            text += f".{key}" if text else key
    return text or "the file"


def complaint(problem: Mapping[str, Any], model: type[BaseModel]) -> str:
    """What is wrong with one key, in our words."""
    place, kind = problem["loc"], problem["type"]
    path, got = dotted(place), reprlib.repr(problem["input"])
    if kind == "extra_forbidden":
        return _unknown_key(place, model)
    if kind == "missing":
        meaning = _model_at(model, place[:-1]).model_fields[place[-1]].description
        return f"{path} is missing: {meaning}"
    if kind == "value_error":
        return f"{path} {problem['ctx']['error']}"
    if kind == "list_type" and dotted(place) in ARRAYS:
        return (
            f"{path} must be a list of tables, each under a header [[{path}]] in double brackets, got {got}"
        )
    wanted = {
        "string_type": "a text in quotes",
        "bool_type": "true or false",
        "list_type": "a list in brackets",
        "model_type": "a table",
        "dict_type": "a table",
    }
    return f"{path} must be {wanted.get(kind, problem['msg'])}, got {got}"


def _unknown_key(place: Place, model: type[BaseModel]) -> str:
    key = str(place[-1])
    shown = key if key.isprintable() else repr(key)
    owner = _model_at(model, place[:-1])
    keys = list(owner.model_fields)
    said = unknown_name("key", shown, keys).after(f"{dotted(place)}: ")
    elsewhere = getattr(owner, "elsewhere", {})
    if key in elsewhere:
        return f"{said} Its key is {elsewhere[key]}."
    if said.endswith("?"):
        return said  # with the nearest key
    for depth in range(len(place) - 2, -1, -1):
        table = place[:depth]
        if not isinstance(place[depth], int) and key in _model_at(model, table).model_fields:
            belongs = f"belongs to {dotted(table)}" if table else "belongs at the top of the file"
            return f"{said} '{key}' {belongs}: write it above the header of {dotted(place[:-1])}."
    return said


def _model_at(model: type[BaseModel], place: Place) -> type[BaseModel]:
    """The table that the place leads to."""
    for part in place:
        if isinstance(part, str):
            model = _inner_model(model.model_fields[part].annotation) or model
    return model


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_inner_model(inner) for inner in get_args(annotation))
    return next((x for x in found if x is not None), None)


def _header_lines(text: str, key: str) -> list[int]:
    """Lines of the headers [[key]]; trusted only if there are as many as tables were read."""
    dots = r"[ \t]*\.[ \t]*".join(re.escape(part) for part in key.split("."))
    header = re.compile(rf"[ \t]*\[\[[ \t]*{dots}[ \t]*\]\]")
    return [k for k, line in enumerate(text.split("\n"), start=1) if header.match(line)]


def _syntax_error(said: str, text: str, source: str) -> str:
    """tomllib's message with the line it is about."""
    match = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", said, flags=re.DOTALL)
    if match is None:
        return f"{source}: broken TOML: {said}"
    reason = next((hint for start, hint in SYNTAX_HINTS.items() if said.startswith(start)), match[1])
    lines = text.split("\n")
    line = int(match[2]) if match[2] else max(1, len(text.rstrip().split("\n")))
    column = int(match[3]) if match[3] else len(lines[line - 1]) + 1
    shown = lines[line - 1].strip()
    if shown.count("{") > shown.count("}"):
        reason = UNCLOSED
    if DECIMAL_COMMA.search(shown):
        reason = "write a decimal point, not a comma"
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shown)
    return f"{source}, line {line}, column {column}: broken TOML: {reason}, in: {shown}"
