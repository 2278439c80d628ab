"""A mechanism as a TOML file, read and written so that both give the same mechanism, bit for bit.

The keys, their units and their defaults are described in :mod:`kinetree.formats.schema`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from pydantic import ValidationError

from kinetree.algebra.arrays import frozen
from kinetree.errors import FileError, ModelError, must_be
from kinetree.formats.file_origin import Origin, zoo_alone
from kinetree.formats.schema import DhTable, GraphTable, MechanismTable, is_graph
from kinetree.formats.toml_parts import (
    actuator_of,
    body_of,
    contact_point_of,
    dh_row_of,
    floor_of,
    frame_of,
    joint_of,
    link_of,
    loop_of,
    marker_of,
    muscle_of,
    placement_of,
    spring_of,
    state_of,
    wrap_of,
)
from kinetree.formats.toml_writer import mechanism_table, toml_text
from kinetree.model.body import WORLD
from kinetree.model.joined import join, placed, with_more
from kinetree.model.mechanism import Mechanism
from kinetree.model.named_state import NamedStates

__all__ = ["mechanism_from_table", "mechanism_from_toml", "mechanism_table", "toml_text"]

Table = TypeVar("Table")
Made = TypeVar("Made")


def mechanism_from_toml(
    text: str, source: str = "text", included: Callable[[str], Mechanism] = zoo_alone
) -> Mechanism:
    """The mechanism that a TOML text describes; messages call the text by its ``source``.

    ``included`` reads the mechanisms that it includes, by path or name.

    >>> mechanism_from_toml('''
    ... name = "pendulum"
    ... [[body]]
    ... name = "bob"
    ... joint = { name = "pivot", kind = "revolute", axis = "y" }
    ... point = { mass = 1.0, at = [0, 0, -0.5] }
    ... ''')
    Mechanism('pendulum', 1 body, 1 degree of freedom)
    """
    if not isinstance(text, str):
        raise FileError(must_be(f"{source}: a mechanism file", "text", type(text).__name__, ""))
    return mechanism_of(Origin.of_text(text.removeprefix("\ufeff"), source, included))


def mechanism_from_table(table: Mapping[str, Any], source: str = "table") -> Mechanism:
    """The mechanism that an already parsed table describes, e.g. one inside a larger file."""
    if not isinstance(table, Mapping):
        raise FileError(must_be(f"{source}: a mechanism", "a table of keys", table))
    return mechanism_of(Origin(source, table))


def mechanism_of(origin: Origin) -> Mechanism:
    """The mechanism of a table that was parsed, with messages that say where in its file a fault is."""
    if not origin.table:
        raise FileError(f"{origin.source}: is empty; a mechanism needs a name and at least one [[body]]")
    if "study" in origin.table:
        raise FileError(f"{origin.source}: is a study, not a mechanism; run it: kinetree run {origin.source}")
    if is_graph(origin.table):
        return _from_graph(origin)
    try:
        file = MechanismTable.model_validate(dict(origin.table))
    except ValidationError as error:
        raise origin.explained(error, MechanismTable) from None
    parts = [f"[[{key}]]" for key in ("include", "body") if getattr(file, key)]
    if bool(parts) == (file.dh is not None):
        fault = f"both {parts[0]} and [dh]" if parts else "neither [[body]] nor [dh]"
        raise FileError(f"{origin.source}: has {fault}; a mechanism is described by one of them")
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused as not finite
        return _from_bodies(file, origin) if file.dh is None else _from_dh(file, file.dh, origin)


def _from_bodies(file: MechanismTable, origin: Origin) -> Mechanism:
    links = _each(file.body, link_of, origin, "body")
    more = _further(file, origin)
    whole = _included(file, origin)
    with origin.blamed():
        if whole is None:
            return Mechanism(file.name, links, frozen(file.gravity), **more)
        return with_more(whole, file.name, links, **more)


def _included(file: MechanismTable, origin: Origin) -> Mechanism | None:
    """The mechanisms that a file includes, each placed on those before it."""
    whole: Mechanism | None = None
    for k, table in enumerate(file.include):
        with origin.blamed("include", k):
            part = origin.included(table.mechanism).with_gravity(file.gravity)
            placement = placement_of(table, "place")
            joint = None
            if table.joint is not None:
                joint = joint_of(table.joint.name or f"{table.prefix}mount", table.joint)
            if whole is not None:
                whole = join(whole, part, table.on, placement=placement, joint=joint, prefix=table.prefix)
            elif table.on == WORLD:
                whole = placed(part, placement, joint, table.prefix)
            else:
                raise ModelError(f"on: the first mechanism is placed on the world, got '{table.on}'")
    return whole


def _from_graph(origin: Origin) -> Mechanism:
    from kinetree.model.graph import from_graph

    try:
        file = GraphTable.model_validate(dict(origin.table))
    except ValidationError as error:
        raise origin.explained(error, GraphTable) from None
    with np.errstate(over="ignore", invalid="ignore"):
        bodies = _each(file.body, body_of, origin, "body")
        joints = _each(file.joint, loop_of, origin, "joint")
        points = _each(file.contact, contact_point_of, origin, "contact")
        springs = _each(file.spring, spring_of, origin, "spring")
        with origin.blamed():
            return from_graph(
                file.name,
                bodies,
                joints,
                cut=file.cut,
                gravity=frozen(file.gravity),
                springs=springs,
                contact_points=points,
            )


def _from_dh(file: MechanismTable, dh: DhTable, origin: Origin) -> Mechanism:
    from kinetree.model.dh import from_dh

    rows = _each(dh.row, dh_row_of, origin, "dh", "row")
    more = _further(file, origin)
    with origin.blamed():
        bare = from_dh(rows, convention=dh.convention, name=file.name, gravity=frozen(file.gravity))
        return replace(bare, **more) if any(more.values()) else bare


def _further(file: MechanismTable, origin: Origin) -> dict[str, Any]:
    """Loops, contact points, springs and so on by their names in a mechanism."""
    floor = None
    if file.floor is not None:
        with origin.blamed("floor"):
            floor = floor_of(file.floor)
    return {
        "loops": _each(file.loop, loop_of, origin, "loop"),
        "contact_points": _each(file.contact, contact_point_of, origin, "contact"),
        "springs": _each(file.spring, spring_of, origin, "spring"),
        "frames": _each(file.frame, frame_of, origin, "frame"),
        "actuators": _each(file.actuator, actuator_of, origin, "actuator"),
        "states": NamedStates(_each(file.state, state_of, origin, "state")),
        "floor": floor,
        "muscles": _each(file.muscle, muscle_of, origin, "muscle"),
        "wraps": _each(file.wrap, wrap_of, origin, "wrap"),
        "markers": _each(file.marker, marker_of, origin, "marker"),
    }


def _each(
    tables: Sequence[Table], make: Callable[[Table], Made], origin: Origin, *array: str
) -> tuple[Made, ...]:
    """What the tables of an array describe; a fault is blamed on the table it is in."""
    made = []
    for k, table in enumerate(tables):
        with origin.blamed(*array, k):
            made.append(make(table))
    return tuple(made)
