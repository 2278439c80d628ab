"""The mechanism of a study: of the zoo, of a file, or described in the study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, frozen
from kinetree.errors import FileError, InputError, listed, must_be, unknown_name
from kinetree.formats.file_values import Degrees
from kinetree.formats.files import included_by, load
from kinetree.formats.held_inside import file_of, is_held_inside
from kinetree.formats.kinds import FOREIGN
from kinetree.formats.toml_file import mechanism_of
from kinetree.formats.toml_parts import contact_point_of, placement_of, seen_body
from kinetree.model import zoo
from kinetree.model.mechanism import Mechanism
from kinetree.model.payload import mounted
from kinetree.state import independent_axes
from kinetree.study.origin import StudyOrigin
from kinetree.study.tables import MechanismChoice
from kinetree.study.values import PerJoint

READ_OPTIONS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("floating_base", "allow_unphysical", "strict"), (bool,)),
    **dict.fromkeys(("folder", "root"), (str,)),
    **dict.fromkeys(("packages", "arguments"), (dict,)),
    "armature": (int, float, dict),
    "contacts": (bool, list),
}
KINDS_OF_OPTIONS = {
    **dict.fromkeys(("floating_base", "allow_unphysical", "strict"), "true or false"),
    **dict.fromkeys(("folder", "root"), "a text"),
    "packages": "a table of folders by package",
    "arguments": "a table of values by name",
    "armature": "a number or a table of numbers by joint",
    "contacts": "true, false or a list of bodies",
}
DESCRIBED = ("include", "body", "dh", "loop")


def study_mechanism(table: MechanismChoice, origin: StudyOrigin, folder: Path, name: str) -> Mechanism:
    """The mechanism with what it carries; exactly one of zoo, file and description must be given."""
    bare = _bare_mechanism(table, origin, folder, name)
    if table.zoo is not None or table.file is not None:  # a description has its frames already
        for k, frame in enumerate(table.frame):
            with origin.blamed("mechanism", "frame", k):
                place = placement_of(frame, f"frame '{frame.name}'")
                bare = bare.with_frame(frame.name, frame.body, place.position, place.rotation)
    for k, payload in enumerate(table.payload):
        with origin.blamed("mechanism", "payload", k):
            body = seen_body(payload)
            if body.inertia.is_zero:
                raise InputError(f"payload '{payload.name}' needs a mass, or a solid such as box")
            bare = mounted(bare, payload.on, body)
    return bare


def _bare_mechanism(table: MechanismChoice, origin: StudyOrigin, folder: Path, name: str) -> Mechanism:
    given = [key for key in ("zoo", "file") if getattr(table, key) is not None]
    given += ["a description"] if any(getattr(table, key) for key in DESCRIBED) else []
    if len(given) != 1:
        raise InputError(
            f"{origin.where(('mechanism',))}: [mechanism] give one of zoo, file and a description by "
            f"[[mechanism.body]] or [mechanism.dh]; got {listed(given)}"
        )
    if table.parameters and table.zoo is None and table.file is None:
        raise InputError(
            f"{origin.where(('mechanism', 'parameters'))}: [mechanism] parameters are for zoo and file only"
        )
    if table.zoo is not None:
        with origin.blamed("mechanism", "zoo"):
            return _changed(_of_zoo(table.zoo, table.parameters), table, origin)
    if table.file is not None:
        return _changed(_of_file(table.file, table.parameters, origin, folder), table, origin)
    described = origin.of_mechanism()
    parts = {key: value for key, value in described.table.items() if key != "payload"}
    included = included_by(folder / origin.source)
    return mechanism_of(replace(described, table={"name": name, **parts}, included=included))


def _of_zoo(name: str, parameters: Mapping[str, Any]) -> Mechanism:
    try:
        return zoo.by_name(name, **parameters)
    except (TypeError, ValueError) as error:
        raise InputError(f"parameters of '{name}': {error}") from None


def _of_file(file: str, options: Mapping[str, Any], origin: StudyOrigin, folder: Path) -> Mechanism:
    place = file_of(folder, file)
    with origin.blamed("mechanism", "parameters"):
        _check_read_options(options)
    try:
        return load(place, **_from_the_study(options, folder, Path(place).suffix.lower()))
    except FileError as error:
        raise FileError(f"{origin.where(('mechanism', 'file'))}: {error}") from None


def _check_read_options(options: Mapping[str, Any]) -> None:
    for name, value in options.items():
        if name not in READ_OPTIONS:
            raise InputError(unknown_name("parameter of a mechanism file", name, READ_OPTIONS))
        if not isinstance(value, READ_OPTIONS[name]) or (isinstance(value, bool) and name == "armature"):
            raise InputError(must_be(name, f"{KINDS_OF_OPTIONS[name]}", value))


def _from_the_study(options: Mapping[str, Any], folder: Path, suffix: str) -> dict[str, Any]:
    """Options for reading whose folders are paths from the study."""
    found = dict(options)
    if "folder" in found:
        found["folder"] = file_of(folder, found["folder"])
    elif is_held_inside() and suffix in FOREIGN:
        found["folder"] = folder
    if "packages" in found:
        found["packages"] = {name: file_of(folder, str(place)) for name, place in found["packages"].items()}
    return found


def _changed(mechanism: Mechanism, table: MechanismChoice, origin: StudyOrigin) -> Mechanism:
    """The mechanism with the gravity of the study and with its further contact points."""
    if table.gravity is not None:
        mechanism = replace(mechanism, gravity=frozen(table.gravity))
    if not table.contact:
        return mechanism
    with origin.blamed("mechanism", "contact"):
        points = tuple(contact_point_of(row) for row in table.contact)
        return replace(mechanism, contact_points=(*mechanism.contact_points, *points))


def joint_values(
    mechanism: Mechanism, given: PerJoint | None, degrees: PerJoint | None, what: str, usual: float = 0.0
) -> Array | None:
    """Values (n_dof,) out of one number, a list or a table by joint name; ``degrees`` are angles only.

    >>> joint_values(zoo.gripper(), None, {"joint2": 180.0}, "q").round(4).tolist()
    [0.0, 3.1416, 0.0, 0.0]
    """
    if given is not None and degrees is not None:
        raise InputError(f"give either {what} or {what}_degrees, not both")
    if given is None and degrees is None:
        return None
    called = what if degrees is None else f"{what}_degrees"
    names, turns = mechanism.joint_names, mechanism.tree.turns[independent_axes(mechanism)]
    by_name = _by_name(names, degrees if given is None else given, called)
    values = np.full(mechanism.n_dof, usual)
    for k, name in enumerate(names):
        if name not in by_name:
            continue
        x = by_name[name]
        if not turns[k] and (isinstance(x, Degrees) or (degrees is not None and x != 0.0)):
            raise InputError(
                f"{called}: joint '{name}' is prismatic: its value is a length in m, not an angle"
            )
        values[k] = np.radians(x) if degrees is not None else x
    return values


def _by_name(names: tuple[str, ...], given: PerJoint | None, what: str) -> dict[str, float]:
    if isinstance(given, dict):
        for name in given:
            if name not in names:
                raise InputError(unknown_name("joint", name, names).after(f"{what}: "))
        return given
    if isinstance(given, list):
        if len(given) != len(names):
            raise InputError(f"{what} must have {len(names)} numbers, for {listed(names)}; got {len(given)}")
        return dict(zip(names, given, strict=True))
    assert given is not None
    return dict.fromkeys(names, given)
