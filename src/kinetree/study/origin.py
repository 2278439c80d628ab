"""Where a value of a study comes from, so that complaints lead there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError

from kinetree.errors import FileError, InputError, KinetreeError, SimulationError
from kinetree.formats.file_origin import ARRAYS, Origin, Place
from kinetree.formats.toml_lines import key_lines


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
        """Errors about the input that are raised inside name the place, or at least the study."""
        try:
            yield
        except (SimulationError, FileError):
            raise
        except KinetreeError as error:
            header = f"[{_header(place)}] " if place else ""
            raise InputError(f"{self._where_inside(place)}: {header}{error}") from None

    def _where_inside(self, place: Place) -> str:
        """Where a table is, and which of its keys were set from outside."""
        inside = [words for path, words in self.elsewhere.items() if place and path[: len(place)] == place]
        return f"{self.where(place)} with {', '.join(inside)}" if inside else self.where(place)

    def explained(self, error: ValidationError, model: type[BaseModel]) -> FileError:
        """The schema's complaints in our words, one per line, in the order of the file."""
        complaints = str(super().explained(error, model)).split("\n")
        return FileError("\n".join(sorted(complaints, key=_line)))

    def of_mechanism(self) -> Origin:
        """The origin of the mechanism that is described in the study, as its reader takes it."""
        table: Mapping[str, Any] = self.table["mechanism"]
        lines = {}
        for key, path in ARRAYS.items():
            found = {p[-1]: n for p, n in self.key_lines.items() if p[:-1] == ("mechanism", *path)}
            lines[key] = [found[k] for k in sorted(x for x in found if isinstance(x, int))]
        return Origin(self.source, table, lines)


def _line(complaint: str) -> float:
    found = re.search(r", line (\d+): ", complaint)
    return float(found[1]) if found else float("inf")


def _header(place: Place) -> str:
    return ".".join(str(part) for part in place if isinstance(part, str))
