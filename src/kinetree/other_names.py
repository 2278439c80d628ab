"""Names of other libraries and textbooks, and where the package has what they mean.

>>> known_as("rnea", ()), known_as("something", ())
('kinetree.inverse_dynamics', '')
"""

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from importlib.util import find_spec
from types import ModuleType
from typing import Any, TypeVar

from kinetree.errors import InputError, unknown_name

Called = TypeVar("Called", bound=Callable[..., Any])

OF_OTHERS = {
    "rnea": "inverse_dynamics", "inverseDynamics": "inverse_dynamics", "id": "inverse_dynamics",
    "aba": "forward_dynamics", "forwardDynamics": "forward_dynamics", "fd": "forward_dynamics",
    "crba": "mass_matrix", "inertia": "mass_matrix", "massMatrix": "mass_matrix",
    "nle": "bias_torque", "nonLinearEffects": "bias_torque", "coriolis": "bias_torque",
    "gravity": "gravity_torque", "gravload": "gravity_torque",
    "fk": "forward_kinematics", "fkine": "forward_kinematics", "forwardKinematics": "forward_kinematics",
    "ik": "inverse_kinematics", "ikine": "inverse_kinematics",
    "jacob0": "jacobian", "com": "center_of_mass", "centerOfMass": "center_of_mass",
    "loadURDF": "load", "load_urdf": "load", "read": "load", "open": "load", "load_nc": "load_result",
    "optimize": "predict", "solve": "predict", "show": "view", "plot": "draw", "visualize": "view",
    "animate": "Result.animate", "mpc": "control.MPC", "from_urdf": "load", "from_mjcf": "load",
}  # fmt: skip


def known_as(name: str, modules: Iterable[ModuleType]) -> str:
    """Where a name that the package lacks is: under another name, or in one of the modules; else empty."""
    if name in OF_OTHERS:
        return f"kinetree.{OF_OTHERS[name]}"
    if find_spec(f"kinetree.{name}"):  # a module that is about to be imported: this must be quick
        return ""
    homes = (module for module in modules if name in getattr(module, "__all__", ()))
    return next((f"{module.__name__}.{name}" for module in homes), "")


def names_of(
    module: str, names: Iterable[str], found: Callable[[str], Any] | None = None
) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module: an unknown name gives an error with the nearest one.

    ``found`` is asked first: that of a module which loads its names when they are needed.

    >>> names_of("kinetree.terms", ["Time", "KeepOut"])("Obstacle")
    Traceback (most recent call last):
    AttributeError: unknown name of kinetree.terms 'Obstacle'; allowed: Time, KeepOut. Did you mean 'KeepOut'?
    """
    known = list(names)

    def missing(name: str) -> Any:
        if found is not None and name in known:
            return found(name)
        if name.startswith("_"):
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        if name in OF_OTHERS:
            raise AttributeError(f"{module} has no name '{name}'; use {known_as(name, ())}")
        raise AttributeError(unknown_name(f"name of {module}", name, known))

    return missing


def checks_keywords(called: Called) -> Called:
    """A function or class whose unknown keyword arguments give an InputError with the nearest one.

    >>> @checks_keywords
    ... def close(mechanism, q0): ...
    >>> close("bar", guess=[0.0])
    Traceback (most recent call last):
    kinetree.errors.InputError: unknown argument of close 'guess'; allowed: mechanism, q0. Did you mean 'q0'?
    """
    function: Callable[..., Any] = called.__init__ if isinstance(called, type) else called  # type: ignore[misc]
    allowed = [name for name in inspect.signature(function).parameters if name != "self"]

    @wraps(function)
    def checked(*arguments: Any, **keywords: Any) -> Any:
        for name in keywords:
            if name not in allowed:
                raise InputError(unknown_name(f"argument of {called.__name__}", name, allowed))
        return function(*arguments, **keywords)

    if not isinstance(called, type):
        return checked  # type: ignore[return-value]
    called.__init__ = checked  # type: ignore[misc]
    return called
