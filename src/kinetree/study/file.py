"""Study files: read, checked as a whole before any work, and described for editors."""

from __future__ import annotations

import copy
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from kinetree.errors import FileError, InputError, listed, shown, unknown_name
from kinetree.formats.file_origin import Origin, Place
from kinetree.formats.regular_file import PathLike, read_text
from kinetree.formats.schema import FileSchema
from kinetree.formats.schema_parts import Table
from kinetree.study.assignment import Study
from kinetree.study.examples import example_folder, example_names, example_text
from kinetree.study.origin import StudyOrigin
from kinetree.study.tables import SharedTables
from kinetree.study.tasks import known_tasks
from kinetree.study.values import Positive, choice

SUFFIX = ".toml"
OF_STUDIES = ("study", "mechanism", "initial", "trajectory", "predict")  # tables that no mechanism has
OF_STUDIES_AT_ALL = re.compile(rf"^[\[\s\"']*({'|'.join(OF_STUDIES)})\b", re.MULTILINE)
Settings = Mapping[str, Any]


class StudyHead(Table):
    """What is asked, and what it is about."""

    task: choice("task", known_tasks) = Field(  # type: ignore[valid-type]
        description="Task: " + "; ".join(f"{x.name}: {x.about}" for x in known_tasks().values()) + "."
    )
    title: str = Field("", description="Title for tables and pictures.")
    description: str = Field("", description="What the study shows, with figures of its source.")
    duration: Positive | None = Field(
        None, description="Duration of the motion (s); default that of the trajectory."
    )


@cache
def study_model(present: frozenset[str] | None = None) -> type[BaseModel]:
    """The study file as a schema: the shared tables and those of the tasks.

    Own tables of tasks that are not ``present`` in a file need only be known by name; None stands for all.
    """
    own: dict[str, Any] = {}
    for task in known_tasks().values():
        if task.settings is not None:
            table = task.own_table if present is None or task.name in present else Table
            about = Field(None, description=f"Settings of the task '{task.name}'.")
            own[task.name] = (table | None, about)  # type: ignore[operator]
    head: Any = (StudyHead, Field(description="Task, title and duration."))
    made: type[BaseModel] = create_model("StudyFile", __base__=SharedTables, study=head, **own)
    made.__doc__ = "A study: one task for a mechanism. SI units, rad."
    return made


def model_of(table: Settings) -> type[BaseModel]:
    """The schema for what a file has."""
    return study_model(frozenset(known_tasks()) & frozenset(table))


def study_schema() -> dict[str, Any]:
    """The JSON schema of a study file, with a description and the unit of every key.

    >>> sorted(study_schema()["required"])
    ['study']
    """
    schema = study_model().model_json_schema(schema_generator=FileSchema)
    return {"$schema": GenerateJsonSchema.schema_dialect, **schema}


def read_study(study: PathLike, settings: Settings | None = None, words: str = "--set") -> Study:
    """The study of a file, or a shipped one by its name, with other ``settings`` (nested tables) put in.

    >>> read_study("gripper_free_fall", {"study": {"duration": 0.5}}).tables.study.duration
    0.5
    """
    name, text, source, folder = found_study(study)
    origin = StudyOrigin.of_study(text, source)
    return study_of_table(name, origin, folder, settings or {}, words)


def is_study(path: PathLike) -> bool:
    """Whether a .toml file is meant as a study: it has a table that only studies have."""
    if Path(path).suffix.lower() != SUFFIX:
        return False
    try:
        text = read_text(path)
        if not OF_STUDIES_AT_ALL.search(text):
            return False  # before it is parsed, as mechanisms may be huge
        table = Origin.of_text(text, os.fspath(path)).table
    except FileError:
        return False
    return any(name in table for name in OF_STUDIES)


