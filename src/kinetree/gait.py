"""The old place of :mod:`kinetree.gait_analysis`: its names work for one more version, with a warning."""

from typing import TYPE_CHECKING

from kinetree.renamed import moved_names

__all__: list[str] = []

if not TYPE_CHECKING:  # a type checker knows the new names only
    __getattr__ = moved_names(__name__)


def __dir__() -> list[str]:
    return list(__all__)
