"""Every exception of the library, and the base of its warnings.

A message names the offender, its value and what is allowed. All derive from :class:`KinetreeError`,
so one ``except kinetree.KinetreeError`` catches whatever bad input can cause.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

HELPFUL = 20  # messages about unknown names that suggest another one


class KinetreeError(Exception):
    """Base of every error that Kinetree raises on purpose."""


class KinetreeWarning(UserWarning):
    """Base of every warning that Kinetree issues: an answer is given, with a doubt that the text names."""


class ModelError(KinetreeError, ValueError):
    """A mechanism cannot exist as described: its tree, its masses, its joints."""


class FileError(KinetreeError, ValueError):
    """A file cannot be read, understood or written."""


class InputError(KinetreeError, ValueError):
    """An argument has the wrong shape, an unknown name or a value that is not allowed."""


class AssemblyError(InputError):
    """Loops that cannot be closed: from this guess, with these joints held, or with these lengths."""


class SingularityError(KinetreeError, ArithmeticError):
    """The question has no finite answer in this configuration (gimbal lock, singular mass matrix)."""


class SimulationError(KinetreeError, RuntimeError):
    """A simulation could not go on; ``result`` is what was computed until then, or None."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class MissingExtraError(KinetreeError, ImportError):
    """An optional dependency is needed and not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}', which is not installed; "
            f"install it with: pip install 'kinetree[{extra}]'"
        )


def listed(choices: Iterable[object], most: int = 12) -> str:
    """The choices as text for a message, cut after `most` of them."""
    names = [str(choice) for choice in choices]
    shown = ", ".join(names[:most]) or "none"
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"


def unknown_name(kind: str, name: object, choices: Iterable[object], told: int = 0) -> str:
    """Message for a name that is none of the choices, with the nearest one suggested.

    Only the first messages of many help with a choice, as to find it takes time: ``told`` were there before.
    """
    if told >= HELPFUL:
        return f"unknown {kind} '{name}'"
    names = [str(choice) for choice in choices]
    near = difflib.get_close_matches(str(name), names, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"unknown {kind} '{name}'; allowed: {listed(names)}.{hint}"
