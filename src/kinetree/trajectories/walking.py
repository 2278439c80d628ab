"""Robots that walk: on two legs, on four, on six, on any number ([Shah2013], appendix B and chapter 7)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, frozen, number
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.analysis.leg_chains import (
    Leg,
    has_named_legs,
    leg_chains,
    legs_by_axes,
    named_legs,
    reaching_down,
)
from kinetree.analysis.legs import walking_axes
from kinetree.errors import InputError, ModelError, listed, must_be
from kinetree.model.expected import expect_mechanism
from kinetree.model.joint_kind import KINDS
from kinetree.model.mechanism import Mechanism
from kinetree.state import coordinates, independent_axes
from kinetree.trajectories.gait import Feet, LeggedGait
from kinetree.trajectories.gait_parameters import (
    HEXAPOD,
    PLANAR_BIPED,
    QUADRUPED,
    SPATIAL_BIPED,
    GaitParameters,
)
from kinetree.trajectories.legs import (
    LegGeometry,
    Stance,
    leg_geometry,
    standing_posture,
)

MOST_STEPS = 100_000  # of one gait
MISS = 1e-9  # m: how far a foot may be off its path
CHECKS = 33  # times in a step at which that is looked at


def legged_gait(
    mechanism: Mechanism,
    parameters: GaitParameters,
    steps: int,
    *,
    legs: Sequence[Leg] | None = None,
    groups: Sequence[int] | None = None,
    posture: ArrayLike | None = None,
    forward: ArrayLike = (1.0, 0.0, 0.0),
    ground_height: float = 0.0,
) -> LeggedGait:
    """Walking over a number of steps of a mechanism whose trunk hangs on a free joint.

    [Shah2013], appendix B. ``legs`` describe the legs; without them joints called hip1, knee1, ankle1, ...
    are looked for, and else limbs with contact points at their ends. Legs of ``groups`` 0 and 1 take turns:
    group 0 supports first. Without groups neighbors alternate along each side, which is a walk on two legs,
    a trot on four, a tripod gait on six. ``posture`` (n_dof,) gives the trunk's attitude and all joints that
    do not walk; without it the trunk is turned such that the legs hang down when their joints are at zero.
    The base may also be a planar joint whose plane holds ``forward`` and up. The ground is at
    ``ground_height`` (m) along up, against gravity.

    >>> from kinetree.model import zoo
    >>> walk = legged_gait(zoo.hexapod(), HEXAPOD, steps=4)
    >>> walk.at([0.0, 0.5]).q[:, 0].round(9).tolist(), walk.phases[0].supporting
    ([-0.2, 0.2], ('leg1', 'leg4', 'leg5'))
    """
    expect_mechanism(mechanism)
    if not isinstance(parameters, GaitParameters):
        raise InputError(must_be("parameters", "GaitParameters", parameters))
    if type(steps) is not int or not 1 <= steps <= MOST_STEPS:
        raise InputError(must_be("steps", f"an integer from 1 to {MOST_STEPS}", steps))
    base = mechanism.links[0].joint
    if not (base.is_free or KINDS[base.kind].slides_in_a_plane) or base.mimic is not None:
        raise InputError(
            f"'{mechanism.name}' has no floating base: '{base.name}' is {base.kind}, not free or planar"
        )
    axes = walking_axes(mechanism, forward)
    walkers = _legs(mechanism, axes) if legs is None else tuple(legs)
    if not walkers:
        raise InputError("a gait needs legs, got none")
    stands = standing_posture(mechanism, walkers[0], axes) if posture is None else posture
    q = coordinates(mechanism, stands, "posture").copy()
    if q.ndim != 1:
        raise InputError(f"posture must be one set of coordinates, got shape {q.shape}")
    stance = Stance.of(mechanism, q, axes)
    q[: stance.n_slides] = 0.0
    stance = Stance.of(mechanism, q, axes)
    _check_plane(stance, base.name)
    origin = axes.T @ stance.motion.position[base.n_dof - 1]
    geometries = tuple(leg_geometry(stance, leg, origin) for leg in walkers)
    turns = _groups(geometries, parameters) if groups is None else _given_groups(groups, len(walkers))
    height = number(ground_height, "ground_height")
    feet = Feet(
        parameters, steps, turns, axes, frozen(_stands(walkers, geometries, turns, parameters, height))
    )
    gait = LeggedGait(mechanism, parameters, walkers, turns, steps, feet, stance, geometries)
    _check(gait)
    return gait


def _check_plane(stance: Stance, base: str) -> None:
    """The base must be able to move along forward and up."""
    along = stance.slides
    for direction, name in ((stance.axes[:, 0], "forward"), (stance.axes[:, 2], "up")):
        missing = direction - along @ np.linalg.lstsq(along, direction, rcond=None)[0]
        if np.linalg.norm(missing) > 1e-9:
            raise InputError(
                f"the base '{base}' of '{stance.mechanism.name}' cannot move {name}, along "
                f"{direction.round(6).tolist()}; a planar base needs its axis normal to the plane of the walk"
            )


def _legs(mechanism: Mechanism, axes: Array) -> tuple[Leg, ...]:
    """Legs by the names of the zoo, or else by topology, contact points and directions of axes."""
    if has_named_legs(mechanism) or not mechanism.contact_points:
        return named_legs(mechanism)
    chains = leg_chains(mechanism)
    rest = np.zeros(mechanism.n_dof)
    return legs_by_axes(mechanism, reaching_down(mechanism, chains, rest, axes[:, 2]), rest, axes)


def biped_gait(mechanism: Mechanism, parameters: GaitParameters | None = None, steps: int = 4) -> LeggedGait:
    """Walking on two legs, with the parameters of [Shah2013], Table B.1, unless others are given.

    Which leg supports first follows from y0, the hips seen from the supporting ankle: the right leg if it is
    positive, the left if negative ([Shah2013] prints +0.08 m in section 6.2.3 and -0.08 m in Table B.1).

    >>> from kinetree.model import zoo
    >>> biped_gait(zoo.spatial_biped()).phases[0]
    SupportPhase(begin=0.0, end=0.5, supporting=('leg1',), swinging=('leg2',))
    """
    expect_mechanism(mechanism)
    legs = _counted(mechanism, 2)
    default = PLANAR_BIPED if legs[0].hip_roll is None else SPATIAL_BIPED
    return legged_gait(mechanism, parameters or default, steps, legs=legs)


def trot(mechanism: Mechanism, parameters: GaitParameters = QUADRUPED, steps: int = 4) -> LeggedGait:
    """Trotting on four legs, diagonal ones together; parameters of [Shah2013], Table B.2.

    >>> from kinetree.model import zoo
    >>> trot(zoo.quadruped()).phases[0].supporting
    ('leg1', 'leg4')
    """
    expect_mechanism(mechanism)
    return legged_gait(mechanism, parameters, steps, legs=_counted(mechanism, 4))


def tripod(mechanism: Mechanism, parameters: GaitParameters = HEXAPOD, steps: int = 4) -> LeggedGait:
    """Walking on six legs, three of them in a triangle together; parameters of [Shah2013], Table B.2.

    >>> from kinetree.model import zoo
    >>> tripod(zoo.hexapod()).phases[1].supporting
    ('leg2', 'leg3', 'leg6')
    """
    expect_mechanism(mechanism)
    return legged_gait(mechanism, parameters, steps, legs=_counted(mechanism, 6))


def _counted(mechanism: Mechanism, count: int) -> tuple[Leg, ...]:
    legs = _legs(mechanism, walking_axes(mechanism, (1.0, 0.0, 0.0)))
    if len(legs) != count:
        raise InputError(f"this gait is for {count} legs; '{mechanism.name}' has {len(legs)}")
    return legs


def _groups(legs: tuple[LegGeometry, ...], parameters: GaitParameters) -> tuple[int, ...]:
    """Neighbors on a side alternate, and so do opposite legs; y0 shows which of two legs begins."""
    if len(legs) == 2 and abs(legs[0].hip[1] - legs[1].hip[1]) <= MISS:
        return 0, 1
    middle = np.mean([leg.hip[1] for leg in legs])
    left = [bool(leg.hip[1] > middle) for leg in legs]
    ahead = [sum(other.hip[0] > leg.hip[0] for other, s in zip(legs, left, strict=True) if s == side)
             for leg, side in zip(legs, left, strict=True)]  # fmt: skip
    first = [(rank + (not side)) % 2 for rank, side in zip(ahead, left, strict=True)]
    other_way = len(legs) == 2 and parameters.y0 > 0
    return tuple(1 - group if other_way else group for group in first)


def _given_groups(groups: Sequence[int], count: int) -> tuple[int, ...]:
    given = tuple(groups)
    if len(given) != count or set(given) != {0, 1}:
        raise InputError(f"groups must give 0 or 1 for each of {count} legs, both in use, got {list(given)}")
    return given


def _stands(
    legs: tuple[Leg, ...],
    geometries: tuple[LegGeometry, ...],
    groups: tuple[int, ...],
    parameters: GaitParameters,
    ground: float,
) -> Array:
    """Where each foot would stand in the first step (legs, 3), forward, left, up."""
    center = np.mean([leg.hip for leg in geometries], axis=0)
    stands = np.array([leg.hip - center for leg in geometries])
    stands[:, 2] = [ground + leg.clearance for leg in geometries]
    if parameters.y0 == 0.0:
        return stands
    for leg in legs:
        if leg.hip_roll is None:
            raise InputError(
                must_be(
                    f"leg '{leg.name}' has no hip roll, so the hips cannot sway: y0",
                    "0",
                    parameters.y0,
                    "g",
                )
            )
    if len(legs) == 2:
        for k, group in enumerate(groups):
            wanted = -parameters.y0 if group == 0 else parameters.y0
            if wanted * stands[k, 1] < 0:
                raise InputError(
                    f"with y0 = {parameters.y0:g} leg '{legs[k].name}' of group {group} would cross the "
                    "other; exchange the groups or change the sign of y0"
                )
            stands[k, 1] = wanted
    return stands


def _check(gait: LeggedGait) -> None:
    """Raise if a leg cannot reach, leaves its limits, or is not of the kind that the closed form solves."""
    T = gait.parameters.step_time
    for i in range(min(gait.steps, 2)):
        time = T * (i + np.linspace(0.0, 1.0, CHECKS))
        q = gait.piece(i, time).q
        poses, feet = forward_kinematics(gait.mechanism, q), gait.feet.piece(i, time).q
        for n, (leg, geometry) in enumerate(zip(gait.legs, gait.geometries, strict=True)):
            R, p = poses[geometry.foot_body]
            miss = np.linalg.norm(p + R @ geometry.foot_point - feet[:, 3 * n : 3 * n + 3], axis=1).max()
            if miss > MISS:
                raise ModelError(
                    f"leg '{leg.name}' misses the path of its foot by {miss:.3g} m: the closed form needs "
                    "roll and pitch axes that meet, roll first at the hip and last at the ankle, and thigh "
                    "and shank in one plane along the walking direction; use inverse_kinematics for other "
                    "legs"
                )
        _check_limits(gait.mechanism, q)


def _check_limits(mechanism: Mechanism, q: Array) -> None:
    tree, free = mechanism.tree, independent_axes(mechanism)
    outside = (q < tree.lower[free]).any(axis=0) | (q > tree.upper[free]).any(axis=0)
    if outside.any():
        names = [name for name, bad in zip(mechanism.joint_names, outside, strict=True) if bad]
        raise InputError(f"the gait takes joints of '{mechanism.name}' beyond their limits: {listed(names)}")
