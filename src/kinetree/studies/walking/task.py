"""What walking is asked for: who walks, how fast, with which steps, on which ground, with what load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import number
from kinetree.errors import InputError, shown, unknown_name
from kinetree.model.human.segments import Proportions, proportions

DEGREE = float(np.pi / 180.0)
SLOWEST, FASTEST = 0.3, 2.2  # m/s: slower is no gait with these phases, faster is running
LONGEST = 1.15  # step over leg length: further apart the feet of a walker do not touch the ground
LARGEST_SLOPE = 15.0  # degrees
HEAVIEST = 0.6  # of the body's mass that is carried


@dataclass(frozen=True)
class Walking:
    """Who walks and how; lengths in m, masses in kg, speeds in m/s, angles in rad but for the slope (deg).

    ``slope`` is positive uphill. ``backpack`` hangs behind the chest, ``hand`` is carried in each hand.
    ``strength`` multiplies the torque limits of joints whose names begin with a key, on both sides alike.

    Shares of the step: ``double`` support, ``flat`` (from when on the foot is flat), ``heel_off``; ``ball``
    is the share of double support in which the ball of the trailing foot still carries. ``points`` are
    control points of each joint in a step, ``nodes`` Gauss nodes in heel roll, flat double support, flat
    single support, and heel off.

    >>> task = Walking(speed=1.0, step=0.5)
    >>> task.duration, task.changed(points=10).points
    (0.5, 10)
    """

    speed: float = 1.2
    step: float = 0.6
    sex: str = "male"
    height: float = 1.75
    mass: float = 75.0
    slope: float = 0.0
    backpack: float = 0.0
    hand: float = 0.0
    strength: Mapping[str, float] = field(default_factory=dict)
    width: float = 0.10  # between the heels
    toe_out: float = 5.0 * DEGREE
    friction: float = 0.6
    double: float = 0.26
    flat: float = 1.0 / 6.0
    heel_off: float = 0.70
    ball: float = 0.60
    points: int = 12
    nodes: tuple[int, int, int, int] = (10, 5, 16, 16)
    closure: int = 5  # instants at which the trailing toes are held
    clearance: float = 0.005  # m, of the swinging foot
    clearances: int = 9  # instants at which it is asked for
    pad: float = 0.01  # m, by which the heel sinks after touch-down
    slip: float = 0.01  # m, by which it goes forward
    landing: float = 0.2  # share of the step after which both are over
    landing_speeds: tuple[float, float] = (0.5, 0.6)  # m/s, largest downwards and forward
    knee_swing: tuple[float, float] = (65.0 * DEGREE, 75.0 * DEGREE)
    knee_at: float = 0.48  # share of the step: mid-swing
    knee_strike: tuple[float, float] | None = (0.0, 8.0 * DEGREE)
    knee_off: tuple[float, float] | None = (30.0 * DEGREE, 45.0 * DEGREE)
    pitch_strike: tuple[float, float] | None = (12.0 * DEGREE, 25.0 * DEGREE)  # toes up
    exponent: float = 2.5
    effort: float = 1.4
    acceleration: float = 2e-5
    posture: float = 1.0
    upright: float = 1.0
    rate: float = 3e-4
    arms: bool = False  # whether arms must swing with the opposite legs
    wrist: float = 0.0  # m, least sideways distance of the wrists from the middle of the hips

    def __post_init__(self) -> None:
        for name in ("speed", "step", "height", "mass", "slope", "backpack", "hand", "width", "friction"):
            number(getattr(self, name), f"walking: {name}")
        self._check_pace()
        self._check_loads()
        self._check_schedule()

    @property
    def duration(self) -> float:
        """Of one step (s)."""
        return self.step / self.speed

    @property
    def parts(self) -> Proportions:
        """Segments of who walks; sex, height and mass are checked."""
        return proportions(self.sex, self.height, self.mass)

    @property
    def leg(self) -> float:
        """Height of the hips (m)."""
        parts = self.parts
        return float(parts["left_thigh"].length + parts["left_shank"].length + parts.ankle)

    def _check_pace(self) -> None:
        if not SLOWEST <= self.speed <= FASTEST:
            raise InputError(
                f"walking: speed must be from {SLOWEST} to {FASTEST} m/s (beyond it people stand or run), "
                f"got {self.speed:g}"
            )
        leg = self.leg
        longest = LONGEST * leg
        if not 0.1 * leg <= self.step <= longest:
            raise InputError(
                f"walking: a step must be from {0.1 * leg:.2f} to {longest:.2f} m for legs of {leg:.2f} m, "
                f"got {self.step:g} m"
            )
        froude = self.speed**2 / (9.81 * leg)
        if froude > 1.0:
            raise InputError(
                f"walking: at {self.speed:g} m/s legs of {leg:.2f} m would lose the ground: "
                f"speed^2 / (g leg) is {froude:.2f}, at most 1"
            )
        if not 0.2 <= self.duration <= 1.5:
            raise InputError(
                f"walking: a step of {self.step:g} m at {self.speed:g} m/s takes {self.duration:.2f} s; "
                "0.2 to 1.5 s are possible"
            )

    def _check_loads(self) -> None:
        if abs(self.slope) > LARGEST_SLOPE:
            raise InputError(f"walking: slope must be within {LARGEST_SLOPE:g} degrees, got {self.slope:g}")
        for name, value in (("backpack", self.backpack), ("hand", 2.0 * self.hand)):
            if not 0.0 <= value <= HEAVIEST * self.mass:
                raise InputError(
                    f"walking: {name} must be from 0 to {HEAVIEST:.0%} of the body's mass, got {value:g} kg"
                )
        if not 0.0 < self.friction <= 2.0 or not 0.0 <= self.width <= 0.5:
            raise InputError(
                f"walking: friction must be in (0, 2] and width from 0 to 0.5 m, got {self.friction:g} and "
                f"{self.width:g} m"
            )
        for name, factor in self.strength.items():
            if number(factor, f"walking: strength of '{name}'") <= 0.0:
                raise InputError(f"walking: strength of '{name}' must be positive, got {factor:g}")

    def _check_schedule(self) -> None:
        if not 0.0 < self.double < self.heel_off < 1.0:
            raise InputError(
                "walking: double support must end before heel off, within the step; without it no foot "
                f"would carry from step to step. Got double = {self.double:g}, heel_off = {self.heel_off:g}"
            )
        if not 0.0 < self.ball <= 1.0 or not 0.0 < self.flat < self.heel_off:
            raise InputError(
                "walking: ball must be in (0, 1] and flat before heel off, got "
                f"{self.ball:g} and {self.flat:g}"
            )
        if type(self.points) is not int or not 6 <= self.points <= 60:
            raise InputError(f"walking: points must be an integer from 6 to 60, got {shown(self.points)}")
        if self.closure < 2 or self.clearances < 1:
            raise InputError("walking: closure needs at least 2 instants, clearances at least 1")

    def changed(self, **changes: Any) -> Walking:
        """The same with some of it replaced."""
        known = [x.name for x in fields(self)]
        for name in changes:
            if name not in known:
                raise InputError(f"walking: {unknown_name('setting', name, known)}")
        return replace(self, **changes)
