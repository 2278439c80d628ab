"""The ground's push on each of two feet along a motion: force, where it acts, moment there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.state import Wrench
from kinetree.tasks.sampled import SampledMotion

FEET = ("right", "left")


@dataclass(frozen=True, eq=False)
class GroundReactions:
    """Along samples (m): ``force`` (m, 2, 3) in N, ``point`` and ``moment`` (m, 2, 3) of right and left foot.

    The point is the foot's center of pressure in the world (m), not a number where the foot carries nothing;
    the moment (N m) is that about it. ``power`` (m,) in W is what the ground does to each contact.
    """

    force: Array
    point: Array
    moment: Array
    power: dict[str, Array] = field(default_factory=dict)


def ground_of(motion: SampledMotion, pushes: Sequence[Wrench], light: float) -> GroundReactions:
    """Pushes of the ground on feet, from forces and moments (m, 3) on bodies of the right and the left foot.

    Feet that carry less than ``light`` (N) have no center of pressure.
    """
    force, about, power = np.zeros((2, len(motion.s), 3)), np.zeros((2, len(motion.s), 3)), {}
    for load in pushes:
        foot = FEET.index(load.body.partition("_")[0])
        f, n, twist = np.asarray(load.force), np.asarray(load.moment), motion.twist(load.body)
        force[foot] += f
        about[foot] += n + np.cross(motion.poses[load.body][1], f)
        power[load.body] = (f * twist[:, :3]).sum(axis=1) + (n * twist[:, 3:]).sum(axis=1)
    level = np.zeros(len(motion.s))
    found = [center_of_pressure(force[k], about[k], level, light) for k in range(2)]
    point, moment = (np.stack(x, axis=1) for x in zip(*found, strict=True))
    return GroundReactions(np.moveaxis(force, 0, 1), point, moment, power)


def center_of_pressure(force: Array, moment: Array, height: Array, light: float) -> tuple[Array, Array]:
    """Center of pressure at a height, and the moment about it, from those about the world's origin."""
    push = force[:, 2]
    carries = push > light
    safe = np.where(carries, push, 1.0)
    # M = r x f with r = (x, y, h): M_x = y f_z - h f_y, M_y = h f_x - x f_z
    x = (height * force[:, 0] - moment[:, 1]) / safe
    y = (height * force[:, 1] + moment[:, 0]) / safe
    point = np.stack([x, y, height], axis=1)
    rest = moment - np.cross(point, force)
    point[~carries], rest[~carries] = np.nan, 0.0
    return point, rest
