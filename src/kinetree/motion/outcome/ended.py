"""How a search ended: what a prediction, in one phase or several, says about its solver."""

from __future__ import annotations

from kinetree.motion.solvers.interface import Outcome, Start, Status


class Ended:
    """Whatever has an outcome."""

    outcome: Outcome

    @property
    def solved(self) -> bool:
        """Whether the best motion was found: the conditions of optimality hold, recomputed."""
        return self.outcome.status is Status.SOLVED

    @property
    def status(self) -> str:
        """How it ended, in a sentence."""
        return self.outcome.status.value

    @property
    def exit_code(self) -> int:
        """For a command line: 0 if solved, 3 if no such motion was found, 4 if it stopped early."""
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
