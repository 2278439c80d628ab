"""The tables of a study that asks for the best motion; those of its terms come from their declarations."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, PlainValidator, WithJsonSchema, create_model

from kinetree.declare.declaration import Declaration, Parameter
from kinetree.declare.stored import stored
from kinetree.formats.file_values import NUMBER, Angle, Matrix, Number, Vector, as_list, as_number
from kinetree.formats.schema_parts import Table
from kinetree.study.tables import EACH, FUNCTION, LoadTable
from kinetree.study.values import (
    GAINS,
    POSITIONS,
    Ends,
    Gains,
    Limits,
    Names,
    NotNegative,
    Numbers,
    Positions,
    Positive,
    Rows,
    Seed,
    Whole,
    as_choice,
    as_per_joint,
    as_rows,
    choice,
)

OBJECTIVES = (
    "time",
    "squared_torque",
    "mixed",
    "power",
    "effort",
    "torque_rate",
    "squared_acceleration",
    "posture",
    "jerk",
    "function",
    "terms",
)
SOLVERS = ("auto", "interior", "ipopt", "slsqp")
BEGINS = ("line", "random")
BESIDE = ("closed_form", "lagrangian", "newton_euler")  # formulations with derivatives
RATES = ("position", "velocity", "acceleration")


def as_place(value: object, names: tuple[str, ...]) -> str | float | list[float]:
    """A named place, or values of s."""
    if isinstance(value, str):
        return as_choice(value, "place", lambda: names)
    return as_list(value) if isinstance(value, list | tuple) else as_number(value)


def as_rates(value: object) -> int | list[str]:
    """How many of position, velocity and acceleration, or names of them."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple):
        raise ValueError(f"must be 1, 2 or 3, or names such as ['velocity'], got {reprlib.repr(value)}")
    return [as_choice(x, "quantity", lambda: RATES) for x in names]


def as_corner(value: object) -> list[float]:
    """Three numbers, infinite ones where a direction is open."""
    if not isinstance(value, list | tuple) or len(value) != 3:
        raise ValueError(f"must be a list of 3 numbers, got {reprlib.repr(value)}")
    return [as_number(x, infinite=True) for x in value]


def as_partners(value: object) -> dict[str, str]:
    """A table from names to names."""
    if not isinstance(value, Mapping) or not all(isinstance(x, str) for x in value.values()):
        raise ValueError(f"must be a table of names such as {{ hip1 = 'hip2' }}, got {reprlib.repr(value)}")
    return {str(name): other for name, other in value.items()}


def as_coefficients(value: object) -> dict[str, float | list[float]]:
    """A table from names to numbers or lists of numbers."""
    if not isinstance(value, Mapping):
        raise ValueError(f"must be a table from names to numbers, got {reprlib.repr(value)}")
    return {
        str(name): as_list(x) if isinstance(x, list | tuple) else as_number(x) for name, x in value.items()
    }


def as_corners(value: object) -> list[float] | list[list[float]]:
    """Two numbers, or such a row for each of several instants."""
    if isinstance(value, list | tuple) and value and isinstance(value[0], list | tuple):
        return [as_list(row) for row in value]
    return as_list(value)


def as_rows_or_file(value: object) -> str | list[list[float]]:
    """Rows of numbers, or the name of a file that has them."""
    return value if isinstance(value, str) else as_rows(value)


def as_number_or_numbers(value: object) -> float | list[float]:
    """A number or several, infinite ones where there is no bound."""
    if isinstance(value, list | tuple):
        return [as_number(x, infinite=True) for x in value]
    return as_number(value, infinite=True)


def as_part(value: object) -> float | None:
    """A part between 0 and 1, None for false."""
    if value is False or value is None:
        return None
    part = as_number(value)
    if not 0.0 < part < 1.0:
        raise ValueError(f"must lie between 0 and 1, or be false, got {part}")
    return part


def as_sign(value: object) -> int:
    """1 or -1."""
    if isinstance(value, bool) or value not in (1, -1):
        raise ValueError(f"must be 1 or -1, got {reprlib.repr(value)}")
    return int(value)


def _checked_by(check: Callable[..., Any], schema: dict[str, Any]) -> Any:
    return Annotated[Any, PlainValidator(check), WithJsonSchema(schema)]


_S: dict[str, Any] = {"type": "number", "minimum": 0, "maximum": 1}
_LIST: dict[str, Any] = {"type": "array", "items": NUMBER}
_NUMBERS: dict[str, Any] = {"anyOf": [NUMBER, _LIST]}
_RATE: dict[str, Any] = {"type": "string", "enum": list(RATES)}


def _place(names: tuple[str, ...]) -> Any:
    schema = {"anyOf": [{"type": "string", "enum": list(names)}, _S, {"type": "array", "items": _S}]}
    return _checked_by(partial(as_place, names=names), schema)


