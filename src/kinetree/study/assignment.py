"""What a task is given: the study, its mechanism, the user's functions and who watches."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, KinetreeWarning
from kinetree.model.mechanism import Mechanism
from kinetree.result.result import Result
from kinetree.study.code import Code
from kinetree.study.mechanism import study_mechanism
from kinetree.study.origin import StudyOrigin
from kinetree.study.tables import OutputTable

Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Study:
    """A study that was read and checked: its tables, where they come from, and the folder it lies in."""

    name: str
    tables: Any
    origin: StudyOrigin
    folder: Path

    @property
    def task(self) -> str:
        """The name of its task."""
        return str(self.tables.study.task)

    @property
    def title(self) -> str:
        """Its title, or its name."""
        return str(self.tables.study.title or self.name)


@dataclass(frozen=True, eq=False)
class Assignment:
    """A study with all that is needed to begin; ``progress`` takes the part that is done, if asked for.

    ``further``: further results that the work gives, by name; None before there is one.
    """

    study: Study
    code: Code
    progress: Progress | None = None
    further: dict[str, Result | None] = field(default_factory=dict)

    @property
    def tables(self) -> Any:
        """The tables of the study."""
        return self.study.tables

    @property
    def origin(self) -> StudyOrigin:
        """Where they come from."""
        return self.study.origin

    @cached_property
    def _read(self) -> tuple[Mechanism, tuple[str, ...]]:
        """The mechanism, and what its reader warned of, without the folder of its file."""
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always", KinetreeWarning)
            found = study_mechanism(self.tables.mechanism, self.origin, self.study.folder, self.study.name)
        for warning in heard:
            warnings.warn(warning.message, stacklevel=3)
        ours = (str(x.message) for x in heard if isinstance(x.message, KinetreeWarning))
        return found, tuple(dict.fromkeys(_without_folder(text) for text in ours))

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of the study."""
        return self._read[0]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the file of the mechanism has that is not used, which results state, too."""
        return self._read[1]

    @property
    def output(self) -> OutputTable:
        """What the result is to hold."""
        return self.tables.output or OutputTable.model_validate({})

    def duration(self, usual: float | None = None) -> float:
        """How long the motion lasts (s): as the study says, or else the usual duration."""
        given: float | None = self.tables.study.duration
        if given is None and usual is None:
            raise InputError(
                f"{self.origin.where(('study',))}: study.duration is missing: the duration of the motion (s)"
            )
        return float(given if given is not None else usual)  # type: ignore[arg-type]

    def times(self, duration: float) -> Array:
        """The times of the output (s)."""
        from kinetree.simulation.settings import output_times

        output = self.output
        if output.times is not None and output.samples is not None:
            raise InputError(
                f"{self.origin.where(('output',))}: [output] give either samples or times, not both"
            )
        with self.origin.blamed("output"):
            return output_times(output.times if output.times is not None else output.samples, duration)

    def check_samples(self) -> None:
        """Refuse times that a search, whose duration is not known before, could not keep to."""
        if self.output.times is not None:
            raise InputError(
                f"{self.origin.where(('output', 'times'))}: output.times are for motions of known duration; "
                f"the task '{self.study.task}' takes output.samples"
            )
        self.times(1.0)

    def sampled(self, result: Result) -> Result:
        """The result of a search at the samples that the study asks for, or as it is."""
        if self.output.samples is None:
            return result
        return result.at(self.times(float(result.time.values[-1])))


def _without_folder(text: str) -> str:
    """A remark that begins with a path, with the name of the file alone."""
    place, colon, rest = text.partition(": ")
    return f"{os.path.basename(place)}{colon}{rest}"
