"""The motion laboratory: from markers and force plates to angles, torques and joint reactions."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from kinetree.errors import InputError
from kinetree.formats.file_values import Number
from kinetree.formats.held_inside import file_of
from kinetree.formats.schema_parts import Table
from kinetree.result.result import Result
from kinetree.study.assignment import Assignment
from kinetree.study.tasks import Task, Work
from kinetree.study.values import choice

UP = ("x", "y", "z")


class LaboratoryTable(Table):
    """Files of a trial, and how a model is fitted to them."""

    trial: str = Field(description="Markers over time: a .trc or .c3d file next to the study.")
    forces: str | None = Field(
        None,
        description="Forces of the ground: .mot, .sto or external loads (.xml); default C3D plates.",
    )
    start: Number | None = Field(None, description="First time of the trial (s); default its first.")
    end: Number | None = Field(None, description="Last time of the trial (s); default its last.")
    static: str | None = Field(None, description="Static trial that scales the model: .trc or .c3d.")
    measurements: str | None = Field(None, description="Measurement set of OpenSim (.xml).")
    factors: dict[str, Number] = Field({}, description="Factors of bodies that are set by hand (no unit).")
    markers: str | None = Field(None, description="Marker set of OpenSim (.xml); default the model's.")
    weights: dict[str, Number] | str | None = Field(
        None, description="Weights of markers by name (no unit), or a file of OpenSim's IK tasks (.xml)."
    )
    mass: Number | None = Field(None, description="Mass of the person (kg); default that of the model.")
    frozen: list[str] = Field([], description="Joints that stay where the model has them.")
    feet: list[str] | None = Field(
        None, description="Bodies that plates push on; default those called calcn or foot, the nearest each."
    )
    estimate: bool = Field(
        False, description="Whether forces of the ground are found from the motion where the trial has none."
    )
    cutoff: Number | None = Field(
        6.0, description="Frequency above which motions are filtered out (Hz); 0: no filter."
    )
    smooth: Number | None = Field(
        None,
        description="Distance of knots of one spline for the whole motion (s), not a filter.",
    )
    up: choice("axis", lambda: UP) | None = Field(  # type: ignore[valid-type]
        None, description="Axis of the trials that points up, if it is not that of the model."
    )


def prepare(work: Assignment) -> Work:
    """The files read and checked before any search."""
    from kinetree.capture.files import read_trial

    table: LaboratoryTable | None = work.tables.laboratory
    if table is None:
        raise InputError(
            f'{work.origin.where(())}: [laboratory] is missing: it names the trial, as in trial = "walk.trc"'
        )
    files = {
        key: None if getattr(table, key) is None else file_of(work.study.folder, getattr(table, key))
        for key in ("trial", "forces", "static", "measurements", "markers")
    }
    weights: Any = table.weights
    if isinstance(weights, str):
        weights = file_of(work.study.folder, weights)
    with work.origin.blamed("laboratory"):
        trial = read_trial(str(files["trial"]), files["forces"])
        if table.start is not None or table.end is not None:
            begin = float(trial.time[0]) if table.start is None else float(table.start)
            trial = trial.between(begin, float(trial.time[-1]) if table.end is None else float(table.end))
        static = None if files["static"] is None else read_trial(files["static"])
    mechanism = work.mechanism

    def run() -> Result:
        from kinetree.capture.laboratory import laboratory

        with work.origin.blamed("laboratory"):
            found = laboratory(
                mechanism,
                trial,
                static,
                files["measurements"] or (),
                mass=None if table.mass is None else float(table.mass),
                factors={name: float(x) for name, x in table.factors.items()},
                markers=files["markers"],
                weights=weights,
                frozen=table.frozen,
                feet=table.feet,
                cutoff=float(table.cutoff) if table.cutoff else None,
                smooth=None if table.smooth is None else float(table.smooth),
                up=table.up,
                estimate=table.estimate,
            )
        return found.to_result()

    return run


TASK = Task(
    "laboratory", "angles, torques and joint reactions of a person from markers and force plates", prepare,
    needs=("mechanism",), settings=LaboratoryTable, output=False,
)  # fmt: skip
