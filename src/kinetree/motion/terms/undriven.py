"""Joints without drives: the motion must be such that they need no torque."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import BSplineBasis
from kinetree.motion.problem.setting import Setting
from kinetree.motion.terms.contract import Bounded, Constraint, Rows
from kinetree.motion.terms.functions import Torque
from kinetree.motion.terms.idle import IDLE, SpinRate, free_instants, idle_spins


class UndrivenJoints(Constraint):
    """Zero torque at joints without a drive, by collocation; every problem has it.

    With splines of degree p the equations of motion hold at the Greville points of their accelerations,
    splines of degree p - 2 (de Boor and Swartz 1973): one for each acceleration that can be chosen. Where
    all that is left are rods between balls that may turn about their own lines, these turns have no influence
    on anything, and their rates are zero instead, at the Greville points of the velocities.
    """

    family = "undriven joint"

    def __init__(self, carried: Collection[str] = (), given: Sequence[Bounded] = ()) -> None:
        self.held = carried  # joints that need no such condition, since something else holds them
        self.given = given  # what the motion must satisfy otherwise

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        names = setting.mechanism.joint_names
        joints = [j for j in setting.passive if names[j] not in self.held]
        if not joints:
            return []
        spins = idle_spins(setting)
        if spins:
            s = free_instants(setting, collocation_points(setting.profiles.basis, 1), self.given, spins)
            return [
                Rows(SpinRate(setting, spin), s, [0.0], [0.0], self.family, [IDLE + spin.body], "rad/s")
                for spin in spins
            ]
        limits = setting.model_limits("effort_limit")
        size = float(np.max(limits[np.isfinite(limits)], initial=0.0)) or 1.0
        s, zero = collocation_points(setting.profiles.basis), np.zeros(len(joints))
        units = setting.units(joints, "N m", "N")
        return [
            Rows(
                Torque(setting.own[joints]),
                s,
                zero,
                zero,
                self.family,
                [names[j] for j in joints],
                units,
                size,
            )
        ]


def collocation_points(basis: BSplineBasis, derivative: int = 2) -> Array:
    """Greville points of a derivative of splines.

    >>> collocation_points(BSplineBasis.uniform(4)).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    degree = basis.degree - derivative
    if degree < 1:
        return (basis.breaks[:-1] + basis.breaks[1:]) / 2.0
    inner = basis.knots[derivative:-derivative]
    points = np.array([inner[k + 1 : k + 1 + degree].mean() for k in range(len(inner) - degree - 1)])
    return np.unique(np.clip(points, 0.0, 1.0))