KINDS: dict[str, Any] = {
    "text": str,
    "flag": bool,
    "number": Number,
    "positive": Positive,
    "whole": Whole,
    "sign": _checked_by(as_sign, {"type": "integer", "enum": [1, -1]}),
    "numbers": Numbers,
    "rows": Rows,
    "rows_or_file": _checked_by(
        as_rows_or_file, {"anyOf": [{"type": "string"}, {"type": "array", "items": _LIST}]}
    ),
    "number_or_numbers": _checked_by(as_number_or_numbers, _NUMBERS),
    "function": str,
    "vector": Vector,
    "corner": _checked_by(as_corner, {"type": "array", "items": NUMBER, "minItems": 3, "maxItems": 3}),
    "matrix": Matrix,
    "names": Names,
    "partners": _checked_by(as_partners, {"type": "object", "additionalProperties": {"type": "string"}}),
    "gains": Gains,
    "positions": Positions,
    "bounds": _checked_by(partial(as_per_joint, infinite=True), GAINS),
    "position_bounds": _checked_by(partial(as_per_joint, angle=True, infinite=True), POSITIONS),
    "limits": Limits,
    "coefficients": _checked_by(as_coefficients, {"type": "object", "additionalProperties": _NUMBERS}),
    "corners": _checked_by(as_corners, {"anyOf": [_LIST, {"type": "array", "items": _LIST}]}),
    "rates": _checked_by(
        as_rates,
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": 3},
                {"type": "array", "items": _RATE},
                _RATE,
            ]
        },
    ),
}


class EndStateTable(Table):
    """State at an end of the motion; by default at rest."""

    q: Positions | None = Field(None, description=f'Positions (rad or "90 deg", m): {EACH}; others are open.')
    q_degrees: Gains | None = Field(None, description="Angles in degrees, instead of q.")
    qd: Gains | None = Field(0.0, description="Velocities (rad/s, m/s); default 0.")
    qdd: Gains | None = Field(None, description="Accelerations (rad/s^2, m/s^2); default open.")


def fields_of(declaration: Declaration) -> dict[str, Any]:
    """A field of a table for each parameter, with the check and the JSON schema of its kind."""
    return {x.name: (_kind(x), Field(_default(x), description=x.description)) for x in declaration.parameters}


def _term_table(declaration: Declaration, objective: bool) -> type[Table]:
    """The table of one term; objectives have a weight, too."""
    fields = fields_of(declaration)
    if objective:
        about = "Weight in the objective (no unit); default 1."
        fields["weight"] = (Number, Field(1.0, description=about))
        about = "Whether its mean over the motion counts instead of its time integral; default false."
        fields["mean"] = (bool, Field(False, description=about))
    about = f"{declaration.text[0].upper()}{declaration.text[1:]}."
    return create_model(
        f"{declaration.name}Table", __base__=Table, __module__=__name__, __doc__=about, **fields
    )


def _kind(parameter: Parameter) -> Any:
    if parameter.kind == "choice":
        kind = choice(parameter.name, lambda: parameter.choices)
    elif parameter.kind == "place":
        kind = _place(parameter.choices)
    else:
        kind = KINDS[parameter.kind]
    return kind | None if parameter.default is None else kind


def _default(parameter: Parameter) -> Any:
    """The default; of several points, one is a list of points."""
    value = parameter.default
    return [value] if parameter.kind == "rows" and isinstance(value, list) else value


def _term_fields() -> dict[str, Any]:
    """Fields of [predict]: the short keys, then a list of tables for every term."""
    fields: dict[str, Any] = {}
    for declaration in stored("constraints"):
        if (short := declaration.short) is not None:
            fields[short.key] = (KINDS[short.kind] | None, Field(None, description=short.text))
    for section, what in (("objectives", "Further objective"), ("constraints", "Must hold")):
        for declaration in stored(section):
            rows = list[_term_table(declaration, section == "objectives")]  # type: ignore[misc, valid-type]
            fields[declaration.key] = (rows, Field([], description=f"{what}: {declaration.text}."))
    return fields


class GaussTable(Table):
    """Gauss nodes in phases of a motion."""

    ends: Numbers = Field(description="Where phases begin and end, s = t / T from 0 to 1.")
    counts: list[Whole] = Field(description="Number of nodes in each phase.")
    start: bool = Field(True, description="Whether s = 0 is also an instant.")


