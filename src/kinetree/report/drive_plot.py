"""The picture that drives are chosen by: torque over speed of every driven joint, beside its limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, texts
from kinetree.report.limit_lines import model_limits
from kinetree.report.palette import ALERT, GROUND, INK, LINE_COLORS
from kinetree.report.panel import quiet_frame
from kinetree.result.result import Result
from kinetree.result.table import columns_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KIND = "torque_speed"
IN_ROW = 3  # axes beside one another
ROOM = 1.15  # of the largest value that is drawn
BEYOND = 1.01  # times a limit from which points are red: the margin of the verdicts on limits
FAR = 4.0  # times the largest value: limits beyond are left out of the picture, or its curve would be a dot


class Need(NamedTuple):
    """What a motion needs of the drive of a joint: torques (N m or N), speed (rad/s or m/s), power (W)."""

    peak: float
    rms: float  # of a motion that repeats: what heats the motor
    speed: float
    power: float  # the largest that goes into the joint


def drive_need(time: Array, speed: Array, torque: Array) -> Need:
    """Peak and root mean square of a torque (n,) over time (n,), largest speed and largest power.

    >>> drive_need(np.array([0.0, 1.0, 4.0]), np.array([0.0, 2.0, 0.0]), np.array([2.0, 2.0, -2.0]))
    Need(peak=2.0, rms=2.0, speed=2.0, power=4.0)
    """
    span = float(time[-1] - time[0])
    square = 0.5 * (torque[1:] ** 2 + torque[:-1] ** 2)
    mean = np.diff(time) @ square / span if span > 0.0 else np.mean(torque**2)
    peak, fastest = float(np.abs(torque).max()), float(np.abs(speed).max())
    return Need(peak, float(np.sqrt(mean)), fastest, float(max(0.0, (speed * torque).max())))


def plot_drives(result: Result, joints: Sequence[str] | None = None, show: bool = False) -> Figure:
    """Plot torque over speed of the driven joints, each in axes of its own with its limits.

    Dashed lines are the effort and velocity limits of the mechanism, what exceeds them is red. Torques
    contain what rotors (armature) and friction of the mechanism take. Drawn are ``joints``, or those whose
    torque is not zero.

    >>> import kinetree as kt
    >>> from kinetree.result.build import build_result
    >>> motion = {"time": [0, 1], "q": [[0, 0], [1, 2]], "qd": [[1, 2], [1, 2]], "tau": [[1, 0], [2, 0]]}
    >>> [ax.get_ylabel() for ax in plot_drives(build_result("simulate", kt.zoo.two_link(), motion)).axes]
    ['torque / (N m)']
    """
    for name in ("qd", "tau"):
        if name not in result or result[name].dims != ("time", "joint"):
            raise InputError(
                f"kind '{KIND}' needs velocities and torques over time; the result has no '{name}'"
            )
    if joints is not None:
        joints = texts(joints, "joints")
    robot, time = result.mechanism, result.dataset["time"].values
    speeds, torques = (list(columns_of(name, result[name]).values()) for name in ("qd", "tau"))
    moved = [x for x, (tau, _) in zip(robot.joint_names, torques, strict=True) if np.nan_to_num(tau).any()]
    chosen = [robot.joint_index(name) for name in (moved if joints is None else joints)]
    if not chosen:
        raise InputError(f"kind '{KIND}' needs a joint with a torque; all are zero")
    figure, axes = _axes(len(chosen), show)
    head = f"{robot.name}: torque over speed of the drives"
    figure.suptitle(head, x=0.02, ha="left", color=INK, fontsize=12, fontweight="bold", parse_math=False)
    note = "dashed: limits of the mechanism; dotted: root mean square; red: more than 1 % beyond"
    figure.supxlabel(note, x=0.02, ha="left", color=INK, fontsize=8)
    limits = [model_limits(robot, symbol) for symbol in ("qd", "tau")]
    for ax, k in zip(axes, chosen, strict=True):
        most = [np.inf if limit is None else float(limit[1][k]) for limit in limits]
        _draw(ax, robot.joint_names[k], time, speeds[k], torques[k], most)
    if show:
        from matplotlib import pyplot

        pyplot.show()
    return figure


def _axes(n: int, show: bool) -> tuple[Figure, list[Any]]:
    columns = min(n, IN_ROW)
    rows = -(-n // columns)
    size = (1.0 + 3.2 * columns, 0.7 + 2.7 * rows)
    if show:
        from matplotlib import pyplot

        figure: Figure = pyplot.figure(figsize=size, layout="constrained")
    else:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
    made = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for spare in made[n:]:
        spare.remove()
    return figure, made[:n]


def _draw(
    ax: Any,
    name: str,
    time: Array,
    speed: tuple[Array, str],
    torque: tuple[Array, str],
    most: Sequence[float],
) -> None:
    """One joint: its curve, what exceeds a limit, the limits that are near, and its numbers."""
    (x, x_unit), (y, y_unit) = speed, torque
    need = drive_need(time, x, y)
    ax.plot(x, y, color=LINE_COLORS[0], linewidth=1.5, gid=name)
    beyond = (np.abs(x) > BEYOND * most[0]) | (np.abs(y) > BEYOND * most[1])
    if beyond.any():
        ax.plot(x[beyond], y[beyond], ".", color=ALERT, markersize=5, gid="beyond")
    for limit, largest, line, span in (
        (most[0], need.speed, ax.axvline, ax.set_xlim),
        (most[1], need.peak, ax.axhline, ax.set_ylim),
    ):
        drawn = np.isfinite(limit) and limit <= FAR * largest
        reach = ROOM * max(largest, limit if drawn else 0.0, 1e-9)
        span(-reach, reach)
        for end in (-limit, limit) if drawn else ():
            line(end, color=ALERT, linewidth=0.9, linestyle=(0, (6, 3)), gid="limit")
    for end in (-need.rms, need.rms):
        ax.axhline(end, color=GROUND, linewidth=0.9, linestyle=(0, (2, 2)), gid="rms")
    stated = [f"peak {_of(need.peak, y_unit, most[1])}", f"rms {need.rms:.3g} {y_unit}"]
    stated += [f"speed {_of(need.speed, x_unit, most[0])}", f"power {need.power:.3g} W"]
    head = f"{name}\n{', '.join(stated[:2])}\n{', '.join(stated[2:])}"
    ax.set_title(head, loc="left", fontsize=8, color=INK, parse_math=False)
    ax.set_xlabel(f"speed / ({x_unit})", color=INK, fontsize=9)
    ax.set_ylabel(f"{'torque' if 'm' in y_unit else 'force'} / ({y_unit})", color=INK, fontsize=9)
    ax.locator_params(nbins=5)
    quiet_frame(ax)


def _of(value: float, unit: str, limit: float) -> str:
    """A value with its unit, and what part of its limit it is.

    >>> _of(2.0, "N m", 8.0), _of(2.0, "N m", float("inf"))
    ('2 N m (25 %)', '2 N m')
    """
    part = f" ({100.0 * value / limit:.0f} %)" if np.isfinite(limit) and limit > 0.0 else ""
    return f"{value:.3g} {unit}{part}"
