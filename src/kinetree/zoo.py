"""The mechanisms that come with the package, and files of other installed ones: what ``kt.zoo`` is.

>>> from kinetree.zoo import gripper
>>> gripper().n_dof
4
"""

from kinetree.formats.installed import installed as installed
from kinetree.model.zoo import *  # noqa: F403
from kinetree.model.zoo import __all__ as _models

__all__ = [*_models, "installed"]
