"""IFToMM: how accurately and how fast are the five basic benchmark problems of multibody dynamics solved?"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.result.records import Check
from kinetree.result.result import Result
from kinetree.study.assignment import Assignment
from kinetree.study.tasks import Task, Work


def prepare(work: Assignment) -> Work:
    """All five problems; every one is a line of the audit, with its error and time."""
    mechanism = work.mechanism

    def run() -> Result:
        from time import perf_counter

        from kinetree.documents.iftomm import PROBLEMS, solve
        from kinetree.result.build import build_result

        began, solved = perf_counter(), []
        for name in PROBLEMS:
            solved.append(solve(name))
            if work.progress is not None:
                work.progress(len(solved) / len(PROBLEMS))
        audit = {}
        for one in solved:
            problem = PROBLEMS[one.name]
            stated = f"{problem.measured}; {one.seconds:.3g} s, {one.steps} steps"
            audit[one.name] = Check.within(one.error, problem.allowed, problem.unit, stated)
        own = all(one.passed for one in solved)
        audit["audits"] = Check.within(
            0.0 if own else 1.0, 0.5, "1", "energy and loops of all five simulations"
        )
        arrays: dict[str, Any] = {
            "time": [0.0],  # of the pose that stands for the problems
            "q": np.zeros((1, mechanism.n_dof)),
            "benchmark_error": (
                ("problem",),
                np.array([x.error for x in solved]),
                "rad or m",
                "distance from the reference",
            ),
            "computing_time": (
                ("problem",),
                np.array([x.seconds for x in solved]),
                "s",
                "computing time, compiled before",
            ),
        }
        labels = {"problem": (("problem",), [x.name for x in solved], "", "problem of the IFToMM library")}
        return build_result(
            "iftomm", mechanism, arrays, coordinates=labels, audit=audit, seconds=perf_counter() - began,
        )  # fmt: skip

    return run


TASK = Task(
    "iftomm", "the five basic benchmark problems of the IFToMM library", prepare, needs=("mechanism",),
    output=False,
)  # fmt: skip
