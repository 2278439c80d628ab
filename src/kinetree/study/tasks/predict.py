"""Prediction: which motion is the best?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from kinetree.errors import InputError, unknown_name
from kinetree.model.file_values import Angle, Number
from kinetree.model.schema_parts import Table
from kinetree.result.records import Check
from kinetree.result.result import Result
from kinetree.study.assignment import Assignment
from kinetree.study.surroundings import loads
from kinetree.study.tables import EACH, FUNCTION
from kinetree.study.tasks import Task, Work
from kinetree.study.values import Ends, Gains, Limits, PerJoint, Positions, Positive, Seed, Whole, choice

if TYPE_CHECKING:
    from kinetree.motion.prediction import Prediction

OBJECTIVES = ("time", "squared_torque", "mixed", "function")
SOLVERS = ("auto", "interior", "ipopt", "uno", "slsqp")
BETWEEN_SAMPLES = 0.05  # part by which bounds may be exceeded where they are not enforced


class EndTable(Table):
    """State at an end of the motion; by default at rest."""

    q: Positions | None = Field(None, description=f'Positions (rad or "90 deg", m): {EACH}; others are open.')
    q_degrees: Gains | None = Field(None, description="Angles in degrees, instead of q.")
    qd: Gains | None = Field(0.0, description="Velocities (rad/s, m/s); default 0.")
    qdd: Gains | None = Field(None, description="Accelerations (rad/s^2, m/s^2); default open.")


class PredictTable(Table):
    """What is the best motion, and what it must satisfy."""

    objective: choice("objective", lambda: OBJECTIVES) = Field(  # type: ignore[valid-type]
        description='"time", "squared_torque", "mixed" ((1 - u) T + u times squared torques) or "function".'
    )
    torque_weight: Number = Field(
        0.01, description="u of the mixed objective, from 0 to 1 (001, section 6.4)."
    )
    function: str | None = Field(None, description=f"Integrand f(s, q, qd, qdd, tau). {FUNCTION}.")
    start: EndTable = Field(description="State at the start.")
    end: EndTable = Field(description="State at the end.")
    duration: Ends | None = Field(
        None, description="Lowest and highest duration (s); a fixed one is study.duration; default free."
    )
    torque_limits: Limits | None = Field(
        None, description='Largest torques, or "model"; default the model\'s.'
    )
    velocity_limits: Limits | None = Field(None, description='Largest velocities, or "model"; default none.')
    joint_limits: bool = Field(False, description="Whether the joints keep within the model's limits.")
    frozen: dict[str, Angle] = Field({}, description="Joints that do not move, and where they stay.")
    segments: Whole = Field(20, description="Segments of the B-splines.")
    degree: Whole = Field(3, description="Degree of the B-splines.")
    samples: Whole = Field(2, description="Instants per segment at which constraints are enforced.")
    solver: choice("solver", lambda: SOLVERS) = Field(  # type: ignore[valid-type]
        "auto", description=f"One of {', '.join(SOLVERS)}."
    )
    starts: Whole = Field(1, description="Number of starts; those after the first are random.")
    seed: Seed = Field(0, description="Seed of the random starts.")
    tolerance: Positive = Field(1e-6, description="Of optimality and relative violations.")
    max_iterations: Whole = Field(1000, description="Limit of iterations.")
    time_limit: Positive | None = Field(None, description="Limit of computing time (s).")


def prepare(work: Assignment) -> Work:
    """The best motion, checked by a simulation under its torques."""
    from kinetree.motion.problem import Problem

    table = work.tables.predict
    with work.origin.blamed("predict"):
        problem = Problem(
            work.mechanism,
            objective=_objective(work, table),
            constraints=_constraints(work, table),
            duration=_duration(work, table),
            segments=table.segments,
            degree=table.degree,
            samples=table.samples,
            frozen=table.frozen,
            loads=loads(work),
        )

    def run() -> Result:
        from kinetree.motion.predict import predict

        keys = ("solver", "starts", "seed", "tolerance", "max_iterations", "time_limit")
        with work.origin.blamed("predict"):
            found = predict(problem, **{key: getattr(table, key) for key in keys}, progress=_progress(work))
        return _result(work, found)

    return run


def _progress(work: Assignment) -> Any:
    """Iterations have no end that is known; half of what is left is done with every twenty of them."""
    tell = work.progress
    return None if tell is None else lambda step: tell(1.0 - 0.5 ** (step.iteration / 20))


def _duration(work: Assignment, table: PredictTable) -> Any:
    fixed = work.tables.study.duration
    if fixed is not None and table.duration is not None:
        raise InputError(
            "give either study.duration, which is fixed, or predict.duration = [lowest, highest]"
        )
    return tuple(table.duration) if table.duration is not None else fixed


def _objective(work: Assignment, table: PredictTable) -> Any:
    from kinetree.motion.terms import CustomObjective, SquaredTorque, Time, time_and_torque

    if (table.objective == "function") != (table.function is not None):
        raise InputError("the objective 'function' and the key function = 'file.py:name' belong together")
    if table.objective == "function":
        return CustomObjective(work.code.function(str(table.function), "predict.function"))
    if table.objective == "mixed":
        return time_and_torque(table.torque_weight)
    return Time() if table.objective == "time" else SquaredTorque()


def _constraints(work: Assignment, table: PredictTable) -> list[Any]:
    from kinetree.motion.terms import Boundary, JointLimits, TorqueLimits, VelocityLimits

    found: list[Any] = []
    for place in ("start", "end"):
        end: EndTable = getattr(table, place)
        q = _positions(work, end, place)
        found.append(Boundary(place, q, _given(work, end.qd), _given(work, end.qdd)))
    model = np.isfinite(work.mechanism.tree.effort_limit).any()
    if table.torque_limits is not None or model:
        found.append(TorqueLimits(*_limits(table.torque_limits)))
    if table.velocity_limits is not None:
        found.append(VelocityLimits(*_limits(table.velocity_limits)))
    return [*found, JointLimits()] if table.joint_limits else found


def _limits(given: Any) -> tuple[Any, ...]:
    return () if given in (None, "model") else (given,)


def _given(work: Assignment, values: PerJoint | None) -> Any:
    """Values as a boundary condition takes them: all joints, or those of a table."""
    if isinstance(values, dict):
        for name in values:
            if name not in work.mechanism.joint_names:
                raise InputError(unknown_name("joint", name, work.mechanism.joint_names))
        return values
    return values


def _positions(work: Assignment, end: EndTable, place: str) -> Any:
    from kinetree.study.mechanism import joint_values

    named = end.q if end.q is not None else end.q_degrees
    q = joint_values(work.mechanism, end.q, end.q_degrees, f"{place}.q")
    if q is None or not isinstance(named, dict):
        return q
    return {name: q[work.mechanism.joint_index(name)] for name in named}


def _result(work: Assignment, found: Prediction) -> Result:
    from kinetree.motion.solvers.interface import Status
    from kinetree.result.build import build_result

    variables: dict[str, Any] = {
        "time": found.t,
        "q": found.q,
        "qd": found.qd,
        "qdd": found.qdd,
        "tau": found.tau,
    }
    interrupted = found.outcome.status is Status.INTERRUPTED
    stop = {"stopped_at": found.duration, "stop_reason": "interrupted"} if interrupted else {}
    statistics = {
        "duration": found.duration,
        "objective": found.objective,
        "iterations": found.iterations,
        "max_violation": found.max_violation,
        "solver": found.outcome.solver,
        "status": found.outcome.status.name.lower(),
    }
    keys = ("objective", "torque_weight", "segments", "degree", "samples", "starts", "seed", "tolerance")
    settings = {key: getattr(work.tables.predict, key) for key in keys}
    return build_result(
        "predict",
        work.mechanism,
        variables,
        settings=settings,
        audit=_audit(work, found),
        statistics=statistics,
        messages=[found.status],
        seconds=found.seconds,
        **stop,  # type: ignore[arg-type]
    )


def _audit(work: Assignment, found: Prediction) -> dict[str, Check]:
    """Solved; bounds kept where they are enforced and between; and the torques cause the motion."""
    from kinetree.study.prediction_check import check_by_simulation

    worst, most = found.violation_at_samples, 10 * work.tables.predict.tolerance
    audit = {
        "solved": Check(worst, most, found.solved and worst <= most, "1", found.status),
        "between_samples": Check.within(
            found.max_violation,
            BETWEEN_SAMPLES,
            "1",
            "largest violation of a bound anywhere, beside the bound",
        ),
    }
    return audit | {"simulation": check_by_simulation(found).check()} if found.solved else audit


TASK = Task(
    "predict",
    "the motion that is best: shortest, with the least torques, or both",
    prepare,
    needs=("mechanism", "predict"),
    uses=("load",),
    settings=PredictTable,
)
