"""How a simulation is to be run: checked before any work starts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, number, numbers
from kinetree.errors import InputError, shown, unknown_name

if TYPE_CHECKING:
    from kinetree.simulation.settings import Settings

ADAPTIVE, FIXED = ("dop853", "dopri5", "radau"), ("rk4", "semi_implicit_euler")
AUTO = "auto"
METHODS = (AUTO, *ADAPTIVE, *FIXED)
TIGHTEST = 1e-14
STABLE = {"rk4": 2.7, "semi_implicit_euler": 0.8}  # rate of Baumgarte's method times step
MOST_STEPS = 1e9  # of a fixed length
SAMPLES = 201  # of the output unless given
MOST_SAMPLES = 10_000_000
Gimbal = Literal["switch", "error"]


@dataclass(frozen=True)
class Trigger:
    """An event to detect: ``function(t, q, qd)`` crosses zero.

    ``direction`` +1 or -1 counts only rising or falling values; ``stop`` ends the simulation there.

    >>> Trigger("knee bent", lambda t, q, qd: q[1] - 1.0, stop=True).direction
    0
    """

    name: str
    function: Callable[[float, Array, Array], float]
    direction: int = 0
    stop: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(
                f"event '{self.name}': function must take (t, q, qd), got {shown(self.function)}"
            )
        if self.direction not in (-1, 0, 1):
            raise InputError(
                f"event '{self.name}': direction must be -1, 0 or 1, got {shown(self.direction)}"
            )


@dataclass(frozen=True)
class Stops:
    """Springs and dampers that act on joints beyond their limits.

    ``stiffness`` (N m/rad or N/m) and ``damping`` (N m s/rad or N s/m).

    >>> Stops(stiffness=1e4).damping
    10.0
    """

    stiffness: float = 1e3
    damping: float = 10.0

    def __post_init__(self) -> None:
        if number(self.stiffness, "stiffness of the stops") <= 0.0:
            raise InputError(f"stiffness of the stops must be > 0, got {self.stiffness:g}")
        if number(self.damping, "damping of the stops") < 0.0:
            raise InputError(f"damping of the stops must be >= 0, got {self.damping:g}")


@dataclass(frozen=True, eq=False)
class Options:
    """Times of the output (k,), method and accuracy."""

    duration: float
    times: Array
    method: str
    rtol: float
    atol: float
    step: float
    max_step: float
    friction_speed: float
    gimbal: Gimbal
    stop_at: tuple[str, ...]
    baumgarte: float | None = None  # rate (1/s) at which loops are closed instead of by projection

    def settings(self) -> dict[str, Any]:
        """In plain numbers and texts."""
        stated: dict[str, Any] = {"duration": self.duration, "method": self.method, "gimbal": self.gimbal}
        if self.method not in FIXED:
            stated |= {"rtol": self.rtol, "atol": self.atol}
            if np.isfinite(self.max_step):
                stated["max_step"] = self.max_step
        else:
            stated["step"] = self.step
        if self.baumgarte is not None:
            stated["baumgarte"] = self.baumgarte
        return stated | {"friction_speed": self.friction_speed, "stop_at": list(self.stop_at)}


def read_options(
    asked: Settings, duration: float, gimbal: str = "error", stop_at: Sequence[str] | str = ()
) -> Options:
    """Checked options of a simulation that lasts so long (s)."""
    method, step, atol, max_step = asked.method, asked.step, asked.atol, asked.max_step
    T = positive(duration, "duration", "s")
    if method in FIXED and step is None:
        raise InputError(f"method '{method}' needs a step (s), for example step=1e-3")
    relative = positive(asked.rtol, "rtol")
    if not TIGHTEST <= relative <= 0.1:
        raise InputError(f"rtol must be between {TIGHTEST:g} and 0.1, got {relative:g}")
    absolute = relative if atol is None else positive(atol, "atol")
    if gimbal not in ("switch", "error"):
        raise InputError(unknown_name("gimbal", gimbal, ("switch", "error")))
    wanted = (stop_at,) if isinstance(stop_at, str) else tuple(stop_at)
    length = _step(step, T) if step is not None else 0.0
    return Options(
        T,
        output_times(asked.times, T),
        method,
        relative,
        absolute,
        length,
        positive(max_step, "max_step", "s") if max_step is not None else np.inf,
        positive(asked.friction_speed, "friction_speed", "rad/s or m/s"),
        gimbal,  # type: ignore[arg-type]
        wanted,
        _baumgarte(asked.baumgarte, method, length) if asked.baumgarte is not None else None,
    )


def _baumgarte(rate: float, method: str, step: float) -> float:
    """A rate at which loops are closed that a fixed step can follow."""
    a = positive(rate, "baumgarte", "1/s")
    if method in FIXED and a * step > STABLE[method]:
        raise InputError(
            f"baumgarte = {a:g} 1/s is too fast for steps of {step:g} s by '{method}': at most "
            f"{STABLE[method] / step:g} 1/s"
        )
    return a


def _step(step: float, duration: float) -> float:
    """A fixed step that can do its work."""
    h = positive(step, "step", "s")
    if h > duration:
        raise InputError(f"step must not be longer than the duration, {duration:g} s, got {h:g} s")
    if duration / h > MOST_STEPS:
        raise InputError(
            f"a step of {h:g} s takes {duration / h:.2g} steps for {duration:g} s; allowed are {MOST_STEPS:g}"
        )
    return h


def positive(value: object, what: str, unit: str = "") -> float:
    """A number above zero."""
    if type(value) is float and 0.0 < value < math.inf:
        return value
    x = number(value, what)
    if x <= 0.0:
        raise InputError(f"{what} must be > 0{' ' + unit if unit else ''}, got {x:g}")
    return x


def output_times(times: ArrayLike | None, duration: float) -> Array:
    """Times of the output (k,): given, that many equally spaced, or the usual number of them."""
    if times is None or isinstance(times, int | np.integer):
        count = SAMPLES if times is None else int(times)
        if not 2 <= count <= MOST_SAMPLES:
            raise InputError(f"times must be at least 2 samples and at most {MOST_SAMPLES}, got {count}")
        return np.linspace(0.0, duration, count)
    t = finite(numbers(times, "times"), "times")
    if t.ndim != 1 or not len(t):
        raise InputError(f"times must be a vector or a number of samples, got shape {t.shape}")
    if (np.diff(t) <= 0.0).any():
        k = int(np.argmax(np.diff(t) <= 0.0))
        raise InputError(f"times must increase, got {t[k]:g} s and then {t[k + 1]:g} s at index {k + 1}")
    if t[0] < 0.0 or t[-1] > duration * (1.0 + 1e-12):
        raise InputError(f"times must lie within 0 and {duration:g} s, got {t[0]:g} to {t[-1]:g} s")
    return np.minimum(t, duration)
