"""What a worker does: rebuild a case from text and numbers, run it, and return the numbers that are kept."""

from __future__ import annotations

import copy
import json
import os
import pickle
import platform
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

from kinetree.errors import InputError, KinetreeError
from kinetree.formats.toml_file import mechanism_from_table
from kinetree.model.mechanism import Mechanism
from kinetree.motion.solvers.threads import one_thread
from kinetree.result.records import plain
from kinetree.result.result import Result
from kinetree.study.file import study_of_table
from kinetree.study.origin import StudyOrigin
from kinetree.study.outcome import (
    AUDIT_FAILED,
    BELOW_GROUND,
    FELL,
    INTERRUPTED,
    LIMITS_EXCEEDED,
    NOT_FOLLOWED,
    OK,
    SLIPPED,
    STOPPED,
    StudyOutcome,
)
from kinetree.study.run import PreparedStudy, prepared_study
from kinetree.sweeps import outcome
from kinetree.sweeps.fields import described, places, scale_at, set_at
from kinetree.sweeps.inputs import ChangedInputError, check_files, possible_files
from kinetree.sweeps.measures import (
    Measure,
    MeasureError,
    Value,
    labels_of,
    read_measures,
    returned_values,
    values_of,
)
from kinetree.sweeps.outcome import ERROR, TIMEOUT, CaseOutcome, Order, Refused, cut
from kinetree.sweeps.plan import Plan

WAITING = "waiting"
VERDICTS = (FELL, NOT_FOLLOWED, SLIPPED, BELOW_GROUND, LIMITS_EXCEEDED)  # on motions that are computed well
STATUSES = (
    WAITING, OK, STOPPED, AUDIT_FAILED, "infeasible", "diverged", ERROR, TIMEOUT, *VERDICTS
)  # by their number  # fmt: skip
MEASURED = (OK, STOPPED, AUDIT_FAILED, *VERDICTS)  # whose numbers are kept


def work(order: Order) -> list[CaseOutcome] | Refused:
    """Run the cases of an order; the function that every executor calls.

    They run in this process, or, where there is a limit of time or the executor has threads, in another one.
    """
    if order.version != outcome.version():
        return Refused(
            f"the worker on {platform.node()} (process {os.getpid()}) has kinetree {outcome.version()}, "
            f"this sweep needs {order.version}; install the same version there"
        )
    if order.timeout is None and threading.current_thread() is threading.main_thread():
        return work_here(order)
    from kinetree.sweeps.child import in_child

    return in_child(order)


def work_here(order: Order) -> list[CaseOutcome] | Refused:
    """Run the cases of an order in this process, one thread for linear algebra, whatever the machine has."""
    job = _job(order.text, order.function)
    try:
        with one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the audit shows it
            if job.lanes:
                from kinetree.sweeps.lanes import run_lanes

                return run_lanes(job, order.cases, order.values)
            return [job.run(k, values) for k, values in zip(order.cases, order.values, strict=True)]
    except (MeasureError, ChangedInputError) as error:
        return Refused(str(error))


@lru_cache(maxsize=4)
def _job(text: str, function: bytes) -> Job:
    return Job.from_text(text, function)


