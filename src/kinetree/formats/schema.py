"""The mechanism file as a schema: its tables, their keys, units and defaults.

These tables know the shape of the file only; what the values mean is checked by the mechanism built of them.
:func:`json_schema` publishes them for editors that complete and check TOML.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from kinetree.formats.file_values import Angle, Ends, Matrix, Moment, NameOrIndex, Number, Vector
from kinetree.formats.schema_parts import (
    EACH,
    GRAPH_KINDS,
    ORIGIN,
    AboutOriginTable,
    BentRodTable,
    BoxTable,
    CutKind,
    CylinderTable,
    GraphKind,
    JointDirections,
    JointParameters,
    Kind,
    Placed,
    PointTable,
    RodTable,
    ShapeTable,
    SmoothFunctionTable,
    SphereTable,
    Table,
)
from kinetree.model.body import WORLD
from kinetree.model.joint_kind import CUT_KINDS, KINDS
from kinetree.model.mechanism import EARTH
from kinetree.model.muscle import CURVES, METHODS, RADII, SIDES


class JointTable(JointParameters, Placed, JointDirections):
    """The joint that carries a body; its frame is placed in the parent body."""

    name: str | None = Field(None, description="Name of the joint; default: the body's name and '_joint'.")
    labels: list[str] | None = Field(
        None,
        description="Names of the degrees of freedom of a joint with several, appended to the joint's name "
        "after a dot; default: r or t with the axis, such as rx.",
    )


def _kind_alone(value: object) -> object:
    """The joint table, also from its kind alone: joint = "fixed"."""
    if not isinstance(value, str | dict):
        raise ValueError(
            'must be a kind such as "fixed" or a table such as { kind = "revolute", axis = "y" }, '
            f"got {reprlib.repr(value)}"
        )
    return {"kind": value} if isinstance(value, str) else value


class CarryingJoint(JointParameters, JointDirections):
    """The joint that carries an included mechanism."""

    name: str | None = Field(None, description="Name of the joint; default the prefix and 'mount'.")
    labels: list[str] | None = Field(
        None, description="Names of its degrees of freedom, appended to the joint's name after a dot."
    )


class _OrKind:
    """Offers the kind alone besides the table."""

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string", "enum": list(KINDS)}, handler(core_schema)]}


class GraphBodyTable(Table):
    """A body of a graph, whose joints are listed by themselves."""

    name: str = Field(description="Name of the body.")
    mass: Number | None = Field(None, description="Mass (kg).")
    center: Vector | None = Field(None, description="Center of mass in the body frame (m); default origin.")
    inertia: Moment | None = Field(
        None,
        description="Rotational inertia about the center of mass, in body axes (kg m^2): 3 numbers are its "
        "diagonal, 6 are [xx, yy, zz, xy, xz, yz], or a 3 x 3 matrix; default 0.",
    )
    allow_unphysical: bool = Field(
        False, description="Accept an inertia that violates the triangle inequality, as published data may."
    )
    point: PointTable | None = Field(None, description="Point mass, instead of mass, center and inertia.")
    rod: RodTable | None = Field(None, description="Slender rod, instead of mass, center and inertia.")
    box: BoxTable | None = Field(None, description="Solid box, instead of mass, center and inertia.")
    cylinder: CylinderTable | None = Field(
        None, description="Solid cylinder, instead of mass, center and inertia."
    )
    sphere: SphereTable | None = Field(None, description="Solid sphere, instead of mass, center and inertia.")
    bent_rod: BentRodTable | None = Field(
        None, description="Bent slender link, instead of mass, center and inertia."
    )
    about_origin: AboutOriginTable | None = Field(
        None, description="Inertia about the body frame's origin, instead of mass, center and inertia."
    )
    shapes: list[ShapeTable] = Field([], description="Shapes for drawing the body; they have no mass.")
    gravity_compensation: Number = Field(
        0.0, description="Fraction of the weight (no unit) that is compensated externally; default 0."
    )


class BodyTable(GraphBodyTable):
    """A body and the joint that carries it."""

    parent: str = Field(WORLD, description="Name of the body it is attached to; default the world.")
    joint: Annotated[JointTable, BeforeValidator(_kind_alone), _OrKind()] = Field(
        description='The joint between the parent and this body; "fixed" welds them together.'
    )


class EndTable(Placed):
    """One side of a loop's cut joint: a body and the joint's frame in it."""

    body: str = Field(description="Name of the body, or 'world'.")


class GraphJointTable(JointParameters, JointDirections):
    """A joint between bodies a and b, in a mechanism drawn as a graph."""

    name: str = Field(description="Name of the joint.")
    kind: GraphKind = Field(
        description=f"Kind of joint: {', '.join(GRAPH_KINDS)}; a free joint on the world makes a body float."
    )
    a: EndTable = Field(description="Placement of the joint in body a.")
    b: EndTable = Field(description="Placement of the joint, after its motion, in body b.")
    length: Number | None = Field(
        None, description="Length (m) of a rod with a ball at each end; for spherical cut joints."
    )


class LoopTable(GraphJointTable):
    """A cut joint that closes a loop between bodies a and b."""

    name: str = Field(description="Name of the cut joint.")
    kind: CutKind = Field(description=f"Kind of cut joint: {', '.join(CUT_KINDS)}.")
    driven: bool | list[bool] = Field(
        False, description=f"Whether the cut joint has a drive: {EACH}; default false."
    )


class ContactTable(Table):
    """A point of a body that may touch the ground."""

    name: str = Field(description="Name of the contact point.")
    body: str = Field(description="Name of the body.")
    at: Vector = Field(ORIGIN, description="Position in the body frame (m).")
    radius: Number = Field(0.0, description="Radius of a sphere around it (m); default 0, a point.")
    half_axes: Matrix | None = Field(
        None, description="Half axes of an ellipsoid around it, three vectors in the body frame (m)."
    )
    friction: Number | None = Field(
        None, description="Coefficient of friction (no unit); default that of the ground."
    )


class FrameTable(Placed):
    """A named frame of a body: a tool, a sensor."""

    name: str = Field(description="Name of the frame.")
    body: str = Field(description="Name of the body, or 'world'.")


class MarkerTable(Table):
    """A point of a body that motion capture sees."""

    name: str = Field(description="Name of the marker.")
    body: str = Field(description="Name of the body, or 'world'.")
    at: Vector = Field(ORIGIN, description="Position in the body's frame (m).")
    weight: Number = Field(1.0, description="How much its error counts (no unit).")


class ActuatorTable(Table):
    """A motor or servo: force = gain u + bias - kp l - kv dl/dt of a control u, l = sum of gear q."""

    name: str = Field(description="Name of the actuator.")
    gears: dict[str, Number] = Field(
        description="Gear (no unit; m or 1/m) by joint: its torque is the gear times the force."
    )
    gain: Number = Field(1.0, description="Force per control (N or N m, per unit of u); default 1.")
    bias: Number = Field(0.0, description="Constant force (N or N m); default 0.")
    kp: Number = Field(0.0, description="Force per length (N/m or N m/rad); default 0.")
    kv: Number = Field(0.0, description="Force per speed (N s/m or N m s/rad); default 0.")
    force_range: Ends | None = Field(None, description="Smallest and largest force (N or N m).")
    control_range: Ends | None = Field(None, description="Smallest and largest control (unit of u).")


class StateTable(Table):
    """A named state of the mechanism."""

    name: str = Field(description="Name of the state, such as home.")
    q: list[Number] = Field(description="Positions of all joints in their order (rad, m).")
    qd: list[Number] | None = Field(None, description="Velocities (rad/s, m/s); default at rest.")
    control: list[Number] | None = Field(
        None, description="Controls of all actuators (unit of u); default unknown."
    )


class TerrainTable(Table):
    """Uneven ground: heights over a grid, with a smooth surface through them."""

    heights: list[list[Number]] = Field(
        description="Heights (m) above the plane: rows along forward, columns along side; at least 2 of both."
    )
    forward: Annotated[list[Number], Field(min_length=2, max_length=2)] = Field(
        [-1.0, 1.0], description="Extent [from, to] of the rows, along forward (m)."
    )
    side: Annotated[list[Number], Field(min_length=2, max_length=2)] = Field(
        [-1.0, 1.0], description="Extent [from, to] of the columns, along side (m)."
    )


class FloorTable(Table):
    """The floor of the scene."""

    origin: Vector = Field(ORIGIN, description="A point of it (m).")
    normal: Vector = Field([0.0, 0.0, 1.0], description="Direction out of the ground (no unit).")
    friction: Number = Field(1.0, description="Coefficient of friction (no unit).")
    forward: Vector | None = Field(
        None, description="First direction of the terrain (no unit); default along x."
    )
    terrain: TerrainTable | None = Field(None, description="Heights above the plane; default none.")


class SpringEndTable(Table):
    """One end of a spring: a body and a point of it."""

    body: str = Field(description="Name of the body, or 'world'.")
    at: Vector = Field(ORIGIN, description="Position of the point in the body frame (m).")


class SpringTable(Table):
    """A spring with a damper between a point of body a and a point of body b."""

    name: str = Field(description="Name of the spring.")
    a: SpringEndTable = Field(description="Where it is attached to body a.")
    b: SpringEndTable = Field(description="Where it is attached to body b.")
    stiffness: Number = Field(0.0, description="Stiffness (N/m); default 0.")
    damping: Number = Field(0.0, description="Damping along its length (N s/m); default 0.")
    rest: Number = Field(0.0, description="Rest length (m); default 0.")
    turn_damping: Number = Field(
        0.0, description="Damping of the rotation of b relative to a (N m s/rad); default 0."
    )


class IncludeTable(Placed):
    """Another mechanism that is part of this one, with all that it has."""

    mechanism: str = Field(
        description="A mechanism file, with a path relative to this one, or the name of one of the zoo."
    )
    prefix: str = Field("", description='What goes before its names, such as "left_"; default nothing.')
    on: str = Field(
        WORLD, description="Body or frame of those included before that it is placed on; default the world."
    )
    joint: Annotated[CarryingJoint, BeforeValidator(_kind_alone), _OrKind()] | None = Field(
        None,
        description="Joint that carries it; default its own joints, or a weld if it floats and is on a body.",
    )


class WrapTable(Placed):
    """A surface of a body that muscles wrap around."""

    name: str = Field(description="Name of the wrap.")
    body: str = Field(description="Name of the body, or 'world'.")
    shape: str = Field(
        "cylinder",
        description="Shape: cylinder along z, sphere, ellipsoid, torus about z.",
        json_schema_extra={"enum": list(RADII)},
    )
    radii: list[Number] = Field(
        description="Radii (m): one of a cylinder or sphere, three half axes of an ellipsoid, of a torus "
        "that of its tube and that of its center circle."
    )
    length: Number | None = Field(None, description="Length of a cylinder along z (m); default unlimited.")
    side: str | None = Field(
        None,
        description="Side of the wrap that paths go around, such as +x; default the shorter one.",
        json_schema_extra={"enum": list(SIDES)},
    )


class LawTable(SmoothFunctionTable):
    """A smooth function of the position of a joint."""

    coordinate: str = Field(description="Name of the joint.")


class PathPointTable(Placed):
    """A point of a muscle's path, fixed in a body, conditional, or moving in it."""

    body: str = Field(description="Name of the body, or 'world'.")
    coordinate: str | None = Field(None, description="Joint that decides whether the point is active.")
    active: Ends | None = Field(None, description="From where to where the joint is while it is (rad, m).")
    x: Number | LawTable | None = Field(None, description="Place along x of a moving point (m).")
    y: Number | LawTable | None = Field(None, description="Place along y of a moving point (m).")
    z: Number | LawTable | None = Field(None, description="Place along z of a moving point (m).")


