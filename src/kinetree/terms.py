"""Objectives and constraints of motion prediction: what ``kt.terms`` is.

>>> from kinetree.terms import Time
"""

from typing import TYPE_CHECKING

from kinetree.motion.terms import *  # noqa: F403
from kinetree.motion.terms import __all__ as __all__
from kinetree.other_names import names_of

if not TYPE_CHECKING:  # a checker knows the names
    __getattr__ = names_of(__name__, __all__)


def __dir__() -> list[str]:
    return list(__all__)
