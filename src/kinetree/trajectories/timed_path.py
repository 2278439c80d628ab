"""A path and when each of its places is passed: q(t) = path(s(t))."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, frozen, number, numbers
from kinetree.errors import InputError, must_be
from kinetree.state import State
from kinetree.trajectories.base import Trajectory

CLOSE = 1e-9  # of the path: how well the timing must begin and end where the path does
HALVINGS = 60  # until the instant is found at which a place is passed


@dataclass(frozen=True, eq=False)
class TimedPath(Trajectory):
    """A path over s, passed as a ``timing`` s(t) says: qd = q' sd, qdd = q' sdd + q'' sd^2.

    ``path`` is a trajectory whose "time" is the parameter s; ``timing`` one of a single coordinate that never
    goes back. See :func:`retime`.

    >>> import kinetree as kt
    >>> path = kt.trajectories.cycloid([0, 0], [1, 2], duration=1.0)
    >>> slow = TimedPath(path, kt.trajectories.cubic([0.0], [1.0], duration=4.0))
    >>> slow.duration, slow.at(2.0).q.tolist()
    (4.0, [0.5, 1.0])
    """

    path: Trajectory
    timing: Trajectory

    @cached_property
    def _pieces(self) -> tuple[Array, list[tuple[int, int]]]:
        """Breaks in time, and for each piece those of timing and path."""
        inner = self.path.breaks[1:-1]
        t = np.unique(np.concatenate([self.timing.breaks, [self._passed(float(s)) for s in inner]]))
        t = t[np.append(True, np.diff(t) > 1e-12 * t[-1])]
        t[-1] = self.timing.duration
        middle = 0.5 * (t[1:] + t[:-1])
        s = self.timing.at(middle).q[:, 0]
        first = np.clip(np.searchsorted(self.timing.breaks, middle) - 1, 0, len(self.timing.breaks) - 2)
        second = np.clip(np.searchsorted(self.path.breaks, s) - 1, 0, len(self.path.breaks) - 2)
        return frozen(t), list(zip(first.tolist(), second.tolist(), strict=True))

    def _passed(self, s: float) -> float:
        """When s is reached, by bisection."""
        low, high = 0.0, self.timing.duration
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if float(self.timing.at(middle).q[0]) < s:
                low = middle
            else:
                high = middle
        return high

    @property
    def breaks(self) -> Array:
        """Those of the timing, and when those of the path are passed."""
        return self._pieces[0]

    @property
    def n_dof(self) -> int:
        """Number of coordinates of the path."""
        return self.path.n_dof

    def piece(self, i: int, t: Array) -> State:
        """The chain rule on one piece of both."""
        first, second = self._pieces[1][i]
        when = self.timing.piece(first, t)
        return _chained(self.path.piece(second, self._inside(when.q[:, 0])), when)

    def at(self, time: ArrayLike) -> State:
        """Positions, velocities and accelerations (..., n_dof) at times (...) in s."""
        t = finite(numbers(time, "time"), "time")
        when = self.timing.at(t.reshape(-1))
        found = _chained(self.path.at(self._inside(when.q[:, 0])), when)
        return State(*(x.reshape((*t.shape, self.n_dof)) for x in (found.q, found.qd, found.qdd)))

    def _inside(self, s: Array) -> Array:
        return np.clip(s, 0.0, self.path.duration)


def retime(path: Trajectory, timing: Trajectory) -> TimedPath:
    """The path of a trajectory, passed at other times: q(t) = path(s(t)).

    ``timing`` has one coordinate, s (in the unit of the path's own time), from 0 to the path's duration, and
    never goes back.

    >>> import kinetree as kt
    >>> path = kt.trajectories.quintic([0.0, 0.0], [1.0, 2.0], duration=1.0)
    >>> slow = retime(path, kt.trajectories.cubic([0.0], [1.0], duration=4.0))
    >>> slow.duration, slow.at(2.0).q.tolist()
    (4.0, [0.5, 1.0])
    """
    for value, what in ((path, "path"), (timing, "timing")):
        if not isinstance(value, Trajectory):
            raise InputError(must_be(f"the {what}", "a trajectory", value))
    if timing.n_dof != 1:
        raise InputError(f"the timing must have one coordinate, s, got {timing.n_dof}")
    end = path.duration
    first, last = (float(timing.at(t).q[0]) for t in (0.0, timing.duration))
    if abs(first) > CLOSE * end or abs(last - end) > CLOSE * end:
        raise InputError(
            f"the timing must go from s = 0 to {end:g}, the end of the path; it goes from {first:g} to "
            f"{last:g}"
        )
    t = np.linspace(0.0, timing.duration, 2001)
    back = timing.at(t).qd[:, 0]
    if back.min() < -CLOSE * end / timing.duration:
        k = int(np.argmin(back))
        raise InputError(
            f"the timing runs backward at t = {t[k]:.6g} s: its rate is {number(back[k], 'rate'):.3g}"
        )
    return TimedPath(path, timing)


def _chained(path: State, when: State) -> State:
    """q' and q'' by s and the timing's rates, as rates by time."""
    rate, change = when.qd, when.qdd
    return State(path.q, path.qd * rate, path.qd * change + path.qdd * rate**2)
