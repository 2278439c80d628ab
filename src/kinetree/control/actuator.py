"""Actuators with a state of their own, between a law and the joints."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from kinetree.control.controller import Controller, plain, short
from kinetree.control.per_joint import Checked, PerJoint, checked, spread
from kinetree.errors import InputError, must_be, shown
from kinetree.kernels.torque_law import DriveParts
from kinetree.model.mechanism import Mechanism


@dataclass(frozen=True, eq=False, repr=False)
class FirstOrderActuator:
    """Motors whose current follows its command with a lag: T di/dt = u - i, tau = k i, u = tau_law / k.

    ``law`` commands them: a controller, or any torque of :func:`kinetree.simulate`. ``time_constant`` T (s)
    and ``torque_constant`` k (N m/A or N/A), per joint; with k = 1 the current is the torque itself.
    ``limits`` (A) bound the command u, ``current`` (A) is where i starts. Each is a number for all joints, an
    array, or a dictionary by joint name: joints without a time constant in it get the torque of the law
    without a lag, as does a floating base.

    >>> import kinetree as kt
    >>> from kinetree.control import PD
    >>> motors = FirstOrderActuator(PD([0.5, 0.0, 0.0, 0.0], 20.0), time_constant=0.02, limits=3.0)
    >>> kt.simulate(kt.zoo.gripper(), [0.0] * 4, duration=0.1, controller=motors, times=3).current.shape
    (3, 4)
    """

    law: Any
    time_constant: PerJoint
    torque_constant: PerJoint = 1.0
    limits: PerJoint | None = None
    current: PerJoint = 0.0

    def __post_init__(self) -> None:
        if self.law is None or isinstance(self.law, FirstOrderActuator | type):
            raise InputError(f"an actuator follows a controller or a torque, got {shown(self.law)}")
        most = np.inf if self.limits is None else self.limits
        values = {
            "time_constant": _positive(self.time_constant, "time_constant", "s"),
            "torque_constant": _positive(self.torque_constant, "torque_constant", "N m/A or N/A"),
            "limits": checked(most, "limits of the command", unlimited=True),
            "current": checked(self.current, "current", signed=True),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def commanded(self) -> tuple[Any, Any]:
        """The law behind it, as the arguments ``torque`` and ``controller`` of a simulation have it."""
        return (None, self.law) if isinstance(self.law, Controller) else (self.law, None)

    def drive_parts(self, mechanism: Mechanism) -> DriveParts:
        """The actuators of a mechanism, as compiled simulations take them."""

        def each(name: str, unnamed: float, free: float) -> Any:
            return spread(getattr(self, name), mechanism, name, unnamed=unnamed, free=free)

        lag = each("time_constant", 0.0, 0.0)
        if not lag.any():
            raise InputError(f"'{mechanism.name}' has no joint that the actuator could drive")
        return DriveParts(
            driven=lag > 0.0,
            lag=lag,
            gain=each("torque_constant", 1.0, 1.0),
            limit=each("limits", np.inf, np.inf),
            start=each("current", 0.0, 0.0),
        )

    def settings(self) -> dict[str, Any]:
        """All arguments in plain numbers and texts, as JSON takes them."""
        law = self.law.settings() if isinstance(self.law, Controller) else _in_words(self.law)
        numbers = {f.name: plain(getattr(self, f.name)) for f in fields(self) if f.name != "law"}
        return {"controller": type(self).__name__, "law": law, **numbers}

    def __repr__(self) -> str:
        law = repr(self.law) if isinstance(self.law, Controller) else _in_words(self.law)
        return f"{type(self).__name__}({law}, time_constant={short(self.time_constant)})"


def _positive(value: PerJoint, what: str, unit: str) -> Checked:
    """Values above zero."""
    found = checked(value, what)
    if isinstance(found, dict):
        wrong = [f"{x:g} for joint '{name}'" for name, x in found.items() if x <= 0.0]
    elif isinstance(found, float):
        wrong = [f"{found:g}"] if found <= 0.0 else []
    else:
        wrong = [f"{x:g} at index {k}" for k, x in enumerate(found.tolist()) if x <= 0.0]
    if wrong:
        raise InputError(must_be(what, f"> 0 {unit}", wrong[0], ""))
    return found


def _in_words(torque: Any) -> str:
    """What drives it, if that is no controller."""
    if callable(torque) and hasattr(torque, "__name__"):
        return f"function {torque.__name__}"
    return (
        "table of torques" if isinstance(torque, tuple) or hasattr(torque, "breaks") else "constant torques"
    )
