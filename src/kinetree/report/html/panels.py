"""Which curves a report shows, and for which of the motions of a result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.report.frames import leading_dimension
from kinetree.report.limit_lines import limit_lines
from kinetree.report.panel import Line, Panel, is_missing, is_zero, many_powers
from kinetree.report.result_plot import drawn_names, result_panels
from kinetree.result.result import Result
from kinetree.result.variables import AT_JOINT, NET_FORCE, NET_REACTION

MOST_NUMBERS = 160_000  # in all curves
MOST_SAMPLES, FEWEST_SAMPLES = 1000, 60  # of one curve
LIMITED = {"joint limit": "q", "velocity limit": "qd", "torque limit": "tau"}  # families of limits
IN_ONE_PANEL = ("kinetic_energy", "potential_energy")  # drawn together
ASKED_FOR = {  # drawn broad and pale behind what came of it
    "q": "q_reference",
    "qd": "qd_reference",
    "qdd": "qdd_reference",
    "simulated_power": "power",
    "dtau_dq": "dtau_dq_beside",
    "dtau_dqd": "dtau_dqd_beside",
    "dtau_dqdd": "dtau_dqdd_beside",
}
COMPONENTS = (("f_x", "N"), ("f_y", "N"), ("f_z", "N"), ("m_x", "N m"), ("m_y", "N m"), ("m_z", "N m"))
MOST_COMPONENTS = 24  # bodies whose reactions are drawn component by component
USUAL, PEAK, ROOM = 0.97, 4.0, 2.0  # share of the values that are no peaks; what is a peak; what is seen
NOISE = 1e-13  # beside the largest value of the variable
CUT = ("qdd", "tau", "contact force", "joint force", "joint_force", NET_FORCE, "q_error")  # without peaks
RUNAWAY = (*CUT, "q", "qd", "energy")  # and without motions that run away


class MotionLine(NamedTuple):
    """A curve, the number of the motion that it belongs to, and whether it is only what was asked for."""

    line: Line
    motion: int
    asked: bool = False


class CurvePanel(NamedTuple):
    """Curves in one pair of axes, the limits (label, value) that some of them reach, and what is seen first.

    ``window``: lowest and highest value that is seen unless all is asked for; None if there are no peaks.
    """

    title: str
    symbol: str
    unit: str
    lines: list[MotionLine]
    limits: Sequence[tuple[str, float]] = ()
    window: tuple[float, float] | None = None

    @property
    def logarithmic(self) -> bool:
        """Whether all is positive and spans many powers of ten, not only where it begins or ends."""
        return many_powers(np.concatenate([x.line.values for x in self.lines]))


def motion_result(result: Result, motion: int) -> Result:
    """The result of one of several motions: of a case, of a rollout."""
    dim = leading_dimension(result)
    return result if dim is None else replace(result, dataset=result.dataset.isel({dim: motion}, drop=True))


def report_panels(result: Result, motions: int) -> list[CurvePanel]:
    """What the study asks for first, then the usual curves, with those of all motions in the same axes.

    What is zero throughout is left out; see :func:`left_out`.
    """
    panels = [panel for panel in _all_panels(result, motions) if not _is_zero(panel)]
    most = MOST_NUMBERS // max(1, sum(len(panel.lines) for panel in panels))
    samples = int(np.clip(most, FEWEST_SAMPLES, MOST_SAMPLES))
    return [
        panel._replace(
            lines=[x._replace(line=thinned(x.line, samples)) for x in panel.lines],
            limits=_limits(result, panel),
            window=_window(panel),
        )
        for panel in panels
    ]


def left_out(result: Result, motions: int) -> tuple[list[str], list[str]]:
    """The symbols of all panels that are zero throughout, and of those that nothing determines."""
    gone = [panel for panel in _all_panels(result, motions, even_noise=True) if _is_zero(panel)]
    missing = [x.symbol for x in gone if is_missing([line.line for line in x.lines])]
    return [x.symbol for x in gone if x.symbol not in missing], missing


def _is_zero(panel: CurvePanel) -> bool:
    return is_zero([x.line for x in panel.lines])


def _without_noise(panels: list[CurvePanel]) -> list[CurvePanel]:
    """The panels but those of nothing but rounding beside the other units of the same variable."""
    size: dict[str, float] = {}
    for panel in panels:
        size[panel.symbol] = max(size.get(panel.symbol, 0.0), _largest(panel))
    return [x for x in panels if _is_zero(x) or _largest(x) > NOISE * size[x.symbol]]


def _largest(panel: CurvePanel) -> float:
    return max(
        (float(np.abs(np.nan_to_num(x.line.values)).max(initial=0.0)) for x in panel.lines), default=0.0
    )


def _all_panels(result: Result, motions: int, *, even_noise: bool = False) -> list[CurvePanel]:
    found: dict[tuple[str, str], CurvePanel] = {}
    for motion in range(max(1, motions)):
        own: dict[tuple[str, str], Panel] = {}
        for panel in _panels(motion_result(result, motion)):
            own.setdefault((panel.symbol, panel.unit), panel)
        for key, panel in own.items():
            kept = found.setdefault(key, CurvePanel(panel.title, *key, []))
            kept.lines.extend(MotionLine(line, motion) for line in panel.lines)
            kept.lines.extend(MotionLine(line, motion, True) for line in _asked_for(result, motion, panel))
    return list(found.values()) if even_noise else _without_noise(list(found.values()))


def _asked_for(result: Result, motion: int, panel: Panel) -> list[Line]:
    """What was asked for of the curves of a panel, under their names."""
    name = ASKED_FOR.get(panel.symbol, "")
    if not _over_time(result, name):
        return []
    wanted = result_panels(motion_result(result, motion), [name])
    same = next((x for x in wanted if x.unit == panel.unit and len(x.lines) == len(panel.lines)), None)
    if same is None:
        return []
    return [line._replace(label=own.label) for line, own in zip(same.lines, panel.lines, strict=True)]


def _window(panel: CurvePanel) -> tuple[float, float] | None:
    """The range without rare peaks, and without motions that run away: they would press all else flat."""
    own: dict[int, Array] = {}
    for x in panel.lines:
        known = x.line.values[np.isfinite(x.line.values)]
        own[x.motion] = np.concatenate([own.get(x.motion, np.zeros(0)), known])
    sizes = [np.abs(values) for values in own.values() if len(values)]
    if panel.logarithmic or not sizes or panel.symbol not in RUNAWAY:
        return None
    largest = sorted(float(size.max()) for size in sizes)
    peak, calm = largest[-1], largest[(len(largest) - 1) // 2]
    if panel.symbol in CUT:
        calm = min(calm, max(float(np.quantile(size, USUAL)) for size in sizes))
    if not peak > PEAK * calm > 0.0:
        return None
    seen = np.clip(np.concatenate(list(own.values())), -ROOM * calm, ROOM * calm)
    return float(seen.min()), float(seen.max())


def _limits(result: Result, panel: CurvePanel) -> list[tuple[str, float]]:
    """The limits that a predicted motion reaches, and those of the model that a motion comes near."""
    reached, labels = result.statistics.get("reached"), {x.line.label for x in panel.lines}
    if not isinstance(reached, list):
        own = [x.line for x in panel.lines if not x.asked]
        return limit_lines(result.mechanism, panel.symbol, own)
    entries = reached
    return [
        (str(entry["label"]), float(entry["bound"]))
        for entry in entries
        if LIMITED.get(str(entry.get("family"))) == panel.symbol
        and entry.get("label") in labels
        and isinstance(entry.get("bound"), int | float)
    ]


def thinned(line: Line, most: int) -> Line:
    """A curve of at most so many samples (a few more than given) that keeps its peaks.

    Of every stretch the lowest and the highest value stay.

    >>> time = np.arange(1001.0)
    >>> short = thinned(Line("x", time, np.where(time == 500, 7.0, 0.0)), 100)
    >>> len(short.time) <= 102, float(short.values.max())
    (True, 7.0)
    """
    count = len(line.time)
    if count <= most:
        return line
    edges = np.linspace(0, count, most // 2 + 1).astype(int)
    rows = {0, count - 1}
    for low, high in pairwise(edges.tolist()):
        stretch = line.values[low:high]
        if np.isfinite(stretch).any():
            rows |= {low + int(np.nanargmin(stretch)), low + int(np.nanargmax(stretch))}
        else:
            rows.add(int(low))
    kept = sorted(rows)
    return Line(line.label, line.time[kept], line.values[kept])


def _panels(result: Result) -> Iterator[Panel]:
    """The panels of one motion."""
    asked = [name for name in _asked(result) if _over_time(result, name) and name not in IN_ONE_PANEL]
    if asked:
        yield from result_panels(result, asked)
    yield from _usual(result)
    yield from _feet(result)
    yield from _reactions(result)
    if result.task == "stability":
        shown = {*asked, *(behind for name, behind in ASKED_FOR.items() if name in result)}
        rest = [name for name in result.variables if _over_time(result, name) and name not in shown]
        yield from result_panels(result, rest)


def _usual(result: Result) -> list[Panel]:
    names = [name for name in result.variables if _over_time(result, name)]
    return [] if not names else [x for x in result_panels(result) if len(x.lines)]


def _asked(result: Result) -> Sequence[str]:
    """Variables that the study file wants to see."""
    names = result.settings.get("study", {}).get("file", {}).get("plot", {}).get("variables") or ()
    return [names] if isinstance(names, str) else [str(name) for name in names]


def _over_time(result: Result, name: str) -> bool:
    if name not in result.variables:
        return name in drawn_names(result)
    return "time" in result[name].dims and result[name].dtype.kind in "fib"


def _feet(result: Result) -> Iterator[Panel]:
    """The ground's forces on the feet of a walking human, unless the study asks for them anyway."""
    name = "ground_reaction"
    if not _over_time(result, name) or result[name].dims != ("time", "foot", "axis"):
        return
    if name not in _asked(result):
        yield from result_panels(result, [name])


