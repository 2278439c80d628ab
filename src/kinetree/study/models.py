"""Which mechanism is meant: a name of the zoo, a file, or a file that comes with the package."""

from __future__ import annotations

import os
import warnings
from importlib import resources

from kinetree.errors import InputError, KinetreeWarning, unknown_name
from kinetree.formats.files import load
from kinetree.formats.toml_file import mechanism_from_toml
from kinetree.model import zoo
from kinetree.model.mechanism import Mechanism
from kinetree.model.suspicions import inertia_suspicions

FILE_SUFFIXES = (".toml", ".urdf", ".xml")
FOREIGN = (".urdf", ".xml")  # files of others, which cannot say that an impossible inertia is meant
UNPHYSICAL = "unphysical-inertia"


def mechanism_of(model: str, lenient: bool = False) -> Mechanism:
    """The mechanism of a zoo name such as ``gripper``, of a .toml, .urdf or .xml file, or of a study.

    ``lenient`` only warns of inertias that no body has in a .urdf or .xml file, as published ones have them.

    >>> mechanism_of("gripper")
    Mechanism('gripper', 4 bodies, 4 degrees of freedom)
    """
    if model in zoo.ZOO:
        return zoo.by_name(model)
    from kinetree.study.examples import example_names  # only now, as reading studies is slow to load
    from kinetree.study.file import is_study

    if model in example_names():
        return _of_study(model)
    looks_like_file = bool(os.path.splitext(model)[1]) or os.sep in model or os.path.lexists(model)
    if looks_like_file:
        if is_study(model):
            return _of_study(model)
        return _looked_at(model) if lenient else load(model)
    raise InputError(f"{unknown_name('model', model, zoo.ZOO)} Or give a file ({', '.join(FILE_SUFFIXES)}).")


def _of_study(study: str) -> Mechanism:
    """The mechanism that a study is about."""
    from kinetree.study.assignment import Assignment
    from kinetree.study.code import Code
    from kinetree.study.file import read_study

    found = read_study(study)
    if found.tables.mechanism is None:
        raise InputError(f"{study}: is a study without a mechanism")
    return Assignment(found, Code(found.folder)).mechanism


def _looked_at(path: str) -> Mechanism:
    """A mechanism from a file, with a warning about every inertia that no body has."""
    if os.path.splitext(path)[1].lower() not in FOREIGN:
        return load(path)
    mechanism = load(path, allow_unphysical=True)
    for found in inertia_suspicions(mechanism):
        if found.rule == UNPHYSICAL:
            text = f"{path}: {found.message.removesuffix(', which was allowed')}"
            warnings.warn(text, KinetreeWarning, stacklevel=3)
    return mechanism


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
