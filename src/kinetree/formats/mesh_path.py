"""Paths of mesh files named in a robot description: never opened, never outside the model's folder."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from kinetree.errors import FileError

NOWHERE = Path(os.path.abspath("/the folder of the description"))  # stands for a folder that is not known
PACKAGE_SCHEMES = ("package", "model")
FORMS = "'meshes/part.stl', 'package://name/meshes/part.stl' or 'file:///folder/meshes/part.stl'"


@dataclass(frozen=True)
class MeshFolder:
    """Where mesh files may be: in ``root`` or below it; relative paths start from ``start``.

    Both are absolute. Without them (a description that is no file) only relative paths are accepted, and they
    must stay below the folder, wherever it is.
    """

    root: Path | None = None
    start: Path | None = None

    @classmethod
    def around(cls, file: Path, folder: str | os.PathLike[str] | None) -> MeshFolder:
        """The folder of a file, or a folder that contains it."""
        start = Path(os.path.abspath(file)).parent
        if folder is None:
            return cls(start, start)
        root = _folder(folder)
        if not start.is_relative_to(root):
            start, root = Path(os.path.realpath(start)), Path(os.path.realpath(root))
        if not start.is_relative_to(root):
            raise FileError(f"the file '{file}' is not inside the given folder '{root}'")
        return cls(root, start)

    @classmethod
    def only(cls, folder: str | os.PathLike[str] | None) -> MeshFolder:
        """A folder for a description that is no file, or none."""
        return cls() if folder is None else cls(_folder(folder), _folder(folder))

    def kept(self, name: str, place: str) -> str:
        """The path relative to the root folder, with forward slashes; an error if it leaves the folder.

        Symbolic links are followed for the check. ``place`` begins the message.
        """
        path, root = Path(os.path.normpath(self._joined(name, place))), self.root or NOWHERE
        true_path, true_root = (Path(os.path.realpath(x)) if self.root else x for x in (path, root))
        if not true_path.is_relative_to(true_root):
            where = f"folder '{self.root}'" if self.root else "folder of the description"
            raise FileError(f"{place}: mesh file '{name}' is outside the {where}; meshes must be inside it")
        kept = path.relative_to(root) if path.is_relative_to(root) else true_path.relative_to(true_root)
        if kept == Path():
            raise FileError(f"{place}: mesh file '{name}' names a folder; allowed: {FORMS}")
        return kept.as_posix()

    def _joined(self, name: str, place: str) -> str:
        """The absolute path that a name stands for, '..' not yet resolved."""
        root = self.root or NOWHERE
        scheme, rest = _split(name)
        if not rest.strip() or "\0" in rest:
            raise FileError(f"{place}: mesh file '{name}' names no file; allowed: {FORMS}")
        if scheme in PACKAGE_SCHEMES:
            package, _, inside = rest.lstrip("/").partition("/")
            return os.path.join(self._package(package) or root / package, inside)
        if scheme not in ("", "file"):
            raise FileError(f"{place}: mesh file '{name}' starts with '{scheme}:'; allowed: {FORMS}")
        return os.path.join(self.start or root, rest)

    def _package(self, package: str) -> Path | None:
        """The folder called like the package, between the start and the root."""
        if self.root is None or self.start is None:
            return None
        between = (self.start, *self.start.parents)
        return next((x for x in between if x.name == package and x.is_relative_to(self.root)), None)


def _folder(folder: str | os.PathLike[str]) -> Path:
    path = Path(os.path.abspath(folder))
    if not path.is_dir():
        raise FileError(f"'{folder}' is not a folder")
    return path


def _split(name: str) -> tuple[str, str]:
    """Scheme and path; backslashes become slashes, and a drive letter counts as a scheme."""
    path = name.replace("\\", "/")
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):(//)?(.*)", path, re.DOTALL)
    return (match[1].lower(), match[3]) if match else ("", path)
