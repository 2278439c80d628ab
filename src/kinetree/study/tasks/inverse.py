"""Inverse dynamics: which torques does a motion need?"""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError
from kinetree.formats.schema_parts import Table
from kinetree.model.mechanism import Mechanism
from kinetree.result.records import Check
from kinetree.result.result import Result
from kinetree.state import State
from kinetree.study.assignment import Assignment
from kinetree.study.motion import trajectory
from kinetree.study.prescribed import back_again, integrated
from kinetree.study.surroundings import verdicts_given, wrenches
from kinetree.study.tasks import Task, Work
from kinetree.study.values import choice
from kinetree.trajectories.base import Trajectory
from kinetree.verdicts.finding import Findings, checks_of
from kinetree.verdicts.limits import LimitWatch
from kinetree.verdicts.margins import read_verdicts
from kinetree.verdicts.prescribed import watch_motion

BLOCK = 4096  # samples between two looks at the keyboard
IDLE = 1e-9  # torque that a joint without a drive may need, beside the largest of all
SURROUNDINGS = ("initial", "ground", "event", "stops", "integrator")  # of motions that are integrated


class InverseTable(Table):
    """Which joints follow the trajectory."""

    prescribed: choice("word", lambda: ("driven", "all")) = Field(  # type: ignore[valid-type]
        "driven",
        description='"driven": driven joints are prescribed; a floating base and joints without drives move '
        'freely from [initial], on the [ground]. "all": every joint is prescribed, and the audit shows the '
        "torques that joints without drives would need.",
    )


def prepare(work: Assignment) -> Work:
    """Torques, energies and on request reactions along the prescribed motion."""
    motion = trajectory(work, work.tables.study.duration)
    everything = work.tables.inverse is not None and work.tables.inverse.prescribed == "all"
    if not everything and _leaves_freedom(work.mechanism):
        if not work.mechanism.actuated.any():
            raise InputError(
                f"{work.origin.where(('mechanism',))}: no joint of '{work.mechanism.name}' has a drive; "
                'inverse.prescribed = "all" prescribes its motion all the same'
            )
        return integrated(work, motion, None, {}, "trajectory")
    for key in SURROUNDINGS:
        if getattr(work.tables, key) is not None and getattr(work.tables, key) != []:
            raise InputError(
                f"{work.origin.where((key,))}: [{key}] is for motions that are integrated, but all joints of "
                f"'{work.mechanism.name}' move as prescribed"
            )
    times = work.times(work.duration(motion.duration))
    acting, reactions = wrenches(work, work.tables.load, "times", "load"), work.output.reactions

    def run() -> Result:
        from time import perf_counter

        from kinetree.result.build import build_result

        began = perf_counter()
        blocks, stop = _until_interrupted(work, motion, times, acting, reactions)
        variables = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
        audit = {"round_trip": back_again(variables["qdd"], variables.pop("qdd_back"))}
        findings, skipped = _limits(work, motion, variables["time"], acting)
        audit |= checks_of(findings)
        wrong = [check.sentence for name, check in audit.items() if name in findings and not check.passed]
        if not work.mechanism.loops and not work.mechanism.actuated.all():
            audit["undriven"] = _idle(work.mechanism, variables["tau"])
        if work.mechanism.loops:
            from kinetree.simulation.loop_audit import gap_checks, loop_errors

            audit |= gap_checks(work.mechanism, variables["q"])
            variables["loop_error"] = loop_errors(work.mechanism, variables["q"])
        settings = {"duration": float(times[-1])}
        return build_result(
            "inverse", work.mechanism, variables, settings=settings, audit=audit, messages=wrong,
            not_judged=skipped, seconds=perf_counter() - began, **stop,
        )  # fmt: skip

    return run


