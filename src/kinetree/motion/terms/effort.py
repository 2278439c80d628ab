"""Time and torque: the documents' objectives and limits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Self

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array, number
from kinetree.declare import Parameter, Short, declare
from kinetree.errors import InputError, must_be
from kinetree.motion.problem.setting import Setting
from kinetree.motion.terms.arguments import (
    During,
    Instants,
    JointNames,
    JointWeights,
    LowerLimits,
    Names,
    TorqueScale,
    UpperLimits,
    Values,
)
from kinetree.motion.terms.contract import (
    Bounded,
    Changes,
    Constraint,
    Function,
    Objective,
    Rows,
    SampleChanges,
    a_part,
    ordered,
    per_joint,
)
from kinetree.motion.terms.functions import Torque, TorqueForm, TorquePower, TorqueSum


@declare("time", "the duration")
class Time(Objective):
    """The duration T (s). [Barman2020], eq. 4.16; [Xiang2009], eq. 66.

    >>> (0.99 * Time()).weight
    0.99
    """

    family = "time"

    @override
    def mean(self) -> Self:
        """None: the mean of 1 is 1, whatever the motion."""
        raise InputError("the mean of time over a motion is 1, whatever the motion: minimize Time() itself")

    @override
    def integrand(self, setting: Setting) -> Function | None:
        """What is integrated over the motion."""
        return None


@declare("squared_torque", "squared torques over time")
class SquaredTorque(Objective):
    """Integral of sum_i w_i tau_i^2 dt. [Barman2020], eqs. 4.18 and 5.1; [Xiang2009], eq. 67.

    ``weights`` per joint (default 1); ``normalized`` divides each torque by the joint's effort limit first.

    >>> (0.01 * SquaredTorque()).weight
    0.01
    """

    family = "squared torque"

    def __init__(
        self,
        joints: JointNames = None,
        weights: JointWeights = 1.0,
        *,
        normalized: Annotated[bool, Parameter("Whether torques are divided by their limits first")] = False,
    ) -> None:
        self.joints, self.weights, self.normalized = joints, weights, normalized

    @override
    def integrand(self, setting: Setting) -> Function:
        """What is integrated over the motion."""
        chosen = setting.joints(self.joints, self.family)
        weights = per_joint(self.weights, setting, chosen, f"weights of {self.family}", 1.0)
        if not np.isfinite(weights).all() or (weights < 0.0).any():
            raise InputError(
                must_be(f"weights of {self.family}", "finite and not negative", weights.tolist())
            )
        if self.normalized:
            weights = weights / effort_limits(setting, chosen, self.family) ** 2
        return TorqueForm(setting.own[chosen], weights)


@declare("effort", "torques over their limits, to a power")
class Effort(Objective):
    """Integral of sum_i w_i |tau_i / limit_i|^p dt: a measure of muscle fatigue.

    ``exponent`` p >= 2: about 3 or more for muscle endurance (Crowninshield and Brand 1981), 2 for the
    squared torques of [Barman2020], eq. 5.1. ``limits`` (N m, N) are what torques are measured by, by default
    the effort limits of the mechanism. The integral runs from s = ``during``[0] to ``during``[1]; if that is
    not the whole motion, both should be ends of phases of :class:`GaussSamples`, which integrate up to them.

    >>> (1.4 * Effort(2.5)).weight
    1.4
    """

    family = "effort"
    quadrature_error = 1e-2  # torques have corners at knots, which powers sharpen

    def __init__(
        self,
        exponent: Annotated[float, Parameter("The power, 2 or more (no unit)", kind="positive")] = 2.5,
        joints: JointNames = None,
        weights: JointWeights = 1.0,
        limits: TorqueScale = None,
        during: During = (0.0, 1.0),
    ) -> None:
        self.exponent, self.joints, self.weights, self.limits = exponent, joints, weights, limits
        self.during = a_part(during, self.family)
        if not 2.0 <= number(exponent, f"exponent of {self.family}") < np.inf:
            raise InputError(must_be(f"exponent of {self.family}", "2 or more", exponent, ""))

    @override
    def integrand(self, setting: Setting) -> Function:
        """What is integrated over the motion."""
        chosen, weights, limits = weighed_torques(
            self.joints, self.weights, self.limits, setting, self.family
        )
        found = TorquePower(setting.own[chosen], weights, limits, float(self.exponent))
        found.during = self.during
        return found


@declare("torque_rate", "squared rates of torques over their limits")
class TorqueRate(Objective):
    """Integral of sum_i w_i (d(tau_i / limit_i)/dt)^2 dt, by differences from instant to instant.

    ``limits`` (N m, N) are what torques are measured by, by default the effort limits of the mechanism. The
    instants are those of the objective's quadrature. With ``pairs`` and ``mirrored``, as in
    :class:`Symmetric`, the motion continues mirrored and the change from its end to its start is included;
    with ``periodic`` it continues unmirrored.

    >>> TorqueRate(limits=100.0).family
    'torque rate'
    """

    family = "torque rate"

    def __init__(
        self,
        joints: JointNames = None,
        weights: JointWeights = 1.0,
        limits: TorqueScale = None,
        pairs: Annotated[
            Mapping[str, str] | None, Parameter("Joints and partners that continue mirrored", kind="partners")
        ] = None,
        mirrored: Annotated[
            Sequence[str] | None,
            Parameter("Joints whose sign changes then", kind="names", default_text="default none"),
        ] = None,
        periodic: Annotated[bool, Parameter("Whether the motion is periodic")] = False,
    ) -> None:
        self.joints, self.weights, self.limits, self.periodic = joints, weights, limits, periodic
        self.pairs, self.mirrored = dict(pairs or {}), list(mirrored or [])

    @override
    def integrand(self, setting: Setting) -> Changes:
        """What is integrated over the motion."""
        chosen, weights, limits = weighed_torques(
            self.joints, self.weights, self.limits, setting, self.family
        )
        points, shares = setting.quadrature
        after = signs = None
        if self.pairs or self.periodic:
            names = [setting.mechanism.joint_names[j] for j in chosen]
            partner = {**{b: a for a, b in self.pairs.items()}, **self.pairs}
            for name in (*partner, *self.mirrored):
                setting.joints(name, self.family)
            others = [partner.get(name, name) for name in names]
            for name, other in zip(names, others, strict=True):
                if other not in names:
                    raise InputError(
                        f"{self.family}: '{other}', the partner of '{name}', is not among its joints"
                    )
            after = np.array([names.index(other) for other in others])
            signs = np.array([-1.0 if name in self.mirrored else 1.0 for name in names])
        function = TorqueSum(setting.own[chosen], np.diag(1.0 / limits))
        inside = (shares > 0.0) | (points > 0.0)  # of s = 0 and s = 1 one is enough where the motion goes on
        return Changes(function, points[inside], weights, after, signs)


def weighed_torques(
    joints: Names, weights: Values, limits: Values | None, setting: Setting, family: str
) -> tuple[list[int], Array, Array]:
    """Chosen joints with their weights and with what their torques are measured by."""
    chosen = setting.joints(joints, family)
    factors = per_joint(weights, setting, chosen, f"weights of {family}", 1.0)
    if not np.isfinite(factors).all() or (factors < 0.0).any():
        raise InputError(must_be(f"weights of {family}", "finite and not negative", factors.tolist()))
    if limits is None:
        return chosen, factors, effort_limits(setting, chosen, family)
    sizes = per_joint(limits, setting, chosen, f"limits of {family}", np.inf)
    if not (np.isfinite(sizes) & (sizes > 0.0)).all():
        raise InputError(must_be(f"limits of {family}", "positive, one for every joint", sizes.tolist()))
    return chosen, factors, sizes


def time_and_torque(u: float) -> list[Objective]:
    """The documents' mixed objective, integral of (1 - u) + u sum tau^2.

    [Barman2020], eq. 4.18; [Xiang2009], eq. 67.

    >>> [term.weight for term in time_and_torque(0.01)]
    [0.99, 0.01]
    """
    if not 0.0 <= number(u, "the torque weight u") <= 1.0:
        raise InputError(must_be("the torque weight u", "between 0 (time) and 1 (torque)", u, ""))
    return [(1.0 - u) * Time(), u * SquaredTorque()]


class SymmetricLimits(Constraint):
    """lower <= x <= upper of a quantity of the joints, by default what the mechanism says of its size.

    ``upper`` alone is symmetric: -upper <= x <= upper. ``at``: "samples", "knots", or values of s.
    """

    missing = "the mechanism has none"

    def __init__(
        self,
        upper: UpperLimits = None,
        lower: LowerLimits = None,
        joints: JointNames = None,
        at: Instants = "samples",
    ) -> None:
        self.upper, self.lower, self.joints, self.at = upper, lower, joints, at

    @abstractmethod
    def of_model(self, setting: Setting, chosen: list[int]) -> Array:
        """Limits that the mechanism has, infinite where it has none."""

    def between(self, setting: Setting, chosen: list[int]) -> tuple[list[int], Array, Array]:
        """Those of the joints that are limited, with their lower and upper bounds."""
        if self.upper is None and self.lower is None:
            limits = self.of_model(setting, chosen)
            found = limited(chosen, -limits, limits)
            if not found[0]:
                name = type(self).__name__
                raise InputError(f"{self.family}: {self.missing}; give them: {name}(upper=...)")
        else:
            found = limited(chosen, *two_sided(self.lower, self.upper, setting, chosen, self.family))
        ordered(found[1], found[2], [setting.mechanism.joint_names[j] for j in found[0]], self.family)
        return found


@declare(
    "torque_limit",
    "torques of joints stay between bounds",
    unit="N m, N",
    short=Short(
        "torque_limits", "limits", 'Largest torques, or "model"; default the model\'s.', of_model="effort"
    ),
)
class TorqueLimits(SymmetricLimits):
    """lower <= tau <= upper, by default the effort limits of the mechanism.

    [Barman2020], eq. 4.17; [Xiang2009], eq. 66.

    ``upper`` alone is symmetric: -upper <= tau <= upper. ``at``: "samples", "knots", or values of s.

    >>> from kinetree import terms
    >>> terms.TorqueLimits({"shoulder": 60.0}).family
    'torque limit'
    """

    family, missing = "torque limit", "the mechanism has no effort limits"

    @override
    def of_model(self, setting: Setting, chosen: list[int]) -> Array:
        """Limits that the mechanism has, infinite where it has none."""
        return _from_model(setting, chosen)

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        chosen, lower, upper = self.between(setting, setting.driven_joints(self.joints, self.family))
        if not chosen:
            return []
        names, scale = [setting.mechanism.joint_names[j] for j in chosen], magnitude(lower, upper)
        s, units = setting.where(self.at, self.family), setting.units(chosen, "N m", "N")
        return [
            Rows(Torque(setting.own[chosen]), s, lower, upper, self.family, names, units, scale, "torque")
        ]


@declare(
    "torque_rate_limit",
    "rates of torques stay below bounds",
    short=Short("torque_rate_limits", "gains", "Largest changes of torques (N m/s, N/s); default none."),
)
class TorqueRateLimits(Constraint):
    """|d tau / dt| <= limit (N m/s), from the change between samples.

    >>> from kinetree import terms
    >>> terms.TorqueRateLimits(500.0).family
    'torque rate limit'
    """

    family = "torque rate limit"

    def __init__(
        self,
        limit: Annotated[Values, Parameter("Largest changes of torques", "N m/s, N/s", "bounds")],
        joints: JointNames = None,
    ) -> None:
        self.limit, self.joints = limit, joints

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        chosen = setting.driven_joints(self.joints, self.family)
        limit = per_joint(self.limit, setting, chosen, self.family, np.inf)
        if (limit <= 0.0).any():
            raise InputError(must_be(self.family, "positive", limit.tolist()))
        names = [setting.mechanism.joint_names[j] for j in chosen]
        s, units = setting.samples, setting.units(chosen, "N m/s", "N/s")
        return [SampleChanges(Torque(setting.own[chosen]), s, -limit, limit, self.family, names, units)]


def two_sided(
    lower: Values | None, upper: Values | None, setting: Setting, joints: Sequence[int], what: str
) -> tuple[Array, Array]:
    """Lower and upper bound of each joint; an upper one alone is symmetric, as is a lower one."""
    high = None if upper is None else per_joint(upper, setting, joints, f"upper {what}", np.inf)
    low = None if lower is None else per_joint(lower, setting, joints, f"lower {what}", -np.inf)
    if high is None:
        assert low is not None
        return low, -low
    return (-high if low is None else low), high


def limited(joints: Sequence[int], lower: Array, upper: Array) -> tuple[list[int], Array, Array]:
    """Those of the joints that have a finite bound at all, with their bounds."""
    finite = np.isfinite(lower) | np.isfinite(upper)
    return [j for j, bounded in zip(joints, finite, strict=True) if bounded], lower[finite], upper[finite]


def magnitude(lower: Array, upper: Array) -> Array:
    """What counts as 1 of a bounded quantity: the larger finite bound."""
    sizes = np.stack([np.abs(lower), np.abs(upper)])
    largest = np.where(np.isfinite(sizes), sizes, 0.0).max(axis=0)
    return np.where(largest > 0.0, largest, 1.0)


def effort_limits(setting: Setting, joints: Sequence[int], what: str) -> Array:
    """Effort limits of the mechanism; an error where a joint has none."""
    limits = _from_model(setting, joints)
    for j, limit in zip(joints, limits, strict=True):
        if not np.isfinite(limit) or limit <= 0.0:
            name = setting.mechanism.joint_names[j]
            raise InputError(f"{what}: joint '{name}' has no positive effort limit in the mechanism")
    return limits


def _from_model(setting: Setting, joints: Sequence[int]) -> Array:
    return setting.model_limits("effort_limit")[list(joints)]
