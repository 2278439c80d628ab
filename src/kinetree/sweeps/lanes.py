"""Simulations that differ only in their start and in masses: one batch in the lanes of one process."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.errors import InputError, SimulationError
from kinetree.result.result import Result
from kinetree.simulation.batch import simulate_batch
from kinetree.study.assignment import Assignment, Study
from kinetree.study.code import Code
from kinetree.study.file import study_of_table
from kinetree.study.motion import initial_state
from kinetree.study.origin import StudyOrigin
from kinetree.study.outcome import AUDIT_FAILED, OK
from kinetree.study.surroundings import simulation_options
from kinetree.sweeps.fields import is_body, places, scale_at, set_at
from kinetree.sweeps.measures import ROLLOUT, Value, labels_of, read_measures, values_of
from kinetree.sweeps.outcome import ERROR, CaseOutcome, cut

if TYPE_CHECKING:
    from kinetree.sweeps.case import Job
    from kinetree.sweeps.plan import Plan

BLOCK = 512  # cases of one batch; fixed, as neighbors in lanes share their steps
VARIABLES = (
    "q", "qd", "kinetic_energy", "potential_energy", "actuator_work", "joint_work", "external_work",
    "energy_error",
)  # fmt: skip
TABLES = {"study", "mechanism", "initial", "torque", "output", "plot", "integrator"}
OPTIONS = ("times", "method", "rtol", "atol", "step", "max_step", "friction_speed", "stops")


def lane_refusal(plan: Plan, study: Study) -> str:
    """Why the cases cannot share lanes; empty if they can."""
    if study.task != "simulate":
        return f"only simulations without control can, not the task '{study.task}'"
    strange = [key for key in plan.table if key not in TABLES]
    if strange:
        return f"[{strange[0]}] needs one simulation at a time"
    torque, method = study.tables.torque, study.tables.integrator
    if torque is not None and torque.constant is None:
        return "only constant torques can be shared"
    if method is not None and (method.method == "radau" or method.stop_at or method.baumgarte):
        return "radau, stop_at and baumgarte need one simulation at a time"
    for column in plan.columns:
        for path in column.paths:
            for place in places(plan.table, path):
                start = place[0] == "initial" and place[1] in ("q", "qd", "q_degrees", "qd_degrees")
                if not start and not (is_body(place) and column.relative):
                    return f"'{path}' is neither a start nor a body that is scaled"
    asked = [m.variable for m in read_measures(plan.sweep.measures)]
    for name in [*asked, *plan.sweep.keep]:
        if name not in VARIABLES:
            return f"'{name}' is not available in simulations in lanes, which have {', '.join(VARIABLES)}"
    if plan.sweep.function:
        return "a function of results needs one simulation at a time"
    mechanism = study_mechanism_of(study)
    if mechanism.loops or mechanism.tree.coupling is not None or mechanism.springs:
        return "closed loops, mimic joints and springs between bodies need one simulation at a time"
    return ""


def study_mechanism_of(study: Study) -> Any:
    """The mechanism of a study."""
    return Assignment(study, Code(study.folder)).mechanism


def run_lanes(job: Job, cases: Sequence[int], values: Sequence[Sequence[Any]]) -> list[CaseOutcome]:
    """Run a block of cases at once; where one of them fails, each by itself."""
    try:
        return _run_block(job, cases, values)
    except (SimulationError, InputError) as error:
        if len(cases) > 1:
            return [run_lanes(job, [k], [x])[0] for k, x in zip(cases, values, strict=True)]
        status = "diverged" if isinstance(error, SimulationError) else ERROR
        return [CaseOutcome(cases[0], status, cut(str(error)), {}, {}, 0.0)]


def _run_block(job: Job, cases: Sequence[int], values: Sequence[Sequence[Any]]) -> list[CaseOutcome]:
    began = perf_counter()
    study = study_of_table(job.name, StudyOrigin(job.name, job.table), job.folder, {})
    base = Assignment(study, Code(job.folder))
    mechanism, duration = base.mechanism, base.duration()
    given = simulation_options(base, duration)
    options = {key: given[key] for key in OPTIONS if given.get(key) is not None}
    if options.get("method") == "auto":
        del options["method"]
    if study.tables.torque is not None:
        from kinetree.study.laws import torque

        options |= torque(base)
    batch = simulate_batch(
        mechanism, *_starts(job, base, values), duration, masses=_masses(job, mechanism, values), **options
    )
    seconds = (perf_counter() - began) / len(cases)
    kept = values_of(batch, job.measures, job.keep)
    labels, faults = labels_of(batch, kept), _energy_faults(batch)
    return [
        CaseOutcome(
            case,
            AUDIT_FAILED if faults[k] else OK,
            faults[k],
            {name: _of_motion(value, k) for name, value in kept.items()},
            labels,
            seconds,
        )
        for k, case in enumerate(cases)
    ]


def _of_motion(value: Value, k: int) -> Value:
    """What a value of a batch is for one of its motions."""
    if ROLLOUT not in value.dims:
        return value
    return value._replace(dims=value.dims[1:], values=value.values[k])


def _energy_faults(batch: Result) -> list[str]:
    """For each motion what is wrong with its balance of energy, or nothing."""
    play = np.abs(batch.kinetic_energy.values).max(axis=1)
    play = np.maximum(play, np.ptp(batch.potential_energy.values, axis=1))
    worst = np.abs(batch.energy_error.values).max(axis=1)
    rounding = 1e-12 * (1.0 + np.abs(batch.potential_energy.values).max(axis=1))
    bad = worst > batch.audit["energy_balance"].tolerance * play + rounding
    return [
        f"energy error {worst[k]:.3g} J of {play[k]:.3g} J exchanged" if bad[k] else ""
        for k in range(len(bad))
    ]


def _starts(job: Job, base: Assignment, values: Sequence[Sequence[Any]]) -> tuple[Any, Any]:
    """Positions and velocities (m, n_dof) at the start of each case."""
    starts = [k for k, column in enumerate(job.columns) if column[1][0].startswith("initial.")]
    if not starts:
        q, qd = initial_state(base, None)
        return np.tile(q, (len(values), 1)), np.tile(qd, (len(values), 1))
    found = []
    for own in values:
        table = {"initial": copy.deepcopy(job.table.get("initial", {}))}
        for k in starts:
            _, paths, relative = job.columns[k]
            for path in paths:
                for place in places(table, path):
                    (scale_at if relative else set_at)(table, place, own[k])
        kind = type(base.tables).model_fields["initial"].annotation.__args__[0]
        tables = base.tables.model_copy(update={"initial": kind.model_validate(table["initial"])})
        study = replace(base.study, tables=tables)
        own_work = Assignment(study, base.code)
        own_work.__dict__["mechanism"] = base.mechanism
        found.append(initial_state(own_work, None))
    return np.array([q for q, _ in found]), np.array([qd for _, qd in found])


def _masses(job: Job, mechanism: Any, values: Sequence[Sequence[Any]]) -> Any:
    """Masses (m, n_bodies), or None if all cases have those of the mechanism."""
    factors = np.ones((len(values), len(mechanism.body_names)))
    varied = False
    for k, (_, paths, _) in enumerate(job.columns):
        for path in paths:
            for place in places(job.table, path):
                if is_body(place):
                    factors[:, int(place[2])] *= [own[k] for own in values]
                    varied = True
    return factors * mechanism.tree.body_mass if varied else None
