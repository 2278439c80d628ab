"""Iterations of all searches that tests run, under several kernels of OpenBLAS: which depend on rounding.

    python -m benchmarks.kernels tests/motion tests/tasks
    python -m benchmarks.kernels tests/motion --kernels Haswell Prescott --more 0.1

Each kernel is a run of pytest of its own, with OPENBLAS_CORETYPE and this file as a plugin that writes down
the iterations of every search. Searches are compared by test and order; tests that fail are named as well.
Prescott and Sandybridge run on every x86-64 processor; a kernel that the processor lacks ends in a crash.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

KERNELS = ("SkylakeX", "Haswell", "Zen", "Sandybridge", "Prescott")
FILE = "KINETREE_SEARCHES"  # names the file that the plugin writes
FEW = 5  # iterations: smaller differences do not count


# ---- the plugin, inside of pytest ---------------------------------------------------------------------
_seen: dict[str, list[Any]] = {}
_test = ""


def pytest_runtest_setup(item: Any) -> None:
    """Remember which test runs."""
    global _test
    _test = item.nodeid


def pytest_runtest_logreport(report: Any) -> None:
    """Count a test that fails as a search that ends so."""
    if report.failed:
        _seen.setdefault(report.nodeid, []).append("failed")


def pytest_configure() -> None:
    """Let every search say how many iterations it took."""
    if FILE not in os.environ:
        return
    from kinetree.motion.search.search import MultiStart

    plain = MultiStart.run

    def run(self: MultiStart, *arguments: Any, **more: Any) -> Any:
        outcome = plain(self, *arguments, **more)
        _seen.setdefault(_test, []).append(int(outcome.iterations))
        return outcome

    MultiStart.run = run  # type: ignore[method-assign]


def pytest_sessionfinish() -> None:
    """Write what was seen."""
    if FILE in os.environ:
        Path(os.environ[FILE]).write_text(json.dumps(_seen))


# ---- the command --------------------------------------------------------------------------------------
def searches(kernel: str, tests: list[str]) -> dict[str, list[Any]]:
    """Iterations of the searches of each test under a kernel."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "searches.json"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "benchmarks.kernels", "-p", "no:cacheprovider"]
        root = Path(__file__).parents[1]
        path = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
        own = os.environ | {FILE: str(file), "OPENBLAS_CORETYPE": kernel, "PYTHONPATH": path}
        ended = subprocess.run(
            [*command, *tests], cwd=root, env=own, capture_output=True, text=True, check=False
        )
        if not file.exists():
            raise SystemExit(f"{kernel}: pytest ended with {ended.returncode}\n{ended.stdout[-2000:]}")
        found: dict[str, list[Any]] = json.loads(file.read_text())
        return found


def differing(found: dict[str, dict[str, list[Any]]], more: float) -> list[str]:
    """A line for each search whose iterations differ by more than a fraction, or that fails somewhere."""
    lines = []
    for test in sorted({test for seen in found.values() for test in seen}):
        each = {kernel: seen.get(test, []) for kernel, seen in found.items()}
        for k in range(max(len(x) for x in each.values())):
            counts = {kernel: x[k] if k < len(x) else "none" for kernel, x in each.items()}
            numbers = [x for x in counts.values() if isinstance(x, int)]
            low, high = min(numbers, default=0), max(numbers, default=0)
            if len(numbers) < len(counts) or high > max((1.0 + more) * low, low + FEW):
                said = ", ".join(f"{kernel} {count}" for kernel, count in counts.items())
                lines.append(f"{test} search {k + 1}: {said}")
    return lines


def main() -> int:
    """Run the tests under all kernels and print the searches that differ; 1 if there are any."""
    reader = argparse.ArgumentParser("kernels", description=__doc__.splitlines()[0])
    reader.add_argument("tests", nargs="+", help="files or folders of tests")
    reader.add_argument("--kernels", nargs="+", default=KERNELS, help="values of OPENBLAS_CORETYPE")
    reader.add_argument("--more", type=float, default=0.2, help="fraction by which iterations may differ")
    given = reader.parse_args()
    found = {}
    for kernel in given.kernels:
        found[kernel] = searches(kernel, given.tests)
        counts = [x for seen in found[kernel].values() for x in seen if isinstance(x, int)]
        print(f"{kernel}: {len(counts)} searches, {sum(counts)} iterations", flush=True)
    lines = differing(found, given.more)
    print(*lines, f"{len(lines)} searches differ by more than {100.0 * given.more:g} %", sep="\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
