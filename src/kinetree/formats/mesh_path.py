"""Paths of mesh files named in a robot description: never opened here, and only in folders that are known."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from kinetree.errors import FileError, InputError, must_be
from kinetree.formats.held_inside import is_held_inside
from kinetree.formats.passed_over import NOT_FOUND, PassedOver
from kinetree.formats.regular_file import file_content
from kinetree.formats.xml_file import parse_xml

NOWHERE = Path(os.path.abspath("/the folder of the description"))  # stands for a folder that is not known
PACKAGE_SCHEMES = ("package", "model")
FORMS = "'meshes/part.stl', 'package://name/meshes/part.stl' or 'file:///folder/meshes/part.stl'"
MANIFESTS = ("package.xml", "model.config")  # stand in the folder of every package of ROS, model of Gazebo
MODEL_PATHS = ("SDF_PATH", "GZ_SIM_RESOURCE_PATH", "IGN_GAZEBO_RESOURCE_PATH", "GAZEBO_MODEL_PATH")
MOST_BESIDE = 300  # folders next to a package whose names are read
LARGEST_MANIFEST = 1_000_000  # bytes
HIGHEST = 12  # folders above a description that are searched
Packages = Mapping[str, str | os.PathLike[str]]


@dataclass(frozen=True)
class MeshFolder:
    """Where mesh files may be: in ``root`` or below it; relative paths start from ``start``.

    Both are absolute. Without them (a description that is no file) only relative paths are accepted, and they
    must stay below the folder, wherever it is. ``packages`` are further folders by the name of the ROS
    package that they hold; so are those that ROS_PACKAGE_PATH and AMENT_PREFIX_PATH name, and the package
    around the description.
    """

    root: Path | None = None
    start: Path | None = None
    packages: Mapping[str, Path] = field(default_factory=dict)

    @classmethod
    def around(
        cls, file: Path, folder: str | os.PathLike[str] | None, packages: Packages | None = None
    ) -> MeshFolder:
        """The folder of a file, or a folder that contains it."""
        start, known = Path(os.path.abspath(file)).parent, _packages(packages)
        if folder is None:
            return cls(start, start, known)
        root = _folder(folder)
        if not start.is_relative_to(root):
            start, root = Path(os.path.realpath(start)), Path(os.path.realpath(root))
        if not start.is_relative_to(root):
            raise FileError(f"the file '{file}' is not inside the given folder '{root}'")
        return cls(root, start, known)

    @classmethod
    def only(cls, folder: str | os.PathLike[str] | None, packages: Packages | None = None) -> MeshFolder:
        """A folder for a description that is no file, or none."""
        known = _packages(packages)
        return cls(packages=known) if folder is None else cls(_folder(folder), _folder(folder), known)

    def found(self, name: str, place: str, passed: PassedOver) -> str | None:
        """The path to keep of a mesh, or None if it leaves all known folders, which is noted.

        A mesh that is missing is mentioned and its path kept: it may be put there later. Nothing computed
        depends on it, so loading does not warn: ``kinetree check`` and whatever draws the mesh report it.
        """
        try:
            kept = self.kept(name, place)
        except FileError as reason:
            passed.note(NOT_FOUND, "meshes outside the folder (give folder= or packages=)", str(reason))
            return None
        if self.root is not None and not os.path.lexists(self.root / kept):
            scheme, rest = _split(name)
            what = f"meshes of package '{_package_of(rest)[0]}'" if scheme in PACKAGE_SCHEMES else "meshes"
            passed.mention(
                NOT_FOUND,
                f"{what} that are missing",
                f"{place}: mesh file '{name}' is missing (looked for {self.root / kept})",
            )
        return kept

    def path(self, name: str, place: str) -> Path:
        """The absolute path of a model that a description includes, in one of the known folders."""
        return (self.root or NOWHERE) / self.kept(name, place, "model")

    def beside(self, file: Path) -> MeshFolder:
        """The folders for another file, from whose folder relative paths start."""
        return replace(self, start=Path(os.path.abspath(file)).parent)

    def kept(self, name: str, place: str, what: str = "mesh file") -> str:
        """The path relative to the root folder, with forward slashes; an error if it leaves the folder.

        Files of packages elsewhere keep their absolute path. Symbolic links are followed for the check.
        ``place`` begins the message, ``what`` says what is meant.
        """
        base, joined = self._joined(name, place, what)
        path, root = Path(os.path.normpath(joined)), self.root or NOWHERE
        true_path, true_root = (Path(os.path.realpath(x)) if self.root else x for x in (path, root))
        if not true_path.is_relative_to(true_root):
            known = [x for x in (base, *self.packages.values()) if x is not None]
            if any(true_path.is_relative_to(os.path.realpath(x)) for x in known):
                return path.as_posix()
            where = f"folder '{self.root}'" if self.root else "folder of the description"
            raise FileError(
                f"{place}: {what} '{name}' is outside the {where}; {what.split()[0]}"
                f"{'es' if what.startswith('mesh') else 's'} must be inside it, inside a folder above it "
                f"given by folder=, or in a package given by packages="
            )
        kept = path.relative_to(root) if path.is_relative_to(root) else true_path.relative_to(true_root)
        if kept == Path():
            raise FileError(f"{place}: {what} '{name}' names a folder; allowed: {FORMS}")
        return kept.as_posix()

    def holding(self, kept: str) -> str | None:
        """The folder to find a kept file in later: the root, or its own folder if the path is absolute."""
        if os.path.isabs(kept):
            return os.path.dirname(kept)
        return None if self.root is None else str(self.root)

    def _joined(self, name: str, place: str, what: str) -> tuple[Path | None, str]:
        """The package that a file must be in, if any, and its absolute path, '..' not yet resolved."""
        root = self.root or NOWHERE
        scheme, rest = _split(name)
        if not rest.strip() or "\0" in rest:
            raise FileError(f"{place}: {what} '{name}' names no file; allowed: {FORMS}")
        if scheme in PACKAGE_SCHEMES:
            package, inside = _package_of(rest)
            base = self.package(package)
            return base, os.path.join(base or root / package, inside)
        if scheme not in ("", "file"):
            raise FileError(f"{place}: {what} '{name}' starts with '{scheme}:'; allowed: {FORMS}")
        return self._own_package(), os.path.join(self.start or root, rest)

    def package(self, package: str) -> Path | None:
        """The folder of a package: as given, above the description, beside it, or as the environment says."""
        if package in self.packages:
            return self.packages[package]
        if not package or package.startswith(".") or "/" in package or "\\" in package or "\0" in package:
            return None
        for above in self._above():
            if _stated_name(above) == package:
                return above
            if above.name == package and not _has_home(above):
                return above
            if any((above / package / manifest).is_file() for manifest in MANIFESTS):
                return above / package
        beside = self._beside(package)
        if beside is not None:
            return beside
        return None if is_held_inside() else _in_environment(package)

    def _beside(self, package: str) -> Path | None:
        """The folder next to the description's own package whose package.xml has the name."""
        own = self._own_package()
        if own is None or own.parent not in self._above():
            return None
        try:
            folders = sorted(x for x in own.parent.iterdir() if x.is_dir() and not x.is_symlink())
        except OSError:
            return None
        return next((x for x in folders[:MOST_BESIDE] if _stated_name(x) == package), None)

    def _own_package(self) -> Path | None:
        """The ROS package, or the model of Gazebo, that the description is part of, if it is one."""
        return next((above for above in self._above() if any((above / x).is_file() for x in MANIFESTS)), None)

    def _above(self) -> tuple[Path, ...]:
        """The folder of the description and those around it, as far as files may be read."""
        if self.start is None:
            return ()
        around = (self.start, *self.start.parents)[:HIGHEST]
        if not is_held_inside() or self.root is None:
            return around
        return tuple(x for x in around if x.is_relative_to(self.root))


