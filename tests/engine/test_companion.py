"""A second process compiles for the first one, and nothing is left of it."""

import os
import signal
import subprocess
import sys
import time

import pytest

ASK = """
import os, sys
sys.modules["coverage"] = None
if sys.argv[1] == "one core":
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from kinetree.engine import companion
from kinetree.engine.code import made, piece
wanted = [piece("energy", "many")]
if sys.argv[1] == "fails":
    wanted = [wanted[0]._replace(function=os._exit, arguments=(1,))]
companion.compile_ahead([piece("rnea_unloaded", "single")], wanted)
print(*(each._process.pid for each in companion._companions), flush=True)
if sys.argv[1] == "dies":
    os.kill(os.getpid(), 9)
print(type(made("energy", "many")).__name__, "numba" in sys.modules)
"""
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
pytestmark = [
    pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="needs Linux"),
    pytest.mark.skipif(
        hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) < 2, reason="one core"
    ),
    pytest.mark.skipif(os.environ.get("KINETREE_INTERPRET") == "1", reason="nothing is compiled"),
]


def asked(case, tmp_path, **settings):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_XDIST")}
    environment |= {"KINETREE_CACHE_DIR": str(tmp_path), **settings}
    return subprocess.run(
        [sys.executable, "-c", ASK, case], env=environment, capture_output=True, text=True, timeout=300
    )


def is_gone(number):
    deadline = time.monotonic() + 20.0
    while time.monotonic() < deadline:
        try:
            os.kill(number, 0)
            with open(f"/proc/{number}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


def test_it_compiles_and_ends(tmp_path):
    done = asked("compiles", tmp_path)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    process, *found = done.stdout.split()
    assert found == ["StoredCode", "False"]  # this process has compiled nothing
    assert is_gone(int(process))


def test_without_it_everything_is_compiled_here(tmp_path):
    for case, settings in (("one core", {}), ("off", {"KINETREE_COMPANION": "0"}), ("fails", {})):
        done = asked(case, tmp_path / case, KINETREE_NOTICE="0", **settings)
        *process, kind, has_numba = done.stdout.split()
        assert (kind, has_numba) == ("CFunc", "True"), done.stderr
        assert bool(process) == (case == "fails")


def test_it_does_not_outlive_its_parent(tmp_path):
    done = asked("dies", tmp_path)
    assert done.returncode == -signal.SIGKILL
    assert is_gone(int(done.stdout))