class PathWrapTable(Table):
    """The use of a wrap by a muscle."""

    wrap: str = Field(description="Name of the wrap.")
    first: int | None = Field(None, description="Index of the path point (from 0) that it begins after.")
    last: int | None = Field(None, description="Index of the path point that it ends before.")
    method: str = Field(
        "hybrid", description="Method of ellipsoids in OpenSim.", json_schema_extra={"enum": list(METHODS)}
    )


class MuscleTable(Table):
    """A muscle of Hill's type."""

    name: str = Field(description="Name of the muscle.")
    path: list[PathPointTable] = Field(description="Points of its path, from origin to insertion.")
    wraps: list[PathWrapTable] = Field([], description="What it wraps around.")
    max_isometric_force: Number = Field(1000.0, description="Greatest isometric force (N).")
    optimal_fiber_length: Number = Field(0.1, description="Optimal length of the fibers (m).")
    tendon_slack_length: Number = Field(0.2, description="Slack length of the tendon (m).")
    pennation_angle: Angle = Field(0.0, description='Pennation at the optimal length (rad or "10 deg").')
    max_contraction_velocity: Number = Field(10.0, description="Greatest speed (optimal lengths per second).")
    activation_time: Number = Field(0.015, description="Time of activation (s).")
    deactivation_time: Number = Field(0.06, description="Time of deactivation (s).")
    minimum_activation: Number = Field(0.01, description="Least activation (no unit).")
    kind: str = Field(
        "degroote2016", description="Curves of the muscle.", json_schema_extra={"enum": list(CURVES)}
    )
    rigid_tendon: bool = Field(False, description="Whether the tendon does not stretch.")
    curves: dict[str, Number] = Field(
        {}, description="Numbers of the curves by their names (no unit; pennation in rad)."
    )
    slow_twitch: Number = Field(0.5, description="Share of slow fibers (no unit).")
    specific_tension: Number = Field(250e3, description="Greatest stress of the fibers (Pa).")


