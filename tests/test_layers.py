"""The rooms of the house: imports go downwards only (docs/architecture.md)."""

import ast
from functools import cache
from pathlib import Path

from kinetree.doors import UPWARD, upstairs
from support.each import each

PACKAGE = Path(__file__).parents[1] / "src" / "kinetree"
FLOORS = (
    ("errors", "doors", "progress"),
    ("other_names",),
    ("declare",),
    ("algebra",),
    ("model",),
    ("formats",),
    ("state",),
    ("kernels",),
    ("engine",),
    ("derivations",),
    ("dynamics",),
    ("analysis",),
    ("codegen",),
    ("result",),
    ("verdicts",),
    ("integrate",),
    ("trajectories",),
    ("control", "simulation", "motion"),
    ("gradients", "environments"),
    ("torch", "jax", "gym"),
    ("gait_data",),
    ("capture",),
    ("tasks",),
    ("documents",),
    ("study",),
    ("sweeps",),
    ("lint",),
    ("report",),
    ("viewer",),
    ("cli",),
)
FLOOR = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}
ENTRANCE = (
    "kinetree"  # the package itself, which stands above all rooms; only the command line asks its version
)
EXEMPT = (
    "__init__.py",
    "__main__.py",
    "gait_analysis.py",
    "human.py",
    "loops.py",
    "muscles.py",
    "terms.py",
    "walking.py",
    "lifting.py",
    "gaits.py",
    "markers.py",
    "zoo.py",
)  # doors, not rooms


def dotted(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts)


parsed = cache(ast.parse)
ALL = sorted(PACKAGE.rglob("*.py"))
MODULES = {dotted(path).removesuffix(".__init__"): path.name for path in ALL}
FILES = sorted(path for path in ALL if path.relative_to(PACKAGE).as_posix() not in EXEMPT)


UNREADABLE = "a text that cannot be read"
DOORKEEPERS = (  # use the doors upwards
    "kinetree.algebra.shown",
    "kinetree.analysis.workspace_map",
    "kinetree.model.mechanism",
    "kinetree.motion.outcome.phased_prediction",
    "kinetree.motion.outcome.prediction",
    "kinetree.motion.problem.phases",
    "kinetree.motion.problem.problem",
    "kinetree.motion.timing.outcome",
    "kinetree.result.result",
)


def room_of(module):
    """The room of a dotted name inside the package."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ENTRANCE


def named_by_text(call, package):
    """The module that a call of ``import_module`` names, as far as its text begins; None for other calls."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
    if function not in ("import_module", "__import__"):
        return None
    match call.args[0] if call.args else None:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=[ast.Constant(value=str(head)), *_]):
            return head.rpartition(".")[0] or UNREADABLE
        case ast.JoinedStr(values=[ast.FormattedValue(value=ast.Name(id="__name__")), *_]):
            return ".".join(package)
    return UNREADABLE


