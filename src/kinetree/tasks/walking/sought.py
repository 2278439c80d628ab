"""Steps whose length, speed or double support is sought.

The duration is an unknown of the program, with exact derivatives. Such programs have several minima, so the
search begins with steps of given duration between the bounds, each from the one before it, and goes on from
the least of them. The share of double support moves the instants of the program itself: it is sought around
that, first on a coarse grid and then between the neighbors of the least (Brent's method).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError
from kinetree.motion.options import Search
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.seek import Attempt, Found, TimeBudget, seek
from kinetree.result.records import Check
from kinetree.tasks.walking.checks import checked
from kinetree.tasks.walking.problem import Walker, walker
from kinetree.tasks.walking.search import Instants, NearStep, StepSearch
from kinetree.tasks.walking.task import Walking

APART = {"step": 0.08, "speed": 0.2, "double": 0.03}  # m, m/s, share: how far apart values are tried at most
MOST = 7  # values that are tried between the bounds at first
SAME_DOUBLE = 2e-3  # share of the step: by so little double support may miss that of the speed that was found
ROUNDS = 4  # of searches after which double support and speed are taken to agree
WITHIN = 5e-3  # share of the step to which double support is sought
AT_BOUND = 1e-3  # of the range
NAMES = {
    "step": ("length of the step", " m"),
    "speed": ("speed", " m/s"),
    "double": ("double support", " of the step"),
}
UNSOLVED = 1e3  # what a step that was not found costs


@dataclass(frozen=True, eq=False)
class Sought:
    """A step that was sought: who took it, with what was found, and which double supports were tried."""

    walker: Walker
    prediction: Prediction
    asked: Walking
    tried: dict[float, float]  # objective by share of double support

    def found_again(self, prediction: Prediction) -> Sought:
        """The same with a step that was found after this one."""
        if prediction is self.prediction:
            return self
        double = self.walker.task.double_support
        settled = self.asked.settled(**_values(self.asked, prediction), double=double)
        return replace(self, walker=walker(settled), prediction=prediction)

    def stated(self) -> dict[str, Any]:
        """Bounds and what was found, by name, and the cost of every double support that was tried."""
        found = {
            name: {"between": list(bounds), "found": getattr(self.walker.task, name)}
            for name, bounds in self.asked.sought.items()
        }
        if "double" in found:
            found["double"]["tried"] = [[share, cost] for share, cost in sorted(self.tried.items())]
        return found

    def sentences(self) -> list[str]:
        """What was found, in words; at a bound it is said so."""
        found = []
        for name, (low, high) in self.asked.sought.items():
            value, (words, unit) = getattr(self.walker.task, name), NAMES[name]
            near = WITHIN if name == "double" else AT_BOUND * (high - low)
            ends = [
                f"; the {word} bound holds it"
                for word, end in (("lower", low), ("upper", high))
                if abs(value - end) <= near
            ]
            found.append(
                f"{words} {value:.4g}{unit}, sought between {low:g} and {high:g}{unit}{''.join(ends)}"
            )
        return found


@dataclass(frozen=True, eq=False)
class SoughtSearch(StepSearch):
    """The search for a step that passes all checks from one whose length or speed was found."""

    sought: Sought | None = None

    def checks(self, mesh: Instants, prediction: Prediction) -> dict[str, Check]:
        """All checks of the step with the length and speed that were found."""
        assert self.sought is not None
        return checked(self.sought.found_again(prediction).walker, prediction, simulated=self.simulated)

    def conflicts(self, attempt: Attempt[Instants, Prediction], budget: TimeBudget) -> list[str]:
        """None: with bounds, limits are not given up one by one."""
        return []


def sought_step(
    task: Walking, search: Search, start: Any = None, *, simulated: bool = False
) -> tuple[Sought, Found[Instants, Prediction]]:
    """The step that costs least among all lengths, speeds or double supports, and how its search ended."""
    if search.save is not None:
        raise InputError(f"walk: {' and '.join(task.sought)} are sought by many searches; none can be saved")
    budget = TimeBudget(search)
    first = _least_cost(task, budget, start)
    asked = task.changed(double=first.walker.task.double_support, double_range=None)
    found = seek(SoughtSearch(asked, start, first.walker, simulated, first), budget.left, first.prediction)
    found.prediction.asked = search.stated()
    seconds = {"problem": 0.0, "search": budget.seconds - found.seconds["checks"]}
    return first.found_again(found.prediction), replace(found, seconds=found.seconds | seconds)


def _least_cost(task: Walking, budget: TimeBudget, start: Any) -> Sought:
    """The step that costs least, with limits at its own instants only."""
    search = _Search(budget)
    seeking = _Seeking(task, search)
    double = task.settled().double_support
    found = seeking.at(double, _first(seeking.one(double), start, search))
    if task.double_range is not None:
        double, found = seeking.least_double(task.double_range, double)
    elif task.speed_range is not None and task.double is None:
        double, found = seeking.agreeing(double, found)
    settled = task.settled(**_values(task, found), double=double)
    found = replace(found, seconds=budget.seconds)
    return Sought(walker(settled), found, task, dict(seeking.costs))


class _Search:
    """Searches one after another within one limit of time; after the first one from one start each."""

    def __init__(self, budget: TimeBudget) -> None:
        self.budget, self.starts = budget, budget.search.starts

    def __call__(self, task: Walking, start: Any) -> Prediction:
        """The step of a task, from a start."""
        found = seek(NearStep(task, start), self.budget.left.changed(starts=self.starts))
        self.starts = 1
        return found.prediction


class _Seeking:
    """Steps by their share of double support: predictions, and what they cost."""

    def __init__(self, task: Walking, search: _Search) -> None:
        self.task, self.search = task, search
        self.found: dict[float, Prediction] = {}
        self.costs: dict[float, float] = {}

    def one(self, double: float) -> Walking:
        """What is asked with this double support."""
        return self.task.changed(double=double, double_range=None)

    def at(self, double: float, near: Prediction) -> Prediction:
        """The step with this double support, from one near it."""
        if double in self.found:
            return self.found[double]
        one, values = self.one(double), _values(self.task, near)
        if self.found:  # other instants are a way off, which is gone quickly while the duration is given
            near = self.search(one.settled(**values), near)
        found = self.search(one, near) if one.sought else near
        who = walker(self.task.settled(**_values(self.task, found), double=double))
        passed = found.solved and all(check.passed for check in checked(who, found).values())
        self.found[double], self.costs[double] = found, _cost(found) if passed else UNSOLVED
        return found

    def least_double(self, bounds: tuple[float, float], begin: float) -> tuple[float, Prediction]:
        """That of least cost: by a grid from the first one on, then between the neighbors of the least.

        A step that fails a check is as good as none: contact that is held too loosely would be cheap.
        """
        grid = _grid("double", *bounds)
        for values in (grid[grid > begin], grid[grid < begin][::-1]):
            last = self.found[begin]
            for value in values.tolist():
                found = self.at(value, last)
                last = found if found.solved_at_samples else last
        places = sorted(self.costs)
        k = places.index(min(places, key=self.costs.__getitem__))
        near = self.found[places[k]]

        def cost(value: float) -> float:
            self.at(float(value), near)
            return self.costs[float(value)]

        from scipy.optimize import minimize_scalar  # not at the top: loading it takes as long as a step

        between = places[max(k - 1, 0)], places[min(k + 1, len(places) - 1)]
        minimize_scalar(cost, bounds=between, method="bounded", options={"xatol": WITHIN})
        best = min(self.costs, key=self.costs.__getitem__)
        return best, self.found[best]

    def agreeing(self, double: float, found: Prediction) -> tuple[float, Prediction]:
        """Speed and the double support that goes with it."""
        for _ in range(ROUNDS):
            usual = self.task.settled(**_values(self.task, found)).double_support
            if abs(usual - double) < SAME_DOUBLE:
                break
            double, found = usual, self.at(usual, found)
        return double, found


def _values(task: Walking, found: Prediction) -> dict[str, float]:
    """What was found of step and speed, within their bounds to the last bit."""
    values = {"step": task.speed * found.duration, "speed": task.step / found.duration}
    return {
        name: float(np.clip(values[name], *bounds)) for name, bounds in task.sought.items() if name in values
    }


def _grid(name: str, low: float, high: float) -> Array:
    """Values to begin with, both bounds included."""
    return np.linspace(low, high, min(1 + int(np.ceil((high - low) / APART[name])), MOST))


def _first(task: Walking, start: Any, search: _Search) -> Prediction:
    """The least of steps of given duration, from where the search begins to both bounds."""
    settled = task.settled(double=task.double_support)
    found = [search(settled, start)]
    for name, (low, high) in task.sought.items():
        here, grid = getattr(settled, name), _grid(name, low, high)
        for values in (grid[grid > here], grid[grid < here][::-1]):
            last = found[0]
            for value in values:
                again = search(settled.changed(**{name: float(value)}), last)
                if again.solved_at_samples:
                    found.append(again)
                    last = again
    return min(found, key=lambda x: _cost(x, task))


def _cost(found: Prediction, task: Walking | None = None) -> float:
    """What is least; of a step of given duration as if its speed were sought, if that is asked for."""
    if not found.solved_at_samples:
        return UNSOLVED
    if task is None or task.speed_range is None:
        return float(found.objective)
    return (float(found.objective) + task.time) * found.duration / task.step
