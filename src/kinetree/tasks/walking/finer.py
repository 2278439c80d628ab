"""Limits that a step exceeds between its instants: the step is sought again with instants there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.motion.outcome.phased_prediction import PhasedPrediction
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.tightening import ROUNDS, followed
from kinetree.tasks.walking.checks import exceeded
from kinetree.tasks.walking.problem import Walker

LONGEST = 150  # iterations of each further search; those that find a step take 10 to 110
Found = TypeVar("Found", Prediction, PhasedPrediction)


def with_further_instants(
    found: Found, who: Sequence[Walker], again: Callable[..., Found], search: dict[str, Any]
) -> Found:
    """The steps of all walkers found again until no limit is exceeded between instants, or the best before.

    ``again(more, start=, **search)`` seeks with ``more`` instants s for each of the walkers, from the motion
    before; at most three times, within the time limit of the search.
    """
    more: list[Array] = [np.zeros(0) for _ in who]
    own = {**search, "starts": 1, "max_iterations": min(search.get("max_iterations", LONGEST), LONGEST)}
    if search.get("solver", "auto") == "auto":  # what one solver has found, no other one finds better near it
        own["solver"] = found.outcome.solver
    for _ in range(ROUNDS):
        parts = [found] if isinstance(found, Prediction) else found.parts
        peaks = [exceeded(one, part) for one, part in zip(who, parts, strict=True)]
        if not found.solved_at_samples or not any(len(x) for x in peaks):
            break
        more = [np.union1d(x, y) for x, y in zip(more, peaks, strict=True)]
        limit = search.get("time_limit")
        if limit is not None:
            own["time_limit"] = max(limit - found.seconds, 1e-9)
        better = again(more, start=parts, **own)
        if not better.solved_at_samples:
            break
        found = followed(found, better)
    return found
