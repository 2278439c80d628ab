"""A line on the terminal while a long simulation runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kinetree.progress import ProgressLine, shown_line

Progress = Callable[[float], None]


@contextmanager
def shown_progress(wanted: bool | Progress | None, duration: float) -> Iterator[Progress]:
    """A function of the simulated time (s): the user's own, a bar on a terminal, or nothing."""

    def stated(line: ProgressLine) -> Progress:
        return lambda t: line.show(f"t = {t:.3g} s, {t / line.elapsed:.3g} x real time", t / duration)

    with shown_line(wanted, stated) as tell:
        yield tell if tell is not None else lambda t: None