def _stated_name(folder: Path) -> str | None:
    """The name that the package.xml of a folder states, which a folder need not have; None without one."""
    manifest = folder / MANIFESTS[0]
    try:
        found = manifest.lstat()
    except (OSError, ValueError):
        return None
    return _name_in(manifest, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


@lru_cache(maxsize=4096)
def _name_in(manifest: Path, changed: int) -> str | None:
    """The name in a package.xml as it was at one time."""
    try:
        root = parse_xml(file_content(manifest, LARGEST_MANIFEST), str(manifest), PassedOver(str(manifest)))
    except FileError:
        return None
    return next((x.content for x in root.all("name")), None) if root.tag == "package" else None


def _has_home(folder: Path) -> bool:
    """Whether a folder is that of the user or around it, and so no package whatever its name."""
    return Path(os.path.expanduser("~")).is_relative_to(folder)


def _in_environment(package: str) -> Path | None:
    """The folder of a package in the variables of ROS 1, ROS 2 and Gazebo."""
    ros1 = [Path(x) for x in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if x]
    ros2 = [Path(x) / "share" for x in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if x]
    gazebo = [Path(x) for name in MODEL_PATHS for x in os.environ.get(name, "").split(os.pathsep) if x]
    for place in (*ros1, *ros2, *gazebo):
        for folder in (place / package, *([place] if place.name == package else [])):
            if folder.is_dir():
                return Path(os.path.abspath(folder))
    return None


def _packages(given: Packages | None) -> dict[str, Path]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(must_be("packages", "a dict from the name of a package to its folder", given))
    return {str(name): _folder(folder) for name, folder in given.items()}


def _package_of(rest: str) -> tuple[str, str]:
    """The name of the package and the path inside it."""
    package, _, inside = rest.lstrip("/").partition("/")
    return package, inside


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
