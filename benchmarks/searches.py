"""The two searches of the interior point method, each alone on every problem and start of shipped examples.

    python -m benchmarks.searches                  # prints the table
    python -m benchmarks.searches --write          # and writes it into docs/theory/interior_point.md
    python -m benchmarks.searches walk lift        # studies whose names contain one of the words

Each call of the solver in a study is run three times from the same start: as it is, by the filter search
alone, and by the merit search alone, with its soft stage where the start is far from feasible. Predictions
are also sought from random starts. Time is that of the processor, with one thread.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.outcomes import of_study, random_tasks
from kinetree.errors import KinetreeError
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.motion.solvers.interface import Outcome, SolverSettings, Start, Status, Watch
from kinetree.motion.solvers.interior import InteriorPoint, SearchRuns, may_be_straight
from kinetree.study.examples import example_names
from kinetree.study.run import prepared

PAGE = Path(__file__).parents[1] / "docs/theory/interior_point.md"
BEGIN, END = "<!-- searches -->", "<!-- end of searches -->"
SEEKING = ("predict", "walk", "lift", "gait")  # tasks of studies that solve programs
STARTS = 4  # of predictions, the first as shipped
MOST = 400  # iterations of a search alone
LONGEST = 60.0  # s of a search alone
MORE: dict[str, dict[str, Any]] = {  # settings of studies by task; large programs would go to IPOPT
    "predict": {"predict": {"starts": STARTS}},
    "gait": {"gait": {"solver": "interior", "time_limit": LONGEST}},
}
BETTER = 1e-3  # relative: smaller differences of objectives are none
QUICKER = 1.25  # times: smaller ratios of times are none


@dataclass(frozen=True)
class Run:
    """How one search ended."""

    solved: bool
    objective: float
    iterations: int
    seconds: float


@dataclass(frozen=True)
class Case:
    """A call of the solver: of which study, whether the merit search is considered, and both searches."""

    study: str
    considered: bool
    filter: Run
    merit: Run


class Recorder:
    """Runs both searches alone whenever the solver is called."""

    def __init__(self) -> None:
        self.study, self.cases = "", list[Case]()
        self._plain = InteriorPoint.solve

    def __enter__(self) -> Recorder:
        recorder, plain = self, self._plain

        def solve(
            self: InteriorPoint,
            program: NonlinearProgram,
            start: Start,
            settings: SolverSettings,
            watch: Watch,
        ) -> Outcome:
            options = self.checked_options(settings.options)
            runs = [recorder.alone(which, program, start, settings, options) for which in (0, 1)]
            considered = may_be_straight(program, start.z)
            recorder.cases.append(Case(recorder.study, considered, *runs))
            return plain(self, program, start, settings, watch)

        InteriorPoint.solve = solve  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        InteriorPoint.solve = self._plain  # type: ignore[method-assign]

    def alone(
        self,
        which: int,
        program: NonlinearProgram,
        start: Start,
        settings: SolverSettings,
        options: dict[str, Any],
    ) -> Run:
        """One search, the filter's or the merit's."""
        own = SolverSettings(settings.tolerance, MOST, LONGEST, settings.options)
        run = SearchRuns(program, start, Watch(program, own), options)
        begun = process_time()
        try:
            found = (run.filtered, run.straight)[which](own, 0)
        except (KinetreeError, ArithmeticError, ValueError):  # a search that was not made for the program
            return Run(False, float("nan"), 0, process_time() - begun)
        solved = found.status is Status.SOLVED
        return Run(solved, program.cost(found.z), found.iterations, process_time() - begun)


def cases(words: list[str]) -> Iterator[Case]:
    """All calls of the solver in the studies whose names contain one of the words."""
    chosen: list[tuple[str, str, dict[str, Any]]] = []
    for name in example_names():
        task = prepared(name, {}).study.tables.study.task
        if task in SEEKING:
            chosen.append((name, name, MORE.get(task, {})))
    for name, example, settings in random_tasks():
        more = MORE["gait"]["gait"] if "gait" in settings else {}
        chosen.append((name, example, {x: y | more if x == "gait" else y for x, y in settings.items()}))
    for name, example, settings in chosen:
        if words and not any(word in name for word in words):
            continue
        with Recorder() as recorder:
            recorder.study = name
            of_study(example, settings)
        yield from recorder.cases


def group(case: Case) -> str:
    """Kind of motion."""
    for word, kind in (
        ("walk", "walking"), ("lifting", "lifting"), ("lift", "lifting"), ("gait", "gaits and leaps"),
        ("trot", "gaits and leaps"), ("hop", "gaits and leaps"), ("jump", "gaits and leaps"),
    ):  # fmt: skip
        if word in case.study and not case.study.startswith("two_link"):
            return kind
    return "arms and loops"


def table(found: list[Case]) -> list[str]:
    """Rows of the table, by kind of motion and by whether the merit search is considered."""
    lines = [
        "| motions | merit search | calls | solved by both | filter only | merit only | neither "
        "| cheaper objective: filter, merit | quicker: filter, merit | CPU of both (s): filter, merit |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    keys = sorted({(group(x), not x.considered) for x in found})
    for kind, not_considered in keys:
        some = [x for x in found if group(x) == kind and x.considered != not_considered]
        both = [x for x in some if x.filter.solved and x.merit.solved]
        only = [
            sum(a.solved and not b.solved for a, b in pairs) for pairs in (_pairs(some), _pairs(some, -1))
        ]
        neither = sum(not x.filter.solved and not x.merit.solved for x in some)
        cheaper = [sum(_cheaper(a, b) for a, b in pairs) for pairs in (_pairs(both), _pairs(both, -1))]
        quicker = [
            sum(QUICKER * a.seconds < b.seconds for a, b in pairs)
            for pairs in (_pairs(both), _pairs(both, -1))
        ]
        spent = [sum(x.filter.seconds for x in both), sum(x.merit.seconds for x in both)]
        rule = "not considered" if not_considered else "considered"
        lines.append(
            f"| {kind} | {rule} | {len(some)} | {len(both)} | {only[0]} | {only[1]} | {neither} "
            f"| {cheaper[0]}, {cheaper[1]} | {quicker[0]}, {quicker[1]} | {spent[0]:.1f}, {spent[1]:.1f} |"
        )
    return lines


def _pairs(some: list[Case], sense: int = 1) -> list[tuple[Run, Run]]:
    """Both searches of every case, the filter's first or last."""
    return [(x.filter, x.merit) if sense > 0 else (x.merit, x.filter) for x in some]


def _cheaper(one: Run, other: Run) -> bool:
    return one.objective < other.objective - BETTER * abs(other.objective)


def main() -> None:
    """Run both searches and print how they ended."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else "")
    parser.add_argument("words", nargs="*", help="only studies whose names contain one of these words")
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.name}")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = []
    for case in cases(options.words):
        found.append(case)
        print(case.study, "considered" if case.considered else "-", case.filter, case.merit, flush=True)
    lines = table(found)
    print("\n".join(lines))
    if options.write:
        text = PAGE.read_text(encoding="utf-8")
        first, rest = text.split(BEGIN)
        lines = [BEGIN, "", *lines, "", END]
        PAGE.write_text(first + "\n".join(lines) + rest.split(END)[1], encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
