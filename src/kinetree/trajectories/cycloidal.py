"""The cycloidal trajectory: starts and ends at rest, with accelerations that are zero there too."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, frozen, positive
from kinetree.errors import InputError, must_be
from kinetree.state import State
from kinetree.trajectories.base import Trajectory, ends

MOST_DOF = 1_000_000


@dataclass(frozen=True, eq=False)
class Cycloid(Trajectory):
    """q(t) = q(0) + (q(T) - q(0)) / T (t - T / (2 pi) sin(2 pi t / T)) ([Shah2013], eq. 6.14).

    >>> cycloid([0.0], [1.0], 2.0).at(1.0).qd.round(9).tolist()
    [1.0]
    """

    start: Array
    end: Array
    time: float

    @cached_property
    def breaks(self) -> Array:
        """Start and end; there only the jerk jumps."""
        return frozen([0.0, self.time])

    @property
    def n_dof(self) -> int:
        """Number of coordinates."""
        return len(self.start)

    def piece(self, i: int, t: Array) -> State:
        """The formula and its derivatives."""
        turn, mean = 2 * np.pi / self.time, (self.end - self.start) / self.time
        angle = turn * t[:, None]
        return State(
            self.start + mean * (t[:, None] - np.sin(angle) / turn),
            mean * (1.0 - np.cos(angle)),
            mean * turn * np.sin(angle),
        )


def cycloid(start: ArrayLike, end: ArrayLike, duration: float) -> Cycloid:
    """From rest at start (n,) to rest at end (n,) in the duration (s), without jumps of the acceleration.

    q(t) = q(0) + (q(T) - q(0)) / T (t - T / (2 pi) sin(2 pi t / T)) ([Shah2013], eq. 6.14).

    >>> cycloid([0.0], [1.0], 2.0).at([0.0, 1.0, 2.0]).q[:, 0].round(9).tolist()
    [0.0, 0.5, 1.0]
    """
    T = positive(duration, "duration", "s")
    a, b = ends(start, end)
    return Cycloid(frozen(a), frozen(b), T)


def half_turn(n_dof: int, duration: float = 10.0) -> Cycloid:
    """Every joint from rest at 0 to rest at pi: q_i(t) = pi t / T - sin(2 pi t / T) / 2.

    [Mohan2007], eq. 38.

    >>> half_turn(6).at(5.0).q.round(9).tolist() == [round(np.pi / 2, 9)] * 6
    True
    """
    if type(n_dof) is not int or not 1 <= n_dof <= MOST_DOF:
        raise InputError(must_be("n_dof", f"an integer from 1 to {MOST_DOF}", n_dof))
    return cycloid(np.zeros(n_dof), np.full(n_dof, np.pi), duration)
