"""An example: what it costs in time to spare a joint.

The fastest motion of a two-link arm (001, section 6.3; 000, section 4.1) again and again, each time with less
force allowed in its first joint. The documents compute forces inside the joints (000, figures 4.3 and 4.6)
but do not limit them. The other example there, the arm with a sliding joint, takes 0.6463 s at its optimum
(0.7127, 0.6580 or 0.5858 s if the second angle is counted from elsewhere); the 0.5585 s that 000 prints
cannot be reproduced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import finite, numbers
from kinetree.errors import InputError
from kinetree.model import zoo
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.predict import predict
from kinetree.motion.problem.problem import Problem
from kinetree.motion.terms import Boundary, ReactionLimit, Time, TorqueLimits

LIMITS = (30.0, 25.0, 20.0, 15.0, 12.0, 10.0)  # N
BODY = "link1"


@dataclass(frozen=True, eq=False)
class ForcePrice:
    """The fastest motions with the force in the first joint free, then limited to ``limits`` (N)."""

    free: Prediction
    limits: tuple[float, ...]
    limited: tuple[Prediction, ...]

    @property
    def largest_force(self) -> float:
        """In the first joint of the motion without a limit (N)."""
        return _largest_force(self.free)

    @property
    def durations(self) -> tuple[float, ...]:
        """Of the motions with a limit (s)."""
        return tuple(found.duration for found in self.limited)

    @property
    def prices(self) -> tuple[float, ...]:
        """Time that one newton less would cost at each limit (s/N): the limit's shadow price."""
        return tuple(
            -sum(bound.price for bound in found.active if bound.family == ReactionLimit.family)
            for found in self.limited
        )

    def __str__(self) -> str:
        lines = ["force in the first joint / N   duration / s   slower   1 N less costs / ms"]
        lines.append(f"free: at most {self.largest_force:6.2f}          {self.free.duration:.4f}")
        for limit, T, price in zip(self.limits, self.durations, self.prices, strict=True):
            slower = 100.0 * (T / self.free.duration - 1.0)
            lines.append(f"{limit:20.2f}          {T:.4f}      {slower:5.1f} %   {1e3 * price:10.3f}")
        return "\n".join(lines)


def price_of_force(limits: Sequence[float] = LIMITS, segments: int = 20) -> ForcePrice:
    """The table of limits and durations; each motion is sought from the one before.

    >>> found = price_of_force([20.0])
    >>> round(found.free.duration, 4), found.durations[0] > found.free.duration
    (0.3931, True)
    """
    wanted = finite(numbers(limits, "limits"), "limits")
    if wanted.ndim != 1 or not len(wanted) or (wanted <= 0.0).any() or (np.diff(wanted) >= 0.0).any():
        raise InputError(f"limits must be positive forces (N), each less than the one before, got {limits!r}")
    rest = [Boundary("start", [0.0, -2.0], 0.0), Boundary("end", [1.0, -1.0], 0.0)]
    constraints = [*rest, TorqueLimits()]
    problem = Problem(zoo.two_link(), objective=Time(), constraints=constraints, segments=segments)
    free = predict(problem)
    found: list[Prediction] = []
    for limit in wanted.tolist():
        held = problem.changed(constraints=[*constraints, ReactionLimit(BODY, limit)])
        found.append(predict(held, start=found[-1] if found else free))
    return ForcePrice(free, tuple(wanted.tolist()), tuple(found))


def _largest_force(prediction: Prediction) -> float:
    k = prediction.problem.mechanism.body_index(BODY)
    return float(np.linalg.norm(prediction.reaction[:, k, :3], axis=-1).max())
