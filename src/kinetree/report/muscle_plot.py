"""Activations of muscles over time, or over the gait cycle of a leg, as a map of colors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, expect
from kinetree.report.palette import INK
from kinetree.report.panel import quiet_frame
from kinetree.result.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACTIVATION = "activation"
POINTS = 201
WIDTH, ROW = 8.0, 0.16  # inches: of the picture, of a muscle
SIDES = ("right_", "left_")
COLORS = "magma_r"


def plot_activations(result: Result, leg: str = "right") -> Figure:
    """Draw the activations of a result as a map, a row for each muscle, and return the matplotlib figure.

    Of a predicted step, at the start of which the right heel lands and which goes on mirrored, it draws the
    muscles of one ``leg`` over the gait cycle of that leg; of other results all muscles over time.

    >>> import kinetree as kt
    >>> step = kt.walking.walk(muscles=1.0)  # doctest: +SKIP
    >>> kt.muscles.plot(step.to_result()).savefig("muscles.png")  # doctest: +SKIP
    """
    expect(result, Result, "result", "a result with activations, such as that of walking with muscles")
    if ACTIVATION not in result:
        raise InputError("the result has no activations of muscles; walking has them with muscles=1.0")
    if f"{leg}_" not in SIDES:
        raise InputError(f"leg must be right or left, got {leg!r}")
    names, values, ends, what = _rows(result, leg)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, 1.2 + ROW * len(names)), layout="constrained")
    FigureCanvasAgg(figure)
    ax = figure.subplots()
    quiet_frame(ax)
    extent = (ends[0], ends[1], len(names) - 0.5, -0.5)
    image = ax.imshow(values, aspect="auto", extent=extent, cmap=COLORS, vmin=0.0, interpolation="nearest")
    ax.set_yticks(range(len(names)), names, fontsize=7, color=INK)
    ax.set_xlabel(what, fontsize=9, color=INK)
    ax.set_title("activation of the muscles", loc="left", fontsize=9, color=INK)
    figure.colorbar(image, ax=ax, shrink=0.6, pad=0.01)
    return figure


def _rows(result: Result, leg: str) -> tuple[list[str], Array, tuple[float, float], str]:
    """Names and activations (k, points) of the rows, where they begin and end, and what is along them."""
    t, a = np.asarray(result["time"].values), np.asarray(result[ACTIVATION].values)
    names = [str(x) for x in result["muscle"].values]
    other = "left" if leg == "right" else "right"
    mine = [name for name in names if name.startswith(f"{leg}_")]
    partners = [f"{other}_{name.removeprefix(f'{leg}_')}" for name in mine]
    mirrored = result.settings.get("steps") == 1 and mine and set(partners) <= set(names)
    if not mirrored:
        at = np.linspace(t[0], t[-1], POINTS)
        return names, np.stack([np.interp(at, t, x) for x in a.T]), (float(t[0]), float(t[-1])), "time / s"
    share = (t - t[0]) / (t[-1] - t[0])
    whole = np.concatenate([50.0 * share, 50.0 + 50.0 * share])
    at, rows = np.linspace(0.0, 100.0, POINTS), []
    for one, two in zip(mine, partners, strict=True):
        own, next_step = a[:, names.index(one)], a[:, names.index(two)]
        halves = [own, next_step] if leg == "right" else [next_step, own]
        rows.append(np.interp(at, whole, np.concatenate(halves)))
    return [name.removeprefix(f"{leg}_") for name in mine], np.stack(rows), (0.0, 100.0), "gait cycle / %"
