"""The best motion so far in a file, while a long search goes on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Protocol

import numpy as np

from kinetree.errors import FileError, KinetreeWarning
from kinetree.formats.regular_file import PathLike, check_writable, checked_path
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.motion.solvers.interface import Outcome, Status, Watch, rank
from kinetree.result.netcdf import save_result, with_result_suffix
from kinetree.result.result import Result

EVERY = 30.0  # s between two savings


class SaveWarning(KinetreeWarning):
    """A motion could not be saved; the search goes on."""


class Saved(Protocol):
    """Whatever has a result."""

    def to_result(self) -> Result:
        """The result."""


class Saver:
    """Writes a .nc file now and then and at the end; each time completely or not at all.

    The path is checked at once: a file that is there already is replaced only with ``force``.
    """

    def __init__(
        self, program: NonlinearProgram, path: PathLike, force: bool, made: Callable[[Outcome], Saved]
    ) -> None:
        self.place = with_result_suffix(checked_path(path))
        check_writable(self.place, force)
        self.program, self.made, self._force = program, made, force
        self.best: Outcome | None = None
        self._last = perf_counter()

    def watch(self, watch: Watch, solver: str) -> None:
        """Save what a search found so far, if it is time to."""
        if perf_counter() - self._last >= EVERY:
            self.keep(self._present(watch, solver))
            self.write_best()

    def keep(self, found: Outcome | None) -> None:
        """Remember it if there is nothing better."""
        program = self.program
        if found is not None and (self.best is None or rank(program, found) < rank(program, self.best)):
            self.best = found

    def rescue(self, watch: Watch, solver: str) -> None:
        """Save what there is, for the search is broken off."""
        self.keep(self._present(watch, solver))
        self.write_best()

    def write_best(self) -> None:
        """Save the best, if any."""
        if self.best is not None:
            self.write(self.made(self.best))

    def write(self, prediction: Saved) -> None:
        """Save; a disk that is full, say, is no reason to lose the motion, only to warn."""
        try:
            save_result(prediction.to_result(), self.place, self._force)
            self._force = True  # the file is ours now
        except FileError as error:
            warnings.warn(f"the motion was not saved: {error}", SaveWarning, stacklevel=3)
        self._last = perf_counter()

    def _present(self, watch: Watch, solver: str) -> Outcome | None:
        if watch.best is None:
            return None
        program = self.program
        none = np.zeros(program.n)
        return Outcome(
            np.clip(watch.best, program.x_lower, program.x_upper),
            np.zeros(program.m),
            (none, none),
            Status.SEARCHING,
            watch.iteration,
            "still searching",
            solver,
            scale=program.scale,
        )
