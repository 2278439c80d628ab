"""What the package promises: names, docstrings, running examples, a quick import."""

import ast
import collections
import doctest
import importlib.util
import inspect
import operator
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import kinetree
from kinetree.other_names import OF_OTHERS

PACKAGE = Path(kinetree.__file__).parent
FRAMEWORKS = ("torch", "jax")  # doors to what is not always installed
MODULES = [
    "kinetree",
    *sorted(
        found.name
        for found in pkgutil.walk_packages(kinetree.__path__, "kinetree.")
        if not found.name.endswith("__main__")
        and (found.name.removeprefix("kinetree.") not in FRAMEWORKS or find_spec(found.name.split(".")[1]))
    ),
]
MAPPED = ("analysis", "errors", "model", "motion", "simulation")  # rooms whose every name the map has
NEED_A_WALK = (  # or a lift, which takes seconds: their examples are on the pages of walking and lifting
    "gait_analysis.gait_cycle",
    "gait_analysis.plot_gait",
    "gait_analysis.strides",
    "lifting.repeat",
)
SHOWN_IN = {  # classes of which users receive parts or several: the function whose example has one
    "CurveScore": "gait_analysis.gait_score",
    "GaitCycle": "gait_analysis.gait_score",
    "SquatRow": "lifting.squat_score",
}
INHERITED = ("Function",)  # by authors of new terms, who read the terms that there are
ROOT = Path(__file__).parents[1]
NOT_YET_NEEDED = ("matplotlib", "pydantic", "scipy", "mujoco", "numba", "rich", "typer")


def test_public_names_resolve_and_are_documented():
    bare = [name for name in kinetree.__all__ if not (getattr(kinetree, name).__doc__ or "").strip()]
    assert bare == []


def rooms():
    """The package and its public rooms by name."""
    names = [name for name in kinetree.__all__ if inspect.ismodule(getattr(kinetree, name))]
    return {"": kinetree} | {name: getattr(kinetree, name) for name in names}


def test_public_functions_have_an_example():
    bare = [name for name, function in public(inspect.isfunction).items() if not has_example(function)]
    assert sorted(bare) == sorted(NEED_A_WALK)


def public(kind):
    """What is public and of a kind, by room and name."""
    return {
        f"{room}.{name}".lstrip("."): getattr(home, name)
        for room, home in rooms().items()
        for name in home.__all__
        if kind(getattr(home, name))
    }


def has_example(thing):
    return ">>>" in (inspect.getdoc(thing) or "")


def test_public_classes_have_an_example():
    """Of their own, or in a function that returns them; errors and warnings are caught, not made."""
    functions = public(inspect.isfunction)
    returned = [str(inspect.signature(x).return_annotation) for x in functions.values() if has_example(x)]
    given = set(re.findall(r"\w+", " ".join(returned)))
    bare = {
        kind.__name__
        for kind in public(inspect.isclass).values()
        if not has_example(kind) and kind.__name__ not in given and not issubclass(kind, Exception)
    }
    assert bare == {*SHOWN_IN, *INHERITED}
    assert all(has_example(functions[place]) for place in SHOWN_IN.values())
    assert has_example(kinetree.KinetreeError) and has_example(kinetree.KinetreeWarning)


def test_every_module_can_be_imported():
    found = {}
    for name in MODULES:
        try:
            importlib.import_module(name)
        except Exception as error:  # every module is named, not the first alone
            found[name] = repr(error)
    assert found == {}


def has_examples(module):
    return ">>>" in Path(importlib.util.find_spec(module).origin).read_text(encoding="utf-8")


@pytest.mark.parametrize("module", list(filter(has_examples, MODULES)))
def test_examples_in_docstrings_run(module):
    outcome = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert outcome.failed == 0


