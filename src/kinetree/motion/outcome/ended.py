"""How a search ended: what a prediction, in one phase or several, says about its solver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from kinetree.motion.options import BETWEEN_SAMPLES
from kinetree.motion.outcome.optimality import ENOUGH
from kinetree.motion.solvers.interface import Outcome, Start, Status

TOLERANCE = 1e-6  # of a search for which nothing else was asked
NOTHING = 1e-4  # part that is not worth a word


def sentence(status: Status, between: float, allowed: float = BETWEEN_SAMPLES) -> str:
    """How a search ended; what holds at the samples need not hold ``between`` them, a part of the bounds.

    >>> sentence(Status.SOLVED, 0.003)
    'Solved: the motion satisfies all constraints (between samples to 0.3 %) and no nearby motion is better.'
    """
    if status is not Status.SOLVED or between <= min(NOTHING, allowed):
        return status.value
    if between > allowed:
        exceeded = f"between them bounds are exceeded by up to {100.0 * between:.2g} %."
        return (
            f"Solved at the samples only: the motion is optimal and satisfies all constraints there; "
            f"{exceeded}"
        )
    plain: str = status.value
    return plain.replace(" and ", f" (between samples to {100.0 * between:.2g} %) and ", 1)


class Ended(ABC):
    """Whatever has an outcome."""

    outcome: Outcome
    asked: Mapping[str, Any]

    @property
    @abstractmethod
    def max_violation(self) -> float:
        """Largest violation of any constraint on the fine grid, relative to its bound or scale."""

    @property
    def allowed_between(self) -> float:
        """The part of a bound by which it may be exceeded between samples."""
        return float(self.asked.get("between") or BETWEEN_SAMPLES)

    @property
    @abstractmethod
    def violation_at_samples(self) -> float:
        """The same where the constraints are enforced."""

    @property
    def allowed_at_samples(self) -> float:
        """The part of a bound by which it may be exceeded where it is enforced."""
        return ENOUGH * float(self.asked.get("tolerance", TOLERANCE))

    @property
    def solved_at_samples(self) -> bool:
        """Whether the motion is the best of those that keep all constraints at the samples.

        The conditions of optimality, recomputed, hold.
        """
        kept = self.violation_at_samples <= self.allowed_at_samples
        return self.outcome.status is Status.SOLVED and kept

    @property
    def solved(self) -> bool:
        """Whether it is the best at the samples and keeps its constraints between them, too, as asked."""
        return self.solved_at_samples and self.max_violation <= self.allowed_between

    @property
    def word(self) -> str:
        """How it ended, in a word or a few."""
        if self.outcome.status is Status.SOLVED and not self.solved:
            return "solved at samples only"
        return str(self.outcome.status.name.lower())

    @property
    def status(self) -> str:
        """How it ended, in a sentence that says what holds at samples and what between them."""
        return sentence(self.outcome.status, self.max_violation, self.allowed_between)

    @property
    def exit_code(self) -> int:
        """For a command line: 0 if solved, 3 if no such motion was found, 4 if it stopped early."""
        if self.outcome.status is Status.SOLVED and not self.solved:
            return 3
        return {Status.SOLVED: 0, Status.INFEASIBLE: 3, Status.UNPROVEN: 3}.get(self.outcome.status, 4)

    @property
    def iterations(self) -> int:
        """Of the solver."""
        return self.outcome.iterations

    @property
    def warm_start(self) -> Start:
        """Where the same problem could go on; multipliers belong to the objective itself, not scaled."""
        outcome = self.outcome
        low, high = (side / outcome.scale for side in outcome.bound_multipliers)
        return Start(outcome.z, outcome.multipliers / outcome.scale, (low, high))
