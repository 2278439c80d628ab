"""What a solver is given and what it returns; who watches it."""

from __future__ import annotations

import math
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import AssemblyError, InputError, MissingExtraError, listed, must_be, unknown_name
from kinetree.motion.program.nonlinear import NonlinearProgram


class MissingSolverError(MissingExtraError):
    """A solver needs what no extra of this package brings; the message says what."""

    def __init__(self, message: str) -> None:
        ImportError.__init__(self, message)


class Status(Enum):
    """How a solve ended; the value is the sentence for the user."""

    SOLVED = "Solved: the motion satisfies all constraints and no nearby motion is better."
    INFEASIBLE = "No motion was found that satisfies all constraints."
    ITERATIONS = "Stopped at the iteration limit before the motion was optimal."
    TIME = "Stopped at the time limit before the motion was optimal."
    INTERRUPTED = "Interrupted by the user; this is the best motion so far."
    UNPROVEN = "Not solved: the solver stopped where the recomputed optimality conditions do not hold."
    FAILED = "The solver stopped before it found the optimal motion."
    SEARCHING = "Saved while the solver was running; this is the best motion so far."


@dataclass(frozen=True)
class Progress:
    """One iteration: its number, objective, largest scaled violation, and seconds since the start.

    ``left``: seconds that it may still take, None if there is no trend to tell it from.
    """

    iteration: int
    objective: float
    infeasibility: float
    seconds: float
    left: float | None = None

    def __str__(self) -> str:
        left = "time left unknown" if self.left is None else f"about {self.left:.2g} s left"
        return (
            f"{self.iteration:5d}  objective {self.objective:.8g}  infeasibility {self.infeasibility:.1e}  "
            f"{self.seconds:.2f} s, {left}"
        )


@dataclass(eq=False)
class Start:
    """Where a solver begins: unknowns and, for a warm start, multipliers of constraints and bounds."""

    z: Array
    multipliers: Array | None = None
    bound_multipliers: tuple[Array, Array] | None = None


@dataclass(eq=False)
class Outcome:
    """Where a solver ended. Multipliers are those of the Lagrangian f + multipliers . g, as scaled."""

    z: Array
    multipliers: Array
    bound_multipliers: tuple[Array, Array]
    status: Status
    iterations: int
    message: str
    solver: str
    seconds: float = 0.0
    scale: float = 1.0  # what the objective was multiplied by
    least: float = 0.0  # objectives below this are no measure of size
    smoothing: float = 0.0  # price on roughness, in units of the objective


@dataclass(frozen=True)
class SolverSettings:
    """Tolerance of optimality and scaled feasibility, limits, and options of the solver itself."""

    tolerance: float = 1e-6
    max_iterations: int = 1000
    time_limit: float = float("inf")
    options: Mapping[str, Any] | None = None


class Solver(ABC):
    """A method for nonlinear programs. ``allowed`` are its own options: name to kind or choices."""

    name: str
    allowed: ClassVar[Mapping[str, type | tuple[Any, ...]]]

    def is_installed(self) -> bool:
        """Whether it can be used here."""
        try:
            self.check_installed()
        except MissingExtraError:
            return False
        return True

    def check_installed(self) -> None:  # noqa: B027
        """Raise MissingExtraError, with what to install, if it cannot; by default it always can."""

    @abstractmethod
    def solve(
        self, program: NonlinearProgram, start: Start, settings: SolverSettings, watch: Watch
    ) -> Outcome:
        """Minimize from a start; the watch sees every iteration and may ask to stop."""

    def checked_options(self, options: Mapping[str, Any] | None) -> dict[str, Any]:
        """The options, each known and of the right kind."""
        found = dict(options or {})
        for name, value in found.items():
            if name not in self.allowed:
                raise InputError(unknown_name("option", name, self.allowed).after(f"{self.name}: "))
            kind = self.allowed[name]
            if kind is float and type(value) is int:
                value = found[name] = float(value)
            if isinstance(kind, tuple):
                good, wanted = value in kind, f"one of {listed(kind)}"
            else:
                good, wanted = isinstance(value, kind) and type(value) is not bool, f"of kind {kind.__name__}"
                if kind in (int, float):
                    good, wanted = good and 0 <= value < math.inf, f"{wanted} and at least 0"
            if not good:
                raise InputError(must_be(f"{self.name}: option '{name}'", wanted, value))
        return found


class Watch:
    """Sees every iterate, keeps the best one, and knows whether to stop."""

    def __init__(
        self,
        program: NonlinearProgram,
        settings: SolverSettings,
        report: Callable[[Progress], object] | None = None,
        begun: float | None = None,
    ) -> None:
        self.program, self.settings, self.report = program, settings, report
        self.begun = time.perf_counter() if begun is None else begun
        self.iteration = 0
        self.stopped: Status | None = None
        self.best: Array | None = None
        self._best_key = (np.inf, np.inf)

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self.begun

    def see(self, iteration: int, z: Array, objective: float, infeasibility: float) -> bool:
        """Take note of an iterate; returns whether to go on."""
        self.iteration = iteration
        key = (max(infeasibility, self.settings.tolerance), objective)
        if key < self._best_key:
            self._best_key, self.best = key, np.array(z)
        if self.report is not None:
            priced = self.program.smoothing > 0.0
            value = self.program.cost(z) if priced else objective / self.program.scale
            self.report(Progress(iteration, value, infeasibility, self.seconds))
        return self.goes_on()

    def goes_on(self) -> bool:
        """Whether neither time is up nor the user has interrupted."""
        if self.stopped is None and self.seconds > self.settings.time_limit:
            self.stopped = Status.TIME
        return self.stopped is None

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Turn Ctrl-C into a request to stop at the next iteration; a second one interrupts at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.getsignal(signal.SIGINT)

        def stop(number: int, frame: object) -> None:
            if self.stopped is Status.INTERRUPTED:
                raise KeyboardInterrupt
            self.stopped = Status.INTERRUPTED

        signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def infeasibility(program: NonlinearProgram, z: Array, g: Array | None = None) -> float:
    """The largest scaled violation of constraints and bounds; infinite where there is no such motion."""
    try:
        g = program.constraints(z) if g is None else g
    except AssemblyError:
        return np.inf
    worst = max((program.lower - g).max(initial=0.0), (g - program.upper).max(initial=0.0))
    return float(max(worst, (program.x_lower - z).max(initial=0.0), (z - program.x_upper).max(initial=0.0)))


def rank(program: NonlinearProgram, outcome: Outcome) -> tuple[bool, float, float]:
    """The smaller the better: solved ones first, then the least violation, then the objective."""
    solved = outcome.status is Status.SOLVED
    violation = 0.0 if solved else infeasibility(program, outcome.z)
    return not solved, violation, program.cost(outcome.z)
