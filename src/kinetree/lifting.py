"""Lifting, predicted: a box from the floor to a shelf, with both hands or one, by anyone.

>>> import kinetree as kt
>>> kt.lifting.Lifting(box=15.0, shelf=1.1).hand
'both'
"""

from kinetree.studies.lifting.lift import Lift, lift
from kinetree.studies.lifting.problem import Lifter, lifter, lifting_problem
from kinetree.studies.lifting.repeated import repeated
from kinetree.studies.lifting.task import Lifting

__all__ = ["Lift", "Lifter", "Lifting", "lift", "lifter", "lifting_problem", "repeated"]