class DhLink(Table):
    """Geometry and body of a row of a DH table."""

    name: str | None = Field(None, description="Name of the body; default link1, link2, ...")
    parent: NameOrIndex | None = Field(
        None, description="Name or index (from 0) of an earlier row, or 'world'; default the row before."
    )
    joint: Kind | None = Field(
        None, description="Kind of joint; default revolute. Classic tables take revolute, prismatic, fixed."
    )
    joint_name: str | None = Field(None, description="Name of the joint; default joint1, joint2, ...")
    a: Number | None = Field(None, description="Length along x (m); default 0.")
    alpha: Angle | None = Field(None, description='Rotation about x (rad or "90 deg"); default 0.')
    b: Number | None = Field(None, description="Offset along z (m); q of a prismatic joint is added.")
    d: Number | None = Field(None, description="Offset along z (m): another name of b.")
    theta: Angle | None = Field(
        None, description='Rotation about z (rad or "90 deg"); q of a revolute joint is added; default 0.'
    )
    mass: Number | None = Field(None, description="Mass (kg); default 0.")
    center: Vector | None = Field(None, description="Center of mass in the link frame (m).")
    inertia: Moment | None = Field(
        None,
        description="Rotational inertia about the center of mass, in axes of the link frame (kg m^2): "
        "diagonal, [xx, yy, zz, xy, xz, yz] or matrix.",
    )
    allow_unphysical: bool = Field(
        False, description="Accept an inertia that violates the triangle inequality, as published data may."
    )


