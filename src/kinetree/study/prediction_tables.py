"""The tables of a study that asks for the best motion; those of its terms come from their declarations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field, create_model

from kinetree.declare import Declaration, stored
from kinetree.formats.file_values import Angle, Number
from kinetree.formats.schema_parts import Table
from kinetree.motion.options import Search
from kinetree.study.tables import EACH, FUNCTION, LoadTable
from kinetree.study.values import (
    KINDS,
    RATES,
    Ends,
    Gains,
    Names,
    NotNegative,
    Numbers,
    Positions,
    Positive,
    Whole,
    choice,
    fields_of,
    search_table,
)

OBJECTIVES = (
    "time",
    "squared_torque",
    "mixed",
    "power",
    "effort",
    "muscle_cost",
    "torque_rate",
    "squared_acceleration",
    "posture",
    "jerk",
    "function",
    "terms",
)
SOLVERS = ("auto", "interior", "ipopt", "slsqp")
SEARCH = ("solver", "starts", "seed", "tolerance", "max_iterations", "time_limit", "between")
BEGINS = ("line", "random")
BESIDE = ("closed_form", "lagrangian", "newton_euler")  # formulations with derivatives


class EndStateTable(Table):
    """State at an end of the motion; by default at rest."""

    q: Positions | None = Field(None, description=f'Positions (rad or "90 deg", m): {EACH}; others are open.')
    q_degrees: Gains | None = Field(None, description="Angles in degrees, instead of q.")
    qd: Gains | None = Field(0.0, description="Velocities (rad/s, m/s); default 0.")
    qdd: Gains | None = Field(None, description="Accelerations (rad/s^2, m/s^2); default open.")


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
        '"effort", "muscle_cost", "torque_rate", "squared_acceleration", "posture", "jerk" or "function"; or '
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


class PredictTable(MotionTable, search_table(Search(), SOLVERS, SEARCH)):  # type: ignore[misc]
    """What is the best motion, and what it must satisfy."""

    objective: choice("objective", lambda: OBJECTIVES) = Field(  # type: ignore[valid-type]
        description=MotionTable.model_fields["objective"].description
    )
    phase: list[PhaseTable] = Field([], description="Consecutive phases, each a [[predict.phase]].")
    begin: choice("begin", lambda: BEGINS) = Field(  # type: ignore[valid-type]
        "line", description='Initial guess: "line" from start to end, or "random".'
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
