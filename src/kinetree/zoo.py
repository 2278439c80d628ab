"""The mechanisms that come with the package: what ``kt.zoo`` is.

>>> from kinetree.zoo import gripper
>>> gripper().n_dof
4
"""

from kinetree.model.zoo import *  # noqa: F403
from kinetree.model.zoo import __all__ as __all__
