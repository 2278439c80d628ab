"""Which mechanism is meant: a name of the zoo, a file, or a file that comes with the package."""

from __future__ import annotations

import os
from importlib import resources

from kinetree.errors import InputError, unknown_name
from kinetree.model import zoo
from kinetree.model.files import load
from kinetree.model.mechanism import Mechanism
from kinetree.model.toml_file import mechanism_from_toml

FILE_SUFFIXES = (".toml", ".urdf", ".xml")


def mechanism_of(model: str) -> Mechanism:
    """The mechanism of a zoo name such as ``gripper``, or of a .toml, .urdf or .xml file.

    >>> mechanism_of("gripper")
    Mechanism('gripper', 4 bodies, 4 degrees of freedom)
    """
    if model in zoo.ZOO:
        return zoo.by_name(model)
    looks_like_file = bool(os.path.splitext(model)[1]) or os.sep in model or os.path.lexists(model)
    if looks_like_file:
        return load(model)
    raise InputError(f"{unknown_name('model', model, zoo.ZOO)} Or give a file ({', '.join(FILE_SUFFIXES)}).")


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
