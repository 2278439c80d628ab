"""Predicted gaits of legged robots: walking, trotting, hopping and jumping with the least effort.

>>> import kinetree as kt
>>> kt.gaits.Gait(speed=0.3, schedule="trot").speed
0.3
"""

from typing import TYPE_CHECKING

from kinetree.other_names import names_of
from kinetree.tasks.gaits.gait import PredictedGait, gait
from kinetree.tasks.gaits.leap import Leap, hop, jump
from kinetree.tasks.gaits.schedule import Schedule, named_schedules
from kinetree.tasks.gaits.task import Gait

__all__ = ["Gait", "Leap", "PredictedGait", "Schedule", "gait", "hop", "jump", "named_schedules"]

if not TYPE_CHECKING:  # a checker knows the names
    __getattr__ = names_of(__name__, __all__)


def __dir__() -> list[str]:
    return list(__all__)
