"""What came of a sweep, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from kinetree.errors import InputError, listed
from kinetree.result.result import Result
from kinetree.sweeps.analysis import (
    convergence,
    measures,
    optima,
    pareto_front,
    quantiles,
    sensitivity,
    sweep_table,
)
from kinetree.sweeps.dimensions import SAMPLE

MOST = 8  # lines of a kind


def story(result: Result) -> tuple[str, dict[str, str], list[str]]:
    """Title, facts by name, and sentences about what the cases say together."""
    counts = {name: n for name, n in result.statistics.items() if name != "cases"}
    sizes = " x ".join(f"{dim} {n}" for dim, n in result.dataset["status"].sizes.items())
    facts = {
        "cases": f"{result.statistics['cases']:,}: {sizes}",
        "status": ", ".join(f"{n:,} {name}" for name, n in counts.items()),
    }
    kinds: dict[str, Callable[[Result], list[str]]] = {
        "monte_carlo": _monte_carlo,
        "multi_start": _multi_start,
        "pareto": _pareto,
        "sensitivity": _sensitivity,
    }
    table = sweep_table(result)
    try:
        lines = kinds.get(table.kind, _ranges)(result)
    except InputError as error:
        lines = [str(error)]
    return str(result.settings["study"]["title"]), facts, [*lines, *_faults(result)]


def _ranges(result: Result) -> list[str]:
    lines = []
    for name in measures(result)[:MOST]:
        values = np.asarray(result[name].values, dtype=np.float64)
        if np.isfinite(values).any():
            unit = result[name].attrs.get("units", "")
            lines.append(f"{name}: {np.nanmin(values):.5g} to {np.nanmax(values):.5g} {unit}".rstrip())
    return lines


def _monte_carlo(result: Result) -> list[str]:
    lines = []
    for name in measures(result)[:MOST]:
        array = result[name]
        values = np.asarray(array.values, dtype=np.float64)
        if array.attrs.get("long_name", "").startswith("whether ") and array.dims == (SAMPLE,):
            lines.append(f"{name}: {share_text(values)}")
            continue
        levels = quantiles(result, name, [0.05, 0.5, 0.95])
        labels = [dim for dim in levels.dims if dim != "quantile"]
        unit = array.attrs.get("units", "")
        rows = levels.stack(row=labels) if labels else levels.expand_dims("row", -1)
        for k in range(min(rows.sizes["row"], MOST)):
            low, middle, high = np.asarray(rows.isel(row=k).values)
            where = ", ".join(str(levels[d].values[i]) for d, i in _place(levels, labels, k))
            stated = f"{middle:.5g} (5 % {low:.5g}, 95 % {high:.5g}) {unit}".rstrip()
            lines.append(f"{name} {where}: {stated}" if where else f"{name}: {stated}")
    scalars = measures(result, scalar=True) or measures(result)
    if scalars:
        settled = convergence(result, scalars[0])
        lines.append(
            f"mean of {scalars[0]}: {settled.mean[-1]:.6g}, standard error {settled.error[-1]:.2g} after "
            f"{int(settled.count[-1])} samples"
        )
    return lines


def _place(levels: object, labels: list[object], k: int) -> list[tuple[object, int]]:
    sizes = [levels.sizes[d] for d in labels]  # type: ignore[attr-defined]
    return list(zip(labels, map(int, np.unravel_index(k, sizes)), strict=True)) if labels else []


def share_text(values: np.ndarray) -> str:
    """A share of cases with its 95 % interval (Wilson 1927); failed cases are counted apart."""
    known = values[np.isfinite(values)]
    n, yes = len(known), float(known.sum())
    if not n:
        return "no case succeeded"
    low, high = wilson(yes, n)
    failed = len(values) - n
    more = f"; {failed} more ended in an error" if failed else ""
    return (
        f"{yes:.0f} of {n}, {100 * yes / n:.3g} % (95 % interval {100 * low:.3g} to {100 * high:.3g} %){more}"
    )


def wilson(yes: float, n: int, z: float = 1.959964) -> tuple[float, float]:
    """The interval of a share that holds with 95 % confidence.

    >>> [round(x, 4) for x in wilson(8, 10)]
    [0.4902, 0.9433]
    """
    p = yes / n
    middle, half = p + z * z / (2 * n), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1.0 + z * z / n
    return float((middle - half) / scale), float((middle + half) / scale)


def _multi_start(result: Result) -> list[str]:
    found = optima(result)
    if not found:
        return ["no case was solved"]
    solved = sum(x.count for x in found)
    word = "optimum" if len(found) == 1 else "optima"
    lines = [f"{solved} of {result.dataset['status'].size} cases solved, {len(found)} distinct {word}"]
    for x in found[:MOST]:
        lines.append(f"{x.objective:.6g}: found {_times(x.count)}, best in case {x.best}")
    return lines + ([f"and {len(found) - MOST} more"] if len(found) > MOST else [])


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _pareto(result: Result) -> list[str]:
    names = sweep_table(result).objectives or ()
    front = pareto_front(result)
    lines = [f"{len(front)} cases on the Pareto front of {listed(names)}"]
    for case in [front[0], front[len(front) // 2], front[-1]] if front else []:
        stated = ", ".join(f"{name} {float(result[name].values.ravel()[case]):.5g}" for name in names)
        lines.append(f"case {case}: {stated}")
    return lines


def _sensitivity(result: Result) -> list[str]:
    lines = []
    for name in measures(result)[:MOST]:
        found = sensitivity(result, name)
        parts = ", ".join(
            f"{axis} {a:.2f} ({b:.2f})"
            for axis, a, b in zip(found.axes, found.first, found.total, strict=True)
        )
        lines.append(f"{name}: share of variance from each axis alone (with interactions): {parts}")
    return lines


def _faults(result: Result) -> list[str]:
    """The most frequent messages of failed cases."""
    status = np.asarray(result.dataset["status"].values).ravel()
    texts = np.asarray(result.dataset["message"].values).ravel()[status >= 4]
    counts = Counter(sorted(map(str, texts)))  # sorted: equally frequent ones in a fixed order
    return [f"failed {_times(n)}: {text}" for text, n in counts.most_common(3)]