@dataclass(frozen=True, eq=False)
class Job:
    """What all cases share, ready to run: a study's table, or a function and the table of its mechanism."""

    name: str
    folder: Path
    table: dict[str, Any]
    code: tuple[str, ...]
    columns: list[tuple[str, tuple[str, ...], bool]]  # name, paths, relative
    measures: list[Measure]
    keep: list[str]
    lanes: bool
    measuring: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    function: Callable[..., Any] | None = None

    @classmethod
    def of(cls, plan: Plan, function: Callable[..., Any] | None = None) -> Job:
        """The job of a plan, for this process."""
        return cls.from_text(job_text(plan), b"", function)

    @classmethod
    def from_text(cls, text: str, pickled: bytes, function: Callable[..., Any] | None = None) -> Job:
        """The job as it travelled."""
        stated = json.loads(text)
        table = stated["table"]
        if stated["mechanism"]:
            from kinetree.formats.toml_file import mechanism_from_toml

            table = described({}, mechanism_from_toml(stated["mechanism"]))
        return cls(
            stated["name"],
            Path(stated["folder"]),
            table,
            tuple(stated["code"]),
            [(name, tuple(paths), relative) for name, paths, relative in stated["columns"]],
            read_measures(stated["measures"]),
            stated["keep"],
            stated["lanes"],
            stated["measuring"],
            stated["files"],
            pickle.loads(pickled) if pickled else function,
        )

    def filled(self, values: Sequence[Any]) -> dict[str, Any]:
        """The table of a case."""
        table = copy.deepcopy(self.table)
        for (_, paths, relative), value in zip(self.columns, values, strict=True):
            for path in paths:
                for place in places(table, path):
                    (scale_at if relative else set_at)(table, place, copy.deepcopy(value))
        return table

    def prepared(self, values: Sequence[Any]) -> PreparedStudy | None:
        """The study of a case with its work prepared; None for functions."""
        if "study" not in self.table:
            return None  # of a function
        check_files(self.folder, self.files)
        table = self.filled(values)
        if self.measuring:
            table["sweep"] = {"function": self.measuring}  # its file may be run, too
        origin = StudyOrigin(self.name, table)
        return prepared_study(study_of_table(self.name, origin, self.folder, {}), self.code)

    def run(self, case: int, values: Sequence[Any]) -> CaseOutcome:
        """Run a case; whatever goes wrong is its message."""
        began = perf_counter()
        try:
            if self.function is not None:
                found = self._called(values)
                return CaseOutcome(case, OK, "", found, _own_labels(found), perf_counter() - began)
            ready = self.prepared(values)
            assert ready is not None
            return self._judged(case, ready, ready.outcome(), began)
        except (MeasureError, ChangedInputError):
            raise
        except KinetreeError as error:
            return CaseOutcome(case, ERROR, cut(str(error)), {}, {}, perf_counter() - began)
        except Exception as error:  # a case of many: its fault is kept, the others go on
            stated = cut(f"{type(error).__name__}: {error}")
            return CaseOutcome(case, ERROR, stated, {}, {}, perf_counter() - began)

    def _judged(self, case: int, ready: PreparedStudy, outcome: StudyOutcome, began: float) -> CaseOutcome:
        if outcome.status == INTERRUPTED:
            raise KeyboardInterrupt
        seconds = perf_counter() - began
        result = outcome.result
        unproven = result is not None and result.task == "predict" and outcome.status != OK
        if outcome.status not in MEASURED or result is None or unproven:
            return CaseOutcome(case, outcome.status, cut(outcome.message), {}, {}, seconds)
        values = values_of(result, self.measures, self.keep)
        if self.measuring:
            with ready.code.blamed():
                values |= returned_values(self.measure(ready)(result))
        labels = labels_of(result, values) | _own_labels(values)
        return CaseOutcome(case, outcome.status, cut(outcome.message), values, labels, seconds)

    def measure(self, ready: PreparedStudy) -> Callable[[Result], Any]:
        """The user's function of a result, if it may run."""
        return ready.code.function(self.measuring, "sweep.function", "result")

    def result(self, values: Sequence[Any]) -> Result:
        """The whole result of a case, run again."""
        ready = self.prepared(values)
        if ready is None:
            raise InputError("a sweep over a Python function has no results of studies")
        with one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ready.run()

    def _called(self, values: Sequence[Any]) -> dict[str, Value]:
        assert self.function is not None
        arguments: dict[str, Any] = {}
        for (_, paths, _), value in zip(self.columns, values, strict=True):
            arguments |= {path: value for path in paths if path.partition(".")[0] != "mechanism"}
        return returned_values(self.function(self._mechanism(values), **arguments))

    def _mechanism(self, values: Sequence[Any]) -> Mechanism:
        """The mechanism of a case; all cases have the same if no axis changes it."""
        if not any(path.startswith("mechanism.") for _, paths, _ in self.columns for path in paths):
            return self._base
        return mechanism_from_table(self.filled(values)["mechanism"], self.name)

    @cached_property
    def _base(self) -> Mechanism:
        return mechanism_from_table(self.table["mechanism"], self.name)


def job_text(plan: Plan) -> str:
    """All that the cases of a plan share, as text."""
    stated = {
        "name": plan.name,
        "folder": str(plan.folder.resolve()),
        "table": plain(plan.table, "study"),
        "mechanism": plan.mechanism,
        "code": plan.code,
        "columns": [(column.name, column.paths, column.relative) for column in plan.columns],
        "measures": plan.sweep.measures,
        "measuring": plan.sweep.function or "",
        "keep": plan.sweep.keep,
        "lanes": plan.lanes,
        "files": {name: x for name, x in plan.files.items() if name in {*possible_files(*plan.texts)}},
    }
    return json.dumps(stated)


def _own_labels(values: dict[str, Value]) -> dict[str, list[str]]:
    """Labels of dimensions that no mechanism names: numbers."""
    found = {}
    for name, value in values.items():
        for dim, size in zip(value.dims, value.values.shape, strict=True):
            if dim.startswith(f"{name}_"):
                found[dim] = [str(k) for k in range(size)]
    return found


def check_first_case(plan: Plan) -> None:
    """Read and prepare the first case as a worker will: what is wrong with all of them is raised here."""
    job = Job.of(plan)
    try:
        ready = job.prepared(plan.values(0))
        if ready is not None and job.measuring:
            job.measure(ready)
    except KinetreeError as error:
        raise InputError(f"case 0 ({plan.words(0)}): {error}") from None
