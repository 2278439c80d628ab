"""The run as a picture: how many times faster, how time grows with length, errors over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.simulation_plot import draw_curves
from benchmarks.tables import PEERS
from benchmarks.targets import Results

BATCH = 1024
COLOURS = {"kinetree": "black"} | {name: f"C{k}" for k, name in enumerate(PEERS)}
SHOWN = ("pinocchio", "pinocchio parallel", "mujoco", "mujoco rollout", "drake", "robotics-toolbox")


def save_plot(results: dict[str, Any], path: Path) -> None:
    """Bars of time ratios for each model, growth lines of chains; below, errors of simulations over time."""
    models = list(dict.fromkeys(row["model"] for row in results["timings"]))
    curves = results.get("simulation_curves", [])
    cases = list(dict.fromkeys(row["case"] for row in curves))
    columns, lines = max(len(models) + 1, len(cases)), 2 if cases else 1
    figure = Figure(figsize=(5.0 * columns, 5.0 * lines), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False)
    for ax in grid.flat:
        ax.set_visible(False)
    for ax, model in zip(grid[0], models, strict=False):
        ax.set_visible(True)
        _draw_ratios(ax, results, model)
    grid[0][len(models)].set_visible(True)
    _draw_growth(grid[0][len(models)], results)
    for ax, case in zip(grid[-1], cases, strict=False):
        ax.set_visible(True)
        draw_curves(ax, [row for row in curves if row["case"] == case])
    machine = results["machine"]
    figure.suptitle(f"{machine['processor']}, one thread, {machine['date']}", fontsize=10)
    figure.savefig(path, dpi=120)


def _draw_ratios(ax: Axes, results: dict[str, Any], model: str) -> None:
    """Time of each peer beside Kinetree's public call."""
    figures = Results(results)
    batches = [row["batch"] for row in results["timings"] if row["batch"]]
    batch = BATCH if BATCH in batches else max(batches)
    quantities = list(dict.fromkeys(row["quantity"] for row in results["timings"]))
    seen, labels, place = set(), [], 0.0
    for quantity in quantities:
        ours = figures.time(model, quantity, batch, "kinetree")
        theirs = {name: figures.time(model, quantity, batch, name) for name in SHOWN}
        bars = {name: time / ours for name, time in theirs.items() if time and ours}
        for k, (name, ratio) in enumerate(bars.items()):
            label = None if name in seen else name
            seen.add(name)
            ax.barh(place + k, ratio, color=COLOURS[name], label=label)
        if bars:
            labels.append((place + 0.5 * (len(bars) - 1), quantity))
            place += len(bars) + 1
    ax.axvline(1.0, color="black", linewidth=0.8)
    ax.set(xscale="log", xlabel=f"times Kinetree's time, batch {batch}", title=model)
    ax.set_yticks([y for y, _ in labels], [text.replace(" dynamics", "\ndynamics") for _, text in labels])
    ax.invert_yaxis()
    if seen:
        ax.legend(fontsize=8)


def _draw_growth(ax: Axes, results: dict[str, Any]) -> None:
    """Nanoseconds per state of chains over their length."""
    rows = [row for row in results["growth"] if row["shape"] == "chain"]
    styles = {"inverse dynamics": "-", "forward dynamics": "--"}
    names = [name for name in ("kinetree", *SHOWN) if name in {row["contestant"] for row in rows}]
    for name in names:
        for quantity, style in styles.items():
            line = [
                (row["n"], row["best"])
                for row in rows
                if (row["contestant"], row["quantity"]) == (name, quantity)
            ]
            if line:
                n, time = zip(*line, strict=True)
                ax.plot(
                    n, time, style, color=COLOURS[name], marker=".", label=f"{name}, {quantity.split()[0]}"
                )
    ax.set(xscale="log", yscale="log", xlabel="links of a chain", ylabel="ns per state", title="growth")
    if rows:
        ax.legend(fontsize=8)
