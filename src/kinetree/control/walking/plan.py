"""Where and when to step: foot placement by the divergent component of motion at a fixed step time.

The divergent component of motion xi = c + v / w of the center of mass c (w = sqrt(g / height)) runs away from
the stance foot p as p + (xi - p) exp(w t) (Takenaka, Matsumoto, Yoshiike 2009; Englsberger, Ott,
Albu-Schaeffer 2015). The next foothold is put where the offset that a periodic walk needs is left when the
step ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.control.walking.view import View
from kinetree.control.walking.walker import Walker

SWING = 0.95  # share of the step time in which the swing foot reaches its foothold
RISE = 0.4  # share of the swing in which it is lifted
TOUCH = 0.05  # share of the weight on the swing foot that ends a step
LATEST = 2.0  # step times after which a step ends in any case
LEARN, TRIM, SLOPE = 0.3, 0.2, 0.2  # how fast step time, speed and slope of the ground are learned
SPEED_BAND, STEEPEST = (
    0.15,
    0.2,
)  # how far the command may leave the speed, in sqrt(g L); slope believed at most
DROP = 0.3  # speed at which a late foot goes on down, in sqrt(g L)
BLEND = 0.9  # share of a step over which the height of the next foot is taken over
HURRY, LONG = 1.5, 0.45  # steps are shortened in time by that factor if they had to be longer than this, in L
REACH, LONGEST = 0.97, 0.6  # of a leg and of a step, in L
NARROWEST = 0.11  # distance between the feet, in L


@dataclass(frozen=True)
class Gait:
    """Dimensionless parameters: lengths in L (stretched leg), times in 1 / w, speed in sqrt(g L)."""

    speed: float
    step_time: float = 1.5
    clearance: float = 0.08
    width: float = 0.15
    height: float = 0.88


def minimum_jerk(s: float) -> tuple[float, float, float]:
    """Value, rate and acceleration of 10 s^3 - 15 s^4 + 6 s^5, at rest outside of 0 to 1 (Flash, Hogan 1985).

    >>> minimum_jerk(0.5)
    (0.5, 1.875, 0.0)
    """
    s = min(max(s, 0.0), 1.0)
    return s**3 * (10 - 15 * s + 6 * s * s), 30 * s * s * (1 - s) ** 2, 60 * s * (1 - s) * (1 - 2 * s)


@dataclass
class Swing:
    """Position, velocity and acceleration (d,) wanted of the swing foot."""

    position: Array
    velocity: Array
    acceleration: Array


@dataclass(eq=False)
class Plan:
    """The state of the walk: which foot stands, since when, what has been learned. One call per tick."""

    walker: Walker
    gait: Gait
    stance: int = 0
    steps: int = 0
    phase: float = 0.0  # s since touch-down; runs faster when in a hurry
    since: float = 0.0  # when the present step began
    last: float = 0.0
    rate: float = 1.0
    slope: float = 0.0
    begun: bool = False
    swing: Swing | None = None
    foothold: Array = field(default_factory=lambda: np.zeros(0))
    error: Array = field(default_factory=lambda: np.zeros(0))  # of the divergent component

    def __post_init__(self) -> None:
        g, L = self.walker.gravity, self.walker.leg
        self.unit = math.sqrt(g * L)
        self.speed = self.command = self.gait.speed * self.unit
        self.width = max(self.gait.width * L, self.walker.hip_width)
        self._settled: Array | None = None
        self._passed: float | None = None
        self._level_before = self.level = 0.0

    @property
    def moving(self) -> int:
        """The foot that swings."""
        return 1 - self.stance

    def update(self, t: float, view: View, loads: Array) -> None:
        """Go on to time t (s); ``loads`` (2,) are the normal forces on the feet (N)."""
        if not self.begun:
            self._begin(view)
        self.phase += self.rate * (t - self.last)
        self.last = t
        weight = self.walker.mechanism.mass * self.walker.gravity
        touches = self.phase > 0.5 * self.T and loads[self.moving] > TOUCH * weight
        if touches or self.phase > LATEST * self.T:
            self._exchange_feet(t, view)
        p = view.feet[self.stance].position
        share = minimum_jerk(self.phase / (BLEND * self.T))[0]
        self.level = self._level_before + share * (
            p[-1] + self.slope * (view.center[0] - p[0]) - self._level_before
        )
        self._place_foot(view, p)
        self._move_foot(p)

    # ---- helpers -----------------------------------------------------------------------------------------
    def _begin(self, view: View) -> None:
        stance, moving = view.feet[self.stance].position, view.feet[self.moving].position
        self.height = float(view.center[-1] - stance[-1])  # that of the first posture is kept
        self.w = math.sqrt(self.walker.gravity / self.height)
        self.T = self.learned = self.gait.step_time / self.w
        self._level_before = self.level = float(stance[-1])
        self._lifted, self.begun = moving.copy(), True

    def _exchange_feet(self, t: float, view: View) -> None:
        """A new step: learn from the last one."""
        if self._passed is not None:
            self.learned += LEARN * (min(max(self.phase, 0.6 * self.T), 1.3 * self.T) - self.learned)
            mean = (view.center[0] - self._passed) / (t - self.since)
            band = SPEED_BAND * self.unit
            wanted = self.command + TRIM * (self.speed - mean)
            self.command = min(max(wanted, self.speed - band), self.speed + band)
        self._passed = float(view.center[0])
        settled = view.feet[self.stance].position.copy()
        if self._settled is not None and abs(settled[0] - self._settled[0]) > 0.05 * self.walker.leg:
            found = (settled[-1] - self._settled[-1]) / (settled[0] - self._settled[0])
            self.slope += SLOPE * (min(max(found, -STEEPEST), STEEPEST) - self.slope)
        self._settled = settled
        self.stance, self.since, self.phase, self.rate = self.moving, t, 0.0, 1.0
        self.steps += 1
        self._lifted = view.feet[self.moving].position.copy()
        self._level_before = self.level

    def _offset(self, swinging: int, d: int) -> Array:
        """Of the divergent component from the foot at the start of a step that ``swinging`` has ended."""
        growth = math.exp(self.w * self.learned)
        b = np.zeros(d)
        b[0] = self.command * self.learned / (growth - 1.0)
        if d > 1:
            b[1] = -_side(swinging) * self.width / (growth + 1.0)
        return b

    def _place_foot(self, view: View, p: Array) -> None:
        """The next foothold, and how fast time must run to get there."""
        L, w, foot = self.walker.leg, self.w, p[:-1]
        xi = view.center[:-1] + view.velocity[:-1] / w
        left = max(self.learned - self.phase, 0.0)
        b = self._offset(self.moving, len(xi))
        self.rate = 1.0
        if left > 0.0:
            away = xi - foot
            far = abs(away[1]) if len(xi) > 1 and abs(away[0]) <= abs(away[1]) else np.linalg.norm(away)
            need = math.log((LONG * L + abs(b[0])) / max(float(far), 1e-6)) / w
            if need < left:
                self.rate = min(left / max(need, 1e-6), HURRY)
        f = foot + (xi - foot) * math.exp(w * left / self.rate) - b
        f[0] = min(max(f[0], foot[0] - LONGEST * L), foot[0] + LONGEST * L)
        if len(xi) > 1:
            side = _side(self.moving)
            apart = min(max(side * (f[1] - foot[1]), NARROWEST * L), LONGEST * L)
            f[1] = foot[1] + side * apart
        hip = view.hips[self.moving]
        room = math.sqrt(max((REACH * L) ** 2 - (hip[-1] - p[-1]) ** 2, (0.15 * L) ** 2))
        ahead = f - hip[:-1]
        distance = float(np.linalg.norm(ahead))
        if distance > room and self.phase > 0.5 * self.T:  # never a stretched knee
            f = hip[:-1] + ahead * room / distance
        now = self._offset(self.stance, len(xi))
        self.error = xi - (foot + now * math.exp(w * min(self.phase, self.T)))
        self.foothold = f

    def _move_foot(self, p: Array) -> None:
        """The swing foot on its way to the foothold; later it goes on down until it touches."""
        T = SWING * self.T
        r = self.phase / T
        share, rate, bend = minimum_jerk(r)
        d = len(p)
        x, v, a = np.zeros(d), np.zeros(d), np.zeros(d)
        way = self.foothold - self._lifted[:-1]
        x[:-1], v[:-1], a[:-1] = self._lifted[:-1] + share * way, rate * way / T, bend * way / T**2
        low, end = self._lifted[-1], p[-1] + self.slope * (self.foothold[0] - p[0])
        top = max(low, end) + self.gait.clearance * self.walker.leg
        if r < RISE:
            begin, way_up, part, s = low, top - low, RISE * T, r / RISE
        else:
            begin, way_up, part, s = top, end - top, (1.0 - RISE) * T, (r - RISE) / (1.0 - RISE)
        if r < 1.0:
            share, rate, bend = minimum_jerk(s)
            x[-1], v[-1], a[-1] = begin + way_up * share, way_up * rate / part, way_up * bend / part**2
        else:
            x[-1], v[-1] = end - DROP * self.unit * (self.phase - T), -DROP * self.unit
        self.swing = Swing(x, v * self.rate, a * self.rate**2)


def _side(foot: int) -> float:
    """1 for the left foot, the first one; -1 for the right one."""
    return 1.0 if foot == 0 else -1.0
