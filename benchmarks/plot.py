"""The run as pictures: how many times faster, how time grows with length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.tables import PEERS
from benchmarks.targets import Results

BATCH = 1024
COLOURS = {"kinetree": "black"} | {name: f"C{k}" for k, name in enumerate(PEERS)}
SHOWN = (
    "pinocchio",
    "pinocchio parallel",
    "mujoco",
    "mujoco rollout",
    "drake",
    "opensim",
    "robotics-toolbox",
)


def save_ratio_plot(results: dict[str, Any], path: Path) -> None:
    """Bars of time ratios for each model."""
    models = list(dict.fromkeys(row["model"] for row in results["timings"]))
    figure = Figure(figsize=(4.2 * len(models), 5.2), layout="constrained")
    axes = figure.subplots(1, len(models), squeeze=False).flat
    for ax, model in zip(axes, models, strict=True):
        _draw_ratios(ax, results, model)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8)
    figure.savefig(path, dpi=80)


def save_growth_plot(results: dict[str, Any], path: Path) -> None:
    """How time grows with the length of a chain."""
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    _draw_growth(figure.subplots(), results)
    figure.savefig(path, dpi=80)


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
