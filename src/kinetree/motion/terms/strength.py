"""Strength that depends on angle and velocity: torques between functions of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Protocol

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.declare import Parameter, declare
from kinetree.errors import InputError, texts
from kinetree.model.human.strength import Strength, scaled_strength, strength
from kinetree.motion.problem.profile import PAIRS
from kinetree.motion.problem.setting import Setting, Where
from kinetree.motion.program.evaluation import At, Curves
from kinetree.motion.terms.arguments import BodyMass, Instants, JointNames, Stature
from kinetree.motion.terms.contract import TORQUE, Bounded, Constraint, Function, Rows

CURVED = tuple(PAIRS.index(pair) for pair in ((0, 0), (0, 1), (1, 1)))  # by angle, by both, by velocity


class Strengths(Protocol):
    """What :class:`StrengthLimits` reads: limits of joints and their derivatives, by angles and velocities.

    ``limits(q, qd)`` of (m, n) has ``lower``, ``upper`` (m, n), ``lower_slopes``, ``upper_slopes`` (m, 2, n)
    and ``lower_bends``, ``upper_bends`` (m, 3, n), as :class:`kinetree.human.Strength` has them.
    """

    @property
    def names(self) -> Sequence[str]:
        """The joints, in order."""

    def limits(self, q: Array, qd: Array) -> Any:
        """Limits of all joints."""


class StrengthLimits(Constraint):
    """lower(q, qd) <= tau <= upper(q, qd) of joints, each by its own angle and velocity.

    ``strength`` is a :class:`kinetree.human.Strength` or any object with ``names`` and ``limits(q, qd)`` like
    it, for which derivatives must exist twice.

    >>> import kinetree as kt
    >>> StrengthLimits(kt.human.strength(["left_knee"])).family
    'strength by angle and velocity'
    """

    family = "strength by angle and velocity"

    def __init__(self, strength: Strengths, at: Where = "samples") -> None:
        if not hasattr(strength, "names") or not callable(getattr(strength, "limits", None)):
            raise InputError(f"{self.family}: strength must have names and limits(q, qd), got {strength!r}")
        self.strength, self.at = strength, at

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        names = list(self.strength.names)
        joints = setting.moving_joints(setting_names(setting, names, self.family), self.family)
        s = setting.where(self.at, self.family)
        function = _Between(self.strength, setting.own[joints], [setting.column[j] for j in joints])
        still = np.zeros((1, len(joints)))
        limits = self.strength.limits(still, still)
        size = np.maximum(np.maximum(np.abs(limits.lower), np.abs(limits.upper))[0], 1e-9)
        none, k = np.inf, len(joints)
        low, high = np.repeat([-none, 0.0], k), np.repeat([0.0, none], k)
        labels = [f"{side} strength of {name}" for side in ("largest", "least") for name in names]
        units, scale = setting.units(joints, "N m", "N") * 2, np.tile(size, 2)
        return [Rows(function, s, low, high, self.family, labels, units, scale, "strength")]


@declare("human_strength", "torques of a human stay within strength by angle and velocity")
class HumanStrength(StrengthLimits):
    """Torques of a human's joints stay within the strength at their angle and velocity.

    Anderson et al. (2007): flexion of hip, knee and ankle by angle and velocity, other joints constant; see
    :class:`kinetree.human.Strength`. ``factors`` scale the strength of joints or sides, such as
    {"left_knee": 0.7, "right": 0.9}.

    >>> HumanStrength(["left_knee"], sex="female", height=1.63, mass=60.0).strength.names
    ('left_knee',)
    """

    def __init__(
        self,
        joints: JointNames = None,
        sex: Annotated[str, Parameter('"male" or "female"')] = "male",
        height: Stature = 1.75,
        mass: BodyMass = 75.0,
        age: Annotated[str, Parameter('"18-25", "55-65" or ">65"')] = "18-25",
        factors: Annotated[
            Mapping[str, float] | None,
            Parameter(
                "Factors of joints or sides, by name (no unit)", kind="gains", default_text="default 1"
            ),
        ] = None,
        at: Instants = "samples",
    ) -> None:
        self.asked: dict[str, Any] = {"sex": sex, "height": height, "mass": mass, "age": age}
        self.joints, self.factors = joints, dict(factors or {})
        some = ["left_knee"] if joints is None else joints
        named = [some] if isinstance(some, str) else list(texts(some, "joints"))
        super().__init__(self._strength(named), at)

    def _strength(self, names: list[str]) -> Strength:
        return scaled_strength(strength(names, **self.asked), self.factors)

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        if self.joints is None:
            driven = setting.mechanism.driven
            moving = [j for j in setting.column if driven[j]]
            self.strength = self._strength([setting.mechanism.joint_names[j] for j in moving])
        return super().bounded(setting)


def setting_names(setting: Setting, names: list[str], family: str) -> list[str]:
    """The names, known to have drives."""
    setting.driven_joints(names, family)
    return names


class _Between(Function):
    """tau - upper(q, qd), then tau - lower(q, qd), of k joints."""

    reads = (TORQUE,)

    def __init__(self, strength: Strengths, rows: Any, columns: Sequence[int]) -> None:
        self.strength, self.rows, self.columns = strength, rows, np.array(columns, dtype=np.int64)
        self.size = 2 * len(columns)

    def _limits(self, at: At) -> Any:
        return self.strength.limits(at.moving[:, 0, self.columns], at.moving[:, 1, self.columns])

    @override
    def values(self, at: At) -> Array:
        tau, limits = at.tau[:, self.rows], self._limits(at)
        return np.concatenate([tau - limits.upper, tau - limits.lower], axis=1)

    @override
    def slopes(self, at: At) -> Array:
        torque, limits = at.torque_slopes[:, :, self.rows], self._limits(at)
        found, k = np.concatenate([torque, torque], axis=2), len(self.columns)
        for side, by in ((0, limits.upper_slopes), (k, limits.lower_slopes)):
            for rate in range(2):
                found[:, rate, side + np.arange(k), self.columns] -= by[:, rate]
        return found

    @override
    def curve_slopes(self, at: At) -> Curves:
        return {
            name: np.concatenate([slopes[:, self.rows]] * 2, axis=1)
            for name, slopes in at.torque_curves.items()
        }

    @override
    def bend(self, at: At, weight: Array) -> None:
        k, limits = len(self.columns), self._limits(at)
        upper, lower = weight[:, :k], weight[:, k:]
        at.weigh_torques(self.rows, upper + lower)
        twice = upper[:, None] * limits.upper_bends + lower[:, None] * limits.lower_bends
        n = at.moving.shape[2]
        for row, (block, factor) in enumerate(zip(CURVED, (0.5, 1.0, 0.5), strict=True)):
            bent = np.zeros((len(weight), n, n))
            bent[:, self.columns, self.columns] = -factor * twice[:, row]
            at.add_block(block, bent)
