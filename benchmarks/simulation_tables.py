"""The figures of simulations as tables: times at equal error, curves, rollouts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import median
from typing import Any

from benchmarks.reach import ROLLOUT_WANTED, rollout_seconds
from benchmarks.table import NOTHING, Table
from benchmarks.targets import Results

OURS = "kinetree"


def simulation_tables(results: dict[str, Any]) -> list[Table]:
    """Times to 1e-6 of all methods, and the curves of each case."""
    return [reach_table(results), starts_table(results), *curve_tables(results)]


def starts_table(results: dict[str, Any]) -> Table:
    """The quadruped from seven starts."""
    stated = results.get("quadruped_starts", ())
    methods = list(dict.fromkeys(row["method"] for row in stated))
    times: dict[str, dict[str, float | None]] = {}
    for row in stated:
        times.setdefault(row["case"], {})[row["method"]] = row["milliseconds"]
    rows = [
        (case, *(_shown(line.get(method)) for method in methods), _shown(_least(line.values())))
        for case, line in times.items()
    ]
    for name, summary in (("median", median), ("worst", max)):
        columns = [[line.get(method) for line in times.values()] for method in methods]
        columns.append([_least(line.values()) for line in times.values()])
        cells = (summary([math.inf if x is None else x for x in column]) for column in columns if column)
        rows.append((name, *(_shown(x) for x in cells)))
    note = (
        "Milliseconds of Kinetree until the error is 1e-6: the start above, and six drawn at random "
        "(0.75 m high; pitch and roll within 0.15 rad, joints within 0.2 rad of the crouched posture)."
    )
    return Table("Quadruped from seven starts", note, ("start", *methods, "best"), rows if times else [])


def _least(times: Iterable[float | None]) -> float | None:
    return min((x for x in times if x is not None), default=None)


def _shown(time: float | None) -> str:
    return NOTHING if time is None or time == math.inf else f"{time:.3g}"


def reach_table(results: dict[str, Any]) -> Table:
    """Who takes how long to the same error, with which method."""
    figures, rows = Results(results), []
    for row in results.get("simulation_times", ()):
        ours, time = figures.simulation_time(row["case"], OURS), row["milliseconds"]
        best = time is not None and time == figures.simulation_time(row["case"], row["contestant"])
        rows.append(
            (
                row["case"],
                row["contestant"],
                row["method"],
                NOTHING if time is None else f"{time:.3g}",
                NOTHING if time is None or not ours else f"{time / ours:.3g}",
                f"{row['smallest_error']:.0e}",
                "yes" if best else NOTHING,
            )
        )
    words = dict.fromkeys((row["case"], row["words"]) for row in results.get("simulation_curves", ()))
    note = "Milliseconds until the error is 1e-6. " + " ".join(
        f"The {name} {stated}." for name, stated in words
    )
    head = ("motion", "contestant", "method", "ms", "times kinetree's best", "smallest error", "its best")
    return Table("Simulation", note, head, rows)


def curve_tables(results: dict[str, Any]) -> list[Table]:
    """One table for each case: the points of the curves."""
    found = []
    curves = results.get("simulation_curves", ())
    for case in dict.fromkeys(row["case"] for row in curves):
        lines: dict[tuple[str, str], list[str]] = {}
        for row in curves:
            if row["case"] == case:
                cell = f"{row['error']:.0e}: {row['best']:.3g}"
                lines.setdefault((row["contestant"], row["method"]), []).append(cell)
        rows = [(*key, ", ".join(cells)) for key, cells in lines.items()]
        note = "Error and milliseconds of each tolerance or step length, loose to tight."
        found.append(Table(f"Simulation, {case}", note, ("contestant", "method", "error: ms"), rows))
    return found


def rollout_table(results: dict[str, Any]) -> Table:
    """Many motions at once on one thread."""
    stated = results.get("rollouts", ())
    rows = [
        (
            row["contestant"],
            row["method"],
            f"{row['setting']:.1e}",
            f"{row['median_error']:.0e}",
            f"{row['worst_error']:.0e}",
            f"{row['seconds']:.4f}",
        )
        for row in stated
    ]
    times = []
    for name in dict.fromkeys(row["contestant"] for row in stated):
        median, worst = (rollout_seconds(stated, name, figure) for figure in ("median", "worst"))
        both = [NOTHING if x is None else f"{x:.3f} s" for x in (median, worst)]
        times.append(f"{name} {both[0]} (median), {both[1]} (worst)")
    count = stated[0]["count"] if stated else 0
    note = (
        f"{count} motions of 1 s of the KUKA KR5, from rest at random positions within 1 rad, on one thread. "
        f"Until the error is {ROLLOUT_WANTED:g}: {'; '.join(times)}."
    )
    head = ("contestant", "method", "tolerance or step", "median error", "worst error", "seconds")
    return Table("Rollouts", note, head, rows)
