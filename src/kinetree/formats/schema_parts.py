"""Parts of the mechanism file's schema: frames, joints, solids and shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from kinetree.algebra.rotation import THREE_AXIS_SEQUENCES, TWO_AXIS_SEQUENCES
from kinetree.algebra.smooth_functions import ENDS
from kinetree.formats.file_values import (
    Angle,
    Angles,
    Axis,
    Color,
    Limit,
    Matrix,
    Moment,
    Number,
    PerAxis,
    Position,
    PositionLimit,
    Size,
    Vector,
)
from kinetree.model.body import SHAPE_SIZES
from kinetree.model.joint_kind import CUT_KINDS, KINDS

ORIGIN = [0.0, 0.0, 0.0]
FUNCTIONS = {
    "polynomial": ("coefficients",),
    "cubic_spline": ("x", "y"),
    "piecewise_linear": ("x", "y"),
    "scaled": ("function", "factor"),
    "composed": ("outer", "inner"),
}
EACH = "one number, or one per degree of freedom"
Kind = Annotated[str, Field(json_schema_extra={"enum": list(KINDS)})]
CutKind = Annotated[str, Field(json_schema_extra={"enum": list(CUT_KINDS)})]
GRAPH_KINDS = tuple(dict.fromkeys((*KINDS, *CUT_KINDS)))
GraphKind = Annotated[str, Field(json_schema_extra={"enum": list(GRAPH_KINDS)})]
EulerSequence = Annotated[
    str, Field(json_schema_extra={"enum": [*THREE_AXIS_SEQUENCES, *TWO_AXIS_SEQUENCES]})
]
ShapeKind = Annotated[str, Field(json_schema_extra={"enum": list(SHAPE_SIZES)})]


class Table(BaseModel):
    """A table of the file: unknown keys and values of another type are refused.

    ``elsewhere`` names keys that users expect here, each with the key that it is in the file.
    """

    elsewhere: ClassVar[Mapping[str, str]] = {}
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Placed(Table):
    """Where a frame sits."""

    at: Vector = Field(ORIGIN, description="Position of the frame's origin (m).")
    rpy: Angles | None = Field(
        None,
        description='Fixed-axis roll, pitch and yaw of the frame (rad, or text such as "90 deg"): '
        "Rz(yaw) Ry(pitch) Rx(roll).",
    )
    rotation: Matrix | None = Field(
        None, description="Rotation matrix of the frame (no unit), by rows, instead of rpy."
    )


class SmoothFunctionTable(Table):
    """A smooth function of one coordinate."""

    kind: str = Field(description="What it is made of.", json_schema_extra={"enum": list(FUNCTIONS)})
    coefficients: list[Number] | None = Field(
        None, description="Coefficients of a polynomial, lowest power first (rad or m)."
    )
    x: list[Number] | None = Field(None, description="Ascending points of a spline or of lines (rad or m).")
    y: list[Number] | None = Field(None, description="Values at these points (rad or m).")
    ends: str | None = Field(
        None, description="Ends of a spline; default cubic.", json_schema_extra={"enum": list(ENDS)}
    )
    factor: Number | None = Field(None, description="Factor of a scaled function (no unit).")
    function: SmoothFunctionTable | None = Field(None, description="The function that is scaled.")
    outer: SmoothFunctionTable | None = Field(None, description="The outer one of two functions.")
    inner: SmoothFunctionTable | None = Field(None, description="The inner one of two functions.")


class MimicTable(Table):
    """Another joint that this one follows: offset + multiplier p + higher[0] p^2 + ... of its p."""

    joint: str = Field(description="Name of the joint to follow; it has one degree of freedom.")
    multiplier: Number = Field(1.0, description="Ratio of the two coordinates (no unit, rad/m or m/rad).")
    offset: Angle = Field(0.0, description='Coordinate when the other joint is at zero (rad or "90 deg", m).')
    higher: list[Number] = Field([], description="Coefficients of p^2, p^3 and p^4 (SI units); default none.")
    others: dict[str, Number] = Field(
        {},
        description="Further joints that it follows: their multipliers by name (no unit or m, rad).",
    )
    function: SmoothFunctionTable | None = Field(
        None, description="Any smooth function of p, instead of multiplier, offset, higher and others."
    )


class JointDirections(Table):
    """Which motions a joint leaves free."""

    kind: Kind = Field(description=f"Kind of joint: {', '.join(KINDS)}.")
    axis: Axis | None = Field(
        None,
        description="Axis of a revolute, prismatic or cylindrical joint in its own frame, or across the "
        'plane of a planar one: "x", "-y", ... or a direction of any length (no unit); default z.',
    )
    axes: list[Axis] | None = Field(
        None,
        description="Directions of all axes in the joint's frame (no unit), instead of axis or sequence.",
    )


class JointParameters(Table):
    """What a joint of any kind may have, per degree of freedom."""

    sequence: EulerSequence | None = Field(
        None,
        description="Euler sequence of a universal (two letters, default XY), spherical or free joint (three "
        "letters, default YXZ); intrinsic.",
    )
    lower: PositionLimit | None = Field(
        None, description=f'Lower limit of the position (rad or "90 deg", m): {EACH}; default no limit.'
    )
    upper: PositionLimit | None = Field(
        None, description=f'Upper limit of the position (rad or "90 deg", m): {EACH}; default no limit.'
    )
    velocity_limit: Limit | None = Field(
        None, description=f"Largest speed (rad/s or m/s): {EACH}; default no limit."
    )
    effort_limit: Limit | None = Field(
        None, description=f"Largest torque or force of the drive (N m or N): {EACH}; default no limit."
    )
    armature: PerAxis | None = Field(
        None, description=f"Inertia of the drive, reflected to the joint (kg m^2 or kg): {EACH}; default 0."
    )
    viscous: PerAxis | None = Field(
        None, description=f"Viscous friction (N m s/rad or N s/m): {EACH}; default 0."
    )
    coulomb: PerAxis | None = Field(None, description=f"Coulomb friction (N m or N): {EACH}; default 0.")
    coulomb_reverse: PerAxis | None = Field(
        None,
        description=f"Coulomb friction of motion in the negative direction (N m or N), >= 0: {EACH}; default "
        "that of `coulomb`.",
    )
    stiffness: PerAxis | None = Field(
        None, description=f"Stiffness of a spring in the joint (N m/rad or N/m): {EACH}; default 0."
    )
    rest: Position | None = Field(
        None, description=f'Rest position of that spring (rad or "90 deg", m): {EACH}; default 0.'
    )
    mimic: MimicTable | None = Field(None, description="The joint that this one follows.")
    driven: bool | list[bool] = Field(
        True,
        description=f"Whether the joint has a drive; without one its torque is zero: {EACH}; default true.",
    )


class PointTable(Table):
    """A point mass."""

    mass: Number = Field(description="Mass (kg).")
    at: Vector = Field(ORIGIN, description="Position in the body frame (m).")


class RodTable(Table):
    """A slender rod between two points."""

    mass: Number = Field(description="Mass (kg).")
    end: Vector = Field(description="Where the rod ends in the body frame (m).")
    start: Vector = Field(ORIGIN, description="Where the rod starts in the body frame (m).")


class BoxTable(Table):
    """A solid box."""

    mass: Number = Field(description="Mass (kg).")
    size: Vector = Field(description="Edges along x, y, z (m).")
    center: Vector = Field(ORIGIN, description="Center in the body frame (m).")


class CylinderTable(Table):
    """A solid cylinder."""

    mass: Number = Field(description="Mass (kg).")
    radius: Number = Field(description="Radius (m).")
    length: Number = Field(description="Length along its axis (m).")
    axis: Axis = Field("z", description='Direction of its axis (no unit): "x", "-y", ... or 3 numbers.')
    center: Vector = Field(ORIGIN, description="Center in the body frame (m).")


class SphereTable(Table):
    """A solid sphere."""

    mass: Number = Field(description="Mass (kg).")
    radius: Number = Field(description="Radius (m).")
    center: Vector = Field(ORIGIN, description="Center in the body frame (m).")


class BentRodTable(Table):
    """A bent slender link ([Mohan2007]): length b along z, then a along x."""

    mass: Number = Field(description="Mass of the link, uniform per length (kg).")
    a: Number = Field(description="Length along x, after the bend (m).")
    b: Number = Field(description="Length along z, before the bend (m).")
    payload: Number = Field(0.0, description="Point mass at the distal end (a, 0, b) (kg).")
    hub: Number = Field(0.0, description="Inertia of the motor about z at the joint (kg m^2).")


class AboutOriginTable(Table):
    """Inertia about the body frame's origin instead of the center of mass."""

    mass: Number = Field(description="Mass (kg).")
    center: Vector = Field(ORIGIN, description="Center of mass in the body frame (m).")
    inertia: Moment = Field(
        description="Rotational inertia about the body frame's origin, in body axes (kg m^2): diagonal, "
        "[xx, yy, zz, xy, xz, yz] or matrix."
    )


class ShapeTable(Placed):
    """A shape for drawing; it has no mass."""

    kind: ShapeKind = Field(description=f"Kind of shape: {', '.join(SHAPE_SIZES)}.")
    size: Size = Field(
        description="Box: edges x, y, z (m); cylinder and capsule: radius, length along z (m); "
        "sphere: [radius] (m); ellipsoid: half axes x, y, z (m); mesh: scale x, y, z (no unit)."
    )
    file: str | None = Field(None, description="File of a mesh.")
    color: Color | None = Field(None, description="Red, green, blue and opacity, from 0 to 1 (no unit).")
