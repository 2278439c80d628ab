"""Plots of results, with names and units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.report.draw import strobe
from kinetree.report.palette import GROUND, INK, LINE_COLORS
from kinetree.report.panel import quiet_frame
from kinetree.study.demo import Demo

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STROBE_POSES = 7


def demo_figure(demo: Demo) -> Figure:
    """Torques and poses of the driven motion above, angles and energies of the fall below."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 6.6))
    FigureCanvasAgg(figure)
    grid: dict[str, Any] = {"left": 0.075, "right": 0.985, "bottom": 0.085, "top": 0.91, "hspace": 0.42}
    cells: Any = figure.add_gridspec(2, 2, wspace=0.2, width_ratios=(1.25, 1.0), **grid)
    names = demo.mechanism.joint_names
    torques = figure.add_subplot(cells[0, 0])
    curves(torques, demo.time, demo.torque, names, "Joint torques", "torque / N m")
    poses: Any = figure.add_axes((0.59, 0.475, 0.4, 0.475), projection="3d")
    rows = np.linspace(0, len(demo.time) - 1, STROBE_POSES).astype(int)
    strobe(demo.mechanism, demo.driven.q[rows], poses)
    poses.set_title("")
    angles = figure.add_subplot(cells[1, 0])
    curves(angles, demo.time, np.degrees(demo.falling.q), names, "Free fall from rest", "angle / °")
    energies = figure.add_subplot(cells[1, 1])
    potential, total = (x - x[0] for x in (demo.potential, demo.total_energy))
    values = np.column_stack([demo.kinetic, potential, total])
    labels = ("kinetic", "potential", f"total (drift {demo.energy_drift:.0e} J)")
    curves(energies, demo.time, values, labels, "Energy", "energy gained / J")
    head = f"{demo.mechanism.name}: driven along a cycloid, then falling freely"
    figure.suptitle(head, x=0.075, ha="left", color=INK, fontsize=12, fontweight="bold")
    return figure


def curves(ax: Any, time: Array, values: Array, names: Sequence[str], title: str, unit: str) -> None:
    """Lines of values (k, n) over time (k,), one for each name, with a legend."""
    for k, name in enumerate(names):
        color = LINE_COLORS[k % len(LINE_COLORS)]
        ax.plot(time, values[:, k], color=color, linewidth=1.7, label=name)
    ax.axhline(0.0, color=GROUND, linewidth=0.7, zorder=0)
    ax.set_title(title, loc="left", fontsize=10, color=INK)
    ax.set_xlabel("time / s", color=INK, fontsize=9)
    ax.set_ylabel(unit, color=INK, fontsize=9)
    ax.set_xlim(time[0], time[-1])
    quiet_frame(ax)
    style: dict[str, Any] = {"frameon": False, "fontsize": 8, "labelcolor": INK, "handlelength": 1.4}
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(names), borderaxespad=0.0, **style)
