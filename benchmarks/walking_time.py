"""Where the time of a predicted step goes, and what IPOPT takes for the same program.

    OMP_NUM_THREADS=1 python benchmarks/walking_time.py [--runs 3] [--no-ipopt]

CPU time of this process (s). Parts of the search are separated by timers around their functions, each
without what is timed inside it; "rest" is the search's own Python. IPOPT gets the same program with the same
exact derivatives, from q = 0 and from the solution with noise of 0.02 rad.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np

from kinetree.motion.predict import predict
from kinetree.motion.program.block_linearized import BlockLinearized
from kinetree.motion.program.evaluation import Evaluation
from kinetree.motion.program.program import Program
from kinetree.motion.solvers.null_space import NullSpace
from kinetree.tasks.walking.checks import checked
from kinetree.tasks.walking.search import GENTLE, QUICK
from kinetree.walking import Walking, walker, walking_problem

PARTS: list[tuple[str, Any, str]] = [
    ("torques and their derivatives", Evaluation, "torque_rows"),
    ("torques and their derivatives", Program, "expect_derivatives"),
    ("rows, objective and gradient", Program, "constraints"),
    ("rows, objective and gradient", Program, "objective"),
    ("rows, objective and gradient", Program, "gradient"),
    ("rows, objective and gradient", Program, "linearized"),
    ("second derivatives", Program, "curvature"),
    ("assembly of the matrix", BlockLinearized, "condensed"),
    ("factors and steps", NullSpace, "rotated"),
    ("factors and steps", NullSpace, "factor"),
    ("factors and steps", NullSpace, "step"),
]
TOLERANCE, SPREAD, MOST = 1e-3, 0.02, 400


class Stopwatch:
    """Exclusive CPU time by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.inner = [0.0]

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, timed without what is timed inside it."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            begun = time.process_time()
            self.inner.append(0.0)
            try:
                return function(*args, **kwargs)
            finally:
                taken = time.process_time() - begun
                self.seconds[name] += taken - self.inner.pop()
                self.inner[-1] += taken

        return timed


@contextmanager
def watched(parts: list[tuple[str, Any, str]], watch: Stopwatch) -> Any:
    """Timers around functions of classes and modules, for a while."""
    before = [(owner, name, getattr(owner, name)) for _, owner, name in parts]
    for (label, owner, name), (_, _, function) in zip(parts, before, strict=True):
        setattr(owner, name, watch.around(label, function))
    try:
        yield
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)


def own(task: Walking) -> tuple[dict[str, float], dict[str, float], Any]:
    """CPU time of problem, search and checks; of the parts of the search; and what was found."""
    begun = time.process_time()
    who = walker(task)
    problem = walking_problem(task, who)
    made = time.process_time()
    watch = Stopwatch()
    with watched(PARTS, watch):
        prediction = predict(
            problem,
            start=standing(task, who),
            solver=QUICK,
            options=GENTLE,
            progress=False,
            tolerance=TOLERANCE,
        )
    found = time.process_time()
    checked(who, prediction)
    ended = time.process_time()
    stages = {"problem": made - begun, "search": found - made, "checks": ended - found}
    parts = dict(watch.seconds)
    parts["rest"] = stages["search"] - sum(parts.values())
    return stages, parts, prediction


def standing(task: Walking, who: Any) -> Any:
    """Upright, q = 0, from begin to end."""
    return np.array([0.0, task.duration]), np.zeros((2, who.mechanism.n_dof))


def ipopt(task: Walking, near: Any) -> list[str]:
    """Rows of the table: status, iterations, CPU time, objective."""
    who, rows = walker(task), []
    problem = walking_problem(task, who)
    times = np.linspace(0.0, task.duration, 4 * task.points + 1)
    moved = near.at(times)[0] + SPREAD * np.random.default_rng(0).standard_normal(
        (len(times), who.mechanism.n_dof)
    )
    for name, start in (("q = 0", standing(task, who)), ("near the solution", (times, moved))):
        for solver in ("interior", "ipopt"):
            begun = time.process_time()
            how: dict[str, Any] = {"solver": solver, "options": GENTLE if solver == QUICK else None}
            got = predict(
                problem, start=start, **how, progress=False, tolerance=TOLERANCE, max_iterations=MOST
            )
            seconds = time.process_time() - begun
            status = got.outcome.status.name.lower()
            rows.append(
                f"| {solver} | {name} | {status} | {got.iterations} | {seconds:.2f} | {got.objective:.3f} |"
            )
    return rows


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--no-ipopt", action="store_true")
    given = parser.parse_args()
    task = Walking()
    own(task)  # compiled and warm
    runs = [own(task) for _ in range(given.runs)]
    total = [sum(stages.values()) for stages, _, _ in runs]
    stages, parts, prediction = runs[int(np.argmin(total))]
    print(
        f"{prediction.iterations} iterations, {min(total):.2f} to {max(total):.2f} s in {given.runs} runs\n"
    )
    print("| part | CPU s | share |\n|---|---|---|")
    for name, seconds in (*stages.items(), *((f"search: {key}", x) for key, x in sorted(parts.items()))):
        print(f"| {name} | {seconds:.3f} | {seconds / min(total):.0%} |")
    if not given.no_ipopt:
        print("\n| solver | start | status | iterations | CPU s | objective |\n|---|---|---|---|---|---|")
        print("\n".join(ipopt(task, prediction)))


if __name__ == "__main__":
    main()
