"""Where a value of a study comes from, so that complaints lead there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kinetree.errors import FileError, InputError, KinetreeError, SimulationError
from kinetree.model.file_origin import ARRAYS, Origin, Place
from kinetree.study.lines import key_lines


@dataclass(frozen=True)
class StudyOrigin(Origin):
    """The study's name and table, the lines of its keys, and the keys that were set from outside.

    ``elsewhere`` maps paths that do not come from the file to words that say from where.
    """

    key_lines: Mapping[Place, int] = field(default_factory=dict)
    elsewhere: Mapping[Place, str] = field(default_factory=dict)

    @classmethod
    def of_study(cls, text: str, source: str) -> StudyOrigin:
        """Parse a study's text; broken TOML is a FileError with line and column."""
        parsed = Origin.of_text(text, source)
        return cls(source, parsed.table, {}, key_lines(text))

    def where(self, place: Place) -> str:
        """The source and the line of a key, or of the table that it would be in."""
        for k in range(len(place), 0, -1):
            if place[:k] in self.elsewhere:
                return self.elsewhere[place[:k]]
            if place[:k] in self.key_lines:
                return f"{self.source}, line {self.key_lines[place[:k]]}"
        return self.source

    @contextmanager
    def blamed(self, *place: int | str) -> Iterator[None]:
        """Errors about the input that are raised inside name the place."""
        try:
            yield
        except (SimulationError, FileError):
            raise
        except KinetreeError as error:
            raise InputError(f"{self.where(place)}: [{_header(place)}] {error}") from None

    def of_mechanism(self) -> Origin:
        """The origin of the mechanism that is described in the study, as its reader takes it."""
        table: Mapping[str, Any] = self.table["mechanism"]
        lines = {}
        for key, path in ARRAYS.items():
            found = {p[-1]: n for p, n in self.key_lines.items() if p[:-1] == ("mechanism", *path)}
            lines[key] = [found[k] for k in sorted(x for x in found if isinstance(x, int))]
        return Origin(self.source, table, lines)


def _header(place: Place) -> str:
    return ".".join(str(part) for part in place if isinstance(part, str))
