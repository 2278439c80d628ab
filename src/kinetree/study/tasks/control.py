"""Control: how well does a law follow a motion?"""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, SimulationError
from kinetree.formats.schema_parts import Table
from kinetree.result.records import Check
from kinetree.result.result import Result, changed
from kinetree.study.assignment import Assignment
from kinetree.study.extend import with_variables
from kinetree.study.laws import TABLE_SPACING, controller, is_walking, walking_law
from kinetree.study.motion import initial_state, trajectory
from kinetree.study.surroundings import simulation_options
from kinetree.study.tasks import Task, Work
from kinetree.study.values import Positive
from kinetree.trajectories.base import Trajectory


class ControlTable(Table):
    """What the audit demands of the law."""

    tolerance: Positive | None = Field(
        None,
        description="Largest error of any actuated joint (rad, m) that the audit allows; default unlimited.",
    )


class InterruptedBefore(KeyboardInterrupt):
    """Interrupted while torques were computed in advance; ``result`` is the motion by then."""

    def __init__(self, result: Result) -> None:
        super().__init__()
        self.result = result


def prepare(work: Assignment) -> Work:
    """A simulation under the controller, with the reference motion and the actual one."""
    motion = trajectory(work, work.tables.study.duration) if work.tables.trajectory else None
    duration = work.duration(None if motion is None else motion.duration)
    q0, qd0 = initial_state(work, motion)
    options = simulation_options(work, duration)
    if is_walking(work):
        q0, qd0, options = _walking(work, motion, q0, qd0, options)

    def exact_torques(law: Any) -> Any:
        """Times and torques of the motion under a law, for laws that need them in advance."""
        times = round(duration / TABLE_SPACING) + 1
        found = _simulated(law, times=times, verdicts=False)
        if not found.complete:
            raise InterruptedBefore(found)
        return found.time.values, found.tau.values

    law = controller(work, motion, exact_torques)

    def _simulated(law: Any, **changes: Any) -> Result:
        from kinetree.simulation.simulate import simulate

        with work.origin.blamed():
            return simulate(work.mechanism, q0, qd0, duration, controller=law, **options | changes)

    def run() -> Result:
        try:
            result = _simulated(law())
        except InterruptedBefore as early:
            stated = (*early.result.messages, "interrupted while computing the motion under the exact law")
            return _compared(work, changed(early.result, messages=stated), motion)
        except SimulationError as error:
            if error.result is not None:
                error.result = _compared(work, error.result, motion)
            raise
        return _compared(work, result, motion)

    return run


def _walking(
    work: Assignment, motion: Trajectory | None, q0: Array, qd0: Array, options: dict[str, Any]
) -> tuple[Array, Array, dict[str, Any]]:
    """Where a walk begins, and how it is integrated, unless the study says otherwise."""
    with work.origin.blamed("controller"):
        if motion is not None:
            raise InputError("a controller of kind 'walking' plans its own motion; leave out [trajectory]")
        if work.tables.initial is None:
            q0 = walking_law(work).start(work.mechanism)
    table = work.tables.integrator
    usual = {"method": "radau", "rtol": 1e-4, "atol": 1e-6}
    chosen = {} if table is None else {key for key, value in table if value is not None}
    return q0, qd0, options | {key: value for key, value in usual.items() if key not in chosen}


def _compared(work: Assignment, result: Result, motion: Trajectory | None) -> Result:
    """The result with the reference motion and the tracking error."""
    named = changed(result, task="control")
    if motion is None:
        return named
    wanted = motion.at(result.time.values)
    stated = {"q_reference": wanted.q, "qd_reference": wanted.qd, "qdd_reference": wanted.qdd}
    error = np.abs(result.q.values - wanted.q)[:, _actuated(work)]
    statistics = {
        **result.statistics,
        "largest_error": float(error.max()),
        "last_error": float(error[-1].max()),
    }
    audit, allowed = dict(result.audit), work.tables.control and work.tables.control.tolerance
    if allowed is not None:
        sentence = "largest distance of an actuated joint from the reference motion"
        audit["tracking"] = Check.within(error.max(), allowed, "rad or m", sentence)
    return changed(with_variables(named, stated), audit=audit, statistics=statistics)


def _actuated(work: Assignment) -> Any:

    return work.mechanism.actuated


TASK = Task(
    "control",
    "motion under a controller that follows a trajectory",
    prepare,
    needs=("mechanism", "controller"),
    uses=("trajectory", "initial", "ground", "load", "event", "stops", "integrator", "verdicts"),
    settings=ControlTable,
)
