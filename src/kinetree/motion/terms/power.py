"""Mechanical power, and strength that depends on angle and velocity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from kinetree.algebra.arrays import Array, number
from kinetree.algebra.bspline import Integers
from kinetree.declare import Parameter, declare
from kinetree.errors import InputError, must_be
from kinetree.motion.problem.setting import Setting
from kinetree.motion.program.evaluation import At, Curves
from kinetree.motion.terms.arguments import Instants, JointName, JointNames
from kinetree.motion.terms.contract import TORQUE, Bounded, Constraint, Function, Objective, Rows, row


@declare("power", "absolute mechanical power of the drives")
class Power(Objective):
    """Integral of sum_j |tau_j qd_j| dt: mechanical work of drives and brakes (J).

    |w| is rounded to sqrt(w^2 + smooth^2) - smooth near zero; ``smooth`` in W. The sharper the corner, the
    longer the search: a hundredth of the largest power is enough; use its solution as the initial guess for a
    sharper one.

    >>> from kinetree import terms
    >>> (0.5 * terms.Power()).weight
    0.5
    """

    family = "power"
    quadrature_error = 1e-2

    def __init__(
        self,
        joints: JointNames = None,
        smooth: Annotated[
            float, Parameter("How far the corner at zero power is rounded", "W", "positive")
        ] = 0.1,
    ) -> None:
        self.joints, self.smooth = joints, number(smooth, "smooth")
        if self.smooth <= 0.0:
            raise InputError(must_be("smooth", "positive", smooth, ""))

    @override
    def integrand(self, setting: Setting) -> Function:
        """What is integrated over the motion."""
        chosen = setting.moving_joints(self.joints, self.family)
        return _AbsolutePower(setting.own[chosen], [setting.column[j] for j in chosen], self.smooth)


class _AbsolutePower(Function):
    size, reads = 1, (TORQUE,)

    def __init__(self, rows: Integers, columns: Sequence[int], smooth: float) -> None:
        self.rows, self.columns, self.smooth = rows, list(columns), smooth

    def _parts(self, at: At) -> tuple[Array, Array, Array]:
        tau, qd = at.tau[:, self.rows], at.moving[:, 1, self.columns]
        return tau, qd, np.sqrt((tau * qd) ** 2 + self.smooth**2)

    def _power_slopes(self, at: At, tau: Array, qd: Array) -> tuple[Array, Array]:
        """Slopes of tau and of tau qd, (m, 3, k, n)."""
        torque = at.torque_slopes[:, :, self.rows]
        power = torque * qd[:, None, :, None]
        power[:, 1, np.arange(len(self.columns)), self.columns] += tau
        return torque, power

    def _curves(self, at: At, factor: Array) -> Curves:
        """Slopes of torques times a factor (m, k) by further blocks."""
        return {name: factor[:, :, None] * slopes[:, self.rows] for name, slopes in at.torque_curves.items()}

    @override
    def values(self, at: At) -> Array:
        total: Array = (self._parts(at)[2] - self.smooth).sum(axis=1, keepdims=True)
        return total

    @override
    def slopes(self, at: At) -> Array:
        tau, qd, size = self._parts(at)
        _, power = self._power_slopes(at, tau, qd)
        return (tau * qd / size)[:, None, None, :] @ power

    @override
    def curve_slopes(self, at: At) -> Curves:
        tau, qd, size = self._parts(at)
        each = self._curves(at, tau * qd / size * qd)
        return {name: slopes.sum(axis=1, keepdims=True) for name, slopes in each.items()}

    @override
    def bend(self, at: At, weight: Array) -> None:
        tau, qd, size = self._parts(at)
        torque, power = self._power_slopes(at, tau, qd)
        sign = weight * tau * qd / size
        at.weigh_torques(self.rows, sign * qd)
        at.add_outer(weight * self.smooth**2 / size**3, power, curves=self._curves(at, qd))
        rate = np.zeros_like(torque)
        rate[:, 1, np.arange(len(self.columns)), self.columns] = 1.0
        at.add_outer(2.0 * sign, torque, rate, curves=self._curves(at, np.ones_like(qd)))


@declare("strength_limit", "a torque stays below a strength that depends on angle and velocity")
class StrengthLimit(Constraint):
    """direction * tau <= strength(q, qd) of a joint, from a table that is interpolated smoothly.

    ``strength`` (len(angles), len(velocities)) in N m; ``direction`` +1 or -1: the direction of the torque.

    >>> angles, velocities = [0.0, 1.0, 2.0], [-5.0, 0.0, 5.0]
    >>> strength = [[90, 80, 40], [120, 100, 50], [90, 80, 40]]  # N m: a row for each angle
    >>> StrengthLimit("knee", angles, velocities, strength).family
    'strength limit'
    """

    family = "strength limit"

    def __init__(
        self,
        joint: JointName,
        angles: Annotated[ArrayLike, Parameter("Positions of the table, ascending", "rad, m", "numbers")],
        velocities: Annotated[
            ArrayLike, Parameter("Velocities of the table, ascending", "rad/s, m/s", "numbers")
        ],
        strength: Annotated[ArrayLike, Parameter("Strengths, one row for each position", "N m, N", "rows")],
        direction: Annotated[int, Parameter("1 or -1: direction of the torque", kind="sign")] = 1,
        at: Instants = "samples",
    ) -> None:
        self.joint, self.direction, self.at = joint, direction, at
        self.angles, self.velocities = row(angles, "angles"), row(velocities, "velocities")
        self.strength = row(strength, "strength")
        if direction not in (1, -1):
            raise InputError(must_be(f"{self.family}: direction", "1 or -1", direction))
        shape = (len(self.angles), len(self.velocities))
        if self.strength.shape != shape or min(shape) < 2:
            raise InputError(f"{self.family}: strength must have shape {shape}, got {self.strength.shape}")
        if (np.diff(self.angles) <= 0).any() or (np.diff(self.velocities) <= 0).any():
            raise InputError(f"{self.family}: angles and velocities must ascend")

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        (joint,) = setting.moving_joints([self.joint], self.family)
        function = _Strength(self, int(setting.own[joint]), setting.column[joint])
        s = setting.where(self.at, self.family)
        scale = float(np.abs(self.strength).max()) or 1.0
        return [Rows(function, s, [-np.inf], [0.0], self.family, [self.joint], "N m", [scale], "strength")]


def _at_least_four(x: Array, values: Array) -> tuple[Array, Array]:
    """A table over x (m,) with values (m, k); fewer than four points become four of the same polynomial."""
    if len(x) >= 4:
        return x, values
    finer = np.linspace(x[0], x[-1], 4)
    powers = np.vander(finer - x[0], len(x)) @ np.linalg.inv(np.vander(x - x[0], len(x)))
    return finer, powers @ values


class _Strength(Function):
    """direction tau - strength(q, qd)."""

    size, reads = 1, (TORQUE,)

    def __init__(self, limit: StrengthLimit, torque_row: int, column: int) -> None:
        from scipy.interpolate import RectBivariateSpline

        angles, strength = _at_least_four(limit.angles, limit.strength)
        velocities, strength = _at_least_four(limit.velocities, strength.T)
        self.table = RectBivariateSpline(angles, velocities, strength.T)
        self.ranges = tuple((float(x[0]), float(x[-1])) for x in (limit.angles, limit.velocities))
        self.rows, self.column, self.direction = np.array([torque_row]), column, float(limit.direction)

    def _strength(self, at: At, dq: int = 0, dqd: int = 0) -> Array:
        """The strength or a derivative of it; beyond the table it stays as at the table's edge."""
        found = np.ones(len(at.moving))
        state = []
        for rate, order in enumerate((dq, dqd)):
            (low, high), value = self.ranges[rate], at.moving[:, rate, self.column]
            if order:
                found[(value < low) | (value > high)] = 0.0
            state.append(np.clip(value, low, high))
        return found * np.asarray(self.table.ev(*state, dx=dq, dy=dqd), dtype=np.float64)

    @override
    def values(self, at: At) -> Array:
        return self.direction * at.tau[:, self.rows] - self._strength(at)[:, None]

    @override
    def slopes(self, at: At) -> Array:
        found = self.direction * at.torque_slopes[:, :, self.rows]
        found[:, 0, 0, self.column] -= self._strength(at, 1, 0)
        found[:, 1, 0, self.column] -= self._strength(at, 0, 1)
        return found

    @override
    def curve_slopes(self, at: At) -> Curves:
        return {name: self.direction * slopes[:, self.rows] for name, slopes in at.torque_curves.items()}

    @override
    def bend(self, at: At, weight: Array) -> None:
        at.weigh_torques(self.rows, self.direction * weight)
        n, w, c = at.moving.shape[2], weight[:, 0], self.column
        for block, factor, order in ((0, 0.5, (2, 0)), (1, 1.0, (1, 1)), (3, 0.5, (0, 2))):
            bent = np.zeros((len(w), n, n))
            bent[:, c, c] = -factor * w * self._strength(at, *order)
            at.add_block(block, bent)
