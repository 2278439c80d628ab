"""What acts on the mechanism of a study from outside: ground, loads, stops; and how it is integrated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kinetree.study.assignment import Assignment
from kinetree.study.tables import LoadTable, SoilTable

ON_GROUND = {"rtol": 1e-6}


def simulation_options(work: Assignment, duration: float) -> dict[str, Any]:
    """The arguments of :func:`kinetree.simulate` beside mechanism, state, duration (s) and law."""
    tables = work.tables
    options: dict[str, Any] = {"times": work.times(duration), "loads": loads(work)}
    if tables.ground is not None:
        options |= {"ground": ground(work), **ON_GROUND}
    if tables.stops is not None:
        options["stops"] = _stops(work)
    if tables.integrator is not None:
        options |= {key: value for key, value in tables.integrator if value is not None}
    tell = work.progress
    options["progress"] = False if tell is None else lambda t: tell(t / duration)
    return options | {"reactions": work.output.reactions}


def ground(work: Assignment) -> Any:
    """The ground with its soil and regions."""
    from kinetree.simulation.ground import Ground, Region, firm_soil

    table = work.tables.ground
    with work.origin.blamed("ground"):
        regions = []
        for row in table.region:
            ends = {key: tuple(getattr(row, key)) for key in ("forward", "side") if getattr(row, key)}
            regions.append(Region(height=row.height, soil=row.soil and _soil(row.soil), **ends))
        keys = ("origin", "normal", "forward", "points")
        given = {key: getattr(table, key) for key in keys if getattr(table, key) is not None}
        if table.floor:
            firm = firm_soil(work.mechanism)
            own = {key: getattr(table, key) for key in SoilTable.model_fields}
            soil = replace(firm, **{key: x for key, x in own.items() if x is not None})
            made = Ground.of(work.mechanism, soil, regions=regions, **given)
        else:
            made = Ground(_soil(table), regions=regions, **given)
        made.contact_names(work.mechanism)
        return made


def loads(work: Assignment) -> list[Any]:
    """Constant wrenches."""
    return wrenches(work, work.tables.load, "load")


def wrenches(work: Assignment, tables: Sequence[LoadTable], *place: str) -> list[Any]:
    """The wrenches of some tables; complaints lead to the place."""
    from kinetree.state import Wrench

    found = []
    for k, row in enumerate(tables):
        with work.origin.blamed(*place, k):
            work.mechanism.body_index(row.body)
            given = {key: value for key, value in row if value is not None}
            found.append(Wrench(**given))
    return found


def _soil(table: SoilTable) -> Any:
    from kinetree.simulation.ground import Soil

    keys = SoilTable.model_fields
    return Soil(**{key: getattr(table, key) for key in keys if getattr(table, key) is not None})


def _stops(work: Assignment) -> Any:
    from kinetree.simulation.options import Stops

    with work.origin.blamed("stops"):
        return Stops(**dict(work.tables.stops))
