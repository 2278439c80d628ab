"""A mechanism as a TOML file, read and written so that both give the same mechanism, bit for bit.

The keys, their units and their defaults are described in :mod:`kinetree.model.schema`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import ValidationError

from kinetree.algebra.arrays import frozen
from kinetree.algebra.placement import Placement
from kinetree.errors import FileError, ModelError, listed
from kinetree.model.body import Body, Shape
from kinetree.model.contact_point import ContactPoint
from kinetree.model.file_origin import Origin
from kinetree.model.file_values import Degrees
from kinetree.model.inertia import Inertia
from kinetree.model.joint import PARAMETERS, TURNS, Joint, Mimic
from kinetree.model.loop import Loop
from kinetree.model.mechanism import Link, Mechanism
from kinetree.model.schema import (
    BodyTable,
    ContactTable,
    DhRowTable,
    DhTable,
    JointTable,
    LoopTable,
    MechanismTable,
)
from kinetree.model.schema_parts import JointParameters, MimicTable, Placed, ShapeTable
from kinetree.model.toml_writer import mechanism_table, toml_text

__all__ = ["mechanism_from_table", "mechanism_from_toml", "mechanism_table", "toml_text"]

UNIT_LENGTH_SLACK = 4 * np.finfo(np.float64).eps
SOLIDS = ("point", "rod", "box", "cylinder", "sphere", "bent_rod", "about_origin")


def mechanism_from_toml(text: str, source: str = "text") -> Mechanism:
    """The mechanism that a TOML text describes; messages call the text by its ``source``.

    >>> mechanism_from_toml('''
    ... name = "pendulum"
    ... [[body]]
    ... name = "bob"
    ... joint = { name = "pivot", kind = "revolute", axis = "y" }
    ... point = { mass = 1.0, at = [0, 0, -0.5] }
    ... ''')
    Mechanism('pendulum', 1 bodies, 1 degrees of freedom)
    """
    if not isinstance(text, str):
        raise FileError(f"{source}: a mechanism file must be text, got {type(text).__name__}")
    return _mechanism(Origin.of_text(text.removeprefix("\ufeff"), source))


def mechanism_from_table(table: Mapping[str, Any], source: str = "table") -> Mechanism:
    """The mechanism that an already parsed table describes, e.g. one inside a larger file."""
    if not isinstance(table, Mapping):
        raise FileError(f"{source}: a mechanism must be a table of keys, got {table!r}")
    return _mechanism(Origin(source, table))


def _mechanism(origin: Origin) -> Mechanism:
    if not origin.table:
        raise FileError(f"{origin.source}: is empty; a mechanism needs a name and at least one [[body]]")
    try:
        file = MechanismTable.model_validate(dict(origin.table))
    except ValidationError as error:
        raise origin.explained(error, MechanismTable) from None
    if bool(file.body) == (file.dh is not None):
        fault = "both [[body]] and [dh]" if file.body else "neither [[body]] nor [dh]"
        raise FileError(f"{origin.source}: has {fault}; a mechanism is described by one of them")
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused as not finite
        return _from_bodies(file, origin) if file.dh is None else _from_dh(file, file.dh, origin)


def _from_bodies(file: MechanismTable, origin: Origin) -> Mechanism:
    links = []
    for k, table in enumerate(file.body):
        with origin.blamed("body", k):
            links.append(_link(table))
    loops, points = _loops(file, origin), _contact_points(file, origin)
    with origin.blamed():
        return Mechanism(file.name, tuple(links), frozen(file.gravity), loops, points)


def _from_dh(file: MechanismTable, dh: DhTable, origin: Origin) -> Mechanism:
    from kinetree.model.dh import from_dh

    rows = []
    for k, row in enumerate(dh.row):
        with origin.blamed("dh", "row", k):
            rows.append(_dh_row(row))
    loops, points = _loops(file, origin), _contact_points(file, origin)
    with origin.blamed():
        bare = from_dh(rows, convention=dh.convention, name=file.name, gravity=frozen(file.gravity))
        return replace(bare, loops=loops, contact_points=points) if loops or points else bare


def _dh_row(table: DhRowTable) -> dict[str, Any]:
    """The row as :func:`kinetree.model.dh.from_dh` takes it."""
    row = {key: value for key, value in table if value is not None}
    _check_degrees(table.joint or "revolute", table)
    return row if table.mimic is None else row | {"mimic": _mimic(table.mimic)}


def _link(table: BodyTable) -> Link:
    name = f"{table.name}_joint" if table.joint.name is None else table.joint.name
    body = Body(table.name, _inertia(table), tuple(_shape(shape) for shape in table.shapes))
    joint = _joint(name, table.joint)
    return Link(body, joint, table.parent, _placement(table.joint, f"joint '{name}'"))


def _placement(table: Placed, what: str) -> Placement:
    return Placement.at(table.at, table.rotation, table.rpy, what=what, error=ModelError)


def _shape(table: ShapeTable) -> Shape:
    size: Any = table.size
    return Shape(table.kind, size, _placement(table, f"shape '{table.kind}'"), table.file)


def _inertia(table: BodyTable) -> Inertia:
    """From mass, center and inertia, or from the one solid that is given instead."""
    plain = [key for key in ("mass", "center", "inertia") if getattr(table, key) is not None]
    plain += ["allow_unphysical"] if table.allow_unphysical else []
    solids = [key for key in SOLIDS if getattr(table, key) is not None]
    if len(solids) > 1 or (solids and plain):
        raise ModelError(
            f"give either mass, center and inertia, or one of {listed(SOLIDS)}; got {listed(plain + solids)}"
        )
    if solids:
        given = {key: value for key, value in getattr(table, solids[0]) if value is not None}
        if "inertia" in given:
            given["moment"] = given.pop("inertia")
        made: Inertia = getattr(Inertia, solids[0])(**given)
        return made
    if plain and table.mass is None:
        raise ModelError(f"has {listed(plain)} but no mass; add mass (kg), which may be 0")
    given = {"mass": table.mass, "center": table.center, "moment": table.inertia}
    given = {key: value for key, value in given.items() if value is not None}
    return Inertia(**given, allow_unphysical=table.allow_unphysical)


def _joint(name: str, keys: JointTable | LoopTable) -> Joint:
    _check_degrees(keys.kind, keys)
    mimic = None if keys.mimic is None else _mimic(keys.mimic)
    given = {key: getattr(keys, key) for key in PARAMETERS if getattr(keys, key) is not None}
    joint = Joint.of_kind(name, keys.kind, keys.axis, keys.axes, keys.sequence, mimic, **given)
    written = keys.axes if keys.axes is not None else [keys.axis] * joint.n_dof
    exact = [_exact(*pair) for pair in zip(joint.axes, written, strict=True)]
    return replace(joint, axes=frozen(exact).reshape(-1, 3))


def _mimic(table: MimicTable) -> Mimic:
    return Mimic(table.joint, float(table.multiplier), float(table.offset))


def _exact(unit: Any, written: str | list[float] | None) -> Any:
    """The axis as written if it is a unit vector already: normalising again might change its last bit."""
    if written is None or isinstance(written, str):
        return unit
    return written if abs(np.linalg.norm(written) - 1.0) <= UNIT_LENGTH_SLACK else unit


def _check_degrees(kind: str, keys: JointParameters) -> None:
    """Degrees are for turning axes only."""
    given = {key: getattr(keys, key) for key in PARAMETERS}
    given["mimic.offset"] = None if keys.mimic is None else keys.mimic.offset
    turns = TURNS.get(kind, ())
    for key, value in given.items():
        each = value if isinstance(value, list) else [value] * len(turns)
        for x, turn in zip(each, turns, strict=False):
            if isinstance(x, Degrees) and not turn:
                raise ModelError(f"{key} of a sliding axis is a length (m), got {np.degrees(x):g} deg")


def _loops(file: MechanismTable, origin: Origin) -> tuple[Loop, ...]:
    loops = []
    for k, table in enumerate(file.loop):
        with origin.blamed("loop", k):
            loops.append(_loop(table))
    return tuple(loops)


def _loop(table: LoopTable) -> Loop:
    ends = [_placement(end, f"body {side}") for side, end in (("a", table.a), ("b", table.b))]
    return Loop(_joint(table.name, table), table.a.body, table.b.body, *ends)


def _contact_points(file: MechanismTable, origin: Origin) -> tuple[ContactPoint, ...]:
    points = []
    for k, table in enumerate(file.contact):
        with origin.blamed("contact", k):
            points.append(_contact_point(table))
    return tuple(points)


def _contact_point(table: ContactTable) -> ContactPoint:
    return ContactPoint(table.name, table.body, frozen(table.at))
