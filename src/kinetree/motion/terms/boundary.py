"""Where a motion starts and ends, and what it repeats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from kinetree.algebra.arrays import Array, number
from kinetree.errors import InputError, unknown_name
from kinetree.motion.problem.setting import Setting, Where
from kinetree.motion.terms.contract import Bounded, Constraint, LinearRows, Rows
from kinetree.motion.terms.functions import Rate

Given = ArrayLike | Mapping[str, float] | None
SAME = 1e-9  # frozen joints may differ by this from what is asked (rad, m)
NAMES = ("position", "velocity", "acceleration")
UNITS = (("rad", "m"), ("rad/s", "m/s"), ("rad/s^2", "m/s^2"))  # of turning and of sliding joints


class Boundary(Constraint):
    """Position, velocity and acceleration at an instant: "start", "end" or s from 0 to 1.

    Each of them one number per joint, or a mapping from joint names (others stay open), or None (open).

    >>> Boundary("start", position=[0.0, -2.0], velocity=0.0).family
    'boundary condition'
    """

    family = "boundary condition"

    def __init__(
        self, at: Where, position: Given = None, velocity: Given = None, acceleration: Given = None
    ) -> None:
        self.at = at
        self.given = (position, velocity, acceleration)
        if all(value is None for value in self.given):
            raise InputError(
                f"{self.family} at {at!r} asks for nothing: give position, velocity or acceleration"
            )

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        s = setting.where(self.at, self.family)
        return [
            _condition(setting, s, rate, joints, values, self.family)
            for rate, joints, values in self.asked(setting)
            if joints
        ]

    def asked(self, setting: Setting) -> Iterator[tuple[int, list[int], Array]]:
        """Which joints must have which positions (rate 0), velocities (1), accelerations (2)."""
        if len(setting.where(self.at, self.family)) != 1:
            raise InputError(f"{self.family}: at must be one instant, got {self.at!r}")
        for rate, given in enumerate(self.given):
            if given is not None:
                joints, values = _by_joint(setting, given, f"{NAMES[rate]} at {self.at!r}")
                yield rate, *_only_moving(setting, joints, values, rate, self.at)


def _condition(
    setting: Setting, s: Array, rate: int, joints: list[int], values: Array, family: str
) -> Bounded:
    """q^(r)(s) - T^r value = 0: linear unless an acceleration other than zero meets a free duration."""
    columns = [setting.column[j] for j in joints]
    labels = [f"{NAMES[rate]} of {setting.mechanism.joint_names[j]}" for j in joints]
    low, high = setting.duration
    units = setting.units(joints, *UNITS[rate])
    if rate == 2 and low != high and values.any():
        return Rows(Rate(2, columns), s, values, values, family, labels, units, _sizes(values), NAMES[rate])
    places, weights = setting.curve_rows(s, columns, rate)
    targets = values * (1.0 if rate == 0 else 0.0)
    if rate == 2 and low == high:
        targets = values * low**2
    if rate == 1 and values.any():
        last = np.full((len(values), 1), setting.unknowns.duration_place)
        places, weights = np.hstack([places, last]), np.hstack([weights, -values[:, None]])
    return LinearRows(places, weights, s, targets, targets, family, labels, units)


def _by_joint(setting: Setting, given: ArrayLike | Mapping[str, float], what: str) -> tuple[list[int], Array]:
    names = setting.mechanism.joint_names
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise InputError(f"{what}: {unknown_name('joint', name, names)}")
        joints = [setting.mechanism.joint_index(name) for name in given]
        return joints, np.array([number(x, f"{what} of '{name}'") for name, x in given.items()])
    array = np.asarray(given, dtype=object)
    if array.shape not in ((), (len(names),)):
        raise InputError(f"{what} must be one number or {len(names)}, one per joint, got shape {array.shape}")
    values = [number(x, what) for x in np.broadcast_to(array, (len(names),))]
    return list(range(len(names))), np.array(values)


def _only_moving(
    setting: Setting, joints: list[int], values: Array, rate: int, at: object
) -> tuple[list[int], Array]:
    """Drop frozen joints, which must already be where they are wanted."""
    kept = [k for k, j in enumerate(joints) if j in setting.column]
    for k, j in enumerate(joints):
        if j not in setting.column:
            stays = setting.frozen_at(j) if rate == 0 else 0.0
            if abs(values[k] - stays) > SAME:
                name = setting.mechanism.joint_names[j]
                raise InputError(
                    f"{NAMES[rate]} {values[k]:g} of joint '{name}' at {at!r} cannot be reached: "
                    f"the joint is frozen, its {NAMES[rate]} is {stays:g}"
                )
    return [joints[k] for k in kept], values[kept]


def _sizes(values: Array) -> Array:
    return np.maximum(np.abs(values), 1.0)


class Periodic(Constraint):
    """The motion ends as it starts: position, velocity and, if asked for, acceleration."""

    family = "periodicity"

    def __init__(self, joints: str | list[str] | None = None, rates: int = 2) -> None:
        self.joints, self.rates = joints, rates
        if rates not in (1, 2, 3):
            raise InputError(
                f"{self.family}: rates must be 1, 2 or 3 (position, velocity, acceleration), got {rates}"
            )

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        chosen = setting.moving_joints(self.joints, self.family)
        return [
            _tied(setting, chosen, chosen, np.ones(len(chosen)), 0.0, rate, self.family)
            for rate in range(self.rates)
        ]


class Symmetric(Constraint):
    """One half cycle mirrors the other: each joint ends as its partner starts.

    ``pairs`` maps a joint to its partner; both directions are tied: end of left = start of right and end of
    right = start of left. ``mirrored`` names joints whose sign turns around.
    """

    family = "left-right symmetry"

    def __init__(self, pairs: Mapping[str, str], mirrored: list[str] | None = None, rates: int = 2) -> None:
        self.pairs, self.mirrored, self.rates = dict(pairs), list(mirrored or []), rates

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        left = setting.moving_joints(list(self.pairs), self.family)
        right = setting.moving_joints(list(self.pairs.values()), self.family)
        turned = set(setting.joints(self.mirrored, self.family))
        both, partners = left + right, right + left
        ties = dict(zip(both, partners, strict=True))  # a joint that is its own partner counts once
        ends, starts = list(ties), list(ties.values())
        signs = np.array([-1.0 if j in turned else 1.0 for j in ends])
        return [_tied(setting, ends, starts, signs, 0.0, rate, self.family) for rate in range(self.rates)]


def _tied(
    setting: Setting,
    ends: list[int],
    starts: list[int],
    signs: Array,
    offset: float,
    rate: int,
    family: str,
) -> LinearRows:
    """q_end^(r)(1) = sign q_start^(r)(0)."""
    at_end = setting.curve_rows(np.ones(1), [setting.column[j] for j in ends], rate)
    at_start = setting.curve_rows(np.zeros(1), [setting.column[j] for j in starts], rate)
    places = np.hstack([at_end[0], at_start[0]])
    weights = np.hstack([at_end[1], -signs[:, None] * at_start[1]])
    zero = np.full(len(ends), offset)
    labels = [f"{NAMES[rate]} of {setting.mechanism.joint_names[j]}" for j in ends]
    units = setting.units(ends, *UNITS[rate])
    return LinearRows(places, weights, np.ones(1), zero, zero, family, labels, units)
