"""What kernels may contain: only what every kind of number and the compiler understand."""

import ast
import importlib
from pathlib import Path

import pytest

import kinetree.kernels
from kinetree.kernels.catalogue import all_kernels
from kinetree.kernels.external_load import LOAD
from kinetree.kernels.ground import PLANE, POINT, REGION
from kinetree.kernels.layout import TREE
from kinetree.kernels.rates import LOCK
from kinetree.kernels.torque_law import AXIS
from kinetree.simulation.compiled.context import HEADER

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
LOOPS = {"outward", "inward", "upward", "range"}
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
}
SCRATCH = {"work", "out", "packed", "slopes", "asked", "chain", "strip"}
TIMED = {"interval"}  # branches on the time, which all lanes share


def marked_functions():
    """(file name, function) of everything marked lanewise."""
    for file in sorted(FOLDER.glob("*.py")):
        content = vars(importlib.import_module(f"kinetree.kernels.{file.stem}"))
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(mark, ast.Name) and mark.id == "lanewise" for mark in node.decorator_list
            ):
                node.constants = {name for name, value in content.items() if type(value) is int}
                yield pytest.param(node, id=f"{file.stem}.{node.name}")


every_function = pytest.mark.parametrize("function", list(marked_functions()))


def is_integer(node, known):
    """Whether an expression is made of model integers, loop counters, lengths and whole numbers only."""
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


def integer_names(function):
    """Names that hold integers: parameters by custom, loop counters, what is assigned from integers."""
    known = getattr(function, "constants", set()) | {x.arg for x in function.args.args} & INTEGERS
    for node in ast.walk(function):
        if isinstance(node, ast.For):
            assert isinstance(node.iter, ast.Call) and node.iter.func.id in LOOPS
            assert isinstance(node.target, ast.Name)
            known.add(node.target.id)
    pairs = [pair for node in ast.walk(function) for pair in assigned(node)]
    for _ in pairs:  # until nothing new follows
        known |= {name for name, value in pairs if is_integer(value, known)}
    wrong = {name for name, value in pairs if name in known and not is_integer(value, known)}
    assert not wrong, f"{wrong} are sometimes integers, sometimes numbers"
    return known


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


def test_functions_are_found():
    found = {param.id for param in marked_functions()}
    assert {"rnea.rnea", "aba.aba", "vectors.cross", "layout.placement"} <= found
    assert {kernel.name for kernel in all_kernels()} <= {name.partition(".")[2] for name in found}


@every_function
def test_only_plain_statements(function):
    for node in ast.walk(function):
        if node is not function:
            assert not isinstance(node, FORBIDDEN), f"line {node.lineno}: {type(node).__name__}"


@every_function
def test_no_library_is_called(function):
    """Only functions by their own name: neither np.dot(...) nor methods."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name), f"line {node.lineno}: {ast.unparse(node.func)}"
            assert not node.keywords, f"line {node.lineno}: keyword arguments"
        if isinstance(node, ast.Name):
            assert node.id not in ("np", "numpy", "math", "numba"), f"line {node.lineno}"


@every_function
def test_branches_only_on_the_model(function):
    """All lanes take the same way: no branch may depend on the state."""
    if function.name in TIMED:
        return
    known = integer_names(function)
    for node in ast.walk(function):
        if isinstance(node, (ast.If, ast.While)):
            assert is_integer(node.test, known), f"line {node.lineno}: {ast.unparse(node.test)}"
        if isinstance(node, (ast.Compare, ast.BoolOp)):
            assert is_integer(node, known), f"line {node.lineno}: {ast.unparse(node)}"


@every_function
def test_fields_are_read_from_named_memory_only(function):
    """Attributes belong to tables of the model, the workspace and packed results; tables are not written."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute):
            assert isinstance(node.value, ast.Name), ast.unparse(node)
            table = node.value.id
            assert table in MODEL or table in SCRATCH, ast.unparse(node)
            if table in MODEL:
                assert node.attr in MODEL[table].places, ast.unparse(node)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            assert ast.unparse(node).partition(".")[0] not in MODEL, f"line {node.lineno}"


@pytest.mark.parametrize(
    "source",
    [
        "def f(x, i):\n    if x > 0:\n        pass",
        "def f(tree, i):\n    if tree.m[i] > 0:\n        pass",
        "def f(x, i):\n    y = x\n    while y != 0:\n        pass",
        "def f(work, i):\n    if work.f[i]:\n        pass",
        "def f(axes, i):\n    if axes.kp[i] > 0:\n        pass",
        "def f(head, t):\n    if head.period[0] > 0 and t > 0:\n        pass",
        "def f(regions, x):\n    y = 1 if x > regions.low[0] else 0",
    ],
)
def test_the_check_finds_branches_on_numbers(source):
    (function,) = ast.parse(source).body
    with pytest.raises(AssertionError):
        test_branches_only_on_the_model(function)


@pytest.mark.parametrize(
    "source",
    [
        "def f(axes, i):\n    axes.kp[i] = 0.0",
        "def f(axes, i):\n    return axes.mass[i]",
        "def f(robot, i):\n    return robot.m[i]",
    ],
)
def test_the_check_finds_foreign_memory(source):
    (function,) = ast.parse(source).body
    with pytest.raises(AssertionError):
        test_fields_are_read_from_named_memory_only(function)
