"""The formats of mechanism files: names, suffixes and options, each stated once for every command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

__all__ = ["FOREIGN", "KINDS", "SUFFIXES", "WRITTEN", "FileKind", "kind_of"]

_XML = ("allow_unphysical", "folder", "strict", "armature", "contacts")
_TREE = ("floating_base", "packages", "root", *_XML)


@dataclass(frozen=True)
class FileKind:
    """One format of mechanism files.

    ``options`` are the arguments of :func:`kinetree.load` that it takes; a format with options is that of
    other programs. ``marks`` are texts that every complete model contains; among the files of an installed
    package they separate models from parts of models and from other files. A format without marks is not
    looked for there, and of one with a ``whole_suffix`` only the files whose names end with it.
    """

    name: str
    suffixes: tuple[str, ...]
    options: tuple[str, ...] = ()
    marks: tuple[bytes, ...] = ()
    whole_suffix: str | None = None
    is_written: bool = False


KINDS = (
    FileKind("TOML", (".toml",), is_written=True),
    FileKind("URDF", (".urdf",), (*_TREE, "arguments"), (b"<robot",), is_written=True),
    FileKind("URDF (xacro)", (".xacro",), (*_TREE, "arguments"), (b"<robot",), ".urdf.xacro"),
    FileKind("SDF", (".sdf", ".world"), _TREE, (b"<sdf",), ".sdf"),
    FileKind("MJCF", (".xml",), _XML, (b"<mujoco", b"<worldbody"), is_written=True),
    FileKind("OpenSim", (".osim",), _XML, (b"<OpenSimDocument", b"<Model")),
    FileKind("ReDySim", (".m",), ("allow_unphysical", "strict")),
)
SUFFIXES = {suffix: kind for kind in KINDS for suffix in kind.suffixes}
FOREIGN = tuple(suffix for suffix, kind in SUFFIXES.items() if kind.options)
WRITTEN = tuple(suffix for suffix, kind in SUFFIXES.items() if kind.is_written)


def kind_of(path: PurePath) -> FileKind | None:
    """The format that the suffix of a path names, if it is one of mechanisms.

    >>> kind_of(PurePath("robots/arm.URDF")).name
    'URDF'
    """
    return SUFFIXES.get(path.suffix.lower())
