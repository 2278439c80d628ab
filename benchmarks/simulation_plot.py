"""Work-precision curves of simulations."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes

COLOURS = {"kinetree": "black", "kinetree simulate": "grey", "pinocchio": "C0", "mujoco": "C3"}
STYLES = ("-", "--", ":")


def draw_curves(ax: Axes, rows: list[dict[str, Any]]) -> None:
    """Milliseconds over the error of one case; one colour for each library, one style for each method."""
    lines: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in rows:
        methods = lines.setdefault(row["contestant"], {})
        methods.setdefault(row["method"], []).append((row["error"], row["best"]))
    for contestant, methods in lines.items():
        for (method, points), style in zip(methods.items(), STYLES, strict=False):
            error, time = zip(*points, strict=True)
            colour, label = COLOURS.get(contestant, "C5"), f"{contestant}, {method}"
            ax.plot(error, time, style, color=colour, marker=".", label=label)
    ax.axvline(1e-6, color="black", linewidth=0.5)
    ax.set(xscale="log", yscale="log", xlabel="error of the final positions", ylabel="ms")
    ax.set_title(rows[0]["case"])
    ax.invert_xaxis()
    ax.legend(fontsize=7)
