"""Robot files of other installed packages: found by name, loaded, none of their code run."""

import sys

import pytest

import kinetree as kt
from kinetree.cli.names import complete_model, complete_package
from kinetree.errors import InputError
from kinetree.formats.installed import installed_path
from kinetree.lint.study import check_file

URDF = '<robot name="{name}"><link name="base"/></robot>'
FILES = {
    "toy_robots/__init__.py": "raise SystemExit('the code of a package must not run')",
    "toy_robots/alpha/urdf/arm.urdf": URDF.format(name="alpha"),
    "toy_robots/beta/urdf/arm.urdf": URDF.format(name="beta"),
    "toy_robots/gamma/robot.xml": "<mujoco><worldbody><body><geom size='1'/></body></worldbody></mujoco>",
    "toy_robots/gamma/part.xml": "<mujoco><asset/></mujoco>",
    "toy_robots/leg.urdf": URDF.format(name="leg"),
    "toy_robots/delta/foot.urdf.xacro": URDF.format(name="foot"),
    "toy_robots/delta/macros.xacro": URDF.format(name="macros"),
    "toy_robots/notes.xml": "<notes/>",
    "../outside.urdf": URDF.format(name="outside"),
}


@pytest.fixture
def toys(tmp_path, monkeypatch):
    """A package with robots on the path, as pip would leave it."""
    site = tmp_path / "site"
    info = site / "toy_robots-1.0.dist-info"
    info.mkdir(parents=True)
    for name, text in FILES.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-robots\nVersion: 1.0\n")
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in FILES))
    (info / "top_level.txt").write_text("toy_robots\n")
    monkeypatch.syspath_prepend(str(site))
    return site


def test_models_are_listed_by_the_shortest_names_that_differ(toys):
    found = kt.zoo.installed_models("toy-robots")
    assert list(found) == ["alpha/arm", "beta/arm", "foot", "leg", "robot"]
    assert found["beta/arm"] == toys / "toy_robots/beta/urdf/arm.urdf"
    assert kt.zoo.installed_models("toy_robots") == found
    assert "toy_robots" not in sys.modules


def test_a_model_is_loaded_by_the_name_of_its_package(toys):
    assert kt.load("toy-robots:alpha/arm").name == "alpha"
    assert kt.load("toy-robots:foot").name == "foot"
    assert installed_path("toy-robots:beta") == toys / "toy_robots/beta/urdf/arm.urdf"


def test_a_model_is_checked_by_the_name_of_its_package(toys):
    assert check_file("toy-robots:leg") == check_file(toys / "toy_robots/leg.urdf")
    with pytest.raises(InputError, match="unknown model of toy-robots"):
        check_file("toy-robots:arm")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("toy-robots:legg", "Did you mean 'leg'"),
        ("toy-robots:arm", "unknown model of toy-robots 'arm'"),
        ("toy-robot:leg", "Did you mean 'toy-robots'"),
        ("numpy:arm", "no URDF"),
    ],
)
def test_unknown_names_are_told_with_suggestions(toys, name, reason):
    with pytest.raises(InputError, match=reason):
        kt.load(name)


@pytest.mark.parametrize("package", ["", "../x", 3, "a b"])
def test_what_is_no_name_of_a_package_is_refused(package):
    with pytest.raises(InputError, match="name of a package"):
        kt.zoo.installed_models(package)


def test_completion(toys):
    assert complete_model("toy-robots:b") == ["toy-robots:beta/arm"]
    assert complete_model("nothing-like-it:b") == []
    assert complete_package("toy-") == ["toy-robots"]
