"""The mechanisms that come with the package, and files of other installed ones: what ``kt.zoo`` is.

>>> from kinetree.zoo import gripper
>>> gripper().n_dof
4
"""

from typing import NoReturn

from kinetree.errors import unknown_name
from kinetree.formats.installed import installed_models as installed_models
from kinetree.model.zoo import *  # noqa: F403
from kinetree.model.zoo import __all__ as _models

__all__ = [*_models, "installed_models"]


def __getattr__(name: str) -> NoReturn:
    if name.startswith("_"):
        raise AttributeError(name)
    raise AttributeError(unknown_name("mechanism of kinetree.zoo", name, __all__))


def __dir__() -> list[str]:
    return list(__all__)
