"""Writing a mechanism as TOML that a person likes to read and edit, without losing a bit of it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import unit_axis
from kinetree.errors import FileError
from kinetree.formats.file_values import AXIS_NAMES
from kinetree.formats.function_tables import function_table
from kinetree.model.actuator import UNLIMITED, Actuator
from kinetree.model.body import Shape
from kinetree.model.contact_point import ContactPoint
from kinetree.model.expected import expect_mechanism
from kinetree.model.inertia import Inertia
from kinetree.model.joint import PARAMETERS, Joint, usual_value
from kinetree.model.joint_kind import ALL_KINDS
from kinetree.model.loop import Loop
from kinetree.model.marker import Marker
from kinetree.model.mechanism import Link, Mechanism
from kinetree.model.muscle import MovingPoint, Muscle, PathPoint, PathWrap, Wrap
from kinetree.model.named_state import NamedState
from kinetree.model.spring import Spring

Table = dict[str, Any]
HEAD = "# Kinetree mechanism. SI units: m, kg, s, N, rad.\n"
WIDTH = 110  # longer tables and matrices are broken into lines
BARE = re.compile("[A-Za-z0-9_-]+")  # keys without quotes
EXACT_INTEGERS = 1e15  # integers below are written without a point


def toml_text(mechanism: Mechanism) -> str:
    """The mechanism as TOML text, from which :func:`mechanism_from_toml` makes an equal one."""
    table = mechanism_table(mechanism)
    top = {key: value for key, value in table.items() if not _is_array_of_tables(value)}
    blocks = [HEAD + "\n".join(_lines(top))]
    for key, value in table.items():
        if _is_array_of_tables(value):
            blocks += [_block(key, entry) for entry in value]
    return "\n\n".join(blocks) + "\n"


def mechanism_table(mechanism: Mechanism) -> Table:
    """The mechanism as plain numbers, texts, lists and dicts, shaped as the file is."""
    expect_mechanism(mechanism)
    table: Table = {"name": mechanism.name, "gravity": mechanism.gravity.tolist()}
    table["body"] = [_body(link) for link in mechanism.links]
    if mechanism.loops:
        table["loop"] = [_loop(loop) for loop in mechanism.loops]
    if mechanism.springs:
        table["spring"] = [_spring(spring) for spring in mechanism.springs]
    if mechanism.contact_points:
        table["contact"] = [_contact(point) for point in mechanism.contact_points]
    more = {
        "frame": [{"name": x.name, "body": x.body, **_placement(x.placement)} for x in mechanism.frames],
        "actuator": [_actuator(x) for x in mechanism.actuators],
        "state": [_state(x) for x in mechanism.states.values()],
        "marker": [_marker(x) for x in mechanism.markers],
        "wrap": [_wrap(x) for x in mechanism.wraps],
        "muscle": [_muscle(x) for x in mechanism.muscles],
    }
    table |= {key: rows for key, rows in more.items() if rows}
    if mechanism.floor is not None:
        floor = mechanism.floor
        table["floor"] = {
            "origin": list(floor.origin),  # type: ignore[arg-type]
            "normal": list(floor.normal),  # type: ignore[arg-type]
            "friction": floor.friction,
        }
        if floor.forward is not None:
            table["floor"]["forward"] = list(floor.forward)  # type: ignore[arg-type]
        if floor.terrain is not None:
            heights = np.asarray(floor.terrain.heights).tolist()
            ends = {"forward": list(floor.terrain.forward), "side": list(floor.terrain.side)}
            table["floor"]["terrain"] = {**ends, "heights": heights}
    return table


# ---- the mechanism as tables ----------------------------------------------------------------------------


def _body(link: Link) -> Table:
    joint = {"name": link.joint.name, **_joint(link.joint, link.placement)}
    bare = {"name": f"{link.body.name}_joint", "kind": link.joint.kind}
    welded = link.joint.is_fixed and joint == bare
    table: Table = {
        "name": link.body.name,
        "parent": link.parent,
        "joint": link.joint.kind if welded else joint,
    }
    table |= _inertia(link.body.inertia)
    if link.body.gravity_compensation:
        table["gravity_compensation"] = link.body.gravity_compensation
    if link.body.shapes:
        table["shapes"] = [_shape(shape) for shape in link.body.shapes]
    return table


def _inertia(inertia: Inertia) -> Table:
    table: Table = {"mass": inertia.mass}
    if not _same_bits(inertia.center, np.zeros(3)):
        table["center"] = inertia.center.tolist()
    if not _same_bits(inertia.moment, np.zeros((3, 3))):
        table["inertia"] = _moment(inertia.moment)
    if inertia.allow_unphysical:
        table["allow_unphysical"] = True
    return {} if len(table) == 1 and _same_bits(inertia.mass, 0.0) else table


def _moment(moment: Array) -> list[Any]:
    """Three numbers if diagonal, six if symmetric, nine if it differs from its transpose by rounding."""
    if _same_bits(moment, np.diag(np.diag(moment))):
        return list(np.diag(moment).tolist())
    if not _same_bits(moment, moment.T):
        return list(moment.tolist())
    return [*np.diag(moment).tolist(), *(float(moment[i, j]) for i, j in ((0, 1), (0, 2), (1, 2)))]


def _joint(joint: Joint, placement: Placement | None = None, cut: bool = False) -> Table:
    place = {} if placement is None else _placement(placement)
    table: Table = {"kind": joint.kind, **_axes(joint), **place}
    for key in PARAMETERS:
        values = getattr(joint, key)
        if not _same_bits(values, usual_value(joint, key)):
            same = _same_bits(values, np.full(joint.n_dof, values[0]))
            table[key] = float(values[0]) if same else values.tolist()
    usual = not cut  # a joint of the tree is driven unless declared, a cut joint is not
    if any(flag != usual for flag in joint.driven):
        table["driven"] = list(joint.driven) if usual in joint.driven else not usual
    if joint.labels:
        table["labels"] = list(joint.labels)
    if joint.mimic is not None:
        table["mimic"] = {"joint": joint.mimic.joint}
        if joint.mimic.function is None:
            numbers = {"multiplier": joint.mimic.multiplier, "offset": joint.mimic.offset}
            table["mimic"] |= {key: float(value) for key, value in numbers.items()}
        else:
            table["mimic"]["function"] = function_table(joint.mimic.function)
        if joint.mimic.higher:
            table["mimic"]["higher"] = list(joint.mimic.higher)
        if joint.mimic.others:
            table["mimic"]["others"] = dict(joint.mimic.others)
    return table


def _axes(joint: Joint) -> Table:
    """The shortest of axis, sequence and axes that gives the joint's directions."""
    if ALL_KINDS[joint.kind].one_axis and _same_bits(joint.axes, [joint.axes[0]] * joint.n_dof):
        return {"axis": _axis(joint.axes[0])}
    if joint.sequence is not None:
        return {"sequence": joint.sequence}
    usual = Joint.of_kind(joint.name, joint.kind)
    if usual.sequence is None and _same_bits(joint.axes, usual.axes):
        return {}
    return {"axes": [_axis(axis) for axis in joint.axes]}


