"""Plots beside the scene, with a line at the time that the scene shows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.report.palette import ALERT, GROUND, INK, LINE_COLORS
from kinetree.report.panel import is_missing, is_zero, missing_note, zero_note
from kinetree.result.result import Result
from kinetree.result.table import columns_of
from kinetree.viewer.words import paragraph, short

MOST_CURVES = 24
MOST_SAMPLES = 1000
HEIGHT = 260  # pixels
AIR = 0.05  # above and below the curves
FIRST = ("q", "tau", "kinetic_energy", "qd")


class ShownCurve(NamedTuple):
    """Values (k,) over the result's time, with a name."""

    label: str
    values: Array


def curve_groups(result: Result) -> dict[str, list[ShownCurve]]:
    """Curves by title: the variable, the label of what it belongs to if it has several, and the unit.

    Groups that are zero throughout are among them; see :func:`split_zero`.

    >>> import kinetree as kt
    >>> fall = kt.simulate(kt.zoo.gripper(), [-1, 0, 0, 0], duration=0.1, times=3)
    >>> list(curve_groups(fall))[:3]
    ['q [rad]', 'tau [N m]', 'kinetic_energy [J]']
    """
    names = [name for name in result.variables if "time" in result[name].dims]
    names = [name for name in names if result[name].dtype.kind in "fib"]
    names.sort(key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))
    groups: dict[str, list[ShownCurve]] = {}
    for name in names:
        for owner, label, values, unit in _labeled(result, name):
            title = f"{name} {owner}".strip() + (f" [{unit}]" if unit not in ("", "1") else "")
            groups.setdefault(title, []).append(ShownCurve(label, values))
    return groups


def split_zero(groups: dict[str, list[ShownCurve]]) -> tuple[dict[str, list[ShownCurve]], str]:
    """The groups that are worth a look, all if none is, and a note on those left out.

    Left out is what is zero throughout, and what nothing determines.
    """
    gone = [title for title, curves in groups.items() if is_zero(curves)]
    if len(gone) == len(groups):
        return groups, ""
    missing = [title for title in gone if is_missing(groups[title])]
    notes = missing_note(missing), zero_note(title for title in gone if title not in missing)
    kept = {title: curves for title, curves in groups.items() if title not in gone}
    return kept, ". ".join(note for note in notes if note)


def telling(groups: dict[str, list[ShownCurve]], most: int = 2) -> list[str]:
    """The titles of the groups to show at first: the largest one of each variable."""
    best: dict[str, str] = {}
    for title, curves in groups.items():
        name = title.split()[0]
        if name not in best or len(curves) > len(groups[best[name]]):
            best[name] = title
    return list(best.values())[:most]


def _labeled(result: Result, name: str) -> list[tuple[str, str, Array, str]]:
    """Owner, label, values and unit of every column; the owner is the first of several labels."""
    array = result[name]
    dims = [str(dim) for dim in array.dims if dim != "time"]
    labels = [[str(x) for x in array[dim].values.tolist()] for dim in dims]
    found = []
    shape = [len(x) for x in labels]
    for place, (values, unit) in zip(np.ndindex(*shape), columns_of(name, array).values(), strict=True):
        path = [labels[k][j] for k, j in enumerate(place)]
        owner = path[0] if len(path) > 1 else ""
        label = " ".join(path[1:] if len(path) > 1 else path) or name
        found.append((owner, label, np.asarray(values, dtype=np.float64), unit))
    return found


def thousands(largest: float) -> int:
    """The power of ten to divide by so that numbers up to the largest have few digits.

    >>> thousands(3.2e-7), thousands(250.0), thousands(4e6)
    (-9, 0, 6)
    """
    if largest == 0.0 or 1e-2 <= largest < 1e5:
        return 0
    return 3 * int(np.floor(np.log10(largest) / 3.0))


class PlotPanel:
    """Two plots of a result's variables, each chosen by the user."""

    def __init__(self, gui: Any, result: Result) -> None:
        groups, note = split_zero(curve_groups(result))
        time = result.time.values
        rows = np.unique(np.linspace(0, len(time) - 1, min(len(time), MOST_SAMPLES)).astype(int))
        self.plots = [
            Plot(gui, groups, time[rows], rows, title, f"Plot {k + 1}")
            for k, title in enumerate(telling(groups))
        ]
        self.note = gui.add_html(paragraph(note, faint=True)) if note else None

    def show_time(self, t: float) -> None:
        """Put the line at a time (s)."""
        for plot in self.plots:
            plot.show_time(t)


class Plot:
    """One group of curves with a choice of which."""

    def __init__(
        self,
        gui: Any,
        groups: dict[str, list[ShownCurve]],
        time: Array,
        rows: np.ndarray,
        title: str,
        name: str,
    ) -> None:
        self._gui, self._groups, self._time, self._rows = gui, groups, time, rows
        self._now = float(time[0])
        self.choice = gui.add_dropdown(name, tuple(groups), initial_value=title)
        self.choice.on_update(lambda event: self._choose())
        self._folder = gui.add_folder(None)
        self.chart: Any = None
        self._choose()

    def _choose(self) -> None:
        if self.choice.value not in self._groups:  # a page may send anything
            return
        curves = self._groups[self.choice.value][:MOST_CURVES]
        largest = max([float(np.nanmax(np.abs(x.values), initial=0.0)) for x in curves], default=0.0)
        self._power = thousands(largest)
        self._values = [curve.values[self._rows] / 10.0**self._power for curve in curves]
        finite = np.concatenate([values[np.isfinite(values)] for values in self._values] or [np.zeros(0)])
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
        room = AIR * (high - low) if high > low else max(1.0, abs(high))
        self._ends = (low - room, high + room)
        lines = [
            {"label": short(curve.label), "stroke": LINE_COLORS[k % len(LINE_COLORS)], "width": 1.5}
            for k, curve in enumerate(curves)
        ]
        series = ({"label": "time / s"}, *lines, {"label": "now", "stroke": ALERT, "width": 1})
        axis = {"stroke": INK, "grid": {"stroke": f"{GROUND}40", "width": 1}, "size": 34}
        label = {"label": f"times 1e{self._power}", "labelSize": 18} if self._power else {}
        before, self.chart = self.chart, None
        with self._folder:
            self.chart = self._gui.add_uplot(
                self._data(), series, height=HEIGHT,
                scales={"x": {"time": False}, "y": {"range": self._ends}},
                axes=(axis, {**axis, "size": 56, **label}), legend={"show": True, "live": False},
            )  # fmt: skip
        if before is not None:
            before.remove()

    def _data(self) -> tuple[Array, ...]:
        """Time, the curves, and a line that goes up and down at the present time, in three samples more."""
        t = min(max(self._now, float(self._time[0])), float(self._time[-1]))
        k = int(np.searchsorted(self._time, t, side="right"))
        low, high = self._ends
        line = np.full(len(self._time), low)
        between = [np.interp(t, self._time, values) for values in self._values]
        curves = [np.insert(v, k, [x, x, x]) for v, x in zip(self._values, between, strict=True)]
        return np.insert(self._time, k, [t, t, t]), *curves, np.insert(line, k, [low, high, low])

    def show_time(self, t: float) -> None:
        """Put the line at a time (s)."""
        if t != self._now:
            self._now = t
            self.chart.data = self._data()
