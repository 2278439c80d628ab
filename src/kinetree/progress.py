"""A line on the terminal while something takes long: what goes on, and how much of it is done."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 0.5  # s before anything is shown
Tell = TypeVar("Tell", bound=Callable[..., object])


class ProgressLine:
    """One line of text, with a bar where the part that is done is known.

    It appears once the work takes long, and goes when it is over.
    """

    def __init__(self) -> None:
        self._begin = perf_counter()
        self._shown: tuple[Progress, TaskID] | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since the work began."""
        return perf_counter() - self._begin

    def show(self, text: str, part: float | None = None) -> None:
        """Show what goes on; ``part`` of the work, from 0 to 1, is done."""
        if self.elapsed < PATIENCE:
            return
        if self._shown is None:
            bar = _new_bar(measured=part is not None)
            bar.start()
            self._shown = bar, bar.add_task(text, total=None if part is None else 1.0)
        bar, task = self._shown
        bar.update(task, description=text, completed=part)

    def close(self) -> None:
        """Take the line away."""
        if self._shown is not None:
            self._shown[0].stop()


def has_live_terminal() -> bool:
    """Whether a line that changes can be seen: in a notebook's cell it would leave control codes."""
    return sys.stderr.isatty() and "JPY_PARENT_PID" not in os.environ


@contextmanager
def shown_line(wanted: bool | Tell | None, make: Callable[[ProgressLine], Tell]) -> Iterator[Tell | None]:
    """The user's own function, one that ``make`` makes of a line on the terminal, or None.

    By default the line is shown only where standard error is a terminal.
    """
    if callable(wanted):
        yield wanted
    elif wanted or (wanted is None and has_live_terminal()):
        line = ProgressLine()
        try:
            yield make(line)
        finally:
            line.close()
    else:
        yield None


def _new_bar(measured: bool) -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    shown = columns if measured else (SpinnerColumn(), text)
    return Progress(*shown, console=Console(stderr=True), transient=True)
