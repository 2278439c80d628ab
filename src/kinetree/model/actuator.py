"""Actuators of a mechanism: motors, position and velocity servos, with gears and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isnan

from kinetree.algebra.arrays import number
from kinetree.errors import ModelError, must_be
from kinetree.model.body import checked_name

Range = tuple[float, float]
UNLIMITED: Range = (-inf, inf)


@dataclass(frozen=True)
class Actuator:
    """A force f = gain u + bias - kp l - kv dl/dt, within ``force_range``, of the control u.

    It acts on the length l = sum of gear q over the ``gears``, degrees of freedom with their gears, so its
    torque on each is gear f. A motor has a gain alone; a position servo has gain = kp, and u is the length
    that it drives to; a velocity servo has gain = kv. The control is kept within ``control_range``.

    >>> knee = Actuator.position("knee servo", "knee", kp=100.0, kv=2.0, force_range=(-30, 30))
    >>> knee.gain, knee.kp, knee.kv, knee.gears
    (100.0, 100.0, 2.0, (('knee', 1.0),))
    """

    name: str
    gears: tuple[tuple[str, float], ...] = ()
    gain: float = 1.0
    bias: float = 0.0
    kp: float = 0.0
    kv: float = 0.0
    force_range: Range = UNLIMITED
    control_range: Range = UNLIMITED

    @classmethod
    def motor(cls, name: str, joint: str, gear: float = 1.0, **more: object) -> Actuator:
        """A torque that is the control times the gear."""
        return cls(name, ((joint, gear),), **more)  # type: ignore[arg-type]

    @classmethod
    def position(cls, name: str, joint: str, kp: float, kv: float = 0.0, **more: object) -> Actuator:
        """A servo kp (u - q) - kv qd."""
        return cls(name, ((joint, 1.0),), kp, 0.0, kp, kv, **more)  # type: ignore[arg-type]

    @classmethod
    def velocity(cls, name: str, joint: str, kv: float, **more: object) -> Actuator:
        """A servo kv (u - qd)."""
        return cls(name, ((joint, 1.0),), kv, 0.0, 0.0, kv, **more)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        what = f"actuator '{checked_name(self.name, 'an actuator')}'"
        given = self.gears.items() if isinstance(self.gears, Mapping) else self.gears
        gears = tuple(
            (checked_name(dof, f"{what}: joint"), number(gear, f"{what}: gear", ModelError))
            for dof, gear in given
        )
        if not gears:
            raise ModelError(f"{what} acts on no joint; give its gears by joint")
        if len({dof for dof, _ in gears}) < len(gears):
            raise ModelError(f"{what} names a joint twice: {[dof for dof, _ in gears]}")
        object.__setattr__(self, "gears", gears)
        for key in ("gain", "bias", "kp", "kv"):
            object.__setattr__(self, key, number(getattr(self, key), f"{what}: {key}", ModelError))
        for key in ("force_range", "control_range"):
            object.__setattr__(self, key, _range(getattr(self, key), f"{what}: {key}"))

    @property
    def is_position_servo(self) -> bool:
        """Whether the control is the length that the force drives to."""
        return self.kp != 0.0 and self.gain == self.kp

    @property
    def kind(self) -> str:
        """What it is: position, velocity, motor or general."""
        if self.bias == 0.0 and self.is_position_servo:
            return "position"
        if self.bias == 0.0 and self.kp == 0.0:
            return "motor" if self.kv == 0.0 else "velocity" if self.gain == self.kv else "general"
        return "general"


def _range(values: object, what: str) -> Range:
    try:
        low, high = (float(x) for x in values)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise ModelError(must_be(what, "two numbers", values)) from None
    if isnan(low) or isnan(high) or not low <= high:
        raise ModelError(f"{what} must go from low to high, got ({low:g}, {high:g})")
    return low, high