def _magnitude(force: Array) -> tuple[Array, bool]:
    """Magnitudes (...) of vectors (..., 3), and whether all components are determined."""
    size: Array = np.linalg.norm(np.nan_to_num(force), axis=-1)
    size[np.isnan(force).all(axis=-1)] = np.nan
    return size, not np.isnan(force).any()


def _loop_forces(result: Result) -> Iterator[Panel]:
    """How large the forces and moments in the joints are where loops were cut."""
    if not _over_time(result, "loop_force") or result["loop_force"].dims != ("time", "loop", "component"):
        return
    names = result["loop"].values.tolist()
    for first, what, unit in ((0, "force", "N"), (3, "moment", "N m")):
        size, all_known = _magnitude(result["loop_force"].values[..., first : first + 3])
        part = "" if all_known else ", of the components that are determined"
        lines = [Line(str(name), result.time.values, size[:, k]) for k, name in enumerate(names)]
        yield Panel(f"magnitude of the {what} in each cut joint{part}", f"loop {what}", unit, lines)


def _reactions(result: Result) -> Iterator[Panel]:
    """How large the forces in the joints are, and their components."""
    if _over_time(result, NET_FORCE):
        yield from result_panels(result, [NET_FORCE])
        yield from _components(
            result, NET_REACTION, AT_JOINT, "net {} of the proximal on the distal body, in world axes"
        )
        return
    if _over_time(result, "joint_force"):
        yield from result_panels(result, ["joint_force"])
    if "reaction" not in result or result["reaction"].dims != ("time", "body", "component"):
        return
    names = result["body"].values.tolist()
    if "joint_force" not in result:
        size, all_known = _magnitude(result["reaction"].values[..., :3])
        lines = [Line(name, result.time.values, size[:, k]) for k, name in enumerate(names)]
        part = "" if all_known else ", of the components that are determined"
        yield Panel(f"magnitude of the force in the joint of each body{part}", "joint force", "N", lines)
    yield from _loop_forces(result)
    yield from _components(result, "reaction", "body", "{} of the parent on each body, in its frame")


def _components(result: Result, name: str, dim: str, title: str) -> Iterator[Panel]:
    """Forces and moments component by component, unless there are too many joints."""
    names, values = result[dim].values.tolist(), result[name].values
    if len(names) > MOST_COMPONENTS:
        return
    for k, (component, unit) in enumerate(COMPONENTS):
        own = [Line(label, result.time.values, values[:, j, k]) for j, label in enumerate(names)]
        yield Panel(title.format("force" if unit == "N" else "moment"), component, unit, own)
