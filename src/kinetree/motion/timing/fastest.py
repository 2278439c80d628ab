"""The fastest timing along a given path, within limits of torque, velocity and acceleration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, number, numbers, positive
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.analysis.inverse import inverse_dynamics
from kinetree.dynamics.loads import Wrenches
from kinetree.errors import InputError, must_be, unknown_name
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.motion.problem.model_limits import limits_of
from kinetree.motion.timing.course import Limits, PathGrid, places
from kinetree.motion.timing.outcome import FastestTiming, Use
from kinetree.motion.timing.search import KEPT, fastest, times
from kinetree.progress import ProgressLine, shown_line
from kinetree.state import State
from kinetree.trajectories.base import Trajectory
from kinetree.trajectories.combined import sequence
from kinetree.trajectories.following import FollowedMotion
from kinetree.trajectories.polynomials import PolynomialTrajectory
from kinetree.trajectories.splines import interpolate
from kinetree.trajectories.timed_path import TimedPath

MODEL = "model"
Given = str | ArrayLike | Mapping[str, float] | None
Progress = Callable[[str, float], object]
LEAST_GRID, LARGEST_GRID = 10, 100_000
BETWEEN = 5  # instants within every piece of the timing at which limits are checked
HALVINGS = 40  # until the slowing is found that keeps limits
STANDS = 1e-6  # of the largest |q'|: so slow counts as standing still
FINE = 4001  # instants at which a path is looked at
NODES = 301  # places through which a spline replaces a stretch from rest to rest


class Regular(NamedTuple):
    """A path whose q' is nowhere zero, and how far it is from the one asked for (rad or m)."""

    path: Trajectory
    apart: float


def regular(mechanism: Mechanism, path: Trajectory | ArrayLike) -> Regular:
    """The path of a trajectory, of joint positions (m, n_dof) or of whatever a :class:`TimedPath` times.

    A trajectory that stands still somewhere, as at its ends, is replaced by splines of degree 5 over the
    length of its way in joint space, one for each stretch between rests; where joints follow a body or other
    joints, that is done with what they follow.
    """
    if isinstance(path, TimedPath):
        return regular(mechanism, path.path)
    if isinstance(path, FollowedMotion):
        given = _without_rests(path.path)
        return Regular(replace(path, path=given.path), given.apart)
    if not isinstance(path, Trajectory):
        path = _through(mechanism, path)
    if path.n_dof != mechanism.n_dof:
        raise InputError(
            f"the path has {path.n_dof} coordinates, but '{mechanism.name}' has {mechanism.n_dof} joints"
        )
    return _without_rests(path)


def _without_rests(path: Trajectory) -> Regular:
    """The path itself if it stands still nowhere, else splines over its length."""
    t = np.union1d(np.linspace(0.0, path.duration, FINE), path.breaks)
    speed = np.linalg.norm(path.at(t).qd, axis=1)
    if not speed.max() > 0.0:
        raise InputError("the path does not move; there is nothing to time")
    if speed.min() > STANDS * speed.max():
        return Regular(path, 0.0)
    return _by_length(path, t, speed)


def _through(mechanism: Mechanism, points: ArrayLike) -> Trajectory:
    """A spline through joint positions over the length of their chords."""
    if isinstance(points, str):
        raise InputError(must_be("the path", "a trajectory or joint positions (m, n_dof)", points))
    x = finite(numbers(points, "path"), "path")
    if x.ndim != 2 or len(x) < 2 or x.shape[1] != mechanism.n_dof:
        raise InputError(
            f"the path must be a trajectory or joint positions (m, {mechanism.n_dof}) with m of at "
            f"least 2, got "
            f"shape {x.shape}"
        )
    chords = np.linalg.norm(np.diff(x, axis=0), axis=1)
    if (chords <= 0.0).any():
        k = int(np.argmin(chords)) + 1
        raise InputError(f"position {k} of the path is the same as the one before it: {x[k].tolist()}")
    return interpolate(np.concatenate([[0.0], np.cumsum(chords)]), x, degree=min(3, len(x) - 1))


def _by_length(path: Trajectory, t: Array, speed: Array) -> Regular:
    """Splines over the length between the instants at which the path stands still."""
    still = speed <= STANDS * speed.max()
    ends = np.unique(np.concatenate([[0], np.flatnonzero(still), [len(t) - 1]]))
    parts, apart = [], 0.0
    for begin, end in pairwise(ends.tolist()):
        if end - begin < 2:  # it rests
            continue
        part, off = _stretch(path, float(t[begin]), float(t[end]))
        parts.append(part)
        apart = max(apart, off)
    if not parts:
        raise InputError("the path moves only at an instant; there is nothing to time")
    return Regular(parts[0] if len(parts) == 1 else sequence(*parts), apart)


