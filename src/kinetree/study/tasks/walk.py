"""Walking: the best step of a digital human, from standing upright ([Barman2020], chapter V)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from kinetree.errors import InputError, unknown_name
from kinetree.result.result import Result
from kinetree.study.assignment import Assignment
from kinetree.study.tasks import Task, Work
from kinetree.study.tasks.predict import History
from kinetree.study.values import choice, declared_table, search_table
from kinetree.tasks.walking.task import USUAL, Walking

PERSON = ("sex", "height", "mass")
PERSON_KEYS = {name: f"mechanism.parameters.{name}" for name in PERSON}
SOLVERS = ("auto", "interior", "ipopt")
FORMULATIONS, SHARINGS = ("foot", "two_step"), ("zmp", "time")
HOW = ("formulation", "sharing")
SOUGHT = ("step_range", "speed_range", "double_range")


OPTIONS = ("tolerance", "starts", "seed", "solver", "max_iterations", "time_limit")  # of searches
SIMULATED = Field(False, description="Whether the checks include a forward simulation, which takes longer.")
SEARCH = (*OPTIONS, "simulated")


class WalkTable(search_table(USUAL, SOLVERS, OPTIONS), declared_table("walk")):  # type: ignore[misc]
    """How someone walks; who it is are parameters of zoo = "human": sex, height and mass."""

    simulated: bool = SIMULATED
    elsewhere: ClassVar[Mapping[str, str]] = PERSON_KEYS
    formulation: choice("formulation", lambda: FORMULATIONS) = Field(  # type: ignore[valid-type]
        "foot",
        description="foot: rooted at the supporting foot; two_step: at the pelvis ([Barman2020], chapter V).",
    )
    sharing: choice("sharing", lambda: SHARINGS) = Field(  # type: ignore[valid-type]
        "zmp",
        description="For two_step: load sharing in double support, by the zero-moment point or by time.",
    )


def prepare(work: Assignment) -> Work:
    """The problem of one step, made and checked before any search."""
    from kinetree.tasks.walking.problem import walker

    table = work.tables.walk or WalkTable.model_validate({})
    work.check_samples()
    asked: dict[str, Any] = {name: x for name, x in dict(table).items() if name not in SEARCH + HOW}
    asked |= person(work, "walk")
    asked["nodes"] = tuple(int(x) for x in asked["nodes"])
    asked["strength"] = asked["strength"] or {}
    asked |= {name: tuple(asked[name]) for name in SOUGHT if asked[name] is not None}
    if table.formulation == "two_step":
        return _two_step(work, table, asked)
    with work.origin.blamed("walk"):
        if "sharing" in table.model_fields_set:
            raise InputError('sharing is for formulation = "two_step"')
        task = Walking(**asked)
        walker(task).torques  # noqa: B018

    def run() -> Result:
        from kinetree.tasks.walking.walk import walk

        history = History(work.progress)
        search = {name: getattr(table, name) for name in SEARCH}
        with work.origin.blamed("walk"):
            found = walk(task, progress=history, **search)
        return work.sampled(history.within(found.to_result()))

    return run


def _two_step(work: Assignment, table: WalkTable, asked: dict[str, Any]) -> Work:
    """The document's own problem; of its phases and points only what is given differs from its own."""
    from kinetree.documents.walking_problem import DOCUMENT, pedestrian

    own = {name: x for name, x in asked.items() if name in (*table.model_fields_set, *PERSON)}
    with work.origin.blamed("walk"):
        for name in (
            "nodes",
            "exponent",
            "arms",
            "wrist",
            "friction",
            "friction_shape",
            "strength_by",
            "passive",
            "simulated",
            *SOUGHT,
            "time",
        ):
            if name in table.model_fields_set:
                raise InputError(f'{name} is for formulation = "foot": [Barman2020], chapter V, has its own')
        task = DOCUMENT.changed(**{**own, "strength": asked["strength"]})
        pedestrian(task).walker.torques  # noqa: B018

    def run() -> Result:
        from kinetree.documents.walking import two_step_walk

        history = History(work.progress)
        search = {name: getattr(table, name) for name in SEARCH if name != "simulated"}
        with work.origin.blamed("walk"):
            found = two_step_walk(task, sharing=table.sharing, progress=history, **search)
        return work.sampled(history.within(found.to_result()))

    return run


def person(work: Assignment, task: str) -> dict[str, Any]:
    """Sex, height and mass of who walks or lifts, as the mechanism's table says."""
    chosen = work.tables.mechanism
    if chosen.zoo != "human" or chosen.gravity is not None:
        raise InputError(
            f"{work.origin.where(('mechanism',))}: the task '{task}' needs zoo = \"human\", without gravity "
            f"of its own{': walk.slope inclines the ground' if task == 'walk' else ''}"
        )
    given = dict(chosen.parameters or {})
    for name in given:
        if name not in PERSON:
            raise InputError(
                unknown_name("parameter", name, PERSON).after(
                    f"{work.origin.where(('mechanism', 'parameters'))}: "
                )
            )
    return given


TASK = Task(
    "walk",
    "the optimal step of a walking human ([Barman2020], chapter V)",
    prepare,
    needs=("mechanism",),
    settings=WalkTable,
)
