"""Running studies: prepared as a whole, then worked on, then judged."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from kinetree.errors import InputError, SimulationError, must_be
from kinetree.formats.held_inside import held_inside
from kinetree.formats.regular_file import PathLike
from kinetree.result.result import Result
from kinetree.study.assignment import Assignment, Progress, Study
from kinetree.study.code import Code
from kinetree.study.extend import with_study
from kinetree.study.file import read_study
from kinetree.study.outcome import (
    AUDIT_FAILED,
    DIVERGED,
    INFEASIBLE,
    INTERRUPTED,
    StudyOutcome,
    failed_checks,
    status_of,
)
from kinetree.study.tasks import Work, known_tasks


@dataclass(frozen=True, eq=False)
class PreparedStudy:
    """A study of which all is known to be in order."""

    study: Study
    model: str
    work: Work
    code: Code
    further: Mapping[str, Result | None] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def run(self) -> Result:
        """Do the work; the result has the study among its settings and the remarks after its messages."""
        try:
            with self.code.blamed():
                return with_study(self.work(), self.study, self.remarks)
        except SimulationError as error:
            if error.result is not None:
                error.result = with_study(error.result, self.study, self.remarks)
            raise

    def outcome(self) -> StudyOutcome:
        """Do the work and say how it ended, also when it diverged or was interrupted."""
        began = perf_counter()
        result, message = None, ""
        try:
            result = self.run()
            status = status_of(result)
            message = result.stop_reason or ""
            if result.task == "predict" and status in (INFEASIBLE, AUDIT_FAILED):
                checks = failed_checks(result) if status == AUDIT_FAILED else []
                message = "\n".join([*checks, *result.messages])
        except SimulationError as error:
            result, status, message = error.result, DIVERGED, str(error)
        except KeyboardInterrupt:
            status, message = INTERRUPTED, "interrupted before there was anything to save"
        return StudyOutcome(
            self.study, self.model, status, result, perf_counter() - began, message, dict(self.further)
        )


def run(
    study: PathLike,
    /,
    *,
    allow_code: Collection[str] = (),
    only_inside: bool = False,
    progress: Progress | None = None,
    **tables: Mapping[str, Any],
) -> Result:
    """Run a study file, or an included example by name, and return its result.

    Further arguments are tables of the study with keys to override. ``allow_code`` names the Python files in
    the study's folder that may be run; ``only_inside`` restricts all files that the study names to its
    folder, for untrusted studies. ``progress`` is called with the fraction that is done, from 0 to 1. A
    simulation that diverges raises :class:`SimulationError` with what was computed.

    >>> fall = run("gripper_free_fall", study={"duration": 0.1})
    >>> fall.passed, round(float(fall.time[-1]), 3)
    (True, 0.1)
    """
    for name, table in tables.items():
        if not isinstance(table, Mapping | list | str):
            raise InputError(must_be(f"run: {name}", "a table such as {'duration': 2.0}", table))
    with held_inside(only_inside):
        return prepared(study, tables, allow_code, progress, words="argument").run()


def prepared(
    study: PathLike,
    settings: Mapping[str, Any] | None = None,
    allow_code: Collection[str] = (),
    progress: Progress | None = None,
    words: str = "--set",
) -> PreparedStudy:
    """Read a study and prepare its work; whatever is wrong with it is raised here."""
    return prepared_study(read_study(study, settings, words), allow_code, progress)


def prepared_study(
    found: Study, allow_code: Collection[str] = (), progress: Progress | None = None
) -> PreparedStudy:
    """Prepare the work of a study that was read."""
    if isinstance(allow_code, str):
        allow_code = [allow_code]
    code = Code(found.folder, tuple(allow_code))
    code.check_allowed(list(texts(found.origin.table)))
    work = Assignment(found, code, progress)
    with code.blamed():
        ready = known_tasks()[found.task].prepare(work)
        return PreparedStudy(found, work.mechanism.name, ready, code, work.further, work.remarks)


def texts(value: Any) -> Iterator[str]:
    """All texts in a table."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts(inner)