def _stretch(path: Trajectory, begin: float, end: float) -> tuple[Trajectory, float]:
    """One spline, and how far it is from the path."""
    t = begin + (end - begin) * 0.5 * (1.0 - np.cos(np.linspace(0.0, np.pi, FINE)))
    q = path.at(t).q
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(q, axis=0), axis=1))])
    wanted = np.linspace(0.0, length[-1], NODES)
    chosen = np.unique(np.clip(np.searchsorted(length, wanted), 0, len(t) - 1))
    chosen[0], chosen[-1] = 0, len(t) - 1
    spline = interpolate(length[chosen], q[chosen], degree=5)
    return spline, float(np.abs(spline.at(length).q - q).max())


def fastest_polynomial(s: Array, x: Array, u: Array) -> PiecewisePolynomial:
    """s(t) with constant u between the places: s_i + sqrt(x_i) dt + u_i dt^2 / 2."""
    t = times(x, np.diff(s))
    rows = np.stack([s[:-1], np.sqrt(np.maximum(x[:-1], 0.0)), 0.5 * u], axis=1)
    return PiecewisePolynomial(t, rows[:, :, None])


def averaged(timing: PiecewisePolynomial, window: float) -> PiecewisePolynomial:
    """The mean of s over the last ``window`` (s): (1 / w) times the integral of s from t - w to t.

    It begins and ends at rest as s does, takes the window longer, and its acceleration has no jumps.
    """
    t, c = timing.breaks, timing.coefficients[:, :, 0]
    breaks = np.union1d(t, t + window)
    breaks = breaks[np.append(True, np.diff(breaks) > 1e-12 * breaks[-1])]
    last = float(timing.at(t[-1])[0])
    area = np.concatenate([[0.0], np.cumsum(_integral(c, np.diff(t)))])

    def parts(at: Array) -> Array:
        """Integral of s from 0 on, s, its rate and its change, right of times (m,), (m, 4)."""
        k = np.clip(np.searchsorted(t, at, side="right") - 1, 0, len(c) - 1)
        d = at - t[k]
        inside = np.stack(
            [area[k] + _integral(c[k], d), c[k, 0] + d * (c[k, 1] + d * c[k, 2]),
             c[k, 1] + 2.0 * d * c[k, 2], 2.0 * c[k, 2]], axis=1,
        )  # fmt: skip
        none = np.zeros_like(at)
        after = np.stack([area[-1] + last * (at - t[-1]), none + last, none, none], axis=1)
        return np.where((at < 0.0)[:, None], 0.0, np.where((at >= t[-1])[:, None], after, inside))

    eps = 1e-13 * breaks[-1]
    left = breaks[:-1] + eps  # so that pieces on the right are taken
    found = (parts(left) - parts(left - window)) / window
    rows = found / np.array([1.0, 1.0, 2.0, 6.0])
    return PiecewisePolynomial(breaks, rows[:, :, None])


def _integral(c: Array, d: Array) -> Array:
    """Integrals of parabolas c (m, 3) from 0 to d (m,)."""
    area: Array = d * (c[:, 0] + d * (c[:, 1] / 2.0 + d * c[:, 2] / 3.0))
    return area


def slower(timing: PiecewisePolynomial, factor: float) -> PiecewisePolynomial:
    """The same with all times longer by a factor."""
    powers = factor ** -np.arange(timing.order, dtype=np.float64)
    return PiecewisePolynomial(timing.breaks * factor, timing.coefficients * powers[:, None])


