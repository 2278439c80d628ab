"""A mechanism file checked as a whole: every fault, and all that looks wrong."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from kinetree.errors import FileError, KinetreeError
from kinetree.formats.files import by_suffix, load
from kinetree.formats.kinds import SUFFIXES
from kinetree.formats.regular_file import PathLike, check_readable, checked_path, read_text
from kinetree.lint.finding import WARNING, LintFinding, in_order, of_error


def check_mechanism_file(path: PathLike, **options: Any) -> list[LintFinding]:
    """The findings in a .toml, .urdf, .sdf or .xml (MJCF) file, in the order of its lines.

    ``options`` are those of :func:`kinetree.load` for the formats of others.

    >>> import kinetree as kt, tempfile, pathlib
    >>> place = pathlib.Path(tempfile.mkdtemp(), "gripper.toml")
    >>> kt.save(kt.zoo.gripper(), place)
    >>> check_mechanism_file(place)
    []
    """
    try:
        place = checked_path(path)
        kind = by_suffix(place, SUFFIXES, "read")
        check_readable(place)
        return in_order(CHECKERS.get(kind.name, _as_loaded)(place, options))
    except FileError as error:
        return of_error(error, str(path), "unreadable-file")


def _toml(path: Path, options: dict[str, Any]) -> list[LintFinding]:
    from kinetree.lint.toml import check_mechanism_toml

    return check_mechanism_toml(read_text(path), str(path))


def _urdf(path: Path, options: dict[str, Any]) -> list[LintFinding]:
    from kinetree.lint.urdf import check_urdf

    return check_urdf(path, **options)


def _sdf(path: Path, options: dict[str, Any]) -> list[LintFinding]:
    from kinetree.lint.sdf import check_sdf

    return check_sdf(path, **{name: x for name, x in options.items() if name != "arguments"})


def _as_loaded(path: Path, options: dict[str, Any]) -> list[LintFinding]:
    """The first fault that loading meets, or its warnings; MuJoCo, which compiles MJCF, stops there."""
    from kinetree.formats.passed_over import PassedOver
    from kinetree.formats.xml_file import parse_xml
    from kinetree.lint.urdf import placed
    from kinetree.model.suspicions import suspicions

    file = str(path)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            mechanism = load(path, **options)
        except KinetreeError as error:
            return of_error(error, file, "impossible-mechanism")
    found = [
        LintFinding(file, None, WARNING, "not-used", str(warning.message).removeprefix(f"{file}: "))
        for warning in heard
    ]
    return found + placed(suspicions(mechanism), parse_xml(read_text(path), file, PassedOver(file)), file)


def _osim(path: Path, options: dict[str, Any]) -> list[LintFinding]:
    from kinetree.lint.osim import check_osim

    return check_osim(path, options.get("folder"))


CHECKERS = {  # that find every fault
    "TOML": _toml,
    "URDF": _urdf,
    "URDF (xacro)": _urdf,
    "SDF": _sdf,
    "OpenSim": _osim,
}
