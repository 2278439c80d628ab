"""The plan of a sweep as its store keeps it: checked key by key, as anyone may have written it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kinetree.errors import FileError, cut

Size = Annotated[int, Field(strict=True, ge=1, lt=1 << 62)]
Name = Annotated[str, Field(strict=True, pattern=r"^[^\W\d]\w*$", max_length=500)]
Template = tuple[list[Name], list[Size], str, str]


class StudyNames(BaseModel):
    """Name, title and file of the study."""

    model_config = ConfigDict(extra="allow", strict=True)
    name: str
    title: str


class Identity(BaseModel):
    """What decides about the results."""

    model_config = ConfigDict(extra="allow", strict=True)
    study: dict[str, Any]
    files: dict[str, str] = {}


class StoredPlan(BaseModel):
    """All keys that the store of a sweep has; others are kept as they are."""

    model_config = ConfigDict(extra="allow")
    format: Annotated[int, Field(strict=True, ge=1)]
    title: str
    name: str
    dims: Annotated[list[Name], Field(min_length=1, max_length=30)]
    shape: Annotated[list[Size], Field(min_length=1, max_length=30)]
    coordinates: list[Name]
    statuses: Annotated[list[str], Field(min_length=2, max_length=127)]
    sweep: dict[str, Any]
    study: StudyNames
    folder: str
    identity: Identity
    digest: str
    mechanism: str
    provenance: dict[str, Any]
    templates: dict[Name, Template] = {}
    labels: dict[Name, list[str]] = {}
    messages: list[str] = []


def checked_plan(table: dict[str, Any], place: Path, newest: int) -> dict[str, Any]:
    """The table of a plan with defaults for keys that it lacks; a FileError names what is wrong."""
    if isinstance(table.get("format"), int) and table["format"] > newest:
        raise FileError(f"{place}: was written by a newer Kinetree: pip install --upgrade kinetree")
    try:
        found = StoredPlan.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise FileError(f"{place}: is damaged: {cut(key)}: {cut(str(first['msg']))}") from None
    if len(found.dims) != len(found.shape):
        raise FileError(f"{place}: is damaged: {len(found.dims)} dims for a shape of {len(found.shape)}")
    for name, (dims, own, *_) in found.templates.items():
        if len(dims) != len(own) or len(own) > 30:
            raise FileError(f"{place}: is damaged: {len(dims)} dims of '{cut(name)}', shape of {len(own)}")
    defaults: dict[str, Any] = {"templates": {}, "labels": {}, "messages": []}
    return {**defaults, **table}
