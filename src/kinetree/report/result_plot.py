"""Plots of a result over time, and of two results in the same axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinetree.errors import InputError, listed, must_be, unknown_name
from kinetree.report import drive_plot
from kinetree.report.limit_lines import limit_lines
from kinetree.report.palette import INK
from kinetree.report.panel import (
    MOST_LABELS,
    Key,
    Line,
    Panel,
    draw_events,
    draw_lines,
    draw_panel,
    is_missing,
    is_zero,
    missing_note,
    seen_events,
    stacked_axes,
    zero_note,
)
from kinetree.result.result import Result
from kinetree.result.table import columns_of
from kinetree.result.variables import AT_JOINT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOTION = {"simulate": ("q", "qd", "tau")}
OTHER_MOTION = ("q", "qd", "qdd", "tau")
ENERGIES = ("kinetic_energy", "potential_energy")
WORKS = ("actuator_work", "ground_work", "joint_work", "external_work")
ERROR = "q_error"
ON_GROUND = ("ground_force", "contact_force", "penetration", "slip_velocity", "touching")
MOST_NAMED_EVENTS = 12
BELOW: dict[str, Any] = {"linewidth": 4.0, "alpha": 0.4, "zorder": 2.0}  # the first of two results
ABOVE: dict[str, Any] = {"linewidth": 1.2, "zorder": 3.0}


def plot_result(
    result: Result,
    *names: str,
    joints: Sequence[str] | None = None,
    bodies: Sequence[str] | None = None,
    ax: Any = None,
    show: bool = False,
    kind: str | None = None,
) -> Figure:
    """Plot variables over time and return the matplotlib figure; see :meth:`Result.plot`.

    Without names: positions, errors relative to a reference, velocities, torques, energies and the error of
    their balance, contact forces, as far as there are and are not zero throughout. Quantities with different
    units have panels of their own; events are thin lines.

    >>> import kinetree as kt
    >>> from kinetree.result.build import build_result
    >>> motion = {"time": [0, 1], "q": [[0, 0], [1, 2]], "qd": [[1, 2], [1, 2]]}
    >>> figure = plot_result(build_result("simulate", kt.zoo.two_link(), motion))
    >>> [ax.get_ylabel() for ax in figure.axes]
    ['q / rad', 'qd / (rad/s)']
    """
    if result.task == "sweep":
        from kinetree.report.sweep_plot import plot_sweep

        return plot_sweep(result, *names, kind=kind, show=show)
    if kind == drive_plot.KIND:
        if names or ax is not None:
            raise InputError(f"kind '{kind}' has variables and axes of its own; give joints alone")
        return drive_plot.plot_drives(result, joints, show)
    if kind is not None:
        raise InputError(must_be("kind", f"'{drive_plot.KIND}' for the task '{result.task}'", kind))
    panels = result_panels(result, names, joints, bodies)
    if ax is not None:
        return _into(ax, result, panels)
    drawn = [panel for panel in panels if names or not is_zero(panel.lines)] or panels
    figure, axes = stacked_axes(len(drawn), _head(result), show=show)
    for panel, own in zip(drawn, axes, strict=True):
        draw_panel(own, panel)
    _finish(axes, [result])
    _note(figure, [panel for panel in panels if panel not in drawn])
    if show:
        _show()
    return figure


def plot_comparison(
    first: Result,
    second: Result,
    names: Sequence[str] = (),
    *,
    labels: tuple[str, str] = ("first", "second"),
    joints: Sequence[str] | None = None,
    bodies: Sequence[str] | None = None,
    show: bool = False,
) -> Figure:
    """Plot the variables of two results in the same axes: the first as broad, the second as thin lines.

    >>> import kinetree as kt
    >>> from kinetree.result.build import build_result
    >>> motion = {"time": [0, 1], "q": [[0, 0], [1, 2]], "qd": [[1, 2], [1, 2]]}
    >>> run = build_result("simulate", kt.zoo.two_link(), motion)
    >>> len(plot_comparison(run, run, ["q"]).axes)
    1
    """
    mine, theirs = (result_panels(x, names, joints, bodies) for x in (first, second))
    if names and [_key(panel) for panel in mine] != [_key(panel) for panel in theirs]:
        raise InputError(
            f"two results can be compared if {listed(names)} have the same labels and units in both, "
            f"got {_labels(mine)} and {_labels(theirs)}"
        )
    others = {_key(panel): panel for panel in theirs}
    common = [(panel, others[_key(panel)]) for panel in mine if _key(panel) in others]
    if not common:
        raise InputError(f"the results have nothing in common: {_labels(mine)} and {_labels(theirs)}")
    pairs = [(a, b) for a, b in common if names or not is_zero([*a.lines, *b.lines])] or common
    head = f"{first.mechanism.name}: {labels[0]} (broad) and {labels[1]} (thin)"
    figure, axes = stacked_axes(len(pairs), head, show=show)
    for (a, b), ax in zip(pairs, axes, strict=True):
        draw_panel(ax, a, **BELOW)
        draw_lines(ax, b.lines, **ABOVE)
    _finish(axes, [first, second])
    _note(figure, [a for a, b in common if (a, b) not in pairs])
    if show:
        _show()
    return figure


# ---- what is drawn --------------------------------------------------------------------------------------


def result_panels(
    result: Result,
    names: Sequence[str] = (),
    joints: Sequence[str] | None = None,
    bodies: Sequence[str] | None = None,
) -> list[Panel]:
    """One panel for each variable and unit, or those of the usual picture."""
    chosen = _chosen(result, joints, bodies)
    for name in names:
        if name not in drawn_names(result):
            raise InputError(unknown_name(f"variable of the {result.task} result", name, drawn_names(result)))
    panels = [panel for name in names for panel in _variable_panels(result, name, chosen)]
    panels = panels if names else _default_panels(result, chosen)
    if not panels:
        raise InputError(f"nothing to plot over time; the result has {listed(result.variables)}")
    return panels


def drawn_names(result: Result) -> tuple[str, ...]:
    """Variables of a result, and the error of positions where there are reference positions."""
    follows = "q_reference" in result.variables and ERROR not in result.variables
    return (*result.variables, ERROR) if follows else result.variables


class _Chosen(NamedTuple):
    """Degrees of freedom, bodies, contact points and whole joints to draw; None for all."""

    joint: list[str] | None
    body: list[str] | None
    contact: list[str] | None
    at_joint: list[str] | None


def _chosen(result: Result, joints: Sequence[str] | None, bodies: Sequence[str] | None) -> _Chosen:
    """The choice, checked; joints also choose the bodies that they lead to, for what these transmit."""
    for what, given in (("joints", joints), ("bodies", bodies)):
        if isinstance(given, str):
            raise InputError(f"{what} must be a list of names, got the text '{given}'")
    robot = result.mechanism
    wanted = None if joints is None else [dof for joint in joints for dof in _dofs(result, joint)]
    for body in bodies or ():
        if body not in robot.body_names:
            raise InputError(unknown_name("body", body, robot.body_names))
    if bodies is not None:
        points = [point.name for point in robot.contact_points if point.body in bodies]
        return _Chosen(wanted, list(bodies), points, None)
    if wanted is not None:
        led_to = [x.body.name for x in robot.links if {*wanted} & {*x.joint.dof_names}]
        named = result[AT_JOINT].values.tolist() if AT_JOINT in result else []
        whole = [x for x in named if x in {dof.partition(".")[0] for dof in wanted}]
        return _Chosen(wanted, list(dict.fromkeys(led_to)), None, whole)
    return _Chosen(None, None, None, None)


def _dofs(result: Result, joint: str) -> list[str]:
    """A degree of freedom by its name, or all of a joint by the joint's."""
    robot = result.mechanism
    own = [dof for dof in robot.joint_names if dof.partition(".")[0] == joint]
    if joint in robot.joint_names or not own:
        robot.joint_index(joint)
        return [joint]
    return own