def public_definitions(tree, prefix=""):
    """Public functions, classes and their public methods of a file; of several signatures only the last."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            if any(isinstance(x, ast.Name) and x.id == "overload" for x in node.decorator_list):
                continue
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node, f"{node.name}.")


def without_docstring(source, path):
    """What is public in a file and has no docstring, the file itself included."""
    tree = ast.parse(source)
    bare = [name for name, node in public_definitions(tree) if not ast.get_docstring(node)]
    return [f"{path}: {name}" for name in ([] if ast.get_docstring(tree) else ["the file"]) + bare]


def test_all_that_is_public_has_a_docstring():
    files = sorted(PACKAGE.rglob("*.py"))
    assert [
        bare
        for path in files
        for bare in without_docstring(path.read_text(encoding="utf-8"), path.relative_to(PACKAGE))
    ] == []


def test_a_missing_docstring_is_found():
    source = "class A:\n    def f(self):\n        pass\n    def _g(self):\n        pass"
    assert without_docstring(source, "a.py") == ["a.py: the file", "a.py: A", "a.py: A.f"]


def test_no_room_hides_a_public_name():
    """Importing a room binds its name in the package: no function or class may be called as a room is."""
    rooms = {found.name for found in pkgutil.iter_modules(kinetree.__path__)}
    public = {name for name in kinetree.__all__ if not inspect.ismodule(getattr(kinetree, name))}
    assert rooms & public == set()


def test_the_map_of_the_public_surface_has_a_place_for_every_name():
    """docs/decisions.md says where each public name belongs; a new one needs a decision, too."""
    page = (Path(__file__).parents[1] / "docs" / "decisions.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `kt\.\w*`[^|]*\|(.*)\|$", page, re.MULTILINE)
    placed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert [name for name in kinetree.__all__ if placed.count(name) != 1] == []
    below = [name for room in MAPPED for name in getattr(kinetree, room).__all__]
    assert [name for name in below if placed.count(name) != 1] == []


def test_the_table_of_the_surface_counts_what_there_is():
    page = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8").partition("The surface before")[2]
    counted = {name: int(after) for name, after in re.findall(r"^\| `kt\.(\w*)`.*\| (\d+) \|$", page, re.M)}
    rooms = {name for name in kinetree.__all__ if inspect.ismodule(getattr(kinetree, name))}
    wanted = {room: len(getattr(kinetree, room).__all__) for room in rooms}
    assert counted == {"": len(kinetree.__all__) - len(rooms)} | wanted
    assert int(re.search(r"^\| together .* (\d+) \|$", page, re.M)[1]) == sum(counted.values())


def test_names_of_other_libraries_lead_to_ours():
    for name, own in OF_OTHERS.items():
        assert own.partition(".")[0] in kinetree.__all__ and name not in kinetree.__all__
        assert callable(operator.attrgetter(own)(kinetree))
        with pytest.raises(AttributeError, match=f"has no name '{name}'; use kinetree.{own}$"):
            getattr(kinetree, name)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("PD", r"use kinetree\.control\.PD$"),
        ("simulat", "Did you mean 'simulate'"),
        ("zorn", "unknown name .* allowed: Body"),
    ],
)
def test_names_that_the_package_lacks(name, answer):
    with pytest.raises(AttributeError, match=answer):
        getattr(kinetree, name)


@pytest.mark.parametrize("room", ["simulation", "motion", "trajectories", "control", "human", "zoo"])
def test_names_that_a_submodule_lacks(room):
    with pytest.raises(AttributeError, match="Nothing"):
        getattr(getattr(kinetree, room), "Nothing")  # noqa: B009


def test_the_package_itself_has_few_names():
    names = [name for name in kinetree.__all__ if not inspect.ismodule(getattr(kinetree, name))]
    assert len(names) <= 49
    assert set(dir(kinetree)) == set(kinetree.__all__)


def test_tab_completion_shows_the_public_names_of_a_room_only():
    rooms = [name for name in kinetree.__all__ if inspect.ismodule(getattr(kinetree, name))]
    for room in (getattr(kinetree, name) for name in rooms):
        assert set(dir(room)) == set(room.__all__), room.__name__


def test_each_public_class_has_one_place_and_one_meaning():
    """No class is public twice, and no two classes share a name."""
    rooms = [name for name in kinetree.__all__ if inspect.ismodule(getattr(kinetree, name))]
    found = collections.defaultdict(list)
    for place in ("", *rooms):
        room = getattr(kinetree, place) if place else kinetree
        for name in room.__all__:
            if inspect.isclass(getattr(room, name)):
                found[name].append(place)
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_import_is_light():
    """Importing the package loads none of the large libraries; they come when they are needed."""
    code = "import sys, kinetree; print([name for name in sys.argv[1:] if name in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", code, *NOT_YET_NEEDED], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def test_version_is_that_of_the_project():
    """What a fresh installation has; the metadata of an older one may be behind its sources."""
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = re.search(r"^version: (\S+)$", (root / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    released = re.search(
        r"^## \[(\d[^]]*)\]", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert kinetree.__version__ == project["version"] == cited[1] == released[1]
