"""A mechanism as a graph: bodies are circles, joints are lines, cut joints dashed ([Shah2013], Fig. 8.7b)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinetree.model.body import WORLD
from kinetree.model.mechanism import Mechanism
from kinetree.report.palette import ALERT, GROUND, INK, LINE_COLORS, PAPER

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TALL, WIDE = 0.75, 2.1  # inches for a row and a column of bodies
BEND, MOST_BEND = 0.2, 0.7  # of lines of cut joints beside their length, and in rows at most
Places = dict[str, tuple[float, float]]


def graph_of(mechanism: Mechanism) -> Figure:
    """A figure of the graph: the tree from the world to the right, driven joints thick, cut joints dashed.

    >>> import kinetree as kt
    >>> len(graph_of(kt.zoo.four_bar()).axes[0].lines)
    4
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    places = _places(mechanism)
    columns = 1 + max(x for x, _ in places.values())
    rows = 1 + max(y for _, y in places.values())
    figure = Figure(figsize=(max(WIDE * columns, 5.0), max(TALL * (rows + 0.5) + 0.9, 3.0)))
    FigureCanvasAgg(figure)
    ax: Any = figure.add_axes((0.01, 0.01, 0.98, 0.9))
    for link in mechanism.links:
        moved = any(link.joint.driven)
        style = {"color": LINE_COLORS[0] if moved else GROUND, "lw": 2.6 if moved else 1.4}
        _edge(ax, places[link.parent], places[link.body.name], link.joint.name, style)
    for loop in mechanism.loops:
        ends = places[loop.body_a], places[loop.body_b]
        _edge(ax, *ends, loop.name, {"color": ALERT, "lw": 1.4, "ls": "--"}, bend=BEND)
    for name, (x, y) in places.items():
        box = {"boxstyle": "round,pad=0.35", "fc": PAPER, "ec": INK, "lw": 2.0 if name == WORLD else 1.0}
        ax.text(x, -y, name, ha="center", va="center", fontsize=9, color=INK, bbox=box, zorder=4)
    legend: list[tuple[dict[str, Any], str]] = [
        ({"color": LINE_COLORS[0], "lw": 2.6}, "driven"),
        ({"color": GROUND, "lw": 1.4}, "not driven"),
    ]
    if mechanism.loops:
        legend.append(({"color": ALERT, "lw": 1.4, "ls": "--"}, "cut joint"))
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], label=label, **style) for style, label in legend]
    figure.legend(handles=lines, loc="upper right", ncols=len(lines), frameon=False, fontsize=9)
    figure.text(0.02, 0.985, mechanism.name, va="top", fontsize=12, color=INK)
    above = MOST_BEND if mechanism.loops else 0.0  # lines of cut joints pass above the bodies between
    ax.set(xlim=(-0.5, columns - 0.5), ylim=(-rows + 0.4, 0.6 + above))
    ax.set_axis_off()
    return figure


def _places(mechanism: Mechanism) -> Places:
    """Column (bodies to the world) and row of every body; a body stands in the middle of what it carries."""
    children: dict[str, list[str]] = {WORLD: []}
    for link in mechanism.links:
        children.setdefault(link.parent, []).append(link.body.name)
        children.setdefault(link.body.name, [])
    depth = {WORLD: 0.0}
    for link in mechanism.links:
        depth[link.body.name] = depth[link.parent] + 1.0
    row: dict[str, float] = {}
    free = 0.0
    stack = [(WORLD, False)]
    while stack:
        name, done = stack.pop()
        if done:
            row[name] = sum(row[child] for child in children[name]) / len(children[name])
        elif children[name]:
            stack += [(name, True), *((child, False) for child in reversed(children[name]))]
        else:
            row[name], free = free, free + 1.0
    return {name: (depth[name], row[name]) for name in row}


def _edge(
    ax: Any,
    a: tuple[float, float],
    b: tuple[float, float],
    name: str,
    style: dict[str, Any],
    bend: float = 0.0,
) -> None:
    """A line between two bodies, bent aside if asked, with the joint's name at its middle."""
    (x0, y0), (x1, y1) = a, b
    span = max(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5, 1e-9)
    side = min(bend * max(span, 1.0), MOST_BEND)
    t = [k / 24 for k in range(25)]
    x = [x0 + (x1 - x0) * s + 4 * s * (1 - s) * side * (y1 - y0) / span for s in t]
    y = [y0 + (y1 - y0) * s - 4 * s * (1 - s) * side * abs(x1 - x0) / span for s in t]
    ax.plot(x, [-v for v in y], zorder=1, **style)
    mark = {"fc": PAPER, "ec": "none", "pad": 0.6}
    ax.text(
        x[12], -y[12], name, ha="center", va="center", fontsize=7, color=style["color"], bbox=mark, zorder=3
    )
