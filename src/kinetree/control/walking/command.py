"""Commands of a walk over time: speed and heading."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, finite, number, numbers
from kinetree.errors import InputError, SimulationError

Course = Callable[[float], float]


@dataclass(frozen=True, eq=False)
class Command:
    """Speed (m/s) and heading (rad, to the left): numbers, rows (t, value) joined by lines, or functions."""

    speed: Any = None
    heading: Any = 0.0

    @property
    def turns(self) -> bool:
        """Whether the heading is anything but straight ahead."""
        return not isinstance(self.heading, float) or self.heading != 0.0

    def speed_at(self, t: float, usual: float) -> float:
        """The commanded speed at t (s)."""
        return usual if self.speed is None else _value(self.speed, t, "speed")

    def heading_at(self, t: float) -> float:
        """The commanded heading at t (s)."""
        return _value(self.heading, t, "heading")

    def fastest(self) -> float | None:
        """The largest speed that is known in advance."""
        if isinstance(self.speed, float):
            return abs(self.speed)
        return float(np.abs(self.speed[:, 1]).max()) if isinstance(self.speed, np.ndarray) else None


def course(given: Any, name: str) -> Any:
    """A checked number, table (k, 2) of times that ascend and values, or function of time.

    >>> course([[0.0, 0.3], [5.0, 0.0]], "speed").tolist()
    [[0.0, 0.3], [5.0, 0.0]]
    """
    if given is None or callable(given):
        return given
    if np.ndim(given) == 0:
        return float(number(given, name))
    rows = finite(numbers(given, name), name)
    if rows.ndim != 2 or rows.shape[1] != 2 or not len(rows):
        raise InputError(
            f"{name} must be a number, rows of (time, value) or a function of time, got shape {rows.shape}"
        )
    if len(rows) > 1 and (np.diff(rows[:, 0]) <= 0.0).any():
        raise InputError(f"the times of {name} must ascend, got {rows[:, 0].tolist()}")
    return rows


def _value(given: Any, t: float, name: str) -> float:
    if isinstance(given, float):
        return given
    if isinstance(given, np.ndarray):
        table: Array = given
        return float(np.interp(t, table[:, 0], table[:, 1]))
    value = float(number(given(t), f"{name} at t = {t:g} s", SimulationError))
    return value