def fastest_timing(
    mechanism: Mechanism,
    path: Trajectory | ArrayLike,
    *,
    torque: Given = MODEL,
    velocity: Given = MODEL,
    acceleration: Given = None,
    wrenches: Wrenches = None,
    smoothing: float | None = None,
    grid: int = 400,
    progress: bool | Progress | None = None,
) -> FastestTiming:
    """The fastest motion along a path from rest to rest within limits of torque, velocity and acceleration.

    ``path`` is any trajectory, whose own timing is ignored, or joint positions (m, n_dof), which a cubic
    spline interpolates. ``torque`` (N m, N), ``velocity`` and ``acceleration`` are the limits of each joint:
    "model" for the mechanism's, one number, one for each, some by name, or None for no limit. Friction,
    armature and ``wrenches`` are included. At corners of the path the motion stops.

    Reachability analysis on ``grid`` intervals (Pham and Pham 2018), repeated with limits tightened where a
    finer grid shows that they are exceeded in between. The acceleration of the fastest motion jumps;
    ``smoothing`` (s) averages the timing over this interval to remove the jumps, and slows it down until all
    limits are satisfied: not the fastest smooth motion, but close to it.

    The returned object has the ``trajectory``, ``duration``, a ``result`` with an audit, and the limits that
    are active.

    >>> import kinetree as kt
    >>> cart = kt.Builder("cart")
    >>> _ = cart.world.prismatic("x", axis="x", effort_limit=2.0).body("cart", kt.Inertia.point(1.0))
    >>> found = fastest_timing(cart.build(), [[0.0], [1.0]])
    >>> round(found.duration, 6)  # full force forth and back: 2 sqrt(m / f)
    1.414214
    """
    began = perf_counter()
    limits = _limits(mechanism, torque, velocity, acceleration)
    width = None if smoothing is None else positive(smoothing, "smoothing", "s")
    if type(grid) is not int or not LEAST_GRID <= grid <= LARGEST_GRID:
        raise InputError(must_be("grid", f"an integer from {LEAST_GRID} to {LARGEST_GRID}", grid))
    plain = regular(mechanism, path)
    with _shown(progress) as tell:
        course = PathGrid(mechanism, plain.path, places(plain.path, grid), wrenches)
        found = fastest(course, limits, tell)
        rough = PathGrid(mechanism, plain.path, places(plain.path, grid // 2), wrenches)
        half = fastest(rough, limits, None).duration(rough.widths)
    timing = fastest_polynomial(course.s, found.x, found.u)
    if width is not None:
        timing = averaged(timing, width)
    timing, use = _kept(mechanism, plain.path, timing, limits, wrenches)
    motion = TimedPath(plain.path, PolynomialTrajectory(timing))
    apart = abs(half / found.duration(course.widths) - 1.0)
    return FastestTiming(
        mechanism, motion, limits, use, course, found, wrenches, width, plain.apart, apart,
        perf_counter() - began,
    )  # fmt: skip


def _kept(
    mechanism: Mechanism,
    path: Trajectory,
    timing: PiecewisePolynomial,
    limits: Limits,
    wrenches: Wrenches,
) -> tuple[PiecewisePolynomial, Use]:
    """The timing, slowed down as far as limits between places and smoothing ask for, and what it uses."""
    t = timing.breaks
    at = (t[:-1, None] + np.diff(t)[:, None] * np.linspace(0.0, 1.0, BETWEEN + 2)[1:-1]).reshape(-1)
    at = np.sort(np.concatenate([at, t]))
    moved = [timing.at(at, k)[:, 0] for k in range(3)]
    place = path.at(np.clip(moved[0], 0.0, path.duration))

    def used(factor: float) -> Use:
        rate, change = (moved[k][:, None] / factor**k for k in (1, 2))
        state = State(place.q, place.qd * rate, place.qd * change + place.qdd * rate**2)
        tau = inverse_dynamics(mechanism, state.q, state.qd, state.qdd, wrenches)
        return Use(factor * at, state, tau, limits)

    now = used(1.0)
    if now.largest <= 1.0 + KEPT:
        return timing, now
    low, high = 1.0, 1.001
    while used(high).largest > 1.0 + KEPT:
        low, high = high, 1.0 + 2.0 * (high - 1.0)
        if high > 1e6:
            raise InputError(
                "no slower timing of this path satisfies the torque limits; are they too low to hold the "
                "mechanism?"
            )
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if used(middle).largest <= 1.0 + KEPT else (middle, high)
    return slower(timing, high), used(high)


def _limits(mechanism: Mechanism, torque: Given, velocity: Given, acceleration: Given) -> Limits:
    """Checked limits of all joints."""
    expect_mechanism(mechanism)
    found = Limits(
        np.where(mechanism.actuated, _limit(mechanism, torque, "torque", "effort_limit"), np.inf),
        _limit(mechanism, velocity, "velocity", "velocity_limit"),
        _limit(mechanism, acceleration, "acceleration", None),
    )
    if not mechanism.actuated.all() and not mechanism.loops:
        k = int(np.argmin(mechanism.actuated))
        raise InputError(
            f"joint '{mechanism.joint_names[k]}' has no drive, so it cannot be moved along a given path"
        )
    if not np.isfinite(found.torque).any() and not np.isfinite(found.acceleration).any():
        raise InputError(
            f"no joint of '{mechanism.name}' has a torque or acceleration limit, so there is no fastest "
            f"timing; give torque=... or acceleration=..."
        )
    return found


def _limit(mechanism: Mechanism, given: Given, what: str, key: str | None) -> Array:
    """Limits (n,) of one kind; infinite where there is none."""
    names = mechanism.joint_names
    if given is None:
        return np.full(len(names), np.inf)
    if isinstance(given, str):
        if given != MODEL or key is None:
            words = "" if key is None else ', "model"'
            raise InputError(must_be(what, f"numbers{words} or None", given))
        return np.array(limits_of(mechanism, key))
    values = np.full(len(names), np.inf) if key is None else np.array(limits_of(mechanism, key))
    if isinstance(given, Mapping):
        for name, value in given.items():
            if name not in names:
                raise InputError(unknown_name("joint", name, names).after(f"{what}: "))
            values[names.index(name)] = number(value, f"{what} of '{name}'")
    else:
        array = numbers(given, what)
        if array.shape not in ((), (len(names),)):
            raise InputError(
                f"{what} must be one number or {len(names)}, one per joint, got shape {array.shape}"
            )
        values[:] = array
    if not (values > 0.0).all():
        k = int(np.argmin(values > 0.0))
        raise InputError(must_be(f"{what} of joint '{names[k]}'", "> 0", values[k], "g"))
    return values


@contextmanager
def _shown(wanted: bool | Progress | None) -> Iterator[Progress | None]:
    def stated(line: ProgressLine) -> Progress:
        return line.show

    with shown_line(wanted, stated) as tell:
        yield tell
