"""Objectives and constraints of motion prediction: what ``kt.terms`` is.

>>> from kinetree.terms import Time
"""

from kinetree.motion.terms import *  # noqa: F403
from kinetree.motion.terms import __all__ as __all__


def __dir__() -> list[str]:
    return list(__all__)
