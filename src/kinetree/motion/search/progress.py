"""What is shown while a search runs: a line on the terminal, and how long it may still take."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.motion.solvers.interface import Progress, SolverSettings
from kinetree.progress import ProgressLine, shown_line

Tell = Callable[[Progress], object]
WINDOW, LEAST = 12, 5  # iterations that a trend is read from: at most, at least
SLOWEST = 0.02  # decades per iteration: what falls more slowly has no trend
SMALLEST = 1e-16


class Trend:
    """How long a search may still take, from how violation and objective have settled lately.

    Both are taken to fall by the same factor in every iteration until the tolerance is reached. Where one of
    them does not fall, that is unknown.

    >>> trend = Trend(SolverSettings(tolerance=1e-6))
    >>> stated = [trend.left(Progress(k, 1.0 + 0.1**k, 0.1**k, 2.0 * k)) for k in range(6)]
    >>> print(stated[1], round(stated[5]))
    None 4
    """

    def __init__(self, settings: SolverSettings) -> None:
        self.settings = settings
        self._steps: deque[Progress] = deque(maxlen=WINDOW)
        self._changes: deque[float] = deque(maxlen=WINDOW)

    def left(self, step: Progress) -> float | None:
        """Seconds after this iteration, or None if there is no trend."""
        if self._steps:
            change = abs(step.objective - self._steps[-1].objective) / max(abs(step.objective), SMALLEST)
            self._changes.append(change)
        self._steps.append(step)
        if len(self._changes) < LEAST:
            return None
        counts = [self._iterations([x.infeasibility for x in self._steps]), self._iterations(self._changes)]
        if None in counts:
            return None
        settings, first = self.settings, self._steps[0]
        iterations = min(max(x for x in counts if x is not None), settings.max_iterations - step.iteration)
        pace = (step.seconds - first.seconds) / max(step.iteration - first.iteration, 1)
        return float(max(min(iterations * pace, settings.time_limit - step.seconds), 0.0))

    def _iterations(self, sizes: Any) -> float | None:
        """After how many more the sizes are below the tolerance."""
        goal = np.log10(self.settings.tolerance)
        decades = np.log10(np.maximum(np.array(sizes), SMALLEST))
        if decades[-1] <= goal:
            return 0.0
        slope = float(np.polyfit(np.arange(len(decades)), decades, 1)[0])
        return None if slope > -SLOWEST else float((decades[-1] - goal) / -slope)


class StartsProgress:
    """Several starts in a row: how long they may take is known once one of them has ended."""

    def __init__(self, tell: Tell, settings: SolverSettings, starts: int) -> None:
        self.tell, self.settings, self.starts = tell, settings, starts
        self.ended, self.begun = 0, 0.0
        self._trend = Trend(settings)

    def next_solve(self) -> None:
        """A solver begins."""
        self._trend = Trend(self.settings)

    def end_start(self, seconds: float) -> None:
        """A start has ended, so many seconds after the first began."""
        self.ended, self.begun = self.ended + 1, seconds

    def __call__(self, step: Progress) -> None:
        """Tell of an iteration, with the time left."""
        left = self._trend.left(step)
        if self.ended:
            mean = self.begun / self.ended
            left = max(mean * (self.starts - self.ended) - (step.seconds - self.begun), 0.0)
        elif self.starts > 1:
            left = None
        self.tell(replace(step, left=left))


@contextmanager
def shown_progress(wanted: bool | Tell | None) -> Iterator[Tell | None]:
    """The user's own function, a line on a terminal, or nothing."""

    def stated(line: ProgressLine) -> Tell:
        return lambda step: line.show(" ".join(str(step).split()))

    with shown_line(wanted, stated) as tell:
        yield tell
