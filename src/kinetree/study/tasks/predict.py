"""Prediction: which motion is the best?"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.declare import Declaration, stored
from kinetree.errors import FileError, InputError, unknown_name
from kinetree.formats.schema_parts import Table
from kinetree.result.result import Result, changed
from kinetree.result.variables import Variable
from kinetree.study.assignment import Assignment
from kinetree.study.extend import with_variables
from kinetree.study.surroundings import wrenches
from kinetree.study.tasks import Task, Work
from kinetree.study.values import PerJoint

if TYPE_CHECKING:
    from kinetree.motion.problem.phases import PhasedProblem
    from kinetree.motion.problem.problem import Problem
    from kinetree.study.prediction_tables import EndStateTable, MotionTable, PhaseTable, PredictTable

FUNCTION_OF = "s, q, qd, qdd, tau"  # arguments of the user's functions


def prepare(work: Assignment) -> Work:
    """The best motion, checked by a simulation under its torques."""
    table: PredictTable = work.tables.predict
    work.check_samples()
    with work.origin.blamed("predict"):
        asked = _phases(work, table) if table.phase else _problem(work, table)

    def run() -> Result:
        from kinetree.motion.free_knots import free_knots
        from kinetree.motion.phased import predict_phases
        from kinetree.motion.predict import predict
        from kinetree.motion.problem.problem import Problem
        from kinetree.motion.refinement import refine
        from kinetree.study.prediction_tables import SEARCH

        search: dict[str, Any] = {key: getattr(table, key) for key in SEARCH}
        search["progress"] = history = History(work.progress)
        with work.origin.blamed("predict"):
            if not isinstance(asked, Problem):
                phased = predict_phases(asked, **search)
                parts = phased.parts if phased.solved_at_samples else []
                return work.sampled(_checked(history.within(phased.to_result()), parts))
            found = predict(asked, start="random" if table.begin == "random" else None, **search)
            if table.free_knots and found.solved_at_samples:
                found = free_knots(found, solver=table.solver, progress=history)
            if table.refine and found.solved_at_samples:
                found = refine(found, solver=table.solver, progress=history)
        result = _checked(history.within(found.to_result()), [found] if found.solved_at_samples else [])
        return work.sampled(_with_slopes(result, found, table.sensitivities))

    return run


class History:
    """The iterations of a search ([Xiang2009], Fig. 10); reports the part that is done."""

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
        labels = {along: Variable((along,), np.arange(len(finite)), "1", "iteration of the solver")}
        more = {
            "objective_history": Variable((along,), objective, "1", "objective after each iteration"),
            "violation_history": Variable((along,), violation, "1", "largest violation after each iteration"),
        }
        return with_variables(result, more, labels)


def _checked(result: Result, solved: list[Any]) -> Result:
    """The result; if it was solved, also checked by a simulation under its torques."""
    from kinetree.tasks.prediction_check import came_about

    if not solved:
        return result
    worst = max((came_about(part) for part in solved), key=lambda check: (not check.passed, check.value))
    return changed(result, audit={**result.audit, "simulation": worst})


def _with_slopes(result: Result, found: Any, formulation: str | None) -> Result:
    """The result with the derivatives of the torques two ways, if they are asked for."""
    if formulation is None:
        return result
    from kinetree.documents.torque_slopes import torque_slopes

    variables, labels, check = torque_slopes(found, formulation)
    more = with_variables(result, variables, labels)
    return changed(more, audit={**more.audit, "sensitivities": check})


# ---- problems -------------------------------------------------------------------------------------------


def _problem(work: Assignment, table: PredictTable) -> Problem:
    bound = [key for declaration in stored("constraints") if getattr(table, key := declaration.key)]
    if table.start is None and table.end is None and not bound:
        raise InputError(
            "the motion has no start and no end: give the state predict.start or predict.end, such as "
            "{ q = [0.0, 1.0] }, or a table of a constraint such as [[predict.point]]"
        )
    if "torque_weight" in table.model_fields_set and table.objective != "mixed":
        raise InputError(f"torque_weight is for the objective 'mixed'; the objective is '{table.objective}'")
    if table.free_knots and table.refine:
        raise InputError("free_knots and refine both choose the knots: set one of them")
    problem = _of_table(work, table, (table.start, table.end), _loads(work))
    if table.free_knots:
        from kinetree.motion.free_knots import check_free_knots

        check_free_knots(problem)
    return problem


def _phases(work: Assignment, table: PredictTable) -> PhasedProblem:
    """A problem for each phase; [predict] has what they share, its start and end are those of the whole."""
    from kinetree.motion.problem.phases import Junction, PhasedProblem

    if table.begin != "line":
        raise InputError(f"phases begin with a line in each phase, got begin = '{table.begin}'")
    if work.tables.study.duration is not None or table.refine or table.free_knots:
        raise InputError(
            "phases have their own durations and knots and are not refined: set phase.duration instead"
        )
    problems, last = [], len(table.phase) - 1
    for k, phase in enumerate(table.phase):
        own = table.model_copy(update={key: getattr(phase, key) for key in phase.model_fields_set})
        ends = (
            phase.start or (table.start if k == 0 else None),
            phase.end or (table.end if k == last else None),
        )
        problems.append(_of_table(work, own, ends, _loads(work, phase)))
    return PhasedProblem(problems, [Junction(phase.goes_on) for phase in table.phase[1:]])


def _loads(work: Assignment, phase: PhaseTable | None = None) -> Any:
    """The study's loads, or those of a phase; a function of s if one varies."""
    if phase is None or phase.load is None:
        return wrenches(work, work.tables.load, "s", "load")
    return wrenches(work, phase.load, "s", "predict", "phase", "load")


