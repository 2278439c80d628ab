"""What a check of a file finds: errors and suspicions, each with its place and the rule it offends."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from kinetree.errors import KinetreeError
from kinetree.lint.rules import ERROR as ERROR
from kinetree.lint.rules import RULES
from kinetree.lint.rules import WARNING as WARNING


@dataclass(frozen=True)
class LintFinding:
    """A sentence about a file: how bad (``severity``), which ``rule``, which ``line`` if it is known.

    >>> print(LintFinding("arm.toml", 7, "error", "impossible-body", "mass must be >= 0 kg, got -1"))
    arm.toml:7: error: mass must be >= 0 kg, got -1 [impossible-body]
    """

    file: str
    line: int | None
    severity: str
    rule: str
    message: str

    def __post_init__(self) -> None:
        assert self.rule in RULES, f"'{self.rule}' is no rule; add it to lint/rules.py"

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.severity}: {self.message} [{self.rule}]"

    def plain(self) -> dict[str, Any]:
        """The finding for JSON."""
        return asdict(self)


def of_error(error: KinetreeError | str, file: str, rule: str) -> list[LintFinding]:
    """The findings that an error with one problem per line reports; the place is taken out of its words.

    >>> of_error("a.toml, line 3: mass must be >= 0 kg, got -1", "a.toml", "impossible-body")[0].line
    3
    """
    return [_of_complaint(text, file, rule) for text in str(error).split("\n")]


def _of_complaint(text: str, file: str, rule: str) -> LintFinding:
    said, line = text.removeprefix(file), None
    found = re.match(r", line (\d+)(?:, column \d+)?[:,]\s*", said) or re.match(r"[:,]\s*", said)
    if found is not None:
        line = int(found[1]) if found.re.groups else None
        said = said[found.end() :]
    else:
        said = text
        inside = re.search(r"\bline (\d+)", text)
        line = int(inside[1]) if inside else None
    return LintFinding(file, line, ERROR, rule, said)


def in_order(findings: Iterable[LintFinding]) -> list[LintFinding]:
    """Each finding once, by file, line and severity."""
    unique = dict.fromkeys(findings)
    return sorted(unique, key=lambda x: (x.file, x.line or 0, x.severity, x.rule))
