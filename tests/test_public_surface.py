"""What the package promises: names, docstrings, running examples, small files, a quick import."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import kinetree

PACKAGE = Path(kinetree.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(kinetree.__path__, "kinetree.")
    if not found.name.endswith("__main__")
)
LARGEST_FILE, LARGEST_FUNCTION = 400, 90  # lines
NOT_YET_NEEDED = ("matplotlib", "pydantic", "scipy", "mujoco", "numba", "rich", "typer")
FUNCTIONS = [name for name in kinetree.__all__ if inspect.isfunction(getattr(kinetree, name, None))]


def short(path):
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("name", kinetree.__all__)
def test_public_name_resolves_and_is_documented(name):
    assert (getattr(kinetree, name).__doc__ or "").strip()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_function_has_an_example(name):
    assert ">>>" in inspect.getdoc(getattr(kinetree, name))


@pytest.mark.parametrize("module", ["kinetree", *MODULES])
def test_examples_in_docstrings_run(module):
    outcome = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert outcome.failed == 0


def public_definitions(tree, prefix=""):
    """Public functions, classes and their public methods of a file."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node, f"{node.name}.")


@pytest.mark.parametrize("path", FILES, ids=short)
def test_all_that_is_public_has_a_docstring(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = [name for name, node in public_definitions(tree) if not ast.get_docstring(node)]
    assert ast.get_docstring(tree), f"{path.name} has no docstring"
    assert bare == []


@pytest.mark.parametrize("path", FILES, ids=short)
def test_files_and_functions_are_small(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LARGEST_FILE
    functions = [x for x in ast.walk(ast.parse(text)) if isinstance(x, ast.FunctionDef)]
    long = {x.name: x.end_lineno - x.lineno + 1 for x in functions}
    assert {name: lines for name, lines in long.items() if lines > LARGEST_FUNCTION} == {}


def test_files_beside_the_package_are_small():
    root = Path(__file__).parents[1]
    paths = [path for folder in ("tests", "benchmarks", "docs") for path in (root / folder).rglob("*.py")]
    lines = {str(path.relative_to(root)): len(path.read_text("utf-8").splitlines()) for path in paths}
    assert {name: count for name, count in lines.items() if count > LARGEST_FILE} == {}


def test_import_is_light():
    """Importing the package loads none of the large libraries; they come when they are needed."""
    code = "import sys, kinetree; print([name for name in sys.argv[1:] if name in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", code, *NOT_YET_NEEDED], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def test_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert kinetree.__version__ == version("kinetree")
