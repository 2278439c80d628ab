"""Mechanism files: the suffix of the path says the format."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from kinetree.errors import FileError, InputError, listed
from kinetree.formats.held_inside import file_of
from kinetree.formats.installed import installed_path, is_installed_name
from kinetree.formats.kinds import SUFFIXES, WRITTEN, FileKind
from kinetree.formats.regular_file import (
    PathLike,
    check_readable,
    check_writable,
    checked_path,
    read_text,
    write_text,
)
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.variants import with_armature


def load(
    path: PathLike,
    *,
    floating_base: bool | None = None,
    allow_unphysical: bool = False,
    folder: PathLike | None = None,
    packages: Mapping[str, PathLike] | None = None,
    root: str | None = None,
    armature: float | Mapping[str, float] | None = None,
    contacts: bool | Iterable[str] | None = None,
    strict: bool = False,
    arguments: Mapping[str, str | int | float | bool] | None = None,
) -> Mechanism:
    """Read a mechanism from a .toml, .urdf (.xacro), .sdf (.world), .xml (MJCF), .osim or .m file (ReDySim).

    A URDF's root link is fixed to the world, or carried by a free joint if ``floating_base``; a model of an
    SDF file without a joint to the world floats, unless ``floating_base=False``. ``root`` names the root link
    if several have no parent, or the model of an SDF world. Shapes keep the paths of mesh files relative to
    ``folder``, by default the file's own; ``packages`` maps the names after package:// and model:// to
    folders. ``armature`` (kg m^2, kg) is assigned to joints that have none, one number for all or by name, so
    that forward dynamics exists for joints that move no inertia. Collision shapes of bodies on a free joint
    become contact points, and those of all moving bodies if the file has a floor; ``contacts`` names the
    bodies instead, True for all that move, False for none. Extensions of a URDF, SDF or MJCF file, and
    unphysical inertias, are accepted with a warning; ``allow_unphysical`` accepts the inertias without it,
    ``strict`` refuses both. ``arguments={"ur_type": "ur5e"}`` gives the values of ``$(arg ur_type)`` in a
    file with xacro macros. A TOML file contains all of this. Instead of a path, "example-robot-data:panda"
    names a file of an installed package; see :func:`kinetree.zoo.installed_models`.

    >>> import kinetree as kt, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "arm.toml")
    >>> kt.save(kt.zoo.gripper(), path)
    >>> kt.load(path) == kt.zoo.gripper()
    True
    """
    if isinstance(path, str) and is_installed_name(path):
        path = installed_path(path)
    place = checked_path(path)
    kind = by_suffix(place, SUFFIXES, "read")
    options = {
        "floating_base": floating_base,
        "allow_unphysical": allow_unphysical,
        "folder": folder,
        "packages": packages,
        "root": root,
        "strict": strict,
        "armature": armature,
        "contacts": contacts,
        "arguments": arguments,
    }
    given = {
        name: value
        for name, value in options.items()
        if value is not None and (value is not False or name in ("floating_base", "contacts"))
    }
    for name in given:
        unset = given[name] is False and name != "contacts"
        if name not in kind.options and not unset:
            raise InputError(f"{place}: {name} is not an option for {place.suffix} files; set it in the file")
    check_readable(place)
    known = {name: given[name] for name in kind.options if name in given}
    known.pop("armature", None)
    mechanism = READERS[kind.name](place, **known)
    return mechanism if armature is None else with_armature(mechanism, armature)


def save(mechanism: Mechanism, path: PathLike, force: bool = False) -> None:
    """Write a mechanism to a .toml, .urdf or .xml (MJCF) file; ``force`` replaces an existing file.

    A .toml file loads back as an equal mechanism; a warning lists what URDF or MJCF cannot represent.

    >>> import kinetree as kt, tempfile, pathlib
    >>> kt.save(kt.zoo.kuka_kr5(), pathlib.Path(tempfile.mkdtemp(), "arm.urdf"))
    """
    expect_mechanism(mechanism)
    place = checked_path(path)
    kind = by_suffix(place, WRITTEN, "written")
    check_writable(place, force)
    write_text(place, WRITERS[kind.name](mechanism), force)


def _load_toml(path: Path, above: tuple[Path, ...] = ()) -> Mechanism:
    from kinetree.formats.mesh_home import with_mesh_folder
    from kinetree.formats.toml_file import mechanism_from_toml

    read = mechanism_from_toml(read_text(path), str(path), included_by(path, above))
    return with_mesh_folder(read, path.parent)


def included_by(path: Path, above: tuple[Path, ...] = ()) -> Callable[[str], Mechanism]:
    """Reads what the file at a path includes: a mechanism of the zoo, or a file with a path from there.

    ``above`` are the files that include this one, which it must not include again.
    """
    from kinetree.model import zoo

    def read(name: str) -> Mechanism:
        if name in zoo.ZOO:
            return zoo.by_name(name)
        place = checked_path(file_of(path.parent, name))
        chain = (*above, path.resolve())
        if place.resolve() in chain:
            raise FileError(f"{place}: includes itself, by way of {listed(str(x) for x in chain)}")
        if place.suffix.lower() != ".toml":
            return load(place)
        check_readable(place)
        return _load_toml(place, above=chain)

    return read


def _load_urdf(path: Path, **options: Any) -> Mechanism:
    from kinetree.formats.urdf import load_urdf

    return load_urdf(path, **options)


def _load_mjcf(path: Path, **options: Any) -> Mechanism:
    from kinetree.formats.mjcf import load_mjcf

    return load_mjcf(path, **options)


def _load_sdf(path: Path, **options: Any) -> Mechanism:
    from kinetree.formats.sdf import load_sdf

    return load_sdf(path, **options)


def _load_redysim(path: Path, **options: Any) -> Mechanism:
    from kinetree.formats.redysim import load_redysim

    return load_redysim(path, **options)


def _load_osim(path: Path, **options: Any) -> Mechanism:
    from kinetree.formats.osim import load_osim

    return load_osim(path, **options)


READERS: dict[str, Callable[..., Mechanism]] = {
    "TOML": _load_toml,
    "URDF": _load_urdf,
    "URDF (xacro)": _load_urdf,
    "SDF": _load_sdf,
    "MJCF": _load_mjcf,
    "OpenSim": _load_osim,
    "ReDySim": _load_redysim,
}


def _toml_text(mechanism: Mechanism) -> str:
    from kinetree.formats.toml_writer import toml_text

    return toml_text(mechanism)


def _urdf_text(mechanism: Mechanism) -> str:
    from kinetree.formats.urdf_writer import urdf_text

    return urdf_text(mechanism)


def _mjcf_text(mechanism: Mechanism) -> str:
    from kinetree.formats.mjcf_writer import mjcf_text

    return mjcf_text(mechanism)


WRITERS: dict[str, Callable[[Mechanism], str]] = {"TOML": _toml_text, "URDF": _urdf_text, "MJCF": _mjcf_text}


def by_suffix(path: Path, suffixes: Collection[str], verb: str) -> FileKind:
    """The format of the file, by its suffix, which must be one of these."""
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        stated = f"the suffix '{path.suffix}'" if suffix else "no suffix"
        hint = _zoo_hint(path, verb)
        raise FileError(f"{path}: has {stated}; a mechanism can be {verb} as {listed(suffixes)}{hint}")
    return SUFFIXES[suffix]


def _zoo_hint(path: Path, verb: str) -> str:
    """Where a mechanism of the zoo is found, if the path looks like its name."""
    from kinetree.model import zoo

    near = difflib.get_close_matches(path.name, zoo.ZOO, n=1)
    return f"; kinetree.zoo.{near[0]}() comes with the package" if near and verb == "read" else ""
