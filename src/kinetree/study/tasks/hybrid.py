"""Hybrid dynamics: some joints move as prescribed, torques drive the others."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from kinetree.errors import InputError
from kinetree.formats.schema_parts import Table
from kinetree.study.assignment import Assignment
from kinetree.study.laws import controller, torque
from kinetree.study.motion import trajectory
from kinetree.study.prescribed import integrated
from kinetree.study.tasks import Task, Work
from kinetree.study.values import Names


class HybridTable(Table):
    """Which joints are prescribed."""

    prescribed: Names | None = Field(
        None,
        description="Joints that follow the trajectory, as degrees of freedom or whole joints; default all "
        "driven ones. Torques or a controller drive the others.",
    )


def prepare(work: Assignment) -> Work:
    """The motion of all joints and the torques of the prescribed ones."""
    motion = trajectory(work, work.tables.study.duration)
    table = work.tables.hybrid
    return integrated(work, motion, table and table.prescribed, _drives(work, motion), "hybrid")


def _drives(work: Assignment, motion: Any) -> dict[str, Any]:
    """What drives joints that are not prescribed."""
    if work.tables.controller is None:
        return torque(work)
    if work.tables.torque is not None:
        raise InputError(
            f"{work.origin.where(('controller',))}: give either [torque] or [controller] for the joints that "
            "are not prescribed, not both"
        )

    def none_in_advance(law: Any) -> Any:
        raise InputError(
            f"{work.origin.where(('controller',))}: feedforward on a floating base needs torques in advance: "
            "give controller.torques, a file"
        )

    return {"controller": controller(work, motion, none_in_advance)()}


TASK = Task(
    "hybrid",
    "some joints prescribed, the others driven by torques",
    prepare,
    needs=("mechanism", "trajectory"),
    uses=("initial", "torque", "controller", "ground", "load", "event", "stops", "integrator", "verdicts"),
    settings=HybridTable,
)