class SplineTable(Table):
    """Objective and settings of a motion, without the terms that are declared elsewhere."""

    objective: choice("objective", lambda: OBJECTIVES) = Field(  # type: ignore[valid-type]
        "time",
        description='"time", "squared_torque", "mixed" ((1 - u) T + u times squared torques), "power", '
        '"effort", "torque_rate", "squared_acceleration", "posture", "jerk" or "function"; or '
        '"terms": only those of tables such as [[predict.squared_force]].',
    )
    torque_weight: Number = Field(
        0.01, description="u of the mixed objective, from 0 to 1 ([Xiang2009], section 6.4)."
    )
    function: str | None = Field(None, description=f"Integrand f(s, q, qd, qdd, tau). {FUNCTION}.")
    start: EndStateTable | None = Field(None, description="State at the start; default open.")
    end: EndStateTable | None = Field(None, description="State at the end; default open.")
    duration: Ends | None = Field(
        None, description="Lowest and highest duration (s); a fixed one is study.duration; default free."
    )
    frozen: dict[str, Angle] = Field({}, description="Joints that do not move, and where they stay.")
    limits: choice("choice of limits", lambda: ("model", "none")) = Field(  # type: ignore[valid-type]
        "model",
        description='"model": effort, velocity and position limits of the model hold unless keys or tables '
        'of the same kind replace them; "none": they do not.',
    )
    independent: Names | None = Field(
        None,
        description="Joints of closed loops that have splines, as many as the mobility; the others follow. "
        "Default driven ones first.",
    )
    guess: Positions | None = Field(
        None,
        description=f'Pose that selects the branch of loops (rad or "90 deg", m): {EACH}; default 0.',
    )
    segments: Whole = Field(20, description="Segments of the B-splines.")
    degree: Whole = Field(3, description="Degree of the B-splines.")
    samples: Whole = Field(2, description="Instants per segment at which constraints are enforced.")
    clamped: bool = Field(
        True, description="Whether splines end at their last control points; periodic ones do not."
    )
    gauss: GaussTable | None = Field(
        None, description="Instants by phase instead of samples, for constraints and objectives alike."
    )
    sizes: dict[str, Positive] = Field({}, description="Scale of joints for solvers (rad, m); default 1.")
    regularization: NotNegative | None = Field(
        None,
        description="Price on rough joint profiles, relative to the objective; it decides what the "
        "objective leaves open. Default 1e-7, and 1e-6 from the optimum on if the duration is free.",
    )


if TYPE_CHECKING:

    class MotionTable(SplineTable):
        """Objective and constraints of a motion; with several phases, each has such a table."""

        def __getattr__(self, key: str) -> Any: ...
else:
    MotionTable = create_model(
        "MotionTable",
        __base__=SplineTable,
        __module__=__name__,
        __doc__="Objective and constraints of a motion; with several phases, each has such a table.",
        **_term_fields(),
    )


class PhaseTable(MotionTable):
    """One of several phases: what is not said here is as in [predict]."""

    load: list[LoadTable] | None = Field(None, description="Loads of this phase, instead of the study's.")
    goes_on: choice("quantity", lambda: RATES) = Field(  # type: ignore[valid-type]
        "velocity",
        description='Highest of "position", "velocity", "acceleration" that is continuous with the '
        "previous phase.",
    )


class PredictTable(MotionTable):
    """What is the best motion, and what it must satisfy."""

    objective: choice("objective", lambda: OBJECTIVES) = Field(  # type: ignore[valid-type]
        description=MotionTable.model_fields["objective"].description
    )
    phase: list[PhaseTable] = Field([], description="Consecutive phases, each a [[predict.phase]].")
    solver: choice("solver", lambda: SOLVERS) = Field(  # type: ignore[valid-type]
        "auto", description=f"One of {', '.join(SOLVERS)}."
    )
    starts: Whole = Field(1, description="Number of starts; those after the first are random.")
    seed: Seed = Field(0, description="Seed of the random starts.")
    begin: choice("begin", lambda: BEGINS) = Field(  # type: ignore[valid-type]
        "line", description='Initial guess: "line" from start to end, or "random".'
    )
    tolerance: Positive = Field(1e-6, description="Tolerance of optimality and relative violations.")
    max_iterations: Whole = Field(1000, description="Limit on iterations.")
    time_limit: Positive | None = Field(None, description="Limit on computing time (s).")
    between: _checked_by(as_part, {"anyOf": [_S, {"const": False}]}) = Field(  # type: ignore[valid-type]
        0.01,
        description="Fraction of a bound by which it may be exceeded between samples before samples are "
        "added there and the problem is solved again; false adds none.",
    )
    refine: bool = Field(
        False,
        description="Whether knots are moved to where limits become active or inactive, until nothing "
        "changes.",
    )
    free_knots: bool = Field(
        False, description="Whether knots are unknowns, after a first solution with equal segments."
    )
    sensitivities: choice("formulation", lambda: BESIDE) | None = Field(  # type: ignore[valid-type]
        None,
        description="A formulation whose derivatives of the torques are compared in the result, such as "
        '"closed_form".',
    )