def _axis(axis: Array) -> str | list[float]:
    for name in AXIS_NAMES:
        if _same_bits(axis, unit_axis(name, "axis")):
            return name
    values: list[float] = axis.tolist()
    return values


def _placement(placement: Placement) -> Table:
    table: Table = {}
    if not _same_bits(placement.position, np.zeros(3)):
        table["at"] = placement.position.tolist()
    if not _same_bits(placement.rotation, np.eye(3)):
        table["rotation"] = placement.rotation.tolist()
    return table


def _shape(shape: Shape) -> Table:
    more: Table = {} if shape.file is None else {"file": shape.file}
    more |= {} if shape.color is None else {"color": list(shape.color)}
    return {"kind": shape.kind, "size": shape.size.tolist(), **more, **_placement(shape.placement)}


def _loop(loop: Loop) -> Table:
    return {
        "name": loop.name,
        **_joint(loop.joint, cut=True),
        **({} if loop.length is None else {"length": float(loop.length)}),
        "a": {"body": loop.body_a, **_placement(loop.placement_a)},
        "b": {"body": loop.body_b, **_placement(loop.placement_b)},
    }


def _spring(spring: Spring) -> Table:
    values = {key: getattr(spring, key) for key in ("stiffness", "damping", "rest", "turn_damping")}
    return {
        "name": spring.name,
        **{key: float(value) for key, value in values.items() if not _same_bits(value, 0.0)},
        "a": _spring_end(spring.body_a, spring.point_a),
        "b": _spring_end(spring.body_b, spring.point_b),
    }


def _contact(point: ContactPoint) -> Table:
    table: Table = {"name": point.name, "body": point.body, "at": point.position.tolist()}
    if point.radius:
        table["radius"] = point.radius
    elif point.is_round:
        table["half_axes"] = point.extent.tolist()
    return table if point.friction is None else table | {"friction": point.friction}


def _actuator(actuator: Actuator) -> Table:
    table: Table = {"name": actuator.name, "gears": dict(actuator.gears), "gain": actuator.gain}
    for key in ("bias", "kp", "kv"):
        if getattr(actuator, key):
            table[key] = getattr(actuator, key)
    for key in ("force_range", "control_range"):
        if getattr(actuator, key) != UNLIMITED:
            table[key] = list(getattr(actuator, key))
    return table


