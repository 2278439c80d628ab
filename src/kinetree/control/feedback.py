"""Feedback without a model: each joint on its own ([Shah2013], eq. 9.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.control.controller import Controller
from kinetree.control.desired_motion import Desired, desired_motion
from kinetree.control.fitted import Recipe
from kinetree.control.per_joint import PerJoint, checked, critical
from kinetree.errors import InputError


@dataclass(frozen=True, eq=False, repr=False)
class PD(Controller):
    """tau = kp e + kd ed with e = q_desired - q ([Shah2013], eq. 9.2 without its integral).

    ``trajectory``: a trajectory, a :class:`PiecewisePolynomial` or a pose (n_dof,) to hold; for a floating
    base with all coordinates or those of the joints only. ``kd`` None: 2 sqrt(kp).

    >>> import kinetree as kt
    >>> PD([0.1, 0.0, 0.0, 0.0], kp=49.0).torque(kt.zoo.gripper(), 0.0, [0, 0, 0, 0], [0, 1, 0, 0]).tolist()
    [4.9, -14.0, 0.0, 0.0]
    """

    trajectory: Desired
    kp: PerJoint
    kd: PerJoint | None = None

    def _checked_recipe(self) -> Recipe:
        desired = desired_motion(self.trajectory)
        kp = checked(self.kp, "kp")
        kd = critical(kp) if self.kd is None else checked(self.kd, "kd")
        self._set(trajectory=desired.source, kp=kp, kd=kd)
        return Recipe(desired, kp, kd)

    def joint_law(self, what: str) -> tuple[PiecewisePolynomial, float, float, float]:
        """Desired motion, gains and limit of a law of one coordinate, such as that of a cut joint."""
        assert self._recipe.desired is not None
        values = self._recipe.kp, self._recipe.kd, np.inf if self.limits is None else self.limits
        if self._recipe.desired.n != 1 or not all(isinstance(x, float) for x in values) or self.period:
            raise InputError(
                f"{what}: a PD of one joint has a trajectory of one coordinate, numbers as gains and limits, "
                f"and no period; got {self!r}"
            )
        kp, kd, limit = values
        return self._recipe.desired.table, kp, kd, limit  # type: ignore[return-value]


@dataclass(frozen=True, eq=False, repr=False)
class PID(Controller):
    """tau = kp e + kd ed + ki (integral of e dt) with e = q_desired - q ([Shah2013], eq. 9.2).

    Arguments as for :class:`PD`. While a torque is at its limit, the integral of its joint does not grow
    (anti-windup).

    >>> PID([0.0, 0.0], kp=100.0, kd=20.0, ki=(5.0, 0.0))
    PID(pose of 2 coordinates, kp=100, kd=20, ki=(5, 0))
    """

    trajectory: Desired
    kp: PerJoint
    kd: PerJoint | None = None
    ki: PerJoint = 0.0

    def _checked_recipe(self) -> Recipe:
        desired = desired_motion(self.trajectory)
        kp, ki = checked(self.kp, "kp"), checked(self.ki, "ki")
        kd = critical(kp) if self.kd is None else checked(self.kd, "kd")
        self._set(trajectory=desired.source, kp=kp, kd=kd, ki=ki)
        return Recipe(desired, kp, kd, ki)
