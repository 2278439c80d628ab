"""A law that follows a predicted jump, or hops on and on, and lands where its actual flight ends.

On the ground it is the law of a gait. In flight the center of mass is as free as a stone: the feet land where
they were predicted, moved by its error at the end of the flight and by the divergent part of its velocity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.analysis.legged_stance import AXES, LeggedStance
from kinetree.control.whole_body.reference import PointReference, Wanted, between_rows
from kinetree.control.whole_body.task import LawTask
from kinetree.control.whole_body.tracking import AHEAD, ALONG, LATE, RETURNS, TRUNK, Following
from kinetree.motion.outcome.phased_prediction import PhasedPrediction
from kinetree.tasks.gaits.wanted import wanted_rows
from kinetree.tasks.sampled import SampledMotion

ROWS = 200  # of the table of a phase
FLYING = 0.01  # weight of the trunk's attitude in flight beside that of a point, which must land in place
NEARER = 0.5  # of the way, with every hop: by so much a trunk on a point returns to where it was predicted
LEARN = 0.5  # of the velocity at take-off that was not expected: by so much more footholds move
SUPPORTS = 0.02  # of the leg: extent of all feet from which on they balance a trunk


class LeapMotion:
    """The table of a predicted leap, phase by phase; a hop is continued, each time a distance further."""

    def __init__(
        self, who: LeggedStance, prediction: PhasedPrediction, distance: float, cyclic: bool
    ) -> None:
        parts, times, begun = [], [], 0.0
        for part in prediction.parts:
            s = np.linspace(0.0, 1.0, ROWS + 1)
            parts.append(wanted_rows(who, SampledMotion(part, s)))
            times.append(begun + part.duration * s)
            begun += part.duration
        self.rows, self.times, self.duration = _joined(parts), np.concatenate(times), begun
        last = len(self.times)
        self.landed = slice(0, ROWS + 1) if cyclic else slice(last - ROWS - 1, last)  # rows after the flight
        self._cyclic, self._moved = cyclic, distance * np.eye(3)[AXES.index(who.forward)]
        self._slide = who.mechanism.joint_index(who.slides(who.forward))

    def at(self, t: float) -> Wanted:
        """What is asked for at t (s); a jump stays where it ends."""
        cycles = 0.0
        if self._cyclic:
            cycles, t = divmod(t, self.duration)
        i = int(np.searchsorted(self.times, t, side="right")) - 1
        i = min(max(i, 0), len(self.times) - 2)
        share = float(np.clip((t - self.times[i]) / (self.times[i + 1] - self.times[i]), 0.0, 1.0))
        return between_rows(self.rows, i, share, self._slide, float(cycles) * self._moved)


def _joined(parts: list[Wanted]) -> Wanted:
    """One table; where phases meet, both of their rows."""

    def joined(name: str) -> Array:
        return np.concatenate([getattr(x, name) for x in parts])

    points = PointReference(*(np.concatenate([x.points[k] for x in parts]) for k in range(3)))
    return Wanted(
        joined("q"), joined("qd"), joined("qdd"), joined("com"), joined("com_rate"), points, joined("force")
    )


class LeapTiming:
    """When feet of a leap are in the air: all of them, from take-off to landing."""

    overlap = 0.0

    def __init__(self, feet: int, takeoff: float, flight: float, period: float | None) -> None:
        """``period`` of hops that go on (s), None of a jump."""
        self.feet, self.takeoff, self.swing, self.period = feet, takeoff, flight, period

    def phase(self, t: float) -> tuple[Array, Array]:
        """How much of its flight every foot has done, and the time left (s), below zero on the ground."""
        if self.period is not None:
            t = t % self.period
        done, left = (t - self.takeoff) / self.swing, self.takeoff + self.swing - t
        if done < 0.0:
            left = -t - 1e-12
        elif left <= 0.0:
            left = min(left, -1e-12)
        return np.full(self.feet, done), np.full(self.feet, left)

    def settings(self) -> dict[str, Any]:
        """What results keep of it."""
        return {"law": "Following", "takeoff": self.takeoff, "flight": self.swing}


class FollowingLeap(Following):
    """The law of a predicted leap."""

    def __init__(
        self,
        who: LeggedStance,
        wanted: LeapMotion,
        timing: LeapTiming,
        most: Array,
        tasks: Sequence[LawTask] = (),
    ) -> None:
        super().__init__(who, wanted, timing, most, tasks)
        ahead = AXES.index(who.forward)
        places = np.concatenate([who.places(foot)[:, ahead] for foot in who.feet])
        self._wide = float(np.ptp(places)) > SUPPORTS * who.leg
        self.along = 1.0 if self._wide else ALONG  # the center of pressure moves, in a point it cannot
        self.flying = 1.0 if self._wide else FLYING
        self._returns = RETURNS
        self._sway = TRUNK * self._rate  # feet land together
        self._fall, self._ahead = LATE[False] * self._rate**2 * who.leg, AHEAD / self._rate
        self._gain, kept = _gains(who, wanted)
        self._lead = kept / self._gain
        self._again = NEARER / timing.period if timing.period else 0.0  # 1/s

    @override
    def reset(self) -> None:
        """Forget what earlier runs left: positions of feet and what was learned of footholds."""
        super().reset()
        self._bias = np.zeros(3)  # of footholds, learned (m)
        self._expected: Array | None = None  # error of the velocity at the next take-off (m/s)
        self._remaining = 0.0  # of the flight (s)

    @override
    def _foothold(self, place: Array, rate: Array, error: Array, support: Array, left: float) -> Array:
        """By how much (3,) the foothold moves: with the center of mass, further for its velocity to vanish.

        Feet that extend along the ground return to where they were predicted and pull the trunk there. A
        point is put further away for that, as the trunk falls back from it; and what is found at every
        take-off beside the velocity that was expected is learned.
        """
        lands = support + place + left * rate
        if self._wide:
            found: Array = lands + self._reachable(self._lead * rate - self._back(lands))
            return found
        if left > self._remaining and self._expected is not None:
            self._bias = self._bias + LEARN * (rate - self._expected) / self._gain
        self._remaining, self._expected = left, -self._again * lands
        found = lands + self._reachable(self._lead * rate + self._again / self._gain * lands + self._bias)
        return found


def _gains(who: LeggedStance, wanted: LeapMotion) -> tuple[float, float]:
    """What is left at the end of a stance of an error of place (1/s) and of velocity at its start.

    Over a foot that rests, the center of mass is off by x with x'' = x F / (m z), where force F and height z
    are predicted.
    """
    up, stance = AXES.index(who.up), wanted.landed
    rows = wanted.rows
    height = rows.com[stance, up] - rows.points.p[stance, :, up].min()
    force = np.maximum(rows.force[stance, :, up].sum(axis=1), 0.0)
    return gains(wanted.times[stance], np.sqrt(force / who.mechanism.mass / height))


def gains(t: Array, rate: Array) -> tuple[float, float]:
    """a, b of x'' = rate^2 x, whose velocity at the last of the times t is a x + b x' of the first.

    Begun with x = -x' b / a, it ends without velocity.

    >>> import numpy as np
    >>> t = np.linspace(0.0, 1.0, 11)
    >>> np.allclose(gains(t, np.full(11, 3.0)), [3.0 * np.sinh(3.0), np.cosh(3.0)])
    True
    """
    through = np.eye(2)
    for h, w in zip(np.diff(t), 0.5 * (rate[1:] + rate[:-1]), strict=True):
        x = max(w * h, 1e-9)
        through = np.array([[np.cosh(x), h * np.sinh(x) / x], [x / h * np.sinh(x), np.cosh(x)]]) @ through
    return float(through[1, 0]), float(through[1, 1])
