"""The parts of a mechanism that the tables of a TOML file describe: bodies, joints, DH rows, loops, springs,
contact points.

The keys, their units and their defaults are described in :mod:`kinetree.formats.schema`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import frozen
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import rotation_to_axis, unit_axis
from kinetree.algebra.smooth_functions import SmoothFunction
from kinetree.errors import ModelError, listed
from kinetree.formats.file_values import Degrees
from kinetree.formats.function_tables import function_of
from kinetree.formats.schema import (
    ActuatorTable,
    BodyTable,
    CarryingJoint,
    ContactTable,
    DhRowTable,
    FloorTable,
    FrameTable,
    GraphBodyTable,
    GraphJointTable,
    JointTable,
    LawTable,
    MarkerTable,
    MuscleTable,
    PathPointTable,
    SpringTable,
    StateTable,
    TerrainTable,
    WrapTable,
)
from kinetree.formats.schema_parts import JointParameters, MimicTable, Placed, ShapeTable, SmoothFunctionTable
from kinetree.model.actuator import Actuator
from kinetree.model.body import Body, Shape
from kinetree.model.contact_point import ContactPoint
from kinetree.model.floor import Floor
from kinetree.model.frame import Frame
from kinetree.model.height_field import HeightField
from kinetree.model.inertia import Inertia
from kinetree.model.joint import PARAMETERS, Joint, Mimic
from kinetree.model.joint_kind import ALL_KINDS, KINDS, REVOLUTE
from kinetree.model.loop import Loop
from kinetree.model.marker import Marker
from kinetree.model.mechanism import Link
from kinetree.model.muscle import MovingPoint, Muscle, PathPoint, PathWrap, Wrap
from kinetree.model.named_state import NamedState
from kinetree.model.spring import Spring

UNIT_LENGTH_SLACK = 4 * np.finfo(np.float64).eps
SOLIDS = ("point", "rod", "box", "cylinder", "sphere", "bent_rod", "about_origin")


def link_of(table: BodyTable) -> Link:
    """A body with the joint that carries it."""
    name = f"{table.name}_joint" if table.joint.name is None else table.joint.name
    joint = joint_of(name, table.joint)
    return Link(body_of(table), joint, table.parent, placement_of(table.joint, f"joint '{name}'"))


def body_of(table: GraphBodyTable) -> Body:
    """A body by itself."""
    shapes = tuple(shape_of(shape) for shape in table.shapes)
    return Body(table.name, inertia_of(table), shapes, table.gravity_compensation)


def seen_body(table: GraphBodyTable) -> Body:
    """A body by itself that looks like its box, cylinder or sphere unless it has shapes."""
    body = body_of(table)
    if body.shapes:
        return body
    if table.box is not None:
        shape = Shape("box", frozen(table.box.size), Placement.at(table.box.center))
    elif table.sphere is not None:
        shape = Shape("sphere", frozen([table.sphere.radius]), Placement.at(table.sphere.center))
    elif table.cylinder is not None:
        solid = table.cylinder
        along = rotation_to_axis(unit_axis(solid.axis, "axis of the cylinder", ModelError))
        shape = Shape("cylinder", frozen([solid.radius, solid.length]), Placement.at(solid.center, along))
    else:
        return body
    return replace(body, shapes=(shape,))


def dh_row_of(table: DhRowTable) -> dict[str, Any]:
    """The row as :func:`kinetree.model.dh.from_dh` takes it."""
    row = {key: value for key, value in table if value is not None}
    _check_degrees(table.joint or REVOLUTE, table)
    return row if table.mimic is None else row | {"mimic": _mimic(table.mimic)}


def loop_of(table: GraphJointTable) -> Loop:
    """A joint between two bodies, cut or of a graph."""
    place_a, place_b = placement_of(table.a, "body a"), placement_of(table.b, "body b")
    length = None if table.length is None else float(table.length)
    return Loop(joint_of(table.name, table, cut=True), table.a.body, table.b.body, place_a, place_b, length)


def contact_point_of(table: ContactTable) -> ContactPoint:
    """A point of a body that may touch the ground."""
    half = None if table.half_axes is None else frozen(table.half_axes)
    friction = None if table.friction is None else float(table.friction)
    return ContactPoint(table.name, table.body, frozen(table.at), float(table.radius), half, friction)


def frame_of(table: FrameTable) -> Frame:
    """A named frame of a body."""
    return Frame(table.name, table.body, placement_of(table, f"frame '{table.name}'"))


def marker_of(table: MarkerTable) -> Marker:
    """A point that motion capture sees."""
    x, y, z = table.at
    return Marker(table.name, table.body, (x, y, z), float(table.weight))


def actuator_of(table: ActuatorTable) -> Actuator:
    """A motor or servo."""
    ranges = {key: getattr(table, key) for key in ("force_range", "control_range")}
    given: dict[str, Any] = {key: tuple(ends) for key, ends in ranges.items() if ends is not None}
    return Actuator(
        table.name, tuple(table.gears.items()), table.gain, table.bias, table.kp, table.kv, **given
    )


def state_of(table: StateTable) -> NamedState:
    """A named state."""
    control = None if table.control is None else frozen(table.control)
    return NamedState(table.name, frozen(table.q), frozen(table.qd or []), control)


def floor_of(table: FloorTable) -> Floor:
    """The floor of the scene."""
    terrain = None if table.terrain is None else terrain_of(table.terrain)
    return Floor(table.origin, table.normal, table.friction, table.forward, terrain)


def terrain_of(table: TerrainTable) -> HeightField:
    """Heights over a grid."""
    lengths = sorted({len(row) for row in table.heights})
    if len(lengths) > 1:
        raise ModelError(
            f"heights of a terrain must be rows of one length, got {lengths[0]} and {lengths[1]}"
        )
    (a, b), (c, d) = table.forward, table.side
    return HeightField(table.heights, (a, b), (c, d))


def spring_of(table: SpringTable) -> Spring:
    """A spring between points of two bodies."""
    return Spring(
        table.name,
        table.a.body,
        table.b.body,
        frozen(table.a.at),
        frozen(table.b.at),
        float(table.stiffness),
        float(table.damping),
        float(table.rest),
        float(table.turn_damping),
    )


def wrap_of(table: WrapTable) -> Wrap:
    """A surface that muscles wrap around."""
    place = placement_of(table, f"wrap '{table.name}'")
    length = None if table.length is None else float(table.length)
    return Wrap(table.name, table.body, table.shape, place, tuple(table.radii), length, table.side)


def muscle_of(table: MuscleTable) -> Muscle:
    """A muscle with its path."""
    path = tuple(path_point_of(point, f"muscle '{table.name}'") for point in table.path)
    wraps = tuple(PathWrap(use.wrap, use.first, use.last, use.method) for use in table.wraps)
    numbers = {key: value for key, value in table if key not in ("name", "path", "wraps", "curves")}
    return Muscle(table.name, path, wraps, **numbers, curves=tuple(table.curves.items()))


def path_point_of(table: PathPointTable, what: str) -> PathPoint | MovingPoint:
    """A point of a path: fixed, conditional, or moving if it has places along its axes."""
    given = [getattr(table, key) for key in "xyz"]
    if all(law is None for law in given):
        if table.rotation is not None or table.rpy is not None:
            raise ModelError(f"{what}: a path point that does not move has no rotation")
        active = None if table.active is None else (table.active[0], table.active[1])
        return PathPoint(table.body, (table.at[0], table.at[1], table.at[2]), table.coordinate, active)
    if any(law is None for law in given) or table.coordinate is not None or table.active is not None:
        raise ModelError(f"{what}: a moving path point has x, y and z, and neither coordinate nor active")
    x, y, z = (float(law) if isinstance(law, int | float) else _law(law) for law in given)
    a, b, c = (None if isinstance(law, int | float) else law.coordinate for law in given)
    return MovingPoint(table.body, x, y, z, (a, b, c), placement_of(table, what))


def _law(table: LawTable) -> SmoothFunction:
    return function_of(SmoothFunctionTable(**{key: value for key, value in table if key != "coordinate"}))


def placement_of(table: Placed, what: str) -> Placement:
    """Where a frame is; ``what`` names it in messages."""
    return Placement.at(table.at, table.rotation, table.rpy, what=what, error=ModelError)


def shape_of(table: ShapeTable) -> Shape:
    """What a body looks like."""
    size: Any = table.size
    color: Any = table.color
    return Shape(table.kind, size, placement_of(table, f"shape '{table.kind}'"), table.file, color)


def inertia_of(table: GraphBodyTable) -> Inertia:
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
        raise ModelError(f"has {listed(plain)} but no mass; add mass (kg), which can be 0")
    given = {"mass": table.mass, "center": table.center, "moment": table.inertia}
    given = {key: value for key, value in given.items() if value is not None}
    return Inertia(**given, allow_unphysical=table.allow_unphysical)


def joint_of(name: str, keys: JointTable | CarryingJoint | GraphJointTable, cut: bool = False) -> Joint:
    """A joint with its axes exactly as they are written."""
    _check_degrees(keys.kind, keys)
    mimic = None if keys.mimic is None else _mimic(keys.mimic)
    given = {key: getattr(keys, key) for key in PARAMETERS if getattr(keys, key) is not None}
    labels = () if isinstance(keys, GraphJointTable) else (keys.labels or ())
    joint = Joint.of_kind(
        name, keys.kind, keys.axis, keys.axes, keys.sequence, mimic, keys.driven, cut, labels, **given
    )
    one = KINDS[keys.kind].one_axis if keys.kind in KINDS else True
    alone = [keys.axis] * joint.n_dof if one else [None] * (joint.n_dof - 1) + [keys.axis] * bool(joint.n_dof)
    written = keys.axes if keys.axes is not None else alone
    written = written * joint.n_dof if one and len(written) == 1 else written
    exact = [_exact(*pair) for pair in zip(joint.axes, written, strict=True)]
    axes = frozen(exact).reshape(-1, 3)
    return joint if np.array_equal(axes, joint.axes) else replace(joint, axes=axes)


def _mimic(table: MimicTable) -> Mimic:
    others = tuple((name, float(value)) for name, value in table.others.items())
    function = None if table.function is None else function_of(table.function)
    numbers = float(table.multiplier), float(table.offset), tuple(table.higher)
    return Mimic(table.joint, *numbers, others, function)


def _exact(unit: Any, written: str | list[float] | None) -> Any:
    """The axis as written if it is a unit vector already: normalizing again might change its last bit."""
    if written is None or isinstance(written, str):
        return unit
    return written if abs(np.linalg.norm(written) - 1.0) <= UNIT_LENGTH_SLACK else unit


def _check_degrees(kind: str, keys: JointParameters) -> None:
    """Degrees are for revolute axes only."""
    given = {key: value for key in PARAMETERS if (value := getattr(keys, key)) is not None}
    if keys.mimic is not None:
        given["mimic.offset"] = keys.mimic.offset
    turns = ALL_KINDS[kind].turns if kind in ALL_KINDS else ()
    for key, value in given.items():
        each = value if isinstance(value, list) else [value] * len(turns)
        for x, turn in zip(each, turns, strict=False):
            if isinstance(x, Degrees) and not turn:
                raise ModelError(f"{key} of a prismatic axis is a length (m), got {np.degrees(x):g} deg")
