"""A gait over its cycle, above what was measured: angles, forces, moments, powers.

[Barman2020], Figs. 5.3-5.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.errors import InputError
from kinetree.gait_data.curves import ANGLES, FORCES, MOMENTS, POWERS, REACTIONS, CurveKind
from kinetree.gait_data.cycle import GaitCycle, gait_cycle
from kinetree.gait_data.measured import Measured, mean_powers, measured_walking
from kinetree.gait_data.score import GaitScore, gait_score
from kinetree.report.palette import GROUND, INK, LINE_COLORS
from kinetree.report.panel import quiet_frame
from kinetree.result.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS: tuple[dict[str, CurveKind], ...] = (
    {key: ANGLES[key] for key in ("hip_flexion", "knee_flexion", "ankle_flexion")},
    FORCES,
    MOMENTS,
    POWERS,
    REACTIONS,
)
WIDTH, HEIGHT = 9.0, 1.75  # inches: of the picture, of a row
BANDS = ((2.0, 0.16), (1.0, 0.30))  # standard deviations and how opaque they are


def plot_gait(
    gait: Result | GaitCycle, data: str | Measured | None = "arnold5", leg: str = "right"
) -> Figure:
    """Draw the cycle of a leg and return the matplotlib figure: one row each for angles, ground reactions,
    moments, powers and sizes of joint forces, as far as the gait has them.

    ``gait`` is a result of walking or its cycle. Gray bands are one and two standard deviations round the
    mean of the measured ``data`` ("arnold5", "opencap10" or None); r is the correlation with the mean. Powers
    have no band: the data are means and deviations of angles and moments, so a dotted line shows the power of
    the mean curves. Joint forces were not measured. A thin line marks the end of stance.
    """
    cycle = gait_cycle(gait, leg) if isinstance(gait, Result) else gait
    measured = measured_walking(data) if isinstance(data, str) else data
    rows = [row for row in ROWS if any(key in cycle.curves for key in row)]
    if not rows:
        raise InputError("the cycle has no curves to draw")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, 0.7 + HEIGHT * len(rows)), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(len(rows), 3, sharex=True, squeeze=False)
    score = None if measured is None else gait_score(cycle, measured)
    for axes, row in zip(grid, rows, strict=True):
        for ax, (key, kind) in zip(axes, row.items(), strict=True):
            _draw(ax, cycle, key, kind, measured, score)
    for ax in grid[-1]:
        ax.set_xlabel("gait cycle / %", color=INK, fontsize=9)
    _head(figure, cycle, measured)
    return figure


def _draw(
    ax: Any, cycle: GaitCycle, key: str, kind: CurveKind, data: Measured | None, score: GaitScore | None
) -> None:
    """One curve above its band."""
    quiet_frame(ax)
    title = kind.title
    if data is not None and key in data.mean:
        mean, sd = data.mean[key], data.sd[key]
        for factor, alpha in BANDS:
            low, high = mean - factor * sd, mean + factor * sd
            ax.fill_between(
                data.percent, low, high, color=GROUND, alpha=alpha, linewidth=0, gid=f"{factor:g} SD"
            )
        ax.plot(data.percent, mean, color=INK, linewidth=0.9, linestyle=(0, (4, 3)), gid="mean")
        if score is not None and key in cycle.curves:
            title += f"   r = {score[key].r:.2f}" + (" (doubtful)" if score[key].doubtful else "")
    elif data is not None and key in POWERS and key in (powers := mean_powers(data)):
        ax.plot(data.percent, powers[key], color=INK, linewidth=0.9, linestyle=(0, (1, 2)), gid="of means")
        title += "   (dotted: means)"
    if key in cycle.curves:
        ax.plot(cycle.percent, cycle[key], color=LINE_COLORS[0], linewidth=1.8, gid=key)
    ax.axhline(0.0, color=GROUND, linewidth=0.6, zorder=0)
    if np.isfinite(cycle.stance):
        ax.axvline(cycle.stance, color=INK, linewidth=0.6, alpha=0.45, zorder=0.5, gid="toe-off")
    ax.set_xlim(0, 100)
    ax.set_title(title, loc="left", fontsize=9, color=INK)
    ax.set_ylabel(kind.unit, color=INK, fontsize=8)


def _head(figure: Figure, cycle: GaitCycle, data: Measured | None) -> None:
    stance = f", stance {cycle.stance:.1f} %" if np.isfinite(cycle.stance) else ""
    text = f"gait cycle of {cycle.duration:.3g} s{stance}"
    if data is not None:
        has_band = any(np.isfinite(sd).all() for sd in data.sd.values())
        text += f"; gray: {data.source}, ±1 and ±2 SD" if has_band else f"; dashed: {data.source}"
    figure.suptitle(text, fontsize=9.5, color=INK)