class DhRowTable(JointParameters, DhLink):
    """A row of a DH table: a joint and the body it carries."""


class DhTable(Table):
    """A table of Denavit-Hartenberg parameters, instead of bodies."""

    convention: str = Field(
        "modified",
        description="Convention: modified (link frames at their joints) or classic (at their distal ends).",
        json_schema_extra={"enum": ["modified", "classic"]},
    )
    row: list[DhRowTable] = Field(description="One row per body, parents before children.")


class MechanismTable(Table):
    """A mechanism: bodies carried by joints, or a DH table; loops, springs, contact points. SI units, rad."""

    name: str = Field(description="Name of the mechanism.")
    gravity: Vector = Field(
        list(EARTH), description="Gravitational acceleration in the world (m/s^2); default z up on Earth."
    )
    include: list[IncludeTable] = Field([], description="Mechanisms that are parts of this one.")
    body: list[BodyTable] = Field([], description="Bodies, each with the joint to its parent.")
    dh: DhTable | None = Field(None, description="DH table, instead of bodies.")
    loop: list[LoopTable] = Field([], description="Cut joints that close loops.")
    spring: list[SpringTable] = Field([], description="Springs and dampers between points of two bodies.")
    contact: list[ContactTable] = Field([], description="Points that may touch the ground.")
    frame: list[FrameTable] = Field([], description="Named frames of bodies.")
    marker: list[MarkerTable] = Field([], description="Points of bodies that motion capture sees.")
    actuator: list[ActuatorTable] = Field([], description="Motors and servos.")
    state: list[StateTable] = Field([], description="Named states.")
    floor: FloorTable | None = Field(None, description="The floor of the scene; default none.")
    muscle: list[MuscleTable] = Field([], description="Muscles.")
    wrap: list[WrapTable] = Field([], description="Surfaces that muscles wrap around.")


