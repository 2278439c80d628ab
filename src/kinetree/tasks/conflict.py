"""What stands in the way of a motion that was not found: kinds of limits, given up one at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from kinetree.errors import listed
from kinetree.motion.options import Search
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.predict import solve
from kinetree.motion.problem.problem import Problem

ANY = Search(solver="interior", tolerance=1e-2, max_iterations=80, progress=False)  # whether there is a way
BETWEEN = 1.0  # of a bound: a motion that exceeds it by more between samples is no way


def conflicting(
    what: str,
    kinds: Collection[str],
    without: Callable[[Collection[str]], Problem],
    how: Callable[[str, Prediction], str],
    neither: str,
    start: Any = None,
) -> list[str]:
    """One sentence for each kind of limit without which there is such a motion, or one that there is none.

    ``what`` is sought, such as "a lift".
    ``without(kinds)`` is the problem without limits of some kinds, and ``how(kind, motion)`` says what a
    motion without a kind takes of it. ``neither`` is what follows where none is found without all of them.
    """
    found = []
    for kind in kinds:
        tried = _sought(without([kind]), start)
        if _is_way(tried):
            found.append(f"{what} is possible without the {kind}{how(kind, tried)}")
    if found:
        return found
    free = _sought(without(kinds), start)
    if not _is_way(free) or len(kinds) < 2:
        return [neither]
    ways = "".join(how(kind, free) for kind in kinds)
    return [f"{what} is possible only without all of {listed(kinds)}{ways}"]


def excess_of_torques(shares: Iterable[tuple[str, float]]) -> str:
    """The three joints that need most beside their torque limits, by name and share of the limit."""
    worst = sorted((x for x in shares if x[1] > 1.0), key=lambda x: -x[1])[:3]
    stated = ", ".join(f"{share:.1f} times the limit of {name}" for name, share in worst)
    return f", with {stated}" if stated else ""


def _is_way(tried: Prediction) -> bool:
    return tried.solved_at_samples and tried.max_violation <= BETWEEN


def _sought(problem: Problem, start: Any) -> Prediction:
    return solve(problem, start, ANY)
