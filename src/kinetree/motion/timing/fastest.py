"""The fastest timing along a given path, within limits of torque, velocity and acceleration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, number, numbers
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.analysis.inverse import inverse_dynamics
from kinetree.dynamics.loads import Wrenches
from kinetree.errors import InputError, shown, unknown_name
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.motion.problem.model_limits import limits_of
from kinetree.motion.timing.course import Limits, PathGrid, places
from kinetree.motion.timing.outcome import FastestTiming, Use
from kinetree.motion.timing.regular import regular
from kinetree.motion.timing.search import KEPT, fastest
from kinetree.motion.timing.smoothing import averaged, fastest_polynomial, slower
from kinetree.progress import ProgressLine, shown_line
from kinetree.state import State
from kinetree.trajectories.base import Trajectory, positive
from kinetree.trajectories.polynomials import PolynomialTrajectory
from kinetree.trajectories.timed_path import TimedPath

MODEL = "model"
Given = str | ArrayLike | Mapping[str, float] | None
Progress = Callable[[str, float], object]
LEAST_GRID, LARGEST_GRID = 10, 100_000
BETWEEN = 5  # instants within every piece of the timing at which limits are checked
HALVINGS = 40  # until the slowing is found that keeps limits


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
        raise InputError(f"grid must be an integer from {LEAST_GRID} to {LARGEST_GRID}, got {shown(grid)}")
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
            raise InputError(f"{what} must be numbers{words} or None, got {shown(given)}")
        return np.array(limits_of(mechanism, key))
    values = np.full(len(names), np.inf) if key is None else np.array(limits_of(mechanism, key))
    if isinstance(given, Mapping):
        for name, value in given.items():
            if name not in names:
                raise InputError(f"{what}: {unknown_name('joint', name, names)}")
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
        raise InputError(f"{what} of joint '{names[k]}' must be > 0, got {values[k]:g}")
    return values


@contextmanager
def _shown(wanted: bool | Progress | None) -> Iterator[Progress | None]:
    def stated(line: ProgressLine) -> Progress:
        return line.show

    with shown_line(wanted, stated) as tell:
        yield tell
