"""Once around a circle, or several times, from rest to rest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, frozen, number, positive
from kinetree.errors import InputError, must_be
from kinetree.state import State
from kinetree.trajectories.base import Trajectory, point


@dataclass(frozen=True, eq=False)
class Circle(Trajectory):
    """center + radius (cos phi, sin phi) in two coordinates; phi follows a cycloid from rest to rest."""

    center: Array
    radius: float
    time: float
    begin: float
    angle: float
    plane: tuple[int, int]

    @cached_property
    def breaks(self) -> Array:
        """Start and end; there only the jerk jumps."""
        return frozen([0.0, self.time])

    @property
    def n_dof(self) -> int:
        """Number of coordinates."""
        return len(self.center)

    def piece(self, i: int, t: Array) -> State:
        """The formula and its derivatives."""
        turn, mean = 2.0 * np.pi / self.time, self.angle / self.time
        phi = self.begin + mean * (t - np.sin(turn * t) / turn)
        rate, change = mean * (1.0 - np.cos(turn * t)), mean * turn * np.sin(turn * t)
        out = self.radius * np.stack([np.cos(phi), np.sin(phi)], axis=1)
        along = self.radius * np.stack([-np.sin(phi), np.cos(phi)], axis=1)
        q, qd, qdd = (
            np.tile(self.center, (len(t), 1)),
            np.zeros((len(t), self.n_dof)),
            np.zeros((len(t), self.n_dof)),
        )
        two = list(self.plane)
        q[:, two] += out
        qd[:, two] = rate[:, None] * along
        qdd[:, two] = change[:, None] * along - (rate**2)[:, None] * out
        return State(q, qd, qdd)


def circle(
    center: ArrayLike,
    radius: float,
    duration: float,
    *,
    turns: float = 1.0,
    begin: float = 0.0,
    plane: tuple[int, int] = (0, 1),
) -> Circle:
    """Around a center (n,) in the plane of two coordinates, from rest to rest; the others stay.

    ``begin`` is the angle at the start (rad), ``turns`` how often it goes round, clockwise if negative.

    >>> circle([0.5, 0.2, 0.0], 0.1, 2.0).at([0.0, 1.0]).q.round(9).tolist()
    [[0.6, 0.2, 0.0], [0.4, 0.2, 0.0]]
    """
    middle = point(center, "center")
    if (
        len(plane) != 2
        or plane[0] == plane[1]
        or not all(type(k) is int and 0 <= k < len(middle) for k in plane)
    ):
        raise InputError(must_be("plane", f"two of the {len(middle)} coordinates, such as (0, 1)", plane))
    return Circle(
        frozen(middle), positive(radius, "radius", "m"), positive(duration, "duration", "s"),
        number(begin, "begin"), 2.0 * np.pi * number(turns, "turns"), (plane[0], plane[1]),
    )  # fmt: skip
