"""Pictures of a sweep: heat map, curves and bands, distribution, front, optima, sensitivity, all of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, listed, unknown_name
from kinetree.report.palette import ALERT, GROUND, INK, LINE_COLORS
from kinetree.report.panel import MOST_LABELS, quiet_frame
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
from kinetree.sweeps.story import share_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_COLUMNS = 7  # of a scatter matrix and of parallel coordinates
MOST_PANELS = 6
BANDS = ((0.05, 0.95, 0.18), (0.25, 0.75, 0.3))  # quantiles and how dark they are
LARGE = 2000  # cases that are drawn one by one


def plot_sweep(result: Result, *names: str, kind: str | None = None, show: bool = False) -> Figure:
    """Draw a sweep, as its kind suggests or as ``kind`` says; ``names`` are measures or kept variables.

    Kinds: heat_map, curves, bands, distribution, optima, pareto, sensitivity, parallel, scatter.

    >>> plot_sweep(kt.load_result("walk.zarr"), "effort", kind="heat_map")  # doctest: +SKIP
    """
    if kind is not None and kind not in PLOTS:
        raise InputError(unknown_name("picture of a sweep", kind, PLOTS))
    for name in names:
        if name not in result.variables:
            raise InputError(unknown_name("variable of the sweep", name, measures(result)))
    if not measures(result):
        raise InputError("no case of the sweep succeeded: there is nothing to draw")
    figure: Figure = PLOTS[kind or usual_kind(result)](result, list(names))
    if show:
        import matplotlib.pyplot as plt

        plt.figure(figure)
        plt.show()
    return figure


def usual_kind(result: Result) -> str:
    """The kind of picture that shows most about a sweep."""
    kind, long = sweep_table(result).kind, _long(result)
    if kind in ("pareto", "sensitivity"):
        return str(kind)
    if kind == "multi_start":
        return "optima"
    if SAMPLE in result["status"].dims:
        kept = [name for name in result.variables if "instant" in result[name].dims and name != "time"]
        if kind == "monte_carlo" and len(long) == 1:
            return "bands" if kept else "distribution"
        return "bands" if len(long) == 2 else "scatter"
    return "heat_map" if len(long) == 2 else "curves" if len(long) == 1 else "parallel"


def _long(result: Result) -> list[str]:
    """Dimensions of the sweep with more than one value."""
    return [str(dim) for dim, n in result["status"].sizes.items() if n > 1]


def _figure(width: float, height: float) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _head(figure: Any, result: Result) -> None:
    figure.suptitle(str(result.settings["study"]["title"]), x=0.01, ha="left", fontsize=11, color=INK)


def _label(result: Result, name: str) -> str:
    unit = result[name].attrs.get("units", "")
    return name.replace("_", " ") + (f" / {unit}" if unit not in ("", "1") else "")


def _scalar(result: Result, names: Sequence[str]) -> str:
    """The measure to draw where there is room for one."""
    chosen = names[0] if names else (sweep_table(result).objectives or measures(result, scalar=True))[:1]
    found = chosen if isinstance(chosen, str) else (chosen[0] if chosen else measures(result)[0])
    return str(found)


def _column(result: Result, name: str) -> Array:
    """A measure or coordinate of all cases, one after the other; of several numbers, the largest."""
    dims = list(map(str, result["status"].dims))
    array = result.dataset[name].broadcast_like(result.dataset["status"]).transpose(*dims, ...)
    values = np.asarray(array.values)
    if values.dtype.kind not in "fiu":
        _, values = np.unique(values.astype(str), return_inverse=True)
    flat = values.astype(np.float64).reshape(result["status"].size, -1)
    found: Array = flat.max(axis=1)
    return found


def _axes_names(result: Result) -> list[str]:
    """Names of what varies."""
    found = []
    for dim in _long(result):
        own = [str(x) for x in result.dataset.coords if result.dataset[x].dims == (dim,) and x != dim]
        found += own or [dim]
    return found


# ---- one or two axes ------------------------------------------------------------------------------------


def _heat_map(result: Result, names: list[str]) -> Any:
    long = _long(result)
    if len(long) != 2:
        raise InputError(f"a heat map needs two axes, the sweep has {listed(long)}")
    shown = [_scalar(result, names)] if len(names) < 2 else names[:MOST_PANELS]
    figure = _figure(1.6 + 4.6 * len(shown), 4.4)
    axes = figure.subplots(1, len(shown), squeeze=False)[0]
    for ax, name in zip(axes, shown, strict=True):
        array = result[name].squeeze(drop=True)
        extra = [d for d in array.dims if d not in long]
        array = array.max(dim=extra) if extra else array
        x, y = result.dataset[long[1]].values, result.dataset[long[0]].values
        values = np.asarray(array.transpose(*long).values, dtype=np.float64)
        image = ax.pcolormesh(np.arange(len(x)), np.arange(len(y)), values, cmap="viridis")
        for k, old in enumerate((x, y)):
            ticks = np.unique(np.linspace(0, len(old) - 1, min(len(old), 7)).round().astype(int))
            said = [f"{v:g}" if isinstance(v, int | float | np.number) else str(v) for v in old[ticks]]
            (ax.set_xticks if k == 0 else ax.set_yticks)(ticks, said)
        for j, i in np.argwhere(~np.isfinite(values)):
            ax.text(i, j, "×", ha="center", va="center", color=ALERT)
        ax.set_xlabel(_axis_label(result, long[1]))
        ax.set_ylabel(_axis_label(result, long[0]))
        figure.colorbar(image, ax=ax, label=_label(result, name))
    if any(~np.isfinite(np.asarray(result[n].values, dtype=np.float64)).all() for n in shown):
        figure.supxlabel("× no case passed", x=0.01, ha="left", fontsize=8, color=ALERT)
    _head(figure, result)
    return figure


def _axis_label(result: Result, dim: str) -> str:
    """The field that varies, and others that vary with it; of texts the number of the case."""
    own = result.dataset[dim]
    together = [str(x) for x in result.dataset.coords if result.dataset[x].dims == (dim,) and x != dim]
    if own.dtype.kind not in "fiu":
        return f"number of the case, from 0 ({listed([dim, *together])})"
    label = str(own.attrs.get("long_name", dim))
    return f"{label}, together with {listed(together)}" if together else label


def _curves(result: Result, names: list[str]) -> Any:
    long = _long(result)
    if len(long) != 1:
        raise InputError(f"curves need one axis, the sweep has {listed(long)}")
    shown = (names or measures(result))[:MOST_PANELS]
    figure = _figure(7.0, 1.0 + 2.1 * len(shown))
    axes = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    x = _numbers(result.dataset[long[0]].values)
    for ax, name in zip(axes, shown, strict=True):
        values = np.asarray(result[name].squeeze().transpose(long[0], ...).values).reshape(len(x), -1)
        labels = _line_labels(result, name, long[0])
        for k, line in enumerate(values.T):
            color = LINE_COLORS[k % len(LINE_COLORS)]
            ax.plot(x, line, ".-", color=color, markersize=4, label=labels[k])
        if 1 < len(labels) <= MOST_LABELS:
            ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8, frameon=False)
        ax.set_ylabel(_label(result, name))
        quiet_frame(ax)
    axes[-1].set_xlabel(_axis_label(result, long[0]))
    _head(figure, result)
    return figure


def _line_labels(result: Result, name: str, along: str) -> list[str]:
    """Names of the curves of a measure: of joints, axes, ... beside the axis of the sweep."""
    array = result[name].squeeze()
    others = [dim for dim in array.dims if dim != along]
    each = [[str(x) for x in array[dim].values.tolist()] for dim in others]
    return [".".join(parts) for parts in itertools.product(*each)]


def _numbers(values: Any) -> Array:
    array = np.asarray(values)
    return array.astype(np.float64) if array.dtype.kind in "fiu" else np.arange(len(array), dtype=np.float64)


def _bands(result: Result, names: list[str]) -> Any:
    """Median and quantiles over the samples, along time or along the other axis."""
    kept = [name for name in result.variables if "instant" in result[name].dims and name != "time"]
    shown = (names or kept or measures(result))[:2]
    lines = {name: _band_lines(result, name) for name in shown}
    rows = sum(min(len(x), MOST_PANELS) for x in lines.values())
    across = 2 if rows > 3 else 1
    down = -(-rows // across)
    figure = _figure(5.6 * across, 1.0 + 1.9 * down)
    axes = iter(figure.subplots(down, across, sharex=True, squeeze=False).ravel())
    for name, panels in lines.items():
        for title, x, levels in panels[:MOST_PANELS]:
            ax = next(axes)
            for low, high, shade in BANDS:
                ax.fill_between(x, levels[low], levels[high], color=LINE_COLORS[0], alpha=shade, lw=0)
            ax.plot(x, levels[0.5], color=LINE_COLORS[0], lw=1.5)
            ax.set_title(title, fontsize=9, loc="left", color=INK)
            ax.set_ylabel(_label(result, name))
            quiet_frame(ax)
    for ax in axes:
        ax.set_visible(False)
    figure.supxlabel(
        f"{_band_axis(result, shown[0])}; bands: 5 to 95 %, 25 to 75 %, line: median", fontsize=9
    )
    _head(figure, result)
    return figure


def _band_axis(result: Result, name: str) -> str:
    if "instant" in result[name].dims:
        return "time / s" if _same_times(result) else "fraction of the duration"
    return next((d for d in _long(result) if d != SAMPLE), SAMPLE)


def _same_times(result: Result) -> bool:
    times = np.asarray(result["time"].values)
    flat = times.reshape(-1, times.shape[-1])
    flat = flat[np.isfinite(flat).all(axis=1)]
    return bool(len(flat)) and bool(np.allclose(flat, flat[0]))


def _band_lines(result: Result, name: str) -> list[tuple[str, Array, dict[float, Array]]]:
    wanted = sorted({0.5, *(q for low, high, _ in BANDS for q in (low, high))})
    found = quantiles(result, name, wanted)
    if "instant" in found.dims:
        along = "instant"
        times = np.asarray(result["time"].values).reshape(-1, result["time"].sizes["instant"])
        good = times[np.isfinite(times).all(axis=1)]
        x = good[0] if _same_times(result) else np.linspace(0.0, 1.0, good.shape[1])
    else:
        others = [d for d in _long(result) if d != SAMPLE]
        if not others:
            raise InputError("bands need a variable that is stored over time (keep), or another axis")
        along = others[0]
        x = _numbers(result.dataset[along].values)
    rest = [d for d in found.dims if d not in ("quantile", along)]
    stacked = found.transpose("quantile", *rest, along)
    shape = [stacked.sizes[d] for d in rest]
    panels = []
    for k in range(int(np.prod(shape)) if rest else 1):
        place = dict(zip(rest, map(int, np.unravel_index(k, shape)), strict=True)) if rest else {}
        one = np.asarray(stacked.isel(place).values)
        title = ", ".join(str(found[d].values[i]) if d in found.coords else str(i) for d, i in place.items())
        panels.append((title, x, dict(zip(wanted, one, strict=True))))
    return [panel for panel in panels if np.ptp(panel[2][0.5]) > 0.0 or len(panels) == 1] or panels


# ---- samples --------------------------------------------------------------------------------------------


def _distribution(result: Result, names: list[str]) -> Any:
    """Histogram with quantiles, and how the mean settles."""
    shown = (names or measures(result))[:4]
    figure = _figure(9.0, 0.8 + 2.3 * len(shown))
    axes = figure.subplots(len(shown), 2, squeeze=False)
    for (left, right), name in zip(axes, shown, strict=True):
        values = _column(result, name)
        known = values[np.isfinite(values)]
        if result[name].attrs.get("long_name", "").startswith("whether "):
            yes = float(known.mean())
            left.barh(["no", "yes"], [1.0 - yes, yes], color=[GROUND, LINE_COLORS[0]])
            left.set_title(share_text(values), fontsize=9, loc="left", color=INK)
            left.set_xlim(0.0, 1.0)
            left.set_xlabel(f"{name.replace('_', ' ')}: share of cases")
        else:
            left.hist(known, bins=min(40, max(8, len(known) // 8)), color=LINE_COLORS[0], alpha=0.6)
            for q in (0.05, 0.5, 0.95):
                at = float(np.quantile(known, q))
                left.axvline(at, color=INK, lw=1, ls="-" if q == 0.5 else "--")
                left.annotate(f"{100 * q:g} %: {at:.4g}", (at, 0.98), xycoords=("data", "axes fraction"),
                              rotation=90, va="top", ha="right", fontsize=7, color=INK)  # fmt: skip
            left.set_xlabel(_label(result, name))
            left.set_ylabel("cases")
        settled = convergence(result, name)
        right.plot(settled.count, settled.mean, color=LINE_COLORS[0], lw=1.5)
        low, high = settled.mean - 1.96 * settled.error, settled.mean + 1.96 * settled.error
        right.fill_between(settled.count, low, high, color=LINE_COLORS[0], alpha=0.2, lw=0)
        start = min(10, len(settled.count) - 1)
        ends = np.concatenate([low[start:], high[start:]])
        if np.isfinite(ends).any() and np.nanmax(ends) > np.nanmin(ends):
            right.set_ylim(np.nanmin(ends), np.nanmax(ends))
        right.set_ylabel(f"mean of {name.replace('_', ' ')}")
        right.set_xlabel("samples; band: 95 % interval of the mean")
        for ax in (left, right):
            quiet_frame(ax)
    _head(figure, result)
    return figure


def _sensitivity(result: Result, names: list[str]) -> Any:
    shown = (names or measures(result))[:MOST_PANELS]
    figure = _figure(1.5 + 3.6 * len(shown), 3.8)
    axes = figure.subplots(1, len(shown), squeeze=False, sharey=True)[0]
    for ax, name in zip(axes, shown, strict=True):
        found = sensitivity(result, name)
        place = np.arange(len(found.axes))
        parts = (("alone", found.first, found.first_range, -0.2, 0),
                 ("with interactions", found.total, found.total_range, 0.2, 1))  # fmt: skip
        for label, values, ends, shift, colour in parts:
            errors = np.clip(np.stack([values - ends[:, 0], ends[:, 1] - values]), 0.0, None)
            ax.barh(place + shift, values, 0.38, xerr=errors, label=label, color=LINE_COLORS[colour],
                    error_kw={"lw": 1, "ecolor": INK})  # fmt: skip
        ax.set_yticks(place, found.axes)
        ax.invert_yaxis()
        ax.set_xlabel(f"share of the variance of {name.replace('_', ' ')}")
        quiet_frame(ax)
    axes[0].legend(fontsize=8, frameon=False, loc="lower right")
    _head(figure, result)
    return figure


# ---- searches -------------------------------------------------------------------------------------------


def _optima(result: Result, names: list[str]) -> Any:
    """Objectives of all solved cases in order, and how often each distinct optimum was found."""
    name = _scalar(result, names)
    found = optima(result, name)
    if not found:
        raise InputError("no case was solved: there are no optima to draw")
    values = _column(result, name)
    solved = sorted(case for x in found for case in x.cases)
    figure = _figure(9.0, 3.8)
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1.0))
    group = {case: k for k, x in enumerate(found) for case in x.cases}
    order = sorted(solved, key=lambda case: values[case])
    colours = [LINE_COLORS[group[case] % len(LINE_COLORS)] for case in order]
    left.scatter(np.arange(len(order)), values[order], c=colours, s=18)
    middle = float(np.median(values[order]))
    if np.ptp(values[order]) < 0.01 * abs(middle):  # no noise in full size
        left.set_ylim(middle - 0.02 * abs(middle), middle + 0.02 * abs(middle))
    left.set_xlabel("solved cases, from best to worst")
    left.set_ylabel(_label(result, name))
    few = found[:10]
    right.barh([f"{x.objective:.5g} (case {x.best})" for x in few], [x.count for x in few],
               color=[LINE_COLORS[k % len(LINE_COLORS)] for k in range(len(few))])  # fmt: skip
    right.set_ylim(max(len(few), 4) - 0.4, -0.6)
    right.set_xlabel(f"times found, of {result['status'].size} starts ({len(solved)} solved)")
    for ax in (left, right):
        quiet_frame(ax)
    _head(figure, result)
    return figure


def _pareto(result: Result, names: list[str]) -> Any:
    """The front, the cases behind it, and their numbers."""
    chosen = (names if len(names) > 1 else list(sweep_table(result).objectives or ()))[:2]
    front = pareto_front(result, chosen)
    x, y = (_column(result, name) for name in chosen)
    figure = _figure(7.2, 4.8)
    ax = figure.subplots()
    others = [k for k in range(len(x)) if k not in set(front) and np.isfinite(x[k] + y[k])]
    ax.scatter(x[others], y[others], color=GROUND, s=16, label="other cases")
    along = _axes_names(result)[0]
    ax.plot(x[front], y[front], "-", color=LINE_COLORS[0], lw=1, zorder=1)
    shade = _column(result, along)
    wide = bool((shade > 0.0).all()) and float(shade.max()) > 100.0 * float(shade.min())
    dots = ax.scatter(x[front], y[front], c=shade[front], cmap="viridis", s=28, zorder=2, label="front",
                      norm="log" if wide else "linear")  # fmt: skip
    figure.colorbar(dots, ax=ax, label=along)
    for case in _apart(front, x, y):
        ax.annotate(str(case), (x[case], y[case]), xytext=(5, 5), textcoords="offset points", fontsize=8)
    ax.set_xlabel(_label(result, chosen[0]))
    ax.set_ylabel(_label(result, chosen[1]))
    if others:
        ax.legend(fontsize=8, frameon=False)
    quiet_frame(ax)
    _head(figure, result)
    return figure


def _apart(front: list[int], x: Array, y: Array) -> list[int]:
    """Cases of a front whose numbers have room beside each other."""
    found: list[int] = []
    sizes = [float(np.ptp(values[front])) or 1.0 for values in (x, y)]
    for case in front:
        near = [np.hypot((x[case] - x[k]) / sizes[0], (y[case] - y[k]) / sizes[1]) for k in found]
        if not near or min(near) > 0.08:
            found.append(case)
    return found


# ---- all together ---------------------------------------------------------------------------------------


def _columns(result: Result, names: list[str]) -> list[str]:
    return [*_axes_names(result), *(names or measures(result))][:MOST_COLUMNS]


def _parallel(result: Result, names: list[str]) -> Any:
    """Every case as a line across axes and measures, colored by the last."""
    columns = _columns(result, names)
    values = np.stack([_column(result, name) for name in columns], axis=1)
    values = values[np.isfinite(values).all(axis=1)][:LARGE]
    low, high = values.min(axis=0), values.max(axis=0)
    unit = (values - low) / np.where(high > low, high - low, 1.0)
    figure = _figure(1.7 * len(columns) + 1.0, 4.4)
    ax = figure.subplots()
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    place = np.arange(len(columns))
    lines = [np.stack([place, row], axis=1) for row in unit]
    shades = colormaps["viridis"](unit[:, -1])
    ax.add_collection(LineCollection(lines, colors=shades, linewidths=0.8, alpha=0.6))
    for k, name in enumerate(columns):
        ax.plot([k, k], [0.0, 1.0], color=INK, lw=0.8)
        ax.text(k, -0.04, f"{low[k]:.4g}", ha="center", va="top", fontsize=8)
        ax.text(k, 1.04, f"{high[k]:.4g}", ha="center", va="bottom", fontsize=8)
        label = _label(result, name) if name in result.variables else name
        ax.text(k, -0.14, label, ha="center", va="top", fontsize=9, color=INK)
    ax.set_xlim(-0.3, len(columns) - 0.7)
    ax.set_ylim(-0.25, 1.15)
    ax.axis("off")
    _head(figure, result)
    return figure


def _scatter(result: Result, names: list[str]) -> Any:
    """Every pair of axes and measures against each other."""
    columns = _columns(result, names)
    values = np.stack([_column(result, name) for name in columns], axis=1)
    values = values[np.isfinite(values).all(axis=1)][:LARGE]
    n = len(columns)
    figure = _figure(1.5 * n + 1.0, 1.4 * n + 0.8)
    axes = figure.subplots(n, n, squeeze=False)
    for i in range(n):
        for j in range(n):
            ax = axes[i][j]
            if i == j:
                ax.hist(values[:, i], bins=16, color=LINE_COLORS[0], alpha=0.6)
            else:
                ax.scatter(values[:, j], values[:, i], s=4, color=LINE_COLORS[0], alpha=0.5, lw=0)
            ax.tick_params(labelsize=6, labelbottom=i == n - 1, labelleft=j == 0)
            if i == n - 1:
                ax.set_xlabel(columns[j].replace("_", " "), fontsize=8)
            if j == 0:
                ax.set_ylabel(columns[i].replace("_", " "), fontsize=8)
            for side in ("top", "right"):
                ax.spines[side].set_visible(False)
    _head(figure, result)
    return figure


PLOTS: dict[str, Callable[[Result, list[str]], Any]] = {
    "heat_map": _heat_map,
    "curves": _curves,
    "bands": _bands,
    "distribution": _distribution,
    "optima": _optima,
    "pareto": _pareto,
    "sensitivity": _sensitivity,
    "parallel": _parallel,
    "scatter": _scatter,
}
