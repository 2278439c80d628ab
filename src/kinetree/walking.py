"""Predicted human walking: one step from q = 0, for people of any size, at any speed, on slopes, with loads.

>>> import kinetree as kt
>>> kt.walking.Walking(speed=1.0, step=0.5).duration
0.5
"""

from typing import TYPE_CHECKING

from kinetree.documents.walking import TwoStepWalk, two_step_walk
from kinetree.documents.walking_problem import document_problem as two_step_problem
from kinetree.other_names import names_of
from kinetree.tasks.walking.problem import Walker, walker, walking_problem
from kinetree.tasks.walking.stride import Stride
from kinetree.tasks.walking.task import Walking
from kinetree.tasks.walking.walk import Walk, walk

__all__ = [
    "Stride",
    "TwoStepWalk",
    "Walk",
    "Walker",
    "Walking",
    "two_step_problem",
    "two_step_walk",
    "walk",
    "walker",
    "walking_problem",
]

if not TYPE_CHECKING:  # a checker knows the names
    __getattr__ = names_of(__name__, __all__)


def __dir__() -> list[str]:
    return list(__all__)
