"""One verdict on one motion or on many of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.model.tree import Flags
from kinetree.result.records import Check


@dataclass(frozen=True, eq=False)
class Finding:
    """What was measured of motions, ``values`` (m,) in ``unit``, what is allowed, and a sentence for each.

    ``words(k)`` is the sentence on motion k, without its number.
    """

    values: Array
    allowed: float
    unit: str
    words: Callable[[int], str]

    @property
    def passed(self) -> Flags:
        """Which of the motions (m,) pass; NaN does not."""
        flags: Flags = np.abs(self.values) <= self.allowed
        return flags

    def check(self) -> Check:
        """The verdict on the worst motion."""
        k = int(np.argmax(np.nan_to_num(np.abs(self.values), nan=np.inf)))
        words = self.words(k)
        if len(self.values) > 1:
            failed = len(self.values) - int(self.passed.sum())
            words += f", in motion {k}" + (f"; {failed} of {len(self.values)} motions fail" if failed else "")
        return Check.within(float(self.values[k]), self.allowed, self.unit, words)


Findings = dict[str, Finding]


def checks_of(findings: Mapping[str, Finding]) -> dict[str, Check]:
    """The verdicts on the worst motions, by name."""
    return {name: finding.check() for name, finding in findings.items()}


def motions_passed(findings: Mapping[str, Finding], count: int) -> Flags:
    """Which of all motions (m,) pass every verdict."""
    passed: Flags = np.ones(count, bool)
    for finding in findings.values():
        passed &= finding.passed
    return passed
