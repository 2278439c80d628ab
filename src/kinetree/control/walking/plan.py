"""Where and when to step: foot placement by the divergent component of motion at a fixed step time.

The divergent component of motion xi = c + v / w of the center of mass c (w = sqrt(g / height)) runs away from
the stance foot p as p + (xi - p) exp(w t) (Takenaka, Matsumoto, Yoshiike 2009; Englsberger, Ott,
Albu-Schaeffer 2015). The next foothold is put where the offset that a periodic walk needs is left when the
step ends. Feet that swing together are one foot to the plan, which stands where the center of mass is wanted;
each of them keeps its distance from there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.control.walking.command import Command
from kinetree.control.walking.view import View
from kinetree.control.walking.walker import Walker

SWING = 0.95  # share of the step time in which the swing foot reaches its foothold
RISE = 0.4  # share of the swing in which it is lifted
TOUCH = 0.05  # share of the weight on a swing foot that ends its swing
LATEST, LATE = 2.0, 1.15  # step times after which a step ends in any case, or if some feet have landed
LEARN, TRIM, SLOPE = 0.3, 0.2, 0.2  # how fast step time, speed and slope of the ground are learned
SPEED_BAND = 0.15  # how far the command may leave the speed, in sqrt(g L)
STEEPEST = 0.2  # slope believed at most
DROP = 0.3  # speed at which a late foot goes on down, in sqrt(g L)
BLEND = 0.9  # share of a step over which the height of the next foot is taken over
HURRY, LONG = 1.5, 0.45  # steps are shortened in time by that factor if they had to be longer than this, in L
REACH, LONGEST = 0.97, 0.6  # of a leg and of a step, in L
NARROWEST = 0.11  # distance between the feet of a biped, in L
ASIDE = 0.35  # longest step to the side of other walkers, in L


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
    """Position, velocity and acceleration (d,) wanted of a swing foot."""

    position: Array
    velocity: Array
    acceleration: Array


@dataclass(eq=False)
class Plan:
    """The state of the walk: which feet stand, since when, what has been learned. One call per tick."""

    walker: Walker
    gait: Gait
    wanted: Command | None = None  # speed and heading over time; default the gait's speed, straight ahead
    group: int = 0  # of feet that stand
    steps: int = 0
    phase: float = 0.0  # s since touch-down; runs faster when in a hurry
    since: float = 0.0  # when the present step began
    last: float = 0.0
    rate: float = 1.0
    slope: float = 0.0
    begun: bool = False
    heading: float = 0.0  # rad, to the left
    swings: dict[int, Swing] = field(default_factory=dict)
    foothold: Array = field(default_factory=lambda: np.zeros(0))
    error: Array = field(default_factory=lambda: np.zeros(0))  # of the divergent component
    missing: float = 0.0  # m by which the next foothold is not where balance asks for it

    def __post_init__(self) -> None:
        g, L = self.walker.gravity, self.walker.leg
        self.unit = math.sqrt(g * L)
        self.speed = self.command = self.gait.speed * self.unit
        self.width = max(self.gait.width * L, self.walker.hip_width) if self.walker.is_biped else 0.0
        self._settled: Array | None = None
        self._passed: Array | None = None
        self._level_before = self.level = 0.0
        self._landed: set[int] = set()

    @property
    def stance(self) -> tuple[int, ...]:
        """The feet that stand."""
        return self.walker.groups[self.group]

    @property
    def moving(self) -> tuple[int, ...]:
        """The feet that swing."""
        return self.walker.groups[1 - self.group]

    def landed(self, foot: int) -> bool:
        """Whether a foot of the swinging group is on the ground already."""
        return foot in self._landed

    def update(self, t: float, view: View, loads: Array) -> None:
        """Go on to time t (s); ``loads`` (feet,) are the normal forces on the feet (N)."""
        self._follow(t)
        if not self.begun:
            self._begin(view)
        self.phase += self.rate * (t - self.last)
        self.last = t
        if self._is_over(loads):
            self._exchange_feet(t, view)
        p = self._support(view)
        self.support_point = p[:-1]
        share = minimum_jerk(self.phase / (BLEND * self.T))[0]
        ahead = float(self._ahead() @ (view.center[:-1] - p[:-1]))
        self.level = self._level_before + share * (p[-1] + self.slope * ahead - self._level_before)
        self._place_feet(view, p)
        for foot in self.moving:
            self._move_foot(foot, p)

    # ---- helpers -----------------------------------------------------------------------------------------
    def _follow(self, t: float) -> None:
        """The speed and heading that are asked for now."""
        if self.wanted is None:
            return
        speed = self.wanted.speed_at(t, self.gait.speed * self.unit)
        self.command += speed - self.speed
        self.speed, self.heading = speed, self.wanted.heading_at(t)

    def _ahead(self) -> Array:
        """Unit vector (d - 1,) of the walk along the ground."""
        if self.walker.is_planar:
            return np.ones(1)
        return np.array([math.cos(self.heading), math.sin(self.heading)])

    def _local(self, x: Array, back: bool = False) -> Array:
        """Components (ahead, left) of a vector along the ground, or the way back."""
        if self.walker.is_planar or self.heading == 0.0:
            return x
        c, s = math.cos(self.heading), math.sin(-self.heading if back else self.heading)
        return np.array([c * x[0] + s * x[1], c * x[1] - s * x[0]])

    def _support(self, view: View) -> Array:
        """Where the center of mass is wanted above the feet that stand (d,), at their height."""
        p = np.zeros(len(self.walker.axes))
        for k in self.stance:
            p += view.feet[k].position
        p /= len(self.stance)
        if not self.walker.is_biped:
            mean = sum(self._offsets[k] for k in self.stance) / len(self.stance)
            p[:-1] -= self._local(mean, back=True)
        return p

    def _begin(self, view: View) -> None:
        places = np.array([foot.position for foot in view.feet])
        self._offsets = places[:, :-1] - view.center[:-1]
        ground = float(places[list(self.stance), -1].mean())
        self.height = float(view.center[-1] - ground)  # that of the first posture is kept
        self.w = math.sqrt(self.walker.gravity / self.height)
        self.T = self.learned = self.gait.step_time / self.w
        self._level_before = self.level = ground
        self._lifted, self.begun = places.copy(), True

    def _is_over(self, loads: Array) -> bool:
        """Whether the step has ended: the feet that swung carry weight."""
        weight = self.walker.mechanism.mass * self.walker.gravity
        if self.phase > 0.5 * self.T:
            self._landed |= {k for k in self.moving if loads[k] > TOUCH * weight / len(self.moving)}
        touched = len(self._landed) == len(self.moving)
        return (
            touched
            or self.phase > LATEST * self.T
            or (len(self._landed) > 0 and self.phase > LATE * self.T and len(self.moving) > 1)
        )

    def _exchange_feet(self, t: float, view: View) -> None:
        """A new step: learn from the last one."""
        ahead = self._ahead()
        if self._passed is not None:
            self.learned += LEARN * (min(max(self.phase, 0.6 * self.T), 1.3 * self.T) - self.learned)
            mean = float(ahead @ (view.center[:-1] - self._passed)) / (t - self.since)
            band = SPEED_BAND * self.unit
            wanted = self.command + TRIM * (self.speed - mean)
            self.command = min(max(wanted, self.speed - band), self.speed + band)
        self._passed = view.center[:-1].copy()
        settled = self._support(view)
        if self._settled is not None:
            way = float(ahead @ (settled[:-1] - self._settled[:-1]))
            if abs(way) > 0.05 * self.walker.leg:
                found = (settled[-1] - self._settled[-1]) / way
                self.slope += SLOPE * (min(max(found, -STEEPEST), STEEPEST) - self.slope)
        self._settled = settled
        self.group, self.since, self.phase, self.rate = 1 - self.group, t, 0.0, 1.0
        self._landed = set()
        self.steps += 1
        self._lifted = np.array([foot.position for foot in view.feet])
        self._level_before = self.level

    def _offset(self, swinging: int, d: int) -> Array:
        """Of the divergent component from the foot at the start of a step that ``swinging`` has ended."""
        growth = math.exp(self.w * self.learned)
        b = np.zeros(d)
        b[0] = self.command * self.learned / (growth - 1.0)
        if d > 1:
            b[1] = -_side(swinging) * self.width / (growth + 1.0)
        return b

    def _place_feet(self, view: View, p: Array) -> None:
        """The next foothold, and how fast time must run to get there."""
        L, w, foot = self.walker.leg, self.w, p[:-1]
        xi = view.center[:-1] + view.velocity[:-1] / w
        left = max(self.learned - self.phase, 0.0)
        b = self._offset(1 - self.group, len(xi))
        away = self._local(xi - foot)
        self.rate = 1.0
        if left > 0.0:
            far = abs(away[1]) if len(xi) > 1 and abs(away[0]) <= abs(away[1]) else np.linalg.norm(away)
            need = math.log((LONG * L + abs(b[0])) / max(float(far), 1e-6)) / w
            if need < left:
                self.rate = min(left / max(need, 1e-6), HURRY)
        wish = away * math.exp(w * left / self.rate) - b
        f = wish.copy()
        f[0] = min(max(f[0], -LONGEST * L), LONGEST * L)
        if len(xi) > 1 and self.walker.is_biped:
            side = _side(1 - self.group)
            f[1] = side * min(max(side * f[1], NARROWEST * L), LONGEST * L)
        elif len(xi) > 1:
            f[1] = min(max(f[1], -ASIDE * L), ASIDE * L)
        self.foothold = foot + self._local(f, back=True)
        self._goals = {}
        for k in self.moving:
            goal = self.foothold
            if not self.walker.is_biped:
                goal = goal + self._local(self._offsets[k], back=True)
            self._goals[k] = self._within_reach(view.hips[k], goal, p[-1])
        if self.walker.is_biped:
            self.foothold = self._goals[self.moving[0]]
        now = self._offset(self.group, len(xi))
        grown = self._local(now * math.exp(w * min(self.phase, self.T)), back=True)
        self.error = xi - (foot + grown)
        missing = wish - self._local(self.foothold - foot)
        self.missing = math.sqrt(float(missing @ missing))

    def _within_reach(self, hip: Array, goal: Array, ground: float) -> Array:
        """The foothold, or the nearest to it that needs no stretched knee."""
        L = self.walker.leg
        room = math.sqrt(max((REACH * L) ** 2 - (hip[-1] - ground) ** 2, (0.15 * L) ** 2))
        ahead = goal - hip[:-1]
        distance = float(np.linalg.norm(ahead))
        if distance > room and self.phase > 0.5 * self.T:
            nearer: Array = hip[:-1] + ahead * room / distance
            return nearer
        return goal

    def _move_foot(self, foot: int, p: Array) -> None:
        """A swing foot on its way to its foothold; later it goes on down until it touches."""
        T = SWING * self.T
        r = self.phase / T
        share, rate, bend = minimum_jerk(r)
        d, goal, lifted = len(p), self._goals[foot], self._lifted[foot]
        x, v, a = np.zeros(d), np.zeros(d), np.zeros(d)
        way = goal - lifted[:-1]
        x[:-1], v[:-1], a[:-1] = lifted[:-1] + share * way, rate * way / T, bend * way / T**2
        low, end = lifted[-1], p[-1] + self.slope * float(self._ahead() @ (goal - p[:-1]))
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
        self.swings[foot] = Swing(x, v * self.rate, a * self.rate**2)


def _side(group: int) -> float:
    """1 for the left foot, which is in the first group; -1 for the right one."""
    return 1.0 if group == 0 else -1.0
