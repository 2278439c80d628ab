"""Axes over time in one look: frame, lines, events, legend beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import cut, listed
from kinetree.report.palette import GROUND, INK, LINE_COLORS
from kinetree.result.records import Event

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINE_STYLES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (8, 2)))
LONGEST = 24  # characters of a name in a legend
LABELS_IN_COLUMN, MOST_LABELS = 8, 16
FEW_EVENTS = 40  # lines that hide nothing
LETTER = 0.015  # of the width of the axes: how far apart names of events must be
AT_AXIS = 0.03  # of the time: names of events before are right of their lines, beside the vertical axis
MOST_EVENTS = 500  # lines across a picture; more could not be distinguished


RARE, MANY_TIMES = 0.05, 1e5  # share of the values that may be odd; ratio from which on powers are drawn


class Line(NamedTuple):
    """Values (k,) over time (k,) with a name; ``look``: numbers of its color and its dashes."""

    label: str
    time: Array
    values: Array
    look: tuple[int, int] | None = None


class Key(NamedTuple):
    """An entry of a legend: numbers of a color, none for gray, and of dashes."""

    label: str
    hue: int | None
    dash: int


class Panel(NamedTuple):
    """What is drawn into one pair of axes; ``keys`` instead of a legend of all lines."""

    title: str
    symbol: str
    unit: str
    lines: Sequence[Line]
    limits: Sequence[tuple[str, float]] = ()  # of single lines: their labels, and where the limit is
    keys: Sequence[Key] = ()


def is_zero(curves: Iterable[Any]) -> bool:
    """Whether all that curves would show is a line at zero, or nothing; they need only have ``values``.

    >>> is_zero([Line("tau", np.arange(3.0), np.array([0.0, np.nan, 0.0]))])
    True
    """
    return not any(np.nan_to_num(curve.values).any() for curve in curves)


def is_missing(curves: Iterable[Any]) -> bool:
    """Whether curves have no value at all: nothing determines them.

    >>> is_missing([Line("f_z", np.arange(2.0), np.full(2, np.nan))])
    True
    """
    values = [np.asarray(curve.values) for curve in curves]
    return bool(values) and all(x.dtype.kind == "f" and np.isnan(x).all() for x in values)


def missing_note(symbols: Iterable[str]) -> str:
    """What to say of curves that were left out because nothing determines them.

    >>> missing_note(["f_z"])
    'Not determined by the closed loops (redundant constraints): f_z'
    """
    names = dict.fromkeys(symbols)
    return f"Not determined by the closed loops (redundant constraints): {listed(names)}" if names else ""


def zero_note(symbols: Iterable[str]) -> str:
    """What to say of curves that were left out for being zero; a robot may have hundreds of contact points.

    >>> zero_note(["tau", "tau"])
    'Zero throughout and not drawn: tau'
    """
    names = dict.fromkeys(symbols)
    return f"Zero throughout and not drawn: {listed(names)}" if names else ""


def many_powers(values: Array) -> bool:
    """Whether all values are positive and span many powers of ten, not only where they begin or end.

    >>> many_powers(np.logspace(0, 9, 50)), many_powers(np.linspace(0, 9, 50))
    (True, False)
    """
    known = values[np.isfinite(values)]
    if not len(known) or known.min() <= 0.0:
        return False
    low, high = np.quantile(known, (RARE, 1.0 - RARE))
    return bool(high / low > MANY_TIMES)


def draw_panel(ax: Any, panel: Panel, **style: Any) -> list[Any]:
    """Frame and lines, with a legend beside them; ``style`` changes all lines. The lines are returned."""
    drawn = draw_lines(ax, panel.lines, **style)
    draw_limits(ax, panel, drawn)
    if panel.lines and many_powers(np.concatenate([line.values for line in panel.lines])):
        ax.set_yscale("log")
    else:
        ax.axhline(0.0, color=GROUND, linewidth=0.7, zorder=0, gid="zero")
    ax.set_title(panel.title, loc="left", fontsize=10, color=INK, parse_math=False)
    ax.set_xlabel("time / s", color=INK, fontsize=9)
    unit = "" if panel.unit == "1" else panel.unit
    unit = f"({unit})" if {"/", " "} & {*unit} else unit
    ax.set_ylabel(
        f"{panel.symbol} / {unit}" if unit else panel.symbol, color=INK, fontsize=9, parse_math=False
    )
    quiet_frame(ax)
    if panel.keys:
        legend(ax, [_sample(key) for key in panel.keys], [key.label for key in panel.keys])
    elif [line.label for line in panel.lines] != [panel.symbol]:
        legend(ax, drawn, [line.label for line in panel.lines])
    return drawn


def _sample(key: Key) -> Any:
    """A line for the legend."""
    from matplotlib.lines import Line2D

    color = INK if key.hue is None else LINE_COLORS[key.hue % len(LINE_COLORS)]
    return Line2D([], [], color=color, linestyle=LINE_STYLES[key.dash % len(LINE_STYLES)], linewidth=1.5)


def draw_limits(ax: Any, panel: Panel, drawn: Sequence[Any]) -> None:
    """Thin dashed lines at limits, each in the color of its curve, with a word at the first of each side."""
    colors = {line.label: made.get_color() for line, made in zip(panel.lines, drawn, strict=True)}
    named = set[bool]()
    for label, value in panel.limits:
        ax.axhline(value, color=colors.get(label, INK), linewidth=0.9, linestyle=(0, (6, 3)), gid="limit")
        if (value > 0.0) not in named:
            ax.text(
                0.005, value, "limit", transform=ax.get_yaxis_transform(), va="bottom", fontsize=7,
                color=colors.get(label, INK),
            )  # fmt: skip
            named.add(value > 0.0)


def quiet_frame(ax: Any) -> None:
    """Two thin sides, a faint grid and small numbers."""
    ax.tick_params(colors=INK, labelsize=8)
    ax.grid(True, color=GROUND, alpha=0.25, linewidth=0.6)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(GROUND)


def draw_lines(ax: Any, lines: Sequence[Line], **style: Any) -> list[Any]:
    """The lines alone, each in its own color and dashes; a single value is a dot."""
    drawn = []
    for k, line in enumerate(lines):
        hue, dash = divmod(k, len(LINE_COLORS))[::-1] if line.look is None else line.look
        color, dashes = LINE_COLORS[hue % len(LINE_COLORS)], LINE_STYLES[dash % len(LINE_STYLES)]
        look = {"color": color, "linestyle": dashes, "linewidth": 1.5, "gid": line.label} | style
        look |= {"marker": "o", "markersize": 4} if len(line.time) == 1 else {}
        drawn += ax.plot(line.time, line.values, **look)
    return drawn


def legend(ax: Any, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """The names to the right of the axes, as many as there is room for."""
    if len(labels) == 0:
        return
    shown = [cut(label.strip(), LONGEST) or "?" for label in labels[:MOST_LABELS]]
    shown = [f" {label}" if label.startswith("_") else label for label in shown]  # hidden otherwise
    columns = -(-len(shown) // LABELS_IN_COLUMN)
    more = len(labels) - len(shown)
    look: dict[str, Any] = {"frameon": False, "fontsize": 8, "labelcolor": INK, "handlelength": 1.6}
    made = ax.legend(
        handles[: len(shown)], shown, loc="upper left", bbox_to_anchor=(1.01, 1.0), ncols=columns,
        borderaxespad=0.0, columnspacing=1.0, title=f"first {len(shown)} of {len(labels)}" if more else None,
        title_fontsize=8, **look,
    )  # fmt: skip
    for text in made.get_texts():
        text.set_parse_math(False)


def seen_events(events: Sequence[Event]) -> Sequence[Event]:
    """Events that a picture can show: the first of each moment if there are too many.

    >>> len(seen_events([Event(1e-6 * k, "touch_down", "toe") for k in range(10_000)])) <= MOST_EVENTS
    True
    """
    if len(events) <= MOST_EVENTS:
        return events
    time = np.array([event.time for event in events])
    span = float(time.max() - time.min()) or 1.0
    moments = np.minimum((time - time.min()) / span * MOST_EVENTS, MOST_EVENTS - 1).astype(int)
    return [events[k] for k in np.sort(np.unique(moments, return_index=True)[1]).tolist()]


def draw_events(ax: Any, events: Sequence[tuple[float, str]], *, named: bool) -> None:
    """Thin vertical lines at the times (s), paler where there are many; with the names on top if wanted.

    Where names would cover one another, only the first is written.
    """
    opacity = 0.45 * min(1.0, FEW_EVENTS / max(len(events), 1))
    first, last = ax.get_xlim()
    written = -np.inf
    for time, name in events:
        ax.axvline(time, color=INK, linewidth=0.6, alpha=opacity, zorder=0.5, gid="event")
        if named and time - written >= LETTER * (last - first):
            written = time
            side = "left" if time < first + AT_AXIS * (last - first) else "right"
            ax.text(
                time, 0.98, f" {name}", transform=ax.get_xaxis_transform(), rotation=90, va="top", ha=side,
                fontsize=6.5, color=INK, alpha=0.8, parse_math=False,
            )  # fmt: skip


def stacked_axes(n: int, head: str, *, show: bool) -> tuple[Figure, list[Any]]:
    """A figure with n axes, one above the other over the same time, and a headline."""
    size = (9.0, 0.6 + 1.9 * n)
    if show:
        from matplotlib import pyplot

        figure: Figure = pyplot.figure(figsize=size, layout="constrained")
    else:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
    figure.suptitle(head, x=0.02, ha="left", color=INK, fontsize=12, fontweight="bold", parse_math=False)
    axes = figure.subplots(n, 1, squeeze=False, sharex=True)[:, 0].tolist()
    return figure, axes
