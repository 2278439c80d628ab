"""The options of a search for a motion: their names, defaults and meanings, checked in one place."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.algebra.arrays import number
from kinetree.errors import InputError, must_be, shown, unknown_name

if TYPE_CHECKING:
    from kinetree.formats.regular_file import PathLike
    from kinetree.motion.solvers.interface import Progress

BETWEEN_SAMPLES = 0.01  # of a bound, by which it may be exceeded between samples
TEXT = "description"  # of an option, in the metadata of its field
INSTANT = 1e-9  # s: time limit of a search that begins when its time is over


@dataclass(frozen=True)
class Search:
    """Options of a search: solver, initial guesses, tolerances, limits, and what is reported and saved.

    Every function that seeks a motion takes these fields as keywords; the description of each is its
    metadata.

    >>> Search(time_limit=10.0).after(4.0).time_limit
    6.0
    >>> Search.of({"max_iteration": 100})
    Traceback (most recent call last):
    kinetree.errors.InputError: unknown option 'max_iteration'; allowed: ... Did you mean 'max_iterations'?
    """

    solver: str = field(default="auto", metadata={TEXT: 'Solver: "auto", "interior", "ipopt" or "slsqp".'})
    starts: int = field(default=1, metadata={TEXT: "Number of starts; those after the first are random."})
    seed: int = field(default=0, metadata={TEXT: "Seed of the random starts."})
    tolerance: float = field(
        default=1e-6, metadata={TEXT: "Tolerance of optimality and relative violations."}
    )
    max_iterations: int = field(default=1000, metadata={TEXT: "Limit on iterations."})
    time_limit: float | None = field(default=None, metadata={TEXT: "Limit on computing time (s)."})
    options: Mapping[str, Any] | None = field(
        default=None, metadata={TEXT: "Options of the solver itself; it must be named."}
    )
    between: float | None = field(
        default=BETWEEN_SAMPLES,
        metadata={
            TEXT: "Fraction of a bound by which it may be exceeded between samples before samples are added "
            "there and the problem is solved again; None adds none."
        },
    )
    progress: bool | Callable[[Progress], object] | None = field(
        default=None,
        metadata={TEXT: "Function called in every iteration, or whether a progress line is shown."},
    )
    save: PathLike | None = field(default=None, metadata={TEXT: "File for the best motion so far."})
    force: bool = field(default=False, metadata={TEXT: "Whether an existing file is replaced."})

    def __post_init__(self) -> None:
        small = number(self.tolerance, "tolerance")
        if not 0.0 < small < 0.1:
            raise InputError(must_be("tolerance", "between 0 and 0.1", small, ""))
        for name in ("max_iterations", "starts"):
            count = getattr(self, name)
            if type(count) is not int or count < 1:
                raise InputError(must_be(name, "an integer of at least 1", count))
        if self.time_limit is not None and number(self.time_limit, "time_limit") <= 0.0:
            raise InputError(must_be("time_limit", "positive", self.time_limit, ""))
        seed = self.seed
        if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
            raise InputError(must_be("seed", "an integer of 0 or more", seed))
        if self.options is not None and not isinstance(self.options, Mapping):
            raise InputError(f"options map names to values, got {shown(self.options)}")
        checked_part(self.between)

    @classmethod
    def of(
        cls, given: Mapping[str, Any], usual: Search | None = None, further: tuple[str, ...] = ()
    ) -> Search:
        """Options by name, those not given as in ``usual``; an error also lists the ``further`` names."""
        for name in given:
            if name not in OPTIONS:
                raise InputError(unknown_name("option", name, (*further, *OPTIONS)))
        return replace(usual or cls(), **given)

    def changed(self, **options: Any) -> Search:
        """The search with other values of some options."""
        return replace(self, **options)

    def after(self, seconds: float) -> Search:
        """The search with what is left of its time limit after so many seconds."""
        if self.time_limit is None:
            return self
        return replace(self, time_limit=max(self.time_limit - seconds, INSTANT))

    def is_over(self, seconds: float) -> bool:
        """Whether no time is left after so many seconds."""
        return self.time_limit is not None and seconds >= self.time_limit

    @property
    def longest(self) -> float:
        """The time limit (s), infinite if there is none."""
        return math.inf if self.time_limit is None else float(self.time_limit)

    def stated(self) -> dict[str, Any]:
        """The options that a result states."""
        limit = None if self.time_limit is None else float(self.time_limit)
        plain = {"tolerance": float(self.tolerance), "time_limit": limit, "options": dict(self.options or {})}
        return {name: getattr(self, name) for name in STATED} | plain


OPTIONS = tuple(x.name for x in fields(Search))
STATED = tuple(x for x in OPTIONS if x not in ("progress", "save", "force"))


def divided(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Keywords of a function that seeks a motion: options of the search, and all others."""
    options = {name: x for name, x in given.items() if name in OPTIONS}
    return options, {name: x for name, x in given.items() if name not in OPTIONS}


def checked_part(between: float | None) -> float | None:
    """The part of a bound by which it may be exceeded between samples, checked."""
    if between is None:
        return None
    part = number(between, "between")
    if not 0.0 < part < 1.0:
        raise InputError(f"between must lie between 0 and 1, or be None, got {part}")
    return part
