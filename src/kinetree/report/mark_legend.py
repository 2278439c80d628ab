"""What the marks in a picture of a mechanism mean, stated in the corner in which least is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.lines import Line2D

from kinetree.report.canvas import AIR, Canvas
from kinetree.report.palette import ALERT, INK, MUSCLE, PAPER
from kinetree.report.skeleton import Skeleton

CORNERS = {
    "upper left": (-1, 1),
    "upper right": (1, 1),
    "lower left": (-1, -1),
}  # the fourth has the grid's note
WIDTH, HEIGHT = 0.2, 0.5  # where a corner begins, from the middle (0) to the edge (1) of the picture


def draw_legend(canvas: Canvas, shot: Skeleton) -> None:
    """The marks that occur, with their names."""
    marked = [joint for joint in shot.joints if canvas.marks or not joint.covered]
    kinds = dict.fromkeys(joint.kind for joint in marked if not joint.kind.is_free)
    entries = [_entry(x.name, x.marker, INK if x.marker_filled else PAPER, INK, 6.0) for x in kinds]
    if shot.weights(canvas.marks):
        entries.append(_entry("center of mass", "o", INK, None, 3.5))
    if len(shot.contacts) and (canvas.marks or not shot.has_looks):
        entries.append(_entry("contact point", "v", ALERT, None, 4.5))
    if shot.springs:
        entries.append(Line2D([], [], label="spring", color=INK, linewidth=1.1))
    if shot.muscles:
        entries.append(Line2D([], [], label="muscle", color=MUSCLE, linewidth=1.3))
    if shot.loops:
        entries.append(_entry("loop", "o", "none", ALERT, 7.0))
    if not entries:
        return
    style: dict[str, Any] = {"frameon": False, "fontsize": 7.5, "labelcolor": INK}
    place = free_corner(canvas)
    canvas.ax.legend(handles=entries, loc=place, handletextpad=0.2, borderaxespad=0.1, **style)


def _entry(label: str, marker: str, color: str, edge: str | None, size: float) -> Line2D:
    style: dict[str, Any] = {"marker": marker, "color": color, "markeredgecolor": edge}
    return Line2D([], [], label=label, markersize=size, linestyle="", **style)


def free_corner(canvas: Canvas) -> str:
    """The corner in which the fewest points of the mechanism and of the world's axes are."""
    on_paper = np.column_stack([canvas.drawn @ canvas.right, canvas.drawn @ canvas.above])
    low, high = on_paper.min(axis=0), on_paper.max(axis=0)
    middle, half = 0.5 * (low + high), 0.5 * AIR * max(canvas.size, float((high - low).max()))
    places = (on_paper - middle) / half

    def crowd(name: str) -> int:
        across, along = (places * CORNERS[name]).T
        return int(np.sum((across > WIDTH) & (along > HEIGHT)))

    return min(CORNERS, key=crowd)
