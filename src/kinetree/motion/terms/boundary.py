"""Where a motion starts and ends, and what it repeats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from kinetree.algebra.arrays import Array, number
from kinetree.algebra.bspline import CLOSE
from kinetree.declare import Parameter, declare
from kinetree.errors import AssemblyError, InputError, listed, must_be, unknown_name
from kinetree.motion.problem.setting import PLACES, Setting, Where
from kinetree.motion.terms.arguments import During, JointNames, Values
from kinetree.motion.terms.contract import Bounded, Constraint, LinearRows, Rows, a_part, per_joint
from kinetree.motion.terms.functions import Rate

Given = ArrayLike | Mapping[str, float] | None
CLOSED = 1e-6  # rad or m: how well given poses must fit the loops
SAME = 1e-9  # frozen joints may differ by this from what is asked (rad, m)
NAMES = ("position", "velocity", "acceleration")
UNITS = (("rad", "m"), ("rad/s", "m/s"), ("rad/s^2", "m/s^2"))  # of revolute and of prismatic joints


@declare("boundary", "the state of joints at an instant between start and end")
class Boundary(Constraint):
    """Position, velocity and acceleration at an instant: "start", "end" or s from 0 to 1.

    Each is one number per joint, a mapping from joint names (others are free), or None (free).

    >>> Boundary("start", position=[0.0, -2.0], velocity=0.0).family
    'boundary condition'
    """

    family = "boundary condition"

    def __init__(
        self,
        at: Annotated[
            Where, Parameter('"start", "end", or s = t / T from 0 to 1', kind="place", choices=PLACES)
        ],
        position: Annotated[
            Given, Parameter("Positions", 'rad or "90 deg", m', "positions", default_text="default open")
        ] = None,
        velocity: Annotated[
            Given, Parameter("Velocities", "rad/s, m/s", "gains", default_text="default open")
        ] = None,
        acceleration: Annotated[
            Given, Parameter("Accelerations", "rad/s^2, m/s^2", "gains", default_text="default open")
        ] = None,
    ) -> None:
        self.at = at
        self.given = (position, velocity, acceleration)
        if all(value is None for value in self.given):
            raise InputError(f"{self.family} at {at!r} is empty: give position, velocity or acceleration")

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        s = setting.where(self.at, self.family)
        return [
            condition
            for rate, joints, values in self.asked(setting)
            if joints
            for condition in _conditions(setting, s, rate, joints, values, self.at)
        ]

    def asked(self, setting: Setting) -> Iterator[tuple[int, list[int], Array]]:
        """Which joints must have which positions (rate 0), velocities (1), accelerations (2)."""
        if len(setting.where(self.at, self.family)) != 1:
            raise InputError(must_be(f"{self.family}: at", "one instant", self.at))
        for rate, given in enumerate(self.given):
            if given is not None:
                joints, values = _by_joint(setting, given, f"{NAMES[rate]} at {self.at!r}")
                yield rate, *_only_moving(setting, joints, values, rate, self.at)


def _conditions(
    setting: Setting, s: Array, rate: int, joints: list[int], values: Array, at: object
) -> list[Bounded]:
    """Conditions on joints that splines move, and on those that follow them in closed loops.

    Where all of the former are given, the latter follow, and are only checked.
    """
    moved, following = setting.with_splines(joints)
    found: list[Bounded] = []
    if moved:
        chosen = [joints[k] for k in moved]
        found.append(_condition(setting, s, rate, chosen, values[moved], Boundary.family))
    if not following:
        return found
    if len(moved) == setting.profiles.n:
        _refuse_other_branch(setting, rate, joints, values, at)
        return found
    if len(joints) > setting.profiles.n:
        names = [setting.mechanism.joint_names[j] for j in joints]
        raise InputError(
            f"{NAMES[rate]} at {at!r} is given for {listed(names)}, but the mechanism has mobility "
            f"{setting.profiles.n}: give that of {setting.profiles.n} joints, the others follow"
        )
    chosen, wanted = [joints[k] for k in following], values[following]
    labels = [f"{NAMES[rate]} of {setting.mechanism.joint_names[j]}" for j in chosen]
    function = Rate(rate, [setting.column[j] for j in chosen])
    units = setting.units(chosen, *UNITS[rate])
    found.append(
        Rows(function, s, wanted, wanted, Boundary.family, labels, units, _sizes(wanted), NAMES[rate])
    )
    return found


def _refuse_other_branch(setting: Setting, rate: int, joints: list[int], values: Array, at: object) -> None:
    """An error where joints that follow others are asked to be where the loops do not put them."""
    closure, names = setting.closure, setting.mechanism.joint_names
    assert closure is not None
    if rate:
        if values.any():
            raise InputError(
                f"{NAMES[rate]} at {at!r} other than zero: give that of the independent joints "
                f"{listed(closure.independent_names)} alone, the others follow"
            )
        return
    wanted = dict(zip(joints, values.tolist(), strict=True))
    first = np.array(closure.guess)
    first[setting.own[joints]] = values
    u = np.array([wanted[j] for j in sorted(setting.splines, key=setting.splines.__getitem__)])
    try:
        pose = closure.pose(u)[setting.own]
    except AssemblyError:
        return  # on a straight way from the first pose; the search may find another one
    for j, value in wanted.items():
        if abs(pose[j] - value) > CLOSED:
            gap = closure.opened_by(first[None])
            why = "is on another branch" if gap < CLOSED else f"leaves the loops open by {gap:.3g} m or rad"
            raise InputError(
                f"position {value:g} of joint '{names[j]}' at {at!r} {why}: with "
                f"{listed(closure.independent_names)} as given, the loops put it at {pose[j]:.9g} on the "
                f"branch of the first pose, and a motion reaches another branch only through a singular "
                f"position"
            )


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
                raise InputError(unknown_name("joint", name, names).after(f"{what}: "))
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


Rates = int | str | Sequence[str]
RepeatedRates = Annotated[
    Rates,
    Parameter(
        '1: positions, 2: also velocities, 3: also accelerations; or names such as ["velocity"]', kind="rates"
    ),
]
Offsets = Annotated[
    Mapping[str, float] | None,
    Parameter("Change of joints over the motion, by name", "rad, m", "gains", "default 0"),
]
PeriodicSpline = Annotated[bool, Parameter("Whether the spline itself is periodic, with all its derivatives")]


def _chosen_rates(rates: Rates, family: str) -> list[int]:
    """Which of position (0), velocity (1) and acceleration (2): the first so many, or those named."""
    if isinstance(rates, int) and not isinstance(rates, bool):
        if rates not in (1, 2, 3):
            raise InputError(
                must_be(f"{family}: rates", "1, 2 or 3 (position, velocity, acceleration)", rates, "")
            )
        return list(range(rates))
    names = list(rates) if isinstance(rates, Iterable) and not isinstance(rates, str) else [rates]
    for name in names:
        if str(name) not in NAMES:
            raise InputError(unknown_name("quantity", str(name), NAMES).after(f"{family}: rates: "))
    if not names:
        raise InputError(f"{family}: rates must name at least one of {', '.join(NAMES)}")
    return sorted({NAMES.index(str(name)) for name in names})


@declare("periodic", "the motion ends as it starts")
class Periodic(Constraint):
    """The motion ends as it starts: position, velocity and, on request, acceleration.

    ``rates``: how many of these, in this order, or names, such as "velocity" alone. ``offset`` maps joints to
    their travel during one period (rad, m), as in walking. With ``spline`` the spline itself is periodic,
    with all its derivatives, and no constraints are needed: for splines that are not clamped.

    >>> Periodic(rates="velocity").family
    'periodicity'
    """

    family = "periodicity"

    def __init__(
        self,
        joints: JointNames = None,
        rates: RepeatedRates = 2,
        offset: Offsets = None,
        spline: PeriodicSpline = False,
    ) -> None:
        self.joints, self.rates, self.offset, self.spline = joints, rates, dict(offset or {}), spline
        _chosen_rates(rates, self.family)

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        chosen = setting.spline_joints(self.joints, self.family)
        cycle = _Cycle(setting, chosen, chosen, np.ones(len(chosen)), self.offset, self.family)
        return cycle.rows(None if self.spline else _chosen_rates(self.rates, self.family))


@declare("symmetric", "joints end as their partners start")
class Symmetric(Constraint):
    """One half cycle mirrors the other: each joint ends as its partner starts.

    ``pairs`` maps a joint to its partner; both directions are constrained: end of left = start of right and
    end of right = start of left; a joint may be its own partner. ``mirrored`` names joints whose sign
    changes. ``rates``, ``offset`` and ``spline`` as in :class:`Periodic`.

    >>> from kinetree import terms
    >>> terms.Symmetric({"left_hip": "right_hip"}).family
    'left-right symmetry'
    """

    family = "left-right symmetry"

    def __init__(
        self,
        pairs: Annotated[
            Mapping[str, str],
            Parameter("Joints and their partners, such as { hip1 = 'hip2' }", kind="partners"),
        ],
        mirrored: Annotated[
            list[str] | None,
            Parameter("Joints whose sign changes", kind="names", default_text="default none"),
        ] = None,
        rates: RepeatedRates = 2,
        offset: Offsets = None,
        spline: PeriodicSpline = False,
    ) -> None:
        self.pairs, self.mirrored, self.rates = dict(pairs), list(mirrored or []), rates
        self.offset, self.spline = dict(offset or {}), spline
        _chosen_rates(rates, self.family)

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        left = setting.spline_joints(list(self.pairs), self.family)
        right = setting.spline_joints(list(self.pairs.values()), self.family)
        turned = set(setting.joints(self.mirrored, self.family))
        both, partners = left + right, right + left
        ties = dict(zip(both, partners, strict=True))  # a joint that is its own partner counts once
        ends, starts = list(ties), list(ties.values())
        signs = np.array([-1.0 if j in turned else 1.0 for j in ends])
        cycle = _Cycle(setting, ends, starts, signs, self.offset, self.family)
        return cycle.rows(None if self.spline else _chosen_rates(self.rates, self.family))


class _Cycle:
    """q_end(s + 1) = sign q_start(s) + offset of pairs of joints: at the end of the motion, or for good."""

    def __init__(
        self,
        setting: Setting,
        ends: list[int],
        starts: list[int],
        signs: Array,
        offset: Mapping[str, float],
        family: str,
    ) -> None:
        self.setting, self.ends, self.signs, self.family = setting, ends, signs, family
        self.columns = [[setting.column[j] for j in joints] for joints in (ends, starts)]
        self.names = [setting.mechanism.joint_names[j] for j in ends]
        for name in offset:
            if name not in self.names:
                raise InputError(unknown_name("joint", name, self.names).after(f"{family}: offset: "))
        self.offset = np.array(
            [number(offset.get(name, 0.0), f"{family}: offset of '{name}'") for name in self.names]
        )

    def rows(self, rates: list[int] | None) -> list[Bounded]:
        """Conditions at the end for some rates; or, for none, on control points."""
        return [self._on_splines()] if rates is None else [self._at_end(rate) for rate in rates]

    def _at_end(self, rate: int) -> LinearRows:
        """q_end^(r)(1) = sign q_start^(r)(0) + offset."""
        ends, starts = self.columns
        at_end = self.setting.curve_rows(np.ones(1), ends, rate)
        at_start = self.setting.curve_rows(np.zeros(1), starts, rate)
        places = np.hstack([at_end[0], at_start[0]])
        weights = np.hstack([at_end[1], -self.signs[:, None] * at_start[1]])
        labels = [f"{NAMES[rate]} of {name}" for name in self.names]
        target = self.offset if rate == 0 else np.zeros(len(self.offset))
        units = self.setting.units(self.ends, *UNITS[rate])
        return LinearRows(places, weights, np.ones(1), target, target, self.family, labels, units)

    def _on_splines(self) -> LinearRows:
        """Control point k + c = sign times control point k + offset; c is the number of knots in a period."""
        basis = self.setting.profiles.basis
        c, last = basis.n_control - basis.degree, np.arange(basis.degree)[:, None]
        if (np.abs(basis.knots[c:] - basis.knots[:-c] - 1.0) > CLOSE).any():
            raise InputError(f"{self.family}: a periodic spline must not be clamped (clamped=False)")
        if c <= basis.degree:
            raise InputError(
                f"{self.family}: a periodic spline needs more segments than its degree "
                f"{basis.degree}, got {basis.segments}"
            )
        ends, starts = (np.array(columns)[None] for columns in self.columns)
        points = self.setting.unknowns.points
        places = np.stack([points(last, starts), points(last + c, ends)], axis=2).reshape(-1, 2)
        signs = np.broadcast_to(self.signs, (basis.degree, len(self.signs))).ravel()
        values = np.stack([-signs, np.ones(len(signs))], axis=1)
        target = np.tile(self.offset, basis.degree)
        labels, units = [f"spline of {name}" for name in self.names], self.setting.units(self.ends, *UNITS[0])
        s = np.ones(basis.degree)
        return LinearRows(places, values, s, target, target, self.family, labels, units, eliminate=True)


@declare("hold", "joints do not move during a part of the motion")
class Hold(Constraint):
    """Joints do not move during a part of the motion, from s = ``during``[0] to ``during``[1].

    ``position`` (rad, m): one number for all, one for each of the joints, or a mapping from names. All
    control points with influence in that part are fixed, so it is extended to the ends of its segments, and
    the joint leaves it as smoothly as its splines allow.

    >>> Hold("joint1", 0.0, during=(0.0, 0.4)).family
    'hold'
    """

    family = "hold"

    def __init__(
        self,
        joints: JointNames,
        position: Annotated[Values, Parameter("Where they stay", "rad, m", "positions")] = 0.0,
        during: During = (0.0, 1.0),
    ) -> None:
        self.joints, self.position = joints, position
        self.during = a_part(during, self.family)

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        chosen = setting.spline_joints(self.joints, self.family)
        values = per_joint(self.position, setting, chosen, f"position of {self.family}", 0.0)
        if not np.isfinite(values).all():
            raise InputError(must_be(f"position of {self.family}", "finite", values.tolist()))
        basis, (a, b) = setting.profiles.basis, self.during
        first, last = basis.knots[: basis.n_control], basis.knots[basis.degree + 1 :]
        held = np.flatnonzero((first < b - CLOSE) & (last > a + CLOSE))
        columns = np.array([setting.column[j] for j in chosen])
        places = setting.unknowns.points(held[:, None], columns).reshape(-1, 1)
        target = np.tile(values, len(held))
        names = [f"position of {setting.mechanism.joint_names[j]}" for j in chosen]
        s = np.clip(basis.greville[held], 0.0, 1.0)
        units = setting.units(chosen, *UNITS[0])
        return [LinearRows(places, np.ones((len(places), 1)), s, target, target, self.family, names, units)]
