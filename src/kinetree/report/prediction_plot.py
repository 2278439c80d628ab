"""Pictures of a predicted motion: profiles within their limits, prices of the limits, joint forces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, listed, unknown_name
from kinetree.model.mechanism import Mechanism
from kinetree.motion.outcome.active import ActiveBound
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.problem.reaction_axes import reaction_body
from kinetree.motion.terms.contract import Rows, SampleChanges
from kinetree.motion.terms.force import UnknownForce
from kinetree.report.palette import LINE_COLORS
from kinetree.report.panel import Line, Panel, draw_panel, stacked_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROFILES = {  # title, family of the limits, units of revolute and prismatic joints
    "q": ("position", "joint limit", ("rad", "m")),
    "qd": ("velocity", "velocity limit", ("rad/s", "m/s")),
    "tau": ("torque or force of the joints' actuators", "torque limit", ("N m", "N")),
}
PARTS = (*PROFILES, "sought", "price", "force")
USUAL = ("q", "tau", "sought", "price", "force")
STEPS = 16  # of the curve of a price
FORCE_LIMIT, FORCE_LABELS = "joint reaction limit", ("force on ", "force in ")
LIMIT: dict[str, Any] = {"linestyle": (0, (5, 3)), "linewidth": 0.9, "alpha": 0.8, "gid": "limit"}
REACHED: dict[str, Any] = {"alpha": 0.13, "linewidth": 0.0, "gid": "reached"}
Bounds = dict[str, tuple[float, float]]


def plot_prediction(prediction: Prediction, *parts: str, show: bool = False) -> Figure:
    """Plot a predicted motion and return the matplotlib figure; see :meth:`Prediction.plot`.

    Limits are dashed, and shaded where they are reached: the upper half for an upper limit, the lower for a
    lower one. A price is what the objective falls by per unit of the limit and per second for which it is
    loosened, so the area below the curve is the price of the whole limit. Forces
    are norms of the forces in the joints of the bodies ([Barman2020], figures 4.3 and 4.6).

    >>> import kinetree as kt
    >>> ends = [kt.terms.Boundary("start", [0, 0], 0.0), kt.terms.Boundary("end", [1, 1], 0.0)]
    >>> constraints = [*ends, kt.terms.TorqueLimits()]
    >>> problem = kt.Problem(kt.zoo.two_link(), objective=kt.terms.Time(), constraints=constraints)
    >>> [ax.get_ylabel() for ax in plot_prediction(kt.predict(problem), "q", "tau").axes]
    ['q / rad', 'tau / (N m)']
    """
    for part in parts:
        if part not in PARTS:
            raise InputError(unknown_name("part of a prediction", part, PARTS))
    panels = [x for part in parts or USUAL for x in _panels(prediction, part)]
    if not panels:
        raise InputError(
            f"nothing to plot in {listed(parts)}: no limit is active, so there are no prices, and the motion "
            f"is the only unknown"
        )
    figure, axes = stacked_axes(len(panels), _head(prediction), show=show)
    for ax, (panel, bounds, family) in zip(axes, panels, strict=True):
        draw_panel(ax, panel)
        _draw_bounds(ax, prediction, panel, bounds, family)
        ax.set_xlim(0.0, prediction.duration)
        if ax is not axes[-1]:
            ax.set_xlabel("")
    if show:
        from matplotlib import pyplot

        pyplot.show()
    return figure


def _panels(prediction: Prediction, part: str) -> Iterator[tuple[Panel, Bounds, str]]:
    """What is drawn, the limits beside it, and the family that they belong to."""
    if part == "price":
        yield from ((panel, {}, "") for panel in _prices(prediction))
    elif part == "sought":
        yield from _sought(prediction)
    elif part == "force":
        size = np.linalg.norm(prediction.reaction[..., :3], axis=-1)
        mechanism = prediction.problem.mechanism
        lines = _lines([link.joint.name for link in mechanism.links], prediction.t, size)
        panel = Panel("magnitude of the force in each joint", "force", "N", lines)
        found = _bounds(prediction, FORCE_LIMIT).items()
        bounds = {_line_of(mechanism, x): y for x, y in found if x.startswith(FORCE_LABELS)}
        yield panel, bounds, FORCE_LIMIT
    else:
        yield from _profiles(prediction, part)


def _line_of(mechanism: Mechanism, label: str) -> str:
    """The line that a limit belongs to: that of its label, or of the joint whose force it limits."""
    if not label.startswith(FORCE_LABELS):
        return label
    body = reaction_body(mechanism, label[len(FORCE_LABELS[0]) :])
    return mechanism.link(body).joint.name if body in mechanism.body_names else body


def _profiles(prediction: Prediction, part: str) -> Iterator[tuple[Panel, Bounds, str]]:
    """Positions, velocities or torques: one panel for revolute joints, one for prismatic ones."""
    title, family, kinds = PROFILES[part]
    setting = prediction.problem.setting
    values, names = getattr(prediction, part), setting.mechanism.joint_names
    units = setting.units(range(len(names)), *kinds)
    bounds = _bounds(prediction, family)
    for unit in dict.fromkeys(units):
        here = [j for j, other in enumerate(units) if other == unit]
        lines = _lines([names[j] for j in here], prediction.t, values[:, here])
        yield Panel(title, part, unit, lines), bounds, family


def _sought(prediction: Prediction) -> Iterator[tuple[Panel, Bounds, str]]:
    """What is sought beside the motion, such as forces: one panel for each."""
    family = UnknownForce.family
    for curve in prediction.problem.setting.unknowns.curves:
        name = curve.name.partition(":")[2]
        labels = [f"{component} of {name}" for component in curve.labels]
        lines = _lines(labels, prediction.t, prediction.curves[curve.name])
        yield Panel(curve.meaning, curve.variable, curve.unit, lines), _bounds(prediction, family), family


def _lines(names: Any, t: Array, values: Array) -> list[Line]:
    return [Line(name, t, values[:, k]) for k, name in enumerate(names)]


def _bounds(prediction: Prediction, family: str) -> Bounds:
    """Lower and upper limit of every label, where they are the same all the time."""
    found: Bounds = {}
    for rows in prediction.problem.bounded:
        if rows.family != family or isinstance(rows, SampleChanges):
            continue
        if isinstance(rows, Rows) and (np.ndim(rows.lower) > 1 or np.ndim(rows.upper) > 1):
            continue
        low, high = np.ravel(rows.lower), np.ravel(rows.upper)
        for k, label in enumerate(rows.labels):
            before = found.get(label, (-np.inf, np.inf))
            found[label] = max(before[0], float(low[k])), min(before[1], float(high[k]))
    return found


def _prices(prediction: Prediction) -> Iterator[Panel]:
    """What loosening the limits is worth over time; one panel for each unit."""
    costly = [bound for bound in prediction.active if bound.price and len(bound.grid) > 1]
    for unit in dict.fromkeys(bound.unit for bound in costly):
        lines = [_price(bound) for bound in costly if bound.unit == unit]
        title = "shadow price: decrease of the objective per unit and second of a relaxed limit"
        yield Panel(title, "price", f"1/({unit} s)", lines)


def _price(bound: ActiveBound) -> Line:
    """Steps of equal width: neighboring samples share a price at will, only their sum has a meaning."""
    grid, price = np.array(bound.grid), np.zeros(len(bound.grid))
    price[np.searchsorted(grid, bound.times)] = np.negative(bound.prices)
    cells = np.concatenate([grid[:1], (grid[1:] + grid[:-1]) / 2.0, grid[-1:]])
    edges = np.linspace(grid[0], grid[-1], STEPS + 1)
    height = np.diff(np.interp(edges, cells, np.append(0.0, np.cumsum(price)))) / np.diff(edges)
    return Line(f"{bound.label}, {bound.side}", np.repeat(edges, 2)[1:-1], np.repeat(height, 2))


def _draw_bounds(ax: Any, prediction: Prediction, panel: Panel, bounds: Bounds, family: str) -> None:
    """Dashed limits that are in sight, and shades where they are reached."""
    shown = np.concatenate([line.values for line in panel.lines])
    room, mechanism = 0.6 * max(float(np.ptp(shown)), 1e-9), prediction.problem.mechanism
    for k, line in enumerate(panel.lines):
        color = LINE_COLORS[k % len(LINE_COLORS)]
        for bound in bounds.get(line.label, ()):
            if shown.min() - room <= bound <= shown.max() + room:
                ax.axhline(bound, color=color, **LIMIT)
        for active in prediction.active:
            if active.family == family and _line_of(mechanism, active.label) == line.label:
                half = (0.5, 1.0) if active.side == "upper" else (0.0, 0.5)
                for first, last in active.intervals:
                    ax.axvspan(first, last, *half, color=color, **REACHED)


def _head(prediction: Prediction) -> str:
    word = prediction.word
    return f"{prediction.problem.mechanism.name}: {word}, {prediction.duration:.4g} s"
