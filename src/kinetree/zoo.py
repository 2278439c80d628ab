"""The mechanisms that come with the package, and files of other installed ones: what ``kt.zoo`` is.

>>> from kinetree.zoo import gripper
>>> gripper().n_dof
4
"""

from typing import TYPE_CHECKING, NoReturn

from kinetree.errors import unknown_name
from kinetree.formats.installed import installed_models as installed_models
from kinetree.model.zoo import *  # noqa: F403
from kinetree.model.zoo import __all__ as _models
from kinetree.renamed import moved_names

__all__ = [*_models, "installed_models"]


def _unknown(name: str) -> NoReturn:
    if name.startswith("_"):
        raise AttributeError(name)
    raise AttributeError(unknown_name("mechanism of kinetree.zoo", name, __all__))


if not TYPE_CHECKING:  # a type checker knows the new names only
    __getattr__ = moved_names(__name__, _unknown)


def __dir__() -> list[str]:
    return list(__all__)
