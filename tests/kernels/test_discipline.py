"""What kernels may contain: only what every kind of number and the compiler understand."""

import ast
import importlib
from pathlib import Path

import pytest

import kinetree.kernels
from kinetree.kernels.actuator import DRIVE
from kinetree.kernels.catalogue import all_kernels
from kinetree.kernels.cut_coordinate import CUT_AXIS
from kinetree.kernels.external_load import LOAD
from kinetree.kernels.ground import PLANE, POINT, REGION
from kinetree.kernels.loop_table import BELOW, CUT, ENTRY, LINK, LOOPS, PIVOT, PLACE, ROW, SEGMENT, TARGET
from kinetree.kernels.model_table import TREE
from kinetree.kernels.rates import LOCK
from kinetree.kernels.spring import SPRING
from kinetree.kernels.torque_law import AXIS
from kinetree.simulation.compiled.context import HEADER
from support.each import each

FOLDER = Path(kinetree.kernels.__file__).parent
FORBIDDEN = (
    ast.Try,
    ast.Raise,
    ast.Assert,
    ast.With,
    ast.ClassDef,
    ast.FunctionDef,
    ast.Lambda,
    ast.Import,
    ast.ImportFrom,
    ast.Global,
    ast.Nonlocal,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
    ast.GeneratorExp,
    ast.Await,
    ast.Yield,
    ast.YieldFrom,
    ast.JoinedStr,
    ast.Delete,
    ast.Match,
    ast.NamedExpr,
    ast.IfExp,
    ast.Break,
    ast.Continue,
)
COUNTERS = {"outward", "inward", "upward", "range"}
INTEGERS = {"i", "j", "k", "n", "c", "floating"}  # what integer parameters are called
MODEL = {  # what is read and never written, the same for all lanes
    "tree": TREE,
    "head": HEADER,
    "axes": AXIS,
    "plane": PLANE,
    "points": POINT,
    "regions": REGION,
    "loads": LOAD,
    "locks": LOCK,
    "drives": DRIVE,
    "cuts": CUT,
    "rows": ROW,
    "entries": ENTRY,
    "places": PLACE,
    "pivots": PIVOT,
    "targets": TARGET,
    "links": LINK,
    "segments": SEGMENT,
    "loops": LOOPS,
    "below": BELOW,
    "springs": SPRING,
    "joints": CUT_AXIS,
}
SCRATCH = {
    "work",
    "sought",
    "out",
    "packed",
    "slopes",
    "asked",
    "chain",
    "strip",
    "matrix",
    "unknowns",
    "gaps",
    "bases",
}
TIMED = {"interval"}  # branches on the time, which all lanes share


def marked_functions():
    """(file and name, function) of everything marked lanewise."""
    for file in sorted(FOLDER.glob("*.py")):
        content = vars(importlib.import_module(f"kinetree.kernels.{file.stem}"))
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(mark, ast.Name) and mark.id == "lanewise" for mark in node.decorator_list
            ):
                node.constants = {name for name, value in content.items() if type(value) is int}
                yield f"{file.stem}.{node.name}", node


FUNCTIONS = dict(marked_functions())


def offenders(offences):
    """What a check finds in all functions, as sentences that name the function."""
    return [f"{name}, {offence}" for name, function in FUNCTIONS.items() for offence in offences(function)]


def is_integer(node, known):
    """Whether an expression is made of model integers, loop counters, lengths and literal integers only."""
    match node:
        case ast.Constant():
            return type(node.value) is int
        case ast.Name():
            return node.id in known
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=table), attr=field)):
            return table in MODEL and field in MODEL[table].places and MODEL[table].places[field][2]
        case ast.Call(func=ast.Name(id="len")):
            return True
        case ast.Call(func=ast.Name(id="again"), args=[row]):
            return is_integer(row, known)
        case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.BoolOp():
            parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
            return all(is_integer(part, known) for part in parts)
    return False


def unusual_loops(function):
    """Loops over anything but the tree and ranges, or with more than one counter."""
    for node in ast.walk(function):
        if isinstance(node, ast.For):
            plain = isinstance(node.iter, ast.Call) and node.iter.func.id in COUNTERS
            if not (plain and isinstance(node.target, ast.Name)):
                yield f"line {node.lineno}: {ast.unparse(node.iter)}"


def integer_names(function):
    """Names that hold integers: parameters by custom, loop counters, what is assigned from integers."""
    known = getattr(function, "constants", set()) | {x.arg for x in function.args.args} & INTEGERS
    loops = [node for node in ast.walk(function) if isinstance(node, ast.For)]
    known |= {node.target.id for node in loops if isinstance(node.target, ast.Name)}
    pairs = [pair for node in ast.walk(function) for pair in assigned(node)]
    for _ in pairs:  # until nothing new follows
        known |= {name for name, value in pairs if is_integer(value, known)}
    return known, {name for name, value in pairs if name in known and not is_integer(value, known)}


