"""What a result has in addition to its arrays: settings, checks, events, where it comes from."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import number
from kinetree.errors import InputError, must_be, shown

PACKAGES = ("kinetree", "numpy", "numba")
DEEPEST = 50  # tables within tables
OF_NUMPY = np.ndarray | np.generic


class Event(NamedTuple):
    """An event: its time (s), its kind, and the name of what it happened to."""

    time: float
    kind: str
    name: str


@dataclass(frozen=True)
class Check:
    """One line of an audit: a value, its tolerance, and the verdict in a sentence.

    >>> Check.within(2e-9, 1e-6, "J", "work done and energy gained agree").passed
    True
    """

    value: float
    tolerance: float
    passed: bool
    unit: str = "1"
    sentence: str = ""

    @classmethod
    def within(cls, value: float, tolerance: float, unit: str = "1", sentence: str = "") -> Check:
        """Passed if the absolute value is at most the tolerance; NaN never passes."""
        value, tolerance = float(value), float(tolerance)
        return cls(value, tolerance, bool(abs(value) <= tolerance), unit, sentence)

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Check:
        """The check that :func:`plain_check` converted to a table."""
        texts = str(table["unit"]), str(table["sentence"])
        return cls(float(table["value"]), float(table["tolerance"]), bool(table["passed"]), *texts)

    @property
    def figures(self) -> str:
        """The value and its tolerance, with their unit if they have one."""
        unit = "" if self.unit == "1" else f" {self.unit}"
        return f"{self.value:.3g}{unit}, allowed {self.tolerance:.3g}{unit}"

    def __str__(self) -> str:
        return f"{'passed' if self.passed else 'FAILED'}: {self.figures}"


def plain_check(check: Check) -> dict[str, Any]:
    """The check as a table for JSON."""
    table: dict[str, Any] = plain(asdict(check), "check")
    return table


def plain(value: Any, what: str, depth: int = 0) -> Any:
    """A copy made of dicts with text keys, lists, texts, numbers, True, False and None, as JSON has them.

    JSON has no infinity and no NaN: they become the texts "inf", "-inf" and "nan".

    >>> import numpy as np
    >>> plain({"gains": np.array([1.0, 2.0]), "max_step": np.inf}, "settings")
    {'gains': [1.0, 2.0], 'max_step': 'inf'}
    """
    if depth > DEEPEST:
        raise InputError(f"{what} is nested more than {DEEPEST} deep")
    if isinstance(value, OF_NUMPY):
        value = value.tolist()
    if value is None or isinstance(value, int):  # truth values are
        return value
    if isinstance(value, str):
        return unicode(value, what)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise InputError(must_be(f"{what}: keys", "texts", key))
        return {unicode(key, what): plain(x, f"{what}.{key}", depth + 1) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [plain(x, f"{what}[{k}]", depth + 1) for k, x in enumerate(value)]
    raise InputError(
        f"{what} must be a number, text, list or table that can be written to a file, got {shown(value)} "
        f"of type {type(value).__name__}"
    )


def unicode(text: Any, what: str) -> str:
    """A text that can be written to a file."""
    if not isinstance(text, str):
        raise InputError(must_be(what, "a text", text))
    if "\0" in text or (not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)):
        raise InputError(must_be(what, "Unicode text without zero characters", text))
    return text


def json_text(value: Any) -> str:
    """Plain values as JSON; the same values give the same text."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)


def checked_events(events: Any) -> tuple[Event, ...]:
    """Events whose times are numbers and whose texts can be written."""
    found = []
    for k, event in enumerate(events):
        try:
            time, kind, name = event
        except (TypeError, ValueError):
            raise InputError(must_be(f"event {k}", "(time, kind, name)", event)) from None
        what = f"event {k}"
        texts = unicode(kind, f"kind of {what}"), unicode(name, f"name of {what}")
        found.append(Event(number(time, f"time of {what}"), *texts))
    return tuple(found)


def provenance(seconds: float | None = None) -> dict[str, Any]:
    """Versions, platform and date (UTC) of this moment, and how long the work took (s) if given."""
    versions = {package: _version(package) for package in PACKAGES}
    date = datetime.now(UTC).isoformat(timespec="seconds")
    found = {**versions, "python": platform.python_version(), "platform": platform.platform(), "date": date}
    return found if seconds is None else {**found, "seconds": number(seconds, "seconds")}


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
