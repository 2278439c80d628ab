"""Predicted lifting of a box from the floor to a shelf, with both hands or one, by people of any size.

>>> import kinetree as kt
>>> kt.lifting.Lifting(box=15.0, shelf=1.1).hand
'both'
"""

from typing import TYPE_CHECKING

from kinetree.other_names import names_of
from kinetree.tasks.lifting.cyclic import LiftCycle, cycle
from kinetree.tasks.lifting.exhaustion import Exhaustion, lift_until_exhausted
from kinetree.tasks.lifting.lift import Lift, lift
from kinetree.tasks.lifting.problem import Lifter, lifter, lifting_problem
from kinetree.tasks.lifting.repeated import repeat
from kinetree.tasks.lifting.squat import SquatRow, SquatScore, squat_score
from kinetree.tasks.lifting.task import Lifting

__all__ = [
    "Exhaustion",
    "Lift",
    "LiftCycle",
    "Lifter",
    "Lifting",
    "SquatRow",
    "SquatScore",
    "cycle",
    "lift",
    "lift_until_exhausted",
    "lifter",
    "lifting_problem",
    "repeat",
    "squat_score",
]

if not TYPE_CHECKING:  # a checker knows the names
    __getattr__ = names_of(__name__, __all__)


def __dir__() -> list[str]:
    return list(__all__)
