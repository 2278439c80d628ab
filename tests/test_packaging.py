"""The source archive and the wheel made from it, installed where the checkout is not to be seen."""

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ("build", "hatchling", "pip")
USE = """
import sys
sys.modules["coverage"] = None
import numpy as np, kinetree as kt
print(kt.__file__)
from kinetree.engine.code import many_code
from kinetree.kernels.energy import ENERGY
print(type(many_code(ENERGY)).__name__, "numba" in sys.modules)
"""
pytestmark = [
    pytest.mark.skipif(not {*TOOLS} <= packages_distributions().keys(), reason=f"needs {TOOLS}"),
    pytest.mark.skipif(sys.platform != "linux", reason="machine code is put into wheels on Linux only"),
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel with the machine code of one kernel, made from the source archive."""
    folder = tmp_path_factory.mktemp("dist")
    source = folder / "source"
    names = ("src", "hatch_build.py", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")
    for name in names:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        source.mkdir(exist_ok=True)
        copy(ROOT / name, source / name)
    environment = dict(os.environ, KINETREE_WHEEL_CODE="^energy, many")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in folder.glob("*.tar.gz")]
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def place(wheel, tmp_path_factory):
    """Where it is installed, without its dependencies."""
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def used(place, cache, **settings):
    environment = dict(os.environ, PYTHONPATH=str(place), KINETREE_CACHE_DIR=str(cache), KINETREE_NOTICE="0")
    environment |= settings
    done = subprocess.run(
        [sys.executable, "-P", "-c", USE], env=environment, cwd=cache.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    file, *found = done.stdout.split()
    assert Path(file).is_relative_to(place)
    return found


def test_what_a_wheel_contains(wheel):
    assert "-py3-none-manylinux_2_17_x86_64" in wheel.name and wheel.stat().st_size < 10e6
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        (metadata,) = (content.read(name).decode() for name in names if name.endswith("/METADATA"))
    assert "kinetree/prebuilt/energy-many" in names and "kinetree/py.typed" in names
    assert "License-Expression: BSD-3-Clause" in metadata and "Classifier: Programming Language" in metadata
    assert not [name for name in names if name.startswith(("tests/", "docs/")) or name.endswith(".pyc")]


def test_its_machine_code_is_used_unless_it_does_not_fit(place, tmp_path):
    from kinetree.engine import prebuilt

    if not prebuilt._has_features():
        pytest.skip("needs a processor of level x86-64-v3")
    cache = tmp_path / "cache"
    assert used(place, cache) == ["StoredCode", "False"] and not list(cache.rglob("code"))
    assert used(place, tmp_path / "own", KINETREE_PREBUILT="0") == ["CFunc", "True"]
    changed = tmp_path / "changed"
    shutil.copytree(place, changed)
    with (changed / "kinetree" / "kernels" / "energy.py").open("a") as file:
        file.write("\n# a change\n")
    assert used(changed, tmp_path / "other") == ["CFunc", "True"]
    damaged = tmp_path / "damaged"
    shutil.copytree(place, damaged)
    entry = damaged / "kinetree" / "prebuilt" / "energy-many"
    entry.write_bytes(entry.read_bytes()[:-9])
    assert used(damaged, tmp_path / "third") == ["CFunc", "True"]
