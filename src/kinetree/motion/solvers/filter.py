"""The filter of a line search: which points are better than all that were left behind.

Waechter and Biegler, Mathematical Programming 106 (2006), section 2.3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array

GAIN_VIOLATION, GAIN_MERIT, ARMIJO = 1e-5, 1e-5, 1e-4
SWITCH_MERIT, SWITCH_VIOLATION = 2.3, 1.1


class LinePoint(NamedTuple):
    """A point of the line search: unknowns, objective, violation, merit, residual."""

    v: Array
    f: float
    violation: float
    merit: float
    c: Array


class Present(NamedTuple):
    """Where a step begins: violation, merit, and how the merit falls along the step."""

    violation: float
    merit: float
    descent: float


class Filter:
    """Pairs of violation and merit that a new point must not exceed both of."""

    def __init__(self, violation: float) -> None:
        size = max(1.0, violation)
        self.most, self.least = 1e4 * size, 1e-4 * size
        self.pairs: list[tuple[float, float]] = []

    def clear(self) -> None:
        """Forget all pairs: merits of another barrier cannot be compared with them."""
        self.pairs = []

    def accepts(self, trial: LinePoint, present: Present, alpha: float) -> bool:
        """Sufficient progress in violation or merit, and not worse than what the filter holds."""
        violation, merit, descent = present
        slack = 10.0 * np.finfo(float).eps * abs(merit)
        if trial.violation > self.most:
            return False
        if any(trial.violation >= old and trial.merit >= best for old, best in self.pairs):
            return False
        switching = descent < 0.0 and alpha * (-descent) ** SWITCH_MERIT > violation**SWITCH_VIOLATION
        if violation <= self.least and switching:
            return bool(trial.merit <= merit + ARMIJO * alpha * descent + slack)
        good = bool(
            trial.violation <= (1.0 - GAIN_VIOLATION) * violation
            or trial.merit <= merit - GAIN_MERIT * violation + slack
        )
        if good:
            self.pairs.append(((1.0 - GAIN_VIOLATION) * violation, merit - GAIN_MERIT * violation))
        return good
