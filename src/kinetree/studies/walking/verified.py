"""What every predicted walk can be asked: whether it is solved, whether all its checks passed."""

from __future__ import annotations

from typing import Any

from kinetree.result.records import Check


class Verified:
    """A prediction with checks by name, to be derived from."""

    prediction: Any  # of one step or of several phases
    checks: dict[str, Check]

    @property
    def solved(self) -> bool:
        """Whether the search converged: at its samples; what holds between them the checks say."""
        return bool(self.prediction.solved_at_samples)

    @property
    def passed(self) -> bool:
        """Whether it is solved and every check passed."""
        return self.solved and all(check.passed for check in self.checks.values())

    def __str__(self) -> str:
        width = max([20, *map(len, self.checks)])
        return "\n".join([repr(self), *(f"  {name:{width}} {check}" for name, check in self.checks.items())])
