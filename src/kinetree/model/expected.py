"""Errors where an argument must be a mechanism and is something else."""

from __future__ import annotations

from os import PathLike

from kinetree.errors import InputError, shown
from kinetree.model.mechanism import Mechanism


def expect_mechanism(value: object, what: str = "mechanism") -> Mechanism:
    """The value if it is a mechanism; else an InputError that says how to get one.

    >>> expect_mechanism("arm.urdf")
    Traceback (most recent call last):
    kinetree.errors.InputError: mechanism must be a Mechanism, got 'arm.urdf'; kinetree.load(...) reads a file
    """
    if not isinstance(value, Mechanism):
        raise InputError(f"{what} must be a Mechanism, got {shown(value)}{_way_to_one(value)}")
    return value


def _way_to_one(value: object) -> str:
    """How the user may have meant it."""
    if isinstance(value, str | PathLike):
        return "; kinetree.load(...) reads a file"
    if callable(value) and value is not Mechanism:
        return f"; is a call missing, {getattr(value, '__name__', 'as')}()?"
    if callable(getattr(value, "build", None)):
        return "; is .build() missing?"
    if isinstance(getattr(value, "mechanism", None), Mechanism):
        return "; its own is its attribute .mechanism"
    return "; kinetree.load(...) reads one from a file, kinetree.Builder makes one"
