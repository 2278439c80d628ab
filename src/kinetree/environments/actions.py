"""What a robot can do: actions from -1 to 1 become torques, or targets of servos."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, number
from kinetree.errors import InputError, listed, must_be, unknown_name
from kinetree.model.mechanism import Mechanism

PerJoint = float | Mapping[str, float]
Command = Callable[[Array], dict[str, Array]]


@dataclass(frozen=True, kw_only=True)
class Action(ABC):
    """One kind of action; ``joints`` names what is driven, by default all joints that have drives.

    ``scale``: what an action of 1 means, one number or by joint.
    """

    joints: tuple[str, ...] | None = None
    scale: PerJoint | None = None

    def driven(self, mechanism: Mechanism) -> tuple[str, ...]:
        """The joints that actions move, in their order."""
        able = [name for name, flag in zip(mechanism.joint_names, mechanism.actuated, strict=True) if flag]
        if self.joints is None:
            if not able:
                raise InputError(f"'{mechanism.name}' has no joints with drives")
            return tuple(able)
        for name in self.joints:
            if name not in able:
                raise InputError(unknown_name("joint with a drive", name, able))
        if len(set(self.joints)) < len(self.joints):
            raise InputError(must_be("joints", "named once each", listed(self.joints), ""))
        return self.joints

    def scales(self, mechanism: Mechanism) -> Array:
        """What an action of 1 means, (k,)."""
        return self._by_joint(mechanism, self.scale, self.usual_scale(mechanism), "scale")

    @abstractmethod
    def usual_scale(self, mechanism: Mechanism) -> Array:
        """The scale of each driven joint where none is given; NaN where there is none."""

    def gains(self, mechanism: Mechanism) -> dict[str, Array]:
        """Gains kp and kd of servos by coordinate (n_dof,)."""
        return {}

    @abstractmethod
    def command(self, mechanism: Mechanism, home: Array) -> Command:
        """What makes arguments of :meth:`kinetree.Stepper.step` of actions (b, k), around a pose (n_dof,)."""

    def _places(self, mechanism: Mechanism) -> list[int]:
        return [mechanism.joint_index(name) for name in self.driven(mechanism)]

    def _matrix(self, mechanism: Mechanism) -> Array:
        """From actions (k,) to coordinates (n_dof,)."""
        found = np.zeros((len(self.driven(mechanism)), mechanism.n_dof))
        found[np.arange(len(found)), self._places(mechanism)] = self.scales(mechanism)
        return found

    def _by_joint(self, mechanism: Mechanism, given: Any, usual: Array, what: str) -> Array:
        names = self.driven(mechanism)
        if isinstance(given, Mapping):
            for name in given:
                if name not in names:
                    raise InputError(unknown_name("joint", name, names).after(f"{what}: "))
            own = {name: number(x, f"{what} of '{name}'") for name, x in given.items()}
            found = np.array(
                [own.get(name, x) for name, x in zip(names, usual, strict=True)], dtype=np.float64
            )
        else:
            found = np.array(usual, float) if given is None else np.full(len(names), number(given, what))
        wrong = [name for name, x in zip(names, found, strict=True) if not (np.isfinite(x) and x >= 0.0)]
        if wrong:
            raise InputError(
                f"{what} of {type(self).__name__} must be finite and >= 0; give one for {listed(wrong)}"
            )
        return found


@dataclass(frozen=True, kw_only=True)
class Torques(Action):
    """Torques (N m) and forces (N); 1 is the effort limit of the joint unless ``scale`` says otherwise."""

    def usual_scale(self, mechanism: Mechanism) -> Array:
        """Effort limits."""
        limit = mechanism.effort_limit[self._places(mechanism)]
        return np.where(np.isfinite(limit), limit, np.nan)

    def command(self, mechanism: Mechanism, home: Array) -> Command:
        """Torques."""
        matrix = self._matrix(mechanism)
        return lambda action: {"torque": action @ matrix}


@dataclass(frozen=True, kw_only=True)
class Positions(Action):
    """Targets of position servos around the home pose; 1 is 0.5 rad or m unless ``scale`` says otherwise.

    The servo pulls with kp (target - q) - kd qd, implicit in both gains and so stable however stiff; effort
    limits do not bound it.
    """

    kp: PerJoint
    kd: PerJoint | None = None

    def usual_scale(self, mechanism: Mechanism) -> Array:
        """Half a radian."""
        return np.full(len(self.driven(mechanism)), 0.5)

    def gains(self, mechanism: Mechanism) -> dict[str, Array]:
        """kp, and kd = kp / 20 unless given."""
        places, found = self._places(mechanism), {}
        kp = self._by_joint(mechanism, self.kp, np.full(len(places), np.nan), "kp")
        kd = self._by_joint(mechanism, self.kd, 0.05 * kp, "kd")
        for name, gain in (("kp", kp), ("kd", kd)):
            found[name] = np.zeros(mechanism.n_dof)
            found[name][places] = gain
        return found

    def command(self, mechanism: Mechanism, home: Array) -> Command:
        """Targets."""
        matrix = self._matrix(mechanism)
        return lambda action: {"target": home + action @ matrix}


@dataclass(frozen=True, kw_only=True)
class Velocities(Action):
    """Targets of velocity servos (rad/s, m/s); 1 is the velocity limit unless ``scale`` says otherwise."""

    kd: PerJoint

    def usual_scale(self, mechanism: Mechanism) -> Array:
        """Velocity limits."""
        limit = mechanism.velocity_limit[self._places(mechanism)]
        return np.where(np.isfinite(limit), limit, np.nan)

    def gains(self, mechanism: Mechanism) -> dict[str, Array]:
        """The damping kd, which pulls to zero; torques of kd times the target do the rest."""
        found = np.zeros(mechanism.n_dof)
        places = self._places(mechanism)
        found[places] = self._by_joint(mechanism, self.kd, np.full(len(places), np.nan), "kd")
        return {"kd": found}

    def command(self, mechanism: Mechanism, home: Array) -> Command:
        """kd times the target."""
        matrix = self._matrix(mechanism) * self.gains(mechanism)["kd"]
        return lambda action: {"torque": action @ matrix}
