"""Simulation: which motion do given torques cause?"""

from __future__ import annotations

from kinetree.result.result import Result
from kinetree.study.assignment import Assignment
from kinetree.study.laws import torque
from kinetree.study.motion import initial_state
from kinetree.study.surroundings import simulation_options
from kinetree.study.tasks import Task, Work


def prepare(work: Assignment) -> Work:
    """The motion from the initial state under gravity, torques, ground and loads."""
    duration = work.duration()
    q0, qd0 = initial_state(work, None)
    options = simulation_options(work, duration) | torque(work)

    def run() -> Result:
        from kinetree.simulation.simulate import simulate

        with work.origin.blamed():
            return simulate(work.mechanism, q0, qd0, duration, **options)

    return run


TASK = Task(
    "simulate",
    "motion under given torques",
    prepare,
    needs=("mechanism",),
    uses=("initial", "torque", "ground", "load", "event", "stops", "integrator", "verdicts"),
)
