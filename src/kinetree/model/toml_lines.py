"""On which line of a TOML file a key stands; tomllib does not tell."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

Path = tuple[int | str, ...]
BARE = re.compile(r"[A-Za-z0-9_-]+")
QUOTES = ('"""', "'''", '"', "'")


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
        if rest[0] in "\"'":
            end = _closing(rest, 0, rest[0])
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
    """Line and text of every statement; one that goes over several lines counts where it begins."""
    lines, k = text.split("\n"), 0
    while k < len(lines):
        begin, statement = k, lines[k]
        while not _complete(statement) and k + 1 < len(lines):
            k += 1
            statement += "\n" + lines[k]
        if statement.strip() and not statement.lstrip().startswith("#"):
            yield begin + 1, statement
        k += 1


def _complete(statement: str) -> bool:
    """Whether all brackets and quotes of a statement are closed."""
    depth, k = 0, 0
    while k < len(statement):
        quote = next((q for q in QUOTES if statement.startswith(q, k)), None)
        if quote is not None:
            k = _closing(statement, k, quote)
            if k < 0:
                return False
            continue
        if statement[k] == "#":
            end = statement.find("\n", k)
            k = len(statement) if end < 0 else end
            continue
        depth += (statement[k] in "[{") - (statement[k] in "]}")
        k += 1
    return depth <= 0


def _closing(text: str, begin: int, quote: str) -> int:
    """Where a text in quotes ends, or -1."""
    k = begin + len(quote)
    while k < len(text):
        if text[k] == "\\" and quote[0] == '"':
            k += 2
        elif text.startswith(quote, k):
            return k + len(quote)
        else:
            k += 1
    return -1
