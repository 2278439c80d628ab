"""Velocities and accelerations of measured motions: low-pass filters and splines."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, number, numbers
from kinetree.errors import InputError
from kinetree.state import State

ORDER = 3  # of the Butterworth filter, which runs forwards and backwards
EQUAL = 0.01  # share by which steps of time may differ
DEGREE = 5  # of splines: accelerations are cubic between frames


def low_passed(time: ArrayLike, values: ArrayLike, cutoff: float) -> Array:
    """Values (m, ...) without what is faster than ``cutoff`` (Hz): Butterworth's filter, without delay.

    Third order, run forwards and backwards over frames at equal distances; before and after the trial the
    values go on mirrored about its ends.

    >>> t = np.linspace(0.0, 2.0, 401)
    >>> slow, fast = np.sin(2 * np.pi * t), 0.1 * np.sin(2 * np.pi * 50 * t)
    >>> bool(np.abs(low_passed(t, slow + fast, 6.0) - slow).max() < 0.02)
    True
    """
    from scipy.signal import butter, filtfilt

    t, x = finite(numbers(time, "time"), "time"), finite(numbers(values, "values"), "values")
    limit = number(cutoff, "cutoff")
    step = np.diff(t)
    if len(t) < 3:
        raise InputError(f"a filter needs at least 3 frames, got {len(t)}")
    if np.ptp(step) > EQUAL * step.mean():
        raise InputError(
            f"a filter needs frames at equal distances in time, got steps from {step.min():g} to "
            f"{step.max():g} s"
        )
    half = 0.5 / float(step.mean())
    if not 0.0 < limit < half:
        raise InputError(
            f"cutoff must be > 0 and below half the rate of the frames, {half:g} Hz, got {limit:g}"
        )
    b, a = butter(ORDER, limit / half)
    filtered: Array = filtfilt(b, a, x, axis=0, padlen=min(len(t) - 1, round(3 * half / limit)))
    return filtered


def spline_motion(time: ArrayLike, q: ArrayLike) -> State:
    """q, qd and qdd at the frames, of the spline of degree 5 through positions q (m, n).

    >>> t = np.linspace(0.0, 1.0, 41)
    >>> bool(np.abs(spline_motion(t, np.sin(t)[:, None]).qdd[:, 0] + np.sin(t)).max() < 1e-5)
    True
    """
    from scipy.interpolate import make_interp_spline

    t, x = finite(numbers(time, "time"), "time"), finite(numbers(q, "q"), "q")
    if len(t) < DEGREE + 1:
        raise InputError(f"velocities and accelerations need at least {DEGREE + 1} frames, got {len(t)}")
    curve = make_interp_spline(t, x, k=DEGREE)
    return State(np.array(x), curve.derivative(1)(t), curve.derivative(2)(t))
