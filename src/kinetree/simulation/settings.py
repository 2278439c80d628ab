"""How simulations are run: settings for ``simulate``, ``simulate_batch`` and ``Simulator``, events, stops."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, Literal, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, number, numbers, positive
from kinetree.errors import InputError, must_be, shown, unknown_name
from kinetree.simulation.loads import LoadsGiven
from kinetree.verdicts.margins import Verdicts

ADAPTIVE, FIXED = ("dop853", "dopri5", "radau"), ("rk4", "semi_implicit_euler")
AUTO = "auto"
METHODS = (AUTO, *ADAPTIVE, *FIXED)
TIGHTEST = 1e-14
STABLE = {"rk4": 2.7, "semi_implicit_euler": 0.8}  # rate of Baumgarte's method times step
MOST_STEPS = 1e9  # of a fixed length
SAMPLES = 201  # of the output unless given
MOST_SAMPLES = 10_000_000
Gimbal = Literal["switch", "error"]
Method = Literal["auto", "dop853", "dopri5", "radau", "rk4", "semi_implicit_euler"]
VerdictsGiven = Verdicts | Mapping[str, float | None] | bool | None
Function = TypeVar("Function", bound=Callable[..., Any])
UNITS = {"step": "s", "max_step": "s", "friction_speed": "rad/s or m/s", "baumgarte": "1/s"}


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
            raise InputError(must_be(f"event '{self.name}': direction", "-1, 0 or 1", self.direction))


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
            raise InputError(must_be("stiffness of the stops", "> 0", self.stiffness, "g"))
        if number(self.damping, "damping of the stops") < 0.0:
            raise InputError(must_be("damping of the stops", ">= 0", self.damping, "g"))


class SettingsKeywords(TypedDict, total=False):
    """The fields of :class:`Settings` as keywords of a call."""

    loads: LoadsGiven
    times: ArrayLike | int | None
    method: Method
    rtol: float
    atol: float | None
    step: float | None
    max_step: float | None
    stops: Stops | None
    friction_speed: float
    baumgarte: float | None
    verdicts: VerdictsGiven


@dataclass(frozen=True, kw_only=True, eq=False)
class Settings:
    """Settings of a simulation: loads, output times, method and accuracy, stops, verdicts.

    ``loads``: a wrench, or a list of wrenches and of pairs (times (k,), wrench) with force and moment (k, 3)
    and linear interpolation (equal times make a jump), or a function of t (s) that returns wrenches.
    ``times`` of the output: a vector (s), or their number (201).

    ``method``: "dop853" and "dopri5" (explicit, adaptive), "radau" (adaptive, for stiff contact and laws),
    "rk4" and "semi_implicit_euler" (fixed ``step`` in s); "auto" takes dop853, or dopri5 on the ground, and
    changes to radau where stability requires much shorter steps than accuracy. ``rtol`` and ``atol`` (by
    default equal to rtol) bound the error of a step, ``max_step`` (s) its length.

    ``stops`` act on joints at their limits. Dry friction is linear up to ``friction_speed`` (rad/s or m/s).
    ``baumgarte`` (rate a, 1/s) closes loops by accelerations, J qdd + dJ/dt qd + 2 a J qd + a^2 gap = 0
    (Baumgarte 1972), instead of by projection, which is usually better; see the page on closed loops.
    ``verdicts`` sets the limits that the motion is checked against (:class:`Verdicts`, or a table of some of
    them); False checks nothing.

    Each field may also be given as an argument, which overrides ``settings``:

    >>> import kinetree as kt
    >>> fine = kt.simulation.Settings(rtol=1e-10, times=11)
    >>> kt.simulate(kt.zoo.two_link(), [0.1, 0.2], duration=0.1, settings=fine).q.shape
    (11, 2)
    >>> kt.simulate(kt.zoo.two_link(), [0.1, 0.2], duration=0.1, settings=fine, times=3).q.shape
    (3, 2)
    """

    loads: LoadsGiven = ()
    times: ArrayLike | int | None = None
    method: Method = "auto"
    rtol: float = 1e-8
    atol: float | None = None
    step: float | None = None
    max_step: float | None = None
    stops: Stops | None = None
    friction_speed: float = 1e-3
    baumgarte: float | None = None
    verdicts: VerdictsGiven = None

    def __post_init__(self) -> None:
        if not isinstance(self.method, str) or self.method not in METHODS:
            raise InputError(unknown_name("method", self.method, METHODS))
        for name in ("rtol", "atol", "step", "max_step", "friction_speed", "baumgarte"):
            value = getattr(self, name)
            if value is not None or name in ("rtol", "friction_speed"):
                positive(value, name, UNITS.get(name, ""))
        if self.stops is not None and not isinstance(self.stops, Stops):
            raise InputError(must_be("stops", "a Stops", self.stops))

    def __repr__(self) -> str:
        """The fields that differ from their defaults."""
        given = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
        changed = (f"{name}={shown(value)}" for name, value, default in given if value is not default)
        return f"Settings({', '.join(changed)})"


NAMES = tuple(field.name for field in fields(Settings))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Options(Settings):
    """The settings of one simulation, with nothing left open: ``times`` (k,) are those of its output.

    ``step`` is 0 for adaptive methods, ``max_step`` infinite where it was not given.
    """

    duration: float
    times: Array
    atol: float
    step: float
    max_step: float
    gimbal: Gimbal
    stop_at: tuple[str, ...]

    def __post_init__(self) -> None:
        """Everything was checked by :func:`read_options`."""

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
    given: Settings, duration: float, gimbal: str = "error", stop_at: Sequence[str] | str = ()
) -> Options:
    """The settings of a simulation that lasts so long (s)."""
    T = positive(duration, "duration", "s")
    if given.method in FIXED and given.step is None:
        raise InputError(f"method '{given.method}' needs a step (s), for example step=1e-3")
    if not TIGHTEST <= given.rtol <= 0.1:
        raise InputError(must_be("rtol", f"between {TIGHTEST:g} and 0.1", given.rtol, "g"))
    if gimbal not in ("switch", "error"):
        raise InputError(unknown_name("gimbal", gimbal, ("switch", "error")))
    length = _step(given.step, T) if given.step is not None else 0.0
    resolved: dict[str, Any] = {
        "times": output_times(given.times, T),
        "rtol": float(given.rtol),
        "atol": float(given.rtol if given.atol is None else given.atol),
        "step": length,
        "max_step": np.inf if given.max_step is None else float(given.max_step),
        "friction_speed": float(given.friction_speed),
        "baumgarte": None if given.baumgarte is None else _baumgarte(given.baumgarte, given.method, length),
    }
    kept = {field.name: getattr(given, field.name) for field in fields(Settings)}
    ends = (stop_at,) if isinstance(stop_at, str) else tuple(stop_at)
    return Options(**(kept | resolved), duration=T, gimbal=gimbal, stop_at=ends)  # type: ignore[arg-type]


def read_settings(
    function: Callable[..., Any], settings: Settings | None, keywords: Mapping[str, Any]
) -> Settings:
    """The settings of a call: those of the object, with fields that were given by name before them."""
    if settings is not None and type(settings) is not Settings:  # options of one simulation are no settings
        raise InputError(must_be("settings", "a kt.simulation.Settings or None", settings))
    for name in keywords:
        if name not in NAMES:
            known = [p for p in inspect.signature(function).parameters if p != "self"]
            title = function.__qualname__.removesuffix(".__init__")
            raise InputError(unknown_name(f"argument of {title}", name, known))
    return replace(settings or Settings(), **keywords) if keywords else settings or Settings()


def takes_settings(function: Function) -> Function:
    """Let help and notebooks show the fields of :class:`Settings` among the keywords of a function."""
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    more = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=field.type,
        )
        for field in fields(Settings)
    ]
    function.__dict__["__signature__"] = signature.replace(parameters=[*own, *more])
    return function


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


def output_times(times: ArrayLike | None, duration: float) -> Array:
    """Times of the output (k,): given, that many equally spaced, or the usual number of them."""
    if times is None or isinstance(times, int | np.integer):
        count = SAMPLES if times is None else int(times)
        if not 2 <= count <= MOST_SAMPLES:
            raise InputError(must_be("times", f"at least 2 samples and at most {MOST_SAMPLES}", count, ""))
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
