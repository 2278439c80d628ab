"""Studies in which some joints move as prescribed and the others as they must: integrated, torques out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import SimulationError
from kinetree.model.mechanism import Mechanism
from kinetree.result.records import Check
from kinetree.result.result import Result, changed
from kinetree.state import Wrench
from kinetree.study.assignment import Assignment
from kinetree.study.extend import with_variables
from kinetree.study.motion import initial_state
from kinetree.study.surroundings import simulation_options, wrenches
from kinetree.trajectories.base import Trajectory

ROUND_TRIP = 1e-9  # accelerations got back from the torques may differ by this part of their size


def integrated(
    work: Assignment, motion: Trajectory, joints: Sequence[str] | None, drives: dict[str, Any], place: str
) -> Callable[[], Result]:
    """Some joints as the motion has them, by default the driven ones; ``drives``: what drives the others."""
    from kinetree.control.prescribed import Prescribed

    duration = work.duration(motion.duration)
    with work.origin.blamed(place):
        law = Prescribed(motion, joints, drives.get("controller", drives.get("torque")))
        parts = law.prescribed_parts(work.mechanism)
    q0, qd0 = _start(work, motion, parts.places)
    options = simulation_options(work, duration)

    def run() -> Result:
        from kinetree.simulation.simulate import simulate

        try:
            with work.origin.blamed():
                found = simulate(work.mechanism, q0, qd0, duration, controller=law, **options)
        except SimulationError as error:
            if error.result is not None:
                error.result = _audited(work, error.result, motion, parts.places)
            raise
        return _audited(work, found, motion, parts.places)

    return run


def _start(work: Assignment, motion: Trajectory, places: Any) -> tuple[Array, Array]:
    """Prescribed joints begin as the motion does, the others as the study says, or with the motion."""
    first = motion.at(0.0)
    q, qd = (np.array(x) for x in initial_state(work, motion))
    q[places], qd[places] = first.q[places], first.qd[places]
    return q, qd


def _audited(work: Assignment, result: Result, motion: Trajectory, places: Any) -> Result:
    names = [work.mechanism.joint_names[k] for k in places]
    settings = {**result.settings, "prescribed": names}
    acting = [*_loads(work, result.time.values), *_ground_forces(work.mechanism, result)]
    audit = {**result.audit, "round_trip": round_trip(work.mechanism, result, acting)}
    wanted = motion.at(result.time.values)
    stated = {"q_reference": wanted.q, "qd_reference": wanted.qd, "qdd_reference": wanted.qdd}
    error = np.abs(result.q.values - wanted.q)[:, places]
    statistics = {**result.statistics, "largest_error": float(error.max(initial=0.0))}
    named = changed(result, task=work.study.task, settings=settings, audit=audit, statistics=statistics)
    return with_variables(named, stated)


def _loads(work: Assignment, times: Array) -> list[Wrench]:
    """The loads at the times of a result."""
    acting = wrenches(work, work.tables.load, "times", "load")
    return acting(times) if callable(acting) else acting  # type: ignore[no-any-return]


def _ground_forces(mechanism: Mechanism, result: Result) -> list[Wrench]:
    """What the ground does to the bodies at the times of a result."""
    if "contact_force" not in result.dataset:
        return []
    force = result["contact_force"].values
    return [
        Wrench(point.body, force=force[:, k], point=point.position)
        for k, point in enumerate(mechanism.contact_points)
    ]


def round_trip(mechanism: Mechanism, result: Result, acting: list[Wrench]) -> Check:
    """Forward dynamics with torques and forces of a result must give its accelerations back."""
    from kinetree.analysis.forward import forward_dynamics

    q, qd, qdd, tau = (result[name].values for name in ("q", "qd", "qdd", "tau"))
    return back_again(qdd, forward_dynamics(mechanism, q, qd, tau, acting or None))


def back_again(qdd: Array, back: Array) -> Check:
    """The verdict on accelerations that torques have given back."""
    size = max(float(np.abs(qdd).max()), 1.0)
    worst = float(np.abs(back - qdd).max()) / size
    return Check.within(worst, ROUND_TRIP, "1", "forward dynamics reproduces the accelerations")
