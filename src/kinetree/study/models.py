"""Which mechanism is meant: a name of the zoo, a file, or a file that comes with the package."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import resources
from typing import Any

from kinetree.errors import InputError, listed, unknown_name
from kinetree.formats.files import load
from kinetree.formats.installed import is_installed_name
from kinetree.formats.kinds import FOREIGN, SUFFIXES
from kinetree.formats.toml_file import mechanism_from_toml
from kinetree.model import zoo
from kinetree.model.mechanism import Mechanism


def mechanism_of(model: str, **options: Any) -> Mechanism:
    """The mechanism of a zoo name such as ``gripper``, of a .toml, .urdf, .sdf or .xml file, or of a study.

    ``options`` are those of :func:`kinetree.load` for the formats of others.

    >>> mechanism_of("gripper")
    Mechanism('gripper', 4 bodies, 4 degrees of freedom)
    """
    if model in zoo.ZOO:
        _refuse_options(model, options)
        return zoo.by_name(model)
    from kinetree.study.examples import example_names  # only now, as reading studies is slow to load
    from kinetree.study.file import is_study

    if model in example_names():
        _refuse_options(model, options)
        return _of_study(model)
    if is_installed_name(model):
        return load(model, **options)
    looks_like_file = bool(os.path.splitext(model)[1]) or os.sep in model or os.path.lexists(model)
    if looks_like_file:
        if is_study(model):
            _refuse_options(model, options)
            return _of_study(model)
        return load(model, **options)
    raise InputError(f"{unknown_name('model', model, zoo.ZOO)} Or give a file ({', '.join(SUFFIXES)}).")


def _of_study(study: str) -> Mechanism:
    """The mechanism that a study is about."""
    from kinetree.study.assignment import Assignment
    from kinetree.study.code import Code
    from kinetree.study.file import read_study

    found = read_study(study)
    if found.tables.mechanism is None:
        raise InputError(f"{study}: is a study without a mechanism")
    return Assignment(found, Code(found.folder)).mechanism


def _refuse_options(model: str, options: Mapping[str, Any]) -> None:
    if options:
        named = listed(f"--{name.replace('_', '-')}" for name in options)
        raise InputError(f"{named}: for files of other formats ({', '.join(FOREIGN)}), not for '{model}'")


def shipped_names() -> tuple[str, ...]:
    """Names of the mechanism files that come with the package."""
    files = [entry.name for entry in (resources.files("kinetree") / "data").iterdir()]
    return tuple(sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml")))


def shipped(name: str) -> Mechanism:
    """A mechanism read from a file that comes with the package.

    >>> shipped("gripper").mass
    1.0
    """
    if name not in shipped_names():
        raise InputError(unknown_name("shipped mechanism", name, shipped_names()))
    file = resources.files("kinetree") / "data" / f"{name}.toml"
    return mechanism_from_toml(file.read_text(encoding="utf-8"), source=f"{name}.toml")