def imported_modules(tree, package):
    """Every module that a file imports, at any depth and by text, too; relative names are made absolute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                named = f"{module}.{alias.name}"
                yield node.lineno, named if named in MODULES else module
        elif isinstance(node, ast.Call) and (name := named_by_text(node, package)):
            yield node.lineno, name


def violations(source, module):
    """Imports of a file that go up or sideways, as sentences."""
    room = room_of(module)
    found = []
    for line, name in imported_modules(parsed(source), module.split(".")[:-1]):
        if name == UNREADABLE and module != "kinetree.doors":
            found.append(f"{module}, line {line}: imports by {UNREADABLE}")
        if name == "kinetree.doors" and module not in DOORKEEPERS:
            found.append(f"{module}, line {line}: may not use the doors upwards")
        if name.split(".")[0] != ENTRANCE or room_of(name) == room:
            continue
        target = room_of(name)
        allowed = room == "cli" if target == ENTRANCE else FLOOR[target] < FLOOR[room]
        if not allowed:
            found.append(f"{module}, line {line}: {room} may not import {name}")
    return found


def test_imports_go_downwards():
    assert FILES
    assert [
        found for path in FILES for found in violations(path.read_text(encoding="utf-8"), dotted(path))
    ] == []


def test_doors_upwards_are_listed_and_used():
    """Every door leads to a function above all who use it, and somebody uses it."""
    lowest = max(FLOOR[room_of(module)] for module in DOORKEEPERS)
    assert all(FLOOR[room_of(module)] > lowest for module in UPWARD.values())
    assert all(callable(upstairs(name)) for name in UPWARD)
    places = [PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py") for module in DOORKEEPERS]
    text = "".join(place.read_text(encoding="utf-8") for place in places)
    assert [name for name in UPWARD if f'upstairs("{name}")' not in text] == []


CYCLES = (  # a class, and what stands behind its methods
    (
        "kinetree.model.mechanism",
        "kinetree.model.payload",
        "kinetree.model.rooted",
        "kinetree.model.variants",
    ),
    (
        "kinetree.result.build",
        "kinetree.result.netcdf",
        "kinetree.result.resample",
        "kinetree.result.result",
        "kinetree.result.zarr_store",
    ),
)


def running(tree):
    """The tree of a file without what only type checkers read, and tables of members by f-strings."""

    class Running(ast.NodeTransformer):
        def visit_If(self, node):
            if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
                return [self.visit(x) for x in node.orelse]
            return self.generic_visit(node)

        def visit_JoinedStr(self, node):
            return ast.Constant("")

    return Running().visit(tree)


def import_graph(sources):
    """Which modules each module imports, anywhere in its file; ``sources`` are texts by dotted name."""
    graph = {}
    for module, source in sources.items():
        package = module.split(".") if MODULES.get(module) == "__init__.py" else module.split(".")[:-1]
        names = {name for _, name in imported_modules(running(ast.parse(source)), package)}
        graph[module] = names & sources.keys() - {module}
    return graph


def cycles(graph):
    """Groups of modules that import one another, each sorted; of modules that lead nowhere there are none."""
    left = {name: set(to) for name, to in graph.items()}
    while ends := {name for name, to in left.items() if not to & left.keys()}:
        left = {name: to for name, to in left.items() if name not in ends}
    reached = {name: reach(left, name) for name in left}
    groups = {tuple(sorted(x for x in to if name in reached[x])) for name, to in reached.items()}
    return sorted(group for group in groups if group)


def reach(graph, start):
    """Everything that imports lead to from a module."""
    found, waiting = set(), [start]
    while waiting:
        new = graph[waiting.pop()] & graph.keys() - found
        found |= new
        waiting += new
    return found


def test_imports_inside_functions_hide_no_other_cycles():
    sources = {dotted(path).removesuffix(".__init__"): path.read_text(encoding="utf-8") for path in ALL}
    assert cycles(import_graph(sources)) == sorted(CYCLES)


def test_cycles_are_found():
    sources = {
        "kinetree.a": "def f():\n    from kinetree.b import g",
        "kinetree.b": "import kinetree.c",
        "kinetree.c": "import kinetree.d\nimport_module('kinetree.a')",
        "kinetree.d": "if TYPE_CHECKING:\n    from kinetree.a import f\nfrom kinetree.e import h",
        "kinetree.e": "import numpy",
    }
    assert cycles(import_graph(sources)) == [("kinetree.a", "kinetree.b", "kinetree.c")]


COMPILED = (
    "integrate",
    "simulation/compiled",
    "motion/compiled",
    "control/whole_body/compiled",
    "dynamics/loops/machine",
    "dynamics/muscles/machine",
    "capture/machine",
)  # folders that are stamped as a whole


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


def test_only_the_engine_knows_the_compiler():
    """Other rooms compile through `kinetree.engine.door`; kernels do not know that they are compiled."""
    compilers = {"numba", "llvmlite"}
    found = []
    for path in PACKAGE.rglob("*.py"):
        if path.is_relative_to(PACKAGE / "engine"):
            continue
        for line, name in imported_modules(parsed(path.read_text(encoding="utf-8")), []):
            if name.split(".")[0] in compilers:
                found.append(f"{path.relative_to(PACKAGE)}, line {line}: {name}")
    assert found == []


def test_every_file_has_a_room():
    assert {room_of(dotted(path)) for path in FILES} <= FLOOR.keys()


@each(
    ("source", "module"),
    [
        ("from kinetree.analysis.inverse import inverse_dynamics", "kinetree.model.tree"),
        ("import kinetree.report.draw", "kinetree.study.demo"),
        ("def f():\n    from kinetree.simulation.simulate import simulate", "kinetree.control.pd"),
        ("if TYPE_CHECKING:\n    from kinetree.state import State", "kinetree.model.joint"),
        ("from ..analysis import inverse", "kinetree.model.tree"),
        ("from kinetree import analysis", "kinetree.kernels.rnea"),
        ("from kinetree import Mechanism", "kinetree.study.demo"),
        ('import_module("kinetree.report.draw")', "kinetree.result.result"),
        ('importlib.import_module(f"kinetree.report.{name}")', "kinetree.result.result"),
        ('__import__("kinetree.study.run")', "kinetree.motion.predict"),
        ("import_module(name)", "kinetree.result.result"),
        ('import_module(f"{name}.draw")', "kinetree.result.result"),
        ("from kinetree.doors import upstairs", "kinetree.analysis.inverse"),
    ],
)
def test_a_wrong_import_is_found(source, module):
    assert len(violations(source, module)) == 1


@each(
    ("source", "module"),
    [
        ("if TYPE_CHECKING:\n    from kinetree.model.mechanism import Mechanism", "kinetree.model.tree"),
        ("from . import joint", "kinetree.model.tree"),
        ("from kinetree.errors import InputError\nimport numpy", "kinetree.model.tree"),
        ("from kinetree import __version__", "kinetree.cli"),
        ('import_module("numpy.linalg")', "kinetree.model.tree"),
        ('import_module(f"{__name__}.{name}")', "kinetree.study.tasks.__init__"),
        ('import_module(f"kinetree.cli.{name}")', "kinetree.cli.app"),
        ("from kinetree.doors import upstairs", "kinetree.result.result"),
    ],
)
def test_a_right_import_passes(source, module):
    assert violations(source, module) == []
