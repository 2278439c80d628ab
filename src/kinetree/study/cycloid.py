"""The cycloidal trajectory: starts and ends at rest without jerks in the acceleration."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, number, numbers
from kinetree.errors import InputError
from kinetree.state import State


def cycloid(start: ArrayLike, end: ArrayLike, duration: float, time: ArrayLike) -> State:
    """Motion (k, n) at times (k,) from rest at start (n,) to rest at end (n,) (004, eq. 6.14).

    q(t) = q(0) + (q(T) - q(0)) / T (t - T / (2 pi) sin(2 pi t / T)), T the duration (s).

    >>> cycloid([0.0], [1.0], 2.0, [0.0, 1.0, 2.0]).q[:, 0].round(9).tolist()
    [0.0, 0.5, 1.0]
    """
    T = number(duration, "duration")
    if T <= 0:
        raise InputError(f"duration must be > 0 s, got {T:g}")
    a, b = (finite(numbers(x, what), what) for x, what in ((start, "start"), (end, "end")))
    if a.shape != b.shape or a.ndim != 1:
        raise InputError(f"start and end must be vectors of one length, got shapes {a.shape} and {b.shape}")
    t = _times(time, T)[:, None]
    turn = 2 * np.pi / T
    q = a + (b - a) / T * (t - np.sin(turn * t) / turn)
    qd = (b - a) / T * (1.0 - np.cos(turn * t))
    qdd = (b - a) / T * turn * np.sin(turn * t)
    return State(q, qd, qdd)


def _times(time: ArrayLike, duration: float) -> Array:
    t = finite(numbers(time, "time"), "time")
    if t.ndim != 1 or np.any(t < 0) or np.any(t > duration * (1 + 1e-12)):
        raise InputError(f"time must be a vector within 0 and {duration:g} s, got {t.tolist()}")
    return t
