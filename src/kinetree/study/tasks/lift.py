"""Lifting: how a digital human best lifts a box from the floor to a shelf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from kinetree.errors import InputError, must_be
from kinetree.formats.file_values import Number
from kinetree.result.result import Result
from kinetree.study.assignment import Assignment
from kinetree.study.tasks import Task, Work
from kinetree.study.tasks.predict import History
from kinetree.study.tasks.walk import OPTIONS, PERSON_KEYS, SEARCH, SIMULATED, SOLVERS, person
from kinetree.study.values import Whole, choice, declared_table, search_table
from kinetree.tasks.lifting.task import USUAL, Lifting, described

AGAIN = ("repetitions", "rest", "cycle", "fatigue")
CYCLES = ("lower", "return")


class LiftTable(search_table(USUAL, SOLVERS, OPTIONS), declared_table("lift")):  # type: ignore[misc]
    """How someone lifts a box; who it is are parameters of zoo = "human": sex, height and mass."""

    elsewhere: ClassVar[Mapping[str, str]] = PERSON_KEYS
    repetitions: Whole = Field(1, description="Number of lifts; the box is lowered again between them.")
    rest: Number = Field(0.0, description="Rest at floor and shelf between repetitions (s).")
    fatigue: bool = Field(
        False,
        description="Whether joints tire by three compartments: each lift is that of the strength that is "
        "left, until one is impossible or all repetitions are done (default 100 then).",
    )
    cycle: choice("cycle", lambda: CYCLES) | None = Field(  # type: ignore[valid-type]
        None,
        description="Lift and way back as one periodic motion: 'lower' with the box, 'return' without it for "
        "the next one; repetitions are cycles then (default: lifts by themselves).",
    )
    simulated: bool = SIMULATED


def prepare(work: Assignment) -> Work:
    """The problem of one lift, made and checked before any search."""
    from kinetree.tasks.lifting.problem import lifter

    table = work.tables.lift or LiftTable.model_validate({})
    work.check_samples()
    asked: dict[str, Any] = {x: y for x, y in dict(table).items() if x not in SEARCH + AGAIN}
    asked |= person(work, "lift")
    asked["strength"] = asked["strength"] or {}
    with work.origin.blamed("lift"):
        task = Lifting(**asked)
        lifter(task).torques  # noqa: B018
        if not 0.0 <= table.rest <= 60.0:
            raise InputError(must_be("rest", "from 0 to 60 s", table.rest, "g"))
        if table.cycle is not None and table.fatigue:
            raise InputError("fatigue is for lifts by themselves, not for a cycle")
        if table.cycle is not None and table.rest:
            raise InputError(f"a cycle goes on without a rest, got rest = {table.rest:g} s")
        if table.cycle is not None and not task.symmetric:
            raise InputError(f"only lifts that are symmetric can be cyclic, got {described(task)}")

    def run() -> Result:
        from kinetree.tasks.lifting.cyclic import cycle
        from kinetree.tasks.lifting.exhaustion import lift_until_exhausted
        from kinetree.tasks.lifting.lift import lift
        from kinetree.tasks.lifting.repeated import MOST, repeat

        history = History(work.progress)
        search = {name: getattr(table, name) for name in SEARCH}
        if table.fatigue:
            most = MOST if table.repetitions == 1 else table.repetitions
            search = {name: value for name, value in search.items() if name != "simulated"}
            with work.origin.blamed("lift"):
                tired = lift_until_exhausted(
                    task, most=most, rest=table.rest, progress=history, **search | {"starts": 1}
                )
            return work.sampled(history.within(tired.to_result()))
        with work.origin.blamed("lift"):
            found = lift(task, progress=history, **search)
        if table.cycle is not None and found.solved:
            round_trip = cycle(found, table.cycle, progress=history, **search | {"starts": 1})
            return work.sampled(history.within(round_trip.to_result(table.repetitions)))
        if table.repetitions > 1 and found.solved:
            return work.sampled(repeat(found, table.repetitions, table.rest))
        return work.sampled(history.within(found.to_result()))

    return run


TASK = Task(
    "lift", "optimal lift of a box from the floor to a shelf by a human", prepare, needs=("mechanism",),
    settings=LiftTable,
)  # fmt: skip