def _of_table(
    work: Assignment, table: MotionTable, ends: tuple[EndStateTable | None, EndStateTable | None], acting: Any
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
        limits=_limits(table),
        **({} if table.regularization is None else {"regularization": table.regularization}),
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

    rows = [
        (declaration, row) for declaration in stored("objectives") for row in getattr(table, declaration.key)
    ]
    made = [(_term(declaration, **_arguments(work, declaration, row)), row) for declaration, row in rows]
    listed = [row.weight * (term.mean() if row.mean else term) for term, row in made]
    if table.objective == "terms" and not listed:
        raise InputError("the objective 'terms' needs at least one of them, such as [[predict.time]]")
    if (table.objective == "function") != (table.function is not None):
        raise InputError("the objective 'function' and the key function = 'file.py:name' belong together")
    if table.objective == "function":
        own = work.code.function(str(table.function), "predict.function", FUNCTION_OF)
        return [terms.CustomObjective(own), *listed]
    if table.objective == "mixed":
        return [*terms.time_and_torque(table.torque_weight), *listed]
    return [
        *(_term(declaration) for declaration in stored("objectives") if declaration.key == table.objective),
        *listed,
    ]


def _constraints(
    work: Assignment, table: MotionTable, ends: tuple[EndStateTable | None, EndStateTable | None]
) -> list[Any]:
    from kinetree.motion import terms
    from kinetree.motion.problem.setting import ENDS

    found: list[Any] = []
    for place, end in zip(ENDS, ends, strict=True):
        if end is not None:
            q = _positions(work, end, place)
            found.append(terms.Boundary(place, q, _given(work, end.qd), _given(work, end.qdd)))
    shorts = [
        (declaration, declaration.short)
        for declaration in stored("constraints")
        if declaration.short is not None
    ]
    for declaration, short in shorts:
        value = getattr(table, short.key)
        if short.kind == "flag":
            found += [_term(declaration)] if value else []
        elif value is not None:
            first = declaration.parameters[0].name
            found.append(_term(declaration, **({} if value == "model" else {first: value})))
    rows = [
        (declaration, row) for declaration in stored("constraints") for row in getattr(table, declaration.key)
    ]
    return found + [_term(declaration, **_arguments(work, declaration, row)) for declaration, row in rows]


def _term(declaration: Declaration, **arguments: Any) -> Any:
    """The term that is declared, made of its arguments."""
    from kinetree.motion import terms

    return getattr(terms, declaration.name)(**arguments)


def _arguments(work: Assignment, declaration: Declaration, row: Any) -> dict[str, Any]:
    """What a term is made of: functions and files that the study names are looked up."""
    given = {key: value for key, value in row if key not in ("weight", "mean")}
    for parameter in declaration.parameters:
        value, place = given[parameter.name], f"predict.{declaration.key}.{parameter.name}"
        if parameter.kind == "function" and value is not None:
            given[parameter.name] = work.code.function(value, place, FUNCTION_OF)
        elif parameter.kind == "rows_or_file" and isinstance(value, str):
            if given.get("s") is not None:
                raise InputError(f"{place} is a file, which has its own times; leave out s")
            given |= _of_file(work, value, parameter.name)
    return given


def _of_file(work: Assignment, file: str, name: str) -> dict[str, Any]:
    """A motion in a file: a result as it is; of a table positions and their instants from 0 to 1."""
    from kinetree.motion.terms.reference import RESULTS
    from kinetree.result.netcdf import load_result
    from kinetree.trajectories.tabulated_motion import read_csv

    path = os.path.join(work.study.folder, file)
    try:
        if file.lower().endswith(RESULTS):
            return {name: load_result(path)}
        motion = read_csv(path, work.mechanism.joint_names)
    except FileError as error:
        raise FileError(f"{work.origin.where(('predict',))}: {error}") from None
    times = np.unique(motion.table().breaks)
    return {name: motion.at(times).q, "s": times / times[-1]}


def _limits(table: MotionTable) -> list[str]:
    """The kinds of the model's limits that are enforced without being asked for."""
    kinds = [
        (x.short.of_model, x.short.key)
        for x in stored("constraints")
        if x.short is not None and x.short.of_model
    ]
    return [kind for kind, key in kinds if table.limits == "model" and getattr(table, key) is not False]


def _given(work: Assignment, values: PerJoint | None) -> Any:
    """Values as a boundary condition takes them: all joints, or those of a table."""
    for name in values if isinstance(values, dict) else ():
        if name not in work.mechanism.joint_names:
            raise InputError(unknown_name("joint", name, work.mechanism.joint_names))
    return values


def _positions(work: Assignment, end: EndStateTable, place: str) -> Any:
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
    "the optimal motion: shortest, with the least torques, or both",
    prepare,
    needs=("mechanism", "predict"),
    uses=("load",),
    settings=_settings,
)
