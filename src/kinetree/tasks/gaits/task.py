"""What gaits and leaps are asked for: how fast or how high, by which schedule, with what weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import number
from kinetree.errors import InputError, must_be, unknown_name
from kinetree.motion.options import OPTIONS, Search

USUAL = Search(tolerance=1e-3, max_iterations=300, between=None)
SWING = 1.275  # sqrt(leg length / g): default time of a swing
FURTHEST = 0.55  # of the leg's length: how far before or behind its hip a foot may be
MOST_SEGMENTS = 80
FASTEST = 1.0  # of speed^2 / (g leg): beyond it legs that push only lose the ground


@dataclass(frozen=True)
class Gait:
    """How a legged robot walks: ``speed`` (m/s) along its forward axis, by a contact ``schedule``.

    ``schedule`` is a name ("walk", "trot", "pace", "tripod", ...), a :class:`Schedule`, or "best" for the
    cheapest of the known ones. ``period`` (s) is that of a whole cycle, by default with swings of
    1.275 sqrt(leg / g), less if legs would not reach. ``clearance`` (m) is the height of swinging feet at
    mid-swing, by default 5 % of the leg. ``limits`` map joints to largest torques (N m) where the mechanism
    has none or others are wanted; "model" also enforces its velocity limits, which else are only checked.
    ``range`` (rad) is how far joints may leave their standing pose where it
    has no limits. Weights:
    ``effort`` of squared torques over weight times leg, ``acceleration``, ``posture``. ``segments`` of the
    splines in a cycle.

    >>> Gait(speed=0.5, schedule="trot").changed(speed=0.4).speed
    0.4
    """

    speed: float = 0.4
    schedule: str | Any = "walk"
    period: float | None = None
    forward: str = "x"
    friction: float = 0.7
    clearance: float | None = None
    limits: Mapping[str, float] | str = field(default_factory=dict)
    range: float = 1.3
    effort: float = 100.0
    acceleration: float = 5e-4
    posture: float = 0.3
    trunk: float = 3.0
    segments: int = 32

    def __post_init__(self) -> None:
        for spec in fields(self):
            value, what = getattr(self, spec.name), f"gait: {spec.name}"
            if spec.name in ("schedule", "forward", "limits"):
                continue
            if spec.name == "segments":
                if type(value) is not int or not 8 <= value <= MOST_SEGMENTS:
                    raise InputError(must_be(what, f"an integer from 8 to {MOST_SEGMENTS}", value))
            elif value is not None or spec.default is not None:
                if not np.isfinite(number(value, what)) or value < 0.0:
                    raise InputError(must_be(what, "finite and not negative", value))
        for name in ("friction", "range"):
            if getattr(self, name) == 0.0:
                raise InputError(f"gait: {name} must be positive, got 0")
        if self.period == 0.0:
            raise InputError("gait: period must be positive, got 0")
        if not isinstance(self.forward, str):
            raise InputError(must_be("gait: forward", "x, y or z", self.forward))

    def changed(self, **changes: Any) -> Gait:
        """The same with some of it replaced."""
        known = [x.name for x in fields(self)]
        for name in changes:
            if name not in known:
                raise InputError(unknown_name("setting", name, known).after("gait: "))
        return replace(self, **changes)


@dataclass(frozen=True)
class Leaping:
    """How a legged robot leaps: its center of mass rises by ``height`` (m), it lands ``distance`` (m) ahead.

    A ``cyclic`` leap is a hop, which repeats; any other is a jump from rest to rest. ``forward`` is the axis
    of the world along which it goes. ``friction`` and ``limits`` are as in :class:`Gait`; ``stance`` is the
    position of all joints before a jump and after it, by default on bent legs.

    >>> Leaping(height=0.2).changed(friction=0.4).friction
    0.4
    """

    height: float = 0.1
    distance: float = 0.0
    cyclic: bool = False
    forward: str = "x"
    friction: float = 0.7
    limits: Mapping[str, float] | str | None = None
    stance: Any = None

    def __post_init__(self) -> None:
        if not 0.0 < number(self.friction, "leap: friction") < np.inf:
            raise InputError(must_be("leap: friction", "positive and finite", self.friction))
        for name in ("height", "distance"):
            number(getattr(self, name), f"leap: {name}")

    def changed(self, **changes: Any) -> Leaping:
        """The leap with other values of some fields."""
        known = [x.name for x in fields(self) if x.name not in ("height", "distance", "cyclic")]
        for name in changes:
            if name not in known:
                raise InputError(unknown_name("setting", name, [*known, *OPTIONS]).after("leap: "))
        return replace(self, **changes)


def period_of(task: Gait, leg: float, duty: float, gravity: float) -> float:
    """Duration of a cycle (s); refused where legs do not reach or would lose the ground."""
    froude = task.speed * task.speed / (gravity * leg)
    if froude > FASTEST:
        most = np.sqrt(FASTEST * gravity * leg)
        raise InputError(
            f"gait: {task.speed:g} m/s is beyond reach: speed^2 / (g leg) is {froude:.2f} for legs of "
            f"{leg:.2f} m, at most {FASTEST:g} for walking; that is {most:.2f} m/s"
        )
    usual = SWING * np.sqrt(leg / gravity) / (1.0 - duty)
    longest = 2.0 * FURTHEST * leg / (task.speed * duty) if task.speed else np.inf
    if task.period is None:
        return float(min(usual, 0.8 * longest))
    if task.period > longest:
        raise InputError(
            f"gait: with {task.speed:g} m/s and a period of {task.period:g} s feet would be "
            f"{task.speed * task.period * duty / 2:.2f} m ahead of the hips; legs of {leg:.2f} m reach "
            f"{FURTHEST * leg:.2f} m. Use a period of at most {longest:.2f} s"
        )
    return float(task.period)
