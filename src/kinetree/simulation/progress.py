"""A line on the terminal while a long simulation runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

Progress = Callable[[float], None]
PATIENCE = 0.5  # s before anything is shown


@contextmanager
def shown_progress(wanted: bool | Progress | None, duration: float) -> Iterator[Progress]:
    """A function of the simulated time (s): the user's own, a bar on a terminal, or nothing."""
    if callable(wanted):
        yield wanted
    elif wanted or (wanted is None and sys.stderr.isatty()):
        bar = _Bar(duration)
        try:
            yield bar
        finally:
            bar.close()
    else:
        yield lambda t: None


class _Bar:
    """Simulated time, its speed beside real time, time left; appears once it takes long."""

    def __init__(self, duration: float) -> None:
        self.duration, self.begin = duration, perf_counter()
        self._bar: object = None

    def __call__(self, t: float) -> None:
        elapsed = perf_counter() - self.begin
        if elapsed < PATIENCE:
            return
        if self._bar is None:
            self._bar = _new_bar()
            self._bar.start()  # type: ignore[attr-defined]
            self._task = self._bar.add_task("simulating", total=self.duration)  # type: ignore[attr-defined]
        speed = f"t = {t:.3g} s, {t / elapsed:.3g} x real time"
        self._bar.update(self._task, completed=t, description=speed)  # type: ignore[attr-defined]

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()  # type: ignore[attr-defined]


def _new_bar() -> object:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)
