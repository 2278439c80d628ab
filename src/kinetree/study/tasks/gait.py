"""Gaits: the cheapest periodic gait of a legged robot at a speed, or a hop or a jump."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from kinetree.errors import InputError
from kinetree.formats.file_values import Number
from kinetree.result.result import Result
from kinetree.study.assignment import Assignment
from kinetree.study.tasks import Task, Work
from kinetree.study.tasks.predict import History
from kinetree.study.tasks.walk import SOLVERS
from kinetree.study.values import Gains, Limits, Positive, Whole, choice, search_table
from kinetree.tasks.gaits.task import USUAL, Gait

if TYPE_CHECKING:
    from kinetree.tasks.gaits.gait import PredictedGait
    from kinetree.tasks.gaits.leap import Leap

LEAPS = ("hop", "jump")
SEARCH = ("tolerance", "solver", "max_iterations", "time_limit")
LEAPING = ("height", "distance")
TRACKED = "tracked"
OTHER = ("touchdown", "duty", TRACKED)


class GaitTable(search_table(USUAL, SOLVERS, SEARCH)):  # type: ignore[misc]
    """How a legged robot goes: any mechanism with a floating root and contact points on its feet."""

    speed: Number = Field(0.4, description="Mean speed (m/s).")
    schedule: str = Field(
        "walk",
        description="Contact schedule: walk, trot, pace, tripod, ripple, best of these; or hop, jump.",
    )
    touchdown: Gains | None = Field(
        None,
        description="Your own schedule: touch-down of each foot's body, as a fraction of the cycle (no "
        "unit).",
    )
    duty: Positive | None = Field(
        None, description="With touchdown: fraction of the cycle in stance (no unit)."
    )
    period: Positive | None = Field(None, description="Duration of a cycle (s; default by leg length).")
    forward: choice("axis", lambda: ("x", "y", "z")) = Field(  # type: ignore[valid-type]
        "x", description="World axis of the walking direction."
    )
    height: Positive = Field(0.05, description="For hop and jump: rise of the center of mass in flight (m).")
    distance: Number = Field(0.0, description="For hop and jump: distance (m).")
    friction: Positive = Field(0.7, description="Coefficient of friction (no unit).")
    clearance: Positive | None = Field(
        None, description="Height of swing feet at mid-swing (m; default 5 % of leg)."
    )
    limits: Limits | None = Field(
        None, description='Largest torques by joint (N m), or "model", which also enforces velocity limits.'
    )
    effort: Number = Field(
        100.0, description="Weight of squared torques, relative to body weight times leg length (no unit)."
    )
    acceleration: Number = Field(5e-4, description="Weight of squared accelerations (s^4/rad^2).")
    posture: Number = Field(
        0.3, description="Weight of the squared distance from the standing pose (1/rad^2)."
    )
    segments: Whole = Field(32, description="Segments of the splines in a cycle.")
    tracked: Whole = Field(
        0,
        description="Number of cycles or hops to simulate on the ground (a jump once), saved as "
        "RESULT_tracked.nc; 0: none.",
    )


def prepare(work: Assignment) -> Work:
    """The plan of a gait, made and checked before any search."""
    table = work.tables.gait or GaitTable.model_validate({})
    work.check_samples()
    if table.tracked:
        work.further[TRACKED] = None
    search: dict[str, Any] = {name: getattr(table, name) for name in SEARCH}
    if table.schedule in LEAPS:
        return _leap(work, table, search)
    from kinetree.analysis.legged_stance import legged_stance
    from kinetree.tasks.gaits.problem import planned

    asked: dict[str, Any] = {x: y for x, y in dict(table).items() if x not in SEARCH + LEAPING + OTHER}
    asked["limits"] = asked["limits"] or {}
    with work.origin.blamed("gait"):
        if (table.touchdown is None) != (table.duty is None):
            raise InputError("your own schedule needs both touchdown and duty")
        if table.touchdown is not None:
            asked["schedule"] = {"touchdown": table.touchdown, "duty": table.duty}
        task = Gait(**asked)
        who = legged_stance(work.mechanism, task.forward)
        if task.schedule != "best":
            planned(who, task)

    def run() -> Result:
        from kinetree.tasks.gaits.gait import gait

        history = History(work.progress)
        with work.origin.blamed("gait"):
            found = gait(work.mechanism, task, progress=history, **search)
        return work.sampled(history.within(_followed(work, found, table.tracked)))

    return run


def _followed(work: Assignment, found: PredictedGait | Leap, count: int) -> Result:
    """The result of a gait or leap with the check of its simulation on the ground, which is kept beside."""
    if not count or not found.solved:
        result: Result = found.to_result()
        return result
    run = work.further[TRACKED] = found.track(count if getattr(found, "cyclic", True) else 1)
    result = found.followed(count, run)
    return result


def _leap(work: Assignment, table: GaitTable, search: dict[str, Any]) -> Work:
    from kinetree.analysis.legged_stance import legged_stance

    with work.origin.blamed("gait"):
        legged_stance(work.mechanism, table.forward)

    def run() -> Result:
        from kinetree.tasks.gaits.leap import hop, jump

        history = History(work.progress)
        if search["solver"] == "auto":
            search.pop("solver")
        leap = hop if table.schedule == "hop" else jump
        limits: Any = table.limits or {}
        with work.origin.blamed("gait"):
            found = leap(
                work.mechanism, table.height, table.distance, forward=table.forward,
                friction=table.friction, limits=limits, progress=history, **search,
            )  # fmt: skip
        return work.sampled(history.within(_followed(work, found, table.tracked)))

    return run


TASK = Task(
    "gait", "the gait, hop or jump of a legged robot with the least effort", prepare,
    needs=("mechanism",), settings=GaitTable,
)  # fmt: skip
