"""Fatigue of joints: what is left of their strength after work, and how often it can be repeated."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, number, numbers
from kinetree.errors import InputError, must_be

RATE = 1.0 / 60.0  # 1/s: Ma et al. (2009), one per minute
MOST = 100_000  # repetitions that are looked at


def fatigue(
    times: ArrayLike,
    load: ArrayLike,
    rate: ArrayLike = RATE,
    recovery: ArrayLike = 0.0,
    start: ArrayLike = 1.0,
) -> Array:
    """Capacity c (k, n) of joints at times (k,) (s): the share of their strength that is left.

    dc/dt = -rate c f + recovery (1 - c), with f = |torque| / strength, the ``load`` (k, n) of fresh joints
    (Ma, Chablat, Bennis and Zhang 2009; recovery as they have it in 2010). ``rate`` and ``recovery`` (1/s)
    are numbers or one per joint; ``start`` is the capacity at the first time. The load goes straight from
    time to time; its mean counts between two of them, so that constant loads are exact.

    >>> fatigue([0.0, 60.0], [[0.5], [0.5]]).round(4).tolist()
    [[1.0], [0.6065]]
    """
    t, f = _history(times, load)
    k, r, c = (
        _each(x, f.shape[1], name) for x, name in ((rate, "rate"), (recovery, "recovery"), (start, "start"))
    )
    if (c > 1.0).any():
        raise InputError(must_be("start", "a fraction of the strength, 0 to 1", c.max(), "g"))
    found = [c]
    for h, mean in zip(np.diff(t), (f[1:] + f[:-1]) / 2.0, strict=True):
        a = k * mean + r
        decay = np.exp(-a * h)
        gained = np.where(a > 0.0, r / np.where(a > 0.0, a, 1.0) * (1.0 - decay), 0.0)
        found.append(decay * found[-1] + gained)
    return np.array(found)


def repetitions(
    times: ArrayLike,
    load: ArrayLike,
    rest: float = 0.0,
    rate: ArrayLike = RATE,
    recovery: ArrayLike = 0.0,
    most: int = MOST,
) -> int:
    """How often a motion can be repeated, with a ``rest`` (s) after each, before a joint is too weak for it.

    ``times`` (k,) and ``load`` (k, n) as :func:`fatigue` has them; a joint is too weak where its load is
    above its capacity. At most ``most``: fatigue and recovery may come to a balance.

    >>> repetitions([0.0, 2.0], [[0.6], [0.6]])  # of 51 s: -ln(0.6) / (0.6 / 60 s)
    25
    """
    t, f = _history(times, load)
    pause = number(rest, "rest")
    if pause < 0.0 or type(most) is not int or most < 1:
        raise InputError(f"rest must be >= 0 s and most at least 1, got {rest!r} and {most!r}")
    c = np.ones(f.shape[1])
    for count in range(most):
        now = fatigue(t, f, rate, recovery, c)
        if (f > now).any():
            return count
        idle = np.zeros((2, f.shape[1]))
        c = fatigue([0.0, pause], idle, rate, recovery, now[-1])[-1] if pause > 0.0 else now[-1]
    return most


def _history(times: ArrayLike, load: ArrayLike) -> tuple[Array, Array]:
    """Checked times (k,) and loads (k, n)."""
    t = finite(numbers(times, "times"), "times")
    f = finite(numbers(load, "load"), "load")
    if t.ndim != 1 or len(t) < 2 or (np.diff(t) <= 0.0).any():
        raise InputError(f"times must be two or more that ascend, got shape {t.shape}")
    if f.ndim != 2 or len(f) != len(t):
        raise InputError(f"load must have shape ({len(t)}, n), a row for each time, got shape {f.shape}")
    return t, np.abs(f)


def _each(value: ArrayLike, count: int, what: str) -> Array:
    """A number that is not negative for each joint."""
    array = finite(numbers(value, what), what)
    if array.shape not in ((), (count,)):
        raise InputError(f"{what} must be a number or {count} of them, got shape {array.shape}")
    if (array < 0.0).any():
        raise InputError(must_be(what, "0 or more", array.min(), "g"))
    return np.array(np.broadcast_to(array, (count,)))
