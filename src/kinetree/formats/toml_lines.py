"""On which line of a TOML file a key stands; tomllib does not tell."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

Path = tuple[int | str, ...]
BARE = re.compile(r"[A-Za-z0-9_-]+")
# texts in quotes and comments, which may hold any bracket; up to two more quotes may end a text over lines
QUOTED = re.compile(
    r"""
      \"{3} (?: \\. | [^\\] )*? \"{3,5}
    | '{3} .*? '{3,5}
    | " (?: \\. | [^"\\\n] )* "
    | ' [^'\n]* '
    | \# [^\n]*
    """,
    re.DOTALL | re.VERBOSE,
)


def key_lines(text: str) -> dict[Path, int]:
    r"""The line, from 1, of every header and of every key outside of { } tables, by its path.

    >>> lines = key_lines('[study]\ntask = "x"\n[[load]]\nbody = "a"\n[[load]]\nbody = "b"')
    >>> lines["study", "task"], lines["load", 1, "body"]
    (2, 6)
    """
    found: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    for line, statement in _statements(text):
        head = statement.lstrip()
        if head.startswith("["):
            double = head.startswith("[[")
            keys = _keys(head[2 if double else 1 :])
            if double:
                place = _inside(keys, counts)
                counts[place] = counts.get(place, -1) + 1
                table = (*place, counts[place])
                found.setdefault(place, line)
            else:
                table = _inside(keys, counts)
        else:
            keys = _keys(head)
            for k in range(1, len(keys) + 1):
                found.setdefault((*table, *keys[:k]), line)
            continue
        for k in range(1, len(table) + 1):
            found.setdefault(table[:k], line)
    return found


def _inside(keys: list[str], counts: dict[Path, int]) -> Path:
    """The path of a header; tables inside of a list of tables belong to its last entry."""
    path: Path = ()
    for key in keys[:-1]:
        path = (*path, key)
        path = (*path, counts[path]) if path in counts else path
    return (*path, keys[-1]) if keys else path


def _keys(text: str) -> list[str]:
    """The dotted key that a text begins with."""
    keys, rest = [], text.lstrip()
    while rest:
        quoted = QUOTED.match(rest)
        if quoted is not None:
            end = quoted.end()
            keys.append(str(tomllib.loads(f"x = {rest[:end]}")["x"]))
        else:
            match = BARE.match(rest)
            if match is None:
                break
            end = match.end()
            keys.append(match[0])
        rest = rest[end:].lstrip()
        if not rest.startswith("."):
            break
        rest = rest[1:].lstrip()
    return keys


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Line, from 1, of every statement, and the text of the line it begins on."""
    depth = 0  # open brackets, also those that stand for a text over several lines
    bare = QUOTED.sub(_brackets_of_lines, text)
    for k, (line, signs) in enumerate(zip(text.split("\n"), bare.split("\n"), strict=True), start=1):
        if depth <= 0 and signs.strip():
            yield k, line
        depth = max(depth, 0) + signs.count("[") + signs.count("{") - signs.count("]") - signs.count("}")


def _brackets_of_lines(quoted: re.Match[str]) -> str:
    """What takes the place of a text in quotes, a bracket open over its lines, or of a comment, nothing."""
    return "" if quoted[0].startswith("#") else "[" + "\n" * quoted[0].count("\n") + "]"
