"""Prediction: which motion is the best?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.errors import InputError, unknown_name
from kinetree.formats.schema_parts import Table
from kinetree.result.result import Result
from kinetree.result.variables import Variable
from kinetree.study.assignment import Assignment
from kinetree.study.extend import with_variables
from kinetree.study.surroundings import loads, wrenches
from kinetree.study.tasks import Task, Work
from kinetree.study.values import PerJoint

if TYPE_CHECKING:
    from kinetree.motion.problem.phases import Phases
    from kinetree.motion.problem.problem import Problem
    from kinetree.study.prediction_tables import EndTable, MotionTable, PhaseTable, PredictTable

SEARCH = ("solver", "starts", "seed", "tolerance", "max_iterations", "time_limit")


def prepare(work: Assignment) -> Work:
    """The best motion, checked by a simulation under its torques."""
    table: PredictTable = work.tables.predict
    with work.origin.blamed("predict"):
        asked = _phases(work, table) if table.phase else _problem(work, table)

    def run() -> Result:
        from kinetree.motion.predict import predict
        from kinetree.motion.predict_phases import predict_phases
        from kinetree.motion.problem.problem import Problem
        from kinetree.motion.refine import refine

        search: dict[str, Any] = {key: getattr(table, key) for key in SEARCH}
        search["progress"] = history = History(work.progress)
        with work.origin.blamed("predict"):
            if not isinstance(asked, Problem):
                phased = predict_phases(asked, **search)
                return _checked(history.within(phased.to_result()), phased.parts if phased.solved else [])
            found = predict(asked, start="random" if table.begin == "random" else None, **search)
            if table.refine and found.solved:
                found = refine(found, solver=table.solver, progress=history)
        return _checked(history.within(found.to_result()), [found] if found.solved else [])

    return run


class History:
    """The iterations of a search ([Xiang2009], Fig. 10); tells the part that is done to whom it concerns."""

    def __init__(self, tell: Callable[[float], None] | None) -> None:
        self.tell, self.steps = tell, list[tuple[float, float]]()

    def __call__(self, step: Any) -> None:
        """Iterations have no end that is known; half of what is left is done with every twenty of them."""
        self.steps.append((float(step.objective), float(step.infeasibility)))
        if self.tell is not None:
            self.tell(1.0 - 0.5 ** (step.iteration / 20))

    def within(self, result: Result) -> Result:
        """The result with the objective and the largest violation after every iteration."""
        finite = [step for step in self.steps if np.isfinite(step).all()]
        if not finite:
            return result
        objective, violation = np.array(finite).T
        along = "iteration"
        labels = {along: Variable((along,), np.arange(len(finite)), "1", "iteration of the search")}
        more = {
            "objective_history": Variable((along,), objective, "1", "objective after the iteration"),
            "violation_history": Variable((along,), violation, "1", "largest violation after the iteration"),
        }
        return with_variables(result, more, labels)


def _checked(result: Result, solved: list[Any]) -> Result:
    """The result; if it was solved, also checked by a simulation under its torques."""
    from kinetree.studies.prediction_check import came_about

    if not solved:
        return result
    worst = max((came_about(part) for part in solved), key=lambda check: (not check.passed, check.value))
    return replace(result, audit={**result.audit, "simulation": worst})


# ---- problems -------------------------------------------------------------------------------------------


def _problem(work: Assignment, table: PredictTable) -> Problem:
    goes_on = any(row.spline for row in (*table.periodic, *table.symmetric))
    if not goes_on and (table.start is None or table.end is None):
        missing = "start" if table.start is None else "end"
        raise InputError(f"predict.{missing} is missing: the state there, such as {{ q = [0.0, 1.0] }}")
    if "torque_weight" in table.model_fields_set and table.objective != "mixed":
        raise InputError(f"torque_weight is for the objective 'mixed'; the objective is '{table.objective}'")
    return _of_table(work, table, (table.start, table.end), loads(work))


def _phases(work: Assignment, table: PredictTable) -> Phases:
    """A problem for each phase; [predict] has what they share, its start and end are those of the whole."""
    from kinetree.motion.problem.phases import Junction, Phases

    if table.begin != "line":
        raise InputError(f"phases begin with a line in each phase, got begin = '{table.begin}'")
    if work.tables.study.duration is not None or table.refine:
        raise InputError("phases have durations of their own and are not refined: set phase.duration instead")
    problems, last = [], len(table.phase) - 1
    for k, phase in enumerate(table.phase):
        own = table.model_copy(update={key: getattr(phase, key) for key in phase.model_fields_set})
        ends = (
            phase.start or (table.start if k == 0 else None),
            phase.end or (table.end if k == last else None),
        )
        problems.append(_of_table(work, own, ends, _loads(work, phase)))
    return Phases(problems, [Junction(phase.goes_on) for phase in table.phase[1:]])


def _loads(work: Assignment, phase: PhaseTable) -> list[Any]:
    return loads(work) if phase.load is None else wrenches(work, phase.load, "predict", "phase", "load")


def _of_table(
    work: Assignment, table: MotionTable, ends: tuple[EndTable | None, EndTable | None], acting: list[Any]
) -> Problem:
    from kinetree.motion.problem.instants import GaussSamples
    from kinetree.motion.problem.problem import Problem
    from kinetree.study.mechanism import joint_values

    return Problem(
        work.mechanism,
        objective=_objective(work, table),
        constraints=_constraints(work, table, ends),
        duration=_duration(work, table),
        segments=table.segments,
        degree=table.degree,
        samples=table.samples if table.gauss is None else GaussSamples(**dict(table.gauss)),
        clamped=table.clamped,
        sizes=table.sizes,
        frozen=table.frozen,
        loads=acting,
        independent=table.independent,
        guess=joint_values(work.mechanism, table.guess, None, "guess"),
    )


def _duration(work: Assignment, table: MotionTable) -> Any:
    fixed = work.tables.study.duration
    if fixed is not None and table.duration is not None:
        raise InputError(
            "give either study.duration, which is fixed, or predict.duration = [lowest, highest]"
        )
    return tuple(table.duration) if table.duration is not None else fixed


def _objective(work: Assignment, table: MotionTable) -> Any:
    from kinetree.motion import terms
    from kinetree.motion.declared import OBJECTIVES

    listed = [
        row.weight * declared.made(**{key: x for key, x in row if key != "weight"})
        for declared in OBJECTIVES
        for row in getattr(table, declared.key)
    ]
    if table.objective == "terms" and not listed:
        raise InputError("the objective 'terms' needs at least one of them, such as [[predict.time]]")
    if (table.objective == "function") != (table.function is not None):
        raise InputError("the objective 'function' and the key function = 'file.py:name' belong together")
    if table.objective == "function":
        own = work.code.function(str(table.function), "predict.function", "s, q, qd, qdd, tau")
        return [terms.CustomObjective(own), *listed]
    if table.objective == "mixed":
        return [*terms.time_and_torque(table.torque_weight), *listed]
    return [*(declared.made() for declared in OBJECTIVES if declared.key == table.objective), *listed]


def _constraints(
    work: Assignment, table: MotionTable, ends: tuple[EndTable | None, EndTable | None]
) -> list[Any]:
    from kinetree.motion import terms
    from kinetree.motion.declared import CONSTRAINTS

    found: list[Any] = []
    for place, end in zip(("start", "end"), ends, strict=True):
        if end is not None:
            q = _positions(work, end, place)
            found.append(terms.Boundary(place, q, _given(work, end.qd), _given(work, end.qdd)))
    shorts = [(declared, declared.short) for declared in CONSTRAINTS if declared.short is not None]
    for declared, short in shorts:
        value = getattr(table, short.key)
        if short.kind == "flag":
            found += [declared.made()] if value else []
        elif value is not None or _has_limits(work, short.of_model):
            first = declared.parameters[0].name
            found.append(declared.made(**({} if value in (None, "model") else {first: value})))
    rows = [(declared, row) for declared in CONSTRAINTS for row in getattr(table, declared.key)]
    return found + [declared.made(**dict(row)) for declared, row in rows]


def _has_limits(work: Assignment, name: str) -> bool:
    """Whether a joint of the mechanism has a limit of this name."""
    return bool(name) and bool(np.isfinite(getattr(work.mechanism.tree, name)).any())


def _given(work: Assignment, values: PerJoint | None) -> Any:
    """Values as a boundary condition takes them: all joints, or those of a table."""
    for name in values if isinstance(values, dict) else ():
        if name not in work.mechanism.joint_names:
            raise InputError(unknown_name("joint", name, work.mechanism.joint_names))
    return values


def _positions(work: Assignment, end: EndTable, place: str) -> Any:
    from kinetree.study.mechanism import joint_values

    named = end.q if end.q is not None else end.q_degrees
    q = joint_values(work.mechanism, end.q, end.q_degrees, f"{place}.q")
    if q is None or not isinstance(named, dict):
        return q
    return {name: q[work.mechanism.joint_index(name)] for name in named}


def _settings() -> type[Table]:
    """Its own table, which has one for every term."""
    from kinetree.study.prediction_tables import PredictTable

    return PredictTable


TASK = Task(
    "predict",
    "the motion that is best: shortest, with the least torques, or both",
    prepare,
    needs=("mechanism", "predict"),
    uses=("load",),
    settings=_settings,
)
