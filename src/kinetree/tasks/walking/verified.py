"""What every predicted walk can be asked: whether it is solved, whether all its checks passed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from kinetree.result.records import Check
from kinetree.result.result import Result


class Verified(ABC):
    """A prediction with checks by name, to be derived from."""

    prediction: Any  # of one step or of several phases
    checks: dict[str, Check]
    conflicts: tuple[str, ...] = ()  # what stands in the way of a motion that was not found

    @property
    def solved(self) -> bool:
        """Whether the search converged: at its samples; what holds between them the checks say."""
        return bool(self.prediction.solved_at_samples)

    @property
    def passed(self) -> bool:
        """Whether it is solved and every check of its result passed: its own and those of the prediction."""
        return self.solved and bool(self.to_result().passed)

    @abstractmethod
    def to_result(self) -> Result:
        """All of it as a labeled result with an audit."""

    def __str__(self) -> str:
        width = max([20, *map(len, self.checks)])
        lines = [f"{name:{width}} {check}" for name, check in self.checks.items()]
        return "\n  ".join([repr(self), *lines, *self.conflicts])
