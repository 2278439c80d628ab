"""How a mechanism holds itself: distances of joints from a posture, sums of joints, accelerations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array, number
from kinetree.declare import Parameter, declare
from kinetree.errors import InputError, expect, listed, must_be
from kinetree.motion.problem.profile import RATES
from kinetree.motion.problem.setting import Setting
from kinetree.motion.program.evaluation import At
from kinetree.motion.terms.arguments import (
    Coefficients,
    Instants,
    InstantsOrPoints,
    JointName,
    JointNames,
    JointWeights,
    Names,
    Values,
)
from kinetree.motion.terms.contract import (
    Bounded,
    Constraint,
    Function,
    LinearRows,
    Objective,
    Rows,
    per_joint,
    two_bounds,
)
from kinetree.motion.terms.functions import MotionSquares
from kinetree.motion.terms.limits import POINTS


@declare("squared_acceleration", "squared accelerations of the joints")
class SquaredAcceleration(Objective):
    """Integral of sum_j w_j qdd_j^2 dt: damps erratic motions of light joints.

    >>> (1e-5 * SquaredAcceleration()).weight
    1e-05
    """

    family = "squared acceleration"

    def __init__(self, joints: JointNames = None, weights: JointWeights = 1.0) -> None:
        self.joints, self.weights = joints, weights

    @override
    def integrand(self, setting: Setting) -> Function:
        """What is integrated over the motion."""
        matrix, weights, chosen = _each(setting, self.joints, self.weights, self.family)
        return MotionSquares(2, matrix, weights, np.zeros(len(chosen)))

    @override
    def smooths(self, setting: Setting) -> Sequence[int]:
        """Joints whose profile it determines."""
        return setting.moving_joints(self.joints, self.family)


@declare("posture", "squared distance of joints from a posture")
class Posture(Objective):
    """Integral of sum_j w_j (q_j - position_j)^2 dt: joints stay near a posture.

    ``position`` (rad, m): one number, one for each of the joints, or a mapping from names; others are 0.

    >>> Posture(["joint1"], 0.2).family
    'posture'
    """

    family = "posture"

    def __init__(
        self,
        joints: JointNames = None,
        position: Annotated[Values, Parameter("The posture", "rad, m", "positions")] = 0.0,
        weights: JointWeights = 1.0,
    ) -> None:
        self.joints, self.position, self.weights = joints, position, weights

    @override
    def integrand(self, setting: Setting) -> Function:
        """What is integrated over the motion."""
        matrix, weights, chosen = _each(setting, self.joints, self.weights, self.family)
        target = per_joint(self.position, setting, chosen, f"position of {self.family}", 0.0)
        if not np.isfinite(target).all():
            raise InputError(must_be(f"position of {self.family}", "finite", target.tolist()))
        return MotionSquares(0, matrix, weights, target)

    @override
    def smooths(self, setting: Setting) -> Sequence[int]:
        """Joints whose profile it determines."""
        return setting.moving_joints(self.joints, self.family)


@declare("squared_sum", "squared distance of a sum of joints from a value")
class SquaredSum(Objective):
    """Integral of (sum_j c_j q_j - target)^2 dt: a sum of joints stays near a value.

    The angles of a chain in one plane add up, so this keeps a trunk upright or a hand level.

    >>> SquaredSum({"hip": 1.0, "knee": -1.0}).family
    'squared sum of joints'
    """

    family = "squared sum of joints"

    def __init__(
        self, coefficients: Coefficients, target: Annotated[float, Parameter("The value", "rad, m")] = 0.0
    ) -> None:
        expect(coefficients, Mapping, f"coefficients of {self.family}", "numbers by names of joints")
        self.coefficients, self.target = dict(coefficients), number(target, f"target of {self.family}")
        if not self.coefficients:
            raise InputError(f"{self.family}: give at least one joint with its coefficient")

    @override
    def integrand(self, setting: Setting) -> Function:
        """What is integrated over the motion."""
        matrix, target = np.zeros((1, len(setting.profiles.varying))), self.target
        for name, value in self.coefficients.items():
            (joint,) = setting.joints(name, self.family)
            factor = number(value, f"coefficient of '{name}'")
            if joint in setting.column:
                matrix[0, setting.column[joint]] += factor
            else:
                target -= factor * setting.frozen_at(joint)
        return MotionSquares(0, matrix, np.ones(1), np.array([target]))


def _each(setting: Setting, joints: Names, given: Values, family: str) -> tuple[Array, Array, list[int]]:
    """A row for each of the moving joints, its weight, and which joints they are."""
    chosen = setting.moving_joints(joints, family)
    weights = per_joint(given, setting, chosen, f"weights of {family}", 1.0)
    if not np.isfinite(weights).all() or (weights < 0.0).any():
        raise InputError(must_be(f"weights of {family}", "finite and not negative", weights.tolist()))
    matrix = np.zeros((len(chosen), len(setting.profiles.varying)))
    matrix[np.arange(len(chosen)), [setting.column[j] for j in chosen]] = 1.0
    return matrix, weights, chosen


@declare("joint_combination", "a weighted sum of joints stays between bounds")
class JointCombination(Constraint):
    """A weighted sum of joints stays within bounds: lower <= sum_j c_j q_j <= upper (rad, m).

    The angles of a chain in one plane add up, so that equal bounds keep a hand level, and ``{"left": 1.0,
    "right": -1.0}`` makes one joint follow another. ``at`` as elsewhere, or "points": what holds for control
    points holds at every instant, and two joints with equal bounds become one unknown.

    >>> JointCombination({"left_knee": 1.0, "right_knee": -1.0}, 0.0, 0.0, at="points").family
    'combination of joints'
    """

    family = "combination of joints"

    def __init__(
        self,
        coefficients: Coefficients,
        lower: Annotated[
            float | None, Parameter("Lower bound", "rad, m", default_text="default none")
        ] = None,
        upper: Annotated[
            float | None, Parameter("Upper bound", "rad, m", default_text="default none")
        ] = None,
        at: InstantsOrPoints = POINTS,
    ) -> None:
        expect(coefficients, Mapping, f"coefficients of {self.family}", "numbers by names of joints")
        self.coefficients, self.at = dict(coefficients), at
        self.lower, self.upper = two_bounds(lower, upper, self.family)
        if not self.coefficients:
            raise InputError(f"{self.family}: give at least one joint with its coefficient")

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        moving, fixed = {}, 0.0
        for name, value in self.coefficients.items():
            (joint,) = setting.joints(name, self.family)
            factor = number(value, f"coefficient of '{name}'")
            if joint in setting.column:
                moving[name] = factor
            else:
                fixed += factor * setting.frozen_at(joint)
        if not moving:
            raise InputError(f"{self.family}: all of {listed(self.coefficients)} are frozen")
        chosen = setting.spline_joints(list(moving), self.family)
        own, factors = [setting.column[j] for j in chosen], np.array(list(moving.values()))
        on_points = isinstance(self.at, str) and self.at == POINTS
        if on_points:
            s = np.clip(setting.profiles.basis.greville, 0.0, 1.0)
            columns = setting.unknowns.points(np.arange(len(s))[:, None], np.array(own))
            values = np.broadcast_to(factors, columns.shape).copy()
        else:
            s = setting.where(self.at, self.family)
            places, weights = setting.curve_rows(s, own)
            columns, values = places.reshape(len(s), -1), weights.reshape(len(s), -1)
            values = values * np.repeat(factors, values.shape[1] // len(own))
        low, high = (np.full(len(s), side - fixed) for side in (self.lower, self.upper))
        unit = setting.units(chosen, "rad", "m")[0]
        label = [" and ".join(moving)]
        return [LinearRows(columns, values, s, low, high, self.family, label, unit, eliminate=on_points)]


@declare("joint_product", "the product of two coordinates stays between bounds")
class JointProduct(Constraint):
    """The product of two coordinates, each measured from its own rest position, stays within bounds.

    (q_a - rest_a) (q_b - rest_b) >= 0 makes joints swing in the same direction, such as an arm with the
    opposite leg ([Barman2020], chapter V); <= 0 in opposite directions.

    >>> JointProduct("left_shoulder", "right_hip").family
    'product of joints'
    """

    family = "product of joints"

    def __init__(
        self,
        joint: JointName,
        other: Annotated[str, Parameter("Name of the other joint")],
        lower: Annotated[float | None, Parameter("Lower bound", "rad^2")] = 0.0,
        upper: Annotated[float | None, Parameter("Upper bound", "rad^2", default_text="default none")] = None,
        rest: Annotated[Values, Parameter("Where each counts as zero", "rad, m", "positions")] = 0.0,
        at: Instants = "samples",
    ) -> None:
        self.joint, self.other, self.rest, self.at = joint, other, rest, at
        self.lower, self.upper = two_bounds(lower, upper, self.family)

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        joints = setting.moving_joints([self.joint, self.other], self.family)
        rest = per_joint(self.rest, setting, joints, f"rest of {self.family}", 0.0)
        function = _Product([setting.column[j] for j in joints], rest)
        s, label = setting.where(self.at, self.family), f"{self.joint} times {self.other}"
        return [Rows(function, s, [self.lower], [self.upper], self.family, [label], "rad^2", 1.0, "product")]


class _Product(Function):
    size = 1

    def __init__(self, columns: list[int], rest: Array) -> None:
        self.columns, self.rest = columns, rest

    def _both(self, at: At) -> Array:
        return at.moving[:, 0, self.columns] - self.rest

    @override
    def values(self, at: At) -> Array:
        both = self._both(at)
        return (both[:, 0] * both[:, 1])[:, None]

    @override
    def slopes(self, at: At) -> Array:
        both = self._both(at)
        found = np.zeros((len(both), RATES, 1, at.moving.shape[2]))
        for column, other in zip(self.columns, both[:, ::-1].T, strict=True):
            found[:, 0, 0, column] += other
        return found

    @override
    def bend(self, at: At, weight: Array) -> None:
        n = at.moving.shape[2]
        block, (a, b) = np.zeros((len(weight), n, n)), self.columns
        block[:, a, b] += 0.5 * weight[:, 0]
        block[:, b, a] += 0.5 * weight[:, 0]
        at.add_block(0, block)
