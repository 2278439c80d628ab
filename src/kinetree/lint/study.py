"""A study or mechanism file checked as a whole before it is used: every fault, and all that looks wrong."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kinetree.errors import FileError, InputError, KinetreeError, unknown_name
from kinetree.formats.files import included_by
from kinetree.formats.installed import installed_path, is_installed_name
from kinetree.formats.regular_file import PathLike, read_text
from kinetree.lint.finding import ERROR, LintFinding, in_order, of_error
from kinetree.lint.mechanism import check_mechanism_file
from kinetree.lint.study_doubts import MOVING, doubts
from kinetree.lint.toml import check_mechanism_table, schema_findings
from kinetree.study.assignment import Assignment, Study
from kinetree.study.code import NAMED, Code
from kinetree.study.examples import example_names
from kinetree.study.file import check_head, found_study, is_study, model_of, table_faults
from kinetree.study.motion import refuse_open_start
from kinetree.study.origin import StudyOrigin
from kinetree.study.tasks import known_tasks

WRONG = "wrong-value"


def check_file(path: PathLike, **options: Any) -> list[LintFinding]:
    """The findings in a study file, a mechanism file, the shipped example of a name, or PACKAGE:NAME.

    ``options`` are those of :func:`kinetree.load`, for mechanism files.

    >>> check_file("gripper_free_fall")
    []
    """
    given = os.fspath(path)
    if given in example_names() or is_study(given):
        return check_study(given)
    if is_installed_name(given):
        given = os.fspath(installed_path(given))
    return check_mechanism_file(given, **options)


def check_study(study: PathLike) -> list[LintFinding]:
    """The findings in a study; the Python code that it names is not run."""
    try:
        name, text, source, folder = found_study(study)
    except KinetreeError as error:
        return of_error(error, os.fspath(study), "unreadable-file")
    try:
        origin = StudyOrigin.of_study(text, source)
        check_head(origin)
    except FileError as error:
        return of_error(error, source, "syntax")
    found = schema_findings(origin, model_of(origin.table), origin.key_lines)
    found += _mechanism_findings(origin, folder)
    if any(x.severity == ERROR for x in found):
        return in_order(found)
    whole = Study(name, model_of(origin.table).model_validate(origin.table), origin, folder)
    return in_order([*found, *_findings(Assignment(whole, UnrunCode(folder)))])


class UnrunCode(Code):
    """The user's functions, looked for and not run."""

    def function(self, name: str, what: str, arguments: str) -> Callable[..., Any]:
        """Something to call instead of the function, which must be defined in its file."""
        match = NAMED.fullmatch(name)
        if match is None:
            raise InputError(f"{what} must name a function as 'file.py:name', got '{name}'")
        place = self._place(match["file"])
        try:
            body = ast.parse(read_text(place)).body
        except SyntaxError as error:
            raise FileError(f"{place}, line {error.lineno}: SyntaxError: {error.msg}") from None
        known = {x.name for x in body if isinstance(x, ast.FunctionDef | ast.ClassDef)}
        known |= {
            t.id for x in body if isinstance(x, ast.Assign) for t in x.targets if isinstance(t, ast.Name)
        }
        imports = [x for x in body if isinstance(x, ast.ImportFrom | ast.Import)]
        known |= {a.asname or a.name for x in imports for a in x.names}
        if match["function"] not in known:
            raise InputError(unknown_name("function", match["function"], sorted(known)).after(f"{place}: "))
        raise NotRunError


class NotRunError(Exception):
    """Nothing more can be said without running the user's code."""


def _mechanism_findings(origin: StudyOrigin, folder: Path) -> list[LintFinding]:
    """Findings in the mechanism that the study describes or whose file it names."""
    table = origin.table.get("mechanism")
    if not isinstance(table, Mapping):
        return []
    if isinstance(table.get("file"), str):
        return check_mechanism_file(os.path.normpath(os.path.join(folder, table["file"])))
    if not {"include", "body", "dh"} & {*table}:
        return []
    described = origin.of_mechanism()
    named = replace(
        described,
        table={"name": "mechanism", **described.table},
        included=included_by(Path(folder, origin.source)),
    )
    return check_mechanism_table(named, origin.key_lines, above=("mechanism",))


def _findings(work: Assignment) -> Iterator[LintFinding]:
    """What is wrong with values that the schema lets pass, and what looks wrong."""
    for fault in table_faults(work.origin, work.tables):
        yield from of_error(fault, work.origin.source, "wrong-tables")
    if work.tables.mechanism is None:
        return
    try:
        work.mechanism  # noqa: B018
    except KinetreeError as error:
        yield from of_error(error, work.origin.source, "impossible-mechanism")
        return
    try:
        refuse_open_start(work)
    except InputError as error:
        yield from of_error(error, work.origin.source, "open-loop")
        return
    complaints = dict.fromkeys(x for piece in _pieces(work) for x in _complaints(piece))
    for text in complaints:
        yield from of_error(text, work.origin.source, WRONG)
    yield from doubts(work, healthy=not complaints)


def _pieces(work: Assignment) -> Iterable[Callable[[], object]]:
    """The parts of the preparation, each of which may report an error by itself; then the whole."""
    from kinetree.study.laws import torque
    from kinetree.study.motion import initial_state, trajectory
    from kinetree.study.surroundings import simulation_options

    task, tables = known_tasks()[work.study.task], work.tables
    if task.name in MOVING:
        yield lambda: initial_state(work, None)
        yield lambda: simulation_options(work, tables.study.duration or 1.0)
        yield lambda: torque(work)
    if tables.trajectory is not None and task.name in ("inverse", "control", "hybrid"):
        yield lambda: trajectory(work, tables.study.duration)
    yield lambda: task.prepare(work)


def _complaints(piece: Callable[[], object]) -> Iterator[str]:
    try:
        piece()
    except NotRunError:
        return
    except KinetreeError as error:
        yield from str(error).split("\n")