def _default_panels(result: Result, chosen: _Chosen) -> list[Panel]:
    motion = [name for name in MOTION.get(result.task, OTHER_MOTION) if name in result]
    panels = []
    for name in motion:
        panels += _variable_panels(result, name, chosen)
        follows = name == "q" and ERROR in drawn_names(result) and ERROR not in result
        panels += _variable_panels(result, ERROR, chosen) if follows else []
    panels += _energy_panel(result)
    if "energy_error" in result:
        panels += _variable_panels(result, "energy_error", chosen)
    panels += _contact_panel(result, chosen)
    if panels:
        return panels
    others = [name for name in result.variables if _plottable(result[name])]
    return [panel for name in others for panel in _variable_panels(result, name, chosen)]


def _plottable(array: Any) -> bool:
    return "time" in array.dims and array.dtype.kind in "fib"


def _variable_panels(result: Result, name: str, chosen: _Chosen) -> list[Panel]:
    """The lines of a variable, grouped by their units."""
    array = _error(result) if name == ERROR and ERROR not in result else result[name]
    if not _plottable(array):
        raise InputError(f"'{name}' ({listed(array.dims)}) is not a number over time and cannot be plotted")
    return _array_panels(result, name, array, chosen)


def _error(result: Result) -> Any:
    """Distance of the joints from the reference motion, labeled as positions are."""
    array = result["q"].copy(data=result["q"].values - result["q_reference"].values)
    array.attrs["long_name"] = "position minus reference position"
    return array


