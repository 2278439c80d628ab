"""The actuators that a mechanism has of its own, as a law: motors and servos with gears and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, frozen, number, numbers
from kinetree.control.controller import plain
from kinetree.control.structure import effort_limits
from kinetree.errors import InputError, unknown_name
from kinetree.model.actuator import Actuator
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.state import coordinates

SAME = 1e-6  # rad, m: a pose is that of a state if it is as near to it


@dataclass(frozen=True, eq=False)
class ModelActuators:
    """The mechanism's own actuators under constant controls, tau = sum of gear (gain u + bias - kp l - kv v).

    ``control`` is the name of one of its states, controls (n_actuators,) or controls by actuator, zero for
    those not named. A state without controls is held: position servos are commanded where they are there.
    Forces stay within the actuators' ranges, torques within the joints' effort limits.

    >>> import kinetree as kt
    >>> arm = kt.Builder("arm")
    >>> _ = arm.world.revolute("hinge", axis="y").body("rod", kt.Inertia.rod(1.0, end=(0.5, 0, 0)))
    >>> arm.actuator(kt.model.Actuator.position("servo", "hinge", kp=100.0, kv=5.0, force_range=(-8, 8)))
    >>> ModelActuators({"servo": 0.1}).torque(arm.build(), 0.0, [0.05], [0.2]).tolist()
    [4.0]
    """

    control: str | ArrayLike | Mapping[str, float] = 0.0

    def __post_init__(self) -> None:
        given: Any = self.control
        if isinstance(given, Mapping):
            given = {str(name): number(x, f"control of '{name}'") for name, x in given.items()}
        elif not isinstance(given, str):
            given = frozen(finite(numbers(given, "control"), "control"))
        object.__setattr__(self, "control", given)

    @classmethod
    def holding(cls, mechanism: Mechanism, q: ArrayLike) -> ModelActuators:
        """The actuators that hold a pose q (n_dof,), with the controls of a state whose pose it is, if any.

        Else position servos are commanded where they are.
        """
        pose = coordinates(mechanism, q, "q")
        for state in mechanism.states.values():
            if state.control is not None and np.abs(state.q - pose).max(initial=0.0) < SAME:
                return cls(state.name)
        return cls(_held(mechanism, pose))

    def settings(self) -> dict[str, Any]:
        """What was given, in plain numbers and texts."""
        return {"controller": type(self).__name__, "control": plain(self.control)}

    def commands(self, mechanism: Mechanism) -> Array:
        """The controls (n_actuators,) of a mechanism's actuators, within their ranges."""
        actuators = _actuators(mechanism)
        given: Any = self.control
        if isinstance(given, str):
            state = mechanism.states[given]
            u = _held(mechanism, state.q) if state.control is None else state.control
        elif isinstance(given, dict):
            names = [actuator.name for actuator in actuators]
            u = np.zeros(len(names))
            for name, x in given.items():
                if name not in names:
                    raise InputError(unknown_name("actuator", name, names).after("control: "))
                u[names.index(name)] = x
        elif given.ndim == 0 or given.shape == (len(actuators),):
            u = np.broadcast_to(given, len(actuators))
        else:
            raise InputError(
                f"control must be {len(actuators)} numbers, for the actuators of '{mechanism.name}', "
                f"got shape {given.shape}"
            )
        low, high = np.array([actuator.control_range for actuator in actuators]).T
        commands: Array = np.clip(u, low, high)
        return commands

    def torque(
        self,
        mechanism: Mechanism,
        t: ArrayLike,
        q: ArrayLike,
        qd: ArrayLike,
    ) -> Array:
        """Torques (..., n_dof) of the actuators in states q, qd (..., n_dof), at any time."""
        expect_mechanism(mechanism)
        q, qd = coordinates(mechanism, q, "q"), coordinates(mechanism, qd, "qd")
        parts = self.servo_parts(mechanism)
        G, most = parts["gears"], parts["most"]
        force = parts["force"] - parts["kp"] * (q @ G.T) - parts["kv"] * (qd @ G.T)
        tau: Array = np.clip(np.clip(force, parts["low"], parts["high"]) @ G, -most, most)
        return tau

    def servo_parts(self, mechanism: Mechanism) -> dict[str, Array]:
        """The actuators as a simulation takes them: f = force - kp l - kv dl/dt within low and high."""
        actuators = _actuators(mechanism)
        gain, bias, kp, kv, low, high = np.array(
            [(x.gain, x.bias, x.kp, x.kv, *x.force_range) for x in actuators]
        ).T
        force = gain * self.commands(mechanism) + bias
        most = effort_limits(mechanism)
        gears = gear_matrix(mechanism)
        return {"gears": gears, "force": force, "kp": kp, "kv": kv, "low": low, "high": high, "most": most}


def gear_matrix(mechanism: Mechanism) -> Array:
    """G (n_actuators, n_dof): lengths G q, torques G^T f."""
    G = np.zeros((len(mechanism.actuators), mechanism.n_dof))
    for row, actuator in zip(G, mechanism.actuators, strict=True):
        for dof, gear in actuator.gears:
            row[mechanism.joint_index(dof)] = gear
    return G


def _actuators(mechanism: Mechanism) -> tuple[Actuator, ...]:
    if not mechanism.actuators:
        raise InputError(f"mechanism '{mechanism.name}' has no actuators; add some, or use another law")
    return mechanism.actuators


def _held(mechanism: Mechanism, q: Array) -> Array:
    """Controls that let position servos rest at q; zero for other actuators."""
    lengths = gear_matrix(mechanism) @ q
    return np.array(
        [
            length - actuator.bias / actuator.kp if actuator.is_position_servo else 0.0
            for actuator, length in zip(mechanism.actuators, lengths, strict=True)
        ]
    )
