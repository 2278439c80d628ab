"""Human walking, predicted: one step from q = 0, of anyone, at any speed, on slopes, with loads.

>>> import kinetree as kt
>>> kt.walking.Walking(speed=1.0, step=0.5).duration
0.5
"""

from kinetree.studies.walking.problem import Walker, walker, walking_problem
from kinetree.studies.walking.task import Walking
from kinetree.studies.walking.walk import Walk, walk

__all__ = ["Walk", "Walker", "Walking", "walk", "walker", "walking_problem"]
