"""Inverse dynamics: which torques does a motion need?"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.result.records import Check
from kinetree.result.result import Result
from kinetree.study.assignment import Assignment
from kinetree.study.motion import trajectory
from kinetree.study.surroundings import loads
from kinetree.study.tasks import Task, Work

ROUND_TRIP = 1e-9  # accelerations got back from the torques may differ by this part of their size


def prepare(work: Assignment) -> Work:
    """Torques, energies and on request reactions along the prescribed motion."""
    motion = trajectory(work, work.tables.study.duration)
    times = work.times(work.duration(motion.duration))
    wrenches, reactions = loads(work), work.output.reactions

    def run() -> Result:
        from time import perf_counter

        from kinetree.analysis.energy import kinetic_energy, potential_energy
        from kinetree.analysis.inverse import inverse_dynamics, joint_reactions
        from kinetree.result.build import build_result

        mechanism, state, began = work.mechanism, motion.at(times), perf_counter()
        q, qd, qdd = state.q, state.qd, state.qdd
        tau = inverse_dynamics(mechanism, q, qd, qdd, wrenches)
        variables: dict[str, Any] = {"time": times, "q": q, "qd": qd, "qdd": qdd, "tau": tau}
        variables["kinetic_energy"] = kinetic_energy(mechanism, q, qd)
        variables["potential_energy"] = potential_energy(mechanism, q)
        if reactions:
            variables["reaction"] = joint_reactions(mechanism, q, qd, qdd, wrenches)
        audit = {"round_trip": _round_trip(work, variables, wrenches)}
        settings = {"duration": float(times[-1]), "trajectory": type(motion).__name__}
        return build_result(
            "inverse", mechanism, variables, settings=settings, audit=audit, seconds=perf_counter() - began
        )

    return run


def _round_trip(work: Assignment, variables: dict[str, Any], wrenches: list[Any]) -> Check:
    """Forward dynamics with the torques must give the accelerations back."""
    from kinetree.analysis.forward import forward_dynamics

    q, qd, qdd, tau = (variables[name] for name in ("q", "qd", "qdd", "tau"))
    back = forward_dynamics(work.mechanism, q, qd, tau, wrenches)
    size = max(float(np.abs(qdd).max()), 1.0)
    worst = float(np.abs(back - qdd).max()) / size
    return Check.within(worst, ROUND_TRIP, "1", "forward dynamics gives the accelerations back")


TASK = Task(
    "inverse",
    "torques that a prescribed motion needs",
    prepare,
    needs=("mechanism", "trajectory"),
    uses=("load",),
)
