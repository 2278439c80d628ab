"""What a reader passes over in files that others extend: collected, then said in one warning."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import NamedTuple

from kinetree.errors import FileError, KinetreeError, KinetreeWarning, listed
from kinetree.model.inertia import physical_fault
from kinetree.model.mechanism import Mechanism

MOST = 8  # subjects that the warning names
ALSO_READ = "file-beside"  # the rule of what is read from another file, and so is not ignored
ALL_DRIVEN = "all-driven"  # the rule of what is assumed where a file with loops does not name its drives
NOT_IGNORED = (ALSO_READ, ALL_DRIVEN)
NOT_FOUND = "mesh-not-found"  # the rule of meshes; those that are missing are reported by what draws them


class Remark(NamedTuple):
    """One item that was ignored: the rule of ``kinetree check``, its subject, and the whole sentence.

    ``is_fault``: whether a strict reader refuses it.
    """

    rule: str
    subject: str
    message: str
    is_fault: bool = True

    @property
    def is_ignored(self) -> bool:
        """Whether it belongs to the list of ignored items; missing meshes are reported by what draws them."""
        return self.rule not in NOT_IGNORED and (self.rule != NOT_FOUND or self.is_fault)


class PassedOver:
    """The remarks on one file; with ``strict`` the first of them is an error instead.

    >>> heard = PassedOver("arm.urdf")
    >>> heard.note("unknown-element", "attribute 'D'", "arm.urdf, line 7: unknown attribute 'D'")
    >>> heard.summary()
    "arm.urdf: ignored: attribute 'D'; 'kinetree check' lists everything, strict=True refuses it"
    """

    def __init__(self, source: str, strict: bool = False) -> None:
        self.source, self.strict = source, strict
        self.remarks: list[Remark] = []

    def note(self, rule: str, subject: str, message: str, error: type[KinetreeError] = FileError) -> None:
        """Pass over something that does not change the answer; an error if the reader is strict."""
        if self.strict:
            raise error(message)
        self.remarks.append(Remark(rule, subject, message))

    def mention(self, rule: str, subject: str, message: str) -> None:
        """Mention what is left out by a strict reader, too."""
        self.remarks.append(Remark(rule, subject, message, is_fault=False))

    def withdraw(self, rule: str) -> bool:
        """Remove the remarks of a rule that another file makes untrue; whether there were any."""
        kept = [remark for remark in self.remarks if remark.rule != rule]
        withdrawn = len(kept) < len(self.remarks)
        self.remarks = kept
        return withdrawn

    def summary(self) -> str:
        """All remarks in one sentence, equal subjects counted; empty without remarks."""
        stated = [remark.subject for remark in self.remarks if remark.rule in NOT_IGNORED]
        counts = Counter(remark.subject for remark in self.remarks if remark.is_ignored)
        named = [subject if n == 1 else f"{subject} ({n} times)" for subject, n in counts.items()]
        refuses = ", strict=True refuses it" if any(remark.is_fault for remark in self.remarks) else ""
        ignored = (
            [f"ignored: {listed(named, MOST)}; 'kinetree check' lists everything{refuses}"] if named else []
        )
        parts = [*stated, *ignored]
        return f"{self.source}: {'; '.join(parts)}" if parts else ""

    def warn(self, stacklevel: int = 2) -> None:
        """Issue the one warning, if there is something to say."""
        text = self.summary()
        if text:
            warnings.warn(text, KinetreeWarning, stacklevel=stacklevel + 1)


def warn_of_unphysical(mechanism: Mechanism, source: str, stacklevel: int = 2) -> None:
    """Issue one warning that names the bodies with an inertia that no body has, and by how much."""
    found = [
        f"'{link.body.name}' {fault}"
        for link in mechanism.links
        if link.body.inertia.allow_unphysical and (fault := physical_fault(link.body.inertia.moment))
    ]
    if found:
        text = (
            f"{source}: unphysical inertias, used as given: {listed(found, 6)}; allow_unphysical=True "
            f"accepts them, strict=True refuses them"
        )
        warnings.warn(text, KinetreeWarning, stacklevel=stacklevel + 1)
