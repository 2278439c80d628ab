"""A name with a leading underscore stays in its file: no other module of the package takes it."""

import ast
from pathlib import Path

import pytest

from support.each import each

ROOT = Path(__file__).parents[1]
OWN = ("kinetree", "benchmarks")  # what other libraries call private is theirs to judge
NAMED_TUPLE = ("_asdict", "_field_defaults", "_fields", "_make", "_replace")  # public in spite of their names
FILES = sorted(path for folder in ("src", "benchmarks") for path in (ROOT / folder).rglob("*.py"))


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name not in NAMED_TUPLE


def is_own(node):
    return node.level > 0 or (node.module or "").split(".")[0] in OWN


def modules_of(tree):
    """What a file calls the modules and names that it imports from the package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and is_own(node):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (
                alias.asname for alias in node.names if alias.asname and alias.name.split(".")[0] in OWN
            )


def private_imports(source):
    """(line, name) of every private name that a file takes from another module of the package."""
    tree = ast.parse(source)
    known = {*OWN, *modules_of(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and is_own(node):
            parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            yield from ((node.lineno, name) for name in parts if is_private(name))
        elif isinstance(node, ast.Import):
            parts = [part for alias in node.names for part in alias.name.split(".") if part]
            own = any(alias.name.split(".")[0] in OWN for alias in node.names)
            yield from ((node.lineno, name) for name in parts if own and is_private(name))
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            if isinstance(node.value, ast.Name) and node.value.id in known:
                yield node.lineno, f"{node.value.id}.{node.attr}"


def test_no_private_name_is_taken_from_another_module():
    found = [
        f"{path.relative_to(ROOT).as_posix()}, line {line}: {name}"
        for path in FILES
        for line, name in private_imports(path.read_text(encoding="utf-8"))
    ]
    assert FILES
    assert found == []


@each(
    ("source", "found"),
    [
        ("from kinetree.formats.files import load, _load_toml", "_load_toml"),
        ("from kinetree.formats.files import _load_toml as reader", "_load_toml"),
        ("from .files import _load_toml", "_load_toml"),
        ("from kinetree._hidden import load", "_hidden"),
        ("import kinetree._hidden", "_hidden"),
        ("def f():\n    from benchmarks.report import _table", "_table"),
        ("from kinetree.model import files\nfiles._load_toml", "files._load_toml"),
        ("import kinetree.formats.files as files\nfiles._load_toml", "files._load_toml"),
    ],
)
def test_a_private_name_is_found(source, found):
    assert [name for _, name in private_imports(source)] == [found]


@pytest.mark.parametrize(
    "source",
    [
        "from __future__ import annotations",
        "from kinetree import __version__",
        "from viser import _messages",
        "class A:\n    def f(self):\n        return self._x",
        "from kinetree.model.tree import Tree\ndef f(tree):\n    return tree._hidden",
        "from kinetree.derivations.contract import Load\nLoad._fields",
    ],
)
def test_other_names_pass(source):
    assert list(private_imports(source)) == []
