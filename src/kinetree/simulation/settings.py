"""How simulations are run: one object for ``simulate``, ``simulate_batch`` and ``Simulator``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, Literal, TypedDict, TypeVar

from numpy.typing import ArrayLike

from kinetree.errors import InputError, shown, unknown_name
from kinetree.simulation.loads import LoadsGiven
from kinetree.simulation.options import METHODS, Stops, positive
from kinetree.verdicts.margins import Verdicts

Method = Literal["auto", "dop853", "dopri5", "radau", "rk4", "semi_implicit_euler"]
VerdictsGiven = Verdicts | Mapping[str, float | None] | bool | None
Function = TypeVar("Function", bound=Callable[..., Any])


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
            raise InputError(f"stops must be a Stops, got {shown(self.stops)}")

    def __repr__(self) -> str:
        """The fields that differ from their defaults."""
        given = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
        changed = (f"{name}={shown(value)}" for name, value, default in given if value is not default)
        return f"Settings({', '.join(changed)})"


UNITS = {"step": "s", "max_step": "s", "friction_speed": "rad/s or m/s", "baumgarte": "1/s"}
NAMES = tuple(field.name for field in fields(Settings))


def read_settings(
    function: Callable[..., Any], settings: Settings | None, keywords: Mapping[str, Any]
) -> Settings:
    """The settings of a call: those of the object, with fields that were given by name before them."""
    if settings is not None and not isinstance(settings, Settings):
        raise InputError(f"settings must be a kt.simulation.Settings or None, got {shown(settings)}")
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
