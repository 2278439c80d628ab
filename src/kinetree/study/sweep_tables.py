"""The table [sweep] of a study file: which fields vary, and what is kept of every case."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, PlainValidator, ValidationError, WithJsonSchema

from kinetree.errors import InputError
from kinetree.formats.file_values import NUMBER
from kinetree.formats.schema_parts import Table
from kinetree.study.values import Ends, Names, Numbers, Seed, Whole, choice

KINDS = ("sweep", "monte_carlo", "multi_start", "pareto", "sensitivity")
SAMPLERS = ("random", "sobol", "halton", "latin_hypercube")
SPACINGS = ("linear", "log")


def _as_values(value: object) -> list[Any]:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(f"must be a list of at least one value, got {reprlib.repr(value)}")
    return list(value)


Values = Annotated[list[Any], PlainValidator(_as_values), WithJsonSchema({"type": "array", "minItems": 1})]
Pair = Annotated[Ends, WithJsonSchema({"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2})]


class AxisTable(Table):
    """A field that varies, or several together: by values, a range, seeds or a distribution."""

    field: Names = Field(
        description="Path of a key of the study, such as predict.torque_weight or mechanism.body.link1.mass, "
        "or several that vary together; a body alone means its mass and inertia."
    )
    name: str | None = Field(None, description="Name of the axis; default the end of the path.")
    values: Values | None = Field(
        None, description="The values; with several fields, lists with one value per field."
    )
    range: Pair | None = Field(None, description="First and last of `count` values.")
    count: Whole | None = Field(None, description="Number of values of the range.")
    spacing: choice("spacing", lambda: SPACINGS) = Field(  # type: ignore[valid-type]
        "linear", description='Spacing of the range: "linear" or "log".'
    )
    seeds: Whole | None = Field(None, description="Number of consecutive seeds, from sweep.seed on.")
    uniform: Pair | None = Field(None, description="Random: lowest and highest value.")
    log_uniform: Pair | None = Field(None, description="Random: lowest and highest value, log-uniform.")
    normal: Pair | None = Field(None, description="Random: mean and standard deviation.")
    among: Values | None = Field(None, description="Random: one of these values.")
    relative: bool = Field(False, description="Whether values multiply those of the study.")
    each: bool = Field(
        False,
        description="Whether every field that matches a path with * is a separate axis; default together.",
    )


class SweepTable(Table):
    """Many cases of the study: 'kinetree sweep' runs them all."""

    kind: choice("kind of sweep", lambda: KINDS) = Field(  # type: ignore[valid-type]
        "sweep", description=f"Evaluation of the cases: {', '.join(KINDS)}."
    )
    axis: list[AxisTable] = Field([], description="What varies, each a [[sweep.axis]].")
    samples: Whole | None = Field(None, description="Number of samples of the random axes.")
    sampler: choice("sampler", lambda: SAMPLERS) = Field(  # type: ignore[valid-type]
        "sobol", description=f"How random axes are sampled: {', '.join(SAMPLERS)}."
    )
    seed: Seed = Field(0, description="Seed of samples, and the first of seeds.")
    measures: dict[str, str] = Field(
        {},
        description='Numbers of each case by name: "peak tau", "last q joint1", "duration", '
        '"min q base.z > 0.3"; default depends on the task.',
    )
    function: str | None = Field(
        None, description="Python function 'file.py:name' of a result that returns numbers by name."
    )
    keep: Names = Field([], description="Variables to store in full, such as q and tau.")
    objectives: Names | None = Field(
        None, description="Measures to minimize: two for a Pareto front, one for several starts."
    )
    quantiles: Numbers = Field([0.05, 0.25, 0.5, 0.75, 0.95], description="Quantiles, from 0 to 1.")
    lanes: bool | None = Field(
        None, description="Whether simulations share the SIMD lanes of a core; default where possible."
    )


def checked_table(table: Mapping[str, Any]) -> SweepTable:
    """A table [sweep] that does not come from a study file; errors name its first wrong key."""
    try:
        return SweepTable.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(f"sweep.{place}: {first['msg'].removeprefix('Value error, ')}") from None
