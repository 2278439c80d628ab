"""How long a new process takes: importing the package, the first answers, and compiling from nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from kinetree.engine.disk_cache import CACHE_VARIABLE, PACKAGE
from kinetree.engine.prebuilt import FOLDER, SWITCH

FIRST_CALLS = """
import json, sys, time
sys.modules["coverage"] = None
start = time.perf_counter()
import kinetree as kt
seconds = {"import": time.perf_counter() - start}
import numpy as np
robot = kt.zoo.kuka_kr5()
robot.tree
one, many = np.ones(robot.n_dof), np.ones((4, robot.n_dof))
calls = {
    "inverse dynamics": lambda x: kt.inverse_dynamics(robot, x, x, x),
    "forward dynamics": lambda x: kt.forward_dynamics(robot, x, x, x),
    "mass matrix": lambda x: kt.mass_matrix(robot, x),
    "inverse dynamics gradients": lambda x: kt.inverse_dynamics_derivatives(robot, x, x, x).dtau_dq,
    "forward dynamics gradients": lambda x: kt.forward_dynamics_derivatives(robot, x, x, x).dqdd_dq,
    "reaction gradients": lambda x: kt.analysis.joint_reaction_derivatives(robot, x, x, x).reaction,
    "Hessian of y.tau": lambda x: kt.analysis.torque_hessian(robot, x, x, x, x).q_q,
}
for name, call in list(calls.items())[:LIMIT]:
    for what, x in (("one state", one), ("batch", many)):
        start = time.perf_counter()
        call(x)
        seconds[f"{name}, {what}"] = time.perf_counter() - start
print(json.dumps(seconds))
"""

FIRST_MINUTE = {
    "first simulation": "kt.simulate(kt.zoo.kuka_kr5(), [0.1] * 6, duration=1)",
    "first prediction": """from kinetree.motion.terms import Boundary, Time, TorqueLimits
rest = [Boundary("start", [0.0, -2.0], 0.0), Boundary("end", [1.0, -1.0], 0.0)]
kt.predict(kt.Problem(kt.zoo.two_link(), objective=Time(), constraints=[*rest, TorqueLimits()]))""",
    "kinetree demo": """import sys, tempfile
from kinetree.__main__ import main
sys.argv = ["kinetree", "demo", "--quiet", "--output", tempfile.mkdtemp()]
try:
    main()
except SystemExit:
    pass""",
}  # what newcomers do first, each in a process of its own

LIMITS = {"all": 100, "first": 1}


def startup(repeats: int, cold: str) -> dict[str, dict[str, Any]]:
    """Seconds of a process: ``import``, first calls from the ``warm`` cache (best of several), and ``cold``.

    A first call contains the import of the compiler, less the package coverage, a tool of developers that
    numba imports wherever it is installed. Cold times are of one process, call after call, so only the first
    contains what all kernels share; ``cold`` says which are compiled: all, first or none. ``minute`` is of
    `first_minute`, measured with all.
    """
    return {
        "warm": _warm(repeats) if repeats else {},
        "cold": _cold(LIMITS[cold]) if cold in LIMITS else {},
        "minute": first_minute() if cold == "all" else {},
    }


def first_minute() -> dict[str, dict[str, float]]:
    """Seconds of a process with an empty cache from start to end: ``compiled``, or with a ``wheel``."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "kinetree"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", FOLDER.name))
        there = {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": ""}
        make = [sys.executable, "-m", "kinetree.study.prebuild", str(copy / FOLDER.name)]
        subprocess.run(make, env={**os.environ, **there}, check=True, capture_output=True)
        here = {**there, SWITCH: "0"}
        return {
            "compiled": {name: _first(script, here) for name, script in FIRST_MINUTE.items()},
            "wheel": {name: _first(script, there) for name, script in FIRST_MINUTE.items()},
        }


def _first(script: str, settings: dict[str, str]) -> float:
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, **settings, CACHE_VARIABLE: cache}
        script = f"import sys; sys.modules['coverage'] = None\nimport kinetree as kt\n{script}"
        start = perf_counter()
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
        seconds = perf_counter() - start
    if done.returncode != 0:
        raise RuntimeError(f"a new process failed:\n{done.stderr}")
    return seconds


def _warm(repeats: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        kept = {
            "PYTHONPYCACHEPREFIX": folder,
            "PYTHONDONTWRITEBYTECODE": "",
        }  # bytecode is kept, as by default
        _run(1, kept)  # fills the caches if it must
        warm = [_run(1, kept) for _ in range(repeats)]
    best = {key: min(seconds[key] for seconds in warm) for key in warm[0]}
    first = next(key for key in best if key != "import")
    whole = min(seconds["import"] + seconds[first] for seconds in warm)
    return {**best, "import and first call": whole}


def _cold(limit: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        return _run(limit, {CACHE_VARIABLE: folder})


def _run(limit: int, settings: dict[str, str]) -> dict[str, float]:
    """Seconds by step, measured inside a new process with settings of its environment."""
    environment = {**os.environ, **settings}
    script = FIRST_CALLS.replace("LIMIT", str(limit))
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"a new process failed:\n{done.stderr}")
    seconds: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return seconds
