"""Limits of positions, velocities and accelerations of the joints."""

from __future__ import annotations

from typing import Annotated, Final

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.declare import Parameter, Short, declare
from kinetree.errors import InputError
from kinetree.motion.problem.setting import Setting, Where
from kinetree.motion.terms.arguments import InstantsOrPoints, JointNames, Values
from kinetree.motion.terms.contract import Bounded, Constraint, LinearRows, Rows, ordered, per_joint
from kinetree.motion.terms.effort import SymmetricLimits, limited, magnitude
from kinetree.motion.terms.functions import Rate

POINTS: Final = "points"  # as a place: the control points


@declare(
    "joint_limit",
    "positions of joints stay between bounds",
    short=Short(
        "joint_limits",
        "flag",
        "Whether joints stay within the model's limits; default true if it has any.",
        of_model="position",
    ),
)
class JointLimits(Constraint):
    """lower <= q <= upper, by default the limits of the mechanism (rad, m).

    ``at`` as elsewhere, or "points": control points stay within the limits and thus the motion at every
    instant, since a spline lies within the range of its control points. The limits become bounds of unknowns,
    without constraint rows.

    >>> from kinetree import terms
    >>> terms.JointLimits().family
    'joint limit'
    """

    family = "joint limit"

    def __init__(
        self,
        lower: Annotated[
            Values | None,
            Parameter("Lower bounds", "rad, m", "position_bounds", default_text="default the model's"),
        ] = None,
        upper: Annotated[
            Values | None,
            Parameter("Upper bounds", "rad, m", "position_bounds", default_text="default the model's"),
        ] = None,
        joints: JointNames = None,
        at: InstantsOrPoints = "samples",
    ) -> None:
        self.lower, self.upper, self.joints, self.at = lower, upper, joints, at

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        chosen = setting.moving_joints(self.joints, self.family)
        if self.lower is None and self.upper is None:
            lower, upper = (setting.model_limits(key)[chosen] for key in ("lower", "upper"))
            if not (np.isfinite(lower) | np.isfinite(upper)).any():
                raise InputError(
                    f"{self.family}: the mechanism has none; give them: JointLimits(lower=..., upper=...)"
                )
        else:
            unlimited = np.full(len(chosen), np.inf)
            lower, upper = (
                side * unlimited
                if given is None
                else per_joint(given, setting, chosen, f"{name} {self.family}", side * np.inf)
                for given, side, name in ((self.lower, -1.0, "lower"), (self.upper, 1.0, "upper"))
            )
        return _linear(setting, chosen, lower, upper, self.at, self.family)


def _linear(
    setting: Setting, chosen: list[int], lower: Array, upper: Array, at: Where, family: str
) -> list[Bounded]:
    """Positions of joints between bounds: rows over the control points, or of joints that follow others."""
    chosen, lower, upper = limited(chosen, lower, upper)
    if not chosen:
        return []
    names = [setting.mechanism.joint_names[j] for j in chosen]
    ordered(lower, upper, names, family)
    moved, following = setting.with_splines(chosen)
    found: list[Bounded] = []
    if moved:
        part = [chosen[k] for k in moved]
        found.append(_on_splines(setting, part, lower[moved], upper[moved], at, family))
    if following:
        part = [chosen[k] for k in following]
        s = setting.where("samples" if isinstance(at, str) and at == POINTS else at, family)
        function, units = Rate(0, [setting.column[j] for j in part]), setting.units(part, "rad", "m")
        low, high, labels = lower[following], upper[following], [names[k] for k in following]
        found.append(Rows(function, s, low, high, family, labels, units, limited="position"))
    return found


def _on_splines(
    setting: Setting, chosen: list[int], lower: Array, upper: Array, at: Where, family: str
) -> LinearRows:
    """Bounds of joints with splines: rows over the control points, or of these points themselves."""
    names = [setting.mechanism.joint_names[j] for j in chosen]
    own, on_points = [setting.column[j] for j in chosen], isinstance(at, str) and at == POINTS
    if on_points:
        basis = setting.profiles.basis
        s = np.clip(basis.greville, 0.0, 1.0)
        columns = setting.unknowns.points(np.arange(len(s))[:, None], np.array(own)).reshape(-1, 1)
        values = np.ones(columns.shape)
    else:
        s = setting.where(at, family)
        columns, values = setting.curve_rows(s, own)
    low, high = np.tile(lower, len(s)), np.tile(upper, len(s))
    units = setting.units(chosen, "rad", "m")
    return LinearRows(columns, values, s, low, high, family, names, units, eliminate=on_points)


class _RateLimits(SymmetricLimits):
    rate = 1
    model: str | None = None
    units = ("", "")

    @override
    def of_model(self, setting: Setting, chosen: list[int]) -> Array:
        if self.model is None:
            return np.full(len(chosen), np.inf)
        return setting.model_limits(self.model)[chosen]

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        chosen, lower, upper = self.between(setting, setting.moving_joints(self.joints, self.family))
        if not chosen:
            return []
        names = [setting.mechanism.joint_names[j] for j in chosen]
        function = Rate(self.rate, [setting.column[j] for j in chosen])
        s = setting.where(self.at, self.family)
        scale, units = magnitude(lower, upper), setting.units(chosen, *self.units)
        return [Rows(function, s, lower, upper, self.family, names, units, scale, self.family.split()[0])]


@declare(
    "velocity_limit",
    "velocities of joints stay between bounds",
    unit="rad/s, m/s",
    short=Short(
        "velocity_limits",
        "limits",
        'Largest velocities, or "model"; default the model\'s.',
        of_model="velocity",
    ),
)
class VelocityLimits(_RateLimits):
    """lower <= qd <= upper, by default the velocity limits of the mechanism; ``upper`` alone is symmetric.

    >>> from kinetree import terms
    >>> terms.VelocityLimits(3.0).family
    'velocity limit'
    """

    family, rate, model, units = "velocity limit", 1, "velocity_limit", ("rad/s", "m/s")


@declare(
    "acceleration_limit",
    "accelerations of joints stay between bounds",
    unit="rad/s^2, m/s^2",
    short=Short("acceleration_limits", "gains", "Largest accelerations; default none."),
)
class AccelerationLimits(_RateLimits):
    """lower <= qdd <= upper; ``upper`` alone is symmetric.

    >>> from kinetree import terms
    >>> terms.AccelerationLimits(20.0).family
    'acceleration limit'
    """

    family, rate, model, units = "acceleration limit", 2, None, ("rad/s^2", "m/s^2")
