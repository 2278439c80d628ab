"""The tables of a study that asks for the best motion."""

from __future__ import annotations

from pydantic import Field

from kinetree.formats.file_values import Angle, Number, Vector
from kinetree.formats.schema_parts import Table
from kinetree.study.tables import EACH, FUNCTION, LoadTable
from kinetree.study.values import Ends, Gains, Limits, Positions, Positive, Rows, Seed, Whole, choice

OBJECTIVES = ("time", "squared_torque", "mixed", "power", "jerk", "function")
SOLVERS = ("auto", "interior", "ipopt", "slsqp")
PLACES = ("samples", "knots", "start", "end")
PARTS = ("force", "moment", "fx", "fy", "fz", "mx", "my", "mz")
RATES = ("position", "velocity", "acceleration")
ORIGIN = [0.0, 0.0, 0.0]


class EndTable(Table):
    """State at an end of the motion; by default at rest."""

    q: Positions | None = Field(None, description=f'Positions (rad or "90 deg", m): {EACH}; others are open.')
    q_degrees: Gains | None = Field(None, description="Angles in degrees, instead of q.")
    qd: Gains | None = Field(0.0, description="Velocities (rad/s, m/s); default 0.")
    qdd: Gains | None = Field(None, description="Accelerations (rad/s^2, m/s^2); default open.")


class PointTable(Table):
    """A point of a body that must be somewhere."""

    body: str = Field(description="Name of the body.")
    point: Vector = Field(ORIGIN, description="The point in the body's frame (m); default its origin.")
    target: Vector = Field(description="Where it must be in the world (m).")
    axes: str = Field("xyz", description='Directions that count, such as "xy"; default all.')
    at: choice("place", lambda: PLACES) = Field(  # type: ignore[valid-type]
        "end", description='"start", "end", or all "samples" or "knots".'
    )


class KeepOutTable(Table):
    """A sphere that points of a body stay out of."""

    body: str = Field(description="Name of the body.")
    points: Rows = Field([ORIGIN], description="Points in the body's frame (m); default its origin.")
    center: Vector = Field(description="Centre of the sphere (m), in the world or in another body.")
    radius: Positive = Field(description="Radius (m).")
    of: str = Field("world", description='Name of the body that the sphere is fixed in; default "world".')


class ReactionTable(Table):
    """A limit of the force or moment inside a joint."""

    body: str = Field(description="Name of the body whose joint it is.")
    upper: Number = Field(description="Largest norm, or upper bound of a component (N, N m).")
    lower: Number | None = Field(None, description="Lower bound of a component; default -upper.")
    part: choice("part", lambda: PARTS) = Field(  # type: ignore[valid-type]
        "force", description='Norm of the "force" or "moment", or one component "fx" to "mz" in body axes.'
    )


class MotionTable(Table):
    """What a motion is to be like; each phase of several has such a table."""

    objective: choice("objective", lambda: OBJECTIVES) = Field(  # type: ignore[valid-type]
        "time",
        description='"time", "squared_torque", "mixed" ((1 - u) T + u times squared torques), "power", '
        '"jerk" or "function".',
    )
    torque_weight: Number = Field(
        0.01, description="u of the mixed objective, from 0 to 1 (001, section 6.4)."
    )
    function: str | None = Field(None, description=f"Integrand f(s, q, qd, qdd, tau). {FUNCTION}.")
    start: EndTable | None = Field(None, description="State at the start; needed if there are no phases.")
    end: EndTable | None = Field(None, description="State at the end; needed if there are no phases.")
    duration: Ends | None = Field(
        None, description="Lowest and highest duration (s); a fixed one is study.duration; default free."
    )
    torque_limits: Limits | None = Field(
        None, description='Largest torques, or "model"; default the model\'s.'
    )
    torque_rate_limits: Gains | None = Field(
        None, description="Largest changes of torques (N m/s, N/s); default none."
    )
    velocity_limits: Limits | None = Field(None, description='Largest velocities, or "model"; default none.')
    acceleration_limits: Gains | None = Field(None, description="Largest accelerations; default none.")
    joint_limits: bool = Field(False, description="Whether the joints keep within the model's limits.")
    reaction_limit: list[ReactionTable] = Field([], description="Limits of forces inside joints.")
    point: list[PointTable] = Field([], description="Points of bodies that must be somewhere.")
    keep_out: list[KeepOutTable] = Field([], description="Spheres that points of bodies stay out of.")
    frozen: dict[str, Angle] = Field({}, description="Joints that do not move, and where they stay.")
    segments: Whole = Field(20, description="Segments of the B-splines.")
    degree: Whole = Field(3, description="Degree of the B-splines.")
    samples: Whole = Field(2, description="Instants per segment at which constraints are enforced.")


class PhaseTable(MotionTable):
    """One of several phases: what is not said here is as in [predict]."""

    load: list[LoadTable] | None = Field(None, description="Loads of this phase, instead of the study's.")
    goes_on: choice("quantity", lambda: RATES) = Field(  # type: ignore[valid-type]
        "velocity",
        description='Up to which of "position", "velocity", "acceleration" it goes on from the phase before.',
    )


class PredictTable(MotionTable):
    """What is the best motion, and what it must satisfy."""

    objective: choice("objective", lambda: OBJECTIVES) = Field(  # type: ignore[valid-type]
        description=MotionTable.model_fields["objective"].description
    )
    phase: list[PhaseTable] = Field([], description="Phases in a row, each a [[predict.phase]].")
    solver: choice("solver", lambda: SOLVERS) = Field(  # type: ignore[valid-type]
        "auto", description=f"One of {', '.join(SOLVERS)}."
    )
    starts: Whole = Field(1, description="Number of starts; those after the first are random.")
    seed: Seed = Field(0, description="Seed of the random starts.")
    tolerance: Positive = Field(1e-6, description="Of optimality and relative violations.")
    max_iterations: Whole = Field(1000, description="Limit of iterations.")
    time_limit: Positive | None = Field(None, description="Limit of computing time (s).")
    refine: bool = Field(
        False, description="Whether knots are put to where limits begin and end until nothing changes."
    )