class GraphTable(Table):
    """A mechanism as a graph: bodies, and all joints between them, from which a spanning tree is found."""

    name: str = Field(description="Name of the mechanism.")
    gravity: Vector = Field(
        list(EARTH), description="Gravitational acceleration in the world (m/s^2); default z up on Earth."
    )
    body: list[GraphBodyTable] = Field(description="Bodies, without parents and joints.")
    joint: list[GraphJointTable] = Field(description="All joints, each between two bodies or the world.")
    cut: list[str] | None = Field(
        None, description="Names of the joints to cut; default chosen automatically."
    )
    spring: list[SpringTable] = Field([], description="Springs and dampers between points of two bodies.")
    contact: list[ContactTable] = Field([], description="Points that may touch the ground.")


def is_graph(table: Mapping[str, Any]) -> bool:
    """Whether a file draws its mechanism as a graph: it has [[joint]] tables."""
    return isinstance(table.get("joint"), list)


class FileSchema(GenerateJsonSchema):
    """A key that may be left out is left out, never null: TOML has no null."""

    def nullable_schema(self, schema: Any) -> JsonSchemaValue:
        """What may be null is described as what it is otherwise."""
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Keys speak for themselves."""
        return False

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        """A default is shown unless it is null."""
        known = super().default_schema(schema)
        return {key: x for key, x in known.items() if key != "default" or x is not None}


def json_schema() -> dict[str, Any]:
    """The JSON schema of a mechanism file, with a description and the unit of every key.

    A file with [[joint]] tables draws a graph, any other one has bodies with their joints, or a DH table.
    """
    both = {name: _parts(table) for name, table in (("graph", GraphTable), ("tree", MechanismTable))}
    drawn = {"required": ["joint"]}
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        "title": "Mechanism",
        "type": "object",
        "if": drawn,
        "then": {"$ref": f"#/$defs/{GraphTable.__name__}"},
        "else": {"$ref": f"#/$defs/{MechanismTable.__name__}"},
        "$defs": both["tree"] | both["graph"],
    }


def _parts(table: type[Table]) -> dict[str, Any]:
    """The schema of a table and of those in it, by name."""
    schema = table.model_json_schema(schema_generator=FileSchema)
    return {**schema.pop("$defs", {}), table.__name__: schema}
