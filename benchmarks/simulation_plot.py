"""Work-precision curves of simulations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLOURS = {
    "kinetree": "black", "kinetree simulate": "C2", "pinocchio": "C0", "mujoco": "C3", "drake": "C6",
    "opensim": "C7", "kinetree specialized": "C4",
}  # fmt: skip
STYLES, MARKERS = ("-", "--", ":", "-."), ("o", "s", "^", "v")


def save_simulation_plot(results: dict[str, Any], path: Path) -> None:
    """The curves of all cases, two in a row."""
    curves = results["simulation_curves"]
    cases = list(dict.fromkeys(row["case"] for row in curves))
    lines = -(-len(cases) // 2)
    figure = Figure(figsize=(13.0, 4.4 * lines), layout="constrained")
    for ax, case in zip(figure.subplots(lines, 2, squeeze=False).flat, cases, strict=False):
        draw_curves(ax, [row for row in curves if row["case"] == case])
    figure.savefig(path, dpi=75)


def draw_curves(ax: Axes, rows: list[dict[str, Any]]) -> None:
    """Milliseconds over the error of one case; one color for each library, one style for each method."""
    lines: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in rows:
        methods = lines.setdefault(row["contestant"], {})
        methods.setdefault(row["method"], []).append((row["error"], row["best"]))
    for contestant, methods in lines.items():
        for (method, points), style, marker in zip(methods.items(), STYLES, MARKERS, strict=False):
            error, time = zip(*points, strict=True)
            colour, label = COLOURS.get(contestant, "C5"), f"{contestant}, {method}"
            ax.plot(error, time, style, color=colour, marker=marker, markersize=3.5, label=label)
    ax.axvline(1e-6, color="black", linewidth=0.5)
    ax.set(xscale="log", yscale="log", xlabel="error of the final positions", ylabel="ms")
    ax.set_title(rows[0]["case"])
    ax.invert_xaxis()
    ax.grid(which="major", linewidth=0.3)
    ax.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
