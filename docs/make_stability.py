"""The stability study as a picture and as text: ``python docs/make_stability.py``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from kinetree.documents.forced_simulation import COMPILED, ForcedRun
from kinetree.documents.stability import DOCUMENT, Stability, run_stability
from kinetree.report.output import picture_bytes, write_file
from kinetree.report.palette import GROUND, INK, LINE_COLORS
from kinetree.report.panel import quiet_frame

PICTURE = Path(__file__).parent / "images" / "stability.png"
STYLES: dict[str, dict[str, Any]] = {  # wide lines below, narrow ones above: they lie on each other
    "cholesky": {"color": LINE_COLORS[1], "linewidth": 4.2, "alpha": 0.55, "zorder": 2},
    "denoc": {"color": LINE_COLORS[2], "linewidth": 2.4, "zorder": 3},
    "articulated": {"color": LINE_COLORS[0], "linewidth": 1.1, "zorder": 4},
}
LABELS = {
    "articulated": "articulated bodies, O(n)",
    "denoc": "DeNOC recursion, O(n)",
    "cholesky": "inertia matrix and Cholesky",
}
PRESCRIBED: dict[str, Any] = {"color": GROUND, "linewidth": 1.1, "linestyle": (0, (4, 3)), "zorder": 5}
EPSILON = 2.0**-52
HIDDEN_BELOW = 1e-17


def main() -> None:
    """Run the study, about 10 s, and write images/stability.png."""
    found = run_stability()
    write_file(PICTURE, picture_bytes(stability_figure(found)))
    Console().print(stability_report(found))


def stability_figure(result: Stability) -> Figure:
    """Six panels: error, its growth, how long the motion is followed, rounding, acceleration, power."""
    figure = Figure(figsize=(9.0, 8.2))
    FigureCanvasAgg(figure)
    grid: dict[str, Any] = {"left": 0.085, "right": 0.985, "bottom": 0.058, "top": 0.88, "hspace": 0.42}
    cells: Any = figure.add_gridspec(3, 2, wspace=0.42, width_ratios=(1.25, 1.0), **grid)
    _errors(figure.add_subplot(cells[0, 0]), result)
    _growth(figure.add_subplot(cells[0, 1]), result)
    _accelerations(figure.add_subplot(cells[1, 0]), result)
    _horizons(figure.add_subplot(cells[1, 1]), result)
    _powers(figure.add_subplot(cells[2, 0]), result)
    _rounding(figure.add_subplot(cells[2, 1]), result)
    head = f"{result.mechanism.name}: forced simulation along a prescribed motion (Mohan and Saha, 2007)"
    figure.suptitle(head, x=0.085, y=0.985, ha="left", color=INK, fontsize=12, fontweight="bold")
    _algorithm_legend(figure, result.runs)
    return figure


def stability_report(result: Stability) -> Group:
    """What the study found, in a few lines for the terminal."""
    growth, digits = result.growth, int(np.ceil(result.growth.digits(result.limit)))
    return Group(
        Text(
            f"Forced simulation: {result.mechanism.name}, 0 to pi in {result.duration:g} s "
            "([Mohan2007], section 5)"
        ),
        _run_table(result),
        Text(
            f"Errors of this motion grow by themselves from {growth.onset:.2f} s on, at up to "
            f"{growth.rate.max():.1f} per second: following it to the end takes {digits} decimal digits."
        ),
        Text(f"Without gravity it is followed for {result.weightless.horizon(result.limit).min():g} s."),
    )


def _run_table(result: Stability) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("algorithm", "integrator", "follows", "first to leave", "steps", "evaluations", "each"):
        table.add_column(column, overflow="fold")
    for run in (*result.runs, *result.references):
        horizon = run.horizon(result.limit)
        left = run.largest_error[-1] > result.limit
        table.add_row(
            LABELS[run.algorithm],
            f"{run.method}, {_power(run.rtol)}",
            f"{horizon.min():.2f} s",
            result.mechanism.joint_names[int(horizon.argmin())] if left else "none",
            str(run.n_steps),
            str(run.n_evaluations),
            f"{run.microseconds:.0f} us",
        )
    return table


# ---- panels over time -----------------------------------------------------------------------------------
def _errors(ax: Any, result: Stability) -> None:
    growth, free = result.growth, result.weightless
    for run in _drawn(result.runs):
        _line(ax, run.time, run.largest_error, **STYLES[run.algorithm])
    for run in result.references:
        _line(ax, run.time, run.largest_error, **{**STYLES[run.algorithm], "linewidth": 1.3, "alpha": 1.0})
    _line(ax, free.time, free.largest_error, color=LINE_COLORS[3], linewidth=1.5)
    for size in (result.rtol, EPSILON):
        _line(ax, growth.time, size * growth.amplification, **PRESCRIBED)
    ax.set_yscale("log")
    ax.set_ylim(HIDDEN_BELOW, 1e3)
    ax.set_yticks([1e-16, 1e-12, 1e-8, 1e-4, 1.0])
    _frame(ax, "Largest error of any joint so far", "time / s", "error / rad", result.duration)
    ax.axvspan(growth.onset, result.duration, color=LINE_COLORS[4], alpha=0.07, linewidth=0, zorder=0)
    for run in (result.runs[0], result.references[0]):
        _note(ax, 0.03, 20 * run.largest_error[len(run.time) // 3], f"tolerance {_power(run.rtol)}")
    _note(ax, 0.985, 10 * free.largest_error[-1], "without gravity", LINE_COLORS[3])
    _note(ax, 0.985, 1e-13, "dashed: linearized", GROUND)
    _note(ax, 0.985, 2e-16, "errors grow by themselves", LINE_COLORS[4])


def _growth(ax: Any, result: Stability) -> None:
    growth = result.growth
    ax.fill_between(growth.time, growth.rate, color=LINE_COLORS[4], alpha=0.18, linewidth=0)
    ax.plot(growth.time, growth.rate, color=LINE_COLORS[4], linewidth=1.7)
    ax.set_ylim(0.0, 1.3 * max(growth.rate.max(), 1e-3))
    _frame(ax, "Errors grow by themselves", "time / s", "growth rate / (1/s)", result.duration)
    digits = int(np.ceil(growth.digits(result.limit)))
    text = f"{digits} digits needed to follow to the end\ndoubles have 16"
    _corner(ax, text)


def _accelerations(ax: Any, result: Stability) -> None:
    joint = int(result.runs[0].horizon(result.limit).argmin())
    wanted = result.prescribed.qdd[:, joint]
    for run in _drawn(result.runs):
        _line(ax, run.time, run.qdd[:, joint], **STYLES[run.algorithm])
    _line(ax, result.time, wanted, **PRESCRIBED)
    reach = 3.0 * np.abs(wanted).max()
    ax.set_ylim(-reach, reach)
    name = result.mechanism.joint_names[joint]
    title = f"Acceleration of {name} (dashed: prescribed)"
    _frame(ax, title, "time / s", "acceleration / (rad/s²)", result.duration)
    ripples = [run.ripple(result.duration / 2)[joint] for run in _drawn(result.runs)]
    low, high = min(ripples), max(ripples)
    size = _power(high) if high < 1.05 * low else f"{_power(low)} to {_power(high)}"
    _corner(ax, f"ripple in the first half: {size} rad/s²\nby every algorithm")


def _powers(ax: Any, result: Stability) -> None:
    for run in _drawn(result.runs):
        _line(ax, run.time, run.power, **STYLES[run.algorithm])
    _line(ax, result.time, result.power, **PRESCRIBED)
    reach = 1.6 * np.abs(result.power).max()
    ax.set_ylim(-reach, reach)
    _frame(ax, "Power of the torques (dashed: prescribed)", "time / s", "power / W", result.duration)
    run = result.runs[0]
    defect = np.abs(run.energy_defect[run.time <= run.horizon(result.limit).min()]).max()
    text = f"work done = energy gained\nto {_power(float(defect))} J while it follows"
    _corner(ax, text)


# ---- panels by case -------------------------------------------------------------------------------------
def _horizons(ax: Any, result: Stability) -> None:
    rows: list[tuple[str, list[tuple[float, Any]]]] = []
    colors = [STYLES[name]["color"] for name in COMPILED]
    if result.mechanism.name == "puma" and result.duration == 10.0:
        rows += [(f"printed: {kind}", [(min(times), INK)]) for kind, times in DOCUMENT.items()]
    for step, horizon in zip(result.table_steps, result.table_horizon, strict=True):
        rows.append((f"torque table, {step:g} s", [(horizon, colors[0])]))
    for k, tolerance in enumerate(result.tolerances):
        points = [(result.tolerance_horizon[c, k], colors[c]) for c in range(len(COMPILED))]
        rows.append((f"tolerance {_power(tolerance)}", points))
    best = [(run.horizon(result.limit).min(), STYLES[run.algorithm]["color"]) for run in result.references]
    rows.append((f"tolerance {_power(result.references[0].rtol)}", best))
    for y, (_, points) in enumerate(rows):
        ax.axhline(y, color=GROUND, linewidth=0.5, alpha=0.35, zorder=0)
        for (time, color), size in zip(points, (42, 16), strict=False):
            order = 3 if size == 42 else 4
            ax.scatter([time], [y], s=size, color=color, zorder=order, edgecolors="white", linewidths=0.6)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_yticks(range(len(rows)), [label for label, _ in rows])
    _frame(ax, "How long it follows", f"time until {result.limit:g} rad off / s", "", None)
    ax.grid(False, axis="y")


def _rounding(ax: Any, result: Stability) -> None:
    rounding, offsets = result.rounding, {"falling": -0.16, "driven": 0.16}
    colors = {"falling": LINE_COLORS[6], "driven": LINE_COLORS[7]}
    for situation, errors in (("falling", rounding.falling), ("driven", rounding.driven)):
        low, middle, high = np.percentile(errors, [10, 50, 90], axis=1)
        y = np.arange(len(rounding.ways)) + offsets[situation]
        ax.hlines(y, low, high, color=colors[situation], linewidth=2.6, alpha=0.5)
        ax.scatter(middle, y, color=colors[situation], s=30, zorder=3, label=situation)
    ax.set_xscale("log")
    ax.minorticks_off()
    ax.set_ylim(len(rounding.ways) - 0.5, -0.5)
    ax.set_yticks(range(len(rounding.ways)), [way.replace(", ", ",\n") for way in rounding.ways])
    _frame(ax, "Rounding errors", "error / unit roundoff (single precision)", "", None)
    _legend(ax, 2)


# ---- style ----------------------------------------------------------------------------------------------
def _drawn(runs: Sequence[ForcedRun]) -> list[ForcedRun]:
    return sorted(runs, key=lambda run: list(STYLES).index(run.algorithm))


def _line(ax: Any, time: Any, values: Any, **style: Any) -> None:
    ax.plot(time, np.where(np.abs(values) > 0, values, np.nan), **style)


def _note(ax: Any, x: float, y: float, text: str, color: str = INK) -> None:
    """Text at a part x of the width and a value y, towards the middle of the panel."""
    side = "left" if x < 0.5 else "right"
    ax.text(x, y, text, color=color, fontsize=8.5, ha=side, va="center", transform=ax.get_yaxis_transform())


def _corner(ax: Any, text: str) -> None:
    ax.text(0.03, 0.95, text, transform=ax.transAxes, va="top", fontsize=8.5, color=INK)


def _power(x: float) -> str:
    """A small number as short as possible: 1e-8."""
    return f"{x:.0e}".replace("e-0", "e-")


def _frame(ax: Any, title: str, x_label: str, y_label: str, duration: float | None) -> None:
    ax.set_title(title, loc="left", fontsize=10, color=INK)
    ax.set_xlabel(x_label, color=INK, fontsize=9)
    ax.set_ylabel(y_label, color=INK, fontsize=9)
    if duration is not None:
        ax.set_xlim(0.0, duration)
    quiet_frame(ax)


def _legend(ax: Any, columns: int) -> None:
    style: dict[str, Any] = {"frameon": False, "fontsize": 8, "labelcolor": INK, "handlelength": 1.2}
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=columns, borderaxespad=0.0, **style)


def _algorithm_legend(figure: Any, runs: Sequence[ForcedRun]) -> None:
    handles = [Line2D([], [], label=LABELS[run.algorithm], **STYLES[run.algorithm]) for run in runs]
    style: dict[str, Any] = {"frameon": False, "fontsize": 9, "labelcolor": INK, "handlelength": 2.0}
    figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.078, 0.963), ncols=len(runs), **style)


if __name__ == "__main__":
    main()
