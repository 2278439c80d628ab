"""The mechanisms that come with the package, and files of other installed ones: what ``kt.zoo`` is.

>>> from kinetree.zoo import gripper
>>> gripper().n_dof
4
"""

from typing import TYPE_CHECKING

from kinetree.formats.installed import installed_models as installed_models
from kinetree.model.zoo import *  # noqa: F403
from kinetree.model.zoo import __all__ as _models
from kinetree.other_names import names_of

__all__ = [*_models, "installed_models"]
if not TYPE_CHECKING:  # a checker knows the names
    __getattr__ = names_of(__name__, __all__)


def __dir__() -> list[str]:
    return list(__all__)
