"""The trapezoidal velocity profile: all joints speed up, cruise and slow down together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, number, numbers, positive
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.errors import InputError, must_be
from kinetree.trajectories.base import ends
from kinetree.trajectories.polynomials import PolynomialTrajectory

BLEND = 0.25  # part of the time in which the joints speed up, unless another is given


def trapezoidal(
    start: ArrayLike,
    end: ArrayLike,
    duration: float | None = None,
    *,
    blend: float | None = None,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
) -> PolynomialTrajectory:
    """From rest at start (n,) to rest at end (n,): constant acceleration, velocity, deceleration.

    Either in a ``duration`` (s), with the fraction ``blend`` (0 to 0.5, usually 0.25) for acceleration and
    the same for deceleration; or in the shortest time in which no joint exceeds its ``velocity`` and
    ``acceleration`` limits (numbers or (n,), SI). All joints are synchronized.

    >>> trapezoidal([0.0], [1.0], 2.0, blend=0.5).at(1.0).qd.tolist()
    [1.0]
    >>> trapezoidal([0.0, 0.0], [1.0, 0.1], velocity=1.0, acceleration=2.0).duration
    1.5
    """
    a, b = ends(start, end)
    limited = velocity is not None or acceleration is not None
    if limited == (duration is not None) or (limited and blend is not None):
        raise InputError(
            "a trapezoidal motion takes either a duration (and perhaps a blend) or limits of velocity and "
            f"acceleration; got duration {duration}, blend {blend}, velocity {velocity!r}, "
            f"acceleration {acceleration!r}"
        )
    if duration is not None:
        T = positive(duration, "duration", "s")
        rise = _part(BLEND if blend is None else blend) * T
    else:
        T, rise = _shortest(np.abs(b - a), velocity, acceleration)
    return PolynomialTrajectory(_profile(a, b, T, rise))


def _profile(a: Array, b: Array, T: float, rise: float) -> PiecewisePolynomial:
    """Parabola, line, parabola; the line is left out if there is no time for it."""
    speed = (b - a) / (T - rise)
    push = speed / rise / 2
    zero = np.zeros_like(a)
    up, down = np.stack([a, zero, push]), np.stack([b - speed * rise / 2, speed, -push])
    if T - 2 * rise <= 1e-12 * T:
        return PiecewisePolynomial(np.array([0.0, T / 2, T]), np.stack([up, down]))
    line = np.stack([a + speed * rise / 2, speed, zero])
    return PiecewisePolynomial(np.array([0.0, rise, T - rise, T]), np.stack([up, line, down]))


def _shortest(
    distance: Array, velocity: ArrayLike | None, acceleration: ArrayLike | None
) -> tuple[float, float]:
    """Duration and rise time at which the joint that is hardest pressed is at its limits."""
    if velocity is None or acceleration is None:
        lacking = "velocity" if velocity is None else "acceleration"
        raise InputError(f"the shortest trapezoidal motion needs limits of both kinds; {lacking} is missing")
    if not distance.any():
        raise InputError("start and end are the same, so the motion takes no time; give a duration instead")
    moving = distance > 0
    v = float((_limits(velocity, "velocity", distance)[moving] / distance[moving]).min())
    a = float((_limits(acceleration, "acceleration", distance)[moving] / distance[moving]).min())
    if v * v >= a:  # the limit of velocity is never reached
        half = float(np.sqrt(1.0 / a))
        return 2 * half, half
    return 1.0 / v + v / a, v / a


def _limits(values: ArrayLike, what: str, like: Array) -> Array:
    array = finite(numbers(values, what), what)
    if array.shape not in ((), like.shape) or (array <= 0).any():
        raise InputError(must_be(f"{what} limits", f"one or {len(like)} positive numbers", array.tolist()))
    return np.broadcast_to(array, like.shape)


def _part(blend: float) -> float:
    part = number(blend, "blend")
    if not 0.0 < part <= 0.5:
        raise InputError(must_be("blend", "a fraction of the duration above 0 and at most 0.5", part, "g"))
    return part
