"""What acts on the mechanism of a study from outside: ground, loads, stops; and how it is integrated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.errors import InputError, listed, must_be
from kinetree.study.assignment import Assignment
from kinetree.study.tables import EventTable, LoadTable, SoilTable

ON_GROUND = {"rtol": 1e-6}


def simulation_options(work: Assignment, duration: float) -> dict[str, Any]:
    """The arguments of :func:`kinetree.simulate` beside mechanism, state, duration (s) and law."""
    tables = work.tables
    options: dict[str, Any] = {"times": work.times(duration), "loads": timed_loads(work)}
    if tables.ground is not None:
        found = ground(work)
        options |= {"ground": found} | (ON_GROUND if found.contact == "soil" else {})
    if tables.stops is not None:
        options["stops"] = _stops(work)
    if tables.integrator is not None:
        options |= {key: value for key, value in tables.integrator if value is not None}
    if tables.verdicts is not None:
        options["verdicts"] = verdicts_given(work)
    tell = work.progress
    if tables.event:
        options["events"] = events(work)
    options["progress"] = False if tell is None else lambda t: tell(t / duration)
    return options | {"reactions": work.output.reactions}


def verdicts_given(work: Assignment) -> dict[str, Any]:
    """The margins that a study sets, by name; None where it switches a verdict off."""
    given = {key: value for key, value in work.tables.verdicts or () if value is not None}
    return {key: None if value is False else value for key, value in given.items()}


def ground(work: Assignment) -> Any:
    """The ground with its soil and regions."""
    from kinetree.formats.toml_parts import terrain_of
    from kinetree.simulation.ground import Ground, Region, firm_soil

    table = work.tables.ground
    with work.origin.blamed("ground"):
        regions = []
        for row in table.region:
            ends = {key: tuple(getattr(row, key)) for key in ("forward", "side") if getattr(row, key)}
            regions.append(Region(height=row.height, soil=row.soil and _soil(row.soil), **ends))
        keys = ("origin", "normal", "forward", "points", "contact")
        given: dict[str, Any] = {} if table.terrain is None else {"terrain": terrain_of(table.terrain)}
        given |= {key: getattr(table, key) for key in keys if getattr(table, key) is not None}
        if table.floor:
            firm = firm_soil(work.mechanism)
            own = {key: getattr(table, key) for key in SoilTable.model_fields}
            soil = replace(firm, **{key: x for key, x in own.items() if x is not None})
            made = Ground.of(work.mechanism, soil, regions=regions, **given)
        else:
            made = Ground(_soil(table), regions=regions, **given)
        made.contact_names(work.mechanism)
        return made


def timed_loads(work: Assignment) -> list[Any]:
    """Wrenches as simulations take them: constant ones, and pairs (times, wrench) of those that vary."""
    from kinetree.state import Wrench

    rows = [_load(work, row, "times", "load", k) for k, row in enumerate(work.tables.load)]
    return [Wrench(**given) if times is None else (times, Wrench(**given)) for given, times in rows]


def wrenches(work: Assignment, tables: Sequence[LoadTable], along: str, *place: str) -> Any:
    """The wrenches of some tables: a list, or where one varies a function of ``along``, "s" or "times"."""
    from kinetree.state import Wrench

    rows = [_load(work, row, along, *place, k) for k, row in enumerate(tables)]
    if not any(varies for _, varies in rows):
        return [Wrench(**given) for given, _ in rows]

    def at(instants: Array) -> list[Any]:
        found = []
        for given, varies in rows:
            now = dict(given)
            for key in ("force", "moment"):
                if np.ndim(now.get(key, 0.0)) == 2:
                    now[key] = PiecewisePolynomial.linear(varies or (), now[key]).at(instants)
            found.append(Wrench(**now))
        return found

    return at


def _load(
    work: Assignment, row: LoadTable, along: str, *place: Any
) -> tuple[dict[str, Any], list[float] | None]:
    """What a wrench is made of, and the instants of its rows if it varies."""
    from kinetree.state import Wrench

    with work.origin.blamed(*place):
        work.mechanism.body_index(row.body)
        given = {key: value for key, value in row if value is not None and key not in ("s", "times")}
        instants, other = getattr(row, along), "times" if along == "s" else "s"
        if getattr(row, other) is not None:
            raise InputError(f"instants of loads are given by '{along}' in this task, not by '{other}'")
        tables = [key for key in ("force", "moment") if np.ndim(given.get(key, 0.0)) == 2]
        if instants is None:
            if tables:
                raise InputError(f"a {tables[0]} that varies needs '{along}', the instants of its rows")
            Wrench(**given)
            return given, None
        if not tables:
            raise InputError(
                f"'{along}' needs a force or a moment with a row for each of {len(instants)} instants"
            )
        gaps = np.diff(instants)
        if len(instants) < 2 or (gaps < 0.0).any() or ((gaps[1:] == 0.0) & (gaps[:-1] == 0.0)).any():
            raise InputError(
                must_be(
                    f"'{along}'",
                    "two or more instants that ascend, twice the same for a jump",
                    instants,
                    "",
                )
            )
        if along == "s" and not 0.0 <= instants[0] <= instants[-1] <= 1.0:
            raise InputError(must_be("'s'", "from 0 to 1", instants, ""))
        for key in tables:
            if len(given[key]) != len(instants):
                raise InputError(f"{key} has {len(given[key])} rows for {len(instants)} instants")
        return given, instants


def events(work: Assignment) -> list[Any]:
    """What is watched for."""
    from kinetree.simulation.settings import Trigger

    found = []
    for k, row in enumerate(work.tables.event):
        with work.origin.blamed("event", k):
            direction = {"rising": 1, "falling": -1, "both": 0}[row.direction]
            found.append(Trigger(row.name, _watched(work, row), direction, row.stop))
    return found


def _watched(work: Assignment, row: EventTable) -> Callable[[float, Array, Array], float]:
    """The function of an event, which passes zero."""
    given = [key for key in ("position", "velocity", "function") if getattr(row, key) is not None]
    if len(given) != 1 or (row.joint is None) != (row.function is not None):
        raise InputError(
            f"event '{row.name}' needs either a joint with a position or a velocity, or a function; got "
            f"{listed([*(['joint'] if row.joint else []), *given]) or 'none of them'}"
        )
    if row.function is not None:
        return work.code.function(row.function, "event.function", "t, q, qd")
    place, value = work.mechanism.joint_index(str(row.joint)), float(getattr(row, given[0]))
    if given[0] == "position":
        return lambda t, q, qd: float(q[place]) - value
    return lambda t, q, qd: float(qd[place]) - value


def _soil(table: SoilTable) -> Any:
    from kinetree.simulation.ground import Soil

    keys = SoilTable.model_fields
    return Soil(**{key: getattr(table, key) for key in keys if getattr(table, key) is not None})


def _stops(work: Assignment) -> Any:
    from kinetree.simulation.settings import Stops

    with work.origin.blamed("stops"):
        return Stops(**dict(work.tables.stops))