def study_of_table(
    name: str, origin: StudyOrigin, folder: Path, settings: Settings, words: str = "--set"
) -> Study:
    """A checked study out of a table that was read before."""
    elsewhere: dict[Place, str] = dict(origin.elsewhere)
    elsewhere |= {path: f"{words} {'.'.join(map(str, path))}" for path in _leaves(settings)}
    table = merged(origin.table, settings)
    whole = StudyOrigin(origin.source, table, {}, origin.key_lines, elsewhere)
    check_head(whole)
    model = model_of(table)
    try:
        tables = model.model_validate(table)
    except ValidationError as error:
        raise whole.explained(error, model) from None
    for fault in table_faults(whole, tables):
        raise FileError(fault)
    return Study(name, tables, whole, folder)


def parse_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Settings out of texts such as "integrator.rtol=1e-9"; values are TOML, or texts without quotes.

    >>> parse_settings(["study.duration=2", "integrator.method=radau"])
    {'study': {'duration': 2}, 'integrator': {'method': 'radau'}}
    """
    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key:
            raise InputError(f"--set takes key=value, such as integrator.rtol=1e-9, got '{text}'")
        for form in (value, json.dumps(value)):
            try:
                found = merged(found, tomllib.loads(f"{key} = {form}"))
                break
            except tomllib.TOMLDecodeError:
                continue
        else:
            raise InputError(f"--set takes key=value, such as integrator.rtol=1e-9, got '{text}'")
    return found


def merged(table: Settings, other: Settings) -> dict[str, Any]:
    """A copy of the table in which what the other says counts.

    >>> merged({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}})
    {'a': {'b': 3, 'c': 2}}
    """
    result = {key: copy.deepcopy(value) for key, value in table.items()}
    for key, value in other.items():
        both = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = merged(result[key], value) if both else copy.deepcopy(value)
    return result


def _leaves(settings: Settings, path: Place = ()) -> Iterator[Place]:
    for key, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key)


def found_study(study: PathLike) -> tuple[str, str, str, Path]:
    """Name, text, source for messages, and folder of a study."""
    given = os.fspath(study) if isinstance(study, str | os.PathLike) else study
    if isinstance(given, str) and given in example_names():
        return given, example_text(given), f"{given}{SUFFIX}", example_folder()
    if not isinstance(given, str) or not given:
        raise InputError(f"a study is the path of a .toml file or the name of an example, got {shown(study)}")
    place = Path(given)
    if not place.suffix and not os.path.lexists(place):
        raise InputError(f"{unknown_name('study', given, example_names())} Or give a file ({SUFFIX}).")
    if place.suffix.lower() != SUFFIX:
        raise FileError(f"{place}: a study is a file with the suffix {SUFFIX}")
    return place.stem, read_text(place), str(place), place.parent


def check_head(origin: StudyOrigin) -> None:
    """Whether the file is a study at all, and not a mechanism."""
    head = origin.table.get("study")
    if isinstance(head, Mapping) and "task" in head:
        return
    if "study" in origin.table:
        return
    known, keys = study_model(frozenset()).model_fields, list(origin.table)
    hint = (
        " This looks like a mechanism file: show it with 'kinetree info'." if {"body", "dh"} & {*keys} else ""
    )
    strange = [key for key in keys if key not in known]
    has = unknown_name("table", strange[0], known) if strange else f"it has {listed(keys)}"
    raise FileError(
        f"{origin.source}: has no [study] table with a task; {has if keys else 'it is empty'}{hint}"
    )


def table_faults(origin: StudyOrigin, tables: Any) -> Iterator[str]:
    """Tables that the task needs and the study lacks, and those that the task would not read."""
    task = known_tasks()[tables.study.task]
    for key in task.needs:
        if not getattr(tables, key):
            where = origin.where(("study", "task"))
            yield f"{where}: the task '{task.name}' needs a table [{key}], which is missing"
    for key in origin.table:
        if key not in task.tables:
            where = origin.where((key,))
            yield f"{where}: the task '{task.name}' does not use [{key}]; it uses {listed(task.tables, 20)}"
