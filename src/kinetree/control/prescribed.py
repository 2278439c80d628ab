"""Joints that move as prescribed, whatever torque that takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.analysis.hybrid import prescribed_joints
from kinetree.control.actuator import FirstOrderActuator
from kinetree.control.controller import Controller
from kinetree.control.desired_motion import Desired, DesiredMotion, desired_motion
from kinetree.errors import InputError, listed, texts
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Integers

SMOOTH = 1e-7  # jump of a position or velocity, relative to its size, that counts as one


class PrescribedParts(NamedTuple):
    """What compiled simulations take: places in q (k,), their motion with k columns, times of kinks (s)."""

    places: Integers
    motion: PiecewisePolynomial
    breaks: tuple[float, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Prescribed:
    """Drives that move some joints as prescribed; a simulation computes the torques.

    ``motion`` is a trajectory, a :class:`PiecewisePolynomial` or a pose to keep, of all degrees of freedom or
    of the prescribed ones. ``joints`` names these, as degrees of freedom or whole joints; by default all
    driven ones: a floating base and joints without drives then move freely, as in ReDySim's inverse dynamics
    ([Shah2013], section 7.1). ``law`` drives the others: a controller, an actuator, or anything that is a
    torque of :func:`kinetree.simulate`; by default nothing does. Prescribed joints have to begin as their
    motion does, and closed loops must leave them free to move one by one;
    :func:`kinetree.analysis.hybrid_dynamics` answers the same for single states.

    >>> import kinetree as kt
    >>> arm = kt.zoo.gripper()
    >>> lift = kt.control.Prescribed(kt.trajectories.cycloid([0.0], [1.0], 0.5), ["joint1"])
    >>> run = kt.simulate(arm, [0.0] * 4, duration=0.5, controller=lift, times=3)
    >>> run.q.sel(joint="joint1").values.round(6).tolist()
    [0.0, 0.5, 1.0]
    """

    motion: Desired
    joints: Sequence[str] | None = None
    law: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.law, Prescribed | type):
            raise InputError(
                f"joints that are not prescribed follow a controller or a torque, got {self.law!r}"
            )
        object.__setattr__(self, "_desired", desired_motion(self.motion))
        if self.joints is not None:
            object.__setattr__(self, "joints", texts(self.joints, "joints"))

    @property
    def desired(self) -> DesiredMotion:
        """The motion behind one interface."""
        found: DesiredMotion = self._desired  # type: ignore[attr-defined]
        return found

    @property
    def commanded(self) -> tuple[Any, Any]:
        """The law of the others, as the arguments ``torque`` and ``controller`` of a simulation have it."""
        is_law = isinstance(self.law, Controller | FirstOrderActuator)
        return (None, self.law) if is_law else (self.law, None)

    def prescribed_parts(self, mechanism: Mechanism) -> PrescribedParts:
        """The joints of a mechanism and their motion, as compiled simulations take them."""
        places = prescribed_joints(mechanism, self.joints)
        if not len(places):
            raise InputError(f"'{mechanism.name}': no joint is prescribed, so there is nothing to follow")
        table = self.desired.table
        chosen = PiecewisePolynomial(table.breaks, table.coefficients[:, :, self._columns(mechanism, places)])
        names = [mechanism.joint_names[k] for k in places]
        _check_smooth(chosen, names)
        return PrescribedParts(places, chosen, tuple(t for t in self.desired.breaks.tolist() if t > 0.0))

    def _columns(self, mechanism: Mechanism, places: Integers) -> Integers:
        """Which column of the motion belongs to each prescribed joint."""
        if self.desired.n == mechanism.n_dof:
            return places
        if self.desired.n != len(places):
            names = listed(mechanism.joint_names[k] for k in places)
            raise InputError(
                f"the prescribed motion must have {mechanism.n_dof} coordinates, or {len(places)} for "
                f"{names}; it has {self.desired.n}"
            )
        if self.joints is None:
            return np.arange(len(places))
        order = [k for name in self.joints for k in prescribed_joints(mechanism, [name])]
        return np.array([order.index(k) for k in places], dtype=np.int64)

    def settings(self) -> dict[str, Any]:
        """All arguments in plain numbers and texts, as JSON takes them."""
        stated: dict[str, Any] = {"controller": type(self).__name__, "motion": self.desired.settings()}
        stated["joints"] = None if self.joints is None else list(self.joints)
        if self.law is not None:
            stated["law"] = self.law.settings() if hasattr(self.law, "settings") else "torque"
        return stated

    def __repr__(self) -> str:
        joints = "" if self.joints is None else f", joints=({', '.join(self.joints)})"
        law = "" if self.law is None else ", law=..."
        return f"{type(self).__name__}({self.desired.in_words()}{joints}{law})"


def _check_smooth(motion: PiecewisePolynomial, names: Sequence[str]) -> None:
    """Positions and velocities of a prescribed motion must not jump: no torque makes them."""
    c, h = motion.coefficients, np.diff(motion.breaks)
    for what, unit, order in (("position", "rad or m", 0), ("velocity", "rad/s or m/s", 1)):
        if order and len(c) < 2:
            continue
        powers = np.arange(c.shape[1])
        factor = powers if order else np.ones_like(powers)
        ends = (c * factor[:, None] * h[:, None, None] ** np.maximum(powers - order, 0)[:, None]).sum(axis=1)
        starts = c[:, order] if c.shape[1] > order else np.zeros((len(c), c.shape[2]))
        jump = np.abs(starts[1:] - ends[:-1])
        if not jump.size:
            continue
        allowed = SMOOTH * (1.0 + np.abs(c).max(axis=(0, 1)) + np.abs(ends).max(axis=0))
        if (jump > allowed).any():
            piece, joint = np.argwhere(jump > allowed)[0]
            raise InputError(
                f"the prescribed {what} of joint '{names[joint]}' jumps by {jump[piece, joint]:.3g} {unit} "
                f"at t = {motion.breaks[piece + 1]:g} s: no finite torque does that"
            )
