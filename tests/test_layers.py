"""The rooms of the house: imports go downwards only (docs/architecture.md)."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "kinetree"
FLOORS = (
    ("errors",),
    ("algebra",),
    ("model",),
    ("formats",),
    ("state",),
    ("kernels",),
    ("engine",),
    ("derivations",),
    ("analysis",),
    ("result",),
    ("integrate",),
    ("trajectories",),
    ("control", "simulation", "motion"),
    ("studies",),
    ("study",),
    ("lint",),
    ("report",),
    ("viewer",),
    ("cli",),
)
FLOOR = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}
ENTRANCE = (
    "kinetree"  # the package itself, which stands above all rooms; only the command line asks its version
)
EXEMPT = ("__init__.py", "__main__.py", "terms.py", "zoo.py")  # doors, not rooms
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).as_posix() not in EXEMPT)


def room_of(module):
    """The room of a dotted name inside the package."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ENTRANCE


def imported_modules(tree, package):
    """Every module of the package that a file imports, at any depth; relative names are made absolute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                named = f"{module}.{alias.name}"
                yield node.lineno, named if module == ENTRANCE and alias.name in FLOOR else module


def violations(source, module):
    """Imports of a file that go up or sideways, as sentences."""
    room = room_of(module)
    found = []
    for line, name in imported_modules(ast.parse(source), module.split(".")[:-1]):
        if name.split(".")[0] != ENTRANCE or room_of(name) == room:
            continue
        target = room_of(name)
        allowed = room == "cli" if target == ENTRANCE else FLOOR[target] < FLOOR[room]
        if not allowed:
            found.append(f"{module}, line {line}: {room} may not import {name}")
    return found


def dotted(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts)


def test_imports_go_downwards():
    assert FILES
    assert [
        found for path in FILES for found in violations(path.read_text(encoding="utf-8"), dotted(path))
    ] == []


COMPILED = ("integrate", "simulation/compiled", "motion/compiled")  # folders that are stamped as a whole


def test_machine_code_comes_from_stamped_sources():
    """What is compiled in a folder reads nothing that the stamp of its machine code does not cover."""
    allowed = {"errors", "algebra", "model", "kernels", "engine"}
    found = []
    for folder in COMPILED:
        own = f"kinetree.{folder.replace('/', '.')}"
        for path in (PACKAGE / folder).rglob("*.py"):
            for line, name in imported_modules(ast.parse(path.read_text(encoding="utf-8")), [own]):
                foreign = name.split(".")[0] == ENTRANCE and room_of(name) not in allowed
                if foreign and not name.startswith(own):
                    found.append(f"{dotted(path)}, line {line}: {name}")
    assert found == []


def test_every_file_has_a_room():
    assert {room_of(dotted(path)) for path in FILES} <= FLOOR.keys()


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("from kinetree.analysis.inverse import inverse_dynamics", "kinetree.model.tree"),
        ("import kinetree.report.draw", "kinetree.study.demo"),
        ("def f():\n    from kinetree.simulation.simulate import simulate", "kinetree.control.pd"),
        ("if TYPE_CHECKING:\n    from kinetree.state import State", "kinetree.model.joint"),
        ("from ..analysis import inverse", "kinetree.model.tree"),
        ("from kinetree import analysis", "kinetree.kernels.rnea"),
        ("from kinetree import Mechanism", "kinetree.study.demo"),
    ],
)
def test_a_wrong_import_is_found(source, module):
    assert len(violations(source, module)) == 1


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("if TYPE_CHECKING:\n    from kinetree.model.mechanism import Mechanism", "kinetree.model.tree"),
        ("from . import joint", "kinetree.model.tree"),
        ("from kinetree.errors import InputError\nimport numpy", "kinetree.model.tree"),
        ("from kinetree import __version__", "kinetree.cli"),
    ],
)
def test_a_right_import_passes(source, module):
    assert violations(source, module) == []
