"""The studies that come with the package: the documents' numerical examples."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from kinetree.errors import InputError, unknown_name
from kinetree.formats.regular_file import PathLike, write_text


class Example(NamedTuple):
    """A shipped study: its name, its task, one line about it, and its mechanism drawn in characters."""

    name: str
    task: str
    title: str
    picture: str


def example_folder() -> Path:
    """Where the shipped studies are."""
    return Path(str(resources.files("kinetree") / "examples"))


@cache
def example_names() -> tuple[str, ...]:
    """Their names.

    >>> "gripper_free_fall" in example_names()
    True
    """
    return tuple(sorted(path.stem for path in example_folder().glob("*.toml")))


def example_text(name: str) -> str:
    """The study file of a name."""
    if name not in example_names():
        raise InputError(unknown_name("example", name, example_names()))
    return (example_folder() / f"{name}.toml").read_text(encoding="utf-8")


def examples() -> list[Example]:
    """All shipped studies.

    >>> examples()[0].name, examples()[0].task
    ('biped_forced_simulation', 'compare')
    """
    found = []
    for name in example_names():
        table = tomllib.loads(example_text(name))
        found.append(Example(name, table["study"]["task"], table["study"]["title"], _picture(table)))
    return found


def _picture(table: Mapping[str, Any]) -> str:
    """The mechanism of a study in one line, if it is one of the zoo."""
    from kinetree.model.sketch import sketch
    from kinetree.model.zoo import ZOO, by_name

    mechanism = table.get("mechanism", {})
    name = mechanism.get("zoo")
    return sketch(by_name(name, **mechanism.get("parameters", {}))) if name in ZOO else ""


def copy_example(name: str, folder: PathLike, force: bool = False) -> Path:
    """Write a shipped study into a folder, which is made if need be; an existing file stays without force."""
    text, place = example_text(name), Path(folder) / f"{name}.toml"
    if place.exists() and not force:
        raise InputError(f"{place}: already exists; use --force to replace it")
    if Path(folder).exists() and not Path(folder).is_dir():
        raise InputError(f"{folder}: is not a folder")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be created: {error.strerror or error}") from None
    write_text(place, text, force)
    return place
