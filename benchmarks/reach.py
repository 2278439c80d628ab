"""How long contestants take to reach an error, read off their curves of error over time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import exp, log
from typing import Any

ROLLOUT_WANTED = 1e-4
Row = dict[str, Any]


def times_to_reach(curves: Collection[Row], wanted: float) -> list[Row]:
    """Milliseconds of each contestant and method to reach an error, and the smallest error of its curve."""
    lines: dict[tuple[str, str, str], list[Row]] = {}
    for row in curves:
        lines.setdefault((row["case"], row["contestant"], row["method"]), []).append(row)
    return [
        {
            "case": case,
            "contestant": contestant,
            "method": method,
            "wanted": wanted,
            "milliseconds": time_to_reach([(row["error"], row["best"]) for row in line], wanted),
            "smallest_error": min(row["error"] for row in line),
        }
        for (case, contestant, method), line in lines.items()
    ]


def time_to_reach(points: Sequence[tuple[float, float]], wanted: float) -> float | None:
    """Time on the curve of (error, time), loose to tight, from where on errors stay below the wanted one.

    Straight lines between the points in logarithms of both; None if the last error is above.

    >>> round(time_to_reach([(1e-4, 1.0), (1e-8, 4.0)], 1e-6), 12)
    2.0
    """
    above = [k for k, (error, _) in enumerate(points) if error > wanted]
    if not above:
        return points[0][1] if points else None
    k = above[-1]
    if k + 1 == len(points):
        return None
    (e0, t0), (e1, t1) = points[k], points[k + 1]
    share = log(e0 / wanted) / log(e0 / max(e1, 1e-300))
    return t0 * exp(share * log(t1 / t0))


def rollout_seconds(rows: Collection[Row], contestant: str, figure: str) -> float | None:
    """Seconds of a contestant's best method until its median or worst error is 1e-4."""
    times = []
    for method in dict.fromkeys(row["method"] for row in rows if row["contestant"] == contestant):
        line = [row for row in rows if (row["contestant"], row["method"]) == (contestant, method)]
        points = [(row[f"{figure}_error"], row["seconds"]) for row in line]
        times.append(time_to_reach(points, ROLLOUT_WANTED))
    reached = [time for time in times if time is not None]
    return min(reached) if reached else None
