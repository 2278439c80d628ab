"""Fatigue of joints: what is left of their strength after work, and how often it can be repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, number, numbers
from kinetree.errors import InputError, must_be

RATE = 1.0 / 60.0  # 1/s: Ma et al. (2009), one per minute
MOST = 100_000  # repetitions that are looked at


@dataclass(frozen=True)
class CompartmentRates:
    """Rates of the three compartments of a joint: ``fatigue`` F and ``recovery`` R (1/s), ``rest`` r.

    Where nothing is asked of the joint it recovers r times as fast, r R (Looft, Herkert and Frey-Law 2018).

    >>> COMPARTMENT_RATES["elbow"].fatigue
    0.00912
    """

    fatigue: float
    recovery: float
    rest: float = 15.0

    def __post_init__(self) -> None:
        for name in ("fatigue", "recovery", "rest"):
            value = number(getattr(self, name), f"rates of compartments: {name}")
            if not 0.0 < value < np.inf:
                raise InputError(f"rates of compartments: {name} must be positive, got {value:g}")


# L. A. Frey-Law, J. M. Looft, J. Heitsman (2012), A three-compartment muscle fatigue model accurately
# predicts joint-specific maximum endurance times for sustained isometric tasks, J. Biomech. 45, 1803-1808;
# "general" is their fit to all joints, which serves where no figures of a joint's own are given here
COMPARTMENT_RATES: Mapping[str, CompartmentRates] = {
    "ankle": CompartmentRates(0.00589, 0.00058),
    "elbow": CompartmentRates(0.00912, 0.00094),
    "shoulder": CompartmentRates(0.0182, 0.00168),
    "general": CompartmentRates(0.00970, 0.00091),
}
GENERAL = COMPARTMENT_RATES["general"]


def rates_of(joints: Sequence[str]) -> tuple[CompartmentRates, ...]:
    """The rates of a human's degrees of freedom, by the joint that their names have in them.

    >>> [x.fatigue for x in rates_of(["left_elbow.flexion", "right_knee"])]
    [0.00912, 0.0097]
    """
    known = [x for x in COMPARTMENT_RATES if x != "general"]
    found = [next((x for x in known if x in joint), "general") for joint in joints]
    return tuple(COMPARTMENT_RATES[x] for x in found)


def fatigued_share(
    times: ArrayLike,
    load: ArrayLike,
    rates: CompartmentRates | Sequence[CompartmentRates] = GENERAL,
    start: ArrayLike = 0.0,
) -> Array:
    """Fatigued share m (k, n) of what moves joints at times (k,) (s), by the model of three compartments.

    With the ``load`` f (k, n), |torque| / strength of fresh joints, which the active compartment follows:
    dm/dt = F f - R m, and R is r times as large while f is zero (Xia and Frey Law 2008, 3CC; Looft et al.
    2018). What is left of the strength is 1 - m; a joint fails where its load is larger. ``rates`` are one
    for all joints or one each; ``start`` is m at the first time. The mean of the load counts between two
    times.

    >>> fatigued_share([0.0, 60.0], [[0.5], [0.5]]).round(4).tolist()
    [[0.0], [0.2832]]
    """
    t, f = _history(times, load)
    each = [rates] * f.shape[1] if isinstance(rates, CompartmentRates) else list(rates)
    if len(each) != f.shape[1] or not all(isinstance(x, CompartmentRates) for x in each):
        raise InputError(f"rates must be CompartmentRates, one or {f.shape[1]} of them, got {len(each)}")
    F, R, r = (np.array([getattr(x, name) for x in each]) for name in ("fatigue", "recovery", "rest"))
    m = _each(start, f.shape[1], "start")
    if (m > 1.0).any():
        raise InputError(f"start must be a share, 0 to 1, got {m.max():g}")
    found = [m]
    for h, a, b in zip(np.diff(t), f[:-1], f[1:], strict=True):
        mean = np.minimum(0.5 * (a + b), 1.0 - found[-1])  # no more is active than is left
        back = np.where(mean == 0.0, r * R, R)
        decay = np.exp(-back * h)
        found.append(decay * found[-1] + F * mean / back * (1.0 - decay))
    return np.array(found)


def endurance(load: ArrayLike, rates: CompartmentRates = GENERAL) -> Array:
    """How long (s) a joint can hold a ``load``, a share of its strength, by three compartments.

    T = -ln(1 - R (1 - f) / (F f)) / R, where 1 - m meets f; infinite where recovery keeps pace.

    >>> endurance([0.5, 0.05]).round(1).tolist()
    [108.3, inf]
    """
    f = finite(numbers(load, "load"), "load")
    if (f <= 0.0).any() or (f > 1.0).any():
        raise InputError(f"load must be a share of the strength, above 0 and up to 1, got {f.tolist()}")
    x = rates.recovery * (1.0 - f) / (rates.fatigue * f)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(x < 1.0, -np.log(1.0 - np.minimum(x, 1.0)) / rates.recovery, np.inf))


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
