"""Lifting: how a digital human best lifts a box from the floor to a shelf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from kinetree.errors import InputError
from kinetree.formats.file_values import Number
from kinetree.formats.schema_parts import Table
from kinetree.result.result import Result
from kinetree.study.assignment import Assignment
from kinetree.study.tasks import Task, Work
from kinetree.study.tasks.predict import History
from kinetree.study.tasks.walk import PERSON_KEYS, SOLVERS, person
from kinetree.study.values import Gains, Positive, Seed, Whole, choice

HANDS = ("both", "right", "left")
SEARCH = ("tolerance", "starts", "seed", "solver", "max_iterations", "time_limit", "simulated")
AGAIN = ("repetitions", "rest", "cycle")
CYCLED = ("tolerance", "solver", "max_iterations", "time_limit", "simulated")
CYCLES = ("lower", "return")


class LiftTable(Table):
    """How someone lifts a box; who it is are parameters of zoo = "human": sex, height and mass."""

    elsewhere: ClassVar[Mapping[str, str]] = PERSON_KEYS
    box: Number = Field(10.0, description="Mass of the box (kg).")
    shelf: Number = Field(0.9, description="Height of the shelf (m).")
    hand: choice("hand", lambda: HANDS) = Field(  # type: ignore[valid-type]
        "both", description="Which hand holds it: both, right or left."
    )
    depth: Number = Field(0.30, description="Depth of the box, forward (m).")
    wide: Number = Field(0.36, description="Width of the box, sideways (m).")
    tall: Number = Field(0.30, description="Height of the box (m).")
    gap: Number = Field(0.02, description="Distance from the tips of the toes to the box on the floor (m).")
    edge: Number | None = Field(
        None, description="Distance from the toes to the shelf (m; default beyond the box)."
    )
    onto: Number = Field(0.05, description="Distance of the center of the box beyond the shelf's edge (m).")
    aside: Number = Field(
        0.15, description="With one hand: sideways distance from the midline to the box (m)."
    )
    beside: Number = Field(
        0.0, description="With both hands: direction of the box from straight ahead (degrees, left +)."
    )
    duration: Positive | None = Field(None, description="Duration of the lift (s; default optimal).")
    time: Number = Field(0.3, description="Weight of the duration in the objective (1/s).")
    effort: Number = Field(1.0, description="Weight of the squared torques over their limits (1/s).")
    strength: Gains | None = Field(
        None, description="Factors on torque limits, such as { back = 0.5, knee = 0.8 } (no unit)."
    )
    lean: Positive | None = Field(None, description="Largest forward lean of the chest (degrees).")
    back_force: Positive | None = Field(None, description="Largest net force in the lumbar joint (N).")
    knee_force: Positive | None = Field(None, description="Largest net force in each knee (N).")
    friction: Positive = Field(0.6, description="Coefficient of friction, for a check (no unit).")
    margin: Number = Field(0.01, description="Margin to the edge of the support polygon (m).")
    points: Whole = Field(10, description="Segments of the splines.")
    repetitions: Whole = Field(1, description="Number of lifts; the box is lowered again between them.")
    rest: Number = Field(0.0, description="Rest at floor and shelf between repetitions (s).")
    cycle: choice("cycle", lambda: CYCLES) | None = Field(  # type: ignore[valid-type]
        None,
        description="Lift and way back as one periodic motion: 'lower' with the box, 'return' without it for "
        "the next one; repetitions are cycles then (default: lifts by themselves).",
    )
    tolerance: Positive = Field(1e-3, description="Tolerance of optimality and relative violations.")
    starts: Whole = Field(1, description="Number of starts; those after the first are random.")
    seed: Seed = Field(0, description="Seed of the random starts.")
    solver: choice("solver", lambda: SOLVERS) = Field(  # type: ignore[valid-type]
        "auto", description=f"One of {', '.join(SOLVERS)}."
    )
    max_iterations: Whole = Field(200, description="Limit on iterations.")
    time_limit: Positive | None = Field(None, description="Limit on computing time (s).")
    simulated: bool = Field(
        False, description="Whether the checks include a forward simulation, which takes longer."
    )


def prepare(work: Assignment) -> Work:
    """The problem of one lift, made and checked before any search."""
    from kinetree.studies.lifting.problem import lifter
    from kinetree.studies.lifting.task import Lifting, described

    table = work.tables.lift or LiftTable.model_validate({})
    work.check_samples()
    asked: dict[str, Any] = {x: y for x, y in dict(table).items() if x not in SEARCH + AGAIN}
    asked |= person(work, "lift")
    asked["strength"] = asked["strength"] or {}
    with work.origin.blamed("lift"):
        task = Lifting(**asked)
        lifter(task).torques  # noqa: B018
        if not 0.0 <= table.rest <= 60.0:
            raise InputError(f"rest must be from 0 to 60 s, got {table.rest:g}")
        if table.cycle is not None and table.rest:
            raise InputError(f"a cycle goes on without a rest, got rest = {table.rest:g} s")
        if table.cycle is not None and not task.symmetric:
            raise InputError(f"only lifts that are symmetric can be cyclic, got {described(task)}")

    def run() -> Result:
        from kinetree.studies.lifting.cyclic import cycle
        from kinetree.studies.lifting.lift import lift
        from kinetree.studies.lifting.repeated import repeat

        history = History(work.progress)
        search = {name: getattr(table, name) for name in SEARCH}
        with work.origin.blamed("lift"):
            found = lift(task, progress=history, **search)
        if table.cycle is not None and found.solved:
            again = {name: search[name] for name in CYCLED}
            round_trip = cycle(found, table.cycle, progress=history, **again)
            return work.sampled(history.within(round_trip.to_result(table.repetitions)))
        if table.repetitions > 1 and found.solved:
            return work.sampled(repeat(found, table.repetitions, table.rest))
        return work.sampled(history.within(found.to_result()))

    return run


TASK = Task(
    "lift", "optimal lift of a box from the floor to a shelf by a human", prepare, needs=("mechanism",),
    settings=LiftTable,
)  # fmt: skip