def _limits(
    work: Assignment, motion: Trajectory, times: Array, acting: Any
) -> tuple[Findings, dict[str, str]]:
    """Verdicts on limits of the mechanism along the motion, and which there are none of."""
    from kinetree.analysis.inverse import inverse_dynamics

    mechanism, margins = work.mechanism, read_verdicts(verdicts_given(work))
    watch = LimitWatch(mechanism, margins)

    def efforts(t: Array, state: State) -> Array:
        loads = acting(t) if callable(acting) else acting
        return inverse_dynamics(mechanism, state.q, state.qd, state.qdd, loads)

    if watch.judges_motion or watch.judges_efforts:
        finer = not mechanism.loops  # whose dependent joints are costly
        watch_motion(watch, motion.at, times, efforts, motion.breaks.tolist(), finer=finer)
    return watch.findings(), watch.not_judged()


def _leaves_freedom(mechanism: Mechanism) -> bool:
    """Whether the motion of driven joints does not determine that of all others."""
    if not mechanism.loops:
        return not bool(mechanism.actuated.all())
    from kinetree.dynamics.loops.structure import mobility

    return int(mechanism.actuated.sum()) < mobility(mechanism)


def _until_interrupted(
    work: Assignment, motion: Trajectory, times: Array, acting: Any, reactions: bool
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """All variables block by block, and where an interruption has ended them if there is any block."""
    blocks: list[dict[str, Any]] = []
    try:
        for begin in range(0, len(times), BLOCK):
            some = times[begin : begin + BLOCK]
            now = acting(some) if callable(acting) else acting
            blocks.append(_block(work.mechanism, motion, some, now, reactions))
            if work.progress is not None:
                work.progress(min((begin + BLOCK) / len(times), 1.0))
    except KeyboardInterrupt:
        if not blocks:
            raise
        return blocks, {"stopped_at": float(blocks[-1]["time"][-1]), "stop_reason": "interrupted"}
    return blocks, {}


def _block(
    mechanism: Mechanism, motion: Trajectory, times: Array, wrenches: list[Any], reactions: bool
) -> dict[str, Any]:
    """The motion at some of the times, what it needs, and the accelerations got back from the torques."""
    from kinetree.analysis.energy import kinetic_energy, potential_energy
    from kinetree.analysis.forward import forward_dynamics
    from kinetree.analysis.inverse import inverse_dynamics

    state = motion.at(times)
    q, qd, qdd = state.q, state.qd, state.qdd
    tau = inverse_dynamics(mechanism, q, qd, qdd, wrenches)
    variables: dict[str, Any] = {"time": times, "q": q, "qd": qd, "qdd": qdd, "tau": tau}
    variables["kinetic_energy"] = kinetic_energy(mechanism, q, qd)
    variables["potential_energy"] = potential_energy(mechanism, q)
    if reactions:
        variables |= _reactions(mechanism, q, qd, qdd, wrenches)
    return variables | {"qdd_back": forward_dynamics(mechanism, q, qd, tau, wrenches)}


def _reactions(mechanism: Mechanism, q: Array, qd: Array, qdd: Array, wrenches: list[Any]) -> dict[str, Any]:
    """What the joints transmit, the cut ones of closed loops included."""
    if mechanism.loops:
        from kinetree.dynamics.loops.reactions import loop_reactions

        found = loop_reactions(mechanism, q, qd, qdd, wrenches)
        return {"reaction": found.wrench, "loop_force": found.forces.wrench}
    from kinetree.analysis.inverse import joint_reactions

    return {"reaction": joint_reactions(mechanism, q, qd, qdd, wrenches)}


def _idle(mechanism: Mechanism, tau: Array) -> Check:
    """Joints without drives must need no torque."""
    most = np.abs(tau).max(axis=0)
    idle = np.flatnonzero(~mechanism.actuated)
    worst = idle[int(np.argmax(most[idle]))]
    needs = f"'{mechanism.joint_names[worst]}' needs up to {most[worst]:.3g}"
    sentence = f"joints without drives need no torque; {needs}"
    return Check.within(float(most[worst]) / max(float(most.max()), 1e-12), IDLE, "1", sentence)


TASK = Task(
    "inverse",
    "torques of a prescribed motion",
    prepare,
    needs=("mechanism", "trajectory"),
    uses=("load", "verdicts", *SURROUNDINGS),
    settings=InverseTable,
)
