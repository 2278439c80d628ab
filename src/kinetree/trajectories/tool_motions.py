"""Motions of an arm by what its tool does: straight lines, circles, and smooth curves through points."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, frozen, number, numbers, positive, vector
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.algebra.rotation import rotation_matrix, unit_axis
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.errors import InputError, KinetreeWarning, expect, must_be, unknown_name
from kinetree.model.body import WORLD
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism, check_open
from kinetree.other_names import checks_keywords
from kinetree.state import Coordinates, coordinates, independent_axes
from kinetree.trajectories.base import Trajectory
from kinetree.trajectories.cycloidal import cycloid
from kinetree.trajectories.polynomials import PolynomialTrajectory, cubic, quintic
from kinetree.trajectories.splines import interpolate
from kinetree.trajectories.timed_path import TimedPath, retime
from kinetree.trajectories.tool_geometry import (
    ARM,
    Arc,
    ToolGeometry,
    arc_through,
    straight,
    turns_between,
)
from kinetree.trajectories.tool_path import ToolPath, followed
from kinetree.trajectories.tool_rows import AXIS, FULL, PLACE, tool_rows
from kinetree.trajectories.trapezoid import trapezoidal

KEEP, FREE, TURN = "keep", "free", "turn"
AXES = "xyz"
STILL = np.zeros(3)


def _uniform(duration: float) -> PolynomialTrajectory:
    """s from 0 to 1 at a constant rate."""
    return PolynomialTrajectory(PiecewisePolynomial.linear([0.0, duration], [[0.0], [1.0]]))


TIMINGS: dict[str, Callable[[float], Trajectory]] = {
    "quintic": lambda T: quintic([0.0], [1.0], T),
    "cycloid": lambda T: cycloid([0.0], [1.0], T),
    "cubic": lambda T: cubic([0.0], [1.0], T),
    "trapezoidal": lambda T: trapezoidal([0.0], [1.0], T),
    "uniform": _uniform,
}


@checks_keywords
def tool_line(
    mechanism: Mechanism,
    tool: str,
    to: ArrayLike | None = None,
    duration: float | None = None,
    *,
    q0: Coordinates,
    by: ArrayLike | None = None,
    orientation: str | ArrayLike = KEEP,
    free_axis: str | None = None,
    hold: Sequence[str] = (),
    speed: float | None = None,
    acceleration: float | None = None,
    timing: str = "quintic",
    limits: bool = True,
) -> TimedPath:
    """The tool on a straight line from its position at ``q0`` (n_dof,), to a point or by a vector (3,)
    (m).

    ``tool`` names a body or frame; ``to`` is in the world. The ``orientation`` is constant ("keep"), rotates
    to a matrix (3, 3) about one axis at a uniform rate (slerp), or is "free". ``free_axis`` "x", "y" or "z"
    allows the tool to rotate about one of its axes. For a redundant arm, joints named in ``hold`` stay still,
    and there is no null-space motion of the initial pose. Joints follow on the branch of the start; a
    singularity, a joint that leaves its limits (unless ``limits`` is False) or the end of the workspace is an
    error that names the position and the joint.

    Either a ``duration`` (s) with a ``timing`` "quintic", "cycloid", "cubic", "trapezoidal" or "uniform", or
    the largest ``speed`` (m/s) and ``acceleration`` (m/s^2) of the tool. Velocities and accelerations are
    exact: from derivatives of path and Jacobian. :func:`kinetree.fastest_timing` finds the fastest timing.

    >>> import kinetree as kt
    >>> arm, q0 = kt.zoo.kuka_kr5(), [0.0, 0.5, -0.6, 0.3, 0.8, 0.0]
    >>> line = tool_line(arm, "link6", by=(0.0, 0.2, 0.1), duration=2.0, q0=q0)
    >>> x = kt.forward_kinematics(arm, line.at([0.0, 1.0, 2.0]).q)["link6"][1]
    >>> np.diff(x, axis=0).round(9).tolist()
    [[0.0, 0.1, 0.05], [0.0, 0.1, 0.05]]
    """
    begin = _begin(mechanism, tool, q0)
    if to is not None and by is not None:
        raise InputError(
            "tool_line: give either to, a position in the world, or by, a displacement; not both"
        )
    end = begin.position
    if to is not None:
        end = vector(to, 3, "to")
    elif by is not None:
        end = begin.position + vector(by, 3, "by")
    geometry = ToolGeometry(
        straight(begin.position, end), _turned(begin.rotation, orientation), frozen(begin.rotation)
    )
    path = _on_path(begin, geometry, orientation, free_axis, hold, limits)
    return _timed(path, duration, speed, acceleration, timing)


@checks_keywords
def tool_circle(
    mechanism: Mechanism,
    tool: str,
    duration: float | None = None,
    *,
    q0: Coordinates,
    center: ArrayLike | None = None,
    normal: str | ArrayLike = "z",
    turns: float = 1.0,
    via: ArrayLike | None = None,
    to: ArrayLike | None = None,
    orientation: str | ArrayLike = KEEP,
    free_axis: str | None = None,
    hold: Sequence[str] = (),
    speed: float | None = None,
    acceleration: float | None = None,
    timing: str = "quintic",
    limits: bool = True,
) -> TimedPath:
    """The tool on a circle from where it is at ``q0``: round a center, or on an arc through two places.

    ``center`` (3,) is in the world (m); the circle is in the plane across ``normal`` through the tool, and
    is passed ``turns`` times, backward if negative. Instead, ``via`` and ``to`` (3,) are places on the
    arc. The ``orientation`` may also "turn" with the arc. The rest is as for :func:`tool_line`.

    >>> import kinetree as kt
    >>> arm, q0 = kt.zoo.kuka_kr5(), [0.0, 0.5, -0.6, 0.3, 0.8, 0.0]
    >>> x = kt.forward_kinematics(arm, q0)["link6"][1]
    >>> round_ = tool_circle(arm, "link6", 3.0, q0=q0, center=x + (0.1, 0, 0), turns=0.5)
    >>> end = kt.forward_kinematics(arm, round_.at(3.0).q)["link6"][1]
    >>> bool(abs(end - x - (0.2, 0, 0)).max() < 1e-9)
    True
    """
    begin = _begin(mechanism, tool, q0)
    arc = _arc(begin.position, center, normal, turns, via, to)
    if isinstance(orientation, str) and orientation == TURN:
        turn: Trajectory = straight(STILL, arc.angle * arc.normal)
    else:
        turn = _turned(begin.rotation, orientation)
    path = _on_path(
        begin, ToolGeometry(arc, turn, frozen(begin.rotation)), orientation, free_axis, hold, limits
    )
    return _timed(path, duration, speed, acceleration, timing)


@checks_keywords
def tool_through(
    mechanism: Mechanism,
    tool: str,
    points: ArrayLike,
    duration: float | None = None,
    *,
    q0: Coordinates,
    orientation: str | ArrayLike = KEEP,
    free_axis: str | None = None,
    hold: Sequence[str] = (),
    speed: float | None = None,
    acceleration: float | None = None,
    timing: str = "quintic",
    limits: bool = True,
) -> TimedPath:
    """The tool on a smooth curve from where it is at ``q0`` through ``points`` (m, 3) in the world (m).

    A cubic spline over the length of the chords, so that accelerations are continuous, without a stop at the
    points between. ``orientation`` stays ("keep"), is "free", becomes one of the end (3, 3), or one at every
    point (m, 3, 3); the rest is as for :func:`tool_line`.

    >>> import kinetree as kt
    >>> arm, q0 = kt.zoo.kuka_kr5(), [0.0, 0.5, -0.6, 0.3, 0.8, 0.0]
    >>> x = kt.forward_kinematics(arm, q0)["link6"][1]
    >>> curve = tool_through(arm, "link6", x + np.array([[0.1, 0.1, 0], [0.2, 0, 0]]), 3.0, q0=q0)
    >>> end = kt.forward_kinematics(arm, curve.at(3.0).q)["link6"][1]
    >>> bool(abs(end - x - (0.2, 0, 0)).max() < 1e-9)
    True
    """
    begin = _begin(mechanism, tool, q0)
    x = finite(numbers(points, "points"), "points")
    if x.ndim != 2 or x.shape[1] != 3 or not len(x):
        raise InputError(f"points must have shape (m, 3) with m of at least 1, got shape {x.shape}")
    x = np.concatenate([begin.position[None], x])
    turns = _turns_at(begin.rotation, orientation, len(x) - 1)
    chords = np.linalg.norm(np.diff(x, axis=0), axis=1) + ARM * np.linalg.norm(np.diff(turns, axis=0), axis=1)
    if (chords <= 0.0).any():
        k = int(np.argmin(chords))
        raise InputError(
            f"points: point {k + 1} is where the tool is already, at {x[k].tolist()} m; each must "
            f"differ from the "
            "one before it"
        )
    u = np.concatenate([[0.0], np.cumsum(chords)]) / chords.sum()
    u[-1] = 1.0
    degree = min(3, len(x) - 1)
    geometry = ToolGeometry(
        interpolate(u, x, degree=degree), interpolate(u, turns, degree=degree), frozen(begin.rotation)
    )
    kept = orientation if isinstance(orientation, str) else KEEP
    path = _on_path(begin, geometry, kept, free_axis, hold, limits)
    return _timed(path, duration, speed, acceleration, timing)


# ---- what they share --------------------------------------------------------------------------------


class _Begin(NamedTuple):
    """Where the tool is at the start."""

    mechanism: Mechanism
    tool: str
    q: Array
    position: Array
    rotation: Array


def _begin(mechanism: Mechanism, tool: str, q0: Coordinates) -> _Begin:
    expect_mechanism(mechanism)
    check_open(mechanism, "a tool's path")
    expect(tool, str, "tool", "the name of a body or frame")
    if tool == WORLD or mechanism.place_of(tool)[0] == WORLD:
        raise InputError(f"the tool '{tool}' is fixed in the world; name a body or frame that moves")
    q = np.array(coordinates(mechanism, q0, "q0"))
    if q.ndim != 1:
        raise InputError(f"q0 must be one pose of {mechanism.n_dof} joints, got shape {q.shape}")
    R, p = forward_kinematics(mechanism, q)[tool]
    return _Begin(mechanism, tool, q, p, R)


def _is_word(orientation: str | ArrayLike, words: tuple[str, ...]) -> bool:
    """Whether an orientation is a word; an error for a word that is none of these."""
    if not isinstance(orientation, str):
        return False
    if orientation not in words:
        raise InputError(
            f"{unknown_name('orientation', orientation, words)} A matrix (3, 3) gives that of the end."
        )
    return True


def _turned(first: Array, orientation: str | ArrayLike) -> Trajectory:
    """The rotation vector along the path: none, or evenly to the orientation of the end."""
    if _is_word(orientation, (KEEP, FREE)):
        return straight(STILL, STILL)
    end = rotation_matrix(orientation, "orientation")
    return straight(STILL, turns_between(np.stack([first, end]), first)[1])


def _turns_at(first: Array, orientation: str | ArrayLike, count: int) -> Array:
    """Rotation vectors (count + 1, 3) at the start and the points."""
    if _is_word(orientation, (KEEP, FREE)):
        return np.zeros((count + 1, 3))
    given = finite(numbers(orientation, "orientation"), "orientation")
    if given.shape == (3, 3):
        end = turns_between(np.stack([first, rotation_matrix(given, "orientation")]), first)[1]
        return np.linspace(STILL, end, count + 1)
    if given.shape != (count, 3, 3):
        raise InputError(
            f"orientation must have shape (3, 3), that of the end, or ({count}, 3, 3), one at each "
            f"point, got "
            f"shape {given.shape}"
        )
    checked = [rotation_matrix(R, f"orientation at point {k + 1}") for k, R in enumerate(given)]
    return turns_between(np.stack([first, *checked]), first)


def _arc(
    first: Array,
    center: ArrayLike | None,
    normal: str | ArrayLike,
    turns: float,
    via: ArrayLike | None,
    to: ArrayLike | None,
) -> Arc:
    """The circle, from one of the two ways to describe it."""
    if (center is None) == (via is None) or (via is None) != (to is None):
        raise InputError("tool_circle: give either a center, or via and to, two points of the arc")
    if via is not None:
        found = arc_through(first, vector(via, 3, "via"), vector(to, 3, "to"))  # type: ignore[arg-type]
        if found is None:
            raise InputError(
                "tool_circle: start, via and to are on one line, or two are the same; use tool_line"
            )
        return found
    middle, axis = vector(center, 3, "center"), unit_axis(normal, "normal")  # type: ignore[arg-type]
    arm = first - middle
    arm = arm - (arm @ axis) * axis
    middle = first - arm
    if float(np.linalg.norm(arm)) < 1e-9:
        raise InputError(f"tool_circle: the tool is on the axis of the circle, at {first.tolist()} m")
    angle = 2.0 * np.pi * number(turns, "turns")
    if angle == 0.0:
        raise InputError("turns must not be 0: the tool would stay where it is")
    return Arc(frozen(middle), frozen(axis), frozen(arm), angle)


def _on_path(
    begin: _Begin,
    geometry: ToolGeometry,
    orientation: str | ArrayLike,
    free_axis: str | None,
    hold: Sequence[str],
    limits: bool,
) -> ToolPath:
    """The joints along a geometry."""
    free = isinstance(orientation, str) and orientation == FREE
    if free_axis is not None and (free or free_axis not in AXES or len(free_axis) != 1):
        raise InputError(
            must_be("free_axis", '"x", "y" or "z", with an orientation that is not free', free_axis)
        )
    if isinstance(hold, str):
        raise InputError(must_be("hold", "a list of joints", hold))
    if geometry.length == 0.0 and (free or geometry.angle == 0.0):
        raise InputError(
            "the tool's path has no length and no rotation; give another position or orientation"
        )
    prescribes = PLACE if free else AXIS if free_axis is not None else FULL
    axis = AXES.index(free_axis) if free_axis is not None else 2
    first = geometry.at(np.zeros(1), 0)
    rows = tool_rows(begin.mechanism, begin.tool, prescribes, axis, list(hold), begin.q, first)
    return followed(rows, geometry, limits)


def _timed(
    path: ToolPath, duration: float | None, speed: float | None, acceleration: float | None, timing: str
) -> TimedPath:
    """The path with its timing; a warning where a joint would be faster than it may."""
    if (duration is None) == (speed is None) or (speed is None) != (acceleration is None):
        raise InputError(
            "give either a duration (s), or the tool's largest speed (m/s) and acceleration (m/s^2); got "
            f"duration {duration}, speed {speed}, acceleration {acceleration}"
        )
    if speed is not None:
        way = path.geometry.fastest
        if way == 0.0:
            raise InputError("the tool rotates in place, which has no speed in m/s; give a duration")
        law: Trajectory = trapezoidal(
            [0.0],
            [1.0],
            velocity=positive(speed, "speed", "m/s") / way,
            acceleration=positive(acceleration, "acceleration", "m/s^2") / way,
        )
    else:
        if timing not in TIMINGS:
            raise InputError(unknown_name("timing", timing, TIMINGS))
        law = TIMINGS[timing](positive(duration, "duration", "s"))
    motion = retime(path, law)
    _warn_of_speed(path.mechanism, motion)
    return motion


def _warn_of_speed(mechanism: Mechanism, motion: TimedPath) -> None:
    limit = mechanism.tree.velocity_limit[independent_axes(mechanism)]
    if not np.isfinite(limit).any():
        return
    t = np.linspace(0.0, motion.duration, 501)
    share = np.abs(motion.at(t).qd) / limit
    if share.max() > 1.0 + 1e-9:
        k, j = np.unravel_index(int(np.argmax(share)), share.shape)
        unit = "rad/s" if mechanism.tree.turns[independent_axes(mechanism)][j] else "m/s"
        warnings.warn(
            f"joint '{mechanism.joint_names[j]}' would move at {share[k, j] * limit[j]:.3g} {unit} at t = "
            f"{t[k]:.3g} s, {share[k, j]:.3g} times its velocity limit of {limit[j]:.3g} {unit}; "
            f"a duration of {motion.duration * share[k, j]:.3g} s would be long enough, and "
            "kinetree.fastest_timing finds the shortest one",
            KinetreeWarning,
            stacklevel=4,
        )