def _array_panels(result: Result, name: str, array: Any, chosen: _Chosen) -> list[Panel]:
    """The lines of an array: colors for joints, bodies, ..., dashes for cases or for the axes of vectors."""
    for dim, labels in chosen._asdict().items():
        if labels is not None and dim in array.dims:
            array = array.sel({dim: labels})
    if not array.size:
        if AT_JOINT in array.dims:
            choices = f"joints: {listed(result[AT_JOINT].values.tolist())}"
        else:
            bodies = dict.fromkeys(point.body for point in result.mechanism.contact_points)
            choices = f"bodies with contact points: {listed(bodies)}"
        raise InputError(f"'{name}' has nothing for what is chosen; {choices}")
    time = result.dataset["time"].values
    columns = columns_of(name, array)
    inner = [len(array[dim]) for dim in array.dims if dim != "time"]
    several, vectors = array.dims[0] != "time", array.dims[-1] in ("axis", "component")
    groups: dict[str, list[Line]] = {}
    for k, (column, (values, unit)) in enumerate(columns.items()):
        look = None
        if several and len(inner) > 1:
            look = divmod(k, len(columns) // inner[0])[::-1]
        elif vectors and len(inner) == 2:
            look = divmod(k, inner[1])
        groups.setdefault(unit, []).append(Line(column.removeprefix(f"{name}."), time, values, look))
    if name in ON_GROUND:  # most bodies and points never touch it
        groups = {unit: [x for x in lines if not is_zero([x])] or lines for unit, lines in groups.items()}
    if len(groups) > 1:  # such as the forces of a base that nothing drives
        groups = {unit: lines for unit, lines in groups.items() if not is_zero(lines)} or groups
    title, cases = array.attrs["long_name"], array[array.dims[0]].values.tolist() if several else []
    return [
        Panel(title, name, unit, lines, limit_lines(result.mechanism, name, lines), _keys(lines, cases))
        for unit, lines in groups.items()
    ]


def _keys(lines: Sequence[Line], cases: Sequence[str]) -> list[Key]:
    """A legend with a color for each joint, body, ... and dashes for each case, instead of all pairs."""
    pairs = [(line.label, *line.look) for line in lines if line.look is not None]
    if not cases or not pairs:
        return []
    first = min(dash for _, _, dash in pairs)
    own = [Key(label.removeprefix(f"{cases[dash]}."), hue, 0) for label, hue, dash in pairs if dash == first]
    return [*(Key(str(case), None, k) for k, case in enumerate(cases)), *own]


def _energy_panel(result: Result) -> list[Panel]:
    """Energies gained and work done since the start."""
    time = result.dataset["time"].values
    lines = []
    for name in (*ENERGIES, *WORKS):
        if name in result and result[name].dims == ("time",):
            values = result[name].values
            lines.append(
                Line(name.replace("_", " "), time, values - values[0] if name in ENERGIES else values)
            )
    return [Panel("energy gained and work done since the start", "energy", "J", lines)] if lines else []


def _contact_panel(result: Result, chosen: _Chosen) -> list[Panel]:
    """How large the forces on the contact points are that touch the ground at all; of many, on the bodies."""
    if "contact_force" not in result or result["contact_force"].dims != ("time", "contact", "axis"):
        return []
    force, points = result["contact_force"], {x.name: x.body for x in result.mechanism.contact_points}
    names = [str(x) for x in force["contact"].values if chosen.contact is None or x in chosen.contact]
    touched = [x for x in names if force.sel(contact=x).values.any()] or names
    what, owners = "contact point", {x: [x] for x in touched}
    if len(touched) > MOST_LABELS:
        what, owners = "body", {}
        for x in touched:
            owners.setdefault(points[x], []).append(x)
    time = result.dataset["time"].values
    lines = [
        Line(name, time, np.linalg.norm(force.sel(contact=own).values.sum(axis=1), axis=-1))
        for name, own in owners.items()
    ]
    return [Panel(f"magnitude of the ground force on each {what}", "contact force", "N", lines)]


def _key(panel: Panel) -> tuple[str, ...]:
    return panel.symbol, panel.unit, *(line.label for line in panel.lines)


def _labels(panels: Sequence[Panel]) -> str:
    return listed(f"{panel.symbol} of {line.label}" for panel in panels for line in panel.lines)


# ---- where it is drawn ----------------------------------------------------------------------------------


def _into(ax: Any, result: Result, panels: list[Panel]) -> Figure:
    """One panel into given axes."""
    if len(panels) != 1:
        stated = listed(f"{panel.symbol} / {panel.unit}" for panel in panels)
        raise InputError(f"ax takes one panel, but {len(panels)} are needed: {stated}; name one variable")
    if not hasattr(ax, "axvline"):
        raise InputError(must_be("ax", "matplotlib axes", ax))
    draw_panel(ax, panels[0])
    _finish([ax], [result])
    figure: Figure = ax.figure
    return figure


def _finish(axes: list[Any], results: Sequence[Result]) -> None:
    """Events, the span of time, and its label below the last axes only."""
    happened = seen_events([event for result in results for event in result.events])
    events = [(event.time, f"{event.kind} {event.name}") for event in happened]
    times = [result.dataset["time"].values for result in results]
    start, end = min(time[0] for time in times), max(time[-1] for time in times)
    for k, ax in enumerate(axes):
        if start < end:
            ax.set_xlim(start, end)
        draw_events(ax, events, named=k == 0 and len(events) <= MOST_NAMED_EVENTS)
        if k < len(axes) - 1:
            ax.set_xlabel("")


def _note(figure: Figure, left_out: Sequence[Panel]) -> None:
    """Say below the axes what was left out for being zero."""
    missing = [panel for panel in left_out if is_missing(panel.lines)]
    zero = [panel for panel in left_out if panel not in missing]
    notes = missing_note(x.symbol for x in missing), zero_note(x.symbol for x in zero)
    note = "; ".join(x for x in notes if x)
    if note:
        figure.supxlabel(note, x=0.02, ha="left", color=INK, fontsize=8, parse_math=False)


def _head(result: Result) -> str:
    stop = "" if result.complete else f", stopped at {result.stopped_at:g} s: {result.stop_reason}"
    return f"{result.mechanism.name}: {result.task}{stop}"


def _show() -> None:
    from matplotlib import pyplot

    pyplot.show()
