"""Kinetree: dynamics and motion of articulated systems, from one model.

>>> import kinetree as kt
>>> arm = kt.zoo.kuka_kr5()
>>> kt.gravity_torque(arm, [0.0] * 6).shape
(6,)

The public names stand in ``__init__.pyi``, each once with its home; a module is loaded when a name of it is
first used, so that importing the package is quick.
"""

from types import ModuleType

import lazy_loader

__version__ = "0.2.0"
_found, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    try:
        return _found(name)
    except AttributeError:
        if name.startswith("_") or name in __all__:
            raise
        from kinetree.errors import unknown_name
        from kinetree.other_names import known_as

        place = known_as(name, (x for x in map(_found, __all__) if isinstance(x, ModuleType)))
        if place:
            raise AttributeError(f"the package kinetree has no name '{name}'; use {place}") from None
        raise AttributeError(unknown_name("name of the package kinetree", name, __all__)) from None
