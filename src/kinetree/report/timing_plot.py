"""The picture of a timing along a path: its speed below the limit curve, and what it uses of the limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.motion.timing.outcome import FastestTiming
from kinetree.report.palette import ALERT, GROUND, INK, LINE_COLORS
from kinetree.report.panel import Line, Panel, draw_panel, quiet_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TALLEST = 1.6  # times the largest speed: so much of the limit curve is shown


def plot_timing(found: FastestTiming, show: bool = False) -> Figure:
    """Plot the phase plane (s, ds/dt) and the parts of the limits over time; see :meth:`FastestTiming.plot`.

    >>> import kinetree as kt
    >>> cart = kt.Builder("cart")
    >>> _ = cart.world.prismatic("x", axis="x", effort_limit=2.0).body("cart", kt.Inertia.point(1.0))
    >>> figure = plot_timing(kt.fastest_timing(cart.build(), [[0.0], [1.0]]))
    >>> [ax.get_ylabel() for ax in figure.axes]
    ['ds/dt / (1/s)', 'fraction of limit']
    """
    panels = [x for x in _parts(found) if x.lines]
    figure, axes = _axes(1 + len(panels), show)
    head = f"{found.mechanism.name}: fastest timing, {found.duration:.4g} s"
    figure.suptitle(head, x=0.02, ha="left", color=INK, fontsize=12, fontweight="bold", parse_math=False)
    _phase_plane(axes[0], found)
    for ax, panel in zip(axes[1:], panels, strict=True):
        draw_panel(ax, panel)
        for limit in (-1.0, 1.0):
            ax.axhline(limit, color=ALERT, linewidth=0.9, linestyle=(0, (5, 3)), gid="limit")
        ax.set_xlim(0.0, found.duration)
        ax.set_ylim(-1.15, 1.15)
    if show:
        from matplotlib import pyplot

        pyplot.show()
    return figure


def _axes(n: int, show: bool) -> tuple[Figure, list[Any]]:
    size = (9.0, 1.5 + 2.0 * n)
    if show:
        from matplotlib import pyplot

        figure: Figure = pyplot.figure(figsize=size, layout="constrained")
    else:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
    heights = [1.5, *([1.0] * (n - 1))]
    return figure, figure.subplots(n, 1, squeeze=False, height_ratios=heights)[:, 0].tolist()


def _phase_plane(ax: Any, found: FastestTiming) -> None:
    """Speed over the place on the path."""
    top = TALLEST * float(found.speed.max())
    limit = np.minimum(found.limit_speed, 10.0 * top)
    inner = slice(1, -1)  # both ends are at rest
    ax.fill_between(found.s[inner], limit[inner], 10.0 * top, color=ALERT, alpha=0.08, linewidth=0.0)
    ax.plot(found.s[inner], limit[inner], color=ALERT, linewidth=1.2, label="limit curve", gid="limit_curve")
    ax.plot(found.s, found.speed, color=LINE_COLORS[0], linewidth=1.8, label="fastest", gid="speed")
    if found.smoothing is not None:
        when = found.trajectory.timing.at(np.linspace(0.0, found.duration, 801))
        ax.plot(
            when.q[:, 0], when.qd[:, 0], color=LINE_COLORS[1], linewidth=1.4, label="smoothed", gid="smoothed"
        )
    ax.set_xlim(float(found.s[0]), float(found.s[-1]))
    ax.set_ylim(0.0, top)
    ax.set_title("speed along the path", loc="left", fontsize=10, color=INK)
    ax.set_xlabel("path parameter s", color=INK, fontsize=9)
    ax.set_ylabel("ds/dt / (1/s)", color=INK, fontsize=9)
    quiet_frame(ax)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8, labelcolor=INK)
    ax.axhline(0.0, color=GROUND, linewidth=0.7, zorder=0)


def _parts(found: FastestTiming) -> list[Panel]:
    """What is used of each kind of limits."""
    panels = []
    for kind, used in found.use.shares.items():
        limited = np.isfinite(getattr(found.limits, kind))
        lines = [
            Line(name, found.use.t, used[:, j], (j % len(LINE_COLORS), j // len(LINE_COLORS)))
            for j, name in enumerate(found.mechanism.joint_names)
            if limited[j]
        ]
        panels.append(Panel(f"{kind}, as a fraction of its limit", "fraction of limit", "1", lines))
    return panels
