"""Forces of the ground on both feet that walk or stand, from the motion alone.

Their sum is what the motion needs: mass times the acceleration of the center of mass less gravity. Feet
touch from when the heel is farthest ahead of the pelvis to when the toe is farthest behind it (Zeni,
Richards and Higginson 2008, Gait & Posture 27). A foot alone carries all. While both touch, the center of
pressure of the whole force lies between the toe of the foot behind and the heel of the other, and says by
the law of the lever how much each carries: no shape of the transition is assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers
from kinetree.algebra.bspline import Integers
from kinetree.analysis.inverse import joint_reactions
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.capture.dynamics import base_body, foot_bodies
from kinetree.capture.motion import low_passed, spline_motion
from kinetree.capture.trial import GroundForce
from kinetree.errors import InputError
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags

CUTOFF = 6.0  # Hz
STILL = 0.05  # m: feet that move less stand
STEP = 0.1  # m: feet that walk swing at least so far beside the pelvis
SHORTEST = 0.25  # s between two landings of one foot, at least


class WalkPhases(NamedTuple):
    """Heels and toes of two feet (m, 2, 3), where they touch (m, 2), the whole force and its moment."""

    heel: Array
    toe: Array
    touching: Flags
    force: Array
    moment: Array  # about the world's origin
    up: Array
    ahead: Array
    level: float  # of the lowest toe, along up


def ground_reactions(
    mechanism: Mechanism,
    time: ArrayLike,
    q: ArrayLike,
    feet: Sequence[str] | None = None,
    cutoff: float | None = CUTOFF,
) -> tuple[GroundForce, ...]:
    """Forces of the ground on two feet, without plates, from q (m, n_dof) at times (m,).

    ``feet`` are two bodies that end in toes, by default those called calcn or foot; feet that stay where
    they are stand, as in lifting. The motion is low-passed at ``cutoff`` (Hz). Points are on the level of
    the lowest toe. The trial needs a landing or a take-off of both feet.

    >>> import kinetree as kt
    >>> kt.markers.ground_reactions(kt.zoo.two_link(), [0.0, 0.1], [[0, 0], [0, 0]])
    Traceback (most recent call last):
    kinetree.errors.InputError: no body of mechanism 'two_link' is called a foot; feet= names ...
    """
    expect_mechanism(mechanism)
    names = foot_bodies(mechanism, feet)
    if len(names) != 2:
        raise InputError(f"ground reactions of a walk need two feet, got {len(names)}: {', '.join(names)}")
    t, given = finite(numbers(time, "time"), "time"), finite(numbers(q, "q"), "q")
    walk = _walk(mechanism, t, given if cutoff is None else low_passed(t, given, cutoff), names)
    share = _shares(walk)
    parts = [share[:, [k]] * walk.force for k in range(2)]
    points, moments = _points(walk, parts)
    return tuple(GroundForce(name, t, parts[k], points[k], moments[k], name) for k, name in enumerate(names))


def _walk(mechanism: Mechanism, t: Array, q: Array, names: list[str]) -> WalkPhases:
    """Feet and what the motion needs of the ground."""
    base = base_body(mechanism)
    if base is None or not mechanism.gravity.any():
        raise InputError(f"mechanism '{mechanism.name}' has no base that moves freely, or no gravity")
    state = spline_motion(t, q)
    poses = forward_kinematics(mechanism, q)
    wrench = joint_reactions(mechanism, state.q, state.qd, state.qdd, frame="world")
    rest = wrench[:, mechanism.body_index(base)]
    force, moment = rest[:, :3], rest[:, 3:] + np.cross(poses[base][1], rest[:, :3])
    up = -mechanism.gravity / np.linalg.norm(mechanism.gravity)
    heel = np.stack([poses[name][1] for name in names], axis=1)
    toe = np.stack([poses[_toe(mechanism, name)][1] for name in names], axis=1)
    relative = heel - poses[base][1][:, None], toe - poses[base][1][:, None]
    if float(np.ptp(heel, axis=0).max()) < STILL:  # both feet stand
        middle, both = 0.5 * (heel + toe), np.ones((len(t), 2), dtype=bool)
        across = np.cross(up, (middle[:, 0] - middle[:, 1]).mean(axis=0))
        return WalkPhases(middle, middle, both, force, moment, up, across, float((toe @ up).min()))
    ahead = _ahead(t, relative[0], toe @ up, up)
    touching = _contacts(t, relative[0] @ ahead, relative[1] @ ahead)
    return WalkPhases(heel, toe, touching, force, moment, up, ahead, float((toe @ up).min()))


def _toe(mechanism: Mechanism, foot: str) -> str:
    """The last body with a mass that a foot carries, or the foot itself."""
    children = {x.parent: x.body.name for x in mechanism.links}
    links = {x.body.name: x for x in mechanism.links}
    name, found = foot, foot
    while name in children:
        name = children[name]
        if not links[name].body.inertia.is_zero:
            found = name
    return found


def _ahead(t: Array, heel: Array, height: Array, up: Array) -> Array:
    """The direction of the walk: feet swing along it when they are high."""
    level = np.eye(3) - np.outer(up, up)
    flat = (heel - heel.mean(axis=0)) @ level
    _, _, axes = np.linalg.svd(flat.reshape(-1, 3), full_matrices=False)
    speed = np.gradient(heel @ axes[0], t, axis=0)
    lifts = ((speed - speed.mean(axis=0)) * (height - height.mean(axis=0))).sum()
    return np.asarray(axes[0] if lifts >= 0.0 else -axes[0])


def _contacts(t: Array, heel: Array, toe: Array) -> Flags:
    """When feet touch (m, 2), from how far ahead of the pelvis heels and toes are (m, 2)."""
    found = np.zeros(heel.shape, dtype=bool)
    for k in range(2):
        landings, leavings = _peaks(t, heel[:, k]), _peaks(t, -toe[:, k])
        events = sorted([(x, True) for x in landings] + [(x, False) for x in leavings])
        if not events:
            raise InputError("a foot neither lands nor leaves in the trial: ground reactions need a walk")
        touches, last = not events[0][1], 0
        for at, lands in events:
            found[last:at, k] = touches
            touches, last = lands, at
        found[last:, k] = touches
    return found


def _peaks(t: Array, x: Array) -> list[int]:
    """Indices of maxima that stand out within the shortest time between landings."""
    from scipy.signal import find_peaks

    apart = max(1, round(SHORTEST / float(np.mean(np.diff(t)))))
    found, _ = find_peaks(x, distance=apart, prominence=STEP)
    return [int(k) for k in found]


def _shares(walk: WalkPhases) -> Array:
    """The part (m, 2) of the whole force that each foot carries, by the law of the lever where both touch."""
    share: Array = np.asarray(walk.touching, dtype=np.float64).copy()
    share[~walk.touching.any(axis=1)] = 0.5
    both = np.flatnonzero(walk.touching.all(axis=1))
    behind, before = _behind(walk)[both], 1 - _behind(walk)[both]
    rear, front = _flat(walk, walk.toe)[both, behind], _flat(walk, walk.heel)[both, before]
    along = front - rear
    part = np.clip(
        ((_pressure(walk)[both] - rear) * along).sum(axis=1) / (along**2).sum(axis=1).clip(1e-12), 0.0, 1.0
    )
    share[both, before], share[both, behind] = part, 1.0 - part
    return share


def _behind(walk: WalkPhases) -> Integers:
    """Which foot is behind the other, (m,)."""
    return np.asarray(np.argmin(walk.heel @ walk.ahead, axis=1))


def _flat(walk: WalkPhases, places: Array) -> Array:
    """Places on the level of the lowest toe."""
    return np.asarray(places - ((places @ walk.up) - walk.level)[..., None] * walk.up)


def _pressure(walk: WalkPhases) -> Array:
    """The center of pressure of the whole force, (m, 3): x with up x (M - x x F) = 0 on that level."""
    base = walk.level * walk.up
    down = (walk.force @ walk.up)[:, None]
    return np.asarray(np.cross(walk.up, walk.moment - np.cross(base, walk.force)) / down + base)


def _points(walk: WalkPhases, parts: list[Array]) -> tuple[list[Array], list[Array]]:
    """Points on the level of the feet and moments there: together the wrench that the motion needs.

    The lighter foot pushes with its toe if it is behind, else with its heel; the other where the rest
    demands.
    """
    up, behind = walk.up, _behind(walk)
    toe, heel = _flat(walk, walk.toe), _flat(walk, walk.heel)
    points = [np.where((behind == k)[:, None], toe[:, k], heel[:, k]) for k in range(2)]
    moments = [np.zeros_like(points[0]) for _ in range(2)]
    load = [part @ up for part in parts]
    for k in range(2):
        heavy = load[k] >= load[1 - k] if k == 0 else load[k] > load[1 - k]
        rest = walk.moment - np.cross(points[1 - k], parts[1 - k])
        base = walk.level * up
        down = np.where(heavy, load[k], 1.0)[:, None]
        found = np.cross(up, rest - np.cross(base, parts[k])) / down + base
        points[k] = np.where(heavy[:, None], found, points[k])
        turn = (rest - np.cross(points[k], parts[k])) @ up
        moments[k] = np.where(heavy[:, None], turn[:, None] * up, 0.0)
    return points, moments