def assigned(node):
    """(name, value) of an assignment, tuples taken apart."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return [(node.target.id, node.value)]
    if not isinstance(node, ast.Assign):
        return []
    pairs = []
    for target in node.targets:
        if isinstance(target, ast.Name):
            pairs.append((target.id, node.value))
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            both = zip(target.elts, node.value.elts, strict=True)
            pairs += [(x.id, value) for x, value in both if isinstance(x, ast.Name)]
    return pairs


def unusual_statements(function):
    """Statements and expressions that some kind of number or the compiler does not understand."""
    for node in ast.walk(function):
        if node is not function and isinstance(node, FORBIDDEN):
            yield f"line {node.lineno}: {type(node).__name__}"


def library_calls(function):
    """Calls of anything but functions by their own name, such as np.dot(...) and methods."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name):
                yield f"line {node.lineno}: {ast.unparse(node.func)}"
            if node.keywords:
                yield f"line {node.lineno}: keyword arguments"
        if isinstance(node, ast.Name) and node.id in ("np", "numpy", "math", "numba"):
            yield f"line {node.lineno}: {node.id}"


def branches_on_numbers(function):
    """Branches that depend on the state, although all lanes take the same way."""
    if function.name in TIMED:
        return
    known, mixed = integer_names(function)
    yield from unusual_loops(function)
    yield from (f"{name} is sometimes an integer, sometimes a number" for name in sorted(mixed))
    for node in ast.walk(function):
        if isinstance(node, (ast.If, ast.While)) and not is_integer(node.test, known):
            yield f"line {node.lineno}: {ast.unparse(node.test)}"
        if isinstance(node, (ast.Compare, ast.BoolOp)) and not is_integer(node, known):
            yield f"line {node.lineno}: {ast.unparse(node)}"


def foreign_memory(function):
    """Attributes of anything but tables of the model, the workspace and packed results; tables written to."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute):
            table = node.value.id if isinstance(node.value, ast.Name) else None
            named = node.attr in MODEL[table].places if table in MODEL else table in SCRATCH
            if not named:
                yield f"line {node.lineno}: {ast.unparse(node)}"
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            if ast.unparse(node).partition(".")[0] in MODEL:
                yield f"line {node.lineno}: {ast.unparse(node)} is written"


def test_functions_are_found():
    assert {"rnea.rnea", "aba.aba", "vectors.cross", "axes.placement"} <= FUNCTIONS.keys()
    assert {kernel.name for kernel in all_kernels()} <= {name.partition(".")[2] for name in FUNCTIONS}


@pytest.mark.parametrize("offences", [unusual_statements, library_calls, branches_on_numbers, foreign_memory])
def test_kernels_are_disciplined(offences):
    assert offenders(offences) == []


@each(
    ("offences", "source"),
    [
        (unusual_statements, "def f(x):\n    return [y for y in x]"),
        (unusual_statements, "def f(x):\n    raise ValueError"),
        (library_calls, "def f(x):\n    return np.dot(x, x)"),
        (library_calls, "def f(x):\n    return add(x, y=x)"),
        (branches_on_numbers, "def f(x):\n    for y in x:\n        pass"),
        (branches_on_numbers, "def f(x, i):\n    j = i\n    j = x"),
        (branches_on_numbers, "def f(x, i):\n    if x > 0:\n        pass"),
        (branches_on_numbers, "def f(tree, i):\n    if tree.m[i] > 0:\n        pass"),
        (branches_on_numbers, "def f(x, i):\n    y = x\n    while y != 0:\n        pass"),
        (branches_on_numbers, "def f(work, i):\n    if work.f[i]:\n        pass"),
        (branches_on_numbers, "def f(axes, i):\n    if axes.kp[i] > 0:\n        pass"),
        (branches_on_numbers, "def f(head, t):\n    if head.period[0] > 0 and t > 0:\n        pass"),
        (branches_on_numbers, "def f(regions, x):\n    y = 1 if x > regions.low[0] else 0"),
        (foreign_memory, "def f(axes, i):\n    axes.kp[i] = 0.0"),
        (foreign_memory, "def f(axes, i):\n    return axes.mass[i]"),
        (foreign_memory, "def f(robot, i):\n    return robot.m[i]"),
        (foreign_memory, "def f(x, i):\n    return x[i].m"),
    ],
)
def test_an_offence_is_found(offences, source):
    (function,) = ast.parse(source).body
    assert list(offences(function))
