"""Stability: for how long does a simulation follow the motion whose torques drive it?

[Mohan2007], section 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from kinetree.algebra.arrays import Array
from kinetree.formats.schema_parts import Table
from kinetree.result.records import Check
from kinetree.result.result import Result
from kinetree.study.assignment import Assignment
from kinetree.study.tasks import Task, Work
from kinetree.study.values import Names, Numbers, Positive, Whole

if TYPE_CHECKING:
    from kinetree.documents.stability import FollowedAlgorithms

DURATION = 10.0  # s: T of [Mohan2007], eq. 38


class StabilityTable(Table):
    """Settings of the study of [Mohan2007], section 5."""

    algorithms: Names = Field(
        ["articulated", "cholesky"],
        description='Of "articulated", "denoc" (recursive, interpreted: slow) and "cholesky".',
    )
    rtol: Positive = Field(1e-8, description="Tolerance of the integrator.")
    limit: Positive = Field(1e-3, description="Error at which a joint has left the motion (rad).")
    tolerances: Numbers = Field(
        [1e-4, 1e-6, 1e-8, 1e-10, 1e-12], description="Further tolerances for the compiled algorithms."
    )
    states: Whole = Field(40, description="States at which rounding errors are measured.")


def prepare(work: Assignment) -> Work:
    """Forced simulations by several algorithms, and the growth of errors that no algorithm can change."""
    from kinetree.documents.forced_simulation import check_run

    table = work.tables.stability or StabilityTable.model_validate({})
    duration, mechanism = work.duration(DURATION), work.mechanism
    with work.origin.blamed("stability"):
        for tolerance in (table.rtol, *table.tolerances):
            check_run(mechanism, table.algorithms, tolerance)

    def run() -> Result:
        from time import perf_counter

        from kinetree.documents.stability import InterruptedStability, run_stability
        from kinetree.result.build import build_result

        began = perf_counter()
        found: FollowedAlgorithms
        stop: dict[str, Any] = {}
        with work.origin.blamed("stability"):
            try:
                found = run_stability(duration, progress=work.progress, mechanism=mechanism, **dict(table))
            except InterruptedStability as partial:
                found = partial.found
                stop = {"stopped_at": float(found.runs[-1].time[-1]), "stop_reason": "interrupted"}
        arrays, labels = _arrays(found)
        settings = {"duration": duration, **dict(table)}
        return build_result(
            "stability", mechanism, arrays, coordinates=labels, settings=settings, audit=_audit(found),
            statistics=_texts(found.summary()), seconds=perf_counter() - began, **stop,
        )  # fmt: skip

    return run


def _arrays(found: FollowedAlgorithms) -> tuple[dict[str, Any], dict[str, Any]]:
    """Variables and the names of the algorithms along them."""
    by_joint, t = ("algorithm", "time", "joint"), found.time
    q, qdd, errors = (
        np.stack([_spread(t, run.time, getattr(run, name)) for run in found.runs])
        for name in ("q", "qdd", "error")
    )
    power = np.stack([_spread(t, run.time, run.power[:, None])[:, 0] for run in found.runs])
    horizon = np.stack([run.horizon(found.limit) for run in found.runs])
    arrays: dict[str, Any] = {
        "time": t,
        "q_reference": found.prescribed.q,
        "qd_reference": found.prescribed.qd,
        "qdd_reference": found.prescribed.qdd,
        "tau": found.torque,
        "q": (by_joint, q, "{q_unit}", "simulated position", True),
        "qdd": (by_joint, qdd, "{q_unit}/s^2", "simulated acceleration", True),
        "q_error": (by_joint, errors, "{q_unit}", "simulated minus prescribed position", True),
        "horizon": (("algorithm", "joint"), horizon, "s", "time until the joint's error reaches the limit"),
        "growth_rate": (("time",), found.growth.rate, "1/s", "growth rate of errors"),
        "amplification": (("time",), found.growth.amplification, "1", "error relative to the initial error"),
        "power": (("time",), found.power, "W", "power of the torques in the prescribed motion"),
        "simulated_power": (("algorithm", "time"), power, "W", "power of the torques as simulated", True),
    }
    names = [run.algorithm for run in found.runs]
    return arrays, {"algorithm": (("algorithm",), names, "", "algorithm of forward dynamics")}


def _spread(time: Array, own: Array, values: Array) -> Array:
    """The values (k, n) of a run at other times; NaN once the run has ended."""
    columns = [np.interp(time, own, column, right=np.nan) for column in values.T]
    return np.stack(columns, axis=1)


def _audit(found: FollowedAlgorithms) -> dict[str, Check]:
    """Without gravity the motion is followed to its end; with it all algorithms lose it alike."""
    from kinetree.documents.stability import Stability

    if not isinstance(found, Stability):
        return {}
    worst, T = float(found.weightless.largest_error[-1]), found.duration
    audit = {
        "weightless": Check.within(
            worst, found.limit, "rad", "without gravity the simulation follows the motion to its end"
        )
    }
    horizons = [float(run.horizon(found.limit).min()) for run in found.runs]
    apart = max(horizons) - min(horizons)
    sentence = "the algorithms leave the motion at about the same time, which its own instability determines"
    return audit | {"same_horizon": Check.within(apart, T / 10, "s", sentence)}


def _texts(value: Any) -> Any:
    """Tables with texts as keys."""
    if isinstance(value, dict):
        return {key if isinstance(key, str) else f"{key:g}": _texts(x) for key, x in value.items()}
    return [_texts(x) for x in value] if isinstance(value, list) else value


TASK = Task(
    "stability",
    "how long a simulation without feedback follows a motion ([Mohan2007])",
    prepare,
    needs=("mechanism",),
    settings=StabilityTable,
    output=False,
)
