"""Compiled kernels are kept on disk: found again by the next process, never used for other sources."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import kinetree
from kinetree.engine.stored_code import FILE

PENDULUM = """
import numpy as np, kinetree as kt
robot = kt.Builder("pendulum")
robot.world.revolute("hinge", axis="-y").body("bob", kt.Inertia.point(2.0, (0.5, 0, 0)))
print(*kt.inverse_dynamics(robot.build(), np.zeros(1), np.zeros(1), np.zeros(1)))
"""


def torque(cache, package=None):
    """The pendulum's torque at rest, computed by a new process."""
    environment = dict(os.environ, KINETREE_CACHE_DIR=str(cache), KINETREE_INTERPRET="")
    if package is not None:
        environment["PYTHONPATH"] = str(package)
    done = subprocess.run([sys.executable, "-c", PENDULUM], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def machine_code(cache):
    return {file.relative_to(cache): file.stat().st_mtime_ns for file in cache.rglob(FILE)}


def test_the_next_process_finds_the_code_and_other_sources_do_not(tmp_path):
    cache, package = tmp_path / "cache", tmp_path / "package"
    assert abs(torque(cache) - 9.81) < 1e-12
    first = machine_code(cache)
    assert first
    assert abs(torque(cache) - 9.81) < 1e-12
    assert machine_code(cache) == first  # nothing was compiled again

    copy = package / "kinetree"
    shutil.copytree(Path(kinetree.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    helpers = copy / "kernels" / "vectors.py"
    text = helpers.read_text()
    assert "return -a[0], -a[1], -a[2]" in text
    helpers.write_text(text.replace("return -a[0], -a[1], -a[2]", "return a[0], a[1], a[2]"))
    assert abs(torque(cache, package) + 9.81) < 1e-12  # gravity turned round: the helper was compiled anew
    assert machine_code(cache).keys() > first.keys()
