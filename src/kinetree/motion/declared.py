"""Every term of a prediction with its parameters, declared once: name, kind, unit, default, and what it is.

From these rows come the tables of study files with their checks, the JSON schema that editors complete from,
and the documentation's list. The classes in `motion/terms/` take the same parameters; a test compares them.
Nothing heavy is imported here, for every study file is read with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

NEEDED: Final = ...  # the default of a parameter that has none
ORIGIN = (0.0, 0.0, 0.0)
PLACES = ("samples", "knots", "start", "end")
PARTS = ("force", "moment", "fx", "fy", "fz", "mx", "my", "mz")


@dataclass(frozen=True)
class Parameter:
    """One parameter: ``kind`` says what it may be (`study.prediction_tables.KINDS`), ``text`` what it means.

    ``said`` shows the default in words; ``choices`` are the names that a kind "choice" allows.
    """

    name: str
    kind: str
    text: str
    default: Any = NEEDED
    unit: str = ""
    said: str = ""
    choices: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """Meaning, unit and default in one sentence.

        >>> Parameter("radius", "positive", "Radius", unit="m").description
        'Radius (m).'
        """
        unit = f" ({self.unit})" if self.unit else ""
        return f"{self.text}{unit}{f'; {self.said}' if self.said else ''}."


@dataclass(frozen=True)
class Short:
    """One key that stands for a whole term: ``key = value`` in [predict], as in ``velocity_limits = 4.0``.

    ``kind`` "flag" makes a term without arguments, others give its first parameter; "model" is none.
    ``of_model`` names a kind of limits of mechanisms: where a joint has one, the term is there without being
    asked for, unless the study says otherwise.
    """

    key: str
    kind: str
    text: str
    default: Any = None
    of_model: str = ""


@dataclass(frozen=True)
class Declared:
    """A term: its class in ``kt.terms``, and its key in a study file, where each is a [[predict.key]]."""

    term: str
    key: str
    text: str
    parameters: tuple[Parameter, ...] = ()
    objective: bool = False
    short: Short | None = None

    @property
    def complete(self) -> bool:
        """Whether it needs no arguments, so that ``objective = "key"`` is enough."""
        return all(parameter.default is not NEEDED for parameter in self.parameters)

    def made(self, **arguments: Any) -> Any:
        """The term itself."""
        from kinetree.motion import terms

        return getattr(terms, self.term)(**arguments)


_PLACES = '"start", "end", all "samples" or "knots", or values of s = t / T from 0 to 1'


def _body(text: str = "Name of the body") -> Parameter:
    return Parameter("body", "text", text)


def _at(default: str = "samples") -> Parameter:
    return Parameter("at", "place", _PLACES, default, said=f'default "{default}"')


def _radius(text: str, name: str = "radius") -> Parameter:
    return Parameter(name, "number", text, 0.0, "m", "default 0")


_AT_OR_POINTS = Parameter(
    "at", "place_or_points", f'{_PLACES}; or "points": control points stay within the bounds', "samples",
    said='default "samples"',
)  # fmt: skip
_JOINTS = Parameter("joints", "names", "Names of the joints", None, said="default all")
_POINT = Parameter("point", "vector", "The point in the body's frame", ORIGIN, "m", "default its origin")
_POINTS = Parameter("points", "rows", "Points in the body's frame", ORIGIN, "m", "default its origin")
_AXES = Parameter("axes", "text", 'Directions that count, such as "xy"', "xyz", said="default all")
_WEIGHTS = Parameter("weights", "gains", "Weights of the joints", 1.0, said="default 1")
_MEASURES = Parameter("limits", "bounds", "Scale of torques", None, "N m, N", "default the model's limits")
_DURING = Parameter("during", "numbers", "From which s = t / T to which", (0.0, 1.0), said="default all")
_SHAPE = Parameter(
    "shape", "choice", 'Planes of a "box" around the cone, of an "octagon" within it, or the "cone" itself',
    "box", choices=("box", "octagon", "cone"),
)  # fmt: skip
_PART = Parameter(
    "part", "choice", 'Norm of the "force" or "moment", or one component "fx" to "mz" in body axes', "force",
    choices=PARTS,
)  # fmt: skip
_RATES = Parameter(
    "rates", "rates",
    '1: positions, 2: also velocities, 3: also accelerations; or names such as ["velocity"]', 2,
    said="default 2",
)  # fmt: skip
_CYCLE = (
    _RATES,
    Parameter("offset", "gains", "Change of joints over the motion, by name", None, "rad, m", "default 0"),
    Parameter("spline", "flag", "Whether the spline itself is periodic, with all its derivatives", False),
)


_CODE = "runs only with --allow-code file.py"
_SLOPES = Parameter(
    "slopes", "function",
    "Python function 'file.py:name' of the same arguments that returns derivatives by q, qd, qdd and tau; "
    f"{_CODE}",
    None, said="default differences",
)  # fmt: skip
_OWN = (
    Parameter(
        "function", "function",
        "Python function 'file.py:name' of (s, q, qd, qdd, tau), (m,) and four (m, n_dof), that returns "
        f"(m,); {_CODE}",
    ),
    _SLOPES,
)  # fmt: skip


def _limits(unit: str, kind: str = "bounds") -> tuple[Parameter, ...]:
    return (
        Parameter("upper", kind, "Upper bounds", None, unit, "default the model's"),
        Parameter("lower", kind, "Lower bounds", None, unit, "default -upper"),
        _JOINTS,
        _at(),
    )


OBJECTIVES: tuple[Declared, ...] = (
    Declared("Time", "time", "the duration", objective=True),
    Declared(
        "SquaredTorque", "squared_torque", "squared torques over time",
        (
            _JOINTS,
            _WEIGHTS,
            Parameter("normalized", "flag", "Whether torques are divided by their limits first", False),
        ),
        objective=True,
    ),
    Declared(
        "Power", "power", "absolute mechanical power of the drives",
        (
            _JOINTS,
            Parameter("smooth", "positive", "How far the corner at zero power is rounded", 0.1, "W"),
        ),
        objective=True,
    ),
    Declared(
        "Effort", "effort", "torques over their limits, to a power",
        (
            Parameter("exponent", "positive", "The power, 2 or more (no unit)", 2.5, said="default 2.5"),
            _JOINTS,
            _WEIGHTS,
            _MEASURES,
            _DURING,
        ),
        objective=True,
    ),
    Declared(
        "TorqueRate", "torque_rate", "squared rates of torques over their limits",
        (
            _JOINTS,
            _WEIGHTS,
            _MEASURES,
            Parameter("pairs", "partners", "Joints and partners that continue mirrored", None),
            Parameter("mirrored", "names", "Joints whose sign changes then", None, said="default none"),
            Parameter("periodic", "flag", "Whether the motion is periodic", False),
        ),
        objective=True,
    ),
    Declared(
        "SquaredAcceleration", "squared_acceleration", "squared accelerations of the joints",
        (_JOINTS, _WEIGHTS),
        objective=True,
    ),
    Declared(
        "Posture", "posture", "squared distance of joints from a posture",
        (
            _JOINTS,
            Parameter("position", "positions", "The posture", 0.0, "rad, m", "default 0"),
            _WEIGHTS,
        ),
        objective=True,
    ),
    Declared(
        "SquaredSum", "squared_sum", "squared distance of a sum of joints from a value",
        (
            Parameter("coefficients", "gains", "Coefficients of joints, by name (no unit)"),
            Parameter("target", "number", "The value", 0.0, "rad, m", "default 0"),
        ),
        objective=True,
    ),
    Declared("Jerk", "jerk", "squared third derivatives of the joints", (_JOINTS, _WEIGHTS), objective=True),
    Declared(
        "SquaredReaction", "squared_reaction", "squared force or moment inside a joint",
        (_body("Name of the joint, or of the body that it carries"), _PART),
        objective=True,
    ),
    Declared(
        "SquaredForce", "squared_force", "squared components of an unknown force",
        (
            Parameter("force", "text", "Name of the unknown force"),
            Parameter("weights", "gains", "Weights of the components", 1.0, said="default 1"),
        ),
        objective=True,
    ),
    Declared(
        "Tracking", "tracking", "squared distance from a given motion",
        (
            Parameter(
                "reference", "rows_or_file",
                "Positions of all joints, a row for each instant; or the name of a file next to the study, "
                "scaled to the duration: a result (.nc) or a CSV table with a header 'time, joint1, ...'",
                unit="rad, m",
            ),
            Parameter("s", "numbers", "Instants of the rows, 0 to 1", None, said="default evenly spaced"),
            _JOINTS,
            _WEIGHTS,
        ),
        objective=True,
    ),
    Declared("CustomObjective", "custom_objective", "a user-defined function", _OWN, objective=True),
)  # fmt: skip

CONSTRAINTS: tuple[Declared, ...] = (
    Declared(
        "TorqueLimits", "torque_limit", "torques of joints stay between bounds", _limits("N m, N"),
        short=Short(
            "torque_limits", "limits", 'Largest torques, or "model"; default the model\'s.',
            of_model="effort",
        ),
    ),
    Declared(
        "TorqueRateLimits", "torque_rate_limit", "rates of torques stay below bounds",
        (Parameter("limit", "bounds", "Largest changes of torques", unit="N m/s, N/s"), _JOINTS),
        short=Short(
            "torque_rate_limits", "gains", "Largest changes of torques (N m/s, N/s); default none."
        ),
    ),
    Declared(
        "VelocityLimits", "velocity_limit", "velocities of joints stay between bounds", _limits("rad/s, m/s"),
        short=Short(
            "velocity_limits", "limits", 'Largest velocities, or "model"; default the model\'s.',
            of_model="velocity",
        ),
    ),
    Declared(
        "AccelerationLimits", "acceleration_limit", "accelerations of joints stay between bounds",
        _limits("rad/s^2, m/s^2"),
        short=Short("acceleration_limits", "gains", "Largest accelerations; default none."),
    ),
    Declared(
        "JointLimits", "joint_limit", "positions of joints stay between bounds",
        (
            Parameter("lower", "position_bounds", "Lower bounds", None, "rad, m", "default the model's"),
            Parameter("upper", "position_bounds", "Upper bounds", None, "rad, m", "default the model's"),
            _JOINTS,
            _AT_OR_POINTS,
        ),
        short=Short(
            "joint_limits", "flag",
            "Whether joints stay within the model's limits; default true if it has any.", of_model="position",
        ),
    ),
    Declared(
        "StrengthLimit", "strength_limit", "a torque stays below a strength that depends on angle and "
                                           "velocity",
        (
            Parameter("joint", "text", "Name of the joint"),
            Parameter("angles", "numbers", "Positions of the table, ascending", unit="rad, m"),
            Parameter("velocities", "numbers", "Velocities of the table, ascending", unit="rad/s, m/s"),
            Parameter("strength", "rows", "Strengths, one row for each position", unit="N m, N"),
            Parameter("direction", "sign", "1 or -1: direction of the torque", 1),
            _at(),
        ),
    ),
    Declared(
        "HumanStrength", "human_strength", "torques of a human stay within strength by angle and velocity",
        (
            _JOINTS,
            Parameter("sex", "text", '"male" or "female"', "male", said='default "male"'),
            Parameter("height", "positive", "Stature", 1.75, "m", "default 1.75"),
            Parameter("mass", "positive", "Mass of the body", 75.0, "kg", "default 75"),
            Parameter("age", "text", '"18-25", "55-65" or ">65"', "18-25", said='default "18-25"'),
            Parameter(
                "factors", "gains", "Factors of joints or sides, by name (no unit)", None,
                said="default 1",
            ),
            _at(),
        ),
    ),
    Declared(
        "HumanPassive", "human_passive", "passive moments of a human: hips, knees and ankles",
        (
            Parameter("height", "positive", "Stature", 1.75, "m", "default 1.75"),
            Parameter("mass", "positive", "Mass of the body", 75.0, "kg", "default 75"),
            Parameter("sides", "names", "Legs", ("left", "right"), said="default both"),
            Parameter("factor", "number", "Factor on all moments (no unit)", 1.0, said="default 1"),
        ),
    ),
    Declared(
        "ReactionLimit", "reaction_limit", "a limit of the force or moment inside a joint",
        (
            _body("Name of the joint, or of the body that it carries"),
            Parameter("upper", "number", "Largest norm, or upper bound of a component", unit="N, N m"),
            _PART,
            Parameter("lower", "number", "Lower bound of a component", None, "N, N m", "default -upper"),
            _at(),
        ),
    ),
    Declared(
        "PointPosition", "point", "position of a point of a body",
        (
            _body(),
            Parameter("target", "vector", "Target position in the world", None, "m"),
            _POINT,
            Parameter("lower", "corner", "Lower corner of a box instead of a target", None, "m"),
            Parameter("upper", "corner", "Upper corner of that box", None, "m"),
            _AXES,
            _at("end"),
            Parameter(
                "travel", "vector", "Velocity that, times the duration, all of these go on by", ORIGIN, "m/s",
                "default 0",
            ),
        ),
    ),
    Declared(
        "PointVelocity", "point_velocity", "velocity of a point of a body",
        (
            _body(),
            Parameter("velocity", "vector", "Its velocity in the world", None, "m/s"),
            _POINT,
            Parameter("lower", "corner", "Least velocity, by axes, instead", None, "m/s"),
            Parameter("upper", "corner", "Largest velocity, by axes", None, "m/s"),
            _AXES,
            _at("end"),
            Parameter("slack", "number", "By how much it may differ", 0.0, "m/s", "default 0"),
        ),
    ),
    Declared(
        "PointSpeed", "point_speed", "speed limit of a point of a body",
        (_body(), Parameter("limit", "positive", "Largest speed", unit="m/s"), _POINT, _at()),
    ),
    Declared(
        "Orientation", "orientation", "orientation of a body",
        (
            _body(),
            Parameter("rotation", "matrix", "Rotation matrix from body to world, by rows (no unit)"),
            _at("end"),
        ),
    ),
    Declared(
        "KeepOut", "keep_out", "a sphere that points of a body stay out of",
        (
            _body(),
            Parameter("center", "vector", "Center of the sphere, in the world or in another body", unit="m"),
            Parameter("radius", "positive", "Radius", unit="m"),
            _POINTS,
            Parameter(
                "of", "text", "Name of the body that the sphere is fixed in", "world", said='default "world"'
            ),
            _at(),
        ),
    ),
    Declared(
        "KeepApart", "keep_apart", "least distance between capsules of two bodies, or of a body and the "
                                   "world",
        (
            _body(),
            Parameter("of", "text", "Name of the other body", "world", said='default "world"'),
            Parameter("start", "vector", "Where its capsule begins, in its frame", ORIGIN, "m", "default 0"),
            Parameter("end", "vector", "Where its capsule ends", None, "m", "default the start: a sphere"),
            _radius("Radius of its capsule"),
            Parameter(
                "of_start", "vector", "Where the other capsule begins, in the other frame", ORIGIN, "m",
                "default 0",
            ),
            Parameter("of_end", "vector", "Where it ends", None, "m", "default its start: a sphere"),
            _radius("Radius of the other capsule", "of_radius"),
            _radius("Least distance between their surfaces", "clearance"),
            _at(),
        ),
    ),
    Declared(
        "KeepOutBox", "keep_out_box", "a box that a capsule of a body stays out of",
        (
            _body(),
            Parameter("center", "vector", "Center of the box, in the world or in another body", unit="m"),
            Parameter("size", "vector", "Edges of the box along its axes", unit="m"),
            Parameter("start", "vector", "Where the capsule begins on the body", ORIGIN, "m", "default 0"),
            Parameter("end", "vector", "Where the capsule ends", None, "m", "default the start: a sphere"),
            _radius("Radius of the capsule"),
            Parameter("rotation", "matrix", "Axes of the box as columns (no unit)", None),
            Parameter(
                "of", "text", "Name of the body that the box is fixed in", "world", said='default "world"'
            ),
            _radius("Least distance between them", "clearance"),
            _at(),
        ),
    ),
    Declared(
        "GroundClearance", "ground_clearance", "points of a body that stay above a plane",
        (
            _body(),
            _POINTS,
            Parameter(
                "height", "gains", "Height of the plane along its normal, or one for each instant", 0.0, "m",
                "default 0",
            ),
            Parameter("normal", "vector", "Normal of the plane (no unit)", (0, 0, 1), said="default z"),
            _at(),
        ),
    ),
    Declared(
        "ZeroMomentPoint", "zero_moment_point", "the zero-moment point stays in a polygon on the ground",
        (
            Parameter("polygon", "rows", "Corners x, y of a convex polygon", unit="m"),
            Parameter("height", "number", "Height of the ground", 0.0, "m", "default 0"),
            _at(),
        ),
    ),
    Declared(
        "Boundary", "boundary", "the state of joints at an instant between start and end",
        (
            Parameter("at", "place", '"start", "end", or s = t / T from 0 to 1'),
            Parameter("position", "positions", "Positions", None, 'rad or "90 deg", m', "default open"),
            Parameter("velocity", "gains", "Velocities", None, "rad/s, m/s", "default open"),
            Parameter("acceleration", "gains", "Accelerations", None, "rad/s^2, m/s^2", "default open"),
        ),
    ),
    Declared("Periodic", "periodic", "the motion ends as it starts", (_JOINTS, *_CYCLE)),
    Declared(
        "Symmetric", "symmetric", "joints end as their partners start",
        (
            Parameter("pairs", "partners", "Joints and their partners, such as { hip1 = 'hip2' }"),
            Parameter("mirrored", "names", "Joints whose sign changes", None, said="default none"),
            *_CYCLE,
        ),
    ),
    Declared(
        "Hold", "hold", "joints do not move during a part of the motion",
        (
            Parameter("joints", "names", "Names of the joints"),
            Parameter("position", "positions", "Where they stay", 0.0, "rad, m", "default 0"),
            _DURING,
        ),
    ),
    Declared(
        "UnknownForce", "unknown_force", "an unknown force on a body",
        (
            _body(),
            _POINT,
            Parameter("name", "text", "Name of the force", None, said="default the body's"),
            Parameter("axes", "text", 'Its components, such as "xz"', "xyz", said="default all"),
            Parameter("lower", "bounds", "Lower bounds of the components", None, "N", "default none"),
            Parameter("upper", "bounds", "Upper bounds of the components", None, "N", "default none"),
            Parameter(
                "normal", "vector", "Normal of a surface on which the force only pushes (no unit)", None,
                said="default none",
            ),
            Parameter("friction", "number", "Coefficient of friction on that surface (no unit)", None),
            Parameter("segments", "whole", "Segments of its splines", None, said="default as the motion"),
            Parameter("degree", "whole", "Degree of its splines", None, said="default two less"),
            Parameter("start", "gains", "Initial guess, by component", None, "N"),
            Parameter("size", "positive", "Scale of the force", None, "N"),
            _DURING,
            _AT_OR_POINTS,
        ),
    ),
    Declared(
        "CutForce", "cut_force", "two points held together by an unknown force",
        (
            _body(),
            Parameter("of", "text", "Name of the other body"),
            _POINT,
            Parameter("of_point", "vector", "The point in the other one", ORIGIN, "m", "default its origin"),
            Parameter("name", "text", "Name of the force", None, said="default the body's"),
            Parameter("axes", "text", 'Directions that are held, such as "xy"', "xyz", said="default all"),
            Parameter("size", "positive", "Scale of the force", None, "N"),
        ),
    ),
    Declared(
        "UnknownMoment", "unknown_moment", "an unknown moment on a body",
        (
            _body(),
            Parameter("name", "text", "Name of the moment", None, said="default the body's"),
            Parameter("axes", "text", 'Its components, such as "z"', "xyz", said="default all"),
            Parameter("lower", "bounds", "Lower bounds of the components", None, "N m", "default none"),
            Parameter("upper", "bounds", "Upper bounds of the components", None, "N m", "default none"),
            Parameter("segments", "whole", "Segments of its splines", None, said="default as the motion"),
            Parameter("degree", "whole", "Degree of its splines", None, said="default two less"),
            Parameter("start", "gains", "Initial guess, by component", None, "N m"),
            Parameter("size", "positive", "Scale of the moment", None, "N m"),
            _DURING,
            _AT_OR_POINTS,
        ),
    ),
    Declared(
        "Friction", "friction", "unknown forces together stay within a friction pyramid",
        (
            Parameter("forces", "names", "Names of the unknown forces"),
            Parameter("friction", "number", "Coefficient of friction (no unit)"),
            Parameter("normal", "vector", "Normal of the surface (no unit)", (0, 0, 1), said="default z"),
            _at(),
            _SHAPE,
        ),
    ),
    Declared(
        "GroundReaction", "ground_reaction", "ground reaction of the motion, distributed to feet",
        (
            Parameter("feet", "names", "Bodies on the ground"),
            Parameter("shares", "rows", "Share of each foot, a row for each s (no unit)", None),
            Parameter("s", "numbers", "Instants of the rows, 0 to 1", None, said="default evenly spaced"),
            Parameter(
                "between", "rows", "Positions x, y between which the zero-moment point distributes the load "
                                   "of the first two",
                None, "m",
            ),
            _DURING,
            Parameter("apart", "flag", "Whether these two carry their shares at these positions", False),
        ),
    ),
    Declared(
        "Support", "support", "center of pressure within a rectangle, and friction",
        (
            Parameter("force", "names", "Joints of the root that translate along x, y and z"),
            Parameter("moment", "names", "Joints of the root that rotate about x and y"),
            Parameter("lower", "corners", "Lower x and y; or a row for each instant", unit="m"),
            Parameter("upper", "corners", "Upper x and y; or a row for each instant", unit="m"),
            Parameter("friction", "number", "Coefficient of friction (no unit)", 0.6, said="default 0.6"),
            Parameter("largest", "positive", "Largest force, in body weights (no unit)", 3.0, said="default "
                                                                                                   "3"),
            _at(),
            _SHAPE,
        ),
    ),
    Declared(
        "TorqueCombination", "torque_combination", "a weighted sum of torques stays between bounds",
        (
            Parameter("coefficients", "coefficients", "Numbers by joint, or lists by instant (no unit)"),
            Parameter("lower", "number", "Lower bound", None, "N m, N", "default none"),
            Parameter("upper", "number", "Upper bound", None, "N m, N", "default none"),
            Parameter("size", "positive", "Scale", 1.0, "N m, N", "default 1"),
            _at(),
        ),
    ),
    Declared(
        "JointSprings", "joint_springs", "additional springs carry a share of the torques",
        (
            Parameter("stiffness", "gains", "Their stiffness", unit="N m/rad, N/m"),
            Parameter("rest", "positions", "Where they rest", 0.0, "rad, m", "default 0"),
            _JOINTS,
        ),
    ),
    Declared(
        "JointCombination", "joint_combination", "a weighted sum of joints stays between bounds",
        (
            Parameter("coefficients", "gains", "Coefficients of joints, by name (no unit)"),
            Parameter("lower", "number", "Lower bound", None, "rad, m", "default none"),
            Parameter("upper", "number", "Upper bound", None, "rad, m", "default none"),
            replace(_AT_OR_POINTS, default="points", said='default "points"'),
        ),
    ),
    Declared(
        "JointProduct", "joint_product", "the product of two coordinates stays between bounds",
        (
            Parameter("joint", "text", "Name of the joint"),
            Parameter("other", "text", "Name of the other joint"),
            Parameter("lower", "number", "Lower bound", 0.0, "rad^2", "default 0"),
            Parameter("upper", "number", "Upper bound", None, "rad^2", "default none"),
            Parameter("rest", "positions", "Where each counts as zero", 0.0, "rad, m", "default 0"),
            _at(),
        ),
    ),
    Declared(
        "CustomConstraint", "custom_constraint", "a user-defined function stays between bounds",
        (
            Parameter(
                "function", "function",
                "Python function 'file.py:name' of (s, q, qd, qdd, tau), (m,) and four (m, n_dof), that "
                f"returns (m,), or (m, size); {_CODE}",
            ),
            Parameter("lower", "number_or_numbers", "Lower bound, or several", None, said="default none"),
            Parameter("upper", "number_or_numbers", "Upper bound, or several", None, said="default none"),
            Parameter("size", "whole", "Number of values it returns at an instant", 1, said="default 1"),
            Parameter(
                "name", "text", "Name in messages", "own constraint", said='default "own constraint"'
            ),
            _at(),
            _SLOPES,
        ),
    ),
    Declared(
        "RelativePosition", "relative_position", "a point of a body relative to another body",
        (
            _body(),
            Parameter("of", "text", "Name of the other body"),
            Parameter("lower", "corner", "Lower bounds in world axes", None, "m"),
            Parameter("upper", "corner", "Upper bounds in world axes", None, "m"),
            _POINT,
            Parameter("of_point", "vector", "The point in the other one", ORIGIN, "m", "default its origin"),
            _AXES,
            _at(),
        ),
    ),
)  # fmt: skip


def every_term() -> Iterator[Declared]:
    """All objectives, then all constraints.

    >>> "keep_out" in [declared.key for declared in every_term()]
    True
    """
    yield from OBJECTIVES
    yield from CONSTRAINTS