def _state(state: NamedState) -> Table:
    table: Table = {"name": state.name, "q": state.q.tolist()}
    if state.qd.any():
        table["qd"] = state.qd.tolist()
    return table if state.control is None else table | {"control": state.control.tolist()}


def _marker(marker: Marker) -> Table:
    weight = {} if marker.weight == 1.0 else {"weight": marker.weight}
    return {"name": marker.name, "body": marker.body, "at": list(marker.position), **weight}


def _wrap(wrap: Wrap) -> Table:
    table: Table = {"name": wrap.name, "body": wrap.body, "shape": wrap.shape, "radii": list(wrap.radii)}
    for key in ("length", "side"):
        if getattr(wrap, key) is not None:
            table[key] = getattr(wrap, key)
    return table | _placement(wrap.placement)


def _muscle(muscle: Muscle) -> Table:
    table: Table = {"name": muscle.name, "path": [_path_point(point) for point in muscle.path]}
    if muscle.wraps:
        table["wraps"] = [_given(use, "wrap") for use in muscle.wraps]
    table |= {
        key: value for key, value in _given(muscle, "name").items() if key not in ("path", "wraps", "curves")
    }
    return table | ({"curves": dict(muscle.curves)} if muscle.curves else {})


def _given(part: PathWrap | Muscle, name: str) -> Table:
    """The fields of a part that differ from their defaults, and its name."""
    return {
        x.name: getattr(part, x.name)
        for x in fields(part)
        if x.name == name or getattr(part, x.name) != x.default
    }


def _path_point(point: PathPoint | MovingPoint) -> Table:
    table: Table = {"body": point.body}
    if isinstance(point, MovingPoint):
        for key, law, name in zip("xyz", point.laws, point.coordinates, strict=True):
            table[key] = law if isinstance(law, float) else {"coordinate": name, **function_table(law)}
        return table | _placement(point.placement)
    if not _same_bits(point.position, np.zeros(3)):
        table["at"] = list(point.position)
    if point.active is not None:
        table |= {"coordinate": point.coordinate, "active": list(point.active)}
    return table


def _spring_end(body: str, point: Array) -> Table:
    return {"body": body, **({} if _same_bits(point, np.zeros(3)) else {"at": point.tolist()})}


def _same_bits(a: Any, b: Any) -> bool:
    """Equal including the sign of zeros."""
    return np.asarray(a, dtype=np.float64).tobytes() == np.asarray(b, dtype=np.float64).tobytes()


# ---- tables as text -------------------------------------------------------------------------------------


def tables_text(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Tables under their headers, such as those of a study, as TOML text.

    >>> print(tables_text({"study": {"task": "simulate", "duration": 1.0}}), end="")
    [study]
    task = "simulate"
    duration = 1
    """
    return "\n\n".join("\n".join([f"[{key}]", *_lines(table)]) for key, table in tables.items()) + "\n"


def _block(key: str, table: Table) -> str:
    """One [[key]] table; a table inside it that does not fit on a line follows under its own header."""
    apart = {k: v for k, v in table.items() if isinstance(v, dict) and len(f"{k} = {_value(v)}") > WIDTH}
    lines = [f"[[{key}]]", *_lines({k: v for k, v in table.items() if k not in apart})]
    for name, inner in apart.items():
        lines += [f"[{key}.{name}]", *_lines(inner)]
    return "\n".join(lines)


def _lines(table: Mapping[str, Any]) -> list[str]:
    lines = []
    for key, value in table.items():
        line = f"{key} = {_value(value)}"
        rows = isinstance(value, list) and value and isinstance(value[0], Mapping | list)
        if rows and (len(line) > WIDTH or isinstance(value[0], Mapping)):
            line = "\n".join([f"{key} = [", *(f"    {_value(row)}," for row in value), "]"])
        lines.append(line)
    return lines


def _is_array_of_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float):
        return _number(float(value))
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items()) + " }"
    assert isinstance(value, Sequence)
    return "[" + ", ".join(_value(item) for item in value) + "]"


def _key(key: str) -> str:
    """A key as it is, or in quotes where TOML wants them."""
    return key if BARE.fullmatch(key) else _text(key)


def _number(value: float) -> str:
    """The shortest text that reads back as the same float."""
    negative_zero = value == 0.0 and math.copysign(1.0, value) < 0
    whole = value.is_integer() and abs(value) < EXACT_INTEGERS and not negative_zero
    return str(int(value)) if whole else repr(value)


def _text(value: str) -> str:
    """A TOML basic string."""
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise FileError(f"{value!r} cannot be written to a file: it holds half of a surrogate pair")
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}" for c in escaped) + '"'
